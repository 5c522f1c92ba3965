//! Arrays that a sampler draws for one sample of a function, whose lengths may be those of the sample's
//! own arrays.
//!
//! Arrays of different lengths are not staged. Each sample has a seed instead, which is drawn when the
//! sample is staged, and its items are drawn from that when the sample runs. So the items depend on the
//! worker's stream alone, however often and where they are drawn from the seed.

use std::sync::Arc;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::data::Source;
use super::sampling::Sampler;
use crate::array::{Array, Dense, Shape, element_count, filled};
use crate::error::Result;

/// The length of one axis of what is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawnLength {
    /// The same for every sample.
    Fixed(usize),
    /// That of the first axis of this feed's value.
    Of(usize),
}

/// What is drawn for a sample from its seed.
#[derive(Debug, Clone)]
pub struct DrawnItems {
    sampler: Arc<Sampler>,
    /// The feed that holds the user.
    given: Option<usize>,
    shape: Vec<DrawnLength>,
}

impl DrawnItems {
    /// Items of a sampler, for the user that the feed `given` holds if there is one.
    pub fn new(sampler: Arc<Sampler>, given: Option<usize>, shape: Vec<DrawnLength>) -> Self {
        DrawnItems {
            sampler,
            given,
            shape,
        }
    }

    /// What fills a column of such arrays, and the shape of each: if that is the same for all samples.
    pub fn column(&self) -> Option<(Source, Shape)> {
        let lengths = self.shape.iter().map(|axis| match *axis {
            DrawnLength::Fixed(n) => Some(n),
            DrawnLength::Of(_) => None,
        });
        let source = Source::Sampled {
            sampler: Arc::clone(&self.sampler),
            given: self.given.map(|feed| feed as u64),
        };
        Some((source, lengths.collect::<Option<Shape>>()?))
    }

    /// The feed that holds the user.
    pub(super) fn given(&self) -> Option<usize> {
        self.given
    }

    /// Draws for a sample, of whose feeds `length` says the lengths.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Memory`](crate::Error::Memory) if there is no
    /// memory for so many.
    pub(super) fn draw(
        &self,
        seed: u64,
        user: Option<u32>,
        length: impl Fn(usize) -> usize,
    ) -> Result<Array> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let lengths = self.shape.iter().map(|axis| match *axis {
            DrawnLength::Fixed(n) => n,
            DrawnLength::Of(feed) => length(feed),
        });
        let shape: Shape = lengths.collect();
        let mut items = filled(element_count(&shape)?, 0)?;
        match user {
            None => self.sampler.fill(&mut rng, None, &mut items),
            Some(_) => items
                .iter_mut()
                .for_each(|item| *item = self.sampler.draw(&mut rng, user)),
        }
        Ok(Dense::from_vec(shape, items).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(items: &DrawnItems, seed: u64, user: Option<u32>, length: usize) -> Vec<u32> {
        match items.draw(seed, user, |_| length).unwrap() {
            Array::U32(items) => items.as_slice().to_vec(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn shapes_are_the_samples_own() {
        let sampler = Arc::new(Sampler::uniform(10).unwrap());
        let shape = vec![DrawnLength::Of(0), DrawnLength::Fixed(3)];
        let items = DrawnItems::new(sampler, None, shape);
        for length in [0, 1, 7] {
            let found = items.draw(5, None, |_| length).unwrap();
            assert_eq!(found.shape(), [length, 3]);
        }
        // More items begin with the same ones.
        assert_eq!(
            drawn(&items, 5, None, 7)[..6],
            drawn(&items, 5, None, 2)[..]
        );
        assert_ne!(drawn(&items, 5, None, 7), drawn(&items, 6, None, 7));
    }

    #[test]
    fn what_a_user_knows_is_not_drawn() {
        let sampler = Sampler::uniform(4).unwrap();
        let sampler = Arc::new(sampler.reject(&[1, 1, 1], &[0, 1, 3]).unwrap());
        let items = DrawnItems::new(sampler, Some(0), vec![DrawnLength::Fixed(20)]);
        assert_eq!(drawn(&items, 1, Some(1), 0), [2; 20]);
        assert!(drawn(&items, 1, Some(0), 0).iter().any(|&item| item != 2));
    }

    #[test]
    fn every_item_is_as_likely() {
        let sampler = Arc::new(Sampler::uniform(5).unwrap());
        let items = DrawnItems::new(sampler, None, vec![DrawnLength::Fixed(1)]);
        let mut counts = [0; 5];
        for seed in 0..5000 {
            counts[drawn(&items, seed, None, 0)[0] as usize] += 1;
        }
        // Four standard deviations are 113.
        assert!(
            counts.iter().all(|&n: &i32| (n - 1000).abs() < 113),
            "{counts:?}"
        );
    }
}
