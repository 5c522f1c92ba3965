//! The table itself: every built-in operator with the cases that test it.
//!
//! A case names an operator with its attributes and describes operands on which
//! it is smooth. The gradient tests, the comparison of eager with frozen and the
//! operator list of the documentation (`docs/operators.md`, through Python) all read
//! this table, so an entry without a case, or that nobody can write, fails the tests.

use crate::array::Shape;

use super::OpRef;

/// One operator of the table.
#[derive(Debug)]
pub struct Entry {
    /// The operator's name.
    pub name: &'static str,
    /// What it computes, as a formula.
    pub formula: &'static str,
    /// Where the formula is from; "definition" if it says what the name means.
    pub source: &'static str,
    /// What an elementwise operator is called, and compared with.
    pub reference: Option<Reference>,
    /// What it is for, if gradients or other functions are made of it and users cannot write it.
    pub internal: Option<&'static str>,
    /// Operands to test it on.
    pub cases: fn() -> Vec<Case>,
}

/// The function that an elementwise operator is, by its names, and where to compare values.
#[derive(Debug, Clone, Copy)]
pub struct Reference {
    /// Our name.
    pub function: &'static str,
    /// The names of the same function in NumPy.
    pub numpy: &'static [&'static str],
    /// The names of the same function in `scipy.special`.
    pub scipy: &'static [&'static str],
    /// Whether an integer, the order, comes before the operand.
    pub ordered: bool,
    /// The intervals that each operand is drawn from.
    pub domains: &'static [&'static [(f64, f64)]],
    /// Numbers of each operand at which it is tried besides: zeros, poles, branch points and ends of
    /// its domain, whole numbers where these matter, and numbers at which the method changes or
    /// results vanish or overflow. No list is empty.
    pub special: &'static [&'static [f64]],
}

/// An operator with operands to test it on.
#[derive(Debug, Clone)]
pub struct Case {
    /// The operator.
    pub op: OpRef,
    /// Its operands.
    pub args: Vec<Argument>,
}

impl Case {
    /// A case from its parts.
    pub fn new(op: OpRef, args: Vec<Argument>) -> Self {
        Case { op, args }
    }
}

/// One operand of a case.
#[derive(Debug, Clone)]
pub enum Argument {
    /// Numbers drawn from a union of intervals.
    Real {
        /// Length of each axis.
        shape: Shape,
        /// The intervals.
        domain: &'static [(f64, f64)],
        /// Whether the numbers must differ clearly from each other.
        distinct: bool,
    },
    /// Matrices with a diagonal of 2, 3, 4, … and small numbers beside it: positive definite,
    /// well conditioned, with eigenvalues and singular values apart.
    Dominant {
        /// Length of each axis.
        shape: Shape,
    },
    /// Integers below a bound.
    Index {
        /// Length of each axis.
        shape: Shape,
        /// The bound.
        below: usize,
    },
    /// Integers that cut places into bags: the first is 0, none is less than the one before, and the
    /// last is the number of places.
    Offsets {
        /// How many bags, one less than there are integers.
        bags: usize,
        /// How many places.
        places: usize,
    },
    /// An operand of which only the shape matters.
    ShapeOnly {
        /// Length of each axis.
        shape: Shape,
    },
}

impl Argument {
    /// Numbers from a union of intervals.
    #[inline(never)]
    pub fn real(shape: &[usize], domain: &'static [(f64, f64)]) -> Self {
        Argument::Real {
            shape: shape.into(),
            domain,
            distinct: false,
        }
    }

    /// Numbers from a union of intervals, no two close to each other.
    #[inline(never)]
    pub fn distinct(shape: &[usize], domain: &'static [(f64, f64)]) -> Self {
        Argument::Real {
            shape: shape.into(),
            domain,
            distinct: true,
        }
    }

    /// Matrices with a large diagonal.
    #[inline(never)]
    pub fn dominant(shape: &[usize]) -> Self {
        Argument::Dominant {
            shape: shape.into(),
        }
    }

    /// Integers below a bound.
    #[inline(never)]
    pub fn index(shape: &[usize], below: usize) -> Self {
        Argument::Index {
            shape: shape.into(),
            below,
        }
    }

    /// A shape.
    #[inline(never)]
    pub fn shape_only(shape: &[usize]) -> Self {
        Argument::ShapeOnly {
            shape: shape.into(),
        }
    }
}

/// Shapes on which elementwise operators of each arity are tested.
const SHAPES: [&[[&[usize]; 3]]; 3] = [
    &[
        [&[], &[], &[]],
        [&[5], &[], &[]],
        [&[3, 4], &[], &[]],
        [&[0], &[], &[]],
        [&[37], &[], &[]],
    ],
    &[
        [&[], &[], &[]],
        [&[5], &[5], &[]],
        [&[2, 3], &[3], &[]],
        [&[2, 1], &[1, 3], &[]],
        [&[], &[4], &[]],
        [&[2, 3, 2], &[3, 1], &[]],
        [&[0, 3], &[3], &[]],
    ],
    &[
        [&[], &[], &[]],
        [&[5], &[5], &[5]],
        [&[2, 3], &[3], &[]],
        [&[3], &[2, 1], &[1, 3]],
    ],
];

/// Cases of an elementwise operator: one domain an operand, many shapes.
#[inline(never)]
pub(crate) fn broadcast_cases(op: OpRef, domains: &[&'static [(f64, f64)]]) -> Vec<Case> {
    let shapes = SHAPES.get(domains.len().wrapping_sub(1)).copied();
    let case = |shapes: &[&[usize]; 3]| {
        let args = domains.iter().zip(shapes);
        let args = args.map(|(domain, shape)| Argument::real(shape, domain));
        Case::new(op.clone(), args.collect())
    };
    shapes.unwrap_or_default().iter().map(case).collect()
}

/// The same of an operator of an order, in some orders.
#[inline(never)]
pub(crate) fn ordered_cases(
    orders: &[i32],
    op: fn(i32) -> OpRef,
    domains: &[&'static [(f64, f64)]],
) -> Vec<Case> {
    let cases = orders.iter().map(|&n| broadcast_cases(op(n), domains));
    cases.flatten().collect()
}

/// The entries, by folder and file.
pub(super) const FOLDERS: [&[&[Entry]]; 5] = [
    super::elementwise::ENTRIES,
    super::reduction::ENTRIES,
    super::shape::ENTRIES,
    super::index::ENTRIES,
    super::linalg::ENTRIES,
];

/// Every built-in operator.
pub fn table() -> impl Iterator<Item = &'static Entry> {
    FOLDERS.into_iter().flatten().copied().flatten()
}
