//! Comparisons of integers that always come out the same: random nests of counting loops, branches and
//! guards against themselves simplified, and loops of which it is known what has to go.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::exec::{Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Expression, Function, ScalarOperator as S, Terminator, ValueId,
};
use wyrmling::rules::Gather;
use wyrmling::{Array, DType, Type};

use crate::common::draft::{Draft, to};
use crate::common::outcomes::simple;

/// Steps of a run at most.
const STEPS: usize = 4_000;

/// Comparisons of integers that are left, but for those of constants.
fn comparisons(function: &Function) -> usize {
    let instructions = function.blocks.iter().flat_map(|b| &b.instructions);
    let is_one = |e: &Expression| matches!(e, Expression::Compute(S::CompareInt(_), ..));
    instructions.filter(|i| is_one(&i.expression)).count()
}

struct Generator {
    draft: Draft,
    random_numbers: Xoshiro256PlusPlus,
    /// Integers that are defined on all ways to the current block.
    known: Vec<ValueId>,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.random_numbers.random_range(0..n)
    }

    /// An integer, a constant, or one of them with a constant added or taken away.
    fn integer(&mut self) -> ValueId {
        let small = self.below(5) as i64 - 2;
        let constant = self.draft.int(small);
        let known = self.below(self.known.len());
        let known = self.known[known];
        match self.below(6) {
            0 => constant,
            1 => self.draft.compute(S::IntAdd, &[known, constant]),
            2 => self.draft.compute(S::IntSub, &[known, constant]),
            _ => known,
        }
    }

    fn condition(&mut self) -> ValueId {
        let how = Comparison::ALL[self.below(6)];
        let (x, y) = (self.integer(), self.integer());
        let one = self.draft.compute(S::CompareInt(how), &[x, y]);
        match self.below(5) {
            0 => self.draft.compute(S::BoolNot, &[one]),
            1 => {
                let other = self.less();
                self.draft.compute(S::BoolAnd, &[one, other])
            }
            2 => {
                let other = self.less();
                self.draft.compute(S::BoolOr, &[one, other])
            }
            _ => one,
        }
    }

    fn less(&mut self) -> ValueId {
        let (x, y) = (self.integer(), self.integer());
        self.draft.less(x, y)
    }

    /// Statements that change a sum of what was found: the sum afterwards.
    fn statements(&mut self, depth: usize, mut sum: ValueId) -> ValueId {
        for _ in 0..1 + self.below(3) {
            let visible = self.known.len();
            sum = match self.below(4) {
                0 if depth > 0 => self.counting(depth - 1, sum),
                1 if depth > 0 => self.either(depth - 1, sum),
                2 => {
                    let condition = self.condition();
                    let exit = self.draft.0.exit("guard", 0);
                    // Rarely one that fails at once.
                    let condition = match self.below(3) {
                        0 => condition,
                        _ => {
                            let not = self.draft.compute(S::BoolNot, &[condition]);
                            self.draft.compute(S::BoolOr, &[condition, not])
                        }
                    };
                    self.draft.0.guard(condition, exit).expect("a condition");
                    sum
                }
                _ => {
                    let condition = self.condition();
                    self.noted(sum, condition)
                }
            };
            self.known.truncate(visible);
        }
        sum
    }

    /// The sum with one more bit.
    fn noted(&mut self, sum: ValueId, condition: ValueId) -> ValueId {
        let (three, mask) = (self.draft.int(3), self.draft.int(0xff_ffff));
        let bit = self.draft.compute(S::BoolToInt, &[condition]);
        let sum = self.draft.compute(S::IntMul, &[sum, three]);
        let sum = self.draft.compute(S::IntAdd, &[sum, bit]);
        self.draft.compute(S::IntAnd, &[sum, mask])
    }

    fn either(&mut self, depth: usize, sum: ValueId) -> ValueId {
        let condition = self.condition();
        let before = self.draft.0.current();
        let visible = self.known.len();
        let mut ends = Vec::new();
        let mut starts = Vec::new();
        for _ in 0..2 {
            starts.push(self.draft.0.block());
            let end = self.statements(depth, sum);
            let more = self.integer();
            ends.push((self.draft.0.current(), [end, more]));
            self.known.truncate(visible);
        }
        let join = self.draft.0.block();
        let (sum, either) = (self.draft.counter(), self.draft.counter());
        for (block, args) in ends {
            self.draft.0.switch_to(block).expect("it is there");
            self.draft.jump(join, &args);
        }
        self.draft.0.switch_to(before).expect("it is there");
        let [then, otherwise] = [0, 1].map(|k| to(starts[k], &[]));
        self.draft.branch(condition, then, otherwise);
        self.draft.0.switch_to(join).expect("it is there");
        self.known.push(either);
        // Read at once, since it is forgotten after this statement.
        let condition = self.condition();
        self.noted(sum, condition)
    }

    fn counting(&mut self, depth: usize, sum: ValueId) -> ValueId {
        let (start, bound) = (self.integer(), self.integer());
        let step = [1, 1, 1, -1, -1, 2, -3][self.below(7)];
        let how = match (step > 0, self.below(4)) {
            (_, 0) => Comparison::ALL[self.below(6)],
            (true, 1) => Comparison::LessEqual,
            (true, _) => Comparison::Less,
            (false, 1) => Comparison::GreaterEqual,
            (false, _) => Comparison::Greater,
        };
        let step = self.draft.int(step);
        let before = self.draft.0.current();
        let header = self.draft.0.block();
        let (i, inside) = (self.draft.counter(), self.draft.counter());
        let condition = self.draft.compute(S::CompareInt(how), &[i, bound]);
        let body = self.draft.0.block();
        self.known.push(i);
        let new = self.statements(depth, inside);
        let next = self.draft.compute(S::IntAdd, &[i, step]);
        self.draft.jump(header, &[next, new]);
        let after = self.draft.0.block();
        self.draft.0.switch_to(header).expect("it is there");
        self.draft.branch(condition, to(body, &[]), to(after, &[]));
        self.draft.0.switch_to(before).expect("it is there");
        self.draft.jump(header, &[start, sum]);
        self.draft.0.switch_to(after).expect("it is there");
        inside
    }
}

