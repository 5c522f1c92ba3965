//! Drawing the inputs of staged samples: by samplers, whether they read the model or not.

use std::sync::Arc;

use super::drawer::{DrawRows, Drawer};
use super::feeds::{Feed, Feeds};
use super::input_buffer::InputBuffer;
use crate::array::{Shape, Slice};
use crate::error::Result;
use crate::table::Table;
use crate::train::dealt_rows::Among;
use crate::train::sampling::adaptive::FactorOrders;
use crate::train::sampling::custom::{self, SampleBlock};
use crate::train::sampling::exchanged::BlockDraws;
use crate::train::sampling::in_batch::{self, BatchItems};
use crate::train::sampling::scored::{ScoredDraws, ScoredSampler, ScoredSamples};
use crate::train::spans::Spans;

/// What a feed has for each of `count` samples, one index each.
fn of(buffers: &[InputBuffer], feed: Option<usize>, count: usize) -> Option<&[u32]> {
    feed.map(|feed| &buffers[feed].indices()[..count])
}

impl Feeds {
    /// Draws what does not depend on the parameters, for `count` samples whose columns are in `buffers`, in
    /// batches of `batch`. Samplers draw `among` some items, where these are about their input.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) or [`Error::Shape`](crate::Error::Shape) if there is not the memory,
    /// and those of samplers of the caller's own.
    pub(in crate::train) fn draw<R: rand::Rng>(
        &self,
        batch: usize,
        among: Option<Among<'_>>,
        count: usize,
        rng: &mut R,
        buffers: &mut [InputBuffer],
    ) -> Result<()> {
        for (k, feed) in self.feeds.iter().enumerate() {
            let Feed::Drawn { by, rows, name } = feed else {
                continue;
            };
            // The values that a draw depends on come from columns, so they are there.
            match by {
                Drawer::Scored { .. } => {}
                Drawer::Items { sampler, given } => {
                    let among = among.filter(|among| among.is_about(k));
                    rows.stage(k, count, buffers, |buffers, spans, items| {
                        let given = of(buffers, *given, count);
                        if let Some(among) = among {
                            for (k, item) in items.iter_mut().enumerate() {
                                let user = given.map(|users| users[k]);
                                *item = sampler.draw_among(rng, user, &among);
                            }
                            let own = &buffers[among.own].indices()[..count];
                            let draws = BlockDraws { own, users: given };
                            draws.exchange(sampler, &among, rng, items);
                            return Ok(());
                        }
                        match (spans, given) {
                            (Spans::Rows(1), given) => sampler.fill(rng, given, items),
                            (_, None) => sampler.fill(rng, None, items),
                            (_, Some(users)) => {
                                for (k, &user) in users.iter().enumerate() {
                                    for item in &mut items[spans.of(k)] {
                                        *item = sampler.draw(rng, Some(user));
                                    }
                                }
                            }
                        }
                        Ok(())
                    })?;
                }
                Drawer::InBatch {
                    sampler,
                    column,
                    given,
                } => rows.stage(k, count, buffers, |buffers, spans, items| {
                    let samples = BatchItems {
                        items: &buffers[*column].indices()[..count],
                        users: of(buffers, *given, count),
                        batch,
                    };
                    in_batch::fill(sampler, rng, samples, spans, items);
                    Ok(())
                })?,
                Drawer::Custom {
                    sampler,
                    n,
                    columns,
                } => {
                    let seed = rng.next_u64();
                    let shape = self.sample_shape(k);
                    rows.stage(k, count, buffers, |buffers, spans, items| {
                        let column = |&at: &usize| self.values(buffers, at, count);
                        let columns: Vec<(Slice<'_>, Shape)> = columns.iter().map(column).collect();
                        let block = SampleBlock {
                            seed,
                            count,
                            spans,
                            shape: &shape,
                            columns: &columns,
                        };
                        custom::fill(name, (&**sampler, *n), &block, items)
                    })?;
                }
            }
        }
        Ok(())
    }

    /// What a feed has for `count` samples, and the shape of it in one.
    fn values<'a>(
        &self,
        buffers: &'a [InputBuffer],
        feed: usize,
        count: usize,
    ) -> (Slice<'a>, Shape) {
        let shape = self.sample_shape(feed);
        let row = shape.iter().product::<usize>();
        (buffers[feed].slice(0, count * row), shape)
    }

