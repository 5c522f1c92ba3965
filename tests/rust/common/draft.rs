//! Functions with blocks, written by hand.

use wyrmling::DType;
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarOperator as S, Target, Terminator, ValueId,
    ValueKind,
};
use wyrmling::rules::{OpRef, Operator};

/// A function under construction: `f.block(…)` begins a block, which `f.jump(…)` and the like end.
pub struct Draft(pub Builder);

impl Draft {
    /// An operator of the rule table.
    pub fn apply(&self, op: &'static dyn Operator, args: &[ValueId]) -> ValueId {
        self.0.try_apply(OpRef::Static(op), args).expect("fits")
    }

    /// A scalar operator, which leaves by an exit of its own if it fails.
    pub fn compute(&self, op: S, args: &[ValueId]) -> ValueId {
        let exit = op.can_fail().then(|| self.0.exit("out", 0));
        self.0.compute(op, args, exit).expect("fitting kinds")
    }

    /// A constant.
    pub fn number(&self, x: f64) -> ValueId {
        self.0.literal(x.into())
    }

    /// A constant.
    pub fn int(&self, x: i64) -> ValueId {
        self.0.literal(Datum::Int(x))
    }

    /// A parameter of the current block.
    pub fn float(&self) -> ValueId {
        self.0.parameter(ValueKind::number(DType::F64))
    }

    /// A parameter of the current block, an integer.
    pub fn counter(&self) -> ValueId {
        self.0.parameter(ValueKind::Int)
    }

    /// Ends the current block.
    pub fn jump(&self, block: usize, args: &[ValueId]) {
        self.0.terminate(Terminator::Jump(to(block, args)));
    }

    /// Ends the current block.
    pub fn branch(&self, condition: ValueId, then: Target, otherwise: Target) {
        self.0.terminate(Terminator::Branch {
            condition,
            then,
            otherwise,
        });
    }

    /// Whether an integer is less than another.
    pub fn less(&self, a: ValueId, b: ValueId) -> ValueId {
        self.compute(S::CompareInt(Comparison::Less), &[a, b])
    }

    /// The function.
    pub fn finish(self, name: &str) -> Function {
        let function = self.0.finish(name).expect("well formed");
        function.check().expect("well formed");
        function
    }
}

pub fn to(block: usize, args: &[ValueId]) -> Target {
    Target {
        block,
        args: args.to_vec(),
    }
}

/// `for _ in range(n): state = body(state)`: block 1 is the header, 2 the body, 3 the end, in which
/// the results are returned.
pub fn repeat(
    name: &str,
    start: impl Fn(&Draft, ValueId) -> Vec<ValueId>,
    body: impl Fn(&Draft, &[ValueId], ValueId) -> Vec<ValueId>,
    end: impl Fn(&Draft, &[ValueId]) -> Vec<ValueId>,
) -> Function {
    let f = Draft(Builder::new());
    let (x, n) = (f.float(), f.counter());
    let state = start(&f, x);
    let (zero, one) = (f.int(0), f.int(1));
    f.jump(1, &[&state[..], &[zero]].concat());
    f.0.block();
    let state: Vec<ValueId> = state.iter().map(|_| f.float()).collect();
    let i = f.counter();
    let more = f.less(i, n);
    f.branch(more, to(2, &[]), to(3, &[]));
    f.0.block();
    let next = body(&f, &state, i);
    let i = f.compute(S::IntAdd, &[i, one]);
    f.jump(1, &[&next[..], &[i]].concat());
    f.0.block();
    let results = end(&f, &state);
    f.0.terminate(Terminator::Return(results));
    f.finish(name)
}
