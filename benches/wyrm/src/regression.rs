//! The regression of wyrm's documentation: a slope and an intercept, which are numbers.

use std::hint::black_box;

use wyrm::optim::Optimizer as _;
use wyrm::{DataInput, InputNode, ParameterNode};
use wyrmling::optim::Optimizer;
use wyrmling::train::{Source, Trainer};
use wyrmling::{Array, Input, Parameter};

use crate::clock::{Line, Sides, Work, line};
use crate::work::{fit, numbers, theirs};

const RATE: f32 = 0.01;
const STEPS: usize = 100_000;

pub fn lines() -> Vec<Line> {
    vec![
        line("100,000 regression steps", step),
        line("regression, built anew", built),
    ]
}

/// Sets the inputs, computes the gradients and changes the parameters, so many times on one graph.
fn step() -> Sides {
    let (slope, intercept) = (
        ParameterNode::new(theirs(1, 1)),
        ParameterNode::new(theirs(1, 1)),
    );
    let (x, y) = (InputNode::new(theirs(1, 1)), InputNode::new(theirs(1, 1)));
    let mut loss = (y.clone() - (slope * x.clone() + intercept)).square();
    let sgd = wyrm::optim::SGD::new().learning_rate(RATE);
    let data = numbers(STEPS);
    let wyrm: Work = Box::new(move |count| {
        for &number in (0..count).flat_map(|_| &data) {
            x.set_value(number);
            y.set_value(3.0 * number + 5.0);
            loss.forward();
            loss.backward(1.0);
            sgd.step(loss.parameters());
        }
    });

    let leaves = || {
        [0.5_f32, 0.5]
            .map(Parameter::new)
            .into_iter()
            .zip([0.0_f32, 0.0].map(Input::new))
    };
    let loss_of = |leaves: &[(Parameter, Input)]| {
        let [(slope, x), (intercept, y)] = leaves else {
            unreachable!("two of each")
        };
        (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square()
    };
    let sgd = || Optimizer::sgd(f64::from(RATE)).expect("a positive rate");
    let set = |leaves: &[(Parameter, Input)], number: f32| {
        leaves[0].1.set_value(number).expect("a number");
        leaves[1].1.set_value(3.0 * number + 5.0).expect("a number");
    };
    let (ours, data, by) = (leaves().collect::<Vec<_>>(), numbers(STEPS), sgd());
    let loss = loss_of(&ours);
    let typed: Work = Box::new(move |count| {
        for &number in (0..count).flat_map(|_| &data) {
            set(&ours, number);
            loss.backward();
            by.step_and_clear(&[ours[0].0.param(), ours[1].0.param()])
                .expect("finite numbers");
        }
    });
    let (ours, data) = (leaves().collect::<Vec<_>>(), numbers(STEPS));
    let by: &'static Optimizer = Box::leak(Box::new(sgd()));
    let mut trainer = Trainer::new(&loss_of(&ours), by).expect("parameters");
    let trained: Work = Box::new(move |count| {
        for &number in (0..count).flat_map(|_| &data) {
            set(&ours, number);
            trainer.step().expect("finite numbers");
        }
    });

    // Columns of samples have an axis more.
    let (slope, intercept) = (Parameter::new(0.5_f32), Parameter::new(0.5_f32));
    let [x, y] = [(); 2].map(|()| Input::new(vec![0.0_f32]));
    let ids = [x.id(), y.id()];
    let program = (y - (slope * x + intercept)).square().sum().freeze();
    let program = program.expect("the graph has been evaluated");
    let by = sgd();
    let xs = numbers(STEPS);
    let ys: Vec<f32> = xs.iter().map(|x| 3.0 * x + 5.0).collect();
    let columns = [xs, ys].map(|column| Source::Column(column.into()));
    let columns: Vec<(u64, Source)> = ids.into_iter().zip(columns).collect();
    let frozen: Work = Box::new(move |count| fit(&program, columns.clone(), count, 1, &by));
    Sides {
        wyrm,
        typed,
        trainer: Some(trained),
        frozen,
    }
}

/// Builds the graph of a loss and computes its gradients.
fn built() -> Sides {
    let (slope, intercept) = (
        ParameterNode::new(theirs(1, 1)),
        ParameterNode::new(theirs(1, 1)),
    );
    let (x, y) = (InputNode::new(theirs(1, 1)), InputNode::new(theirs(1, 1)));
    let wyrm: Work = Box::new(move |count| {
        for _ in 0..count {
            let mut loss = (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square();
            loss.forward();
            loss.backward(1.0);
            loss.zero_gradient();
        }
    });
    let (slope, intercept) = (Parameter::new(0.5_f32), Parameter::new(0.5_f32));
    let (x, y) = (Input::new(0.25_f32), Input::new(0.75_f32));
    let program = (y.clone() - (slope.clone() * x.clone() + intercept.clone()))
        .square()
        .freeze();
    let program = program.expect("the graph has been evaluated");
    let typed: Work = Box::new(move |count| {
        for _ in 0..count {
            let loss = (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square();
            loss.backward();
            slope.zero_grad();
            intercept.zero_grad();
        }
    });
    let frozen: Work = Box::new(move |count| {
        let inputs = [Array::from(0.75_f32), Array::from(0.25_f32)];
        for _ in 0..count {
            let _ = black_box(program.value_and_grad(&inputs));
        }
    });
    Sides {
        wyrm,
        typed,
        trainer: None,
        frozen,
    }
}
