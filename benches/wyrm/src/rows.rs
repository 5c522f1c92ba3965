//! One row of a table of 100,000 rows of 32: its gradient and a step, for many rows one after the other.

use wyrm::{DataInput, IndexInputNode, ParameterNode};
use wyrmling::Input;
use wyrmling::optim::{Optimizer, Rule, Settings};
use wyrmling::train::{Source, Trainer};

use crate::clock::{Line, Sides, Work, line};
use crate::work::{fit, parameter, theirs};

const ROWS: usize = 100_000;
const WIDTH: usize = 32;
const STEPS: usize = 100_000;
const RATE: f64 = 1e-3;

/// Numbers of rows, that are far from each other.
fn chosen() -> impl Iterator<Item = u32> {
    (0..STEPS).map(|k| (k * 7919 % ROWS) as u32)
}

pub fn lines() -> Vec<Line> {
    let adagrad = Rule::Adagrad { eps: 1e-10 };
    let rate = RATE as f32;
    vec![
        line("100,000 single rows, SGD", move || {
            single_rows(
                wyrm::optim::SGD::new().learning_rate(rate),
                Rule::Sgd { momentum: 0.0 },
            )
        }),
        line("100,000 single rows, Adagrad", move || {
            single_rows(wyrm::optim::Adagrad::new().learning_rate(rate), adagrad)
        }),
    ]
}

fn single_rows(theirs_by: impl wyrm::optim::Optimizer + 'static, rule: Rule) -> Sides {
    let optimizer = move || Optimizer::new(rule, Settings::new(RATE)).expect("settings in range");
    let table = ParameterNode::new(theirs(ROWS, WIDTH));
    let index = IndexInputNode::new(&[0]);
    let mut loss = table.index(&index).scalar_sum();
    let wyrm: Work = Box::new(move |count| {
        for row in (0..count).flat_map(|_| chosen()) {
            index.set_value(row as usize);
            loss.forward();
            loss.backward(1.0);
            theirs_by.step(loss.parameters());
        }
    });

    let table = parameter(ROWS, WIDTH);
    let index = Input::indices(vec![0]);
    let loss = table.clone().gather(index.clone()).sum();
    let program = loss.freeze().expect("the graph has been evaluated");
    let id = index.id();
    let ours_by = optimizer();
    let typed: Work = Box::new(move |count| {
        for row in (0..count).flat_map(|_| chosen()) {
            index.set_slice(&[row]).expect("an index");
            loss.backward();
            ours_by
                .step_and_clear(&[table.param()])
                .expect("finite numbers");
        }
    });
    let (table, index) = (parameter(ROWS, WIDTH), Input::indices(vec![0]));
    let loss = table.gather(index.clone()).sum();
    let by: &'static Optimizer = Box::leak(Box::new(optimizer()));
    let mut trainer = Trainer::new(&loss, by).expect("a parameter");
    let trained: Work = Box::new(move |count| {
        for row in (0..count).flat_map(|_| chosen()) {
            index.set_slice(&[row]).expect("an index");
            trainer.step().expect("finite numbers");
        }
    });
    let ours_by = optimizer();
    let frozen: Work = Box::new(move |count| {
        let rows: Vec<u32> = chosen().collect();
        let sources = vec![(id, Source::Column(rows.into()))];
        fit(&program, sources, count, 1, &ours_by);
    });
    Sides {
        wyrm,
        typed,
        trainer: Some(trained),
        frozen,
    }
}