fn vector(length: usize) -> Type {
    Type::new(DType::F64, &[length])
}

/// A function of an array and two integers.
fn random_counting(seed: u64) -> Function {
    let draft = Draft(Builder::new());
    let array = draft.0.parameter(vector(3));
    let (m, n) = (draft.counter(), draft.counter());
    let length = draft.compute(S::Length(0), &[array]);
    let mut generator = Generator {
        draft,
        random_numbers: Xoshiro256PlusPlus::seed_from_u64(seed),
        known: vec![m, n, length],
    };
    let zero = generator.draft.int(0);
    let sum = generator.statements(3, zero);
    generator.draft.0.terminate(Terminator::Return(vec![sum]));
    generator.draft.0.finish("counting").expect("fitting kinds")
}

#[test]
fn random_loops_and_branches_take_the_same_ways() {
    let (mut decided, mut returned, mut left) = (0, 0, 0);
    let far = [i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 2];
    for seed in 0..300 {
        let function = random_counting(seed);
        let small = simple(&function);
        decided += comparisons(&function).saturating_sub(comparisons(&small));
        let mut random_numbers = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..8 {
            let mut integer = || match random_numbers.random_range(0..8) {
                0 => far[random_numbers.random_range(0..far.len())],
                _ => random_numbers.random_range(-4..7),
            };
            let (m, n) = (integer(), integer());
            let length = random_numbers.random_range(0..5);
            let array = Array::full(&vector(length), 1.0);
            let args = [Datum::Array(array), Datum::Int(m), Datum::Int(n)];
            // Too long a run says nothing.
            let Ok(expected) = interpret(&function, &args, STEPS) else {
                continue;
            };
            let found = interpret(&small, &args, STEPS).expect("no more steps");
            let shown = format!("{seed}: {length} {m} {n}\n{function}\n{small}");
            match (&found, &expected) {
                (Outcome::Returned(found), Outcome::Returned(expected)) => {
                    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{shown}");
                    returned += 1;
                }
                (Outcome::Left(found), Outcome::Left(expected)) => {
                    assert_eq!(found, expected, "{shown}");
                    left += 1;
                }
                _ => panic!("{found:?}, not {expected:?}: {shown}"),
            }
        }
    }
    assert!(
        decided > 200 && returned > 400 && left > 100,
        "{decided} {returned} {left}"
    );
}

