//! What the rule table says of every operator, without the cases.
//!
//! The Python module shows names, formulas, sources, references and what is internal, and has no use
//! for the cases. A library that reads the entries has the code of every case in it, as they point
//! to it; this copy, made by the compiler, does not. Words are copied into one text, and numbers into one array: a
//! pointer to each would be a relocation too, which takes 24 bytes more of a shared library.

use super::table::{Entry, FOLDERS, Reference};

/// An entry without its cases.
pub(crate) struct Description {
    pub name: &'static str,
    pub formula: &'static str,
    pub source: &'static str,
    pub internal: Option<&'static str>,
    pub reference: Option<DescribedReference>,
}

/// A [`Reference`] as it is read back from the text and the numbers.
pub(crate) struct DescribedReference {
    pub function: &'static str,
    pub numpy: Vec<&'static str>,
    pub scipy: Vec<&'static str>,
    pub ordered: bool,
    pub domains: Vec<Vec<(f64, f64)>>,
    pub special: Vec<Vec<f64>>,
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

/// What is written one after the other, as far as there is room.
struct Copied<'a, T> {
    to: &'a mut [T],
    /// How much was written, or would have been.
    length: usize,
}

impl<T: Copy> Copied<'_, T> {
    const fn add(&mut self, x: &[T]) {
        let end = self.length + x.len();
        if end <= self.to.len() {
            let (_, to) = self.to.split_at_mut(self.length);
            to.split_at_mut(x.len()).0.copy_from_slice(x);
        }
        self.length = end;
    }
}

/// Writes words, each ended by a space, and ends them by a zero byte.
const fn add_names(words: &mut Copied<'_, u8>, names: &[&str]) {
    let mut k = 0;
    while k < names.len() {
        words.add(names[k].as_bytes());
        words.add(b" ");
        k += 1;
    }
    words.add(b"\0");
}

/// Writes the words of all entries, each ended by a zero byte.
const fn write_words<'a>(to: &'a mut [u8]) -> Copied<'a, u8> {
    let mut words = Copied { to, length: 0 };
    let mut number = 0;
    while let Ok(entry) = entry(number) {
        let internal = match entry.internal {
            Some(internal) => internal,
            None => "",
        };
        let (function, [numpy, scipy]): (_, [&[&str]; 2]) = match entry.reference {
            Some(reference) => (reference.function, [reference.numpy, reference.scipy]),
            None => ("", [&[], &[]]),
        };
        let all = [entry.name, entry.formula, entry.source, internal, function];
        let mut k = 0;
        while k < all.len() {
            words.add(all[k].as_bytes());
            words.add(b"\0");
            k += 1;
        }
        add_names(&mut words, numpy);
        add_names(&mut words, scipy);
        number += 1;
    }
    words
}

/// Writes the numbers of all references: whether one is ordered, how many operands it has, and for each how many
/// intervals and their bounds, how many special points and these.
const fn write_numbers<'a>(to: &'a mut [f64]) -> Copied<'a, f64> {
    let mut numbers = Copied { to, length: 0 };
    let mut number = 0;
    while let Ok(entry) = entry(number) {
        if let Some(Reference {
            ordered,
            domains,
            special,
            ..
        }) = entry.reference
        {
            assert!(domains.len() == special.len());
            numbers.add(&[if ordered { 1.0 } else { 0.0 }, domains.len() as f64]);
            let mut k = 0;
            while k < domains.len() {
                numbers.add(&[domains[k].len() as f64]);
                let mut at = 0;
                while at < domains[k].len() {
                    numbers.add(&[domains[k][at].0, domains[k][at].1]);
                    at += 1;
                }
                numbers.add(&[special[k].len() as f64]);
                numbers.add(special[k]);
                k += 1;
            }
        }
        number += 1;
    }
    numbers
}

/// What [`write_words`] writes.
static WORDS: [u8; write_words(&mut []).length] = {
    let mut all = [0; _];
    write_words(&mut all);
    all
};

/// What [`write_numbers`] writes.
static NUMBERS: [f64; write_numbers(&mut []).length] = {
    let mut all = [0.0; _];
    write_numbers(&mut all);
    all
};

/// Every built-in operator.
pub(crate) fn descriptions() -> Vec<Description> {
    let words = str::from_utf8(&WORDS).expect("whole strings were copied");
    let mut words = words.split_terminator('\0');
    let mut numbers = NUMBERS.iter().copied();
    let mut all = Vec::new();
    while let Some(name) = words.next() {
        let mut word = || words.next().unwrap_or_default();
        let (formula, source, internal, function) = (word(), word(), word(), word());
        let [numpy, scipy] = [(); 2].map(|()| word().split_terminator(' ').collect());
        let mut number = || numbers.next().unwrap_or_default();
        let reference = (!function.is_empty()).then(|| {
            let ordered = number() != 0.0;
            let operands = 0..number() as usize;
            let operands = operands.map(|_| {
                let intervals = 0..number() as usize;
                let domain = intervals.map(|_| (number(), number())).collect();
                (domain, (0..number() as usize).map(|_| number()).collect())
            });
            let (domains, special) = operands.unzip();
            DescribedReference {
                function,
                numpy,
                scipy,
                ordered,
                domains,
                special,
            }
        });
        all.push(Description {
            name,
            formula,
            source,
            internal: Some(internal).filter(|internal| !internal.is_empty()),
            reference,
        });
    }
    all
}
