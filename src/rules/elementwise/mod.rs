//! What all elementwise operators share: how they are declared, and broadcasting.
//!
//! An elementwise operator is a scalar function, in one of two forms. One that vectorises is
//! written once for every floating-point type, and has loops of its own (`map`). One that is a
//! call anyway is a function of `f64` ([`ScalarFunction`]), for which no loop is compiled.
//! The macro `elementwise!` makes of it an [`Operator`](super::Operator) and an entry of the
//! table, and exports what is written at the entry to the macros that give it names: the methods of
//! [`Ex`] and of typed variables, and the functions of Python.

mod list;
pub(crate) use list::elementwise_files;

// `cast` is beside them: it changes the element type, which no scalar function does.
macro_rules! declare {
    ($($file:ident),+) => { files! { $($file,)+ cast } };
}
elementwise_files!(declare);

mod map;

use crate::array::{Broadcast, DType, Slice, Type, View, ViewMut, broadcast};
use crate::error::{Error, Result};
use crate::interrupt::Poller;

use super::{ElementFunction, Ex, Kernel, MOST_OPERANDS, ScalarFunction, real, same_dtype};
pub(super) use map::{LANES, anywhere, map1, map2, map3};
pub use map::{Map1, Map2, Map3};

/// The result type of an elementwise operator: one element type, shapes broadcast.
pub(super) fn infer(name: &str, count: usize, args: &[&Type]) -> Result<Type> {
    if args.len() != count {
        return Err(Error::Type(format!(
            "{name} takes {count} operand(s), {} given",
            args.len()
        )));
    }
    let first = args[0];
    real(name, first)?;
    let mut same = true;
    for other in &args[1..] {
        same_dtype(name, first, other)?;
        same &= first.shape == other.shape;
    }
    if same {
        return Ok(first.clone());
    }
    Ok(Type {
        dtype: first.dtype,
        shape: broadcast(name, args.iter().map(|t| t.shape.as_slice()))?,
    })
}

/// Runs an elementwise kernel over the broadcast space of `out`, by several threads if operands
/// and result are large and of one shape.
///
/// # Errors
/// What ends long work.
pub(crate) fn eval(kernel: Kernel, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
    let plain = |v: &View<'_>| v.shape == out.shape || v.data.len() == 1;
    if args.iter().all(plain) {
        let slices: smallvec::SmallVec<[Slice<'_>; 3]> = args.iter().map(|a| a.data).collect();
        return kernel.apply_split(&slices, out.data);
    }
    let walk = Broadcast::new(out.shape, args.iter().map(|a| a.shape));
    let run = walk.run();
    let (mut poller, mut outcome) = (Poller::default(), Ok(()));
    let mut slices = [Slice::F64(&[]); MOST_OPERANDS];
    walk.for_each(|offsets, number| {
        if outcome.is_ok() {
            // An element takes up to a microsecond.
            outcome = poller.step(run.saturating_mul(64));
        }
        if outcome.is_err() {
            return;
        }
        for (k, arg) in args.iter().enumerate() {
            let count = if walk.is_splat(k) { 1 } else { run };
            slices[k] = arg.data.part(offsets[k], count);
        }
        kernel.apply(&slices[..args.len()], out.data.part(number * run, run));
    });
    outcome
}

/// `g` times the derivative of an operator of order `n` (0 if it has none) in one operand, from
/// `g`, the result and the operands. It serves both modes, since it is the same for single
/// numbers: `g` is the gradient of the result or the tangent of the operand.
pub(super) type Derivative = for<'t, 'a> fn(i32, Ex<'t>, Ex<'t>, &'a [Ex<'t>]) -> Option<Ex<'t>>;

/// Whether the orders next to one, which derivatives have, do not overflow.
const fn has_neighbours(n: i32) -> bool {
    n.unsigned_abs() < i32::MAX as u32
}

/// What an operator of the macro computes.
pub(super) enum Compute {
    /// With loops of its own; for one element, with a function that machine code calls.
    Vector(fn(DType) -> Kernel, fn(DType) -> ElementFunction),
    /// With calls of a function.
    Call(ScalarFunction),
    /// With calls of a function of the order and a number.
    Ordered(fn(i32, f64) -> f64),
    /// With calls of a function of the order and two numbers.
    OrderedTwo(fn(i32, f64, f64) -> f64),
}

/// What the macro knows of an operator. The methods of an operator call those of its definition, which
/// are not inlined: there are many operators, and the code would be repeated for each. Only the macro
/// can make a definition.
#[doc(hidden)]
pub struct Definition {
    pub(super) name: &'static str,
    pub(super) rules: &'static [Derivative],
    pub(super) compute: Compute,
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Definition").field(&self.name).finish()
    }
}

