//! The rule table: every operator, written once.
//!
//! An [`Operator`] says how shapes combine, computes its value with a kernel, and
//! gives its vector-Jacobian product *in terms of other operators* over an
//! abstract [`Algebra`]. The same rule therefore yields numbers when run on arrays
//! (`.backward()`) and instructions when run on ir values (the adjoint of a
//! program). [`table()`] lists the operators with their test cases, so that the
//! gradient checks are generated and an operator cannot lack one.
//!
//! The set is open: a downstream crate implements [`Operator`] for its own type
//! and uses it wherever a built-in one fits (`tests/rust/operators.rs` has more):
//!
//! ```
//! use wyrmling::array::{Real, View, ViewMut};
//! use wyrmling::rules::{Ex, Kernel, Map1, Operator};
//! use wyrmling::{DType, Parameter, Result, Type};
//!
//! /// x³.
//! #[derive(Debug, Clone)]
//! struct Cube;
//!
//! impl Map1 for Cube {
//!     fn f<T: Real>(x: T) -> T {
//!         x * x * x
//!     }
//! }
//!
//! impl Operator for Cube {
//!     fn name(&self) -> &str {
//!         "cube"
//!     }
//!     fn infer(&self, args: &[&Type]) -> Result<Type> {
//!         Ok(args[0].clone())
//!     }
//!     fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
//!         Kernel::one::<Self>(out.data.dtype()).apply(&[args[0].data], out.data);
//!         Ok(())
//!     }
//!     // The derivative is 3x², in operators: eager graphs and programs both follow it.
//!     fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
//!         Some(g * x[0].square() * 3.0)
//!     }
//!     // Acts on each element alone, and is fused with others in programs.
//!     fn kernel(&self, dtype: DType) -> Option<Kernel> {
//!         Some(Kernel::one::<Self>(dtype))
//!     }
//! }
//!
//! let x = Parameter::new(vec![1.0, 2.0]);
//! let y = x.clone().unary(Cube)?.sum();
//! y.backward();
//! assert_eq!(y.item()?, 9.0);
//! assert_eq!(x.grad().unwrap().to_dense().to_f64(), [3.0, 12.0]);
//! assert_eq!(y.freeze()?.run(&[])?.item()?, 9.0);
//! # Ok::<(), wyrmling::Error>(())
//! ```
//!
//! Rules speak about shapes only through operators such as `sum_to(g, like)` or
//! `reshape_like(g, like)`, never through lengths written into the rule; that is
//! what lets one frozen program be planned again for another batch length.

/// Declares the files of a folder: adds them, exports what is in them, and lists their entries
/// of the table.
macro_rules! files {
    ($($file:ident),+ $(,)?) => {
        $(
            pub(crate) mod $file;
            pub use $file::*;
        )+

        /// This folder's entries of the rule table, file by file.
        pub(super) const ENTRIES: &[&[crate::rules::Entry]] = &[$($file::ENTRIES),+];
    };
}

mod algebra;
mod bag_index;
#[cfg(feature = "python")]
mod descriptions;
pub(crate) mod differentiate;
mod element_function;
pub(crate) mod elementwise;
mod form;
mod index;
mod kernel;
mod key;
mod linalg;
mod linear;
mod recording;
mod reduction;
mod scatter;
mod shape;
mod table;

use std::any::{Any, TypeId};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use algebra::{Algebra, Ex, Id};
pub(crate) use bag_index::BagIndex;
#[cfg(feature = "python")]
pub(crate) use descriptions::{DescribedReference, Description, descriptions};
pub(crate) use element_function::ElementFunction;
pub use elementwise::*;
pub use form::Form;
pub use index::*;
pub(crate) use kernel::Operand;
pub use kernel::{Kernel, MOST_OPERANDS, ScalarFunction};
pub use key::Key;
pub use linalg::*;
pub(crate) use linear::linear;
pub use reduction::*;
pub use scatter::{Scatter, ScatteredRows};
pub use shape::*;
pub use table::{Argument, Case, Entry, Reference, table};

use crate::array::{DType, MOST_AXES, Type, View, ViewMut, element_count};
use crate::error::{Error, Result};

/// One differentiable operation. See the [module documentation](self).
pub trait Operator: fmt::Debug + Any + Send + Sync {
    /// The operator's name, as in the rule table and in printed programs.
    fn name(&self) -> &str;

    /// The type of the result, or why the operands do not fit.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Type`] or [`Error::Value`], with the operator's
    /// name and the offending shapes or types.
    fn infer(&self, args: &[&Type]) -> Result<Type>;

    /// What tells this operator from others of its type: as a rule `Some(self)`, where all fields
    /// can be compared and hashed. Without one an operator that has fields is the same as no other,
    /// and is computed anew where it stands twice. One without fields needs none.
    fn key(&self) -> Option<&dyn Key> {
        None
    }

