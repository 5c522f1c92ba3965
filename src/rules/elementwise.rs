//! What all elementwise operators share: broadcasting, and loops that vectorise.
//!
//! An elementwise operator is a scalar function (`f` of [`Map1`], [`Map2`],
//! [`Map3`]) written once for every floating-point type. The macro
//! `elementwise!` wraps it into an [`Operator`](super::Operator) and into an entry
//! of the table; the loops here are compiled once per instruction set and chosen
//! at run time.

use std::ops::Range;

use crate::array::{Broadcast, Real, Slice, SliceMut, Type, View, ViewMut, broadcast};
use crate::error::{Error, Result};
use crate::simd::multiversion;

use super::{Kernel, real, same_dtype};

/// A function of one number.
pub trait Map1: Send + Sync + 'static {
    /// The function.
    fn f<T: Real>(x: T) -> T;
}

/// A function of two numbers.
pub trait Map2: Send + Sync + 'static {
    /// The function.
    fn f<T: Real>(x: T, y: T) -> T;
}

/// A function of three numbers.
pub trait Map3: Send + Sync + 'static {
    /// The function.
    fn f<T: Real>(x: T, y: T, z: T) -> T;
}

/// Elements per step of an elementwise loop. A loop of fixed length becomes straight vector
/// code, also for arrays far shorter than those for which LLVM's own vector loops pay.
pub(super) const LANES: usize = 16;

