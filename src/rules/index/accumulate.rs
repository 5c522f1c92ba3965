//! Sums of scattered values, in one array.
//!
//! A value that is looked up many times has as many gradients, each of a few rows of it. They are
//! added to one array in place, so that a loop over the elements of an array costs what it touches.

use std::ops::Range;

use smallvec::SmallVec;

use crate::array::{Slice, SliceMut, Type, Typed, View, ViewMut, with_real};
use crate::error::{Error, Result};
use crate::rules::{
    Argument, Case, Entry, Ex, Key, OpRef, Operator, Scatter, ScatterRows, SliceAdjoint, SliceItem,
};

/// An operator that scatters, and which of the operands of the sum are its.
type Summand = (OpRef, Range<usize>);

/// The sum of operand 0, if there is a base, and of operators that scatter: their operands follow
/// one another. What an operator is given for the type of its result alone ([`Scatter::like`]) is left
/// out where there is a base, which has that type: a loop that adds to an array would else keep what
/// it was looked up in each turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Accumulate {
    base: bool,
    parts: Vec<Summand>,
}

impl Accumulate {
    /// The sum of a `base`, if there is one, and of operators that [scatter](Operator::scatter),
    /// each with the number of its operands. If there is a base, [`Scatter::like`] is not among them.
    pub fn new(base: bool, parts: impl IntoIterator<Item = (OpRef, usize)>) -> Self {
        let mut next = usize::from(base);
        let part = |(op, count)| {
            let start = next;
            next = next.saturating_add(count);
            (op, start..next)
        };
        let parts = parts.into_iter().map(part).collect();
        Accumulate { base, parts }
    }

    /// Whether operand 0 is an array to add to.
    pub fn has_base(&self) -> bool {
        self.base
    }

    /// The operators that scatter, in order, and the operands of each.
    pub fn parts(&self) -> &[(OpRef, Range<usize>)] {
        &self.parts
    }

    /// The part that has operand `i`.
    fn part_of(&self, i: usize) -> Option<&Summand> {
        let k = self
            .parts
            .partition_point(|(_, operands)| operands.end <= i);
        self.parts
            .get(k)
            .filter(|(_, operands)| operands.contains(&i))
    }

    /// Of all operands those of a part, with the base as what the part is given for its type.
    pub(crate) fn operands_of<T: Clone>(
        &self,
        part: &Summand,
        args: &[T],
    ) -> Option<SmallVec<[T; 5]>> {
        let (op, operands) = part;
        let mut own = SmallVec::from(args.get(operands.clone())?);
        if let Some(like) = self.omitted(op) {
            own.insert(like.min(own.len()), args.first()?.clone());
        }
        Some(own)
    }

    /// Which operand of a part is left out.
    fn omitted(&self, op: &OpRef) -> Option<usize> {
        op.scatter().filter(|_| self.base)?.like()
    }

    /// The part that has operand `i`, and which one of the part's that is.
    fn place_of(&self, i: usize) -> Option<(&Summand, usize)> {
        let part = self.part_of(i)?;
        let own = i - part.1.start;
        let shift = self.omitted(&part.0).is_some_and(|like| own >= like);
        Some((part, own + usize::from(shift)))
    }

    /// Adds all parts. `args` are the operands without the base.
    fn each(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let base = usize::from(self.base);
        for (op, operands) in &self.parts {
            let operands = operands.start - base..operands.end - base;
            let scatter = op.scatter().ok_or_else(too_few)?;
            let mut own: SmallVec<[View<'_>; 5]> = SmallVec::from(&args[operands]);
            if let Some(like) = self.omitted(op) {
                let nothing = Slice::none(out.data.dtype());
                own.insert(like.min(own.len()), View::new(out.shape, nothing));
            }
            let (shape, count) = (out.shape, out.data.len());
            let data = out.data.part(0, count);
            scatter.add(&own, ViewMut { shape, data })?;
        }
        Ok(())
    }
}

impl Operator for Accumulate {
    fn name(&self) -> &str {
        "accumulate"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let mut found = match self.base {
            true => args.first().map(|&ty| ty.clone()),
            false => None,
        };
        let mut end = usize::from(self.base);
        for part in &self.parts {
            let op = &part.0;
            end = part.1.end;
            let operands = self.operands_of(part, args).ok_or_else(too_few)?;
            let ty = crate::rules::result_type(&**op, &operands)?;
            if op.scatter().is_none() || found.as_ref().is_some_and(|found| *found != ty) {
                return Err(Error::Shape(format!(
                    "accumulate: {} gives {ty}, which cannot be added in place",
                    op.name()
                )));
            }
            found = Some(ty);
        }
        let ty = found.filter(|ty| end == args.len() && ty.dtype.is_real());
        ty.ok_or_else(too_few)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        if self.base {
            with_real!(out.data.dtype(), T => {
                T::slice_mut(&mut out.data).copy_from_slice(args[0].real::<T>());
            });
        } else {
            zero(&mut out);
        }
        self.each(&args[usize::from(self.base)..], out)
    }

