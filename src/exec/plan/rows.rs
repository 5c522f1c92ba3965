//! Gradients of rows: which gradients of parameters are, and of what.
//!
//! Where the adjoint ends in a value that is scattered, or in the sum of several, the gradient of a
//! parameter is not computed as an array: the function returns what would be scattered, the rows and
//! their numbers, and the plan has these for the optimizer.
//!
//! Whether it is so is decided by the function as it was written, before it is simplified, so that
//! programs leave rows where graphs do.
//!
//! Indices that are leaves or constants are compared with the number of rows before a run, others, which
//! a run computes, where it uses them.

use smallvec::SmallVec;

use crate::array::{Array, DType, Dense, Type};
use crate::error::{Error, Result};
use crate::ir::{Expression, Function, Lengths, Terminator, ValueId, drop_dead};
use crate::optim::gradient::Term;
use crate::rules::{Bag, OpRef, Operator, Region, ScatteredRows, SliceRows, shares};

/// A part of the rows of a gradient: for each index the sum of the terms; equal rows add up. `V` is
/// what names a value: a value of a function, a place of a plan, an address.
#[derive(Debug, Clone)]
pub(crate) struct RowTerms<V> {
    pub index: V,
    pub terms: Vec<Term<V>>,
    /// What the index names, if not rows: bags of them.
    pub bags: Option<Bags<V>>,
}

impl<V> RowTerms<V> {
    /// The same rows by other names.
    pub(in crate::exec) fn map<W>(&self, mut name: impl FnMut(&V) -> W) -> RowTerms<W> {
        RowTerms {
            index: name(&self.index),
            terms: self
                .terms
                .iter()
                .map(|term| Term {
                    scale: term.scale.as_ref().map(&mut name),
                    rows: name(&term.rows),
                    table: term.table,
                })
                .collect(),
            bags: self.bags.as_ref().map(|bags| bags.map(name)),
        }
    }

    /// All that it is made of.
    pub(in crate::exec) fn values(&self) -> impl Iterator<Item = &V> {
        let terms = self.terms.iter();
        let terms = terms.flat_map(|t| t.scale.iter().chain(std::iter::once(&t.rows)));
        let bags = self.bags.iter().flat_map(Bags::values);
        std::iter::once(&self.index).chain(terms).chain(bags)
    }
}

/// What says which rows are in which bag. `V` is what names a value: a value of a function, a place of
/// a plan, an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bags<V> {
    /// The row at each place.
    pub ids: V,
    /// Where the places of each bag begin and end.
    pub offsets: V,
    /// The weight of each place.
    pub weights: Option<V>,
}

impl<V> Bags<V> {
    /// The same by other names.
    pub(in crate::exec) fn map<W>(&self, mut name: impl FnMut(&V) -> W) -> Bags<W> {
        Bags {
            ids: name(&self.ids),
            offsets: name(&self.offsets),
            weights: self.weights.as_ref().map(name),
        }
    }

    /// All that it is made of.
    pub(in crate::exec) fn values(&self) -> impl Iterator<Item = &V> {
        [&self.ids, &self.offsets].into_iter().chain(&self.weights)
    }
}

/// A gradient of a parameter.
pub(in crate::exec) enum Returned {
    /// An array.
    Dense(ValueId),
    /// Rows in parts.
    Rows(Vec<ReturnedRows>),
}

/// Rows, one for each index.
pub(in crate::exec) struct ReturnedRows {
    pub index: ValueId,
    pub rows: ValueId,
    /// What the index names, if not rows: bags of them.
    pub bags: Option<Bags<ValueId>>,
}

impl ReturnedRows {
    /// All that it is made of.
    fn values(&self) -> impl Iterator<Item = ValueId> + '_ {
        let bags = self.bags.iter().flat_map(Bags::values);
        [self.index, self.rows].into_iter().chain(bags.copied())
    }
}

/// Which instruction of a function defines each value.
struct Definitions<'f> {
    function: &'f Function,
    of: Vec<Option<&'f Expression>>,
}

impl<'f> Definitions<'f> {
    fn new(function: &'f Function) -> Result<Self> {
        let (block, _) = function.straight()?;
        let mut of = vec![None; function.kinds.len()];
        for i in &block.instructions {
            of[i.result() as usize] = Some(&i.expression);
        }
        Ok(Definitions { function, of })
    }

