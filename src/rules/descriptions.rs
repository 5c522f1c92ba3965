//! What the rule table says of every operator, without the cases.
//!
//! The Python module shows names, formulas, sources, references and what is internal, and has no use
//! for the cases. A library that reads the entries has the code of every case in it, as they point
//! to it; this copy, made by the compiler, does not.

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

impl Description {
    const fn of(entry: &Entry) -> Self {
        Description {
            name: entry.name,
            formula: entry.formula,
            source: entry.source,
            reference: entry.reference,
            internal: entry.internal,
        }
    }
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

/// Every built-in operator.
pub(crate) static DESCRIPTIONS: [Description; COUNT] = {
    let mut all = [Description {
        name: "",
        formula: "",
        source: "",
        reference: None,
        internal: None,
    }; COUNT];
    let mut number = 0;
    while let Ok(entry) = entry(number) {
        all[number] = Description::of(entry);
        number += 1;
    }
    all
};
