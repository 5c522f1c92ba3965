//! Differentiation: one pass over instructions, in either mode, over any algebra.
//!
//! An instruction applies an operator to values and names its result. Reverse mode visits the
//! instructions from the last to the first: when it comes to one, every user of the result has
//! contributed to its gradient, so that the rule of its operator runs once. Forward mode visits them
//! from the first to the last. What a rule computes is up to the [`Algebra`](super::Algebra): arrays
//! (`graph::eager`), nodes of a graph (`graph::derivatives::nodes`) or instructions of a function
//! ([`ir::Builder`](crate::ir::Builder)).
//!
//! [`Cotangents`] and [`Tangents`] hold what is known of values, and take one instruction at a time.
//! [`gradients`] and [`tangents`] are passes over the instructions that a [`Recording`] algebra knows;
//! functions with blocks go through them in an order of their own (`ir::vjp`, `ir::jvp`). The eager
//! algebra keeps no record; its nodes collect their gradients themselves, and call [`pull`].
//!
//! An operator without a Jacobian-vector product has the transpose of its vector-Jacobian product:
//! that is linear in `g`, so its own gradient by `g`, seeded with the tangent, is what is wanted
//! (Townsend, "A new trick for calculating Jacobian vector products", 2017).
//!
//! Every product is checked to have the type that it must have: rules may come from outside, and
//! what they give is written to memory of that type.
//!
//! Limit: control flow is its callers' part.

use smallvec::SmallVec;

use super::recording::GradientSum;
pub(crate) use super::recording::{Applied, Recording};
use super::{Ex, Id, Identity, OpRef, Operator};
use crate::array::{Type, show_shape};
use crate::error::{Error, Result};
use crate::interrupt::Poller;

/// About how many nanoseconds the rule of an instruction takes.
const VALUE: usize = 1000;

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

fn named<'t>(cx: &'t dyn Recording, ids: &[Id]) -> SmallVec<[Ex<'t>; 4]> {
    ids.iter().map(|&id| Ex::new(cx, id)).collect()
}

/// Cotangents of values, as they are collected: a sum for each value of a list.
pub(crate) struct Cotangents {
    sums: Slots<GradientSum>,
}

impl Cotangents {
    /// None yet, for these values.
    pub(crate) fn new(values: &[Id]) -> Self {
        Cotangents {
            sums: Slots::new(values),
        }
    }

    /// Adds a part to the cotangent of a value; of values that are not in the list none is kept.
    pub(crate) fn add(&mut self, cx: &dyn Recording, id: Id, part: Id) {
        if let Some(sum) = self.sums.get_mut(id) {
            sum.add(cx, part);
        }
    }

    /// As [`add`](Self::add), of a part that stays one value however it was computed: what it was
    /// computed from may not be there.
    pub(crate) fn add_whole(&mut self, cx: &dyn Recording, id: Id, part: Id) {
        if let Some(sum) = self.sums.get_mut(id) {
            sum.add_dense(cx, part);
        }
    }

    /// The cotangent of a value as far as it is known, in one value; `None` if there is none.
    pub(crate) fn total(&mut self, cx: &dyn Recording, id: Id) -> Option<Id> {
        self.sums.get_mut(id)?.total(cx)
    }

    /// Takes the cotangent of a value out, so that there is none.
    pub(crate) fn take(&mut self, cx: &dyn Recording, id: Id) -> Option<Id> {
        std::mem::take(self.sums.get_mut(id)?).total(cx)
    }

    /// Reverse mode of one instruction: if its result `id` has a cotangent, adds what its operands
    /// have of it for which `wanted(i, operand)` says so. The result keeps its own.
    ///
    /// # Errors
    /// As [`pull`], and whatever the observer reports.
    pub(crate) fn pull(
        &mut self,
        cx: &dyn Recording,
        id: Id,
        definition: Option<Applied>,
        wanted: impl Fn(usize, Id) -> bool,
        observer: &mut dyn PassObserver,
    ) -> Result<()> {
        let Some(total) = self.total(cx, id) else {
            return Ok(());
        };
        cx.take_error().map_or(Ok(()), Err)?;
        let gradient = observer.complete(id, total)?;
        if let Some(sum) = self.sums.get_mut(id) {
            sum.dense = Some(gradient);
        }
        let Some((op, args)) = definition else {
            return Ok(());
        };
        let ends = (Ex::new(cx, gradient), Ex::new(cx, id));
        let x = named(cx, &args);
        pull(
            &*op,
            ends,
            &x,
            |i| wanted(i, args[i]),
            |i, gradient| {
                observer.product(Product {
                    op: op.clone(),
                    rule: ("vjp", i),
                    value: gradient.id(),
                    like: args[i],
                });
                self.add(cx, args[i], gradient.id());
                cx.take_error().map_or(Ok(()), Err)
            },
        )
    }
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
    let mut cotangents = Cotangents::new(values);
    if on(root) {
        let seed = seed.unwrap_or_else(|| Ex::new(cx, root).ones_like().id());
        cotangents.add(cx, root, seed);
    }
    for (&id, definition) in values.iter().zip(definitions).rev() {
        poller.step(VALUE)?;
        cotangents.pull(cx, id, definition, |_, a| on(a), observer)?;
    }
    // What is complete is one value.
    let gradient = |&x: &Id| cotangents.sums.get(x).and_then(|sum| sum.dense);
    Ok(wrt.iter().map(gradient).collect())
}

