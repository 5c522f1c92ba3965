//! Embedding bags: weighted sums of rows, one for each bag.
//!
//! The three operators here are the derivatives of one form that is linear in each of `x`, `w` and `g`,
//! `Σ_b Σ_k w[k] ⟨x[row of k], g[b]⟩` over the bags `b` and their places `k`: [`Bag`] by `g`,
//! [`BagRows`] by `x`, [`BagWeights`] by `w`. So each is differentiated by the others.
//!
//! Limits: offsets are 32 bits. The gradient by weights of chosen bags reads the whole of `x`.

use smallvec::SmallVec;

use super::accumulate::zero;
use crate::array::{Real, Type, Typed, View, ViewMut, size, with_real};
use crate::error::{Error, Result};
use crate::rules::bag_index::{BagIndex, BagOperands};
use crate::rules::{
    Argument, Case, Entry, Ex, Form, Key, OpRef, Operator, Scatter, ScatteredRows, real,
    same_dtype, same_shape,
};
use crate::simd::{self, by_width, multiversion};

/// Checks the number of operands.
fn count(name: &str, args: &[&Type], expected: usize) -> Result<()> {
    match args.len() == expected {
        true => Ok(()),
        false => Err(Error::Type(format!(
            "{name} takes {expected} operand(s), {} given",
            args.len()
        ))),
    }
}