    fn apply(&self, value: ValueId) -> Option<(&'f OpRef, &'f [ValueId])> {
        match self.of[value as usize]? {
            Expression::Apply(op, args) => Some((op, args)),
            _ => None,
        }
    }

    /// For each value the one that it is, but for operators that do nothing: a chain of them may be as long as the
    /// function, and each value in it be a gradient.
    fn originals(&self) -> Result<Vec<ValueId>> {
        let (block, _) = self.function.straight()?;
        let mut originals: Vec<ValueId> = (0..self.function.kinds.len() as ValueId).collect();
        for i in &block.instructions {
            let result = i.result();
            let Some((op, args)) = self.apply(result) else {
                continue;
            };
            let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| self.function.ty(a)).collect();
            let ty = self.function.ty(result);
            if types.first().is_some_and(|first| *first == ty) && shares(&**op, &types, ty) {
                originals[result as usize] = originals[args[0] as usize];
            }
        }
        Ok(originals)
    }

    /// The scatters whose sum a value is, with their operands; `None` if it is something else.
    fn scattered(&self, value: ValueId) -> Option<Vec<(&'f OpRef, &'f [ValueId])>> {
        let (op, args) = self.apply(value)?;
        match op.scatter()?.accumulation() {
            None => Some(vec![(op, args)]),
            Some(sum) if sum.has_base() => None,
            Some(sum) => {
                let parts = sum.parts().iter();
                parts
                    .map(|(op, operands)| Some((op, args.get(operands.clone())?)))
                    .collect()
            }
        }
    }

    /// Whether there is a row of a table of type `ty` for each index.
    fn is_row_each(&self, rows: ValueId, index: ValueId, ty: &Type) -> Option<bool> {
        let types = [rows, index].map(|v| self.function.ty(v));
        let shape = types[1].shape.iter().chain(ty.shape.get(1..)?);
        Some(types[0].dtype == ty.dtype && types[0].shape.iter().eq(shape))
    }

    /// What a scatter adds to the rows of a table of type `ty`, if it adds to a few.
    fn rows(&self, op: &OpRef, args: &[ValueId], ty: &Type) -> Option<Scattered> {
        match op.scatter()?.rows()? {
            ScatteredRows::Index { rows, index } => {
                let (rows, index) = (*args.get(rows)?, *args.get(index)?);
                let integers = self.function.ty(index).dtype == DType::U32;
                let fits = integers && self.is_row_each(rows, index, ty)?;
                fits.then_some(Scattered::Index { rows, index })
            }
            ScatteredRows::Bags {
                values,
                index,
                ids,
                offsets,
                weights,
            } => {
                let get = |k: usize| args.get(k).copied();
                let (rows, index) = (get(values)?, get(index)?);
                let bags = Bags {
                    ids: get(ids)?,
                    offsets: get(offsets)?,
                    weights: match weights {
                        Some(weights) => Some(get(weights)?),
                        None => None,
                    },
                };
                let operands = std::iter::once(index).chain(bags.values().copied());
                let types = operands.map(|v| self.function.ty(v));
                let types: SmallVec<[&Type; 5]> = std::iter::once(ty).chain(types).collect();
                let bag = Bag {
                    chosen: true,
                    weighted: weights.is_some(),
                };
                let fits = bag.infer(&types).is_ok() && self.is_row_each(rows, index, ty)?;
                fits.then_some(Scattered::Bags { rows, index, bags })
            }
            ScatteredRows::Slice { values, items } => {
                let values = *args.get(values)?;
                let region = Region::new(items, &ty.shape).ok()?;
                let found = self.function.ty(values);
                let fits = found.dtype == ty.dtype && found.shape == *region.shape();
                let numbers = Dense::from(region.rows()?.collect::<Vec<u32>>());
                let op = SliceRows {
                    items: items.to_vec(),
                    shape: ty.shape.clone(),
                };
                fits.then(|| Scattered::Slice {
                    values,
                    numbers,
                    op: (!region.is_whole()).then_some(op),
                })
            }
        }
    }
}