    /// Computes the result. `out` has the type that [`infer`](Self::infer) gave,
    /// and its previous contents are arbitrary.
    ///
    /// # Errors
    /// [`Error::Index`] where an operand holds indices that are out of range.
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()>;

    /// Whether [`eval`](Self::eval) must run in the thread that asks for it, as a function of a host
    /// language does that finds its caller's state there.
    fn stays_in_thread(&self) -> bool {
        false
    }

    /// For an operator of one operand: that which does to each entry along a new first axis what this
    /// one does, so that axes which it names are one further. `None` if there is none. Losses of one
    /// sample become losses of a batch by it.
    fn over_batch(&self) -> Option<OpRef> {
        None
    }

    /// The vector-Jacobian product for operand `i`: `g` is the gradient of the
    /// result `y = self(x…)`, the answer has the shape of `x[i]`. `None` where the
    /// derivative is zero everywhere it exists.
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>>;

    /// The Jacobian-vector product for operand `i`: `t` is the tangent of `x[i]`, the answer is
    /// that of the result and has its shape. `None` where none is written: it is then the
    /// transpose of [`vjp`](Self::vjp), which is linear in `g`, so that no operator needs both.
    fn jvp<'t>(&self, _i: usize, _t: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }

    /// Where the result is not unique (eigenvectors of repeated eigenvalues, say): the one of the
    /// possible results that is differentiable when operand `i` moves by `t`. Forward mode then
    /// has it in the place of `y`, in [`jvp`](Self::jvp) and in all that is computed from the result.
    /// `None` where `y` is.
    fn realigned<'t>(&self, _i: usize, _t: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }

    /// Whether the value of operand `i` is read; `false` if only its shape matters.
    fn reads(&self, _i: usize) -> bool {
        true
    }

    /// The law that this operator obeys, if it is one of those by which programs are rearranged.
    fn form(&self) -> Form {
        Form::Other
    }

    /// The number that the indices which operand `i` holds must stay below, if it holds indices.
    /// Programs compare an input with it beforehand, so that the error names the input.
    fn limit(&self, _i: usize, _args: &[&Type]) -> Option<usize> {
        None
    }

    /// This operator as one that adds values to zeros, if that is what it does. Gradients of that
    /// form are added up in place, and those of rows of a parameter stay rows.
    fn scatter(&self) -> Option<&dyn Scatter> {
        None
    }

    /// The basic slice that this operator takes of its only operand, if that is what it does. Of a
    /// parameter only the rows that the slice has elements of are read then. It is compared with
    /// the types wherever it is relied on.
    fn slice(&self) -> Option<&[SliceItem]> {
        None
    }

    /// Whether the result holds operand 0's elements in the same order, so that the
    /// two may share memory.
    fn aliases(&self, _args: &[&Type], _out: &Type) -> bool {
        false
    }

    /// Computes the result in memory that holds operand 0's elements, where the result differs from it
    /// in a few. `others` are the operands from 1 on; the result must be what
    /// [`eval`](Self::eval) makes of them. `None`, and nothing changed, if the operator does not do
    /// so. It is asked only if the result has operand 0's type, which [`infer`](Self::infer) gave.
    ///
    /// # Errors
    /// As [`eval`](Self::eval); the elements are then arbitrary.
    fn update(&self, _others: &[View<'_>], _out: ViewMut<'_>) -> Option<Result<()>> {
        None
    }

    /// Whether operand `i`, a matrix, is used transposed.
    fn transposes(&self, _i: usize) -> bool {
        false
    }

    /// Which concrete operator this is. Nobody else can write it: [`Internal`] has no name
    /// outside of this crate.
    #[doc(hidden)]
    fn type_key(&self, _: Internal) -> TypeId {
        TypeId::of::<Self>()
    }

    /// The kernel for one element type, if this operator acts on each element alone. Such
    /// operators are fused. On single numbers of one type [`infer`](Self::infer) is not asked: the
    /// result has that type.
    fn kernel(&self, _dtype: DType) -> Option<Kernel> {
        None
    }

    /// What an elementwise operator of the table is made of, and its order. It is known without
    /// [`infer`](Self::infer) what becomes of operands of one type. No other operator has one:
    /// nobody else can write this, as with [`type_key`](Self::type_key).
    #[doc(hidden)]
    fn definition(&self, _: Internal) -> Option<(&'static Definition, i32)> {
        None
    }
}

mod internal {
    /// What the methods of [`Operator`](super::Operator) take that this crate alone calls and
    /// writes. A method can be overridden only where the types of its arguments can be named.
    #[derive(Debug, Clone, Copy)]
    pub struct Internal;
}
pub(crate) use internal::Internal;

/// Whether an operator is of one of these types of the table. Names would not do: an operator of a
/// caller may have any.
macro_rules! is_one_of {
    ($op:ident: $($type:ident),+) => {
        $($op.downcast::<$crate::rules::$type>().is_some())||+
    };
}
pub(crate) use is_one_of;

impl dyn Operator {
    /// This operator as a concrete type, if it is that type.
    pub fn downcast<O: Operator>(&self) -> Option<&O> {
        (self as &dyn Any).downcast_ref()
    }

