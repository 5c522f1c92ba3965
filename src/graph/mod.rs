//! Define-by-run graphs.
//!
//! Leaves ([`Parameter`], [`Input`], [`Leaf`]) combine with operators into
//! [`Variable`]s that hold their value at once; [`Variable::backward`] collects
//! gradients at the leaves. A graph belongs to the thread that built it.
//!
//! ```
//! use wyrmling::{Input, Parameter};
//!
//! let slope = Parameter::new(1.0);
//! let intercept = Parameter::new(0.0);
//! let x = Input::new(3.0);
//! let y = Input::new(2.0 * 3.0 + 1.0);
//! let loss = (y - (slope.clone() * x + intercept.clone())).square();
//! loss.backward();
//! assert_eq!(slope.grad().unwrap().to_dense().item()?, -24.0);
//! assert_eq!(intercept.grad().unwrap().to_dense().item()?, -8.0);
//! # Ok::<(), wyrmling::Error>(())
//! ```

pub mod build;
mod eager;
mod freeze;
mod leaf;
mod node;
mod release;
mod value;
mod variable;
mod walk;

pub use leaf::{
    Constant, ConstantNode, Input, InputNode, Leaf, LeafNode, Parameter, ParameterNode,
};
pub use node::{Core, Held, IntoDyn, Kind, Node, Operation, Parents};
pub use variable::{Binary, Unary, Variable};
