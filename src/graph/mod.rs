//! Define-by-run graphs.
//!
//! Leaves ([`Parameter`], [`Input`], [`Independent`]) combine with operators into
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
//!
//! # Typed or boxed, panics or errors
//!
//! A typed variable knows its expression, and what is written on it (`a * b`, `a.exp()`,
//! `a.gather(rows)`, `Parameter::new`, `a.backward()`) **panics** where operands do not fit: other
//! shapes, integers where numbers are wanted, an index out of range, NaN in a parameter. That suits a
//! model that is written out. Whatever comes from outside is better given to the forms that return errors:
//!
//! | panics | returns a [`Result`](crate::Result) |
//! | --- | --- |
//! | `a + b`, `a.exp()`, `a.gather(b)`, … | [`unary`](Variable::unary) and [`binary`](Variable::binary) with an operator of [`rules`](crate::rules), or [`ops`] |
//! | [`zero_grad`](Variable::zero_grad) | [`try_zero_grad`](Variable::try_zero_grad) |
//! | [`backward`](Variable::backward) | [`try_backward`](Variable::try_backward), [`backward_from`](Variable::backward_from) |
//! | `Parameter::new` | [`Param::new`](crate::table::Param::new), then [`from_param`](Variable::from_param) |
//!
//! The type of a typed variable is as long as its expression. Of some forty operators one above the other the
//! compiler says "overflow while adding drop-check rules", and where values are used twice it takes a minute for
//! fewer. So the value of a layer, or of a step of a loop, is [boxed](Variable::boxed): it is the same node, and
//! what is written on it begins a new type.
//!
//! ```
//! use wyrmling::{Input, Parameter};
//!
//! let (w, mut h) = (Parameter::new([0.1, 0.2]), Input::new([1.0, 2.0]).boxed());
//! for _ in 0..100 {
//!     h = ((&h * &w).tanh() + &h).boxed();
//! }
//! h.sum().backward();
//! ```
//!
//! [`ops`] has NumPy's functions (`mean`, `softmax`, `max`, slices, joins and so on) for
//! [boxed](Variable::boxed) variables. It takes them by reference, as the symbols `+`, `-`, `*` and `/` do, too;
//! other typed operators take operands whole. A clone is the same node. In both, float32 meets float64 in
//! float64, and a plain number, which Rust writes as `f64`, takes the element type of the variable:
//!
//! ```
//! use wyrmling::graph::ops::{self, Reduction};
//! use wyrmling::{Error, Input, Parameter, rules};
//!
//! let weights = Parameter::new(vec![1.0, 2.0, 3.0]).boxed();
//! let mean = ops::reduce(Reduction::Mean, &weights, None, false)?;
//! let share = ops::binary(&rules::Div, &weights, &mean)?;
//! assert_eq!(ops::softmax(&share, -1)?.value()?.shape(), [3]);
//!
//! let short = Input::new(vec![1.0f32, 2.0]).boxed();
//! let misfit = ops::binary(&rules::Mul, &weights, &short);
//! assert!(matches!(misfit, Err(Error::Shape(message)) if message.contains("(3,) and (2,)")));
//! # Ok::<(), Error>(())
//! ```

mod debug;
mod derivatives;
mod drawing;
mod eager;
mod flags;
mod leaf;
mod lengths;
mod node;
mod offload;
mod operation;
pub mod ops;
mod order;
mod parent;
mod program;
mod release;
mod typed_methods;
mod under_way;
mod value;
mod variable;

pub use derivatives::collected::CollectedGradient;
pub use drawing::{Outline, Outlined};
pub use leaf::{
    Constant, ConstantNode, Independent, IndependentNode, Input, InputNode, Parameter,
    ParameterNode,
};
pub use node::{Core, Hook, IntoDyn, Kind, Node, Variable};
pub use operation::{AsOperator, Operation, Parents};
pub use parent::{Parent, Promoted};
pub(crate) use program::bound_program::BoundProgram;
#[cfg(feature = "python")]
pub(crate) use program::splice::splice;
pub use typed_methods::Stacked;
pub use variable::{Binary, Unary};
