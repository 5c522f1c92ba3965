//! A recommender with its loss written in Rust, trained in two ways.
//!
//! Frozen, the loss becomes a program that any number of threads run over columns of
//! data. As a typed graph, every worker builds its own over the shared tables and writes
//! its own loop: slower, and open to whatever Rust can do between two steps.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wyrmling::array::Dense;
use wyrmling::graph::IntoDyn;
use wyrmling::optim::Optimizer;
use wyrmling::train::{self, Fit, History, Sampler, Source};
use wyrmling::{Array, Input, Parameter, Result, Table, Variable};

const USERS: usize = 200;
const ITEMS: usize = 100;
const FACTORS: usize = 8;
const THREADS: usize = 2;
const BATCH: usize = 10;

/// Every user likes the items that leave the same remainder by 4.
fn interactions() -> (Vec<u32>, Vec<u32>) {
    let all = (0..USERS as u32).flat_map(|u| (0..ITEMS as u32).map(move |i| (u, i)));
    all.filter(|(u, i)| u % 4 == i % 4).unzip()
}

fn table(rows: usize, seed: f32) -> Result<Arc<Table>> {
    let numbers = (0..rows * FACTORS).map(|k| 0.1 * (seed * (k + 1) as f32).sin());
    let value = Dense::new(&[rows, FACTORS], numbers.collect())?;
    Table::new(&value.into(), None).map(Arc::new)
}

/// The loss of users `u`, items `i` of theirs and other items `j`: that of Rendle et al.,
/// "BPR: Bayesian personalized ranking from implicit feedback", 2009.
fn ranking_loss(
    users: &Parameter,
    items: &Parameter,
    [u, i, j]: &[Input; 3],
) -> Variable<impl IntoDyn + use<>> {
    let user = users.clone().gather(u.clone());
    let score = |item: &Input| user.clone().vecdot(items.clone().gather(item.clone()));
    -(score(i) - score(j)).logsigmoid().sum()
}

fn inputs() -> [Input; 3] {
    std::array::from_fn(|_| Input::indices(vec![0]))
}

/// The share of samples whose item scores above another one.
fn accuracy(users: &Table, items: &Table) -> f64 {
    let (users, items) = (users.read().to_f64(), items.read().to_f64());
    let score = |u: usize, i: usize| -> f64 {
        let user = &users[u * FACTORS..][..FACTORS];
        let item = &items[i * FACTORS..][..FACTORS];
        user.iter().zip(item).map(|(a, b)| a * b).sum()
    };
    let right = (0..USERS).filter(|&u| score(u, u % 4 + 8) > score(u, (u + 1) % 4 + 8));
    right.count() as f64 / USERS as f64
}

/// Freezes the loss and fits it.
fn frozen() -> Result<f64> {
    let tables = [table(USERS, 1.0)?, table(ITEMS, 2.0)?];
    let [users, items] = tables.each_ref().map(|t| Parameter::shared(t.clone()));
    let inputs = inputs();
    let program = ranking_loss(&users, &items, &inputs).freeze()?;
    let (u, i) = interactions();
    let sampler = Sampler::uniform(ITEMS)?.reject(&u, &i)?;
    let [user, item, other] = inputs.each_ref().map(Input::id);
    let drawn = Source::Sampled {
        sampler: Arc::new(sampler),
        given: Some(user),
    };
    let fit = Fit {
        sources: vec![
            (user, Source::Column(Array::from(u))),
            (item, Source::Column(Array::from(i))),
            (other, drawn),
        ],
        epochs: 0..10,
        batch_size: BATCH,
        threads: THREADS,
        seed: 1,
        deterministic: false,
    };
    let mut report = |epoch: usize, history: &History| {
        println!("epoch {epoch}: loss {:.1}", history.loss[epoch]);
        train::Flow::Continue
    };
    let never = AtomicBool::new(false);
    train::fit(&program, &fit, &Optimizer::sgd(0.05)?, &never, &mut report)?;
    Ok(accuracy(&tables[0], &tables[1]))
}

/// Lets every worker build the graph and loop over its share of the samples.
fn typed() -> Result<f64> {
    let tables = [table(USERS, 1.0)?, table(ITEMS, 2.0)?];
    let samples = interactions();
    let sampler = Sampler::uniform(ITEMS)?.reject(&samples.0, &samples.1)?;
    let adagrad = wyrmling::optim::Rule::Adagrad { eps: 1e-10 };
    let adagrad = Optimizer::new(adagrad, wyrmling::optim::Settings::new(0.1))?;
    let losses = train::parallel(THREADS, 1, &tables, &adagrad, |mut worker| {
        let [users, items] = tables.each_ref().map(|t| Parameter::shared(t.clone()));
        let inputs = inputs();
        let loss = ranking_loss(&users, &items, &inputs);
        let mut total = 0.0;
        for _ in 0..10 {
            total = 0.0;
            let batches = samples.0.chunks(BATCH).zip(samples.1.chunks(BATCH));
            for (u, i) in batches.skip(worker.number).step_by(worker.workers) {
                let others = u.iter().map(|&u| sampler.draw(&mut worker.rng, Some(u)));
                let others: Vec<u32> = others.collect();
                inputs[0].set_value(u.to_vec())?;
                inputs[1].set_value(i.to_vec())?;
                inputs[2].set_value(others)?;
                total += loss.item()?;
                loss.try_backward()?;
                worker.step(&[users.param(), items.param()])?;
            }
        }
        Ok(total)
    })?;
    println!("typed graphs: loss {:.1}", losses.iter().sum::<f64>());
    Ok(accuracy(&tables[0], &tables[1]))
}

/// Trains in both ways and compares.
///
/// # Errors
/// None, with these data.
pub fn main() -> Result<()> {
    for (name, accuracy) in [("frozen", frozen()?), ("typed graphs", typed()?)] {
        println!("{name}: {accuracy:.2} of the users' choices ranked right");
        assert!(accuracy > 0.95);
    }
    Ok(())
}
