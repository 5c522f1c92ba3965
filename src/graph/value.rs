//! What a node of a graph holds, and how operators act on it at once.
//!
//! Most values are arrays. Four kinds stay in a smaller form while they can: a parameter's table (looked up by
//! rows without being copied), the gradient of a lookup (a few rows), of a sum (one number, repeated) and of
//! a trace (a multiple of the identity). An operator that has no shortcut for a form gets the array.

mod bags;
pub(super) mod table_value;

use std::borrow::Cow;
use std::rc::Rc;

use smallvec::SmallVec;

use self::table_value::TableValue;
use crate::array::{Array, DType, Dense, Number, Shape, Slice, Type, View, equal_shapes};
use crate::error::{Error, Result};
use crate::rules::{
    Accumulate, Form, Internal, Kernel, MOST_OPERANDS, Operator, Region, Scatter, ScatteredRows,
    Transpose, result_type, shares,
};
use crate::table::{Gradient, Rows, add_into};

// Every operator moves values: no form is larger than an array and a tag.
const _: () = assert!(size_of::<Value>() <= size_of::<Array>() + size_of::<usize>());

/// Which elements of an array a [repeated](Value::Repeated) number fills; all others are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// All elements.
    All,
    /// The diagonal of a matrix.
    Diagonal,
}

/// A value of a graph. See the [module documentation](self).
#[derive(Debug, Clone)]
pub enum Value {
    /// An array.
    Dense(Array),
    /// Some rows of an array of zeros.
    Rows(Rows),
    /// One number, repeated in an array of the given type: in all places, or on the diagonal of a
    /// matrix that is zero elsewhere.
    Repeated(Pattern, f64, Type),
    /// A parameter.
    Table(Rc<TableValue>),
}

impl Value {
    /// What stands where a value was moved out.
    #[inline]
    pub(super) fn none() -> Self {
        Value::Dense(0.0.into())
    }

    /// Element type and shape.
    pub fn ty(&self) -> Type {
        match self {
            Value::Dense(a) => a.ty(),
            Value::Rows(r) => r.ty().clone(),
            Value::Repeated(_, _, ty) => ty.clone(),
            Value::Table(t) => t.ty().clone(),
        }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Value::Dense(a) => a.dtype(),
            Value::Rows(r) => r.ty().dtype,
            Value::Repeated(_, _, ty) => ty.dtype,
            Value::Table(t) => t.ty().dtype,
        }
    }

    /// Length of each axis.
    #[inline]
    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Value::Dense(a) => a.shape(),
            Value::Rows(r) => &r.ty().shape,
            Value::Repeated(_, _, ty) => &ty.shape,
            Value::Table(t) => &t.ty().shape,
        }
    }

    /// The value, if it is a single number of type `T`.
    #[inline]
    fn number<T: Number>(&self) -> Option<T> {
        match self {
            Value::Dense(a) => a.number(),
            Value::Table(t) if t.ty().shape.is_empty() => t.number(),
            _ => None,
        }
    }

    /// The value as an array.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory) if there is not the memory, [`State`](crate::Error::State)
    /// if the value is a table that one worker trains.
    #[inline(never)]
    pub fn dense(&self) -> Result<Array> {
        match self {
            Value::Dense(a) => Ok(a.clone()),
            Value::Rows(r) => r.try_to_dense(),
            Value::Table(t) => t.dense(),
            Value::Repeated(Pattern::All, x, ty) => {
                let mut out = Array::scratch(ty.dtype, &ty.shape)?;
                match &mut out {
                    Array::F32(d) => d.make_mut()?.fill(*x as f32),
                    Array::F64(d) => d.make_mut()?.fill(*x),
                    Array::U32(_) => {}
                }
                Ok(out)
            }
            Value::Repeated(Pattern::Diagonal, scale, ty) => {
                let mut out = Array::zeros(ty)?;
                let step = ty.shape[1] + 1;
                let n = ty.shape[0].min(ty.shape[1]);
                match &mut out {
                    Array::F32(d) => {
                        let d = d.make_mut()?;
                        (0..n).for_each(|i| d[i * step] = *scale as f32);
                    }
                    Array::F64(d) => {
                        let d = d.make_mut()?;
                        (0..n).for_each(|i| d[i * step] = *scale);
                    }
                    Array::U32(_) => {}
                }
                Ok(out)
            }
        }
    }

    /// A single number repeated to the shape of another value; `None` if this is something else.
    pub(super) fn repeated(&self, like: &Value) -> Option<Value> {
        let Value::Dense(x) = self else {
            return None;
        };
        let shape = like.shape();
        let one = x.shape().iter().all(|&n| n == 1);
        (one && x.shape().len() <= shape.len() && x.dtype().is_real())
            .then(|| x.item().ok())?
            .map(|number| Value::Repeated(Pattern::All, number, Type::new(x.dtype(), shape)))
    }

    /// The sum of two values of the same type.
    ///
    /// # Errors
    /// As [`Value::dense`].
    pub(crate) fn add(self, other: Value) -> Result<Value> {
        Ok(match (self, other) {
            (Value::Rows(mut a), Value::Rows(b)) => {
                a.append(b);
                Value::Rows(a)
            }
            // Rows are added one after the other, as a program does: equal bits.
            (Value::Rows(r), other) | (other, Value::Rows(r)) => {
                let mut sum = other.dense()?;
                drop(other);
                r.add_to(&mut sum)?;
                Value::Dense(sum)
            }
            (a, b) => {
                let mut sum = a.dense()?;
                drop(a);
                add_into(&mut sum, &b.dense()?)?;
                Value::Dense(sum)
            }
        })
    }

    /// The value as a parameter's gradient.
    ///
    /// # Errors
    /// As [`Value::dense`].
    pub(crate) fn into_gradient(self) -> Result<Gradient> {
        Ok(match self {
            Value::Dense(a) => Gradient::Dense(a),
            Value::Rows(r) if !r.has_all() => Gradient::Rows(r),
            other => Gradient::Dense(other.dense()?),
        })
    }
}