impl Definition {
    /// The kernel for real operands of type `dtype`, if the operator takes so many.
    #[inline]
    pub(crate) fn kernel_of(&self, n: i32, dtype: DType, operands: usize) -> Option<Kernel> {
        self.fits(n, dtype, operands).then(|| self.kernel(n, dtype))
    }

    /// The function of single numbers of type `dtype`, if the operator takes so many.
    #[allow(
        dead_code,
        reason = "machine code alone asks, which is a cargo feature"
    )]
    pub(crate) fn single(&self, n: i32, dtype: DType, operands: usize) -> Option<ElementFunction> {
        self.fits(n, dtype, operands).then(|| match self.compute {
            Compute::Vector(_, single) => single(dtype),
            Compute::Call(function) => ElementFunction::Function(function),
            Compute::Ordered(f) => ElementFunction::Function(ScalarFunction::Ordered(f, n)),
            Compute::OrderedTwo(f) => ElementFunction::Function(ScalarFunction::OrderedTwo(f, n)),
        })
    }

    /// Whether [`infer`](Self::infer) would take this order, and so many operands of this type.
    #[inline]
    fn fits(&self, n: i32, dtype: DType, operands: usize) -> bool {
        operands == self.rules.len() && dtype.is_real() && has_neighbours(n)
    }

    #[inline(never)]
    pub(super) fn infer(&self, n: i32, args: &[&Type]) -> Result<Type> {
        if !has_neighbours(n) {
            return Err(Error::Value(format!(
                "{}: expected an order below {} in size, got {n}",
                self.name,
                i32::MAX
            )));
        }
        infer(self.name, self.rules.len(), args)
    }

    #[inline(never)]
    pub(super) fn eval(&self, n: i32, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        eval(self.kernel(n, out.data.dtype()), args, out)
    }

    pub(super) fn kernel(&self, n: i32, dtype: DType) -> Kernel {
        match self.compute {
            Compute::Vector(kernel, _) => kernel(dtype),
            Compute::Call(function) => Kernel::call(function, dtype),
            Compute::Ordered(f) => Kernel::call(ScalarFunction::Ordered(f, n), dtype),
            Compute::OrderedTwo(f) => Kernel::call(ScalarFunction::OrderedTwo(f, n), dtype),
        }
    }

    /// The rule for operand `i`, summed back to the operand's shape.
    #[inline(never)]
    pub(super) fn vjp<'t>(
        &self,
        n: i32,
        i: usize,
        (g, y): (Ex<'t>, Ex<'t>),
        x: &[Ex<'t>],
    ) -> Option<Ex<'t>> {
        self.rules[i](n, g, y, x).map(|e| e.sum_to(x[i]))
    }

    /// The rule for operand `i`, broadcast to the shape of the result.
    #[inline(never)]
    pub(super) fn jvp<'t>(
        &self,
        n: i32,
        i: usize,
        (t, y): (Ex<'t>, Ex<'t>),
        x: &[Ex<'t>],
    ) -> Option<Ex<'t>> {
        self.rules[i](n, t, y, x).map(|e| e.broadcast_like(y))
    }
}

/// Whether there are special points of each of so many operands.
pub(super) const fn names_points(points: &[&[f64]], operands: usize) -> bool {
    let mut number = 0;
    while number < points.len() {
        if points[number].is_empty() {
            return false;
        }
        number += 1;
    }
    points.len() == operands
}

