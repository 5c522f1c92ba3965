//! What machine code is given and gives: single numbers in slots, arrays in places of the frame.

use super::arrays::places;
use super::fixed::FixedLayout;
use super::unsupported::{Translated, Unsupported};
use super::word::Word;
use crate::ir::{Function, KnownLengths, Terminator, ValueId};

/// Most parameters of a block, results, targets of a switch and values of a record: far below what
/// Cranelift can number, and what offsets of slots can be.
pub(super) const MOST_VALUES: usize = 4096;

/// How a value is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// In the slot of its number.
    Word(Word),
    /// In the frame: an argument in the place of its parameter, results one after the other.
    Array,
}

/// Arguments and results of a function.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) parameters: Box<[Carrier]>,
    pub(super) results: Box<[Carrier]>,
    /// The place in the frame of each value that is an array, by value.
    pub(super) places: Vec<Option<u32>>,
    /// How many places there are.
    pub(super) frame: usize,
    /// Which of them have memory of their own.
    pub(super) fixed: FixedLayout,
}

impl Interface {
    /// That of a function, of whose lengths something may be known.
    pub(super) fn of(function: &Function, lengths: Option<&[KnownLengths]>) -> Translated<Self> {
        let passed = |ids: &[ValueId]| {
            let kinds = ids.iter().map(|&id| Word::of(function.kind(id)));
            let passed = kinds.map(|word| word.map_or(Carrier::Array, Carrier::Word));
            passed.collect::<Box<[Carrier]>>()
        };
        // All returns give the same kinds: the function was checked.
        let results = function
            .blocks
            .iter()
            .find_map(|block| match &block.terminator {
                Terminator::Return(ids) => Some(passed(ids)),
                _ => None,
            });
        let results = results.unwrap_or_default();
        if results.len() > MOST_VALUES {
            return Err(Unsupported("too many results"));
        }
        let (places, frame) = places::places(function);
        let fixed = match lengths {
            Some(lengths) => FixedLayout::of(function, lengths, &places, frame),
            None => FixedLayout::default(),
        };
        Ok(Interface {
            fixed,
            places,
            parameters: passed(function.parameters()),
            results,
            frame,
        })
    }

    /// Slots of arguments or results, whichever are more. Those of steps come after them.
    pub(super) fn slots(&self) -> usize {
        self.parameters.len().max(self.results.len())
    }
}
