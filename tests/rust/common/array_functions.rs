//! Random functions of arrays with loops, branches and tapes: elements read and replaced, sums, and sums
//! into elements.
//!
//! A function takes two float64 arrays of a given shape and a number, and returns the same. Indices go up to
//! [`LENGTH`].

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::array::{Dense, Shape};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, ScalarOperator as S, Target, Terminator, ValueId,
    ValueKind,
};
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{Array, DType, Type};

/// The least length of an axis.
const LENGTH: usize = 4;

fn to(block: usize, args: Vec<ValueId>) -> Target {
    Target { block, args }
}

struct ArrayGenerator {
    b: Builder,
    random: Xoshiro256PlusPlus,
    arrays: Vec<ValueId>,
    numbers: Vec<ValueId>,
    indices: Vec<ValueId>,
    shape: &'static [usize],
    left: usize,
}

impl ArrayGenerator {
    fn below(&mut self, n: usize) -> usize {
        self.random.random_range(0..n)
    }

    fn kind(&self) -> ValueKind {
        Type::new(DType::F64, self.shape).into()
    }

    fn array(&mut self) -> ValueId {
        let k = self
            .below(self.arrays.len())
            .max(self.below(self.arrays.len()));
        self.arrays[k]
    }

    fn number(&mut self) -> ValueId {
        let k = self
            .below(self.numbers.len())
            .max(self.below(self.numbers.len()));
        self.numbers[k]
    }

    fn index(&mut self) -> ValueId {
        let k = self.below(self.indices.len());
        self.indices[k]
    }

    /// These operands, and an index for each axis.
    fn with_indices(&mut self, args: &[ValueId]) -> Vec<ValueId> {
        let mut args = args.to_vec();
        args.extend(self.shape.iter().map(|_| self.index()));
        args
    }

    /// The operator of vectors, or that of elements by an index for each axis.
    fn either(&self, of_vectors: &'static dyn Operator, other: impl Fn(Shape) -> OpRef) -> OpRef {
        match self.shape.len() {
            1 => OpRef::Static(of_vectors),
            axes => other((0..axes).collect()),
        }
    }

    fn apply(&mut self, op: OpRef, args: &[ValueId]) {
        let id = self.b.try_apply(op, args).expect("fitting types");
        match self.b.kind(id).expect("it is there").as_number() {
            Some(_) => self.numbers.push(id),
            None => self.arrays.push(id),
        }
    }

    fn operator(&mut self) {
        let two: [&'static dyn Operator; 3] = [&rules::Add, &rules::Mul, &rules::Sub];
        let op = OpRef::Static(two[self.below(3)]);
        match self.below(9) {
            0 => {
                let args = [self.array(), self.array()];
                self.apply(op, &args);
            }
            1 => {
                let args = [self.array(), self.number()];
                self.apply(op, &args);
            }
            2 => {
                let args = [self.number(), self.number()];
                self.apply(op, &args);
            }
            3 => {
                let sum = rules::Sum {
                    axes: (0..self.shape.len()).collect(),
                    keepdims: false,
                };
                let args = [self.array()];
                self.apply(OpRef::new(sum), &args);
            }
            4 | 5 => {
                let array = self.array();
                let args = self.with_indices(&[array]);
                self.apply(
                    self.either(&rules::Gather, |axes| OpRef::new(rules::TakeAt { axes })),
                    &args,
                );
            }
            6 => {
                let (array, number) = (self.array(), self.number());
                let args = self.with_indices(&[array, number]);
                self.apply(
                    self.either(&rules::ReplaceRow, |axes| {
                        OpRef::new(rules::ReplaceAt { axes })
                    }),
                    &args,
                );
            }
            7 => {
                let args = [self.array()];
                self.apply(OpRef::Static(&rules::Tanh), &args);
            }
            _ => {
                let (base, x) = (self.array(), self.number());
                let args = self.with_indices(&[base, x]);
                let scatter = self.either(&rules::ScatterRows, |axes| {
                    OpRef::new(rules::AddAt { axes })
                });
                let sum = rules::Accumulate::new(true, [(scatter, args.len() - 1)]);
                self.apply(OpRef::new(sum), &args);
            }
        }
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..2 + self.below(6) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.below(if depth == 0 { 6 } else { 10 }) {
                0..6 => self.operator(),
                6 | 7 => self.choice(depth),
                _ => self.repeat(depth),
            }
        }
    }

    fn some(&mut self) -> Vec<ValueId> {
        vec![self.array(), self.array(), self.number()]
    }

    fn parameters(&mut self) {
        let [x, y] = [(); 2].map(|()| self.b.parameter(self.kind()));
        let z = self.b.parameter(ValueKind::number(DType::F64));
        self.arrays.extend([x, y]);
        self.numbers.push(z);
    }

    fn scope(&self) -> [Vec<ValueId>; 3] {
        [
            self.arrays.clone(),
            self.numbers.clone(),
            self.indices.clone(),
        ]
    }

