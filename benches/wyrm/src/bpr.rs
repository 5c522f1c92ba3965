//! Epochs of Bayesian personalised ranking on data of the size of MovieLens 100K: an item is drawn at
//! random for each interaction, and a batch is a step of SGD.

use std::sync::Arc;

use rand::{Rng, SeedableRng, XorShiftRng};
use wyrm::optim::Optimizer as _;
use wyrm::{DataInput, IndexInputNode, ParameterNode};
use wyrmling::optim::Optimizer;
use wyrmling::train::sampling::Sampler;
use wyrmling::train::{Source, Trainer};
use wyrmling::{Input, Parameter};

use crate::clock::{Line, Sides, Work, line};
use crate::work::{fit, parameter, theirs};

const USERS: usize = 943;
const ITEMS: usize = 1682;
const PAIRS: usize = 100_000;
const RATE: f32 = 0.05;

pub fn lines() -> Vec<Line> {
    vec![
        line("BPR epoch, 32 factors, batches of 10", || epoch(32, 10)),
        line("BPR epoch, 16 factors, batches of 1", || epoch(16, 1)),
    ]
}

/// Users and items of a few favourites each, and as many items at random.
fn columns() -> [Vec<u32>; 3] {
    let mut rng = XorShiftRng::from_seed([3; 16]);
    let mut column = |n: usize, power: i32| -> Vec<u32> {
        let mut one = || (n as f64 * rng.r#gen::<f64>().powi(power)) as u32;
        (0..PAIRS).map(|_| one()).collect()
    };
    [column(USERS, 2), column(ITEMS, 2), column(ITEMS, 1)]
}

fn epoch(factors: usize, batch: usize) -> Sides {
    let users = ParameterNode::new(theirs(USERS, factors));
    let items = ParameterNode::new(theirs(ITEMS, factors));
    let biases = ParameterNode::new(theirs(ITEMS, 1));
    let rows = vec![0; batch];
    let [u, i, j] = std::array::from_fn(|_| IndexInputNode::new(&rows));
    let user = users.index(&u);
    let score = |item| user.vector_dot(&items.index(item)) + biases.index(item);
    let mut loss = -(score(&i) - score(&j)).sigmoid().ln();
    let sgd = wyrm::optim::SGD::new().learning_rate(RATE);
    let drawn = columns();
    let wyrm: Work = Box::new(move |epochs| {
        let wide = drawn
            .each_ref()
            .map(|column| column.iter().map(|&k| k as usize).collect::<Vec<_>>());
        for at in (0..epochs).flat_map(|_| (0..PAIRS).step_by(batch)) {
            for (input, column) in [&u, &i, &j].into_iter().zip(&wide) {
                input.set_value(&column[at..at + batch]);
            }
            loss.forward();
            loss.backward(1.0);
            sgd.step(loss.parameters());
        }
    });

    let leaves = || {
        let tables = [parameter(USERS, factors), parameter(ITEMS, factors)];
        let inputs: [Input; 3] = std::array::from_fn(|_| Input::indices(vec![0; batch]));
        (tables, Parameter::new(vec![0.0_f32; ITEMS]), inputs)
    };
    let loss_of =
        |([users, items], biases, [u, i, j]): &([Parameter; 2], Parameter, [Input; 3])| {
            let user = users.clone().gather(u.clone());
            let score = |item: &Input| {
                let vector = items.clone().gather(item.clone());
                user.clone().vecdot(vector) + biases.clone().gather(item.clone())
            };
            -(score(i) - score(j)).logsigmoid().sum()
        };
    let set = move |inputs: &[Input; 3], drawn: &[Vec<u32>; 3], at: usize| {
        for (input, column) in inputs.iter().zip(drawn) {
            input.set_slice(&column[at..at + batch]).expect("indices");
        }
    };
    let (ours, drawn) = (leaves(), columns());
    let loss = loss_of(&ours);
    let sgd = Optimizer::sgd(f64::from(RATE)).expect("a positive rate");
    let typed: Work = Box::new(move |epochs| {
        let ([users, items], biases, inputs) = &ours;
        for at in (0..epochs).flat_map(|_| (0..PAIRS).step_by(batch)) {
            set(inputs, &drawn, at);
            loss.backward();
            sgd.step_and_clear(&[users.param(), items.param(), biases.param()])
                .expect("finite numbers");
        }
    });
    let (ours, drawn) = (leaves(), columns());
    let sgd = Optimizer::sgd(f64::from(RATE)).expect("a positive rate");
    let mut trainer = Trainer::new(&loss_of(&ours), Box::leak(Box::new(sgd))).expect("parameters");
    let trained: Work = Box::new(move |epochs| {
        for at in (0..epochs).flat_map(|_| (0..PAIRS).step_by(batch)) {
            set(&ours.2, &drawn, at);
            trainer.step().expect("finite numbers");
        }
    });
    let ours = leaves();
    let program = loss_of(&ours)
        .freeze()
        .expect("the graph has been evaluated");
    let ids = ours.2.each_ref().map(Input::id);
    let sgd = Optimizer::sgd(f64::from(RATE)).expect("a positive rate");
    let [users, items, _] = columns();
    let sampler = Arc::new(Sampler::uniform(ITEMS).expect("items"));
    let negatives = Source::Sampled {
        sampler,
        given: None,
    };
    let columns = [users, items].map(|column| Source::Column(column.into()));
    let sources = ids.into_iter().zip(columns.into_iter().chain([negatives]));
    let sources: Vec<(u64, Source)> = sources.collect();
    let frozen: Work = Box::new(move |epochs| fit(&program, sources.clone(), epochs, batch, &sgd));
    Sides {
        wyrm,
        typed,
        trainer: Some(trained),
        frozen,
    }
}