    /// The attributes, as they are written in Rust; empty if there are none.
    pub fn attributes(&self) -> String {
        let debug = format!("{self:?}");
        let start = debug.find([' ', '{', '(']).unwrap_or(debug.len());
        let attributes = debug[start..].trim();
        let inside = |open, close| attributes.strip_prefix(open)?.strip_suffix(close);
        let inside = inside('{', '}').or_else(|| inside('(', ')'));
        inside.unwrap_or(attributes).trim().to_owned()
    }
}

/// A shared operator: a constant of the program, or one with attributes.
#[derive(Clone)]
pub enum OpRef {
    /// An operator without attributes.
    Static(&'static dyn Operator),
    /// An operator with attributes.
    Shared(Arc<dyn Operator>),
}

impl OpRef {
    /// Shares an operator with attributes.
    pub fn new(op: impl Operator) -> Self {
        OpRef::Shared(Arc::new(op))
    }
}

impl Deref for OpRef {
    type Target = dyn Operator;
    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            OpRef::Static(op) => *op,
            OpRef::Shared(op) => op.as_ref(),
        }
    }
}

impl fmt::Debug for OpRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Whether the result of an operator shares operand 0's memory: the operator allows it, and
/// the two are of one size and element type.
pub(crate) fn shares<O: Operator + ?Sized>(op: &O, args: &[&Type], out: &Type) -> bool {
    let same = |x: &&Type| x.dtype == out.dtype && x.size() == out.size();
    op.aliases(args, out) && args.first().is_some_and(same)
}

/// The type of an operator's result. Whoever asks for it asks here, once for each result: an
/// operator of another crate may give a shape that no memory can hold, or another one next time.
///
/// # Errors
/// Whatever [`Operator::infer`] reports, [`Error::Shape`] if the result has too many elements or
/// axes.
pub(crate) fn result_type<O: Operator + ?Sized>(op: &O, args: &[&Type]) -> Result<Type> {
    let ty = op.infer(args)?;
    check_possible(op.name(), &ty)?;
    Ok(ty)
}

/// Checks that memory could hold an array of a type.
///
/// # Errors
/// [`Error::Shape`] if it has too many elements or axes.
pub(crate) fn check_possible(name: &str, ty: &Type) -> Result<()> {
    if ty.ndim() > MOST_AXES {
        return Err(Error::Shape(format!(
            "{name}: an array has at most {MOST_AXES} axes, this one would have {}",
            ty.ndim()
        )));
    }
    element_count(&ty.shape).map(drop)
}

/// Checks the number of operands.
pub(crate) fn arity<'a, const N: usize>(name: &str, args: &[&'a Type]) -> Result<[&'a Type; N]> {
    <[&Type; N]>::try_from(args)
        .map_err(|_| Error::Type(format!("{name} takes {N} operand(s), {} given", args.len())))
}

/// Checks that an operand holds numbers.
pub(crate) fn real(name: &str, ty: &Type) -> Result<()> {
    if ty.dtype.is_real() {
        Ok(())
    } else {
        Err(Error::Type(format!(
            "{name}: expected floating-point numbers, got {ty}"
        )))
    }
}

/// Checks that two operands hold numbers of the same type.
pub(crate) fn same_dtype(name: &str, a: &Type, b: &Type) -> Result<()> {
    real(name, a)?;
    real(name, b)?;
    if a.dtype == b.dtype {
        Ok(())
    } else {
        Err(Error::Type(format!(
            "{name}: operands of type {} {} and {} {} do not mix; make both float32, or both float64",
            a.dtype,
            crate::array::show_shape(&a.shape),
            b.dtype,
            crate::array::show_shape(&b.shape)
        )))
    }
}

/// Checks that what is named has a shape.
pub(crate) fn same_shape(what: &str, expected: &[usize], found: &[usize]) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::Shape(format!(
        "{what}: expected shape {}, got {}",
        crate::array::show_shape(expected),
        crate::array::show_shape(found)
    )))
}

/// Rows and columns, the last two axes, of what `infer` checked to be matrices.
pub(crate) fn rows_and_columns(shape: &[usize]) -> [usize; 2] {
    match *shape {
        [.., rows, columns] => [rows, columns],
        _ => unreachable!("infer admits and gives matrices only"),
    }
}

/// Axes after a new first one.
fn one_further(axes: &[usize]) -> crate::array::Shape {
    axes.iter().map(|axis| axis + 1).collect()
}
