//! Values that long code keeps in memory between where they are defined and where they are read: they are
//! spilled before Cranelift allocates registers.
//!
//! What Cranelift takes to allocate registers grows with the values that are needed across each of its
//! blocks, and every check begins one: N numbers that are looked up and read at the end live across some N
//! blocks. Where this product is large, each such value is stored when it is defined, in a slot behind those of
//! arguments and results, and loaded where it is read. That is what the allocator would do too.

pub(super) mod write;

use super::word::Word;
use crate::ir::{Cfg, Expression, Function, ValueId};

/// How many instructions after its definition a value is still read from a register.
const NEAR: usize = 32;

/// Values that are read far from their definitions times places where code may branch, from which on they are
/// kept in memory: allocating registers takes some 10 ms then.
const MANY: usize = 1 << 19;

/// The slot of each value that is kept in memory, and how many there are.
#[derive(Debug, Default)]
pub(super) struct KeptValues {
    pub(super) slots: Vec<Option<usize>>,
    pub(super) count: usize,
}

impl KeptValues {
    /// Those of a function.
    pub(super) fn of(function: &Function, graph: &Cfg) -> Self {
        let mut defined: Vec<Option<(usize, usize)>> = vec![None; function.kinds.len()];
        let mut branches = 0;
        for &number in graph.order() {
            let block = &function.blocks[number];
            for &id in &block.parameters {
                defined[id as usize] = Some((number, 0));
            }
            for (k, i) in block.instructions.iter().enumerate() {
                if matches!(i.expression, Expression::Constant(_)) {
                    continue;
                }
                branches += usize::from(!matches!(i.expression, Expression::Compute(_, _, None)));
                for &id in &i.results {
                    defined[id as usize] = Some((number, k));
                }
            }
            branches += 1;
        }
        let mut kept = KeptValues {
            slots: vec![None; function.kinds.len()],
            count: 0,
        };
        for &number in graph.order() {
            let block = &function.blocks[number];
            let mut read = |id: ValueId, k: usize| {
                let near = |(home, at)| home == number && k - at <= NEAR;
                let slot = &mut kept.slots[id as usize];
                if slot.is_none()
                    && defined[id as usize].is_some_and(|site| !near(site))
                    && Word::of(function.kind(id)).is_some()
                {
                    *slot = Some(kept.count);
                    kept.count += 1;
                }
            };
            for (k, i) in block.instructions.iter().enumerate() {
                let operands = i.expression.operands().iter();
                operands.for_each(|&id| read(id, k));
            }
            let end = block.instructions.len();
            block.terminator.each(|id| read(id, end));
        }
        match kept.count.saturating_mul(branches) < MANY {
            true => KeptValues::default(),
            false => kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Array, DType, Type};
    use crate::ir::{Builder, Terminator, ValueKind};
    use crate::rules::{Add, Gather, OpRef};

    /// The sum of so many elements of a vector, which are all looked up before the first is added.
    fn looked_up(count: usize) -> Function {
        let b = Builder::new();
        let vector = b.parameter(ValueKind::from(Type::new(DType::F64, &[count])));
        let apply = |op, args: &[ValueId]| b.try_apply(op, args).unwrap();
        let element = |k| {
            let index = b.literal(Array::from(k as u32).into());
            apply(OpRef::Static(&Gather), &[vector, index])
        };
        let elements: Vec<ValueId> = (0..count).map(element).collect();
        let add = |sum, &element| apply(OpRef::Static(&Add), &[sum, element]);
        let total = b.literal(Array::from(0.0).into());
        let total = elements.iter().fold(total, add);
        b.terminate(Terminator::Return(vec![total]));
        b.finish("looked_up").unwrap()
    }

    #[test]
    fn numbers_of_long_code_are_kept_in_memory() {
        for (count, kept) in [(10, 0), (100, 0), (1000, 1000)] {
            let function = looked_up(count);
            function.check().unwrap();
            assert_eq!(KeptValues::of(&function, &Cfg::new(&function)).count, kept);
        }
    }
}