    fn update(&self, others: &[View<'_>], out: ViewMut<'_>) -> Option<Result<()>> {
        self.base.then(|| self.each(others, out))
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        if self.base && i == 0 {
            return Some(g);
        }
        let (part, own) = self.place_of(i)?;
        part.0.vjp(own, g, y, &self.operands_of(part, x)?)
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        if self.base && i == 0 {
            return Some(t);
        }
        let (part, own) = self.place_of(i)?;
        part.0.jvp(own, t, y, &self.operands_of(part, x)?)
    }

    fn reads(&self, i: usize) -> bool {
        self.place_of(i).is_none_or(|((op, _), own)| op.reads(own))
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        let (part, own) = self.place_of(i)?;
        part.0.limit(own, &self.operands_of(part, args)?)
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

fn too_few() -> Error {
    Error::Type("accumulate: the operands are not those of its parts".into())
}

/// Fills with zeros.
pub(in crate::rules) fn zero(out: &mut ViewMut<'_>) {
    match &mut out.data {
        SliceMut::F32(out) => out.fill(0.0),
        SliceMut::F64(out) => out.fill(0.0),
        SliceMut::U32(out) => out.fill(0),
    }
}

impl Scatter for Accumulate {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        if self.base {
            with_real!(out.data.dtype(), T => {
                let pairs = T::slice_mut(&mut out.data).iter_mut().zip(args[0].real::<T>());
                pairs.for_each(|(o, &x)| *o += x);
            });
        }
        self.each(&args[usize::from(self.base)..], out)
    }

    fn accumulation(&self) -> Option<&Accumulate> {
        Some(self)
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "accumulate",
    formula: "x, or zeros, with values added at places",
    source: "definition",
    reference: None,
    internal: Some("the gradient of what is looked up several times"),
    cases: || {
        let rows = |count| (OpRef::Static(&ScatterRows), count);
        let slice = |items: Vec<SliceItem>, count| (OpRef::new(SliceAdjoint { items }), count);
        let table = || Argument::shape_only(&[5, 3]);
        let added = || vec![Argument::real(&[4, 3], ANY), Argument::index(&[4], 5)];
        let looked_up = || [added(), vec![table()]].concat();
        let row = || Argument::real(&[3], ANY);
        let one = || Argument::real(&[], ANY);
        let at = |i| vec![SliceItem::At(i)];
        let element = || vec![SliceItem::At(2), SliceItem::At(-1)];
        let case = |base: bool, parts: Vec<(OpRef, usize)>, args: Vec<Argument>| {
            let first = base.then(|| Argument::real(&[5, 3], ANY));
            let args = first.into_iter().chain(args).collect();
            Case::new(OpRef::new(Accumulate::new(base, parts)), args)
        };
        vec![
            case(
                false,
                vec![rows(3), rows(3)],
                [looked_up(), looked_up()].concat(),
            ),
            case(true, vec![rows(2)], added()),
            case(
                false,
                vec![slice(at(1), 2), slice(at(-4), 2), slice(element(), 2)],
                vec![row(), table(), row(), table(), one(), table()],
            ),
            case(
                true,
                vec![slice(at(0), 1), rows(2), slice(element(), 1)],
                [vec![row()], added(), vec![one()]].concat(),
            ),
        ]
    },
}];
