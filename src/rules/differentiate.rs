//! Differentiation: one pass over instructions, in either mode, over any algebra.
//!
//! An instruction applies an operator to values and names its result. Reverse mode visits the
//! instructions from the last to the first: when it comes to one, every user of the result has
//! contributed to its gradient, so that the rule of its operator runs once. Forward mode visits them
//! from the first to the last. What a rule computes is up to the [`Algebra`]: arrays
//! (`graph::eager`), nodes of a graph (`graph::nodes`) or instructions of a function
//! ([`ir::Builder`](crate::ir::Builder)).
//!
//! [`pull`] is reverse mode of one instruction, [`gradients`] and [`tangents`] are passes over those
//! that a [`Recording`] algebra knows. The eager algebra keeps no record; its nodes collect their
//! gradients themselves, and call [`pull`].
//!
//! An operator without a Jacobian-vector product has the transpose of its vector-Jacobian product:
//! that is linear in `g`, so its own gradient by `g`, seeded with the tangent, is what is wanted
//! (Townsend, "A new trick for calculating Jacobian vector products", 2017).
//!
//! Every product is checked to have the type that it must have: rules may come from outside, and
//! what they give is written to memory of that type.
//!
//! Limit: straight lists of instructions, without jumps.

use smallvec::SmallVec;

use super::{Accumulate, Add, Algebra, Ex, Id, Identity, OpRef, Operator};
use crate::array::{Type, show_shape};
use crate::error::{Error, Result};
use crate::interrupt::Poller;

/// About how many nanoseconds the rule of an instruction takes.
const VALUE: usize = 1000;

/// An algebra that knows what its values were computed from.
pub(crate) trait Recording: Algebra {
    /// The operator and the operands that gave a value, if it is the result of an operator.
    fn definition(&self, id: Id) -> Option<Applied>;

    /// The name that the next value will get: names grow.
    fn next(&self) -> Id;

    /// Whether a value is the result of an operator that [scatters](Operator::scatter).
    fn is_scattered(&self, id: Id) -> bool;
}

/// An operator and its operands.
pub(crate) type Applied = (OpRef, SmallVec<[Id; 3]>);

/// Sees what a pass does.
pub(crate) trait PassObserver {
    /// Takes the complete gradient of a value, and gives what is passed on in its place.
    ///
    /// # Errors
    /// Whatever it finds wrong: the pass ends with it.
    fn complete(&mut self, _value: Id, gradient: Id) -> Result<Id> {
        Ok(gradient)
    }

    /// Notes a product.
    fn product(&mut self, _product: Product) {}
}

impl PassObserver for () {}

/// A product that a rule made, which has the type of another value, `like`.
#[derive(Debug, Clone)]
pub(crate) struct Product {
    pub op: OpRef,
    /// Which rule it was, and for which operand.
    pub rule: (&'static str, usize),
    pub value: Id,
    pub like: Id,
}

impl Product {
    /// Checks the product's type against the type that it must have.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Type`] naming the operator and both types.
    pub(crate) fn check(&self, found: &Type, expected: &Type) -> Result<()> {
        match found == expected {
            true => Ok(()),
            false => Err(wrong(&*self.op, self.rule, found, expected)),
        }
    }
}

/// The error for a product of another type than it must have.
#[cold]
fn wrong<O: Operator + ?Sized>(
    op: &O,
    (rule, i): (&str, usize),
    found: &Type,
    expected: &Type,
) -> Error {
    let show = |ty: &Type| format!("{} of shape {}", ty.dtype, show_shape(&ty.shape));
    let message = format!(
        "{}: {rule} for operand {i} gave {}, expected {}",
        op.name(),
        show(found),
        show(expected)
    );
    if found.dtype == expected.dtype {
        Error::Shape(message)
    } else {
        Error::Type(message)
    }
}

/// What a rule made, after an error on the way and its type have been asked for.
#[inline]
fn checked<'t, O: Operator + ?Sized>(
    op: &O,
    rule: (&str, usize),
    like: Ex<'t>,
    product: Option<Ex<'t>>,
) -> Result<Option<Ex<'t>>> {
    let cx = like.algebra();
    if let Some(product) = product
        && product.is_in(cx)
        && cx.is_sound(product.id(), like.id())
    {
        return Ok(Some(product));
    }
    looked_at(op, rule, like, product)
}

