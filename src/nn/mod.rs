//! What networks are made of, for graphs: layers that hold parameters, and what these start from.
//!
//! Formulas, names and the layout of weights are those of `wyrmling.nn` in Python, so that what one has
//! trained the other can use. A layer is its parameters, which its clones share, and a method that writes the
//! expression; whatever is not here is written with [`Variable`]'s operators and [`ops`](crate::graph::ops).
//!
//! ```
//! use rand::SeedableRng;
//! use wyrmling::nn::{Embedding, Linear, Lstm};
//! use wyrmling::optim::Optimizer;
//! use wyrmling::train::Trainer;
//! use wyrmling::{Input, graph::ops};
//!
//! // Which of two digits came first has to be kept in mind.
//! let rng = &mut rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
//! let (digits, lstm, last) = (Embedding::new(5, 8, rng)?, Lstm::new(8, 16, rng)?, Linear::new(16, 5, rng)?);
//! let inputs = [(); 3].map(|()| Input::indices(vec![0]));
//! let vectors = inputs[..2].iter().map(|digit| digits.rows(digit.clone()).boxed());
//! let states = lstm.states(vectors)?;
//! let scores = last.apply(states[1].clone()).boxed();
//! let loss = ops::cross_entropy(&scores, &inputs[2].clone().boxed())?.sum();
//!
//! let adam = Optimizer::adam(0.01)?;
//! let mut trainer = Trainer::new(&loss, &adam)?;
//! let mut losses = Vec::new();
//! for step in 0..1500_u32 {
//!     let (a, b) = (step % 5, step / 5 % 5);
//!     for (input, digit) in inputs.iter().zip([a, b, a]) {
//!         input.set_slice(&[digit])?;
//!     }
//!     losses.push(trainer.step()?);
//! }
//! assert!(losses[1475..].iter().all(|&loss| loss < 0.1));
//! # Ok::<(), wyrmling::Error>(())
//! ```
//!
//! [`Variable`]: crate::Variable

mod initialisers;
mod layers;
mod recurrent;

pub use initialisers::{he, normal, uniform, xavier};
pub use layers::{Embedding, Linear};
pub use recurrent::{Gru, Lstm, LstmState};