/// Tangents of values, as they are found.
pub(crate) struct Tangents {
    tangents: Slots<Option<Id>>,
    /// What stands for a value in all that is computed from it.
    replaced: Slots<Option<Id>>,
}

impl Tangents {
    /// None yet, for these values.
    pub(crate) fn new(values: &[Id]) -> Self {
        Tangents {
            tangents: Slots::new(values),
            replaced: Slots::new(values),
        }
    }

    /// The tangent of a value; `None` if it does not move.
    pub(crate) fn get(&self, id: Id) -> Option<Id> {
        self.tangents.get(id).copied().flatten()
    }

    /// Lets a value move; of values that are not in the list nothing is kept.
    pub(crate) fn set(&mut self, id: Id, tangent: Option<Id>) {
        self.tangents.set(id, tangent);
    }

    /// What stands for a value in all that is computed from it: itself, as a rule.
    pub(crate) fn now(&self, id: Id) -> Id {
        self.replaced.get(id).copied().flatten().unwrap_or(id)
    }

    /// Lets another value stand for one in all that is computed from it.
    pub(crate) fn replace(&mut self, id: Id, by: Id) {
        self.replaced.set(id, Some(by));
    }

    /// Forward mode of one instruction: the tangent of its result `id`, from those of its operands.
    ///
    /// # Errors
    /// Whatever the operators of a rule report, and [`Error::Shape`] or [`Error::Type`] if a product
    /// is not of the type of what it is the tangent of.
    pub(crate) fn push(
        &mut self,
        cx: &dyn Recording,
        id: Id,
        (op, args): &Applied,
        observer: &mut dyn PassObserver,
    ) -> Result<()> {
        let operands: SmallVec<[Id; 3]> = args.iter().map(|&a| self.now(a)).collect();
        let mut y = Ex::new(cx, id);
        if operands != *args {
            y = Ex::new(cx, cx.apply(op.clone(), &operands));
            self.replaced.set(id, Some(y.id()));
        }
        let x = named(cx, &operands);
        let mut sum = GradientSum::default();
        for (i, &arg) in args.iter().enumerate() {
            // Where only the shape of an operand matters, nothing moves with its elements.
            let Some(tangent) = self.get(arg).filter(|_| op.reads(i)) else {
                continue;
            };
            let t = Ex::new(cx, tangent);
            if let Some(other) = checked(&**op, ("realigned", i), y, op.realigned(i, t, y, &x))? {
                y = other;
                self.replaced.set(id, Some(y.id()));
            }
            if let Some(part) = push(cx, op, i, (t, y), &x, observer)? {
                sum.add(cx, part.id());
            }
        }
        let tangent = sum.total(cx);
        cx.take_error().map_or(Ok(()), Err)?;
        self.set(id, tangent);
        Ok(())
    }
}

/// The tangents of `results` where values move: `moving` names each with its tangent. `None` for a
/// result that does not move. `values` are as for [`gradients`].
///
/// # Errors
/// As [`Tangents::push`].
pub(crate) fn tangents(
    cx: &dyn Recording,
    values: &[Id],
    moving: &[(Id, Id)],
    results: &[Id],
    observer: &mut dyn PassObserver,
) -> Result<Vec<Option<Id>>> {
    let mut tangents = Tangents::new(values);
    for &(x, tangent) in moving {
        tangents.set(x, Some(tangent));
    }
    let mut poller = Poller::default();
    for &id in values {
        poller.step(VALUE)?;
        if tangents.get(id).is_some() {
            continue;
        }
        if let Some(applied) = cx.definition(id) {
            tangents.push(cx, id, &applied, observer)?;
        }
    }
    Ok(results.iter().map(|&y| tangents.get(y)).collect())
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
