//! wyrmling: automatic differentiation and native-speed training of sparse models.
//!
//! The crate stands behind a Python package of the same name and is usable alone.
//!
//! ```
//! use wyrmling::{Input, Parameter};
//!
//! let (weights, x) = (Parameter::new(vec![1.0, 2.0]), Input::new(vec![3.0, 4.0]));
//! let loss = (weights.clone() * x.clone()).sum().square();
//! loss.backward();
//! assert_eq!(weights.grad().unwrap().to_dense().to_f64(), [66.0, 88.0]);
//!
//! x.set_value(vec![1.0, 0.0])?; // seen by whatever was computed from it
//! assert_eq!(loss.item()?, 1.0);
//! # Ok::<(), wyrmling::Error>(())
//! ```
//!
//! Where to start:
//!
//! | to do | see |
//! | --- | --- |
//! | build an expression; which functions panic, and which return errors | [`graph`], [`graph::ops`] |
//! | train a graph in a loop of yours | [`train::Trainer`] with an [`optim::Optimizer`]; [`train::parallel()`] on several threads |
//! | train on columns of data | [`freeze`](Variable::freeze), which makes a [`Program`], and [`train::fit()`] |
//! | save and go on | [`train::Checkpoint`]; [`io::tensors`] for files of arrays |
//! | layers; learning rates that change | [`nn`]; [`set_lr`](optim::Optimizer::set_lr) |
//! | read interactions, and number users and items | [`io::interactions`], [`io::Ids`] |
//! | who has what, the best items, and how good they are | [`rank::Csr`], [`rank::top_k()`], [`rank::evaluate()`] |
//! | an operator of your own | [`rules::Operator`] |
//!
//! Each module says what it is and why, `docs/architecture.md` has the picture, and `docs/rust.md` is for those
//! who come from the crate wyrm.
#![cfg_attr(
    not(all(feature = "jit", unix, target_arch = "x86_64")),
    allow(
        dead_code,
        unused_imports,
        reason = "machine code alone uses some functions"
    )
)]

pub mod array;
pub mod error;
pub mod exec;
pub mod graph;
mod interrupt;
pub mod io;
pub mod ir;
pub mod nn;
pub mod optim;
mod order;
mod process;
#[cfg(feature = "python")]
mod python;
pub mod rank;
mod reserve;
pub mod rules;
pub mod simd;
pub mod solvers;
mod special;
mod split;
pub mod table;
pub mod train;

pub use array::{Array, DType, Type};
pub use error::{Error, Result};
pub use exec::Program;
pub use graph::{Input, Parameter, Variable};
pub use table::{Gradient, Rows, Table};

/// The Rust of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of docs/rust.md are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct RustPage;
