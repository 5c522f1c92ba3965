//! Decompositions of dense matrices, in double precision.
//!
//! LU with partial pivoting, Cholesky, Householder QR (with LAPACK's signs) and the singular
//! values by one-sided Jacobi rotations, which find small ones to high relative accuracy
//! (Demmel and Veselić 1992, <https://doi.org/10.1137/0613074>) and cannot diverge; symmetric
//! eigenvalues are found by the same rotations. Matrices are slices in C order.
//!
//! Why not a library: the singular values of nalgebra 0.35 are wrong for some matrices of low
//! rank (a product of 7×1 and 1×5 is rebuilt with a relative error of 0.8), and faer is several
//! times the size of this package. Limits: nothing is blocked or threaded, so matrices of more
//! than some hundred rows are slower than by LAPACK.

use std::cmp::Ordering;

/// The LU decomposition of a matrix.
pub struct Lu {
    n: usize,
    /// Below the diagonal L, whose diagonal is 1; the rest is U.
    factors: Vec<f64>,
    /// Row `i` of the factors is row `order[i]` of the matrix.
    order: Vec<usize>,
    odd: bool,
}

/// `y -= s x`
fn subtract(s: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y -= s * x;
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The largest absolute value; NaN if there is one.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| {
        if x.is_nan() || m.is_nan() {
            f64::NAN
        } else {
            m.max(x.abs())
        }
    })
}

/// Euclidean length, without overflow.
fn length(x: &[f64]) -> f64 {
    let scale = largest(x);
    if scale == 0.0 || !scale.is_finite() {
        return scale;
    }
    scale * x.iter().map(|x| (x / scale).powi(2)).sum::<f64>().sqrt()
}

/// The transpose of a matrix with so many columns.
pub fn transposed(x: &[f64], columns: usize) -> Vec<f64> {
    let rows = x.len().checked_div(columns).unwrap_or(0);
    let at = |k: usize| x[(k % rows) * columns + k / rows];
    (0..x.len()).map(at).collect()
}

impl Lu {
    /// Decomposes an `n` × `n` matrix.
    pub fn new(a: &[f64], n: usize) -> Self {
        let mut lu = Lu {
            n,
            factors: a.to_vec(),
            order: (0..n).collect(),
            odd: false,
        };
        for j in 0..n {
            let mut pivot = j;
            for i in j + 1..n {
                if lu.factors[i * n + j].abs() > lu.factors[pivot * n + j].abs() {
                    pivot = i;
                }
            }
            if pivot != j {
                let (above, below) = lu.factors.split_at_mut(pivot * n);
                above[j * n..(j + 1) * n].swap_with_slice(&mut below[..n]);
                lu.order.swap(j, pivot);
                lu.odd = !lu.odd;
            }
            let (above, below) = lu.factors.split_at_mut((j + 1) * n);
            let row = &above[j * n..];
            if row[j] == 0.0 {
                continue;
            }
            for other in below.chunks_exact_mut(n) {
                other[j] /= row[j];
                subtract(other[j], &row[j + 1..], &mut other[j + 1..]);
            }
        }
        lu
    }

    fn pivots(&self) -> impl Iterator<Item = f64> {
        (0..self.n).map(|i| self.factors[i * self.n + i])
    }

    /// Whether a pivot is zero.
    pub fn singular(&self) -> bool {
        self.pivots().any(|p| p == 0.0)
    }

    /// The sign of the determinant, and the logarithm of its absolute value.
    pub fn log_determinant(&self) -> (f64, f64) {
        let sign = if self.odd { -1.0 } else { 1.0 };
        self.pivots().fold((sign, 0.0), |(sign, log), p| {
            let s = if p == 0.0 { 0.0 } else { p.signum() };
            (sign * s, log + p.abs().ln())
        })
    }

    /// The determinant.
    pub fn determinant(&self) -> f64 {
        let sign = if self.odd { -1.0 } else { 1.0 };
        self.pivots().fold(sign, |d, p| d * p)
    }

    /// Writes the solution of `matrix · out = b`, of so many columns.
    pub fn solve(&self, b: &[f64], columns: usize, out: &mut [f64]) {
        let (n, f) = (self.n, &self.factors);
        if columns == 0 {
            return;
        }
        for (row, &from) in out.chunks_exact_mut(columns).zip(&self.order) {
            row.copy_from_slice(&b[from * columns..(from + 1) * columns]);
        }
        for i in 0..n {
            let (above, row) = out.split_at_mut(i * columns);
            for (j, x) in above.chunks_exact(columns).enumerate() {
                subtract(f[i * n + j], x, &mut row[..columns]);
            }
        }
        for i in (0..n).rev() {
            let (row, below) = out[i * columns..].split_at_mut(columns);
            for (j, x) in below.chunks_exact(columns).enumerate() {
                subtract(f[i * n + i + 1 + j], x, row);
            }
            row.iter_mut().for_each(|x| *x /= f[i * n + i]);
        }
    }
}

/// The identity of `n` rows.
pub fn identity(n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    out.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
    out
}

