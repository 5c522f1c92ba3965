//! Gradients and tangents against finite differences, to second order.

use super::*;

/// Gradients as graphs: equal to those of `backward`, and their own gradients to the
/// differences of them.
#[test]
fn gradients_of_gradients_are_those_of_finite_differences() -> Result<()> {
    const STEP: f64 = 1e-5;
    let mut rng = Rng::seed_from_u64(2);
    let mut checked = 0;
    for (name, case) in cases() {
        let operands = operands(&case, DType::F64, &mut rng)?;
        let y = evaluate(&case.op, &operands)?;
        if y.dtype() != DType::F64 {
            continue;
        }
        let mut draws = |like: &Array| {
            let weights = draw(like.size(), &[(-1.0, -0.5), (0.5, 1.0)], false, &mut rng);
            array(DType::F64, like.shape(), weights)
        };
        let seed = draws(&y)?;
        let eager = gradients(&case.op, &operands, seed.clone())?;
        let (first, moving) = slopes(&case, &operands, &seed)?;
        for (k, slope) in first.iter().enumerate() {
            let Some(slope) = slope else { continue };
            assert_close(
                &slope.value()?,
                &eager[k],
                1e-12,
                &format!("{name}, operand {k}"),
            );
            let weights = draws(&operands[k])?;
            let by = weights.to_f64();
            for (l, x) in moving.iter().enumerate() {
                let Some(x) = x else { continue };
                let second = weighted(slope, &weights)?.gradients(&[x])?.remove(0);
                let second = second.map_or(Ok(vec![0.0; operands[l].size()]), |s| {
                    s.value().map(|v| v.to_f64())
                })?;
                for (at, found) in second.iter().enumerate() {
                    // The graph of the slope is the same there, with another value of the leaf.
                    let moved = |step: f64| -> Result<f64> {
                        let mut data = operands[l].to_f64();
                        data[at] += step;
                        x.set_value(array(DType::F64, operands[l].shape(), data)?)?;
                        let slope = slope.value()?.to_f64();
                        Ok(slope.iter().zip(&by).map(|(s, w)| s * w).sum())
                    };
                    let expected = (moved(STEP)? - moved(-STEP)?) / (2.0 * STEP);
                    let bound = 1e-6 * (1.0 + expected.abs());
                    assert!(
                        (found - expected).abs() <= bound,
                        "{name}, operands {k} and {l}, element {at}: {found}, not {expected}"
                    );
                    checked += 1;
                }
                x.set_value(operands[l].clone())?;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
    Ok(())
}

/// Σ a·b of all elements, zero for what is not there.
fn inner(a: &Option<Variable>, b: &Array) -> Result<f64> {
    let a = a.as_ref().map(Variable::value).transpose()?;
    let a = a.map_or_else(|| vec![0.0; b.size()], |a| a.to_f64());
    Ok(a.iter().zip(b.to_f64()).map(|(a, b)| a * b).sum())
}

/// Forward mode, alone and with reverse mode in either order, against reverse mode (which is held
/// against differences above): the same sums of derivatives, taken another way.
#[test]
fn tangents_are_gradients_to_second_order() -> Result<()> {
    let mut rng = Rng::seed_from_u64(7);
    let mut checked = 0;
    for (name, case) in cases() {
        let operands = operands(&case, DType::F64, &mut rng)?;
        let (args, moving) = leaves(&case, &operands)?;
        let y = Variable::apply(case.op.clone(), &args)?;
        let wrt: Vec<&Variable> = moving.iter().flatten().collect();
        if y.dtype() != DType::F64 || wrt.is_empty() {
            continue;
        }
        let mut draws = |shape: &[usize]| {
            let count = element_count(shape)?;
            let numbers = draw(count, &[(-1.0, -0.5), (0.5, 1.0)], false, &mut rng);
            array(DType::F64, shape, numbers)
        };
        let weights = draws(&y.ty()?.shape)?;
        let shapes = wrt.iter().map(|x| Ok(x.ty()?.shape));
        let shapes = shapes.collect::<Result<Vec<_>>>()?;
        let mut directions = || -> Result<(Vec<Array>, Vec<Variable>)> {
            let arrays = shapes.iter().map(|s| draws(s));
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            let nodes = arrays.iter().map(|a| Constant::new(a.clone()).boxed());
            let nodes = nodes.collect();
            Ok((arrays, nodes))
        };
        let (first, first_nodes) = directions()?;
        let (second, second_nodes) = directions()?;
        let push = |y: &Variable, nodes: &[Variable]| -> Result<Option<Variable>> {
            let nodes: Vec<&Variable> = nodes.iter().collect();
            Ok(Variable::tangents(&[y], &wrt, &nodes)?.remove(0))
        };
        let same = |what: &str, a: f64, b: f64| {
            let near = (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()));
            assert!(near, "{name}, {what}: {a} and {b}");
        };
        // First order: what moves the result is what the gradients say.
        let moved = push(&y, &first_nodes)?;
        if let Some(moved) = &moved {
            assert_eq!(moved.ty()?, y.ty()?, "{name}");
        }
        let slopes = weighted(&y, &weights)?.gradients(&wrt)?;
        let by_gradient =
            || -> Result<f64> { slopes.iter().zip(&first).map(|(s, t)| inner(s, t)).sum() };
        same("forward", inner(&moved, &weights)?, by_gradient()?);
        // Second order, of the same sum in the second direction.
        let sum = |parts: Vec<Option<Variable>>, by: &[Array]| -> Result<Option<Variable>> {
            let parts = parts.into_iter().zip(by);
            let parts = parts.filter_map(|(part, by)| Some(weighted(&part?, by)));
            let mut total: Option<Variable> = None;
            for part in parts {
                let part = part?.sum().boxed();
                total = Some(match total {
                    None => part,
                    Some(total) => ops::binary(&rules::Add, &total, &part)?,
                });
            }
            Ok(total)
        };
        let along = |x: Option<Variable>| -> Result<f64> {
            let Some(x) = x else { return Ok(0.0) };
            let slopes = x.gradients(&wrt)?;
            slopes.iter().zip(&second).map(|(s, t)| inner(s, t)).sum()
        };
        let one = Array::from(1.0);
        let reverse = along(sum(slopes.clone(), &first)?)?;
        let tangent = sum(vec![moved], std::slice::from_ref(&weights))?;
        same("reverse over forward", along(tangent.clone())?, reverse);
        let twice = tangent.map(|x| push(&x, &second_nodes)).transpose()?;
        same(
            "forward over forward",
            inner(&twice.flatten(), &one)?,
            reverse,
        );
        let slope = sum(slopes, &first)?;
        let over = slope.map(|x| push(&x, &second_nodes)).transpose()?;
        same(
            "forward over reverse",
            inner(&over.flatten(), &one)?,
            reverse,
        );
        checked += 1;
    }
    assert!(checked > 150, "{checked}");
    Ok(())
}

#[test]
fn gradients_are_those_of_finite_differences() -> Result<()> {
    let mut rng = Rng::seed_from_u64(1);
    for (name, case) in cases() {
        let operands = operands(&case, DType::F64, &mut rng)?;
        let y = evaluate(&case.op, &operands)?;
        if !y.dtype().is_real() {
            continue;
        }
        let weights = draw(y.size(), &[(-1.0, -0.5), (0.5, 1.0)], false, &mut rng);
        let seed = array(y.dtype(), y.shape(), weights)?;
        let exact = gradients(&case.op, &operands, seed.clone())?;
        // A result in single precision moves in steps of its own.
        let (step, tolerance) = if y.dtype() == DType::F64 {
            (1e-5, 1e-7)
        } else {
            (0.1, 1e-5)
        };
        for (k, argument) in case.args.iter().enumerate() {
            assert_eq!(exact[k].ty(), operands[k].ty(), "{name}, operand {k}");
            // Indices and masks cannot be moved a little.
            let moves = match argument {
                Argument::Real { domain, .. } => domain.iter().all(|(low, high)| low < high),
                Argument::ShapeOnly { .. } | Argument::Dominant { .. } => true,
                Argument::Index { .. } | Argument::Offsets { .. } => false,
            };
            for (at, exact) in exact[k].to_f64().into_iter().enumerate() {
                let expected = if moves {
                    difference(&case.op, &operands, &seed, (k, at), step)?
                } else {
                    0.0
                };
                assert!(
                    (exact - expected).abs() <= tolerance * expected.abs().max(1.0),
                    "{name}, operand {k}, element {at}: {exact}, by differences {expected}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn indices_have_no_gradient() -> Result<()> {
    let mut rng = Rng::seed_from_u64(6);
    let mut checked = 0;
    for (name, case) in cases() {
        let (args, _) = leaves(&case, &operands(&case, DType::F64, &mut rng)?)?;
        let y = Variable::apply(case.op.clone(), &args)?;
        if !y.dtype().is_real() {
            assert!(!y.differentiable(), "{name}");
            assert!(matches!(y.try_backward(), Err(Error::Type(_))), "{name}");
            checked += 1;
        }
    }
    assert!(checked >= 3, "{checked}");
    Ok(())
}

#[test]
fn single_precision_gives_the_values_and_gradients_of_double() -> Result<()> {
    let mut rng = Rng::seed_from_u64(2);
    for (name, case) in cases() {
        let single = operands(&case, DType::F32, &mut rng)?;
        let widen = |a: &Array| match a.dtype() {
            DType::F32 => array(DType::F64, a.shape(), a.to_f64()),
            _ => Ok(a.clone()),
        };
        let double = single.iter().map(widen).collect::<Result<Vec<_>>>()?;
        let (y32, y64) = (evaluate(&case.op, &single)?, evaluate(&case.op, &double)?);
        if !y32.dtype().is_real() {
            assert_close(&y32, &y64, 0.0, &name);
            continue;
        }
        // Integers are computed in double precision.
        if !["cast", "from_index", "whole"].contains(&case.op.name()) {
            assert_eq!(y32.dtype(), DType::F32, "{name}");
        }
        assert_close(&widen(&y32)?, &widen(&y64)?, 1e-5, &name);
        let weights = draw(y32.size(), &[(-1.0, 1.0)], false, &mut rng);
        let seed = |y: &Array| array(y.dtype(), y.shape(), weights.clone());
        let narrow = gradients(&case.op, &single, seed(&y32)?)?;
        let wide = gradients(&case.op, &double, seed(&y64)?)?;
        for (k, (narrow, wide)) in narrow.iter().zip(&wide).enumerate() {
            assert_eq!(narrow.ty(), single[k].ty(), "{name}, operand {k}");
            let what = format!("{name}, operand {k}");
            assert_close(&widen(narrow)?, &widen(wide)?, 1e-5, &what);
        }
    }
    Ok(())
}
