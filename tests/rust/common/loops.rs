//! Loops over operators on arrays, a turn for each integer below a number.

use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarOperator as S, Target, Terminator, ValueId,
    ValueKind,
};
use wyrmling::rules::OpRef;

/// A turn of a loop.
pub struct Turn<'b> {
    builder: &'b Builder,
    /// The number of the turn.
    number: ValueId,
    /// Where the function is left if a number does not fit.
    exit: u32,
}

impl Turn<'_> {
    /// The result of an operator.
    pub fn apply(&self, op: OpRef, args: &[ValueId]) -> ValueId {
        self.builder.try_apply(op, args).expect("fitting types")
    }

    /// The number of the turn, to look rows up by.
    pub fn index(&self) -> ValueId {
        let index = self
            .builder
            .compute(S::IntToIndex, &[self.number], Some(self.exit));
        index.expect("an integer")
    }
}

/// `for t in range(count): state = body(state, t)` from `start` on; part `result` of the state is the
/// function's.
pub fn counted<const N: usize>(
    name: &str,
    builder: Builder,
    count: ValueId,
    start: [ValueId; N],
    result: usize,
    body: impl FnOnce(&Turn<'_>, [ValueId; N]) -> [ValueId; N],
) -> Function {
    let b = &builder;
    let there = "it is there";
    let to = |block: usize, args: &[ValueId]| Target {
        block,
        args: args.to_vec(),
    };
    let (zero, one) = (b.literal(Datum::Int(0)), b.literal(Datum::Int(1)));
    let exit = b.exit("too many", 0);
    let before = b.current();
    let [header, turn, after] = [(); 3].map(|()| b.block());
    b.switch_to(before).expect(there);
    b.terminate(Terminator::Jump(to(
        header,
        &[&start[..], &[zero]].concat(),
    )));

    b.switch_to(header).expect(there);
    let state = start.map(|part| b.parameter(b.kind(part).expect(there)));
    let number = b.parameter(ValueKind::Int);
    let less = S::CompareInt(Comparison::Less);
    let condition = b.compute(less, &[number, count], None).expect("integers");
    b.terminate(Terminator::Branch {
        condition,
        then: to(turn, &[]),
        otherwise: to(after, &[]),
    });

    b.switch_to(turn).expect(there);
    let next = body(
        &Turn {
            builder: b,
            number,
            exit,
        },
        state,
    );
    let number = b.compute(S::IntAdd, &[number, one], Some(exit));
    let number = number.expect("integers");
    b.terminate(Terminator::Jump(to(
        header,
        &[&next[..], &[number]].concat(),
    )));

    b.switch_to(after).expect(there);
    b.terminate(Terminator::Return(vec![state[result]]));
    builder.finish(name).expect("fitting kinds")
}
