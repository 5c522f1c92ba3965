//! Where values are read for the last time.
//!
//! Whoever runs a function takes an operand there instead of sharing it: an array that nobody else
//! holds can be changed in place ([`Operator::update`](crate::rules::Operator::update)), and memory is
//! free early.

use crate::ir::{Cfg, Expression, Function, Liveness, ValueId};

/// For each use of a value, whether it is the last. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct LastUses {
    /// For each block and instruction, one bit for each of the first 64 operands; later ones are never
    /// taken for the last use.
    instructions: Vec<Vec<u64>>,
    /// For each block and target of its terminator, one entry an argument.
    targets: Vec<Vec<Vec<bool>>>,
}

/// The bit of an operand.
fn bit(operand: usize) -> u64 {
    1u64.checked_shl(operand as u32).unwrap_or(0)
}

impl LastUses {
    /// Those of a function that was checked.
    pub(crate) fn new(function: &Function) -> Self {
        let graph = Cfg::new(function);
        let liveness = Liveness::new(function, &graph);
        let mut live = vec![false; function.kinds.len()];
        let mut out = LastUses {
            instructions: Vec::with_capacity(function.blocks.len()),
            targets: Vec::with_capacity(function.blocks.len()),
        };
        for (number, block) in function.blocks.iter().enumerate() {
            let targets = block.terminator.targets();
            let ends = targets.iter().map(|to| {
                let inside = liveness.live_in(to.block);
                let last = |(k, id): (usize, &ValueId)| {
                    inside.binary_search(id).is_err() && !to.args[k + 1..].contains(id)
                };
                to.args.iter().enumerate().map(last).collect()
            });
            out.targets.push(ends.collect());
            live.fill(false);
            let mut read = |id: ValueId| std::mem::replace(&mut live[id as usize], true);
            for &id in liveness.live_out(number) {
                read(id);
            }
            for &id in targets.iter().flat_map(|to| &to.args) {
                read(id);
            }
            for &id in block.terminator.operands() {
                read(id);
            }
            let last = |expression: &Expression| {
                let operands = expression.operands().iter().enumerate().rev();
                operands.fold(0, |bits, (k, &id)| match read(id) {
                    true => bits,
                    false => bits | bit(k),
                })
            };
            let backwards = block.instructions.iter().rev();
            let mut bits: Vec<u64> = backwards.map(|i| &i.expression).map(last).collect();
            bits.reverse();
            out.instructions.push(bits);
        }
        out
    }

    /// Whether an operand of an instruction is read nowhere else after this.
    pub(crate) fn operand(&self, block: usize, instruction: usize, operand: usize) -> bool {
        self.instructions[block][instruction] & bit(operand) != 0
    }

    /// For the arguments that a target of a terminator is given, whether they are read nowhere else
    /// after this.
    pub(crate) fn arguments(&self, block: usize, target: usize) -> &[bool] {
        &self.targets[block][target]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{DType, Type};
    use crate::ir::{Builder, Target, Terminator, ValueKind};
    use crate::rules::{Add, OpRef, Square};

    #[test]
    fn a_use_is_the_last_where_no_path_reads_the_value_again() {
        let number = || ValueKind::from(Type::scalar(DType::F64));
        let b = Builder::new();
        let (x, y) = (b.parameter(number()), b.parameter(number()));
        let add = |args: &[ValueId]| b.try_apply(OpRef::Static(&Add), args).expect("numbers");
        let double = add(&[x, x]);
        let sum = add(&[double, y]);
        b.terminate(Terminator::Jump(Target {
            block: 1,
            args: vec![sum, sum, y],
        }));
        b.block();
        let [p, q, r] = [(); 3].map(|()| b.parameter(number()));
        let square = b.try_apply(OpRef::Static(&Square), &[p]).expect("a number");
        let to = |block, args: &[ValueId]| Target {
            block,
            args: args.to_vec(),
        };
        b.terminate(Terminator::Branch {
            condition: square,
            then: to(1, &[q, r, square]),
            otherwise: to(2, &[r]),
        });
        b.block();
        let s = b.parameter(number());
        let end = add(&[s, y]);
        b.terminate(Terminator::Return(vec![end]));
        let function = b.finish("f").expect("fitting types");
        function.check().expect("well formed");
        let last = LastUses::new(&function);
        // Of two operands that are one value the second is the last.
        assert_eq!([0, 1].map(|k| last.operand(0, 0, k)), [false, true]);
        // y is read in block 2.
        assert_eq!([0, 1].map(|k| last.operand(0, 1, k)), [true, false]);
        assert_eq!(last.arguments(0, 0), [false, true, false]);
        assert!(last.operand(1, 0, 0));
        assert_eq!(last.arguments(1, 0), [true, true, true]);
        assert_eq!(last.arguments(1, 1), [true]);
        assert_eq!([0, 1].map(|k| last.operand(2, 0, k)), [true, true]);
    }
}