/// Writes the lower triangular L of `a = L Lᵀ`, reading the lower triangle of `a`. Whether
/// there is one: if the matrix is not positive definite, the result is not to be used.
pub fn cholesky(a: &[f64], n: usize, l: &mut [f64]) -> bool {
    l.fill(0.0);
    for i in 0..n {
        for j in 0..=i {
            let (x, y) = (&l[i * n..i * n + j], &l[j * n..j * n + j]);
            let rest = a[i * n + j] - dot(x, y);
            l[i * n + j] = if i > j {
                rest / l[j * n + j]
            } else if rest > 0.0 {
                rest.sqrt()
            } else {
                return false;
            };
        }
    }
    true
}

/// Writes Q and R of an `m` × `n` matrix, `m >= n`: `q` has its shape, `r` is `n` × `n`.
pub fn qr(a: &[f64], m: usize, n: usize, q: &mut [f64], r: &mut [f64]) {
    // Columns in sequence, below the diagonal the reflectors (without their first element, 1).
    let mut columns = transposed(a, n);
    let mut scales = vec![0.0; n];
    let reflect = |v: &[f64], scale: f64, x: &mut [f64]| {
        let (head, tail) = x.split_at_mut(1);
        let s = scale * (head[0] + dot(v, tail));
        head[0] -= s;
        subtract(s, v, tail);
    };
    for j in 0..n {
        let (column, others) = columns[j * m..].split_at_mut(m);
        let (head, v) = column[j..].split_at_mut(1);
        let below = length(v);
        if below == 0.0 {
            continue;
        }
        let end = -head[0].hypot(below).copysign(head[0]);
        scales[j] = (end - head[0]) / end;
        let by = head[0] - end;
        v.iter_mut().for_each(|x| *x /= by);
        head[0] = end;
        for other in others.chunks_exact_mut(m) {
            reflect(v, scales[j], &mut other[j..]);
        }
    }
    for i in 0..n {
        for j in 0..n {
            r[i * n + j] = if i <= j { columns[j * m + i] } else { 0.0 };
        }
    }
    let mut x = vec![0.0; m];
    for k in 0..n {
        x.fill(0.0);
        x[k] = 1.0;
        for j in (0..=k).rev() {
            reflect(&columns[j * m + j + 1..(j + 1) * m], scales[j], &mut x[j..]);
        }
        for (i, x) in x.iter().enumerate() {
            q[i * n + k] = *x;
        }
    }
}

/// Singular values, descending, and the singular vectors as rows.
pub struct Svd {
    /// The singular values, k = min(m, n).
    pub values: Vec<f64>,
    /// The left vectors, k × m.
    pub left: Vec<f64>,
    /// The right vectors, k × n.
    pub right: Vec<f64>,
}

/// Rotations of all pairs before it is given up; ten are usual.
const SWEEPS: usize = 80;

/// Rows `p < q` of so many elements.
fn two(x: &mut [f64], columns: usize, p: usize, q: usize) -> (&mut [f64], &mut [f64]) {
    let (above, below) = x.split_at_mut(q * columns);
    (
        &mut above[p * columns..(p + 1) * columns],
        &mut below[..columns],
    )
}

fn rotate(p: &mut [f64], q: &mut [f64], c: f64, s: f64) {
    for (p, q) in p.iter_mut().zip(q) {
        (*p, *q) = (c * *p - s * *q, s * *p + c * *q);
    }
}

