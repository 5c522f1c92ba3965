//! Applying a gradient by any rule: equal rows are summed, in order of arrival, then every
//! row is changed once.
//!
//! Little is done for a row beside its arithmetic. If a row occurs once, with one term, its gradient
//! is read where it stands and not copied. The commonest widths of rows have compiled code of their
//! own, which makes the wheel larger. Rows of a single number are gathered into one array, changed
//! there, and scattered back.

use smallvec::SmallVec;

use super::distinct::DistinctRows;
use super::gradient::{Access, GradientRows, Scratch, StepTarget, Term};
use super::pass::{Add, each};
use super::update::{ScaledRow, Update};
use crate::array::Number;
use crate::interrupt;
use crate::simd::{Isa, Machine, Scalar};
use crate::table::moves;

/// How many numbers of a whole gradient are applied by a worker alone between two looks whether it
/// should end.
pub(super) const PIECE: usize = 1 << 20;

/// A part of a gradient. Occurrences of rows are counted over all parts.
struct Occurrences<'a, T> {
    start: usize,
    end: usize,
    terms: &'a [Term<&'a [T]>],
}

/// Row `k` of a term.
///
/// # Safety
/// The term has the row, of `width` numbers.
#[inline(always)]
unsafe fn product<T: Number>(term: &Term<&[T]>, k: usize, width: usize) -> ScaledRow<T> {
    debug_assert!(term.rows.len() >= (k + 1) * width);
    // SAFETY: the term has row `k`, of `width` numbers, so they end within its rows; it has a factor for
    // each row or none at all, which `apply::rows` has compared.
    unsafe {
        let factor = term.scale.map_or(T::one(), |s| *s.get_unchecked(k));
        (factor, term.rows.as_ptr().add(k * width))
    }
}

