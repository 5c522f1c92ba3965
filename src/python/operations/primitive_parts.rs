//! Several results of an operator written in Python, in one array, and taken apart.
//!
//! An operator has one result. That of a primitive that returns several arrays is one array with
//! one axis: the elements of the first, those of the second, and so on. What the caller gets are
//! parts of it ([`PrimitivePart`]), and the gradient of a part is zeros but in its place
//! ([`PrimitivePartAdjoint`]), so that what nobody used has a gradient of zeros.
//!
//! Where a part begins depends on the shapes of the primitive's operands, which may change from one
//! run of a program to the next. So a part has three kinds of operands: the array that it is taken of,
//! the primitive's result, and the primitive's operands. Of all but the first only the type matters.
//!
//! Limits: parts of float32 and float64 are in one array of float64, which holds both exactly. Each
//! part's gradient in a graph, though not in a program, is an array as large as all parts together.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

use crate::array::{
    Array, DType, Real, Slice, SliceMut, Type, Typed, View, ViewMut, element_count, show_shape,
    with_real,
};
use crate::error::{Error, Result};
use crate::rules::{Ex, Key, OpRef, Operator, Scatter};

/// An operator whose result may have several parts.
pub(in crate::python) trait HasParts: Send + Sync {
    /// The types of the parts for operands of these types.
    ///
    /// # Errors
    /// Whatever it takes to find out, if these are new.
    fn part_types(&self, operands: &[Type]) -> Result<Arc<[Type]>>;
}

/// The type of the array that holds such parts; a single part is that array.
///
/// # Errors
/// [`Error::Shape`] if they are too large together.
pub(in crate::python) fn packed(parts: &[Type]) -> Result<Type> {
    if let [only] = parts {
        return Ok(only.clone());
    }
    let narrow = parts.iter().all(|part| part.dtype == DType::F32);
    let mut total = 0_usize;
    for part in parts {
        total = total.saturating_add(element_count(&part.shape)?);
    }
    element_count(&[total])?;
    Ok(Type::new(
        if narrow { DType::F32 } else { DType::F64 },
        &[total],
    ))
}

/// Writes numbers, or adds them to those that are there, in the type of those.
fn write(from: Slice<'_>, mut to: SliceMut<'_>, add: bool) {
    with_real!(from.dtype(), S => with_real!(to.dtype(), T => {
        let (from, to) = (S::slice(from), T::slice_mut(&mut to));
        for (to, &x) in to.iter_mut().zip(from) {
            let x = T::of(x.to());
            *to = if add { *to + x } else { x };
        }
    }));
}

/// Writes parts one behind the other. They are of the types that `out` was made for.
pub(in crate::python) fn pack(parts: &[Array], mut out: ViewMut<'_>) {
    let mut start = 0;
    for part in parts {
        write(part.view().data, out.data.part(start, part.size()), false);
        start += part.size();
    }
}

/// Which part of which operator's result.
#[derive(Clone)]
pub(in crate::python) struct PartPlace {
    /// The operator. Weak, since the part's operand 1 is its result, and Python's collector counts who
    /// holds an operator of the caller's.
    of: Weak<dyn HasParts>,
    /// The number of the part, after the address of the operator, which tells it from others.
    key: (usize, usize),
    /// How messages and drawings call it.
    name: Arc<str>,
}

impl fmt::Debug for PartPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartPlace {
    /// Part `at` of the result of the operator at `address`.
    pub(in crate::python) fn new(
        of: Weak<dyn HasParts>,
        address: usize,
        at: usize,
        name: Arc<str>,
    ) -> Self {
        PartPlace {
            of,
            key: (address, at),
            name,
        }
    }

    /// The part's type, and where it begins, for the types of the operator's operands.
    fn locate(&self, operands: &[Type]) -> Result<(Type, usize)> {
        let gone = || Error::State(format!("{}: the primitive is gone", self.name));
        let parts = self.of.upgrade().ok_or_else(gone)?.part_types(operands)?;
        let before = parts.get(..self.key.1).unwrap_or_default();
        let part = parts.get(self.key.1).ok_or_else(gone)?;
        Ok((part.clone(), before.iter().map(Type::size).sum()))
    }

