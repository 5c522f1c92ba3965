//! Settings of an optimizer as a checkpoint has them, compared with those that are wanted.
//!
//! Numbers are taken as they are written, and parsed by the standard library: the reader of JSON may be off by a
//! last bit, and training that goes on has to have all of them.

use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// A setting, as JSON has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SavedSetting {
    Number(f64),
    Text(String),
    None,
    /// What no setting is.
    Other(String),
}

impl SavedSetting {
    /// What a text of JSON stands for.
    pub(super) fn of(text: &str) -> SavedSetting {
        match text.as_bytes() {
            b"null" => SavedSetting::None,
            // No setting has a character that is escaped.
            [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => {
                SavedSetting::Text(text[1..text.len() - 1].to_owned())
            }
            // The standard library finds the nearest number, as whoever wrote it takes for granted.
            _ => match text.parse() {
                Ok(number) => SavedSetting::Number(number),
                Err(_) => SavedSetting::Other(text.to_owned()),
            },
        }
    }

    /// Its text, of which [`of`](Self::of) makes the same again: of a number the fewest digits that do.
    pub(super) fn json(&self) -> String {
        match self {
            SavedSetting::Number(number) => format!("{number:?}"),
            SavedSetting::Text(text) => format!("\"{text}\""),
            SavedSetting::Other(text) => text.clone(),
            SavedSetting::None => "null".to_owned(),
        }
    }
}

/// As Python shows it; by `#` a text is shown as it is.
impl fmt::Display for SavedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SavedSetting::Number(number) => write!(f, "{number:?}"),
            SavedSetting::Text(text) if !f.alternate() => f.write_str(&quoted(text)),
            SavedSetting::Text(text) | SavedSetting::Other(text) => f.write_str(&start(text)),
            SavedSetting::None => f.write_str("None"),
        }
    }
}

/// The beginning of a text.
fn start(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The beginning of a name, in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("'{}'", start(name))
}

/// The parts of an object of JSON, by name.
pub(super) fn object(what: &str, text: &[u8]) -> Result<Vec<(String, String)>> {
    let found: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(text)
        .map_err(|_| Error::Value(format!("{what}: expected an object of JSON")))?;
    let text = |(name, value): (String, Box<RawValue>)| (name, value.get().to_owned());
    Ok(found.into_iter().map(text).collect())
}

/// The place of each of some names; of a name that is there twice the last.
pub(super) fn places<'n>(names: &[&'n str]) -> FxHashMap<&'n str, usize> {
    names.iter().copied().zip(0..).collect()
}

/// Refuses names that are missing, or that are not expected, and gives the place of each.
pub(super) fn compare<'n, T>(
    what: &str,
    found: &'n [(String, T)],
    wanted: &[&str],
) -> Result<FxHashMap<&'n str, usize>> {
    let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
    compare_names(what, &names, wanted)
}

/// As [`compare`], of the names alone: compiled once.
fn compare_names<'n>(
    what: &str,
    found: &[&'n str],
    wanted: &[&str],
) -> Result<FxHashMap<&'n str, usize>> {
    let (found_at, wanted_at) = (places(found), places(wanted));
    let unknown = found.iter().find(|name| !wanted_at.contains_key(*name));
    let lacking = wanted.iter().find(|name| !found_at.contains_key(*name));
    let (which, name) = match (unknown, lacking) {
        (Some(name), _) => ("an unknown", name),
        (None, Some(name)) => ("no", name),
        (None, None) => return Ok(found_at),
    };
    let shown: Vec<String> = wanted.iter().take(20).map(|name| quoted(name)).collect();
    let shown = match shown.is_empty() {
        true => "none".to_owned(),
        false => shown.join(", "),
    };
    Err(Error::Value(format!(
        "{what}: it has {which} {}, expected {shown}",
        quoted(name)
    )))
}

/// Refuses another setting than the one that is wanted.
pub(super) fn check_setting(name: &str, found: &SavedSetting, wanted: &SavedSetting) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::Value(format!(
        "settings: {name} is {found:#} in the state, and {wanted:#} in this optimizer; only the learning \
         rate may be another"
    )))
}
