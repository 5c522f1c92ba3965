//! Slices of tables, read by rows.
//!
//! A basic slice of a parameter (`w[5]`, `w[5:8]`, `w[5, 2:4]`) needs the rows that it has elements
//! of and no others. It becomes a lookup of these rows, and what is sliced is what was looked up: no
//! array of the table's size is planned for it.
//!
//! Limit: a slice that has elements of more than half of the rows loads the table, as
//! [`Region::rows`] says.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::array::{Array, Dense, Type};
use crate::ir::{Expression, Function, Instruction, ValueId};
use crate::rules::{Gather, OpRef, Region};

/// Lets a function look up what it slices of its parameters that are tables.
pub(in crate::exec) fn look_up(function: &mut Function, is_table: impl Fn(usize) -> bool) {
    let parameters = function.parameters().iter().enumerate();
    let tables = parameters.filter(|(k, _)| is_table(*k)).map(|(_, &p)| p);
    let tables: Vec<ValueId> = tables.collect();
    let mut blocks = function.blocks.clone();
    let mut kinds = function.kinds.clone();
    for block in &mut blocks {
        // What was looked up of each table, by the numbers of the rows.
        let mut known: HashMap<(ValueId, Vec<u32>), ValueId> = HashMap::new();
        for instruction in std::mem::take(&mut block.instructions) {
            let sliced = slice(function, &tables, &instruction);
            let rows = sliced.as_ref().and_then(|(_, region)| region.rows());
            let (Some((table, region)), Some(rows)) = (&sliced, rows) else {
                block.instructions.push(instruction);
                continue;
            };
            let rows: Vec<u32> = rows.collect();
            let mut define = |ty, expression| block.define(&mut kinds, ty, expression);
            let looked_up = *known.entry((*table, rows)).or_insert_with_key(|(_, rows)| {
                let numbers = Array::from(Dense::from(rows.clone()));
                let index = define(numbers.ty(), Expression::Constant(numbers.into()));
                let ty = Type::new(function.ty(*table).dtype, &region.rows_shape());
                let args = SmallVec::from_slice(&[*table, index]);
                define(ty, Expression::Apply(OpRef::Static(&Gather), args))
            });
            let args = SmallVec::from_slice(&[looked_up]);
            block.instructions.push(Instruction::new(
                instruction.result(),
                Expression::Apply(OpRef::new(region.within()), args),
            ));
        }
    }
    function.kinds = kinds;
    function.blocks = blocks;
}

/// The table and the part of it that an instruction is a slice of, if it is one.
fn slice(
    function: &Function,
    tables: &[ValueId],
    instruction: &Instruction,
) -> Option<(ValueId, Region)> {
    let Expression::Apply(op, args) = &instruction.expression else {
        return None;
    };
    let items = op.slice()?;
    let &[table] = args.as_slice() else {
        return None;
    };
    let array = |id: ValueId| function.kinds[id as usize].array();
    let ty = array(table).filter(|_| tables.contains(&table))?;
    let region = Region::new(items, &ty.shape).ok()?;
    let found = array(instruction.result())?;
    let fits = found.dtype == ty.dtype && found.shape == *region.shape();
    fits.then_some((table, region))
}