/// Makes `n` rows of `m` elements orthogonal by rotations, which are applied to the rows of
/// `others`, of `n` elements, too. Whether that came to an end.
fn orthogonalize(rows: &mut [f64], others: &mut [f64], n: usize, m: usize) -> bool {
    let near = f64::EPSILON * (m as f64).sqrt().max(2.0);
    for _ in 0..SWEEPS {
        let squares = rows.chunks_exact(m).map(|r| dot(r, r));
        let mut squares: Vec<f64> = squares.collect();
        let mut moved = false;
        for p in 0..n {
            for q in p + 1..n {
                let (x, y) = two(rows, m, p, q);
                let product = dot(x, y);
                let (a, b) = (squares[p], squares[q]);
                // The shorter may be zero, or as good as.
                if product.abs() <= near * (a * b).sqrt() || a.min(b) < 1e-280 {
                    continue;
                }
                moved = true;
                // The smaller angle that makes them orthogonal (Rutishauser 1966).
                let z = (b - a) / (2.0 * product);
                let t = 1.0_f64.copysign(z) / (z.abs() + z.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                rotate(x, y, c, c * t);
                let (x, y) = two(others, n, p, q);
                rotate(x, y, c, c * t);
                squares[p] = (a - t * product).max(0.0);
                squares[q] = b + t * product;
            }
        }
        if !moved {
            return true;
        }
    }
    false
}

/// Puts unit vectors in the place of rows that are zero, orthogonal to all others.
fn complete(rows: &mut [f64], m: usize, zero: &[bool]) {
    let mut done: Vec<bool> = zero.iter().map(|z| !z).collect();
    let mut next = 0;
    for at in (0..done.len()).filter(|&i| zero[i]) {
        while next < m {
            let mut x = vec![0.0; m];
            x[next] = 1.0;
            next += 1;
            for _ in 0..2 {
                for (row, _) in rows.chunks_exact(m).zip(&done).filter(|(_, done)| **done) {
                    subtract(dot(row, &x), row, &mut x);
                }
            }
            let norm = length(&x);
            // Of all unit vectors one is at least so far from the others' span.
            if norm * (2.0 * m as f64).sqrt() >= 1.0 {
                x.iter_mut().for_each(|x| *x /= norm);
                rows[at * m..(at + 1) * m].copy_from_slice(&x);
                done[at] = true;
                break;
            }
        }
    }
}

/// The products of all rows of `a` with all rows of `b`, both of `n` elements.
fn products(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let row = |x| b.chunks_exact(n).map(move |y| dot(x, y));
    a.chunks_exact(n).flat_map(row).collect()
}

/// The places of numbers in order, those of equal ones as they are.
fn in_order(x: &[f64], compare: fn(&f64, &f64) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_unstable_by(|&i, &j| compare(&x[i], &x[j]).then(i.cmp(&j)));
    order
}

/// The reduced singular value decomposition; `None` if an element is not finite (or, which was
/// never seen, the rotations do not end).
pub fn svd(a: &[f64], m: usize, n: usize) -> Option<Svd> {
    if m < n {
        let Svd {
            values,
            left,
            right,
        } = svd(&transposed(a, n), n, m)?;
        return Some(Svd {
            values,
            left: right,
            right: left,
        });
    }
    let scale = largest(a);
    if !scale.is_finite() {
        return None;
    }
    let mut right = identity(n);
    let unit = if scale == 0.0 { 1.0 } else { scale };
    let mut rows: Vec<f64> = transposed(a, n).iter().map(|x| x / unit).collect();
    let mut tall = None;
    if m > n {
        // Of a tall matrix those of its R.
        let (mut q, mut r) = (vec![0.0; m * n], vec![0.0; n * n]);
        qr(&transposed(&rows, m), m, n, &mut q, &mut r);
        rows = transposed(&r, n);
        tall = Some(q);
    }
    if n > 0 && !orthogonalize(&mut rows, &mut right, n, n) {
        return None;
    }
    let lengths: Vec<f64> = rows.chunks_exact(n.max(1)).map(length).collect();
    let order = in_order(&lengths, |a, b| b.total_cmp(a));
    let pick = |from: &[f64]| -> Vec<f64> {
        let rows = order.iter().flat_map(|&i| &from[i * n..(i + 1) * n]);
        rows.copied().collect()
    };
    let (mut left, right) = (pick(&rows), pick(&right));
    let values: Vec<f64> = order.iter().map(|&i| lengths[i]).collect();
    let zero: Vec<bool> = values.iter().map(|&v| v < 1e-140).collect();
    for ((row, v), zero) in left.chunks_exact_mut(n.max(1)).zip(&values).zip(&zero) {
        if *zero {
            row.fill(0.0);
        } else {
            row.iter_mut().for_each(|x| *x /= v);
        }
    }
    complete(&mut left, n, &zero);
    if let Some(q) = tall.filter(|_| n > 0) {
        left = products(&left, &q, n);
    }
    let clear = |(v, zero): (&f64, &bool)| if *zero { 0.0 } else { v * unit };
    Some(Svd {
        values: values.iter().zip(&zero).map(clear).collect(),
        left,
        right,
    })
}

/// Eigenvalues, ascending, and unit eigenvectors as rows, of the symmetric matrix that has the
/// lower triangle of `a`; `None` as for [`svd`].
///
/// They are the singular vectors of A + cI, which is positive definite for large c; the
/// eigenvalues are then vᵀAv.
pub fn eigh(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let lower = |k: usize| a[(k / n).max(k % n) * n + (k / n).min(k % n)];
    let full: Vec<f64> = (0..n * n).map(lower).collect();
    let scale = largest(&full);
    if !scale.is_finite() {
        return None;
    }
    let unit = if scale == 0.0 { 1.0 } else { scale };
    let full: Vec<f64> = full.iter().map(|x| x / unit).collect();
    let bound = full
        .chunks_exact(n.max(1))
        .map(|r| r.iter().map(|x| x.abs()).sum());
    let shift = 2.0 * bound.fold(1.0, f64::max).min(length(&full).max(1.0));
    let mut rows = full.clone();
    rows.iter_mut().step_by(n + 1).for_each(|x| *x += shift);
    let mut vectors = identity(n);
    if n > 0 && !orthogonalize(&mut rows, &mut vectors, n, n) {
        return None;
    }
    let value = |v: &[f64]| {
        let image = full.chunks_exact(n).map(|row| dot(row, v));
        image.zip(v).map(|(x, v)| x * v).sum::<f64>() * unit
    };
    let values: Vec<f64> = vectors.chunks_exact(n.max(1)).map(value).collect();
    let order = in_order(&values, f64::total_cmp);
    let rows = order.iter().flat_map(|&i| &vectors[i * n..(i + 1) * n]);
    let vectors = rows.copied().collect();
    Some((order.iter().map(|&i| values[i]).collect(), vectors))
}