impl From<Gradient> for Value {
    fn from(g: Gradient) -> Self {
        match g {
            Gradient::Dense(a) => Value::Dense(a),
            Gradient::Rows(r) => Value::Rows(r),
        }
    }
}

/// Applies an operator to values at once.
///
/// `reuse` may hold the memory of an earlier result, which is written again if it
/// has the right type and is not shared.
///
/// # Errors
/// Whatever [`Operator::infer`] (where it is asked: [`Operator::kernel`]) and [`Operator::eval`]
/// report.
#[inline]
pub(crate) fn apply<O: Operator + ?Sized>(
    op: &O,
    args: &[&Value],
    reuse: Option<Array>,
) -> Result<Value> {
    match apply_numbers(op, args) {
        Some(number) => Ok(number),
        None => apply_arrays(op, args, reuse),
    }
}

/// As [`apply`], of an elementwise operator and single numbers; `None` if these are something else.
#[inline]
pub(super) fn apply_numbers<O: Operator + ?Sized>(op: &O, args: &[&Value]) -> Option<Value> {
    let first = args.first()?;
    if !first.shape().is_empty() {
        return None;
    }
    match first.dtype() {
        DType::F64 => numbers::<f64, O>(op, args),
        DType::F32 => numbers::<f32, O>(op, args),
        DType::U32 => None,
    }
}

/// As [`apply`], where [`apply_numbers`] gives nothing.
pub(super) fn apply_arrays<O: Operator + ?Sized>(
    op: &O,
    args: &[&Value],
    reuse: Option<Array>,
) -> Result<Value> {
    if args.iter().any(|a| !matches!(a, Value::Dense(_)))
        && let Some(shortcut) = structured(op, args)
    {
        return shortcut;
    }
    if let Some(scatter) = op.scatter()
        && let Some(sum) = scattered(op, scatter, args)
    {
        return sum;
    }
    if let Some((definition, n)) = op.definition(Internal)
        && let Some((dtype, shape, slices)) = alike(args)
        && let Some(kernel) = definition.kernel_of(n, dtype, args.len())
    {
        let mut out = memory(reuse, dtype, shape)?;
        if let Some(view) = out.view_mut() {
            kernel.apply_split(&slices[..args.len()], view.data)?;
        }
        return Ok(Value::Dense(out));
    }
    // Pushed one by one: it costs less than collecting for the few operands there are.
    let mut dense: SmallVec<[Cow<'_, Array>; 3]> = SmallVec::new();
    let mut types: SmallVec<[Type; 3]> = SmallVec::new();
    for arg in args {
        let array = match arg {
            Value::Dense(array) => Cow::Borrowed(array),
            other => Cow::Owned(other.dense()?),
        };
        types.push(array.ty());
        dense.push(array);
    }
    let mut refs: SmallVec<[&Type; 3]> = SmallVec::new();
    for ty in &types {
        refs.push(ty);
    }
    let ty = result_type(op, &refs)?;
    if shares(op, &refs, &ty) {
        return Ok(Value::Dense(dense[0].with_shape(&ty.shape)));
    }
    let is_one = dense.first().is_some_and(|first| first.size() == 1);
    if is_one && op.form() == Form::Diagonal && ty.ndim() == 2 {
        return Ok(Value::Repeated(Pattern::Diagonal, dense[0].item()?, ty));
    }
    let mut out = memory(reuse, ty.dtype, &ty.shape)?;
    let mut views: SmallVec<[View<'_>; 3]> = SmallVec::new();
    for array in &dense {
        views.push(array.view());
    }
    if let Some(view) = out.view_mut() {
        op.eval(&views, view)?;
    }
    Ok(Value::Dense(out))
}

/// Element type, shape and elements of up to three arrays of one type, or some of them single
/// numbers; `None` if they are something else.
#[inline]
fn alike<'v>(args: &[&'v Value]) -> Option<(DType, &'v [usize], [Slice<'v>; MOST_OPERANDS])> {
    let mut slices = [Slice::F64(&[]); MOST_OPERANDS];
    let mut common: Option<(DType, &[usize])> = None;
    for (slice, arg) in slices.iter_mut().zip(args) {
        let Value::Dense(array) = arg else {
            return None;
        };
        let view = array.view();
        let dtype = view.data.dtype();
        match &mut common {
            None => common = Some((dtype, view.shape)),
            Some((other, _)) if *other != dtype => return None,
            Some((_, shape)) if shape.is_empty() => *shape = view.shape,
            Some((_, shape)) if !view.shape.is_empty() && !equal_shapes(view.shape, shape) => {
                return None;
            }
            _ => {}
        }
        *slice = view.data;
    }
    common.map(|(dtype, shape)| (dtype, shape, slices))
}