/// `for i in range(start, stop, step): sum = sum·3 + (c[i] is within bounds)`, as Python reads an element:
/// `i` counts from the end where it is negative. How many guards
/// are left.
fn indexing(bounds: impl Fn(&Draft, ValueId) -> (ValueId, ValueId), step: i64) -> usize {
    let draft = Draft(Builder::new());
    let array = draft.0.parameter(vector(3));
    let length = draft.compute(S::Length(0), &[array]);
    let (start, stop) = bounds(&draft, length);
    let (zero, step_by) = (draft.int(0), draft.int(step));
    let header = draft.0.block();
    let i = draft.counter();
    let condition = match step > 0 {
        true => draft.less(i, stop),
        false => draft.less(stop, i),
    };
    let body = draft.0.block();
    let negative = draft.less(i, zero);
    let below = draft.0.block();
    let from_end = draft.compute(S::IntAdd, &[i, length]);
    let above = draft.0.block();
    let at = draft.counter();
    let exit = draft.0.exit("out of range", 0);
    let least = draft.compute(S::CompareInt(Comparison::LessEqual), &[zero, at]);
    draft.0.guard(least, exit).expect("a condition");
    let most = draft.less(at, length);
    draft.0.guard(most, exit).expect("a condition");
    let index = draft.compute(S::IntToIndex, &[at]);
    draft.apply(&Gather, &[array, index]);
    let next = draft.compute(S::IntAdd, &[i, step_by]);
    draft.jump(header, &[next]);
    let after = draft.0.block();
    draft.0.terminate(Terminator::Return(vec![i]));
    let switch_to = |block| draft.0.switch_to(block).expect("it is there");
    switch_to(0);
    draft.jump(header, &[start]);
    switch_to(header);
    draft.branch(condition, to(body, &[]), to(after, &[]));
    switch_to(body);
    draft.branch(negative, to(below, &[]), to(above, &[i]));
    switch_to(below);
    draft.jump(above, &[from_end]);
    let function = draft.0.finish("indexing").expect("fitting kinds");
    let simple = simple(&function);
    let instructions = simple.blocks.iter().flat_map(|b| &b.instructions);
    let is_guard = |e: &Expression| matches!(e, Expression::Guard(..));
    instructions.filter(|i| is_guard(&i.expression)).count()
}

#[test]
fn counters_within_bounds_need_no_guard() {
    // range(len(c)), range(1, len(c) - 1), range(len(c) - 1, -1, -1), range(0, len(c), 2).
    let all = |d: &Draft, n: ValueId| (d.int(0), n);
    assert_eq!(indexing(all, 1), 0);
    assert_eq!(indexing(all, 2), 0);
    let inner = |d: &Draft, n: ValueId| (d.int(1), d.compute(S::IntSub, &[n, d.int(1)]));
    assert_eq!(indexing(inner, 1), 0);
    let back = |d: &Draft, n: ValueId| (d.compute(S::IntSub, &[n, d.int(1)]), d.int(-1));
    assert_eq!(indexing(back, -1), 0);
}

#[test]
fn counters_that_may_be_out_of_bounds_keep_their_guards() {
    // range(len(c) + 1), range(-1, len(c)), range(len(c), -1, -1), range(len(c) - 1, -2, -1).
    let beyond = |d: &Draft, n: ValueId| (d.int(0), d.compute(S::IntAdd, &[n, d.int(1)]));
    assert_eq!(indexing(beyond, 1), 1);
    let before = |d: &Draft, n: ValueId| (d.int(-1), n);
    assert_eq!(indexing(before, 1), 2);
    let from_length = |d: &Draft, n: ValueId| (n, d.int(-1));
    assert_eq!(indexing(from_length, -1), 1);
    let too_far = |d: &Draft, n: ValueId| (d.compute(S::IntSub, &[n, d.int(1)]), d.int(-2));
    assert_eq!(indexing(too_far, -1), 2);
}
