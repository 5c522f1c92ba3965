//! What a plan must be so that it can be run without looking again.
//!
//! An [`Executor`](crate::exec::Executor) reads and writes through addresses, which no compiler checks.
//! It relies on what is compared here, once for each executor, and on nothing else: not on the
//! way in which lowering came to the plan, and not on what operators say of themselves, for one of
//! another crate may contradict itself.
//!
//! - Every value lies inside the memory that it is in, aligned, with as many elements of its
//!   type as it has.
//! - A step writes to the arena or to registers only, and apart from all that it reads.
//! - A lookup straight from a table, and the rows of a gradient, have indices that are known to be
//!   below the number of rows, since they are an input or a constant, or that are in the arena, where
//!   each run compares them; there are as many rows as indices. Those of bags are compared in each run.
//! - Kernels of a group are of its element type, and have as many operands as they are given.
//!
//! Limits: that a value is still there when it is read is not checked. Memory is initialised, and
//! any bits are a number, so a plan that is wrong in this way gives wrong numbers and no more; an
//! index that a program computes is compared each time by what uses it.

use std::sync::Arc;

use super::arena::LINE;
use super::rows::{Bags, RowTerms};
use super::{DotRows, FusedOperand, Group, Location, Place, Plan, Sink, Step};
use crate::array::{Array, DType, Type, element_count};
use crate::error::{Error, Result};
use crate::table::Table;

/// What is reported. A user sees it only if an operator of another crate contradicts itself.
fn wrong(what: &str) -> Error {
    Error::Value(format!(
        "this program cannot be run: {what}. An operator may have said one thing of itself when it \
         was first asked, and another later"
    ))
}

/// An error unless `holds`.
fn ensure(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(wrong(what)) }
}

/// A plan and the tables that it reads.
struct Checker<'a> {
    plan: &'a Plan,
    tables: &'a [Arc<Table>],
}

impl Plan {
    /// Checks the plan, which is to run on these tables. See the [module documentation](self).
    ///
    /// # Errors
    /// [`Error::Value`] if something does not hold.
    pub(in crate::exec) fn check(&self, tables: &[Arc<Table>]) -> Result<()> {
        let check = Checker { plan: self, tables };
        check.leaves()?;
        for step in &self.steps {
            check.step(step)?;
        }
        check.reads(&self.result)?;
        ensure(
            self.sinks.len() == self.gradients.len(),
            "a gradient is of no leaf",
        )?;
        for (sink, &leaf) in self.sinks.iter().zip(&self.gradients) {
            let of = self.leaves.get(leaf);
            let of = of.ok_or_else(|| wrong("a gradient is of no leaf"))?;
            match sink {
                None => {}
                Some(Sink::Dense(place)) => check.dense(place, of)?,
                Some(Sink::Rows(parts)) => check.rows(parts, of)?,
            }
        }
        Ok(())
    }
}

/// The bytes of the arena that belong to a value there, to the end of its last cache line.
pub(in crate::exec) fn interval(place: &Place) -> Result<Option<(usize, usize)>> {
    let Location::Arena(start) = place.location else {
        return Ok(None);
    };
    let bytes = element_count(&place.ty.shape)? * place.ty.dtype.size();
    let end = bytes.max(1).checked_next_multiple_of(LINE);
    let end = end.and_then(|bytes| start.checked_add(bytes));
    let end = end.ok_or_else(|| wrong("a value lies beyond all memory"))?;
    Ok(Some((start, end)))
}

/// Checks that two values have no memory of the arena in common.
fn apart(a: &Place, b: &Place) -> Result<()> {
    let apart = match (interval(a)?, interval(b)?) {
        (Some((start, end)), Some((other, last))) => end <= other || last <= start,
        _ => true,
    };
    ensure(apart, "a step writes what it reads")
}

/// Numbers in a row of a table or leaf.
fn width(ty: &Type) -> Result<usize> {
    let row = ty.shape.get(1..);
    element_count(row.ok_or_else(|| wrong("a single number has no rows"))?)
}

