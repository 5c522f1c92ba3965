//! LSTM layers over a few steps of one sequence, and what they predict: wyrm's own benchmark.

use rand::{SeedableRng, XorShiftRng};
use wyrm::nn::losses::sparse_categorical_crossentropy;
use wyrm::optim::Optimizer as _;
use wyrm::{DataInput, IndexInputNode, ParameterNode};
use wyrmling::exec::Leaf;
use wyrmling::graph::ops;
use wyrmling::optim::Optimizer;
use wyrmling::train::{Source, Trainer};
use wyrmling::{Array, DType, Input, Parameter, Type, Variable};

use crate::clock::{Line, Sides, Work, line};
use crate::work::{fit, numbers, parameter, theirs};

const DIGITS: usize = 10;
const RATE: f32 = 0.05;
const STRETCHES: usize = 1000;

pub fn lines() -> Vec<Line> {
    vec![
        line("1,000 LSTM steps, 4 x 16 -> 32", || training(4, 16, 32)),
        line("1,000 LSTM steps, 10 x 64 -> 128", || training(10, 64, 128)),
    ]
}

/// Numbers of digits that look random.
fn digits(count: usize) -> Vec<u32> {
    numbers(count)
        .into_iter()
        .map(|x| ((x + 0.5) * DIGITS as f32) as u32 % DIGITS as u32)
        .collect()
}

/// The four gates of a cell: weights of the hidden state and the input, one above the other, and offsets.
struct Cell {
    gates: [(Parameter, Parameter); 4],
}

impl Cell {
    fn new(inputs: usize, units: usize) -> Cell {
        let gate = || (parameter(inputs + units, units), parameter(1, units));
        Cell {
            gates: std::array::from_fn(|_| gate()),
        }
    }

    /// One step of the recurrence, as wyrm's cell has it.
    fn step(&self, x: &Variable, (cell, hidden): (Variable, Variable)) -> (Variable, Variable) {
        let both = ops::concatenate(&[hidden, x.clone()], Some(1)).expect("rows of one sequence");
        let gate = |k: usize| {
            let (weights, offset) = &self.gates[k];
            both.clone().matmul(weights.clone()) + offset.clone()
        };
        let cell = (gate(0).sigmoid() * cell + gate(1).sigmoid() * gate(2).tanh()).boxed();
        let hidden = (gate(3).sigmoid() * cell.clone().tanh()).boxed();
        (cell, hidden)
    }

    fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.gates
            .iter()
            .flat_map(|(weights, offset)| [weights, offset])
    }
}

/// What predicts a digit from those before.
struct Network {
    cell: Cell,
    last: Parameter,
    table: Parameter,
    /// The digits, in order; the last one is to be predicted.
    digits: Vec<Input>,
    loss: Variable,
}

impl Network {
    fn new(length: usize, inputs: usize, units: usize) -> Network {
        let cell = Cell::new(inputs, units);
        let (last, table) = (parameter(units, DIGITS), parameter(DIGITS, inputs));
        let digits: Vec<Input> = (0..=length).map(|_| Input::indices(vec![0])).collect();
        let zeros = || Input::new(Array::full(&Type::new(DType::F32, &[1, units]), 0.0)).boxed();
        let (_, hidden) = digits[..length]
            .iter()
            .fold((zeros(), zeros()), |state, digit| {
                cell.step(&table.clone().gather(digit.clone()).boxed(), state)
            });
        let prediction = hidden.matmul(last.clone()).boxed();
        let target = digits[length].clone().boxed();
        let loss = ops::cross_entropy(&prediction, &target)
            .expect("a class a row")
            .sum()
            .boxed();
        Network {
            cell,
            last,
            table,
            digits,
            loss,
        }
    }

    fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.cell.parameters().chain([&self.last, &self.table])
    }

    /// Takes a step for each stretch of digits, so many times.
    fn each(&self, count: usize, mut step: impl FnMut()) {
        let numbers = digits(STRETCHES + self.digits.len());
        let length = self.digits.len();
        for stretch in (0..count).flat_map(|_| numbers.windows(length).take(STRETCHES)) {
            for (input, &digit) in self.digits.iter().zip(stretch) {
                input.set_slice(&[digit]).expect("an index");
            }
            step();
        }
    }
}

/// A step of SGD for each stretch of digits.
fn training(length: usize, inputs: usize, units: usize) -> Sides {
    let mut rng = XorShiftRng::from_seed([1; 16]);
    let layer = wyrm::nn::lstm::Parameters::new(inputs, units, &mut rng).build();
    let last = ParameterNode::new(theirs(units, DIGITS));
    let table = ParameterNode::new(theirs(DIGITS, inputs));
    let target = IndexInputNode::new(&[0]);
    let steps: Vec<_> = (0..length).map(|_| IndexInputNode::new(&[0])).collect();
    let rows: Vec<_> = steps.iter().map(|step| table.index(step)).collect();
    let hidden = layer.forward(&rows);
    let prediction = hidden[length - 1].dot(&last);
    let mut loss = sparse_categorical_crossentropy(&prediction, &target);
    let sgd = wyrm::optim::SGD::new().learning_rate(RATE);
    let wyrm: Work = Box::new(move |count| {
        let digits = digits(STRETCHES + length);
        for stretch in (0..count).flat_map(|_| digits.windows(length + 1).take(STRETCHES)) {
            for (step, &digit) in steps.iter().zip(stretch) {
                step.set_value(digit as usize);
            }
            target.set_value(stretch[length] as usize);
            loss.forward();
            loss.backward(1.0);
            sgd.step(loss.parameters());
        }
    });

    let ours = Network::new(length, inputs, units);
    let sgd = Optimizer::sgd(f64::from(RATE)).expect("a positive rate");
    let typed: Work = Box::new(move |count| {
        let parameters: Vec<_> = ours.parameters().map(|p| &**p.param()).collect();
        ours.each(count, || {
            ours.loss.backward();
            sgd.step_and_clear(&parameters).expect("finite numbers");
        });
    });
    let ours = Network::new(length, inputs, units);
    let sgd = Optimizer::sgd(f64::from(RATE)).expect("a positive rate");
    let mut trainer = Trainer::new(&ours.loss, Box::leak(Box::new(sgd))).expect("parameters");
    let trained: Work = Box::new(move |count| {
        ours.each(count, || {
            trainer.step().expect("finite numbers");
        });
    });
    let ours = Network::new(length, inputs, units);
    let program = ours.loss.freeze().expect("the graph has been evaluated");
    let ids: Vec<u64> = ours.digits.iter().map(Input::id).collect();
    let sgd = Optimizer::sgd(f64::from(RATE)).expect("a positive rate");
    let frozen: Work = Box::new(move |count| {
        let digits = digits(STRETCHES + length);
        let column = |at: usize| Source::Column(digits[at..at + STRETCHES].to_vec().into());
        let mut sources: Vec<(u64, Source)> = ids
            .iter()
            .enumerate()
            .map(|(at, &id)| (id, column(at)))
            .collect();
        // The state that a sequence begins with is the same for all.
        for leaf in program.inputs() {
            if let Leaf::Input { id, ty, .. } = leaf
                && !ids.contains(id)
            {
                let zeros = Array::full(&Type::new(ty.dtype, &[STRETCHES, units]), 0.0);
                sources.push((*id, Source::Column(zeros)));
            }
        }
        fit(&program, sources, count, 1, &sgd);
    });
    Sides {
        wyrm,
        typed,
        trainer: Some(trained),
        frozen,
    }
}
