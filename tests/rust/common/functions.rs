//! Random functions with loops, branches, switches, guards, tapes and early returns, which end.
//!
//! A function takes two float64 numbers, an integer and a bool, and returns the same. Blocks are
//! made as a front end makes them, but with what an optimiser can find: copies, swaps, constants,
//! common expressions, code that nobody needs, loops whose values do not change.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::DType;
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarOperator as S, Target, Terminator, ValueId,
    ValueKind,
};
use wyrmling::rules::{self, OpRef, Operator};

/// The values that can be used where the builder stands, by kind.
#[derive(Debug, Clone, Default)]
struct Scope {
    floats: Vec<ValueId>,
    ints: Vec<ValueId>,
    bools: Vec<ValueId>,
}

struct Generator {
    builder: Builder,
    random: Xoshiro256PlusPlus,
    scope: Scope,
    /// How many more statements there may be.
    left: usize,
}

fn float() -> ValueKind {
    ValueKind::number(DType::F64)
}

fn to(block: usize, args: Vec<ValueId>) -> Target {
    Target { block, args }
}

/// A random function; the same for the same seed. `statements` limits how many it is made of.
pub fn random_function(seed: u64, statements: usize) -> Function {
    let builder = Builder::new();
    let scope = Scope {
        floats: vec![builder.parameter(float()), builder.parameter(float())],
        ints: vec![builder.parameter(ValueKind::Int)],
        bools: vec![builder.parameter(ValueKind::Bool)],
    };
    let mut generator = Generator {
        builder,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        scope,
        left: statements,
    };
    generator.statements(3);
    let results = generator.results();
    let builder = generator.builder;
    builder.terminate(Terminator::Return(results));
    let function = builder.finish("random").expect("fitting kinds");
    function.check().expect("well formed");
    function
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.random.random_range(0..n)
    }

    /// One of some values, more often a late one.
    fn pick(&mut self, from: &[ValueId]) -> ValueId {
        let k = self.below(from.len()).max(self.below(from.len()));
        from[k]
    }

    fn float(&mut self) -> ValueId {
        let from = self.scope.floats.clone();
        self.pick(&from)
    }

    fn int(&mut self) -> ValueId {
        let from = self.scope.ints.clone();
        self.pick(&from)
    }

    fn truth(&mut self) -> ValueId {
        let from = self.scope.bools.clone();
        self.pick(&from)
    }

    fn exit(&mut self) -> u32 {
        self.builder.exit("out", 0)
    }

    fn results(&mut self) -> Vec<ValueId> {
        vec![self.float(), self.float(), self.int(), self.truth()]
    }

    /// Some values of each kind, and the kinds.
    fn some(&mut self, counts: [usize; 3]) -> Vec<ValueId> {
        let mut values = Vec::new();
        values.extend((0..counts[0]).map(|_| self.float()));
        values.extend((0..counts[1]).map(|_| self.int()));
        values.extend((0..counts[2]).map(|_| self.truth()));
        values
    }

    /// Parameters of the current block, which come into scope.
    fn parameters(&mut self, counts: [usize; 3]) -> Vec<ValueId> {
        let kinds = [float(), ValueKind::Int, ValueKind::Bool];
        let mut all = Vec::new();
        for ((count, kind), k) in counts.into_iter().zip(kinds).zip(0..) {
            for _ in 0..count {
                let id = self.builder.parameter(kind.clone());
                all.push(id);
                match k {
                    0 => self.scope.floats.push(id),
                    1 => self.scope.ints.push(id),
                    _ => self.scope.bools.push(id),
                }
            }
        }
        all
    }

    fn counts(&mut self) -> [usize; 3] {
        [self.below(3), self.below(3), self.below(2)]
    }

    fn literal(&mut self, datum: Datum) -> ValueId {
        self.builder.literal(datum)
    }

    fn compute(&mut self, op: S, args: &[ValueId]) -> ValueId {
        let exit = op.can_fail().then(|| self.exit());
        let id = self.builder.compute(op, args, exit).expect("fitting kinds");
        match self.builder.kind(id).expect("it is there") {
            ValueKind::Int => self.scope.ints.push(id),
            ValueKind::Bool => self.scope.bools.push(id),
            ValueKind::Array(_) => self.scope.floats.push(id),
        }
        id
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..2 + self.below(8) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.below(if depth > 0 { 34 } else { 24 }) {
                0..8 => self.arithmetic(),
                8..10 => {
                    let x = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, f64::INFINITY][self.below(7)];
                    let id = self.literal(x.into());
                    self.scope.floats.push(id);
                }
                10..12 => {
                    let x = [0, 1, -1, 2, 7, 63, i64::MAX][self.below(7)];
                    let id = self.literal(Datum::Int(x));
                    self.scope.ints.push(id);
                }
                12 => {
                    let x = self.below(2) == 0;
                    let id = self.literal(Datum::Bool(x));
                    self.scope.bools.push(id);
                }
                13..17 => self.integers(),
                17..20 => self.compare(),
                20..22 => self.truths(),
                22 => self.convert(),
                23 => self.guard(),
                24..28 => self.choice(depth),
                28..31 => self.repeat(depth),
                31 => self.switch(depth),
                32 => self.tape(),
                _ => self.leave_early(),
            }
        }
    }

    fn arithmetic(&mut self) {
        let one: [&'static dyn Operator; 5] = [
            &rules::Neg,
            &rules::Sin,
            &rules::Tanh,
            &rules::Identity,
            &rules::Relu,
        ];
        let two: [&'static dyn Operator; 6] = [
            &rules::Add,
            &rules::Sub,
            &rules::Mul,
            &rules::Div,
            &rules::Add,
            &rules::SumTo,
        ];
        let x = self.float();
        let (op, args) = match self.below(11) {
            k @ 0..5 => (one[k], vec![x]),
            k => (two[k - 5], vec![x, self.float()]),
        };
        let id = self.builder.try_apply(OpRef::Static(op), &args);
        self.scope.floats.push(id.expect("fitting kinds"));
    }

    fn integers(&mut self) {
        let two = [
            S::IntAdd,
            S::IntSub,
            S::IntMul,
            S::IntFloorDiv,
            S::IntMod,
            S::IntAnd,
            S::IntOr,
            S::IntXor,
            S::IntPow,
            S::IntShiftRight,
        ];
        let one = [S::IntNeg, S::IntInvert, S::IntAbs];
        let x = self.int();
        match self.below(5) {
            0 => {
                let op = one[self.below(one.len())];
                self.compute(op, &[x]);
            }
            1..3 => {
                let op = two[self.below(3)];
                let y = self.int();
                self.compute(op, &[x, y]);
            }
            _ => {
                let op = two[self.below(two.len())];
                // A divisor that is a constant fails less often.
                let y = match self.below(2) {
                    0 => self.literal(Datum::Int([1, 2, 3][x as usize % 3])),
                    _ => self.int(),
                };
                self.compute(op, &[x, y]);
            }
        }
    }

    fn compare(&mut self) {
        let comparison = Comparison::ALL[self.below(6)];
        if self.below(2) == 0 {
            let args = [self.int(), self.int()];
            self.compute(S::CompareInt(comparison), &args);
        } else {
            let args = [self.float(), self.float()];
            self.compute(S::CompareNumber(comparison), &args);
        }
    }

    fn truths(&mut self) {
        let two = [S::BoolAnd, S::BoolOr, S::BoolXor, S::BoolEqual];
        let x = self.truth();
        match self.below(5) {
            4 => self.compute(S::BoolNot, &[x]),
            k => {
                let y = self.truth();
                self.compute(two[k], &[x, y])
            }
        };
    }

    fn convert(&mut self) {
        match self.below(6) {
            0 | 1 => {
                let x = self.int();
                self.compute(S::IntToFloat, &[x]);
            }
            2 => {
                let x = self.truth();
                self.compute(S::BoolToInt, &[x]);
            }
            3 => {
                let x = self.int();
                self.compute(S::IntToBool, &[x]);
            }
            4 => {
                let x = self.float();
                self.compute(S::FloatToBool, &[x]);
            }
            _ => {
                let x = self.float();
                let op = [S::FloatToInt, S::Floor, S::Ceil, S::Round][self.below(4)];
                self.compute(op, &[x]);
            }
        }
    }

    /// A guard that holds, or mostly does, so that what follows is reached.
    fn guard(&mut self) {
        let x = self.int();
        let bound = self.literal(Datum::Int(-50));
        let condition = match self.below(4) {
            0 => self.truth(),
            _ => self.compute(S::CompareInt(Comparison::Greater), &[x, bound]),
        };
        let exit = self.exit();
        self.builder.guard(condition, exit).expect("a bool");
        if self.below(3) == 0 {
            let exit = self.exit();
            self.builder.guard(condition, exit).expect("a bool");
        }
    }

    /// A new block; instructions go on where they went.
    fn new_block(&self) -> usize {
        let current = self.builder.current();
        let block = self.builder.block();
        self.go_to(current);
        block
    }

    fn go_to(&self, block: usize) {
        self.builder.switch_to(block).expect("it is there");
    }

    /// Ends the current block.
    fn jump(&self, block: usize, args: Vec<ValueId>) {
        self.builder.terminate(Terminator::Jump(to(block, args)));
    }

    fn branch(&self, condition: ValueId, then: Target, otherwise: Target) {
        self.builder.terminate(Terminator::Branch {
            condition,
            then,
            otherwise,
        });
    }

    /// Several ways that come together, each of which may be empty.
    fn ways(&mut self, count: usize, depth: usize, end: impl Fn(&Self, Vec<Target>)) {
        let from = self.builder.current();
        let (outside, counts) = (self.scope.clone(), self.counts());
        let join = self.new_block();
        let mut ways = Vec::new();
        for _ in 0..count {
            self.scope = outside.clone();
            if self.below(5) == 0 {
                ways.push(to(join, self.some(counts)));
                continue;
            }
            ways.push(to(self.builder.block(), Vec::new()));
            if self.below(6) != 0 {
                self.statements(depth - 1);
            }
            let args = self.some(counts);
            self.jump(join, args);
        }
        self.go_to(from);
        end(self, ways);
        self.go_to(join);
        self.scope = outside;
        self.parameters(counts);
    }

    fn choice(&mut self, depth: usize) {
        let condition = match self.below(8) {
            0 => self.float(),
            _ => self.truth(),
        };
        self.ways(2, depth, |generator, ways| {
            generator.branch(condition, ways[0].clone(), ways[1].clone());
        });
    }

    fn switch(&mut self, depth: usize) {
        let (x, three) = (self.int(), self.literal(Datum::Int(3)));
        let value = match self.below(3) {
            0 => self.literal(Datum::Int(1)),
            _ => self.compute(S::IntMod, &[x, three]),
        };
        self.ways(3, depth, |generator, targets| {
            let terminator = Terminator::Switch { value, targets };
            generator.builder.terminate(terminator);
        });
    }

    /// The start of a loop that counts to a number: the header and its parameters, the counter last.
    /// Then comes its body.
    fn count_to(&mut self, most: ValueId, args: Vec<ValueId>, counts: [usize; 3]) -> Loop {
        let (zero, one) = (self.literal(Datum::Int(0)), self.literal(Datum::Int(1)));
        let mut args = args;
        args.push(zero);
        let header = self.new_block();
        self.jump(header, args);
        self.go_to(header);
        let changing = self.parameters(counts);
        let count = self.builder.parameter(ValueKind::Int);
        self.scope.ints.push(count);
        let less = self.compute(S::CompareInt(Comparison::Less), &[count, most]);
        let (body, after) = (self.new_block(), self.new_block());
        self.branch(less, to(body, Vec::new()), to(after, changing.clone()));
        self.go_to(body);
        let next = self.compute(S::IntAdd, &[count, one]);
        Loop {
            header,
            after,
            changing,
            next,
        }
    }

    /// A loop with values that change, swap or stay, and perhaps a way back or out in its midst.
    fn repeat(&mut self, depth: usize) {
        let outside = self.scope.clone();
        let most = Datum::Int(self.below(4) as i64);
        let most = self.literal(most);
        let counts = self.counts();
        let args = self.some(counts);
        let l = self.count_to(most, args, counts);
        if self.below(3) > 0 {
            self.statements(depth - 1);
        }
        if self.below(3) == 0 {
            let (condition, out, rest) = (self.truth(), self.some(counts), self.new_block());
            let mut again = out.clone();
            again.push(l.next);
            let way = match self.below(2) {
                0 => to(l.header, again),
                _ => to(l.after, out),
            };
            self.branch(condition, way, to(rest, Vec::new()));
            self.go_to(rest);
            self.statements(depth - 1);
        }
        let mut again = match self.below(4) {
            0 => l.changing.clone(),
            _ => self.some(counts),
        };
        if counts[0] == 2 && self.below(2) == 0 {
            again.swap(0, 1);
        }
        again.push(l.next);
        self.jump(l.header, again);
        self.go_to(l.after);
        self.scope = outside;
        self.parameters(counts);
    }

    /// A loop that fills a tape, and one that empties it. Not all that is kept is read.
    fn tape(&mut self) {
        let outside = self.scope.clone();
        let tape = self.builder.tape(vec![float(), ValueKind::Int, float()]);
        let most = Datum::Int(self.below(4) as i64);
        let most = self.literal(most);
        let start = self.some([1, 0, 0]);
        let l = self.count_to(most, start, [1, 0, 0]);
        self.arithmetic();
        let mut record = self.some([1, 1, 1]);
        record[2] = self.float();
        self.builder.push(tape, &record).expect("fitting kinds");
        let again = vec![self.float(), l.next];
        self.jump(l.header, again);
        self.go_to(l.after);
        self.scope = outside.clone();
        let between = self.parameters([1, 0, 0]);
        let l = self.count_to(most, between, [1, 0, 0]);
        let popped = self.builder.pop(tape).expect("it is there");
        self.scope.floats.push(popped[0]);
        if self.below(2) == 0 {
            self.scope.ints.push(popped[1]);
        }
        if self.below(2) == 0 {
            self.scope.floats.push(popped[2]);
        }
        self.arithmetic();
        let again = vec![self.float(), l.next];
        self.jump(l.header, again);
        self.go_to(l.after);
        self.scope = outside;
        self.parameters([1, 0, 0]);
    }

    fn leave_early(&mut self) {
        let condition = self.truth();
        let (out, rest) = (self.new_block(), self.new_block());
        self.branch(condition, to(out, Vec::new()), to(rest, Vec::new()));
        self.go_to(out);
        let way = match self.below(3) {
            0 => Terminator::Leave(self.exit()),
            _ => Terminator::Return(self.results()),
        };
        self.builder.terminate(way);
        self.go_to(rest);
    }
}

/// A loop under construction.
struct Loop {
    header: usize,
    after: usize,
    /// The parameters of the header but for the counter.
    changing: Vec<ValueId>,
    /// The counter, one further.
    next: ValueId,
}
