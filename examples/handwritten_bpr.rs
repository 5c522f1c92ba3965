//! The hand-written ranking loop of the benches as a program, for `benches/compare.py`:
//!
//! ```text
//! handwritten_bpr whole|bare EPOCHS [FILE]
//! ```
//!
//! trains for EPOCHS epochs, on 32 factors, and prints the milliseconds of each, then
//! the mean loss. `whole` sums the loss of every epoch as the library does, `bare` takes
//! the steps alone. FILE holds users and items in turn as 32-bit little-endian numbers;
//! without it the data are generated.

use std::io::{Error, Result};
use std::time::Instant;

#[path = "../benches/common/bpr.rs"]
mod by_hand;
#[path = "../benches/common/interactions.rs"]
mod interactions;
use by_hand::{Bare, Model, Whole};
use interactions::Interactions;

fn read(path: &str) -> Result<Interactions> {
    let bytes = std::fs::read(path)?;
    let pairs = bytes.as_chunks::<8>().0.iter().map(|pair| {
        let [user, item] = [0, 4].map(|at| {
            let number = [pair[at], pair[at + 1], pair[at + 2], pair[at + 3]];
            u32::from_le_bytes(number)
        });
        (user, item)
    });
    let pairs: Vec<(u32, u32)> = pairs.collect();
    let most = |of: fn(&(u32, u32)) -> u32| {
        let most = pairs.iter().map(of).max();
        most.map(|most| most as usize + 1)
            .ok_or_else(|| Error::other(format!("{path}: no interactions")))
    };
    Ok(Interactions {
        users: most(|pair| pair.0)?,
        items: most(|pair| pair.1)?,
        pairs,
    })
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let bare = match arguments.next().as_deref() {
        Some("whole") => false,
        Some("bare") => true,
        other => {
            return Err(Error::other(format!(
                "expected whole or bare, got {other:?}"
            )));
        }
    };
    let epochs = arguments.next().map_or(Ok(10), |n| n.parse::<usize>());
    let epochs = epochs.map_err(|e| Error::other(format!("EPOCHS: {e}")))?;
    let mut data = match arguments.next() {
        Some(path) => read(&path)?,
        None => Interactions::like_movielens_100k(1),
    };
    let mut model = Model::<32>::new(&data, 1);
    for _ in 0..epochs {
        let start = Instant::now();
        let loss = if bare {
            model.epoch::<Bare>(&mut data.pairs, 0.05)
        } else {
            model.epoch::<Whole>(&mut data.pairs, 0.05)
        };
        std::hint::black_box(loss);
        println!("{:.6}", start.elapsed().as_secs_f64() * 1e3);
    }
    println!("loss {:.4}", model.loss(&data.pairs));
    Ok(())
}