/// Declares the elementwise operators of a file.
///
/// An entry is a line of documentation, the operator's type, the function's name (`as` the
/// operator's, where that differs), formula, and the formula's source; operands and scalar
/// function (`=>` an expression for any floating-point type, which is to vectorise, `->` a
/// function of `f64`, which is called; an expression that is right only `within` a bound, in either
/// direction, has such a function to `else` call); the rules; the intervals on which the generated
/// tests draw each operand; its `special` points, a list for each operand, without which it does not
/// compile: zeros, poles, branch points, ends of the domain, and numbers at which the method changes
/// or results vanish or overflow (tests try its value and its derivatives there, besides at infinity
/// and NaN; what derivatives are where there is none is said in the documentation, if it is not the
/// limit); and, if there are any, `internal`, what it is for if users cannot write it, and the
/// reference: the names that `numpy` and `scipy.special` have for the function; and the name of
/// the `method`, where Python's `Variable` has one. Operands
/// written `(n; x)` or `(n; x, y)` are an integer attribute, the order, and one operand or two; it
/// is tested at each of its `orders`.
///
/// A rule is written as for single numbers. Its result is summed back to the operand's shape in
/// reverse mode, and broadcast to the result's in forward mode.
///
/// The file gets `ENTRIES`, its part of the table, and a macro `entries`, which calls the macro
/// that it is given with all entries. The dollar sign is for that macro.
macro_rules! elementwise {
    ($d:tt $(
        $(#[doc = $doc:literal])+
        $op:ident = $function:ident $(as $name:literal)?, $formula:literal, $source:literal,
        $operands:tt
        $(=> $value:expr, $(within $bound:expr, else $beyond:expr,)?)? $(-> $call:expr,)?
        vjp($g:ident, $y:ident) = [$($rule:expr),+],
        domain = [$($domain:expr),+],
        special = [$($special:expr),+]
        $(, internal = $internal:literal)?
        $(, orders = $orders:expr)?
        $(, numpy = [$($numpy:literal),+])?
        $(, scipy = [$($scipy:literal),+])?
        $(, method = $method:ident)?;
    )*) => {
        use $crate::rules::elementwise::elementwise as inner;

        $(
            inner!(@type [$($doc)+] $op $operands);
            $(inner!(@map $op $operands $value $(, $bound, $beyond)?);)?

            impl $op {
                #[allow(unused_variables, reason = "a rule names only what it needs")]
                const DEFINITION: $crate::rules::elementwise::Definition =
                    $crate::rules::elementwise::Definition {
                        name: inner!(@name $function $($name)?),
                        rules: &[$(|n, $g, $y, args| {
                            inner!(@bind n args $operands);
                            $rule
                        }),+],
                        compute: inner!(@compute $op $operands $(=> $value)? $(-> $call)?),
                    };
            }

            impl $crate::rules::Operator for $op {
                fn name(&self) -> &str {
                    Self::DEFINITION.name
                }
                fn form(&self) -> $crate::rules::Form {
                    const { $crate::rules::Form::of(stringify!($op)) }
                }
                fn key(&self) -> Option<&dyn $crate::rules::Key> {
                    Some(self)
                }
                fn infer(
                    &self,
                    args: &[&$crate::array::Type],
                ) -> $crate::error::Result<$crate::array::Type> {
                    Self::DEFINITION.infer(inner!(@order self $operands), args)
                }
                fn eval(
                    &self,
                    args: &[$crate::array::View<'_>],
                    out: $crate::array::ViewMut<'_>,
                ) -> $crate::error::Result<()> {
                    Self::DEFINITION.eval(inner!(@order self $operands), args, out)
                }
                fn vjp<'t>(
                    &self,
                    i: usize,
                    g: $crate::rules::Ex<'t>,
                    y: $crate::rules::Ex<'t>,
                    x: &[$crate::rules::Ex<'t>],
                ) -> Option<$crate::rules::Ex<'t>> {
                    Self::DEFINITION.vjp(inner!(@order self $operands), i, (g, y), x)
                }
                fn jvp<'t>(
                    &self,
                    i: usize,
                    t: $crate::rules::Ex<'t>,
                    y: $crate::rules::Ex<'t>,
                    x: &[$crate::rules::Ex<'t>],
                ) -> Option<$crate::rules::Ex<'t>> {
                    Self::DEFINITION.jvp(inner!(@order self $operands), i, (t, y), x)
                }
                fn kernel(&self, dtype: $crate::array::DType) -> Option<$crate::rules::Kernel> {
                    let count = Self::DEFINITION.rules.len();
                    Self::DEFINITION.kernel_of(inner!(@order self $operands), dtype, count)
                }
                fn definition(
                    &self, _: $crate::rules::Internal,
                ) -> Option<(&'static $crate::rules::Definition, i32)> {
                    Some((&Self::DEFINITION, inner!(@order self $operands)))
                }
            }
        )*

        /// This file's entries of the rule table.
        pub(super) const ENTRIES: &[$crate::rules::Entry] = &[$(
            $crate::rules::Entry {
                name: $op::DEFINITION.name,
                formula: $formula,
                source: $source,
                reference: Some($crate::rules::Reference {
                    function: stringify!($function),
                    numpy: &[$($($numpy),+)?],
                    scipy: &[$($($scipy),+)?],
                    ordered: inner!(@ordered $operands),
                    domains: &[$($domain),+],
                    special: const {
                        let points: &[&[f64]] = &[$(&$special),+];
                        assert!(
                            $crate::rules::elementwise::names_points(points, [$($domain),+].len()),
                            "an operand has no special points",
                        );
                        points
                    },
                }),
                internal: inner!(@internal $($internal)?),
                cases: || inner!(@cases $op [$($domain),+] $($orders)?),
            },
        )*];

        /// Calls a macro with the entries of this file: documentation, type, function,
        /// operands, formula, source, the names in NumPy and SciPy, and the method in Python.
        macro_rules! entries {
            ($d callback:ident) => {
                $d callback! { $(
                    [$($doc)+] $op $function $operands $formula $source
                    [$($($numpy)+)?] [$($($scipy)+)?] [$($method)?];
                )* }
            };
        }
        pub(crate) use entries;
    };
    (@type [$($doc:literal)+] $op:ident ($n:ident; $($x:ident),+)) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $op {
            /// The order. A number takes a time that may grow with its square, so Python's functions take
            /// orders up to 1,000 in size; here the caller sees to it. Those next to the ends of [`i32`] are
            /// refused.
            pub n: i32,
        }
    };
    (@type [$($doc:literal)+] $op:ident $operands:tt) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $op;
    };
    (@name $function:ident) => { stringify!($function) };
    (@name $function:ident $name:literal) => { $name };
    (@internal) => { None };
    (@internal $internal:literal) => { Some($internal) };
    (@map $op:ident ($x:ident) $value:expr $(, $bound:expr, $beyond:expr)?) => {
        impl $crate::rules::Map1 for $op {
            #[inline(always)]
            fn f<T: $crate::array::Real>($x: T) -> T {
                $value
            }
            $(
                #[inline(always)]
                fn within<T: $crate::array::Real>(x: T) -> bool {
                    x.abs() <= T::of($bound)
                }
                fn beyond<T: $crate::array::Real>(x: T) -> T {
                    T::of($beyond(x.to()))
                }
            )?
        }
    };
    (@map $op:ident ($x:ident, $y:ident) $value:expr) => {
        impl $crate::rules::Map2 for $op {
            #[inline(always)]
            fn f<T: $crate::array::Real>($x: T, $y: T) -> T {
                $value
            }
        }
    };
    (@map $op:ident ($x:ident, $y:ident, $z:ident) $value:expr) => {
        impl $crate::rules::Map3 for $op {
            #[inline(always)]
            fn f<T: $crate::array::Real>($x: T, $y: T, $z: T) -> T {
                $value
            }
        }
    };
    (@compute $op:ident ($x:ident) => $value:expr) => {
        $crate::rules::elementwise::Compute::Vector(
            $crate::rules::Kernel::one::<$op>,
            $crate::rules::ElementFunction::one::<$op>,
        )
    };
    (@compute $op:ident ($x:ident, $y:ident) => $value:expr) => {
        $crate::rules::elementwise::Compute::Vector(
            $crate::rules::Kernel::two::<$op>,
            $crate::rules::ElementFunction::two::<$op>,
        )
    };
    (@compute $op:ident ($x:ident, $y:ident, $z:ident) => $value:expr) => {
        $crate::rules::elementwise::Compute::Vector(
            $crate::rules::Kernel::three::<$op>,
            $crate::rules::ElementFunction::three::<$op>,
        )
    };
    (@compute $op:ident ($x:ident) -> $call:expr) => {
        $crate::rules::elementwise::Compute::Call($crate::rules::ScalarFunction::One($call))
    };
    (@compute $op:ident ($x:ident, $y:ident) -> $call:expr) => {
        $crate::rules::elementwise::Compute::Call($crate::rules::ScalarFunction::Two($call))
    };
    (@compute $op:ident ($n:ident; $x:ident) -> $call:expr) => {
        $crate::rules::elementwise::Compute::Ordered($call)
    };
    (@compute $op:ident ($n:ident; $x:ident, $y:ident) -> $call:expr) => {
        $crate::rules::elementwise::Compute::OrderedTwo($call)
    };
    (@bind $order:ident $args:ident ($n:ident; $x:ident)) => {
        let ($n, $x) = ($order, $args[0]);
    };
    (@bind $order:ident $args:ident ($n:ident; $x:ident, $y:ident)) => {
        let ($n, $x, $y) = ($order, $args[0], $args[1]);
    };
    (@bind $order:ident $args:ident ($x:ident)) => {
        let $x = $args[0];
    };
    (@bind $order:ident $args:ident ($x:ident, $y:ident)) => {
        let ($x, $y) = ($args[0], $args[1]);
    };
    (@bind $order:ident $args:ident ($x:ident, $y:ident, $z:ident)) => {
        let ($x, $y, $z) = ($args[0], $args[1], $args[2]);
    };
    (@order $op:ident ($n:ident; $($x:ident),+)) => { $op.n };
    (@order $op:ident $operands:tt) => { 0 };
    (@ordered ($n:ident; $($x:ident),+)) => { true };
    (@ordered $operands:tt) => { false };
    (@cases $op:ident $domains:tt) => {
        $crate::rules::table::broadcast_cases($crate::rules::OpRef::Static(&$op), &$domains)
    };
    (@cases $op:ident $domains:tt $orders:expr) => {
        $crate::rules::table::ordered_cases(
            &$orders, |n| $crate::rules::OpRef::new($op { n }), &$domains,
        )
    };
}
pub(crate) use elementwise;
