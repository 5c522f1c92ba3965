//! Ratings as products of vectors and offsets, trained by Huber's loss.

use std::collections::HashMap;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::array::Dense;
use wyrmling::optim::Optimizer;
use wyrmling::train::Trainer;
use wyrmling::{Error, Input, Parameter, Result};

use crate::huber::Huber;

/// Numbers of a vector.
const FACTORS: usize = 8;

/// Ids, numbered in the order in which they first occur.
type Ids = HashMap<String, u32>;

fn number(ids: &mut Ids, id: &str) -> u32 {
    let next = ids.len() as u32;
    *ids.entry(id.to_owned()).or_insert(next)
}

/// A model of ratings by users of items, both named by strings.
pub struct Ratings {
    users: Ids,
    items: Ids,
    /// Vectors of users and of items, one after the other, and the offset of each item.
    tables: [Vec<f32>; 3],
}

impl Ratings {
    /// Trains a model on ratings: user, item, and number.
    ///
    /// # Errors
    /// [`Error::Value`] if there are none, [`Error::NotFinite`] if one is NaN or infinite, or training leads there.
    pub fn fit(ratings: &[(String, String, f32)], epochs: usize, seed: u64) -> Result<Ratings> {
        let (mut users, mut items) = (Ids::new(), Ids::new());
        let mut samples: Vec<(u32, u32, f32)> = ratings
            .iter()
            .map(|(user, item, rating)| {
                (number(&mut users, user), number(&mut items, item), *rating)
            })
            .collect();
        if samples.is_empty() {
            return Err(Error::Value(
                "ratings: there are none, expected at least one".into(),
            ));
        }
        if let Some(sample) = samples.iter().find(|sample| !sample.2.is_finite()) {
            return Err(Error::NotFinite(format!("ratings: one is {}", sample.2)));
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut matrix = |rows: usize| {
            let numbers = (0..rows * FACTORS)
                .map(|_| 0.1 * (rng.random::<f32>() - 0.5))
                .collect();
            Ok(Parameter::new(Dense::new(&[rows, FACTORS], numbers)?))
        };
        let of_users = matrix(users.len())?;
        let of_items = matrix(items.len())?;
        let sum: f64 = samples.iter().map(|sample| f64::from(sample.2)).sum();
        let mean = (sum / samples.len() as f64) as f32;
        let offsets = Parameter::new(Dense::new(&[items.len()], vec![mean; items.len()])?);

        let [user, item] = [(); 2].map(|()| Input::indices(vec![0]));
        let rating = Input::new(vec![0.0_f32]);
        let product = of_users
            .clone()
            .gather(user.clone())
            .vecdot(of_items.clone().gather(item.clone()));
        let predicted = product + offsets.clone().gather(item.clone());
        let loss = (predicted - rating.clone()).unary(Huber)?.sum();

        let adagrad = Optimizer::adagrad(0.1)?.l2(0.02)?;
        let mut trainer = Trainer::new(&loss, &adagrad)?;
        for _ in 0..epochs {
            samples.shuffle(&mut rng);
            for &(u, i, r) in &samples {
                user.set_slice(&[u])?;
                item.set_slice(&[i])?;
                rating.set_slice(&[r])?;
                trainer.step()?;
            }
        }
        let numbers = |table: &Parameter| -> Result<Vec<f32>> {
            Ok(table
                .value()?
                .to_f64()
                .into_iter()
                .map(|x| x as f32)
                .collect())
        };
        let tables = [numbers(&of_users)?, numbers(&of_items)?, numbers(&offsets)?];
        Ok(Ratings {
            users,
            items,
            tables,
        })
    }

    fn score(&self, user: u32, item: u32) -> f32 {
        let [users, items, offsets] = &self.tables;
        let row = |table: &'_ [f32], number: u32| -> [f32; FACTORS] {
            let start = number as usize * FACTORS;
            std::array::from_fn(|k| table[start + k])
        };
        let products = row(users, user)
            .into_iter()
            .zip(row(items, item))
            .map(|(a, b)| a * b);
        products.sum::<f32>() + offsets[item as usize]
    }

    /// The rating that a user would give an item; `None` if either is unknown.
    pub fn predict(&self, user: &str, item: &str) -> Option<f32> {
        Some(self.score(*self.users.get(user)?, *self.items.get(item)?))
    }

    /// The `n` items that a user would rate highest, the best first; `None` if the user is unknown.
    pub fn best(&self, user: &str, n: usize) -> Option<Vec<(&str, f32)>> {
        let &user = self.users.get(user)?;
        let scored = self
            .items
            .iter()
            .map(|(id, &item)| (id.as_str(), self.score(user, item)));
        let mut scored: Vec<_> = scored.collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        scored.truncate(n);
        Some(scored)
    }
}
