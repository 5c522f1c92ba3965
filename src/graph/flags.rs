//! What is known of a node from its operands, as a set of flags.
//!
//! An operation has the flags of all its operands: one `|` each, since every operator pays for it.
//! [`Flags::INTEGERS`] and [`Flags::BOOLEANS`] are exceptions, which an operator keeps or not.

use std::ops::BitOr;

use crate::table::{MARKS, changed_since, mark};

/// A set of flags. It is as wide as what stands beside it in a node: LLVM copies bytes among words in
/// pieces that overlap, and the processor cannot forward several such stores to one load, so it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flags(u64);

impl Flags {
    /// None.
    pub(super) const NONE: Flags = Flags(0);
    /// A leaf below records a gradient.
    pub(super) const DIFFERENTIABLE: Flags = Flags(1);
    /// An argument of a function that is being differentiated is below.
    pub(super) const TRACED: Flags = Flags(1 << 1);
    /// An input is below, which may get another value later, and another length too.
    pub(super) const INPUT: Flags = Flags(1 << 2);
    /// A parameter or variable is below, which may get another value later.
    pub(super) const ASSIGNED: Flags = Flags(1 << 3);
    /// A parameter is below, which training changes.
    pub(super) const PARAMETER: Flags = Flags(1 << 6);
    /// Of a leaf: an operation has it for an operand. (All above have this flag, too.)
    pub(super) const OPERAND: Flags = Flags(1 << 7);
    /// The elements are integers, of whatever type.
    pub(super) const INTEGERS: Flags = Flags(1 << 4);
    /// The elements are zeros and ones that stand for false and true.
    pub(super) const BOOLEANS: Flags = Flags(1 << 5);
    /// [`INTEGERS`](Self::INTEGERS) or [`BOOLEANS`](Self::BOOLEANS).
    pub(super) const DISCRETE: Flags = Flags(1 << 4 | 1 << 5);

    /// The first of the flags that are marks of leaves ([`mark`]); the others are before.
    const FIRST_MARK: u32 = u64::BITS - MARKS;

    /// The flag of a leaf that can be assigned, or has a table, of number `id`: it is below.
    #[inline]
    pub(super) fn of_leaf(id: u64) -> Flags {
        Flags(1 << (Self::FIRST_MARK + mark(id)))
    }

    /// Those of these flags of a node that say that something below may have changed since `since`. If the node was
    /// current then, whatever is below it and has none of them is current.
    pub(super) fn changed_since(self, since: u64) -> Flags {
        let (marks, by_others) = changed_since(self.0 >> Self::FIRST_MARK, since);
        // Threads have nothing in common but tables.
        let changed = Flags(marks << Self::FIRST_MARK);
        changed.with_if(Flags::PARAMETER, by_others && self.has(Flags::PARAMETER))
    }

    /// The mark of the one leaf that has these flags, if an operation has it for an operand.
    #[inline]
    pub(super) const fn mark_of_operand(self) -> Option<u32> {
        match self.has(Flags::OPERAND) {
            true => Some((self.0 >> Self::FIRST_MARK).trailing_zeros()),
            false => None,
        }
    }

    /// Whether at least one of the flags `any` is in this set.
    #[inline]
    pub(super) const fn has(self, any: Flags) -> bool {
        self.0 & any.0 != 0
    }

    /// This set without the other flags.
    #[inline]
    pub(super) const fn without(self, others: Flags) -> Flags {
        Flags(self.0 & !others.0)
    }

    /// This set with the other flags, if `also`.
    #[inline]
    pub(super) const fn with_if(self, others: Flags, also: bool) -> Flags {
        Flags(self.0 | if also { others.0 } else { 0 })
    }
}

const _: () = assert!(Flags::OPERAND.0 < 1 << Flags::FIRST_MARK);

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