/// Operands of which some are others.
fn replaced<'t>(x: &[Ex<'t>], others: &[(usize, Ex<'t>)]) -> SmallVec<[Ex<'t>; 6]> {
    let mut x = SmallVec::from_slice(x);
    others.iter().for_each(|&(i, other)| x[i] = other);
    x
}

/// An operator that is linear in operand `i`, applied to its tangent in its place.
fn tangent<'t>(op: &(impl Operator + Clone), i: usize, t: Ex<'t>, x: &[Ex<'t>]) -> Ex<'t> {
    let x = replaced(x, &[(i, t)]);
    x[0].with_new(op.clone(), &x[1..])
}

/// The weighted sums of the rows of operand 0 in each bag. The other operands are, for chosen bags, the
/// index and the ids; the offsets; the weights, if there are.
///
/// Bags are in compressed sparse rows (CSR): bag `i` has the places `offsets[i]..offsets[i + 1]`. At
/// place `k` there is a row of `x` and a weight `w[k]`, 1 without weights. There are two kinds. Bags *in
/// order* take row `k` of `x` at place `k`, and all bags are summed: a sum of segments. *Chosen* bags take
/// row `ids[k]`, and bags are summed that an index names, repeatedly if it does: features of items, say,
/// of which a batch has some. How many rows these have depends on the index, so that no array of a known
/// shape has them; programs and graphs carry the gradient by `x` as rows all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bag {
    /// Whether bags are chosen by an index.
    pub chosen: bool,
    /// Whether there are weights.
    pub weighted: bool,
}

multiversion! {
    @avx2
    fn sum_bags<T: Real>(
        m: M, x: &[T], width: usize, bags: BagIndex<'_>, weights: Option<&[T]>, out: &mut [T],
    ) -> Result<()> {
        by_width!(M, T, width, [32, 64], W => bags.each(|b, place, row| {
            let weight = weights.map_or(T::one(), |w| w[place]);
            simd::dot::axpy(m, weight, &x[row * W..(row + 1) * W], &mut out[b * W..(b + 1) * W]);
        }))
    }
}

impl Bag {
    fn operands(self) -> BagOperands {
        BagOperands {
            chosen: self.chosen,
            at: 1,
        }
    }

    /// The number of the operand with the weights, if there is one.
    fn weights(self) -> Option<usize> {
        self.weighted.then(|| self.operands().offsets() + 1)
    }
}

impl Operator for Bag {
    fn name(&self) -> &str {
        "bag"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn form(&self) -> Form {
        match *self {
            Bag { chosen: true, .. } => Form::BagLookup,
            _ => Form::Other,
        }
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let operands = self.operands();
        count(
            "bag",
            args,
            operands.offsets() + 1 + usize::from(self.weighted),
        )?;
        let x = args[0];
        real("bag", x)?;
        let (mut shape, places) = operands.infer("bag", x, args)?;
        if let Some(weights) = self.weights() {
            same_dtype("bag", x, args[weights])?;
            same_shape("bag: weights", &[places], &args[weights].shape)?;
        }
        shape.extend_from_slice(&x.shape[1..]);
        crate::array::element_count(&shape)?;
        Ok(Type {
            dtype: x.dtype,
            shape,
        })
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        let bags = self.operands().bags(args, args[0].shape[0])?;
        let width = size(&args[0].shape[1..]);
        with_real!(out.data.dtype(), T => {
            let weights = self.weights().map(|w| args[w].real::<T>());
            sum_bags(args[0].real::<T>(), width, bags, weights, T::slice_mut(&mut out.data))
        })
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let Bag { chosen, weighted } = *self;
        if i == 0 {
            return Some(g.with_new(BagRows { chosen, weighted }, x));
        }
        (Some(i) == self.weights()).then(|| {
            let others: SmallVec<[Ex<'t>; 4]> = [g].iter().chain(&x[1..i]).copied().collect();
            x[0].with_new(BagWeights { chosen }, &others)
        })
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0 || Some(i) == self.weights()).then(|| tangent(self, i, t, x))
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        self.operands().limit(i, 0, args)
    }
}

/// Row `b` of operand 0 times the weight, at each place of bag `b`: added to zeros like operand 1 at the
/// rows of its bag. The other operands are those of [`Bag`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BagRows {
    /// Whether bags are chosen by an index.
    pub chosen: bool,
    /// Whether there are weights.
    pub weighted: bool,
}

multiversion! {
    @avx2
    fn add_rows<T: Real>(
        _m: M, g: &[T], width: usize, bags: BagIndex<'_>, weights: Option<&[T]>, out: &mut [T],
    ) -> Result<()> {
        by_width!(M, T, width, [32, 64], W => bags.each(|b, place, row| {
            let weight = weights.map_or(T::one(), |w| w[place]);
            let out = &mut out[row * W..(row + 1) * W];
            // In two roundings, as where the rows stay rows and are added up later.
            for (out, &g) in out.iter_mut().zip(&g[b * W..(b + 1) * W]) {
                *out += weight * g;
            }
        }))
    }
}

impl BagRows {
    fn operands(self) -> BagOperands {
        BagOperands {
            chosen: self.chosen,
            at: 2,
        }
    }

    /// The number of the operand with the weights, if there is one.
    fn weights(self) -> Option<usize> {
        self.weighted.then(|| self.operands().offsets() + 1)
    }
}

impl Operator for BagRows {
    fn name(&self) -> &str {
        "bag_rows"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let BagRows { chosen, weighted } = *self;
        let operands = self.operands().offsets() + 1 + usize::from(weighted);
        count("bag_rows", args, operands)?;
        same_dtype("bag_rows", args[0], args[1])?;
        let expected = Bag { chosen, weighted }.infer(&args[1..])?;
        same_shape("bag_rows", &expected.shape, &args[0].shape)?;
        Ok(args[1].clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        self.add(args, out)
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let BagRows { chosen, weighted } = *self;
        if i == 0 {
            return Some(g.with_new(Bag { chosen, weighted }, &x[2..]));
        }
        (Some(i) == self.weights()).then(|| {
            let others: SmallVec<[Ex<'t>; 4]> = x[..1].iter().chain(&x[2..i]).copied().collect();
            g.with_new(BagWeights { chosen }, &others)
        })
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0 || Some(i) == self.weights()).then(|| tangent(self, i, t, x))
    }

    fn reads(&self, i: usize) -> bool {
        i != 1
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        self.operands().limit(i, 1, args)
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for BagRows {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let bags = self.operands().bags(args, out.shape[0])?;
        let width = size(&out.shape[1..]);
        with_real!(out.data.dtype(), T => {
            let weights = self.weights().map(|w| args[w].real::<T>());
            add_rows(args[0].real::<T>(), width, bags, weights, T::slice_mut(&mut out.data))
        })
    }

    fn like(&self) -> Option<usize> {
        Some(1)
    }

    fn rows(&self) -> Option<ScatteredRows<'_>> {
        self.chosen.then(|| ScatteredRows::Bags {
            values: 0,
            index: 2,
            ids: 3,
            offsets: 4,
            weights: self.weights(),
        })
    }
}

/// For each place the dot product of its row of operand 0 with the row of operand 1 that belongs to its
/// bag, added up over the bags that have the place. The other operands are those of [`Bag`], without the
/// weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BagWeights {
    /// Whether bags are chosen by an index.
    pub chosen: bool,
}

multiversion! {
    fn dot_rows<T: Real>(
        m: M, x: &[T], g: &[T], width: usize, bags: BagIndex<'_>, out: &mut [T],
    ) -> Result<()> {
        bags.each(|b, place, row| {
            let x = &x[row * width..(row + 1) * width];
            out[place] += simd::dot::dot(m, x, &g[b * width..(b + 1) * width]);
        })
    }
}

impl BagWeights {
    fn operands(self) -> BagOperands {
        BagOperands {
            chosen: self.chosen,
            at: 2,
        }
    }
}

impl Operator for BagWeights {
    fn name(&self) -> &str {
        "bag_weights"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let operands = self.operands();
        count("bag_weights", args, operands.offsets() + 1)?;
        let [x, g] = [args[0], args[1]];
        same_dtype("bag_weights", x, g)?;
        let (mut shape, places) = operands.infer("bag_weights", x, args)?;
        shape.extend_from_slice(&x.shape[1..]);
        same_shape("bag_weights", &shape, &g.shape)?;
        Ok(Type::new(x.dtype, &[places]))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        let bags = self.operands().bags(args, args[0].shape[0])?;
        let width = size(&args[0].shape[1..]);
        with_real!(out.data.dtype(), T => {
            let (x, g) = (args[0].real::<T>(), args[1].real::<T>());
            dot_rows(x, g, width, bags, T::slice_mut(&mut out.data))
        })
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let (chosen, weighted) = (self.chosen, true);
        // The gradient takes the place of the weights.
        let others: SmallVec<[Ex<'t>; 4]> = x[2..].iter().chain([&g]).copied().collect();
        match i {
            0 => {
                let others: SmallVec<[Ex<'t>; 6]> = x[..1].iter().chain(&others).copied().collect();
                Some(x[1].with_new(BagRows { chosen, weighted }, &others))
            }
            1 => Some(x[0].with_new(Bag { chosen, weighted }, &others)),
            _ => None,
        }
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i < 2).then(|| tangent(self, i, t, x))
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        self.operands().limit(i, 0, args)
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// Operands that tell bags of `x`, places and results: the shape of `x`, the number of places, and the
/// shape of the index; bags in order have none.
type BagCase = (&'static [usize], usize, Option<&'static [usize]>);

const LAYOUTS: &[BagCase] = &[
    (&[7, 3], 7, None),
    (&[7], 7, None),
    (&[0, 2], 0, None),
    (&[5, 2, 2], 5, None),
    (&[5, 3], 7, Some(&[4])),
    (&[5], 7, Some(&[2, 2])),
    (&[5, 2, 2], 7, Some(&[])),
    (&[5, 32], 7, Some(&[6])),
    (&[5, 3], 7, Some(&[0])),
    (&[5, 3], 0, Some(&[3])),
];
const BAGS: usize = 4;

/// The shape of a bag's sum, for each bag.
fn sums((x, _, index): BagCase) -> Vec<usize> {
    [index.unwrap_or(&[BAGS]), &x[1..]].concat()
}

/// The operands that follow.
fn bags((x, places, index): BagCase, weighted: bool) -> Vec<Argument> {
    let mut out = Vec::new();
    if let Some(index) = index {
        out.push(Argument::index(index, BAGS));
        out.push(Argument::index(&[places], x[0]));
    }
    out.push(Argument::Offsets { bags: BAGS, places });
    out.extend(weighted.then(|| Argument::real(&[places], ANY)));
    out
}

/// Cases of all layouts, with weights and without.
fn cases(case: impl Fn(BagCase, bool) -> Case) -> Vec<Case> {
    let both = |layout: &BagCase| [false, true].map(|weighted| case(*layout, weighted));
    LAYOUTS.iter().flat_map(both).collect()
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "bag",
        formula: "Σ_k w_k x[ids_k], over the k of each bag",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            cases(|layout, weighted| {
                let chosen = layout.2.is_some();
                let mut args = vec![Argument::real(layout.0, ANY)];
                args.extend(bags(layout, weighted));
                Case::new(OpRef::new(Bag { chosen, weighted }), args)
            })
        },
    },
    Entry {
        name: "bag_rows",
        formula: "zeros with w_k g_bag added at ids_k",
        source: "definition",
        reference: None,
        internal: Some("the gradient of bag"),
        cases: || {
            cases(|layout, weighted| {
                let chosen = layout.2.is_some();
                let like = Argument::shape_only(layout.0);
                let mut args = vec![Argument::real(&sums(layout), ANY), like];
                args.extend(bags(layout, weighted));
                Case::new(OpRef::new(BagRows { chosen, weighted }), args)
            })
        },
    },
    Entry {
        name: "bag_weights",
        formula: "⟨x[ids_k], g_bag⟩",
        source: "definition",
        reference: None,
        internal: Some("the gradient of bag by the weights"),
        cases: || {
            let case = |&layout: &BagCase| {
                let chosen = layout.2.is_some();
                let g = Argument::real(&sums(layout), ANY);
                let mut args = vec![Argument::real(layout.0, ANY), g];
                args.extend(bags(layout, false));
                Case::new(OpRef::new(BagWeights { chosen }), args)
            };
            LAYOUTS.iter().map(case).collect()
        },
    },
];
