//! Frozen rules against eager ones, and what they say of themselves.

use super::*;

/// Freezes Σ seed·op(operands), with the operands as parameters or as leaves, and compares
/// with eager numbers.
pub(super) fn check_frozen(
    name: &str,
    op: &OpRef,
    operands: &[Array],
    trained: bool,
) -> Result<()> {
    let mut inputs = Vec::new();
    let mut ids = Vec::new();
    let mut args = Vec::new();
    for operand in operands {
        let (id, arg) = if !operand.dtype().is_real() {
            inputs.push(Input::new(operand.clone()));
            (None, inputs[inputs.len() - 1].clone().boxed())
        } else if trained {
            let parameter = Parameter::new(operand.clone());
            (Some(parameter.param().table().id()), parameter.boxed())
        } else {
            let leaf = Independent::new(operand.clone())?;
            (Some(leaf.id()), leaf.boxed())
        };
        ids.push(id);
        args.push(arg);
    }
    let y = Variable::apply(op.clone(), &args)?;
    let ty = y.ty()?;
    if !ty.dtype.is_real() {
        let program = y.freeze()?;
        let bound: Vec<Array> = inputs.iter().map(|x| x.value()).collect::<Result<_>>()?;
        assert_close(&program.run(&bound)?, &y.value()?, 0.0, name);
        return Ok(());
    }
    let seed = numbers(ty.dtype, &ty.shape, 0);
    let weighted = Variable::apply(
        OpRef::Static(&rules::Mul),
        &[y.clone(), Constant::new(seed.clone()).boxed()],
    )?;
    let (value, grads) = Frozen::new(&weighted)?.run(&inputs)?;
    assert_close(&value, &weighted.value()?, 0.0, name);
    let eager = gradients(op, operands, seed)?;
    for (k, id) in ids.iter().enumerate() {
        if let Some(id) = id {
            let what = format!("{name}, operand {k}");
            assert_close(&grads[id], &eager[k], rounding(ty.dtype), &what);
        }
    }
    Ok(())
}

#[test]
fn frozen_rules_are_eager_rules() -> Result<()> {
    let mut rng = Rng::seed_from_u64(3);
    for (name, case) in cases() {
        for dtype in [DType::F64, DType::F32] {
            let operands = operands(&case, dtype, &mut rng)?;
            for trained in [false, true] {
                let name = format!("{name} in {dtype}, parameters: {trained}");
                check_frozen(&name, &case.op, &operands, trained)?;
            }
        }
    }
    Ok(())
}

#[test]
fn operands_are_said_to_be_read_if_their_values_matter() -> Result<()> {
    let mut rng = Rng::seed_from_u64(4);
    for (name, case) in cases() {
        let operands = operands(&case, DType::F64, &mut rng)?;
        let y = evaluate(&case.op, &operands)?;
        for (k, argument) in case.args.iter().enumerate() {
            let shape_only = matches!(argument, Argument::ShapeOnly { .. });
            assert_eq!(case.op.reads(k), !shape_only, "{name}, operand {k}");
            if shape_only {
                let mut changed = operands.clone();
                changed[k] = Array::full(&operands[k].ty(), f64::NAN);
                assert_close(&evaluate(&case.op, &changed)?, &y, 0.0, &name);
            }
        }
    }
    Ok(())
}