multiversion! {
    pub(super) fn map1<T: Real, O: Map1>(x: &[T], out: &mut [T]) {
        if let [x] = x {
            out.fill(O::f(*x));
            return;
        }
        let ((xs, x), (outs, out)) = (x.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
        for (o, x) in outs.iter_mut().zip(xs) {
            for l in 0..LANES {
                o[l] = O::f(x[l]);
            }
        }
        for (o, &x) in out.iter_mut().zip(x) {
            *o = O::f(x);
        }
    }
}

multiversion! {
    fn pairs<T: Real, O: Map2>(x: &[T], y: &[T], out: &mut [T]) {
        let ((xs, x), (ys, y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        let (outs, out) = out.as_chunks_mut::<LANES>();
        for ((o, x), y) in outs.iter_mut().zip(xs).zip(ys) {
            for l in 0..LANES {
                o[l] = O::f(x[l], y[l]);
            }
        }
        for ((o, &x), &y) in out.iter_mut().zip(x).zip(y) {
            *o = O::f(x, y);
        }
    }
}

/// Calls `f` with a constant repeated, and the part of `0..n` that it is repeated for. That
/// costs little, and saves a loop of every function for constants on either side.
#[inline]
fn repeat<T: Real>(x: T, n: usize, mut f: impl FnMut(&[T], Range<usize>)) {
    let mut parts = |block: &[T]| {
        for start in (0..n).step_by(block.len()) {
            let part = start..n.min(start + block.len());
            f(&block[..part.len()], part);
        }
    };
    if n <= 4 * LANES {
        parts(&[x; 4 * LANES]);
    } else {
        parts(&[x; 16 * LANES]);
    }
}

pub(super) fn map2<T: Real, O: Map2>(x: &[T], y: &[T], out: &mut [T]) {
    match (x, y) {
        ([x], [y]) => out.fill(O::f(*x, *y)),
        ([x], y) => repeat(*x, out.len(), |x, part| {
            pairs::<T, O>(x, &y[part.clone()], &mut out[part]);
        }),
        (x, [y]) => repeat(*y, out.len(), |y, part| {
            pairs::<T, O>(&x[part.clone()], y, &mut out[part]);
        }),
        (x, y) => pairs::<T, O>(x, y, out),
    }
}

multiversion! {
    pub(super) fn map3<T: Real, O: Map3>(x: &[T], y: &[T], z: &[T], out: &mut [T]) {
        // A constant operand is read with step 0.
        let step = |s: &[T]| usize::from(s.len() != 1);
        let (sx, sy, sz) = (step(x), step(y), step(z));
        if sx & sy & sz == 1 {
            for (((o, &x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
                *o = O::f(x, y, z);
            }
        } else {
            for (i, o) in out.iter_mut().enumerate() {
                *o = O::f(x[i * sx], y[i * sy], z[i * sz]);
            }
        }
    }
}

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
pub(crate) fn eval(kernel: Kernel, args: &[View<'_>], mut out: ViewMut<'_>) {
    let plain = |v: &View<'_>| v.shape == out.shape || v.data.len() == 1;
    if args.iter().all(plain) {
        let slices: smallvec::SmallVec<[Slice<'_>; 3]> = args.iter().map(|a| a.data).collect();
        kernel.apply_split(&slices, out.data);
        return;
    }
    let walk = Broadcast::new(out.shape, args.iter().map(|a| a.shape));
    let run = walk.run();
    walk.for_each(|offsets, number| {
        let slices: smallvec::SmallVec<[Slice<'_>; 3]> = args
            .iter()
            .enumerate()
            .map(|(k, a)| cut(a.data, offsets[k], if walk.is_splat(k) { 1 } else { run }))
            .collect();
        kernel.apply(&slices, cut_mut(&mut out.data, number * run, run));
    });
}

pub(super) fn cut(s: Slice<'_>, at: usize, n: usize) -> Slice<'_> {
    match s {
        Slice::F32(s) => Slice::F32(&s[at..at + n]),
        Slice::F64(s) => Slice::F64(&s[at..at + n]),
        Slice::U32(s) => Slice::U32(&s[at..at + n]),
    }
}

fn cut_mut<'s>(s: &'s mut SliceMut<'_>, at: usize, n: usize) -> SliceMut<'s> {
    match s {
        SliceMut::F32(s) => SliceMut::F32(&mut s[at..at + n]),
        SliceMut::F64(s) => SliceMut::F64(&mut s[at..at + n]),
        SliceMut::U32(s) => SliceMut::U32(&mut s[at..at + n]),
    }
}

/// Declares elementwise operators: a scalar function, a rule for each operand and
/// the intervals on which the generated tests check it.
///
/// The rule is written as for single numbers. The macro sums its result back to the operand's
/// shape in reverse mode, and broadcasts it to the result's in forward mode.
macro_rules! elementwise {
    ($(
        $(#[$doc:meta])*
        $op:ident = $name:literal, $formula:literal,
        $operands:tt => $value:expr,
        vjp($g:ident, $y:ident) = [$($rule:expr),+],
        domain = [$($domain:expr),+];
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
            pub struct $op;

            $crate::rules::elementwise::elementwise!(@map $op $operands $value);

            impl $op {
                /// `g` times the derivative in operand `i`. It serves both modes, since it is
                /// the same for single numbers: `g` is the gradient of the result or the
                /// tangent of the operand.
                #[allow(unused_variables, reason = "a rule names only the operands it needs")]
                fn derivative<'t>(
                    &self,
                    i: usize,
                    $g: $crate::rules::Ex<'t>,
                    $y: $crate::rules::Ex<'t>,
                    args: &[$crate::rules::Ex<'t>],
                ) -> Option<$crate::rules::Ex<'t>> {
                    type Rule<'t> = fn(
                        $crate::rules::Ex<'t>,
                        $crate::rules::Ex<'t>,
                        &[$crate::rules::Ex<'t>],
                    ) -> Option<$crate::rules::Ex<'t>>;
                    let rules: &[Rule<'t>] = &[$(|$g, $y, args| {
                        $crate::rules::elementwise::elementwise!(@bind args $operands);
                        $rule
                    }),+];
                    rules[i]($g, $y, args)
                }
            }

            impl $crate::rules::Operator for $op {
                fn name(&self) -> &str {
                    $name
                }
                fn infer(
                    &self,
                    args: &[&$crate::array::Type],
                ) -> $crate::error::Result<$crate::array::Type> {
                    const COUNT: usize = $crate::rules::elementwise::elementwise!(@count $operands);
                    $crate::rules::elementwise::infer($name, COUNT, args)
                }
                fn eval(
                    &self,
                    args: &[$crate::array::View<'_>],
                    out: $crate::array::ViewMut<'_>,
                ) -> $crate::error::Result<()> {
                    let kernel = $crate::rules::elementwise::elementwise!(@kernel $op out.data.dtype(), $operands);
                    $crate::rules::elementwise::eval(kernel, args, out);
                    Ok(())
                }
                fn vjp<'t>(
                    &self,
                    i: usize,
                    g: $crate::rules::Ex<'t>,
                    y: $crate::rules::Ex<'t>,
                    args: &[$crate::rules::Ex<'t>],
                ) -> Option<$crate::rules::Ex<'t>> {
                    self.derivative(i, g, y, args).map(|e| e.sum_to(args[i]))
                }
                fn jvp<'t>(
                    &self,
                    i: usize,
                    t: $crate::rules::Ex<'t>,
                    y: $crate::rules::Ex<'t>,
                    args: &[$crate::rules::Ex<'t>],
                ) -> Option<$crate::rules::Ex<'t>> {
                    self.derivative(i, t, y, args).map(|e| e.broadcast_like(y))
                }
                fn kernel(&self, dtype: $crate::array::DType) -> Option<$crate::rules::Kernel> {
                    Some($crate::rules::elementwise::elementwise!(@kernel $op dtype, $operands))
                }
            }
        )*

        /// This file's entries of the rule table.
        pub(super) const ENTRIES: &[$crate::rules::Entry] = &[$(
            $crate::rules::Entry {
                name: $name,
                formula: $formula,
                cases: || $crate::rules::table::broadcast_cases(
                    $crate::rules::OpRef::Static(&$op),
                    &[$($domain),+],
                ),
            },
        )*];
    };
    (@map $op:ident ($x:ident) $value:expr) => {
        impl $crate::rules::Map1 for $op {
            #[inline(always)]
            fn f<T: $crate::array::Real>($x: T) -> T {
                $value
            }
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
    (@kernel $op:ident $dtype:expr, ($x:ident)) => {
        $crate::rules::Kernel::one::<$op>($dtype)
    };
    (@kernel $op:ident $dtype:expr, ($x:ident, $y:ident)) => {
        $crate::rules::Kernel::two::<$op>($dtype)
    };
    (@kernel $op:ident $dtype:expr, ($x:ident, $y:ident, $z:ident)) => {
        $crate::rules::Kernel::three::<$op>($dtype)
    };
    (@count ($x:ident)) => { 1 };
    (@count ($x:ident, $y:ident)) => { 2 };
    (@count ($x:ident, $y:ident, $z:ident)) => { 3 };
    (@bind $args:ident ($x:ident)) => {
        let $x = $args[0];
    };
    (@bind $args:ident ($x:ident, $y:ident)) => {
        let ($x, $y) = ($args[0], $args[1]);
    };
    (@bind $args:ident ($x:ident, $y:ident, $z:ident)) => {
        let ($x, $y, $z) = ($args[0], $args[1], $args[2]);
    };
}
pub(crate) use elementwise;