/// As [`checked`], where it is not plain that nothing is wrong.
#[inline(never)]
fn looked_at<'t, O: Operator + ?Sized>(
    op: &O,
    rule: (&str, usize),
    like: Ex<'t>,
    product: Option<Ex<'t>>,
) -> Result<Option<Ex<'t>>> {
    let cx = like.algebra();
    if let Some(error) = cx.take_error() {
        return Err(error);
    }
    if let Some(product) = product {
        product.id_in(cx)?;
        let (found, expected) = (product.ty(), like.ty());
        if found != expected {
            return Err(wrong(op, rule, &found, &expected));
        }
    }
    Ok(product)
}

/// The gradients of an instruction's operands for which `wanted` says so, from the gradient `g` of
/// its result `y`: `give(i, gradient)`.
///
/// # Errors
/// Whatever the operators of a rule report, and [`Error::Shape`] or [`Error::Type`] if a gradient is
/// not of its operand's type.
#[inline]
pub(crate) fn pull<'t, O: Operator + ?Sized>(
    op: &O,
    (g, y): (Ex<'t>, Ex<'t>),
    x: &[Ex<'t>],
    wanted: impl Fn(usize) -> bool,
    mut give: impl FnMut(usize, Ex<'t>) -> Result<()>,
) -> Result<()> {
    for i in (0..x.len()).filter(|&i| wanted(i)) {
        let gradient = op.vjp(i, g, y, x);
        if let Some(gradient) = checked(op, ("vjp", i), x[i], gradient)? {
            give(i, gradient)?;
        }
    }
    Ok(())
}

/// Something for each value of a list, whose names lie close together.
struct Slots<T> {
    start: Id,
    slots: Vec<T>,
}

impl<T: Clone + Default> Slots<T> {
    fn new(values: &[Id]) -> Self {
        let start = values.iter().copied().min().unwrap_or(0);
        let end = values.iter().copied().max().map_or(start, |last| last + 1);
        Slots {
            start,
            slots: vec![T::default(); (end - start) as usize],
        }
    }

    fn get(&self, id: Id) -> Option<&T> {
        self.slots.get(id.checked_sub(self.start)? as usize)
    }

    fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.slots.get_mut(id.checked_sub(self.start)? as usize)
    }

    /// Puts something in the place of a value that is in the list; of others nothing is kept.
    fn set(&mut self, id: Id, to: T) {
        if let Some(slot) = self.get_mut(id) {
            *slot = to;
        }
    }
}

/// The gradient or tangent of a value as far as it is known: a sum. What is scattered is added up at
/// the end, by one instruction, so that each part costs what it adds.
#[derive(Clone, Default)]
struct GradientSum {
    dense: Option<Id>,
    scattered: Vec<Id>,
}

impl GradientSum {
    fn add(&mut self, cx: &dyn Recording, part: Id) {
        if cx.is_scattered(part) {
            self.scattered.push(part);
        } else {
            self.dense = Some(match self.dense {
                None => part,
                Some(sum) => Ex::new(cx, sum).with(&Add, &[Ex::new(cx, part)]).id(),
            });
        }
    }

    /// The sum, in one value; `None` if there is nothing to add.
    fn total(&mut self, cx: &dyn Recording) -> Option<Id> {
        let total = match (self.dense, &self.scattered[..]) {
            (None, [only]) => Some(*only),
            (dense, []) => dense,
            (dense, scattered) => Some(accumulate(cx, dense, scattered)),
        };
        *self = GradientSum {
            dense: total,
            scattered: Vec::new(),
        };
        total
    }
}

