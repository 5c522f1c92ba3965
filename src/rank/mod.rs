//! Ranking: the best items for a user, and how good a ranking is.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use ndarray::array;
//! use wyrmling::rank::{Csr, Factors, evaluate, top_k};
//!
//! let users = array![[1.0, 0.0], [0.0, 1.0]];
//! let items = array![[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]];
//! let factors = Factors::new(users.view(), items.view(), None)?;
//!
//! let stop = AtomicBool::new(false);
//! // User 0 has seen item 0, user 1 item 1.
//! let seen = Csr::from_pairs(&[0, 1], &[0, 1], 2, 3)?;
//! let best = top_k(&factors, Some(&seen), 1, &stop)?;
//! assert_eq!(best.ids, [2, 2]);
//!
//! // Item 2 was held out for user 0: it is the first of what the user has not seen.
//! let held_out = Csr::from_pairs(&[0], &[2], 2, 3)?;
//! let quality = evaluate(&factors, &seen, &held_out, 10, &stop)?;
//! assert_eq!(quality.mean().reciprocal_rank, 1.0);
//! # Ok::<(), wyrmling::error::Error>(())
//! ```
//!
//! # Rationale
//!
//! A score is a dot product of factors plus a bias, so the scores of many users
//! are one matrix product, which is computed in blocks of users and tiles of items, so that no
//! score is kept longer than it is looked at. Factors of no width with a bias rank every user's
//! items by that bias: the popularity baseline needs no code of its own.
//!
//! # Limits
//!
//! Every item is scored; there is no approximate search. Work is shared among the
//! threads of rayon's global pool; a call for few users stays on the caller's.

mod csr;
mod factors;
mod held_out;
mod metrics;
mod tiles;
mod topk;

pub use csr::Csr;
pub(crate) use csr::{check_below, check_offsets};
pub use factors::Factors;
#[cfg(feature = "python")]
pub(crate) use held_out::HeldOutRank;
pub use metrics::{Evaluation, Metrics, evaluate};
#[cfg(feature = "python")]
pub(crate) use topk::{HeldOut, search};
pub use topk::{NO_ITEM, TopK, top_k};
