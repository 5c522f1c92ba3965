//! What is known of a node from its operands, as a set of flags.
//!
//! An operation has the flags of all its operands: one `|` each, since every operator pays for it.
//! [`Flags::INTEGERS`] and [`Flags::BOOLEANS`] are exceptions, which an operator keeps or not.

use std::ops::BitOr;

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
    /// The elements are integers, of whatever type.
    pub(super) const INTEGERS: Flags = Flags(1 << 4);
    /// The elements are zeros and ones that stand for false and true.
    pub(super) const BOOLEANS: Flags = Flags(1 << 5);
    /// [`INTEGERS`](Self::INTEGERS) or [`BOOLEANS`](Self::BOOLEANS).
    pub(super) const DISCRETE: Flags = Flags(1 << 4 | 1 << 5);

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

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
