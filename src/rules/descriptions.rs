//! What the rule table says of every operator, without the cases.
//!
//! The Python module shows names, formulas, sources, references and what is internal, and has no use
//! for the cases. A library that reads the entries has the code of every case in it, as they point
//! to it; this copy, made by the compiler, does not. Words are copied into one text: a pointer to each string
//! would be a relocation too, which takes 24 bytes more of a shared library.

use super::table::{Entry, FOLDERS, Reference};

/// An entry without its cases.
#[derive(Clone, Copy)]
pub(crate) struct Description {
    pub name: &'static str,
    pub formula: &'static str,
    pub source: &'static str,
    pub reference: Option<Reference>,
    pub internal: Option<&'static str>,
}

/// Entry number `number`; `Err` with how many there are if they are fewer.
const fn entry(number: usize) -> Result<&'static Entry, usize> {
    let (mut folder, mut before) = (0, 0);
    while folder < FOLDERS.len() {
        let mut file = 0;
        while file < FOLDERS[folder].len() {
            let entries = FOLDERS[folder][file];
            if number - before < entries.len() {
                return Ok(&entries[number - before]);
            }
            before += entries.len();
            file += 1;
        }
        folder += 1;
    }
    Err(before)
}

const COUNT: usize = match entry(usize::MAX) {
    Err(count) => count,
    Ok(_) => 0,
};

/// The words of an entry.
const fn words(entry: &Entry) -> [&[u8]; 4] {
    let internal = match entry.internal {
        Some(internal) => internal,
        None => "",
    };
    [
        entry.name.as_bytes(),
        entry.formula.as_bytes(),
        entry.source.as_bytes(),
        internal.as_bytes(),
    ]
}

/// Writes the words of all entries, each ended by a zero byte, as far as there is room; how many bytes they are.
const fn write(to: &mut [u8]) -> usize {
    let (mut number, mut at) = (0, 0);
    while let Ok(entry) = entry(number) {
        let words = words(entry);
        let mut k = 0;
        while k < words.len() {
            let end = at + words[k].len();
            if end < to.len() {
                to.split_at_mut(end)
                    .0
                    .split_at_mut(at)
                    .1
                    .copy_from_slice(words[k]);
            }
            at = end + 1;
            k += 1;
        }
        number += 1;
    }
    at
}

const LENGTH: usize = write(&mut []);

/// What [`write`] writes.
static WORDS: [u8; LENGTH] = {
    let mut all = [0; LENGTH];
    write(&mut all);
    all
};

/// Of each entry.
static REFERENCES: [Option<Reference>; COUNT] = {
    let mut all = [None; COUNT];
    let mut number = 0;
    while let Ok(entry) = entry(number) {
        all[number] = entry.reference;
        number += 1;
    }
    all
};

/// Every built-in operator.
pub(crate) fn descriptions() -> impl Iterator<Item = Description> {
    let words = str::from_utf8(&WORDS).expect("whole strings were copied");
    let mut words = words.split('\0');
    REFERENCES.iter().map(move |&reference| {
        let mut next = || words.next().unwrap_or_default();
        Description {
            name: next(),
            formula: next(),
            source: next(),
            reference,
            internal: Some(next()).filter(|internal| !internal.is_empty()),
        }
    })
}
