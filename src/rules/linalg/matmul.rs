//! Matrix products, batched, with either operand transposed.
//!
//! Transposition is an attribute, so that gradients need no transposed copies.
//! Products with a vector are vectorised loops; [`super::gemm`] has those of matrices. The threads of
//! `split` compute parts of a large result.

use std::sync::OnceLock;

use crate::array::{
    Broadcast, Real, Shape, Type, Typed, View, ViewMut, broadcast, show_shape, size, with_real,
};
use crate::error::{Error, Result};
use crate::simd::{self, multiversion};
use crate::split;

use super::gemm::{self, UNIT};
use super::outer::{BLOCK, FEW};
use super::subnormal;
use crate::rules::{Argument, Case, Entry, Ex, Form, Key, OpRef, Operator, arity, same_dtype};

/// Matrix product over the last two axes; leading axes broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatMul {
    /// Use the transpose of operand 0.
    pub transpose_a: bool,
    /// Use the transpose of operand 1.
    pub transpose_b: bool,
}

/// Rows, inner length and columns of one product.
#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    k: usize,
    n: usize,
}

impl Sizes {
    /// Multiplications.
    fn work(self) -> usize {
        self.m.saturating_mul(self.k).saturating_mul(self.n)
    }

    /// About how many nanoseconds it takes. A vector's product only reads the matrix.
    fn time(self) -> usize {
        self.work() / if self.m == 1 || self.n == 1 { 4 } else { 16 }
    }
}

impl MatMul {
    /// Sizes of the product, or `None` if the inner lengths differ.
    fn sizes(self, a: &[usize], b: &[usize]) -> Option<Sizes> {
        let [.., a0, a1] = *a else { return None };
        let [.., b0, b1] = *b else { return None };
        let (m, k) = if self.transpose_a { (a1, a0) } else { (a0, a1) };
        let (l, n) = if self.transpose_b { (b1, b0) } else { (b0, b1) };
        (k == l).then_some(Sizes { m, k, n })
    }
}

/// One product of contiguous matrices, by some threads if it is large.
#[inline(never)]
fn product<T: Real>(
    op: MatMul,
    s: Sizes,
    a: &[T],
    b: &[T],
    out: &mut [T],
    threads: usize,
) -> Result<()> {
    let MatMul {
        transpose_a: ta,
        transpose_b: tb,
    } = op;
    let Sizes { m, k, n } = s;
    if m * n == 0 {
        return Ok(());
    }
    if k == 0 {
        out.fill(T::default());
        return Ok(());
    }
    // A row is its own transpose in memory, as is a column.
    if m == 1 {
        vector(a, b, out, s, tb, threads);
        Ok(())
    } else if n == 1 {
        vector(b, a, out, Sizes { m: 1, k, n: m }, !ta, threads);
        Ok(())
    } else {
        subnormal::multiplied((a, n), (b, m), out, |a, b, out| {
            gemm::multiply([m, k, n], (a, ta), (b, tb), out, threads)
        })
    }
}

multiversion! {
    /// `out[j] = Σ x[l]·b[j, l]`.
    fn dots<T: Real>(machine: M, x: &[T], b: &[T], out: &mut [T]) {
        for (o, b) in out.iter_mut().zip(b.chunks_exact(x.len())) {
            *o = simd::dot::dot(machine, x, b);
        }
    }
}

multiversion! {
    /// `out[j] = Σ x[l]·b[l, j]`, where the rows of `b` begin every `n` elements.
    fn rows<T: Real>(machine: M, x: &[T], b: &[T], n: usize, out: &mut [T]) {
        if let (blocks, []) = out.as_chunks_mut::<BLOCK>()
            && blocks.len() <= FEW
            && blocks.len() * BLOCK == n
        {
            // The sums stay in registers. Each has its summands in the order that it has them in below.
            for (number, block) in blocks.iter_mut().enumerate() {
                let mut sums = [T::default(); BLOCK];
                for (&p, row) in x.iter().zip(b.chunks_exact(n)) {
                    if let Some(row) = row[number * BLOCK..].first_chunk::<BLOCK>() {
                        for l in 0..BLOCK {
                            sums[l] = simd::mul_add::<M, T>(p, row[l], sums[l]);
                        }
                    }
                }
                *block = sums;
            }
            return;
        }
        // A part of the result stays in the fastest cache while all rows are added to it.
        for (number, out) in out.chunks_mut(1024).enumerate() {
            let width = out.len();
            let row = |l: usize| &b[l * n + number * 1024..][..width];
            let (twos, last) = x.as_chunks::<2>();
            out.fill(T::default());
            for (l, &[p, q]) in twos.iter().enumerate() {
                simd::dot::axpy_two(machine, p, row(2 * l), q, row(2 * l + 1), out);
            }
            for &p in last {
                simd::dot::axpy(machine, p, row(x.len() - 1), out);
            }
        }
    }
}