    /// As [`locate`](Self::locate), for operands 2 and on of a part.
    fn locate_by_types(&self, args: &[&Type]) -> Result<(Type, usize)> {
        let operands = args.iter().skip(2).map(|&ty| ty.clone());
        self.locate(&operands.collect::<Vec<Type>>())
    }

    /// Where the elements of a part of shape `shape` lie among `count` of the whole, for the views that
    /// a part has for operands.
    fn range(&self, args: &[View<'_>], shape: &[usize], count: usize) -> Result<Range<usize>> {
        let operands = args.iter().skip(2);
        let operands = operands.map(|x| Type::new(x.data.dtype(), x.shape));
        let (part, start) = self.locate(&operands.collect::<Vec<Type>>())?;
        let end = start + part.size();
        // The caller's function may give other shapes for operands of the same types.
        if *part.shape != *shape || end > count {
            return Err(Error::Shape(format!(
                "{}: expected a result of shape {}, as before, got {}",
                self.name,
                show_shape(shape),
                show_shape(&part.shape)
            )));
        }
        Ok(start..end)
    }

    /// Checks that an operand has a type.
    fn expect(&self, found: Option<&&Type>, expected: &Type) -> Result<()> {
        match found {
            Some(&found) if found == expected => Ok(()),
            _ => Err(Error::Shape(format!(
                "{}: expected {expected}, got {found:?}",
                self.name
            ))),
        }
    }
}

/// One part of what operand 0 holds as a primitive's result holds its parts.
#[derive(Debug, Clone)]
pub(in crate::python) struct PrimitivePart(pub(in crate::python) PartPlace);

/// Zeros of the type of operand 1, a primitive's result, with operand 0 in the place of a part.
#[derive(Debug, Clone)]
struct PrimitivePartAdjoint(PartPlace);

impl Operator for PrimitivePart {
    fn name(&self) -> &str {
        "primitive_part"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(&self.0.key)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let (part, _) = self.0.locate_by_types(args)?;
        match args {
            [whole, result, ..] => self.0.expect(Some(whole), result)?,
            _ => self.0.expect(None, &part)?,
        }
        Ok(part)
    }

    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        let whole = args[0].data;
        let at = self.0.range(args, out.shape, whole.len())?;
        write(whole.part(at.start, at.len()), out.data, false);
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| g.with_new(PrimitivePartAdjoint(self.0.clone()), &x[1..]))
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| t.with_new(self.clone(), &x[1..]))
    }

    fn reads(&self, i: usize) -> bool {
        i == 0
    }
}

impl Operator for PrimitivePartAdjoint {
    fn name(&self) -> &str {
        "primitive_part_adjoint"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(&self.0.key)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let (part, _) = self.0.locate_by_types(args)?;
        self.0.expect(args.first(), &part)?;
        Ok(args[1].clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        with_real!(out.data.dtype(), T => {
            T::slice_mut(&mut out.data).fill(T::default());
        });
        self.add(args, out)
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| g.with_new(PrimitivePart(self.0.clone()), &x[1..]))
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        (i == 0).then(|| t.with_new(self.clone(), &x[1..]))
    }

    fn reads(&self, i: usize) -> bool {
        i == 0
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for PrimitivePartAdjoint {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let at = self.0.range(args, args[0].shape, out.data.len())?;
        write(args[0].data, out.data.part(at.start, at.len()), true);
        Ok(())
    }
}

/// All parts of a value that holds them as the result `y` of an operator on `x` does.
pub(in crate::python) fn take_parts<'t>(
    of: impl Iterator<Item = PartPlace>,
    value: Ex<'t>,
    y: Ex<'t>,
    x: &[Ex<'t>],
) -> Vec<Ex<'t>> {
    let mut others = vec![y];
    others.extend_from_slice(x);
    of.map(|place| value.with_ref(OpRef::new(PrimitivePart(place)), &others))
        .collect()
}