/// The gradient of distinct row `k`, and how often the row occurs. The gradient is where it stands if it is a single
/// product, else summed in `sum`. `part` is the part in which the row before occurred first; it advances to that of
/// this row.
///
/// # Safety
/// Terms have all rows of their parts, as long as `sum`, which is `WIDTH` if that is not 0.
#[inline(always)]
unsafe fn gradient<const WIDTH: usize, M: Machine, T: Number>(
    m: M,
    parts: &[Occurrences<'_, T>],
    distinct: &DistinctRows,
    k: usize,
    part: &mut usize,
    sum: &mut [T],
) -> (ScaledRow<T>, u32) {
    let (width, to) = (sum.len(), sum.as_mut_ptr());
    let mut number = distinct.first(k);
    while number >= parts[*part].end {
        *part += 1;
    }
    let mut part = *part;
    let mut next = distinct.next(number);
    if let ([only], None) = (parts[part].terms, next) {
        // SAFETY: `number` is an occurrence in this part, which ends behind it and begins where the one
        // before ends. The only term has a row for each occurrence in its part, as long as `sum`.
        return (
            unsafe { product(only, number - parts[part].start, width) },
            1,
        );
    }
    let (mut none, mut times) = (true, 1);
    loop {
        let Occurrences { start, terms, .. } = parts[part];
        for term in terms {
            // SAFETY: `number` is an occurrence in `part`, for each of which its terms have a row, as long
            // as `sum`. So `x` and `sum` have `width` numbers, which is `WIDTH` if that is not 0.
            unsafe {
                let (factor, x) = product(term, number - start, width);
                let sum = to;
                if none {
                    each::<WIDTH, M, T>(m, width, &Add::<T, true> { factor, x, sum });
                } else {
                    each::<WIDTH, M, T>(m, width, &Add::<T, false> { factor, x, sum });
                }
            }
            none = false;
        }
        match next {
            Some(following) => {
                times += 1;
                number = following;
            }
            None => break,
        }
        while number >= parts[part].end {
            part += 1;
        }
        next = distinct.next(number);
    }
    if none {
        sum.fill(T::zero());
    }
    ((T::one(), to), times)
}

/// A gradient as the kernel takes it.
enum GradientSource<'a, T> {
    /// Of the table's shape.
    All(&'a [T]),
    /// Rows that have been grouped.
    Rows(&'a [Occurrences<'a, T>], &'a DistinctRows),
}

/// Applies a gradient to rows of `WIDTH` numbers, or of any width if that is 0.
///
/// # Safety
/// As for [`rows`] or [`all`].
#[inline(always)]
unsafe fn each_row<const WIDTH: usize, M: Machine, T: Number>(
    m: M,
    access: Access,
    update: &Update<'_, T>,
    source: &GradientSource<'_, T>,
    lines: &mut [Vec<T>; 5],
) {
    let [sum, w, a, b, _] = lines;
    // How often to apply the rule, and to how many numbers at a time. Where all rows change,
    // several are taken as one, unless steps are counted for each row.
    let (times, length) = match source {
        GradientSource::Rows(_, distinct) => (distinct.rows().len(), update.width),
        GradientSource::All(g) => {
            let length = match access {
                _ if update.powers.is_some() => update.width,
                // In pieces, between which a step on a huge parameter can be interrupted.
                Access::Alone => g.len().min(PIECE),
                Access::Shared => w.len(),
            };
            (g.len().div_ceil(length.max(1)), length)
        }
    };
    let length = if WIDTH > 0 { WIDTH } else { length };
    // It looks whether it should end after so many of them, a power of two: seldom enough to cost
    // nothing where they are short.
    let often = 1_usize << (PIECE / length.clamp(1, PIECE)).ilog2();
    let mut part = 0;
    for k in 0..times {
        if k & (often - 1) == often - 1 && interrupt::stop_requested() {
            return;
        }
        let (row, n, (g, times)) = match source {
            GradientSource::Rows(parts, distinct) => {
                let sum = &mut sum[..length];
                // SAFETY: by the conditions of `rows` the terms have a row of `update.width` numbers for
                // each occurrence; that is `length`, which is `WIDTH` if that is not 0, and `sum`'s.
                let g = unsafe { gradient::<WIDTH, M, T>(m, parts, distinct, k, &mut part, sum) };
                (distinct.rows()[k] as usize, length, g)
            }
            GradientSource::All(g) => {
                let g = &g[k * length..];
                (k, length.min(g.len()), ((T::one(), g.as_ptr()), 1))
            }
        };
        // A constant where `WIDTH` is given.
        let n = if WIDTH > 0 { WIDTH } else { n };
        let (start, slots) = update.pointers_at(row * length);
        let mut copies = [&mut a[..], &mut b[..]];
        let place = match access {
            Access::Alone => (start, slots),
            Access::Shared => {
                // SAFETY: the row is one of the table's, of `n` numbers, or a piece of the table that
                // ends where the gradient does; slots are laid out as the table. Access is shared,
                // so everybody reaches both by moves.
                unsafe {
                    moves::load_row_on(m, start, &mut w[..n]);
                    for (copy, at) in copies.iter_mut().zip(slots).take(update.slots) {
                        moves::load_row_on(m, at, &mut copy[..n]);
                    }
                }
                (w.as_mut_ptr(), copies.each_mut().map(|c| c.as_mut_ptr()))
            }
        };
        let times = match update.counts_occurrences {
            true => T::of(f64::from(times)),
            false => T::one(),
        };
        // SAFETY: the table has the row (the index is one of its rows, or `k` counts pieces of it), and
        // the gradient and the place have `n` numbers each. A worker alone is the only one to use the
        // table and its state; else the place is in the copies, which nobody else has.
        unsafe { update.apply::<WIDTH, M>(m, row, g, times, place, n) };
        if access == Access::Shared {
            // SAFETY: `start` and the slots are the places that were loaded above, valid for `n` numbers,
            // which everybody reads and writes by moves.
            unsafe {
                moves::store_row_on(m, start, &w[..n]);
                for (copy, at) in copies.iter().zip(slots).take(update.slots) {
                    moves::store_row_on(m, at, &copy[..n]);
                }
            }
        }
    }
}

/// Applies a gradient: what [`rows`] and [`all`] come to.
///
/// There is no copy for AVX-512, which is no faster at this: divisions and square roots take as
/// long a number, and short rows do not fill more registers.
///
/// # Safety
/// The gradient has as many numbers as the table, or rows of it that are grouped and linked, with
/// terms that have a row of the table's width for each. The state is that of a table of its type.
/// With [`Access::Alone`] nobody else uses the table or its state until this returns; with
/// [`Access::Shared`] everybody reaches both by moves.
unsafe fn run<T: Number>(
    access: Access,
    update: &Update<'_, T>,
    source: &GradientSource<'_, T>,
    lines: &mut [Vec<T>; 5],
) {
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn body<M: Machine, T: Number>(
        m: M,
        access: Access,
        update: &Update<'_, T>,
        source: &GradientSource<'_, T>,
        lines: &mut [Vec<T>; 5],
    ) {
        // SAFETY: the gradient fits the table, and others use the table and its state as `access`
        // says, by the conditions of `run`, whose arguments these are. `WIDTH` is 0, or the width of
        // every row, which is matched.
        unsafe {
            // Code is compiled anew for each width, so there are two.
            let width = match source {
                GradientSource::Rows(..) if M::ISA > Isa::Scalar && size_of::<T>() == 4 => {
                    update.width
                }
                _ => 0,
            };
            match width {
                32 => each_row::<32, M, T>(m, access, update, source, lines),
                64 => each_row::<64, M, T>(m, access, update, source, lines),
                _ => each_row::<0, M, T>(m, access, update, source, lines),
            }
        }
    }

    /// # Safety
    /// As for `run`, and the CPU has AVX2 with FMA.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<T: Number>(
        access: Access,
        update: &Update<'_, T>,
        source: &GradientSource<'_, T>,
        lines: &mut [Vec<T>; 5],
    ) {
        // SAFETY: the CPU has AVX2 and FMA by the conditions of this function, as `assume` requires. By
        // the others the gradient fits the table, and others use the table and its state as `access`
        // says, which is what `body` requires.
        unsafe { body(crate::simd::Avx2::assume(), access, update, source, lines) }
    }

    // SAFETY: the gradient fits the table, and others use the table and its state as `access` says, by
    // the conditions of this function, whose arguments both get. `avx2` is called only if the
    // instruction set found on this CPU is AVX2 or AVX-512: each stands for AVX2 with FMA, too.
    unsafe {
        match Isa::active() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 | Isa::Avx512 => avx2(access, update, source, lines),
            _ => body(Scalar, access, update, source, lines),
        }
    }
}