    fn restore(&mut self, [arrays, numbers, indices]: [Vec<ValueId>; 3]) {
        (self.arrays, self.numbers, self.indices) = (arrays, numbers, indices);
    }

    fn choice(&mut self, depth: usize) {
        let (x, y, outside) = (self.number(), self.number(), self.scope());
        let less = S::CompareNumber(Comparison::Less);
        let condition = self.b.compute(less, &[x, y], None).expect("numbers");
        let from = self.b.current();
        let join = self.b.block();
        let mut ways = Vec::new();
        for _ in 0..2 {
            self.restore(outside.clone());
            if self.below(3) == 0 {
                ways.push(to(join, self.some()));
                continue;
            }
            ways.push(to(self.b.block(), Vec::new()));
            self.statements(depth - 1);
            let args = self.some();
            self.b.terminate(Terminator::Jump(to(join, args)));
        }
        self.b.switch_to(from).expect("it is there");
        let otherwise = ways.pop().expect("two");
        let then = ways.pop().expect("two");
        self.b.terminate(Terminator::Branch {
            condition,
            then,
            otherwise,
        });
        self.b.switch_to(join).expect("it is there");
        self.restore(outside);
        self.parameters();
    }

    /// A loop over the indices, which may keep arrays and numbers on a tape that another one empties.
    fn repeat(&mut self, depth: usize) {
        let outside = self.scope();
        let tape = (self.below(2) == 0).then(|| {
            self.b.tape(vec![
                self.kind(),
                ValueKind::number(DType::F64),
                self.kind(),
            ])
        });
        for turn in 0..1 + usize::from(tape.is_some()) {
            let constants = [0, LENGTH as i64, 1].map(|i| self.b.literal(Datum::Int(i)));
            let [zero, most, one] = constants;
            let exit = self.b.exit("too many", 0);
            let mut start = self.some();
            start.push(zero);
            let before = self.b.current();
            let header = self.b.block();
            self.b.switch_to(before).expect("it is there");
            self.b.terminate(Terminator::Jump(to(header, start)));
            self.b.switch_to(header).expect("it is there");
            self.parameters();
            let i = self.b.parameter(ValueKind::Int);
            let inside = self.scope();
            let less = S::CompareInt(Comparison::Less);
            let condition = self.b.compute(less, &[i, most], None).expect("integers");
            let out = self.some();
            let body = self.b.block();
            let next = self
                .b
                .compute(S::IntAdd, &[i, one], Some(exit))
                .expect("integers");
            let index = self
                .b
                .compute(S::IntToIndex, &[i], Some(exit))
                .expect("an integer");
            self.indices.push(index);
            if turn == 1
                && let Some(tape) = tape
            {
                let popped = self.b.pop(tape).expect("a tape");
                self.arrays.extend([popped[0], popped[2]]);
                self.numbers.push(popped[1]);
            }
            self.statements(depth - 1);
            if turn == 0
                && let Some(tape) = tape
            {
                let record = [self.array(), self.number(), self.array()];
                self.b.push(tape, &record).expect("fitting kinds");
            }
            let mut again = self.some();
            again.push(next);
            self.b.terminate(Terminator::Jump(to(header, again)));
            self.restore(inside);
            let after = self.b.block();
            self.restore(outside.clone());
            self.parameters();
            self.b.switch_to(header).expect("it is there");
            self.b.terminate(Terminator::Branch {
                condition,
                then: to(body, Vec::new()),
                otherwise: to(after, out),
            });
            self.b.switch_to(after).expect("it is there");
        }
    }
}

/// A random function of at most so many statements, of arrays whose axes have [`LENGTH`] or more; the same
/// for the same seed.
pub fn random_array_function(seed: u64, statements: usize, shape: &'static [usize]) -> Function {
    let b = Builder::new();
    let array = || Type::new(DType::F64, shape);
    let arrays = vec![b.parameter(array()), b.parameter(array())];
    let numbers = vec![b.parameter(ValueKind::number(DType::F64))];
    let indices = vec![b.literal(Array::from(1_u32).into())];
    let mut generator = ArrayGenerator {
        b,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        arrays,
        numbers,
        indices,
        shape,
        left: statements,
    };
    generator.statements(2);
    let results = generator.some();
    generator.b.terminate(Terminator::Return(results));
    let function = generator.b.finish("arrays").expect("fitting kinds");
    function.check().expect("well formed");
    function
}

/// Arguments for a function.
pub fn array_arguments(random: &mut Xoshiro256PlusPlus, shape: &[usize]) -> Vec<Datum> {
    let mut array = || -> Datum {
        let count = shape.iter().product();
        let elements: Vec<f64> = (0..count).map(|_| random.random_range(-1.5..1.5)).collect();
        let elements = Dense::new(shape, elements).expect("as many elements");
        Array::from(elements).into()
    };
    let (x, y) = (array(), array());
    vec![x, y, random.random_range(-1.5..1.5).into()]
}
