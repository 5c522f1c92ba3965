//! Trains a model of sequences of the crate `sbr` 0.4.0 (Kula, 2018), and gives scores of items for
//! histories. `recommending/sbr.py` calls it.
//!
//! ```text
//! sbr-beside MODEL LOSS ITEMS FACTORS EPOCHS LR L2 LENGTH SEED
//! ```
//!
//! `MODEL` is `ewma` or `lstm`, `LOSS` is `bpr`, `hinge` or `warp`; the optimizer is Adagrad, on one
//! thread. A line of the input is a history: numbers of items, less than `ITEMS`, in order. Those up
//! to an empty line are learnt from. For each line after that one, a line with the scores of all
//! items is printed.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::str::FromStr;

use rand::{SeedableRng, XorShiftRng};
use sbr::OnlineRankingModel;
use sbr::data::{CompressedInteractions, Interaction, Interactions};
use sbr::models::{Loss, Optimizer, Parallelism, ewma, lstm};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What is asked for on the command line.
struct Settings {
    model: String,
    loss: Loss,
    items: usize,
    factors: usize,
    epochs: usize,
    lr: f32,
    l2: f32,
    length: usize,
    seed: u32,
}

impl Settings {
    fn read() -> Outcome<Settings> {
        let mut given = std::env::args().skip(1);
        let mut next = || given.next().ok_or("too few arguments");
        let model = next()?;
        let loss = match next()?.as_str() {
            "bpr" => Loss::BPR,
            "hinge" => Loss::Hinge,
            "warp" => Loss::WARP,
            other => return Err(format!("loss {other}: expected bpr, hinge or warp").into()),
        };
        Ok(Settings {
            model,
            loss,
            items: next()?.parse()?,
            factors: next()?.parse()?,
            epochs: next()?.parse()?,
            lr: next()?.parse()?,
            l2: next()?.parse()?,
            length: next()?.parse()?,
            seed: next()?.parse()?,
        })
    }

    /// The generator's state; xorshift does not take zeros alone.
    fn random(&self) -> XorShiftRng {
        let mut state = [1; 16];
        state[..4].copy_from_slice(&self.seed.to_le_bytes());
        XorShiftRng::from_seed(state)
    }
}

/// The items of a line.
fn history(line: &str, items: usize) -> Outcome<Vec<usize>> {
    let found = line.split_ascii_whitespace().map(usize::from_str);
    let found = found.collect::<Result<Vec<_>, _>>()?;
    match found.iter().find(|&&item| item >= items) {
        Some(item) => Err(format!("item {item}: expected less than {items}").into()),
        None => Ok(found),
    }
}

/// The histories up to an empty line, each of a user of its own, with positions as times.
fn interactions(
    lines: &mut impl Iterator<Item = io::Result<String>>,
    items: usize,
) -> Outcome<CompressedInteractions> {
    let mut histories = Vec::new();
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        histories.push(history(&line, items)?);
    }
    let mut found = Interactions::new(histories.len(), items);
    for (user, history) in histories.iter().enumerate() {
        for (time, &item) in history.iter().enumerate() {
            found.push(Interaction::new(user, item, time));
        }
    }
    Ok(found.to_compressed())
}

/// Prints the scores of all items for each line.
fn answer(
    model: &impl OnlineRankingModel,
    lines: impl Iterator<Item = io::Result<String>>,
    items: usize,
) -> Outcome<()> {
    let all: Vec<usize> = (0..items).collect();
    let mut out = io::stdout().lock();
    for line in lines {
        let user = model.user_representation(&history(&line?, items)?);
        let user = user.map_err(|error| error.to_string())?;
        let scores = model
            .predict(&user, &all)
            .map_err(|error| error.to_string())?;
        let scores: Vec<String> = scores.iter().map(f32::to_string).collect();
        writeln!(out, "{}", scores.join(" "))?;
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let settings = Settings::read()?;
    let mut lines = io::stdin().lock().lines();
    let train = interactions(&mut lines, settings.items)?;
    macro_rules! fit_and_answer {
        ($model:ident) => {{
            let mut model = $model::Hyperparameters::new(settings.items, settings.length)
                .embedding_dim(settings.factors)
                .learning_rate(settings.lr)
                .l2_penalty(settings.l2)
                .loss(settings.loss.clone())
                .optimizer(Optimizer::Adagrad)
                .parallelism(Parallelism::Asynchronous)
                .num_threads(1)
                .num_epochs(settings.epochs)
                .rng(settings.random())
                .build();
            model.fit(&train).map_err(|error| error.to_string())?;
            answer(&model, lines, settings.items)
        }};
    }
    match settings.model.as_str() {
        "ewma" => fit_and_answer!(ewma),
        "lstm" => fit_and_answer!(lstm),
        other => Err(format!("model {other}: expected ewma or lstm").into()),
    }
}