/// A vector times a matrix.
fn vector<T: Real>(x: &[T], b: &[T], out: &mut [T], s: Sizes, tb: bool, threads: usize) {
    subnormal::multiplied((x, s.n), (b, 1), out, |x, b, out| {
        vector_by_parts(x, b, out, s, tb, threads);
    });
}

/// A vector times a matrix, by parts of the result.
fn vector_by_parts<T: Real>(x: &[T], b: &[T], out: &mut [T], s: Sizes, tb: bool, threads: usize) {
    let Sizes { k, n, .. } = s;
    // A column lies in memory as its transpose does, and a dot product is summed pairwise.
    let tb = tb || n == 1;
    if threads <= 1 {
        return if tb {
            dots(x, b, out)
        } else {
            rows(x, b, n, out)
        };
    }
    let width = split::part(n, threads, UNIT);
    let parts = out.chunks_mut(width).enumerate();
    split::each(threads, parts, |(number, out)| {
        if tb {
            let b = &b[number * width * k..][..out.len() * k];
            dots(x, b, out);
        } else {
            rows(x, &b[number * width..], n, out);
        }
    });
}

/// A product of a vector and a matrix in one thread, with all that is known of it before the elements are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectorProduct {
    /// Which factor is the vector.
    pub(crate) vector: usize,
    /// Whether the vector is multiplied by rows of the matrix.
    by_dots: bool,
}

impl VectorProduct {
    /// That of an operator on two matrices of some lengths; `None` if neither has one row or column alone, or
    /// there is nothing to multiply.
    pub(crate) fn of(op: &MatMul, a: &[usize], b: &[usize]) -> Option<Self> {
        let ([_, _], [_, _]) = (a, b) else {
            return None;
        };
        let sizes = op.sizes(a, b)?;
        if sizes.work() == 0 {
            return None;
        }
        match sizes {
            Sizes { m: 1, .. } => Some(VectorProduct {
                vector: 0,
                by_dots: op.transpose_b,
            }),
            Sizes { n: 1, .. } => Some(VectorProduct {
                vector: 1,
                by_dots: !op.transpose_a,
            }),
            Sizes { .. } => None,
        }
    }

    /// Computes it, as the operator does.
    ///
    /// # Panics
    /// If `b` has not as many elements as the product of the others' numbers.
    pub(crate) fn apply<T: Real>(self, x: &[T], b: &[T], out: &mut [T]) {
        let (k, n) = (x.len(), out.len());
        assert_eq!(b.len(), k * n);
        vector(x, b, out, Sizes { m: 1, k, n }, self.by_dots, 1);
    }
}

impl Operator for MatMul {
    fn name(&self) -> &str {
        "matmul"
    }

