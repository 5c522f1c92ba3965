//! The crate's tests from outside, in one binary: linking the crate once is most of their price.
//!
//! Those that count what is allocated have binaries of their own, beside this one.

mod array;
mod assignment;
mod block_derivatives;
mod checkpoint;
mod claims;
mod common;
mod control_flow;
mod examples;
mod exec;
mod graph;
mod hooks;
mod ir;
mod kept_tables;
mod lengths;
mod native;
mod native_angles;
mod native_arrays;
mod native_chunked;
mod native_fixed;
mod native_lengths;
mod negatives;
mod nn;
mod operators;
mod ops;
mod optim;
mod outline;
mod panics;
mod products;
mod random_programs;
mod rank;
mod recursion;
mod rows;
mod rules;
mod scatter;
mod simplify;
mod simplify_ranges;
mod simplify_values;
mod soundness;
mod split;
mod structured;
mod train;
mod trainer;
mod typed;
mod work;
