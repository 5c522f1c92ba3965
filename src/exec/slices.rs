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
use crate::error::Result;
use crate::ir::{Expression, Function, Instruction, ValueId};
use crate::rules::{Gather, OpRef, Region};

/// Lets a function look up what it slices of its parameters that are tables.
///
/// # Errors
/// [`Error::Value`](crate::Error::Value) if there are several blocks.
pub(super) fn look_up(function: &mut Function, is_table: impl Fn(usize) -> bool) -> Result<()> {
    let (block, _) = function.straight()?;
    let parameters = block.parameters.iter().enumerate();
    let tables = parameters.filter(|(k, _)| is_table(*k)).map(|(_, &p)| p);
    let tables: Vec<ValueId> = tables.collect();
    let mut block = block.clone();
    let mut kinds = function.kinds.clone();
    let mut instructions = Vec::with_capacity(block.instructions.len());
    // What was looked up of each table, by the numbers of the rows.
    let mut known: HashMap<(ValueId, Vec<u32>), ValueId> = HashMap::new();
    for instruction in block.instructions {
        let Some((table, region)) = slice(function, &tables, &instruction) else {
            instructions.push(instruction);
            continue;
        };
        let Some(rows) = region.rows() else {
            instructions.push(instruction);
            continue;
        };
        let rows: Vec<u32> = rows.collect();
        let mut define = |ty: Type, expression: Expression| {
            let result = kinds.len() as ValueId;
            kinds.push(ty.into());
            instructions.push(Instruction::new(result, expression));
            result
        };
        let looked_up = *known.entry((table, rows)).or_insert_with_key(|(_, rows)| {
            let numbers = Array::from(Dense::from(rows.clone()));
            let index = define(numbers.ty(), Expression::Constant(numbers.into()));
            let ty = Type::new(function.ty(table).dtype, &region.rows_shape());
            let args = SmallVec::from_slice(&[table, index]);
            define(ty, Expression::Apply(OpRef::Static(&Gather), args))
        });
        let args = SmallVec::from_slice(&[looked_up]);
        instructions.push(Instruction::new(
            instruction.result(),
            Expression::Apply(OpRef::new(region.within()), args),
        ));
    }
    block.instructions = instructions;
    function.kinds = kinds;
    function.blocks = vec![block];
    Ok(())
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
    let ty = tables.contains(&table).then(|| function.ty(table))?;
    let region = Region::new(items, &ty.shape).ok()?;
    let found = function.ty(instruction.result());
    let fits = found.dtype == ty.dtype && found.shape == *region.shape();
    fits.then_some((table, region))
}