/// Memory for a result: that of an earlier one, if it has the type and is not shared.
#[inline]
fn memory(reuse: Option<Array>, dtype: DType, shape: &[usize]) -> Result<Array> {
    let fits = |old: &mut Array| {
        old.dtype() == dtype && equal_shapes(old.shape(), shape) && old.view_mut().is_some()
    };
    if let Some(mut old) = reuse
        && fits(&mut old)
    {
        return Ok(old);
    }
    Array::scratch(dtype, shape)
}

/// An elementwise operator on single numbers of type `T`, which needs no shapes and no
/// memory; `None` if it is something else.
#[inline]
fn numbers<T: Number, O: Operator + ?Sized>(op: &O, args: &[&Value]) -> Option<Value>
where
    Array: From<T>,
{
    fn tag<T: Number>(x: &T) -> Slice<'_> {
        T::tag(std::slice::from_ref(x))
    }
    let kernel = Kernel::of(op, T::DTYPE, args.len())?;
    let mut result = T::default();
    let out = T::tag_mut(std::slice::from_mut(&mut result));
    match args {
        [x] => kernel.apply(&[tag::<T>(&x.number()?)], out),
        [x, y] => kernel.apply(&[tag::<T>(&x.number()?), tag::<T>(&y.number()?)], out),
        [x, y, z] => {
            let (x, y, z) = (x.number()?, y.number()?, z.number()?);
            kernel.apply(&[tag::<T>(&x), tag::<T>(&y), tag::<T>(&z)], out);
        }
        _ => return None,
    }
    Some(Value::Dense(result.into()))
}

/// Shortcuts for values that are not arrays, where there is one.
fn structured<O: Operator + ?Sized>(op: &O, args: &[&Value]) -> Option<Result<Value>> {
    match args {
        [Value::Table(t), Value::Dense(Array::U32(index))] if op.form() == Form::RowLookup => {
            Some(t.table().read_rows(index).map(Value::Dense))
        }
        [Value::Table(t), others @ ..] if op.form() == Form::BagLookup => {
            let others = others.iter().map(|x| x.dense()).collect::<Result<Vec<_>>>();
            let sums = others.map(|others| bags::looked_up(op, t.table(), &others));
            sums.transpose()
                .map(|sums| sums.flatten().map(Value::Dense))
        }
        [Value::Table(t)] => sliced(op, t),
        [Value::Repeated(Pattern::Diagonal, scale, ty), other]
        | [other, Value::Repeated(Pattern::Diagonal, scale, ty)]
            if op.form() == Form::MatrixProduct
                && ty.shape[0] == ty.shape[1]
                && other.ty().ndim() == 2 =>
        {
            let first = matches!(args[0], Value::Repeated(Pattern::Diagonal, ..));
            let scaled = |matrix| scaled(op, args, matrix, *scale, first);
            Some(other.dense().and_then(scaled))
        }
        _ => None,
    }
}

