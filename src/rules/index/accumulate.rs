//! Sums of scattered values, in one array.
//!
//! A value that is looked up many times has as many gradients, each of a few rows of it. They are
//! added to one array in place, so that a loop over the elements of an array costs what it touches.

use std::ops::Range;

use crate::array::{SliceMut, Type, Typed, View, ViewMut, with_real};
use crate::error::{Error, Result};
use crate::rules::{
    Argument, Case, Entry, Ex, Key, OpRef, Operator, Scatter, ScatterRows, SliceAdjoint, SliceItem,
};

/// An operator that scatters, and which of the operands of the sum are its.
type Summand = (OpRef, Range<usize>);

/// The sum of operand 0, if there is a base, and of operators that scatter: their operands follow
/// one another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Accumulate {
    base: bool,
    parts: Vec<Summand>,
}

impl Accumulate {
    /// The sum of a `base`, if there is one, and of operators that [scatter](Operator::scatter),
    /// each with the number of its operands.
    pub fn new(base: bool, parts: impl IntoIterator<Item = (OpRef, usize)>) -> Self {
        let mut next = usize::from(base);
        let part = |(op, count)| {
            next += count;
            (op, next - count..next)
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

    /// Adds all parts. `args` are the operands without the base.
    fn each(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let base = usize::from(self.base);
        for (op, operands) in &self.parts {
            let operands = operands.start - base..operands.end - base;
            let scatter = op.scatter().ok_or_else(too_few)?;
            let (shape, count) = (out.shape, out.data.len());
            let data = out.data.part(0, count);
            scatter.add(&args[operands], ViewMut { shape, data })?;
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
        for (op, operands) in &self.parts {
            end = operands.end;
            let operands = args.get(operands.clone()).ok_or_else(too_few)?;
            let ty = crate::rules::result_type(&**op, operands)?;
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
        let (op, operands) = self.part_of(i)?;
        op.vjp(i - operands.start, g, y, &x[operands.clone()])
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        if self.base && i == 0 {
            return Some(t);
        }
        let (op, operands) = self.part_of(i)?;
        op.jvp(i - operands.start, t, y, &x[operands.clone()])
    }

    fn reads(&self, i: usize) -> bool {
        match self.part_of(i) {
            Some((op, operands)) => op.reads(i - operands.start),
            None => true,
        }
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        let (op, operands) = self.part_of(i)?;
        op.limit(i - operands.start, args.get(operands.clone())?)
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
        let rows = || (OpRef::Static(&ScatterRows), 3);
        let slice = |items: Vec<SliceItem>| (OpRef::new(SliceAdjoint { items }), 2);
        let table = || Argument::shape_only(&[5, 3]);
        let looked_up = || {
            [
                Argument::real(&[4, 3], ANY),
                Argument::index(&[4], 5),
                table(),
            ]
        };
        let row = || [Argument::real(&[3], ANY), table()];
        let one = || [Argument::real(&[], ANY), table()];
        let at = |i| vec![SliceItem::At(i)];
        let element = || slice(vec![SliceItem::At(2), SliceItem::At(-1)]);
        let case = |base: bool, parts: Vec<(OpRef, usize)>, args: Vec<Argument>| {
            let first = base.then(|| Argument::real(&[5, 3], ANY));
            let args = first.into_iter().chain(args).collect();
            Case::new(OpRef::new(Accumulate::new(base, parts)), args)
        };
        vec![
            case(
                false,
                vec![rows(), rows()],
                [looked_up(), looked_up()].concat(),
            ),
            case(true, vec![rows()], looked_up().into()),
            case(
                false,
                vec![slice(at(1)), slice(at(-4)), element()],
                [row(), row(), one()].concat(),
            ),
            case(
                true,
                vec![slice(at(0)), rows()],
                row().into_iter().chain(looked_up()).collect(),
            ),
        ]
    },
}];