impl Checker<'_> {
    /// Leaves are as many as is said of them, and tables have their types.
    fn leaves(&self) -> Result<()> {
        let Plan {
            leaves,
            tables,
            bounds,
            ..
        } = self.plan;
        let count = leaves.len();
        ensure(
            tables.len() == count && bounds.len() == count,
            "what is known of leaves is not known of all",
        )?;
        for (ty, table) in leaves.iter().zip(tables) {
            element_count(&ty.shape)?;
            if let Some(table) = table {
                ensure(self.table(*table)?.ty() == ty, "a table has another type")?;
            }
        }
        Ok(())
    }

    fn table(&self, number: usize) -> Result<&Table> {
        let table = self.tables.get(number);
        table
            .map(|t| &**t)
            .ok_or_else(|| wrong("there is no such table"))
    }

    /// A value is where it is said to be.
    fn reads(&self, place: &Place) -> Result<()> {
        let Place { location, ty } = place;
        let holds = match *location {
            Location::Arena(start) => {
                let (_, end) = interval(place)?.unwrap_or_default();
                start.is_multiple_of(LINE) && end <= self.plan.arena_bytes
            }
            Location::Leaf(k) => {
                let is_table = self.plan.tables.get(k).is_some_and(Option::is_some);
                let leaf = self.plan.leaves.get(k);
                !is_table && leaf.is_some_and(|t| t.dtype == ty.dtype && t.size() == ty.size())
            }
            Location::Constant(k) => {
                let constant = self.plan.constants.get(k);
                constant.is_some_and(|a| a.dtype() == ty.dtype && a.size() == ty.size())
            }
            Location::Nowhere => true,
        };
        element_count(&ty.shape)?;
        ensure(holds, "a value is not where it should be")
    }

    /// A value of `count` elements of a type is where it is said to be.
    fn numbers(&self, place: &Place, dtype: DType, count: Option<usize>) -> Result<()> {
        self.reads(place)?;
        ensure(
            place.location != Location::Nowhere
                && place.ty.dtype == dtype
                && Some(place.ty.size()) == count,
            "a value has another type than its reader expects",
        )
    }

    /// A value is in the arena.
    fn writes(&self, place: &Place) -> Result<()> {
        self.reads(place)?;
        let in_arena = matches!(place.location, Location::Arena(_));
        ensure(in_arena, "a result is not in the arena")
    }

    /// Indices are an input or a constant, all known to be below `rows`, or in the arena, where the executor
    /// compares them in each run.
    fn index(&self, place: &Place, rows: usize) -> Result<()> {
        self.numbers(place, DType::U32, Some(place.ty.size()))?;
        let bounded = match place.location {
            Location::Leaf(k) => self.plan.bounds[k].is_some_and(|bound| bound <= rows),
            Location::Constant(k) => match &self.plan.constants[k] {
                Array::U32(d) => d.as_slice().iter().all(|&i| (i as usize) < rows),
                _ => false,
            },
            Location::Arena(_) => true,
            Location::Nowhere => false,
        };
        ensure(bounded, "an index that nobody compares is used on a table")
    }

    /// What says which rows of a table are in which bag. That there are such rows and bags is compared
    /// in each run.
    fn bags(&self, index: &Place, bags: &Bags<Place>, of: &Type) -> Result<()> {
        for integers in [index, &bags.ids, &bags.offsets] {
            self.numbers(integers, DType::U32, Some(integers.ty.size()))?;
        }
        match &bags.weights {
            None => Ok(()),
            Some(weights) => self.numbers(weights, of.dtype, Some(bags.ids.ty.size())),
        }
    }

    /// Rows of a table: as many as there are indices.
    fn lookup(&self, table: usize, index: &Place, out: &Place) -> Result<()> {
        let ty = self.table(table)?.ty();
        let width = width(ty)?;
        self.index(index, ty.shape[0])?;
        self.writes(out)?;
        apart(index, out)?;
        self.numbers(out, ty.dtype, index.ty.size().checked_mul(width))
    }

    /// The operands of a dot product, one of which at least is looked up, and its result.
    fn dot(&self, rows: &DotRows, others: &DotRows, out: &Place) -> Result<()> {
        let missing = || wrong("a lookup has no table");
        let (table, index) = rows.lookup.as_ref().ok_or_else(missing)?;
        let ty = self.table(*table)?.ty();
        self.lookup(*table, index, &rows.place)?;
        match &others.lookup {
            None => self.numbers(&others.place, ty.dtype, Some(rows.place.ty.size()))?,
            Some((table, other)) => {
                self.lookup(*table, other, &others.place)?;
                apart(other, &rows.place)?;
                apart(other, out)?;
                let other = self.table(*table)?.ty();
                ensure(
                    width(other)? == width(ty)? && other.dtype == ty.dtype,
                    "rows of different lengths are multiplied",
                )?;
                ensure(
                    others.place.ty.size() == rows.place.ty.size(),
                    "different numbers of rows are multiplied",
                )?;
            }
        }
        self.writes(out)?;
        self.numbers(out, ty.dtype, Some(index.ty.size()))?;
        apart(index, &others.place)?;
        apart(index, out)?;
        apart(&rows.place, &others.place)?;
        apart(out, &rows.place)?;
        apart(out, &others.place)
    }

    /// Rows of a table, which stay where they are, times others, and the result.
    fn dot_in_place(&self, table: usize, [index, others, out]: [&Place; 3]) -> Result<()> {
        let ty = self.table(table)?.ty();
        let (width, count) = (width(ty)?, index.ty.size());
        self.index(index, ty.shape[0])?;
        self.numbers(others, ty.dtype, count.checked_mul(width))?;
        self.writes(out)?;
        self.numbers(out, ty.dtype, Some(count))?;
        apart(index, out)?;
        apart(others, out)
    }

    fn group(&self, group: &Group) -> Result<()> {
        let Group {
            externals,
            ops,
            tiles,
            ty,
        } = group;
        element_count(&ty.shape)?;
        for place in externals {
            let (shape, space) = (&place.ty.shape, &ty.shape);
            let mut pairs = shape.iter().rev().zip(space.iter().rev());
            ensure(
                shape.len() <= space.len() && pairs.all(|(&n, &m)| n == 1 || n == m),
                "a value does not broadcast to its group",
            )?;
            self.numbers(place, ty.dtype, Some(place.ty.size()))?;
        }
        let external = |source: FusedOperand| match source {
            FusedOperand::External(k) => match externals.get(k) {
                Some(place) => Ok(Some(place)),
                None => Err(wrong("a group lacks a value")),
            },
            FusedOperand::Register(r) => {
                ensure(r < self.plan.registers, "there is no such register")?;
                Ok(None)
            }
        };
        let row = match tiles.is_empty() {
            true => None,
            false => group.tiled_row(),
        };
        for tile in tiles {
            ensure(
                tile.register < self.plan.registers,
                "there is no such register",
            )?;
            let place = externals.get(tile.external);
            let is_row = place.is_some_and(|place| row == Some(place.ty.size()));
            ensure(is_row, "a tile is no row of its group")?;
        }
        for op in ops {
            ensure(
                op.kernel.is_for(ty.dtype, op.args.len()),
                "a kernel is for other operands",
            )?;
            let out = external(op.out)?;
            if let Some(out) = out {
                self.writes(out)?;
                ensure(
                    out.ty.size() == ty.size(),
                    "a result does not fill its group",
                )?;
            }
            for &arg in &op.args {
                let is_short = external(arg)?.is_some_and(|p| row == Some(p.ty.size()));
                ensure(!is_short, "a row is read beside tiles")?;
                match (external(arg)?, out) {
                    (Some(arg), Some(out)) => apart(arg, out)?,
                    (None, None) => ensure(arg != op.out, "a step writes what it reads")?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn step(&self, step: &Step) -> Result<()> {
        match step {
            Step::Load { table, out, .. } => {
                let ty = self.table(*table)?.ty();
                self.writes(out)?;
                self.numbers(out, ty.dtype, Some(ty.size()))
            }
            Step::Gather { table, index, out } => self.lookup(*table, index, out),
            Step::Bag {
                table,
                index,
                bags,
                out,
            } => {
                let ty = self.table(*table)?.ty();
                self.bags(index, bags, ty)?;
                self.writes(out)?;
                self.numbers(out, ty.dtype, index.ty.size().checked_mul(width(ty)?))?;
                let mut operands = bags.values().chain([index]);
                operands.try_for_each(|operand| apart(operand, out))
            }
            Step::GatherDot { rows, others, out } => self.dot(rows, others, out),
            Step::DotInPlace {
                table,
                index,
                others,
                out,
            } => self.dot_in_place(*table, [index, others, out]),
            Step::Group(group) => self.group(group),
            Step::Kernel { args, out, .. } => {
                self.writes(out)?;
                args.iter().try_for_each(|arg| {
                    self.reads(arg)?;
                    apart(arg, out)
                })
            }
        }
    }

    /// A gradient has its leaf's type.
    fn dense(&self, place: &Place, of: &Type) -> Result<()> {
        self.numbers(place, of.dtype, Some(of.size()))
    }

    /// Rows of a table that a gradient reads where they are: one for each index, as long as its own.
    fn rows_in_place(
        &self,
        table: usize,
        numbers: &Place,
        part: &RowTerms<Place>,
        of: &Type,
    ) -> Result<()> {
        let ty = self.table(table)?.ty();
        let row = width(ty)?;
        self.index(numbers, ty.shape[0])?;
        let is_input = !matches!(numbers.location, Location::Arena(_));
        ensure(
            is_input
                && part.bags.is_none()
                && numbers.ty.size() == part.index.ty.size()
                && ty.dtype == of.dtype
                && row == width(of)?,
            "a gradient reads other rows than it adds",
        )
    }

    /// A gradient of rows: one for each index.
    fn rows(&self, parts: &[RowTerms<Place>], of: &Type) -> Result<()> {
        let width = width(of)?;
        for part in parts {
            match &part.bags {
                None => self.index(&part.index, of.shape[0])?,
                Some(bags) => self.bags(&part.index, bags, of)?,
            }
            let count = part.index.ty.size();
            for term in &part.terms {
                match term.table {
                    None => self.numbers(&term.rows, of.dtype, count.checked_mul(width))?,
                    Some(table) => self.rows_in_place(table, &term.rows, part, of)?,
                }
                if let Some(scale) = &term.scale {
                    self.numbers(scale, of.dtype, Some(count))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