/// One instruction that adds up values that are scattered, and another.
fn accumulate(cx: &dyn Recording, base: Option<Id>, scattered: &[Id]) -> Id {
    let mut operands: Vec<Id> = base.into_iter().collect();
    let mut parts: Vec<(OpRef, usize)> = Vec::with_capacity(scattered.len());
    for (op, args) in scattered.iter().filter_map(|&id| cx.definition(id)) {
        // Sums of sums are one.
        match op.scatter().and_then(|scatter| scatter.accumulation()) {
            Some(sum) if !sum.has_base() => {
                parts.extend(sum.parts().iter().map(|(op, of)| (op.clone(), of.len())));
            }
            _ => parts.push((op.clone(), args.len())),
        }
        operands.extend(args);
    }
    let op = OpRef::new(Accumulate::new(base.is_some(), parts));
    cx.apply(op, &operands)
}

fn named<'t>(cx: &'t dyn Recording, ids: &[Id]) -> SmallVec<[Ex<'t>; 4]> {
    ids.iter().map(|&id| Ex::new(cx, id)).collect()
}

/// The gradients of the sum of the elements of `root` times those of `seed` (ones, if there is
/// none) by the values `wrt`: `None` for one that does not matter. `values` are those to pass, each
/// after what it was computed from.
///
/// # Errors
/// As [`pull`], and whatever the observer reports.
pub(crate) fn gradients(
    cx: &dyn Recording,
    values: &[Id],
    (root, seed): (Id, Option<Id>),
    wrt: &[Id],
    observer: &mut dyn PassObserver,
) -> Result<Vec<Option<Id>>> {
    // Values that depend on one of `wrt`, with how they were computed.
    let mut active: Slots<bool> = Slots::new(values);
    for &x in wrt {
        active.set(x, true);
    }
    let mut definitions = Vec::with_capacity(values.len());
    let mut poller = Poller::default();
    for &id in values {
        poller.step(VALUE / 2)?;
        let definition = cx.definition(id);
        let on = |a: &Id| active.get(*a) == Some(&true);
        let depends = definition
            .as_ref()
            .is_some_and(|(_, args)| args.iter().any(on));
        // Indices do not move a little.
        if depends && Ex::new(cx, id).dtype().is_real() {
            active.set(id, true);
        }
        definitions.push(definition.filter(|_| depends));
    }
    let on = |a: Id| active.get(a) == Some(&true);
    let mut sums: Slots<GradientSum> = Slots::new(values);
    if on(root)
        && let Some(sum) = sums.get_mut(root)
    {
        sum.dense = Some(seed.unwrap_or_else(|| Ex::new(cx, root).ones_like().id()));
    }
    for (&id, definition) in values.iter().zip(definitions).rev() {
        poller.step(VALUE)?;
        let Some(sum) = sums.get_mut(id) else {
            continue;
        };
        let Some(total) = sum.total(cx) else {
            continue;
        };
        cx.take_error().map_or(Ok(()), Err)?;
        let gradient = observer.complete(id, total)?;
        sum.dense = Some(gradient);
        let Some((op, args)) = definition else {
            continue;
        };
        let ends = (Ex::new(cx, gradient), Ex::new(cx, id));
        let x = named(cx, &args);
        pull(
            &*op,
            ends,
            &x,
            |i| on(args[i]),
            |i, gradient| {
                observer.product(Product {
                    op: op.clone(),
                    rule: ("vjp", i),
                    value: gradient.id(),
                    like: args[i],
                });
                if let Some(sum) = sums.get_mut(args[i]) {
                    sum.add(cx, gradient.id());
                }
                cx.take_error().map_or(Ok(()), Err)
            },
        )?;
    }
    let gradient = |&x: &Id| sums.get(x).and_then(|sum| sum.dense);
    Ok(wrt.iter().map(gradient).collect())
}