    /// Whether what is drawn depends on the parameters.
    pub(in crate::train) fn read_tables(&self) -> bool {
        self.scored().next().is_some()
    }

    /// Whether a sampler is the caller's own, who may read the parameters.
    pub(in crate::train) fn call_out(&self) -> bool {
        let is_own = |feed: &Feed| match feed {
            Feed::Drawn { by, .. } => matches!(by, Drawer::Custom { .. }),
            _ => false,
        };
        self.feeds.iter().any(is_own)
    }

    /// Whether what is drawn for a sample may be what others have that are trained at about the same time: those of its
    /// batch, or those that a sampler of the caller's own sees by this input.
    pub(in crate::train) fn draw_from_others(&self, input: usize) -> bool {
        self.feeds.iter().any(|feed| match feed {
            Feed::Drawn {
                by: Drawer::InBatch { .. },
                ..
            } => true,
            Feed::Drawn {
                by: Drawer::Custom { columns, .. },
                ..
            } => columns.contains(&input),
            _ => false,
        })
    }

    /// Whether a sample has more than one item of a sampler.
    pub(in crate::train) fn draw_several(&self) -> bool {
        let several = |feed: &Feed| match feed {
            Feed::Drawn { rows, .. } => !matches!(rows, DrawRows::Fixed(1)),
            _ => false,
        };
        self.feeds.iter().any(several)
    }

    /// The tables that samplers read.
    pub(in crate::train) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.scored().flat_map(|sampler| sampler.tables())
    }

    /// Samplers that read the model, in the order of their feeds.
    fn scored(&self) -> impl Iterator<Item = &Arc<ScoredSampler>> {
        self.feeds.iter().filter_map(|feed| match feed {
            Feed::Drawn {
                by: Drawer::Scored { sampler, .. },
                ..
            } => Some(sampler),
            _ => None,
        })
    }

    /// What one worker keeps for each of the samplers that read the model.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory.
    pub(in crate::train) fn orders(&self) -> Result<Vec<FactorOrders>> {
        self.scored().map(|sampler| sampler.orders()).collect()
    }

    /// Draws what depends on the parameters, for `count` samples whose columns are in `buffers`.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if there is not the memory, and
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    ///
    /// # Safety
    /// The locks of [`tables`](Self::tables) are held.
    pub(in crate::train) unsafe fn draw_scored<R: rand::Rng>(
        &self,
        count: usize,
        (rng, orders): (&mut R, &mut [FactorOrders]),
        buffers: &mut [InputBuffer],
    ) -> Result<()> {
        let mut orders = orders.iter_mut();
        for (k, feed) in self.feeds.iter().enumerate() {
            let Feed::Drawn {
                by:
                    Drawer::Scored {
                        sampler,
                        user,
                        item,
                    },
                rows,
                ..
            } = feed
            else {
                continue;
            };
            let Some(orders) = orders.next() else {
                continue;
            };
            let is_rank = |feed: &Feed| matches!(feed, Feed::Rank { of } if *of == k);
            let rank = self.feeds.iter().position(is_rank);
            let mut ranks = match rank {
                Some(at) => std::mem::replace(&mut buffers[at], InputBuffer::F32(Vec::new())),
                None => InputBuffer::F32(Vec::new()),
            };
            let drawn = rows.stage(k, count, buffers, |buffers, spans, items| {
                let samples = ScoredSamples {
                    users: &buffers[*user].indices()[..count],
                    items: of(buffers, *item, count),
                    spans,
                };
                let draws = ScoredDraws {
                    items,
                    ranks: match &mut ranks {
                        InputBuffer::F32(ranks) if rank.is_some() => Some(&mut ranks[..count]),
                        _ => None,
                    },
                };
                // SAFETY: `feed` has compared the columns of users and items with the rows of the tables,
                // and the locks are held, by the conditions of this function.
                unsafe { sampler.fill((&mut *rng, orders), samples, draws) }
            });
            if let Some(at) = rank {
                buffers[at] = ranks;
            }
            drawn?;
        }
        Ok(())
    }
}