/// Rows that are added to a table.
enum Scattered {
    Index {
        rows: ValueId,
        index: ValueId,
    },
    Bags {
        rows: ValueId,
        index: ValueId,
        bags: Bags<ValueId>,
    },
    Slice {
        values: ValueId,
        numbers: Dense<u32>,
        /// What makes rows of the values, if they are none.
        op: Option<SliceRows>,
    },
}

/// For each gradient, the result of that number and the type of its table, if it is of one: whether
/// it is rows.
///
/// # Errors
/// [`Error::Value`] if there are several blocks.
pub(in crate::exec) fn are_rows(
    function: &Function,
    gradients: &[Option<(usize, &Type)>],
) -> Result<Vec<bool>> {
    let (_, results) = function.straight()?;
    let definitions = Definitions::new(function)?;
    let originals = definitions.originals()?;
    let is_rows = |gradient: &Option<(usize, &Type)>| {
        let (at, ty) = (*gradient)?;
        let scattered = definitions.scattered(originals[results[at] as usize])?;
        let mut scattered = scattered.into_iter();
        let all = scattered.all(|(op, args)| definitions.rows(op, args, ty).is_some());
        all.then_some(())
    };
    Ok(gradients.iter().map(|g| is_rows(g).is_some()).collect())
}

/// Lets a function return indices and rows in the place of the gradients that are rows; says for
/// each gradient what it is.
///
/// # Errors
/// [`Error::Value`] if there are several blocks.
pub(in crate::exec) fn return_rows(
    function: &mut Function,
    gradients: &[Option<(usize, &Type)>],
    rows: &[bool],
) -> Result<Vec<Option<Returned>>> {
    let (block, results) = function.straight()?;
    let results = results.to_vec();
    let definitions = Definitions::new(function)?;
    let found = gradients.iter().zip(rows).map(|(gradient, &rows)| {
        let (at, ty) = (*gradient)?;
        let scattered = definitions.scattered(results[at]).filter(|_| rows)?;
        let rows = |(op, args)| definitions.rows(op, args, ty);
        scattered.into_iter().map(rows).collect::<Option<Vec<_>>>()
    });
    let found: Vec<Option<Vec<Scattered>>> = found.collect();
    let mut block = block.clone();
    let mut kinds = std::mem::take(&mut function.kinds);
    let mut returned: Vec<ValueId> = results.first().copied().into_iter().collect();
    let mut define = |ty, expression| block.define(&mut kinds, ty, expression);
    let mut out = Vec::with_capacity(gradients.len());
    for (gradient, found) in gradients.iter().zip(found) {
        let Some(found) = found else {
            let dense = gradient.map(|(at, _)| results[at]);
            returned.extend(dense);
            out.push(dense.map(Returned::Dense));
            continue;
        };
        let mut parts = Vec::with_capacity(found.len());
        for scattered in found {
            let (index, rows, bags) = match scattered {
                Scattered::Index { rows, index } => (index, rows, None),
                Scattered::Bags { rows, index, bags } => (index, rows, Some(bags)),
                Scattered::Slice {
                    values,
                    numbers,
                    op,
                } => {
                    let numbers = Array::from(numbers);
                    let index = define(numbers.ty(), Expression::Constant(numbers.into()));
                    let rows = match (op, gradient) {
                        (Some(op), Some((_, ty))) => {
                            let of = Type::new(ty.dtype, &op.shape);
                            let values_ty = Region::new(&op.items, &of.shape)?.shape().clone();
                            let ty = op.infer(&[&Type::new(ty.dtype, &values_ty)])?;
                            let args = SmallVec::from_slice(&[values]);
                            define(ty, Expression::Apply(OpRef::new(op), args))
                        }
                        _ => values,
                    };
                    (index, rows, None)
                }
            };
            parts.push(ReturnedRows { index, rows, bags });
        }
        returned.extend(parts.iter().flat_map(ReturnedRows::values));
        out.push(Some(Returned::Rows(parts)));
    }
    block.terminator = Terminator::Return(returned);
    function.kinds = kinds;
    function.blocks = vec![block];
    drop_dead(function, Lengths::Exact);
    Ok(out)
}

/// The error for a function that returns nothing.
pub(in crate::exec) fn no_result() -> Error {
    Error::Value("the program has no result".into())
}