    fn form(&self) -> Form {
        Form::MatrixProduct
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [a, b] = arity::<2>("matmul", args)?;
        same_dtype("matmul", a, b)?;
        let Some(Sizes { m, n, .. }) = self.sizes(&a.shape, &b.shape) else {
            return Err(Error::Shape(format!(
                "matmul: shapes {}{} and {}{} do not fit",
                show_shape(&a.shape),
                if self.transpose_a {
                    " (transposed)"
                } else {
                    ""
                },
                show_shape(&b.shape),
                if self.transpose_b {
                    " (transposed)"
                } else {
                    ""
                },
            )));
        };
        let lead = [&a.shape[..a.ndim() - 2], &b.shape[..b.ndim() - 2]];
        let mut shape = broadcast("matmul", lead.into_iter())?;
        shape.extend([m, n]);
        crate::array::element_count(&shape)?;
        Ok(Type {
            dtype: a.dtype,
            shape,
        })
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let (a, b) = (args[0].shape, args[1].shape);
        let Some(s) = self.sizes(a, b) else {
            unreachable!("infer admits matching sizes only");
        };
        if let ([_, _], [_, _]) = (a, b) {
            return with_real!(out.data.dtype(), T => {
                let (x, y) = (args[0].real::<T>(), args[1].real::<T>());
                let out = T::slice_mut(&mut out.data);
                if gemm::tiny([s.m, s.k, s.n], (x, self.transpose_a), (y, self.transpose_b), out) {
                    return Ok(());
                }
                product(*self, s, x, y, out, split::threads(s.time()))
            });
        }
        // Walk the leading axes with the matrices as runs of one element.
        let lead = |shape: &[usize]| Shape::from_slice(&shape[..shape.len() - 2]);
        let (la, lb, lo) = (lead(a), lead(b), lead(out.shape));
        let (ma, mb, mo) = (s.m * s.k, s.k * s.n, s.m * s.n);
        with_real!(out.data.dtype(), T => {
            let (x, y) = (args[0].real::<T>(), args[1].real::<T>());
            let out = T::slice_mut(&mut out.data);
            let walk = Broadcast::new(&lo, [&la[..], &lb[..]].into_iter());
            let failure = OnceLock::new();
            let one = |i: usize, j: usize, out: &mut [T], threads: usize| {
                let (x, y) = (&x[i * ma..(i + 1) * ma], &y[j * mb..(j + 1) * mb]);
                if failure.get().is_none()
                    && let Err(error) = product(*self, s, x, y, out, threads)
                {
                    failure.get_or_init(|| error);
                }
            };
            let steps = |k| usize::from(!walk.is_splat(k));
            let threads = split::threads(s.time().saturating_mul(size(&lo)));
            if threads == 1 || size(&lo) < threads || mo == 0 {
                let threads = split::threads(s.time());
                walk.for_each(|offsets, number| {
                    for r in 0..walk.run() {
                        let at = (number * walk.run() + r) * mo;
                        let (i, j) = (offsets[0] + r * steps(0), offsets[1] + r * steps(1));
                        one(i, j, &mut out[at..at + mo], threads);
                    }
                });
                return failure.into_inner().map_or(Ok(()), Err);
            }
            let mut pairs = Vec::with_capacity(size(&lo));
            walk.for_each(|offsets, _| {
                let pair = |r| (offsets[0] + r * steps(0), offsets[1] + r * steps(1));
                pairs.extend((0..walk.run()).map(pair));
            });
            let many = split::part(pairs.len(), 4 * threads, 1);
            let parts = pairs.chunks(many).zip(out.chunks_mut(many * mo));
            split::each(threads, parts, |(pairs, out)| {
                for (&(i, j), out) in pairs.iter().zip(out.chunks_mut(mo)) {
                    one(i, j, out, 1);
                }
            });
            failure.into_inner().map_or(Ok(()), Err)
        })
    }

    fn transposes(&self, i: usize) -> bool {
        [self.transpose_a, self.transpose_b][i]
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (ta, tb) = (self.transpose_a, self.transpose_b);
        let grad = match (i, ta, tb) {
            (0, false, _) => g.matmul(x[1], false, !tb),
            (0, true, _) => x[1].matmul(g, tb, true),
            (_, _, false) => x[0].matmul(g, !ta, false),
            (_, _, true) => g.matmul(x[0], true, ta),
        };
        Some(grad.sum_to(x[i]))
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// This file's entry of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "matmul",
    formula: "Σ_k a_ik b_kj",
    source: "definition",
    reference: None,
    internal: None,
    cases: || {
        let mut cases = Vec::new();
        let sizes: [([usize; 3], &[usize], &[usize]); 9] = [
            ([2, 3, 4], &[], &[]),
            ([4, 3, 8], &[], &[]),
            ([1, 5, 1], &[], &[]),
            ([1, 5, 20], &[], &[]),
            ([20, 6, 1], &[], &[]),
            ([2, 0, 3], &[], &[]),
            ([20, 18, 17], &[], &[]),
            ([2, 3, 2], &[3], &[]),
            ([2, 3, 2], &[2, 1], &[3]),
        ];
        for ([m, k, n], lead_a, lead_b) in sizes {
            for (transpose_a, transpose_b) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let join = |lead: &[usize], r, c, t| {
                    let tail = if t { [c, r] } else { [r, c] };
                    [lead, &tail].concat()
                };
                let a = join(lead_a, m, k, transpose_a);
                let b = join(lead_b, k, n, transpose_b);
                cases.push(Case::new(
                    OpRef::new(MatMul {
                        transpose_a,
                        transpose_b,
                    }),
                    vec![Argument::real(&a, ANY), Argument::real(&b, ANY)],
                ));
            }
        }
        cases
    },
}];
