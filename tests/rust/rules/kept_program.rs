//! One graph used again and again, whose later passes are by its program, against graphs built anew.

use super::*;

/// Passes that a walk takes before a program does.
const WALKED: usize = 32;
/// Passes in all.
const PASSES: usize = WALKED + 2;

/// Compares passes of one graph of Σ op(operands), which gets new operands each time.
fn check_passes(name: &str, op: &OpRef, passes: &[Vec<Array>], trained: bool) -> Result<()> {
    let leaf = |operand: &Array| -> Result<Variable> {
        Ok(match (operand.dtype().is_real(), trained) {
            (false, _) => Input::new(operand.clone()).boxed(),
            (true, true) => Parameter::new(operand.clone()).boxed(),
            (true, false) => Independent::new(operand.clone())?.boxed(),
        })
    };
    let leaves: Vec<Variable> = passes[0].iter().map(leaf).collect::<Result<_>>()?;
    let y = Variable::apply(op.clone(), &leaves)?;
    if !y.dtype().is_real() || !y.differentiable() {
        return Ok(());
    }
    let root = Variable::apply(OpRef::Static(&rules::Square), &[y])?;
    for (pass, operands) in passes.iter().enumerate() {
        for (leaf, operand) in leaves.iter().zip(operands) {
            leaf.set_value(operand.clone())?;
            leaf.zero_grad();
        }
        root.try_backward()?;
        if pass < WALKED {
            continue;
        }
        let fresh: Vec<Variable> = operands.iter().map(leaf).collect::<Result<_>>()?;
        let y = Variable::apply(op.clone(), &fresh)?;
        let again = Variable::apply(OpRef::Static(&rules::Square), &[y])?;
        again.try_backward()?;
        let name = format!("{name}, pass {pass}");
        assert_close(&root.value()?, &again.value()?, 0.0, &name);
        for (k, (leaf, fresh)) in leaves.iter().zip(&fresh).enumerate() {
            let (found, expected) = (leaf.grad(), fresh.grad());
            assert_eq!(found.is_some(), expected.is_some(), "{name}, operand {k}");
            let ty = leaf.ty()?;
            let what = format!("{name}, operand {k}");
            assert_close(
                &dense(found, &ty),
                &dense(expected, &ty),
                rounding(ty.dtype),
                &what,
            );
        }
    }
    Ok(())
}

#[test]
fn later_passes_give_what_the_first_ones_give() -> Result<()> {
    let mut rng = Rng::seed_from_u64(9);
    for entry in rules::table() {
        // One case of each: the others are compared with programs in `frozen`.
        let Some(case) = (entry.cases)().into_iter().next() else {
            continue;
        };
        for (dtype, trained) in [(DType::F64, false), (DType::F32, true)] {
            let passes = (0..PASSES).map(|_| operands(&case, dtype, &mut rng));
            let passes: Vec<Vec<Array>> = passes.collect::<Result<_>>()?;
            let name = format!("{} in {dtype}", entry.name);
            check_passes(&name, &case.op, &passes, trained)?;
        }
    }
    Ok(())
}
