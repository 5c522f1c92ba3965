//! Samplers of the caller's own.
//!
//! A [`CustomSampler`] is asked for the items of a whole block of samples at a time, about a thousand, so
//! that a call costs little for each. It gets a seed that depends on the seed of the run, the epoch, the
//! worker and the block: one that draws by nothing else draws the same in a run that is repeated or goes on.
//!
//! Nothing that it draws is used before it is compared with the number of items that it named when the run
//! began, which the run has compared with the tables that the items are looked up in.
//!
//! It may read the parameters of the run, as the last batch has left them, and change none.

use std::fmt::Debug;
use std::ops::Range;

use crate::array::{Shape, Slice};
use crate::error::{Error, Result};
use crate::train::spans::Spans;

/// Draws items for samples.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
///
/// use wyrmling::array::Slice;
/// use wyrmling::optim::Optimizer;
/// use wyrmling::train::sampling::stream;
/// use wyrmling::train::{self, CustomSampler, Fit, Flow, History, SampleBlock, Source};
/// use wyrmling::{Input, Parameter, Result};
///
/// /// For each item one of its neighbours.
/// #[derive(Debug)]
/// struct Neighbours(u32);
///
/// impl CustomSampler for Neighbours {
///     fn item_count(&self) -> u32 {
///         self.0
///     }
///
///     fn draw(&self, block: &SampleBlock<'_>, items: &mut [u32]) -> Result<()> {
///         let mut rng = stream(block.seed(), 0, 0);
///         let Some((Slice::U32(own), _)) = block.column(0) else {
///             return Ok(()); // all items are 0
///         };
///         for (k, &own) in own.iter().enumerate() {
///             for item in &mut items[block.items(k)] {
///                 let step = 1 + rand::Rng::next_u32(&mut rng) % 2 * (self.0 - 2);
///                 *item = (own + step) % self.0;
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let table = Parameter::new(vec![0.0; 10]);
/// let (item, other) = (Input::indices(vec![0]), Input::indices(vec![0]));
/// let loss = table.clone().gather(other.clone()).sum() + table.clone().gather(item.clone()).sum() * 0.0;
/// let fit = Fit {
///     sources: vec![
///         (item.id(), Source::Column(vec![4u32; 100].into())),
///         (other.id(), Source::Custom {
///             sampler: Arc::new(Neighbours(10)),
///             columns: vec![item.id()],
///         }),
///     ],
///     epochs: 0..1,
///     batch_size: 10,
///     threads: 1,
///     seed: 0,
///     deterministic: false,
/// };
/// let mut watch = |_: usize, _: &History| Flow::Continue;
/// let stop = AtomicBool::new(false);
/// train::fit(&loss.freeze()?, &fit, &Optimizer::sgd(1.0)?, &stop, &mut watch)?;
/// let drawn = table.value()?.to_f64();
/// assert_eq!(drawn[3] + drawn[5], -100.0);
/// # Ok::<(), wyrmling::Error>(())
/// ```
pub trait CustomSampler: Debug + Send + Sync {
    /// The number of items; those drawn are below. What it says when a run begins holds for the run.
    fn item_count(&self) -> u32;

    /// Draws for a block: an item for each element of `items`, which are 0 or what an earlier block left.
    /// Several workers may call it at the same time.
    ///
    /// # Errors
    /// Whatever ends the run, before a batch of the block is applied. An item that is not below
    /// [`item_count`](Self::item_count) is an [`Error::Index`] of the run.
    fn draw(&self, block: &SampleBlock<'_>, items: &mut [u32]) -> Result<()>;

    /// Whether it calls code of a host language, which a run must wait for when it is interrupted.
    fn stays_in_thread(&self) -> bool {
        false
    }
}

/// Samples for which items are drawn.
#[derive(Debug)]
pub struct SampleBlock<'a> {
    pub(in crate::train) seed: u64,
    pub(in crate::train) count: usize,
    pub(in crate::train) spans: Spans<'a>,
    /// The shape of what is drawn for a sample, if that is the same for all.
    pub(in crate::train) shape: &'a [usize],
    /// What each column has for all samples, and its shape in one.
    pub(in crate::train) columns: &'a [(Slice<'a>, Shape)],
}

impl<'a> SampleBlock<'a> {
    /// The seed to draw by.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where the items of sample `k` are among all.
    ///
    /// # Panics
    /// If there is no such sample.
    pub fn items(&self, k: usize) -> Range<usize> {
        assert!(k < self.count, "sample {k} of {}", self.count);
        self.spans.of(k)
    }

    /// The shape of the items of a sample; `None` if samples differ in their number.
    pub fn item_shape(&self) -> Option<&[usize]> {
        matches!(self.spans, Spans::Rows(_)).then_some(self.shape)
    }

    /// What column `k` of those that the source names has, for one sample after the other, and the shape of
    /// it in one sample; `None` if there is no such column.
    pub fn column(&self, k: usize) -> Option<(Slice<'a>, &[usize])> {
        let (values, shape) = self.columns.get(k)?;
        Some((*values, shape))
    }

    /// The number of columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }
}

/// Draws for a block, for the input of this name, and compares what is drawn with `n`.
///
/// # Errors
/// What the sampler reports, and [`Error::Index`] for an item that is not below `n`.
pub(in crate::train) fn fill(
    name: &str,
    (sampler, n): (&dyn CustomSampler, u32),
    block: &SampleBlock<'_>,
    items: &mut [u32],
) -> Result<()> {
    sampler.draw(block, items)?;
    match items.iter().find(|&&item| item >= n) {
        None => Ok(()),
        Some(item) => Err(Error::Index(format!(
            "input '{name}': the sampler {sampler:?} drew {item}, expected less than {n} (its batch was \
             not applied)"
        ))),
    }
}