/// Applies rows of one number: those that change are gathered into one array and changed there.
///
/// # Safety
/// As for [`rows`]; the rows have been grouped.
unsafe fn numbers<T: Number>(
    update: &Update<'_, T>,
    parts: &[Occurrences<'_, T>],
    distinct: &DistinctRows,
    lines: &mut [Vec<T>; 5],
) {
    let rows = distinct.rows();
    for line in &mut *lines {
        if line.len() < rows.len() {
            line.resize(rows.len(), T::zero());
        }
    }
    let [sum, w, a, b, counts] = lines.each_mut().map(|line| &mut line[..rows.len()]);
    sum.fill(T::zero());
    for part in parts {
        let places = &distinct.places()[part.start..part.end];
        for term in part.terms {
            let numbers = places.iter().zip(term.rows);
            match term.scale {
                None => numbers.for_each(|(&place, &x)| sum[place as usize] += x),
                Some(scale) => numbers
                    .zip(scale)
                    .for_each(|((&place, &x), &a)| sum[place as usize] += a * x),
            }
        }
    }
    let (table, [first, second]) = update.tables;
    let tables = [
        (table, true),
        (first, update.slots > 0),
        (second, update.slots > 1),
        (update.counts, update.powers.is_some()),
    ];
    let mut copies = [w, a, b, counts];
    for (copy, (table, _)) in copies.iter_mut().zip(tables).filter(|(_, t)| t.1) {
        for (to, &row) in copy.iter_mut().zip(rows) {
            // SAFETY: the row is one of the table's, by the conditions of this function, and has one
            // number, as has its row of state. It is moved alike by one worker and by many.
            *to = unsafe { moves::load(table.wrapping_add(row as usize)) };
        }
    }
    let penalized;
    let update = match update.counts_occurrences {
        false => update,
        true => {
            let count = parts.last().map_or(0, |part| part.end);
            penalized = update.penalized(sum, copies[0], &distinct.places()[..count]);
            &penalized
        }
    };
    let [w, a, b, counts] = copies.each_mut().map(|copy| copy.as_mut_ptr());
    let local = update.on((w, [a, b]), counts);
    let source = GradientSource::All(sum);
    // SAFETY: `local` is on the copies, which this thread alone has, and which have as many numbers each
    // as the gradient.
    unsafe { run(Access::Alone, &local, &source, &mut Default::default()) };
    for (copy, (table, _)) in copies.iter().zip(tables).filter(|(_, t)| t.1) {
        for (&from, &row) in copy.iter().zip(rows) {
            // SAFETY: `row` is one of the table's, of a single number, which everybody reads and writes
            // by moves, or nobody else at all.
            unsafe { moves::store(table.wrapping_add(row as usize), from) };
        }
    }
}

/// Applies rows of a gradient.
///
/// # Safety
/// As for [`apply::rows`](super::apply::rows).
pub(super) unsafe fn rows<T: Number>(
    access: Access,
    target: &StepTarget<'_>,
    parts: &impl GradientRows<T>,
    scratch: &mut Scratch<T>,
) {
    // Only in huge programs are there so many that these allocate; their batches take long anyway.
    let mut indices: SmallVec<[&[u32]; 4]> = SmallVec::new();
    let mut terms: SmallVec<[Term<&[T]>; 8]> = SmallVec::new();
    for p in 0..parts.count() {
        indices.push(parts.indices(p));
        terms.extend((0..parts.terms(p)).map(|t| parts.term(p, t)));
    }
    let (mut end, mut rest) = (0, &terms[..]);
    let mut each: SmallVec<[Occurrences<'_, T>; 4]> = SmallVec::new();
    for (p, indices) in indices.iter().enumerate() {
        let start = end;
        end += indices.len();
        let (terms, others) = rest.split_at(parts.terms(p));
        rest = others;
        each.push(Occurrences { start, end, terms });
    }
    let update = Update::new(target);
    let Scratch {
        distinct, lines, ..
    } = scratch;
    distinct.group(&indices);
    // Grouping millions of rows takes long, and nothing is changed yet.
    if end >= PIECE && interrupt::stop_requested() {
        return;
    }
    if update.width == 1 {
        // SAFETY: the rows are rows of the table, the terms have a number for each, and others use the
        // table and its state as `access` says, by the conditions of this function. Rows of one number
        // are moved alike by one worker and by many. `group` has just grouped them.
        unsafe { numbers(&update, &each, distinct, lines) };
    } else {
        distinct.link(&indices);
        // SAFETY: the rows are rows of the table, the terms have a row of its width for each, and others
        // use the table and its state as `access` says, by the conditions of this function. `each` has
        // the terms of each part, and `distinct` the rows of the same parts, grouped and linked.
        unsafe {
            run(
                access,
                &update,
                &GradientSource::Rows(&each, distinct),
                lines,
            )
        };
    }
}

/// Applies a gradient of one row, of several numbers: as one of a table that is this row.
///
/// # Safety
/// As for [`apply::rows`](super::apply::rows), of this row.
pub(super) unsafe fn row<T: Number>(
    access: Access,
    target: &StepTarget<'_>,
    row: u32,
    gradient: &[T],
    scratch: &mut Scratch<T>,
) {
    let update = Update::<T>::new(target);
    let row = row as usize;
    let update = update.on(
        update.pointers_at(row * update.width),
        update.counts.wrapping_add(row),
    );
    let source = GradientSource::All(gradient);
    // SAFETY: the row is one of the table's, as long as the gradient, and others use it and its state as
    // `access` says, by the conditions of this function.
    unsafe { run(access, &update, &source, &mut scratch.lines) };
}

/// Applies a gradient of the table's shape, which is that of so many samples.
///
/// # Safety
/// As for [`apply::dense`](super::apply::dense).
pub(super) unsafe fn all<T: Number>(
    access: Access,
    target: &StepTarget<'_>,
    gradient: &[T],
    samples: usize,
    scratch: &mut Scratch<T>,
) {
    let update = Update::new(target).with_penalties(target.penalty_count(samples));
    let source = GradientSource::All(gradient);
    // SAFETY: the gradient has as many numbers as the table, and others use the table and its state as
    // `access` says, by the conditions of this function.
    unsafe { run(access, &update, &source, &mut scratch.lines) };
}
