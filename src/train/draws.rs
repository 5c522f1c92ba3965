//! Drawing the inputs of staged samples: by samplers, whether they read the model or not.

use std::sync::Arc;

use super::data::{Feed, Feeds};
use super::input_buffer::InputBuffer;
use super::scored::{ScoredDraws, ScoredSampler, ScoredSamples};
use crate::array::filled;
use crate::error::Result;
use crate::optim::gradient::Access;
use crate::table::Table;

impl Feeds {
    /// Draws the sampled inputs and seeds of `count` samples whose columns are in `buffers`.
    pub(super) fn draw<R: rand::Rng>(
        &self,
        count: usize,
        rng: &mut R,
        buffers: &mut [InputBuffer],
    ) {
        for (k, feed) in self.feeds.iter().enumerate() {
            // The values that a draw depends on come from a column, so they are there.
            let (before, rest) = buffers.split_at_mut(k);
            let Some((InputBuffer::U32(out), after)) = rest.split_first_mut() else {
                continue;
            };
            let (sampler, given, row) = match feed {
                Feed::Column { .. } | Feed::Scored { .. } | Feed::Rank { .. } => continue,
                Feed::Sampled {
                    sampler,
                    given,
                    row,
                } => (sampler, given, *row),
                Feed::Seeds => {
                    for words in out[..2 * count].chunks_exact_mut(2) {
                        let seed = rng.next_u64();
                        words.copy_from_slice(&[seed as u32, (seed >> 32) as u32]);
                    }
                    continue;
                }
            };
            let given = given.map(|g| {
                let other = if g < k { &before[g] } else { &after[g - k - 1] };
                &other.indices()[..count]
            });
            let out = &mut out[..count * row];
            match given {
                Some(users) if row != 1 => {
                    for (items, &user) in out.chunks_exact_mut(row.max(1)).zip(users) {
                        items
                            .iter_mut()
                            .for_each(|item| *item = sampler.draw(rng, Some(user)));
                    }
                }
                given => sampler.fill(rng, given, out),
            }
        }
    }

    /// Whether what is drawn depends on the parameters.
    pub(super) fn read_tables(&self) -> bool {
        self.scored().next().is_some()
    }

    /// The tables that samplers read.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.scored().flat_map(|(_, sampler, ..)| sampler.tables())
    }

    /// Feeds that are drawn by what the model says: their number, sampler, and feeds of user and item.
    fn scored(&self) -> impl Iterator<Item = (usize, &Arc<ScoredSampler>, usize, usize)> {
        self.feeds
            .iter()
            .enumerate()
            .filter_map(|(k, feed)| match feed {
                Feed::Scored {
                    sampler,
                    user,
                    item,
                } => Some((k, sampler, *user, *item)),
                _ => None,
            })
    }

    /// Draws what depends on the parameters, for `count` samples whose columns are in `buffers`.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    ///
    /// # Safety
    /// The locks of [`tables`](Self::tables) are held as `access` says.
    pub(super) unsafe fn draw_scored<R: rand::Rng>(
        &self,
        access: Access,
        count: usize,
        rng: &mut R,
        buffers: &mut [InputBuffer],
    ) -> Result<()> {
        for (k, sampler, user, item) in self.scored() {
            let of = |feed: &Feed| matches!(feed, Feed::Rank { of } if *of == k);
            let rank = self.feeds.iter().position(of);
            let take =
                |buffer: &mut InputBuffer| std::mem::replace(buffer, InputBuffer::U32(Vec::new()));
            let mut items = take(&mut buffers[k]);
            let mut ranks = rank.map(|rank| take(&mut buffers[rank]));
            let mut unused = match ranks {
                Some(_) => Vec::new(),
                None => filled(count, 0.0)?,
            };
            let drawn = match &mut ranks {
                Some(InputBuffer::F32(ranks)) => &mut ranks[..count],
                _ => &mut unused[..],
            };
            let samples = ScoredSamples {
                users: &buffers[user].indices()[..count],
                items: &buffers[item].indices()[..count],
            };
            if let InputBuffer::U32(items) = &mut items {
                let draws = ScoredDraws {
                    items: &mut items[..count],
                    ranks: drawn,
                };
                // SAFETY: `feed` has compared the columns of users and items with the rows of the tables,
                // and the locks are held as `access` says, by the conditions of this function.
                unsafe { sampler.fill(access, rng, samples, draws) }?;
            }
            buffers[k] = items;
            if let (Some(at), Some(ranks)) = (rank, ranks) {
                buffers[at] = ranks;
            }
        }
        Ok(())
    }
}