/// A slice of a table, by the rows that it has elements of; `None` if there is a copy of all.
fn sliced<O: Operator + ?Sized>(op: &O, table: &TableValue) -> Option<Result<Value>> {
    let (items, ty) = (op.slice()?, table.ty());
    if table.has_copy() {
        return None;
    }
    let region = match (Region::new(items, &ty.shape), result_type(op, &[ty])) {
        (Ok(region), Ok(out)) if out.dtype == ty.dtype && out.shape == *region.shape() => region,
        (_, Err(error)) => return Some(Err(error)),
        _ => return None,
    };
    let rows = Dense::from(region.rows()?.collect::<Vec<u32>>());
    let rows = table.table().read_rows(&rows).map(Value::Dense);
    Some(rows.and_then(|rows| apply(&region.within(), &[&rows], None)))
}

/// The value of an operator that scatters, as rows if it adds rows, and as a sum in place if it
/// adds up others.
fn scattered<O: Operator + ?Sized>(
    op: &O,
    scatter: &dyn Scatter,
    args: &[&Value],
) -> Option<Result<Value>> {
    if let Some(sum) = scatter.accumulation() {
        return Some(accumulated(sum, args));
    }
    let rows = scatter.rows()?;
    let types: SmallVec<[Type; 3]> = args.iter().map(|a| a.ty()).collect();
    let types: SmallVec<[&Type; 3]> = types.iter().collect();
    let ty = match result_type(op, &types) {
        Ok(ty) if ty.ndim() > 0 => ty,
        Ok(_) => return None,
        Err(error) => return Some(Err(error)),
    };
    let rows = match rows {
        ScatteredRows::Index { rows, index } => {
            let (Some(rows), Some(Value::Dense(Array::U32(index)))) =
                (args.get(rows), args.get(index))
            else {
                return None;
            };
            rows.dense()
                .and_then(|rows| Rows::new(ty, index.clone(), rows))
        }
        ScatteredRows::Slice { values, items } => {
            let values = args.get(values)?.dense();
            let region = Region::new(items, &ty.shape);
            values.and_then(|values| Rows::sliced(ty, region?, values))
        }
        ScatteredRows::Bags {
            values,
            index,
            ids,
            offsets,
            weights,
        } => {
            let operands = [Some(values), Some(index), Some(ids), Some(offsets), weights];
            let operands = operands.into_iter().flatten().map(|k| args.get(k));
            let operands: Option<SmallVec<[_; 5]>> = operands.collect();
            let operands = operands?.into_iter().map(|x| x.dense());
            let operands = operands.collect::<Result<Vec<_>>>();
            operands.and_then(|operands| bags::scattered(ty, &operands))
        }
    };
    Some(rows.map(Value::Rows))
}

/// The sum of what operators scatter.
fn accumulated(sum: &Accumulate, args: &[&Value]) -> Result<Value> {
    let types: SmallVec<[Type; 8]> = args.iter().map(|a| a.ty()).collect();
    let types: SmallVec<[&Type; 8]> = types.iter().collect();
    result_type(sum, &types)?;
    let mut total = match sum.has_base() {
        true => Some(args[0].clone()),
        false => None,
    };
    let too_few = || Error::Type("accumulate: the operands are not those of its parts".into());
    for part in sum.parts() {
        let operands = sum.operands_of(part, args).ok_or_else(too_few)?;
        let part = apply(&*part.0, &operands, None)?;
        total = Some(match total {
            None => part,
            Some(total) => total.add(part)?,
        });
    }
    total.ok_or_else(|| Error::Type("accumulate: there is nothing to add".into()))
}

/// The product of a matrix with `scale` times the identity, which stood first or second.
fn scaled<O: Operator + ?Sized>(
    op: &O,
    args: &[&Value],
    matrix: Array,
    scale: f64,
    first: bool,
) -> Result<Value> {
    let types = [args[0].ty(), args[1].ty()];
    op.infer(&[&types[0], &types[1]])?;
    let transposed = op.transposes(usize::from(first));
    let mut out = if transposed {
        let axes = Shape::from_slice(&[1, 0]);
        apply(&Transpose { axes }, &[&Value::Dense(matrix)], None)?.dense()?
    } else {
        matrix
    };
    match &mut out {
        Array::F32(d) if scale != 1.0 => {
            d.make_mut()?.iter_mut().for_each(|x| *x *= scale as f32);
        }
        Array::F64(d) if scale != 1.0 => d.make_mut()?.iter_mut().for_each(|x| *x *= scale),
        _ => {}
    }
    Ok(Value::Dense(out))
}

#[cfg(test)]
mod tests;