/// The tangents of `results` where values move: `moving` names each with its tangent. `None` for a
/// result that does not move. `values` are as for [`gradients`].
///
/// # Errors
/// Whatever the operators of a rule report, and [`Error::Shape`] or [`Error::Type`] if a product is
/// not of the type of what it is the tangent of.
pub(crate) fn tangents(
    cx: &dyn Recording,
    values: &[Id],
    moving: &[(Id, Id)],
    results: &[Id],
    observer: &mut dyn PassObserver,
) -> Result<Vec<Option<Id>>> {
    let mut slots: Slots<Option<Id>> = Slots::new(values);
    for &(x, tangent) in moving {
        slots.set(x, Some(tangent));
    }
    // What stands for a value in all that is computed from it.
    let mut replaced: Slots<Option<Id>> = Slots::new(values);
    let mut poller = Poller::default();
    for &id in values {
        poller.step(VALUE)?;
        if slots.get(id).is_none_or(Option::is_some) {
            continue;
        }
        let Some((op, args)) = cx.definition(id) else {
            continue;
        };
        let now = |&a: &Id| replaced.get(a).copied().flatten().unwrap_or(a);
        let operands: SmallVec<[Id; 3]> = args.iter().map(now).collect();
        let mut y = Ex::new(cx, id);
        if operands != args {
            y = Ex::new(cx, cx.apply(op.clone(), &operands));
            replaced.set(id, Some(y.id()));
        }
        let x = named(cx, &operands);
        let mut sum = GradientSum::default();
        for (i, &arg) in args.iter().enumerate() {
            // Where only the shape of an operand matters, nothing moves with its elements.
            let Some(&Some(tangent)) = slots.get(arg).filter(|_| op.reads(i)) else {
                continue;
            };
            let t = Ex::new(cx, tangent);
            if let Some(other) = checked(&*op, ("realigned", i), y, op.realigned(i, t, y, &x))? {
                y = other;
                replaced.set(id, Some(y.id()));
            }
            if let Some(part) = push(cx, &op, i, (t, y), &x, observer)? {
                sum.add(cx, part.id());
            }
        }
        let tangent = sum.total(cx);
        cx.take_error().map_or(Ok(()), Err)?;
        slots.set(id, tangent);
    }
    Ok(results
        .iter()
        .map(|&y| slots.get(y).copied().flatten())
        .collect())
}

/// The tangent of an instruction's result `y` where operand `i` moves by `t`.
fn push<'t>(
    cx: &'t dyn Recording,
    op: &OpRef,
    i: usize,
    (t, y): (Ex<'t>, Ex<'t>),
    x: &[Ex<'t>],
    observer: &mut dyn PassObserver,
) -> Result<Option<Ex<'t>>> {
    let mut note = |rule, value: Ex<'t>, like: Ex<'t>| {
        observer.product(Product {
            op: op.clone(),
            rule: (rule, i),
            value: value.id(),
            like: like.id(),
        });
    };
    if let Some(tangent) = checked(&**op, ("jvp", i), y, op.jvp(i, t, y, x))? {
        note("jvp", tangent, y);
        return Ok(Some(tangent));
    }
    if !y.dtype().is_real() {
        return Ok(None);
    }
    // The vector-Jacobian product at some `g` of the result's type; its value does not matter.
    let g = y.with(&Identity, &[]);
    let Some(v) = checked(&**op, ("vjp", i), x[i], op.vjp(i, g, y, x))? else {
        return Ok(None);
    };
    note("vjp", v, x[i]);
    let values: Vec<Id> = (g.id()..cx.next()).collect();
    let root = (v.id(), Some(t.id()));
    let found = gradients(cx, &values, root, &[g.id()], observer)?;
    Ok(found[0].map(|tangent| Ex::new(cx, tangent)))
}
