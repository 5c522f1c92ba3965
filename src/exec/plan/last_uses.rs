//! Where values are read for the last time.
//!
//! What runs a function takes an operand there instead of sharing it. So an array of which there is no other
//! owner can be changed in place ([`Operator::update`](crate::rules::Operator::update)), and memory is free
//! early.
//!
//! Limit: a number, integer or truth value that several blocks read has no last use. It is neither large nor
//! changed in place, and where each of thousands is needed takes the square of their number to find.

use crate::ir::{Cfg, Expression, Function, ValueId, each_range};

/// For each use of a value, whether it is the last. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct LastUses {
    /// For each block and instruction, one bit for each of the first 64 operands; later ones are never
    /// taken for the last use.
    instructions: Vec<Vec<u64>>,
    /// For each block and target of its terminator, one entry an argument.
    targets: Vec<Vec<Vec<bool>>>,
}

/// What of the live values of each block is asked for. That is a few, where all of them are as many as the
/// values of a function with thousands of branches.
struct Needed {
    /// The values that a block defines or reads and that are needed after it, sorted.
    after: Vec<Vec<ValueId>>,
    /// The values that are passed to a block as arguments and needed in it or after it all the same, sorted.
    given: Vec<Vec<ValueId>>,
    /// The numbers that other blocks than their own read.
    is_spread: Vec<bool>,
}

impl Needed {
    fn of(function: &Function, graph: &Cfg) -> Self {
        let count = function.blocks.len();
        let mut given: Vec<(ValueId, usize)> = Vec::new();
        for block in &function.blocks {
            for to in block.terminator.targets() {
                given.extend(to.args.iter().map(|&id| (id, to.block)));
            }
        }
        given.sort_unstable();
        let [mut after, mut given_still] = [(); 2].map(|()| vec![Vec::new(); count]);
        let mut is_spread = vec![false; function.kinds.len()];
        let pass_over = |id: ValueId| {
            let array = function.kind(id).array();
            let is_number = array.is_none_or(|ty| ty.ndim() == 0);
            is_spread[id as usize] |= is_number;
            is_number
        };
        // The value that each block is to be asked about.
        let (mut concerns, mut takes) = (vec![None; count], vec![None; count]);
        each_range(function, graph, pass_over, |range| {
            let id = range.id;
            let readers = range.readers.iter().map(|&(_, block)| block);
            for block in readers.chain(range.home) {
                concerns[block] = Some(id);
            }
            let first = given.partition_point(|&(other, _)| other < id);
            for &(_, block) in given[first..].iter().take_while(|&&(other, _)| other == id) {
                takes[block] = Some(id);
            }
            for &block in range.live_out {
                if concerns[block] == Some(id) {
                    after[block].push(id);
                }
            }
            for &block in range.live_in {
                if takes[block] == Some(id) {
                    given_still[block].push(id);
                }
            }
        });
        Needed {
            after,
            given: given_still,
            is_spread,
        }
    }
}

/// The bit of an operand.
fn bit(operand: usize) -> u64 {
    1u64.checked_shl(operand as u32).unwrap_or(0)
}

impl LastUses {
    /// Those of a function that was checked.
    pub(crate) fn new(function: &Function) -> Self {
        let needed = Needed::of(function, &Cfg::new(function));
        // The block, counted from 1, that read a value last.
        let mut reader = vec![0; function.kinds.len()];
        let mut out = LastUses {
            instructions: Vec::with_capacity(function.blocks.len()),
            targets: Vec::with_capacity(function.blocks.len()),
        };
        for (number, block) in function.blocks.iter().enumerate() {
            let targets = block.terminator.targets();
            let ends = targets.iter().map(|to| {
                let inside = &needed.given[to.block];
                let last = |(k, id): (usize, &ValueId)| {
                    !needed.is_spread[*id as usize]
                        && inside.binary_search(id).is_err()
                        && !to.args[k + 1..].contains(id)
                };
                to.args.iter().enumerate().map(last).collect()
            });
            out.targets.push(ends.collect());
            let here = number + 1;
            let mut read = |id: ValueId| std::mem::replace(&mut reader[id as usize], here) == here;
            for &id in &needed.after[number] {
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
                operands.fold(0, |bits, (k, &id)| {
                    match read(id) || needed.is_spread[id as usize] {
                        true => bits,
                        false => bits | bit(k),
                    }
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
        let array = || ValueKind::from(Type::new(DType::F64, &[2]));
        let b = Builder::new();
        let (x, y) = (b.parameter(array()), b.parameter(array()));
        let more = b.parameter(ValueKind::Bool);
        let add = |args: &[ValueId]| b.try_apply(OpRef::Static(&Add), args).expect("arrays");
        let double = add(&[x, x]);
        let sum = add(&[double, y]);
        b.terminate(Terminator::Jump(Target {
            block: 1,
            args: vec![sum, sum, y],
        }));
        b.block();
        let [p, q, r] = [(); 3].map(|()| b.parameter(array()));
        let square = b.try_apply(OpRef::Static(&Square), &[p]).expect("an array");
        let to = |block, args: &[ValueId]| Target {
            block,
            args: args.to_vec(),
        };
        b.terminate(Terminator::Branch {
            condition: more,
            then: to(1, &[q, r, square]),
            otherwise: to(2, &[r]),
        });
        b.block();
        let s = b.parameter(array());
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

    /// N blocks, each of which makes an array, between the arrays that the first block makes and the last reads.
    #[test]
    fn what_is_asked_for_grows_with_the_uses_and_not_with_blocks_times_values() {
        let noted = |count: usize| {
            let b = Builder::new();
            let x = b.parameter(Type::new(DType::F64, &[2]));
            let square = |x| b.try_apply(OpRef::Static(&Square), &[x]).expect("an array");
            let early: Vec<ValueId> = (0..count).map(|_| square(x)).collect();
            for block in 1..=count {
                square(x);
                let args = Vec::new();
                b.terminate(Terminator::Jump(Target { block, args }));
                b.block();
            }
            b.terminate(Terminator::Return(early));
            let function = b.finish("f").expect("fitting types");
            function.check().expect("well formed");
            let last = LastUses::new(&function);
            assert!(last.operand(count - 1, 0, 0) && !last.operand(count - 2, 0, 0));
            let needed = Needed::of(&function, &Cfg::new(&function));
            needed.after.iter().map(Vec::len).sum::<usize>()
        };
        // x after each block but the last that reads it, and the arrays after the first.
        assert_eq!([100, 200].map(noted), [199, 399]);
    }

    #[test]
    fn a_number_that_several_blocks_read_has_no_last_use() {
        let b = Builder::new();
        let x = b.parameter(Type::scalar(DType::F64));
        let square = |x| b.try_apply(OpRef::Static(&Square), &[x]).expect("a number");
        let y = square(square(x));
        let args = vec![y];
        b.terminate(Terminator::Jump(Target { block: 1, args }));
        b.block();
        b.parameter(Type::scalar(DType::F64));
        let (first, second) = (square(x), square(y));
        b.terminate(Terminator::Return(vec![first, second]));
        let function = b.finish("f").expect("fitting types");
        let last = LastUses::new(&function);
        let operands = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let found = operands.map(|(block, k)| last.operand(block, k, 0));
        assert_eq!(found, [false, true, false, false]);
        assert_eq!(last.arguments(0, 0), [false]);
    }
}
