//! The eager algebra: rules run on values and compute at once.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::offload::{offload, offload_operands};
use super::value::{Pattern, Value, apply, apply_arrays, apply_numbers};
use crate::array::{Array, DType, Type, equal_shapes};
use crate::error::{Error, Result};
use crate::rules::differentiate;
use crate::rules::{Algebra, Ex, Form, Id, OpRef, Operator};

/// A value of a rule: one that a node holds, or one that the rule computed.
enum RuleValue<'v> {
    Held(&'v Value),
    New(Value),
}

impl RuleValue<'_> {
    #[inline]
    fn get(&self) -> &Value {
        match self {
            RuleValue::Held(value) => value,
            RuleValue::New(value) => value,
        }
    }
}

/// Values by name, for the length of one rule.
struct Eager<'v> {
    values: RefCell<SmallVec<[RuleValue<'v>; 8]>>,
    error: RefCell<Option<Error>>,
}

impl<'v> Eager<'v> {
    fn push(&self, slot: RuleValue<'v>) -> Id {
        let mut values = self.values.borrow_mut();
        values.push(slot);
        (values.len() - 1) as Id
    }
}

/// The gradients of `op`'s operands for which `wanted` says so, from the gradient `g` of its
/// result `y`: `give(i, gradient)`.
///
/// # Errors
/// As [`differentiate::pull`].
pub(super) fn pull<O: Operator + ?Sized>(
    op: &O,
    g: Value,
    y: &Value,
    args: &[&Value],
    wanted: impl Fn(usize) -> bool,
    mut give: impl FnMut(usize, Value) -> Result<()>,
) -> Result<()> {
    let mut eager = Eager {
        values: RefCell::default(),
        error: RefCell::new(None),
    };
    // In place: the room for them is large to move.
    let values = eager.values.get_mut();
    values.push(RuleValue::New(g));
    values.push(RuleValue::Held(y));
    for a in args {
        values.push(RuleValue::Held(a));
    }
    let name = |id: usize| Ex::new(&eager, id as Id);
    let mut x: SmallVec<[Ex<'_>; 3]> = SmallVec::new();
    for k in 0..args.len() {
        x.push(name(2 + k));
    }
    let given = 2 + args.len();
    differentiate::pull(op, (name(0), name(1)), &x, wanted, |i, gradient| {
        let gradient = {
            let id = gradient.id() as usize;
            let slot = &mut eager.values.borrow_mut()[id];
            match slot {
                // The rule made it, and it is asked for once.
                RuleValue::New(value) if id >= given => std::mem::replace(value, Value::none()),
                slot => slot.get().clone(),
            }
        };
        give(i, gradient)
    })
}

/// A single number repeated, as the gradient of a sum is, and its product with something of that
/// shape, without the array of it.
#[inline(never)]
fn repeated(op: &dyn Operator, form: Form, x: &Value, y: &Value) -> Option<Result<Value>> {
    if form == Form::Repeated {
        return x.repeated(y).map(Ok);
    }
    let all = Pattern::All;
    let (number, ty, other) = match (x, y) {
        (Value::Repeated(pattern, number, ty), other) if *pattern == all => (number, ty, other),
        (other, Value::Repeated(pattern, number, ty)) if *pattern == all => (number, ty, other),
        _ => return None,
    };
    if form != Form::Product || other.shape() != &ty.shape[..] || other.dtype() != ty.dtype {
        return None;
    }
    if *number == 1.0 {
        return Some(other.dense().map(Value::Dense));
    }
    let number = Value::Dense(Array::scalar(ty.dtype, *number));
    Some(apply(op, &[&number, other], None))
}

/// As [`apply`], where [`apply_numbers`] gives nothing: what may take long is offloaded, and
/// numbers are repeated without an array.
#[inline(never)]
fn apply_or_offload(op: &OpRef, form: Form, args: &[&Value]) -> Result<Value> {
    if let Some(operands) = offload_operands(&**op, args) {
        return offload(op.clone(), operands);
    }
    if let [x, y] = args
        && let Some(value) = repeated(&**op, form, x, y)
    {
        return value;
    }
    apply_arrays(&**op, args, None)
}

impl Algebra for Eager<'_> {
    fn apply(&self, op: OpRef, args: &[Id]) -> Id {
        let value = {
            let values = self.values.borrow();
            let get = |k: usize| values[args[k] as usize].get();
            // Rules end in one of these, which mostly does nothing.
            let form = match args {
                [_, _] => op.form(),
                _ => Form::Other,
            };
            if matches!(form, Form::Shaped | Form::Repeated)
                && equal_shapes(get(0).shape(), get(1).shape())
            {
                return args[0];
            }
            let result = |operands: &[&Value]| match apply_numbers(&*op, operands) {
                Some(number) => Ok(number),
                None => apply_or_offload(&op, form, operands),
            };
            match args {
                [_] => result(&[get(0)]),
                [_, _] => result(&[get(0), get(1)]),
                _ => result(&(0..args.len()).map(get).collect::<SmallVec<[_; 4]>>()),
            }
        };
        match value {
            Ok(value) => self.push(RuleValue::New(value)),
            Err(e) => {
                self.error.borrow_mut().get_or_insert(e);
                args[0]
            }
        }
    }

    fn ty(&self, id: Id) -> Type {
        self.values.borrow()[id as usize].get().ty()
    }

    fn constant(&self, value: f64, dtype: DType) -> Id {
        self.push(RuleValue::New(Value::Dense(Array::scalar(dtype, value))))
    }

    #[inline]
    fn take_error(&self) -> Option<Error> {
        self.error.borrow_mut().take()
    }

    #[inline]
    fn is_sound(&self, a: Id, b: Id) -> bool {
        let values = self.values.borrow();
        let (a, b) = (values[a as usize].get(), values[b as usize].get());
        let alike = a.dtype() == b.dtype() && equal_shapes(a.shape(), b.shape());
        alike && self.error.borrow().is_none()
    }
}
