//! Every entry of the rule table against finite differences, and frozen against eager.

mod common;

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Rng;
use wyrmling::array::{Dense, Shape, element_count};
use wyrmling::graph::{Constant, Leaf, Parameter, build};
use wyrmling::rules::{self, Argument, Case, OpRef};
use wyrmling::{Array, DType, Error, Input, Result, Type, Variable};

use common::{Frozen, assert_close, dense, numbers, rounding};

/// Every case of the table, with a name for messages.
fn cases() -> impl Iterator<Item = (String, Case)> {
    rules::table().flat_map(|entry| {
        let cases = (entry.cases)().into_iter().enumerate();
        cases.map(|(k, case)| (format!("{} case {k}: {case:?}", entry.name), case))
    })
}

/// `count` numbers from a union of intervals, each from an interval of its own cut of it if
/// they must be distinct.
fn draw(count: usize, domain: &[(f64, f64)], distinct: bool, rng: &mut Rng) -> Vec<f64> {
    let mut places: Vec<usize> = (0..count).collect();
    places.shuffle(rng);
    let number = |place: usize| {
        let (low, high) = domain[place % domain.len()];
        let at = if distinct {
            (place as f64 + 0.5) / count as f64
        } else {
            rng.random_range(0.0..1.0)
        };
        low + (high - low) * at
    };
    places.into_iter().map(number).collect()
}

/// An array of real type `dtype`.
fn array(dtype: DType, shape: &[usize], data: Vec<f64>) -> Result<Array> {
    Ok(match dtype {
        DType::F32 => Dense::new(shape, data.iter().map(|&x| x as f32).collect())?.into(),
        _ => Dense::new(shape, data)?.into(),
    })
}

/// Operands for a case.
fn operands(case: &Case, dtype: DType, rng: &mut Rng) -> Result<Vec<Array>> {
    let operand = |argument: &Argument| match argument {
        Argument::Real {
            shape,
            domain,
            distinct,
        } => {
            let count = element_count(shape)?;
            array(dtype, shape, draw(count, domain, *distinct, rng))
        }
        Argument::ShapeOnly { shape } => {
            let count = element_count(shape)?;
            array(dtype, shape, draw(count, &[(-2.0, 2.0)], false, rng))
        }
        Argument::Dominant { shape } => {
            let mut data = draw(element_count(shape)?, &[(-0.4, 0.4)], false, rng);
            let [rows, columns] = [shape[shape.len() - 2], shape[shape.len() - 1]];
            for (k, x) in data.iter_mut().enumerate() {
                let (row, column) = (k / columns % rows, k % columns);
                *x += if row == column { 2.0 + row as f64 } else { 0.0 };
            }
            array(dtype, shape, data)
        }
        Argument::Index { shape, below } => {
            let indices = (0..element_count(shape)?).map(|_| rng.random_range(0..*below as u32));
            Ok(Dense::new(shape, indices.collect())?.into())
        }
    };
    case.args.iter().map(operand).collect()
}

/// The operator's result on fixed values.
fn evaluate(op: &OpRef, operands: &[Array]) -> Result<Array> {
    let args = operands.iter().map(|a| Constant::new(a.clone()).boxed());
    Variable::apply(op.clone(), &args.collect::<Vec<_>>())?.value()
}

/// The gradients of Σ seed·op(operands), zero where there is none and for indices.
fn gradients(op: &OpRef, operands: &[Array], seed: Array) -> Result<Vec<Array>> {
    let mut leaves = Vec::new();
    let mut args = Vec::new();
    for operand in operands {
        let leaf = operand
            .dtype()
            .is_real()
            .then(|| Leaf::new(operand.clone()))
            .transpose()?;
        args.push(match &leaf {
            Some(leaf) => leaf.clone().boxed(),
            None => Input::new(operand.clone()).boxed(),
        });
        leaves.push(leaf);
    }
    Variable::apply(op.clone(), &args)?.backward_from(seed)?;
    let gradients = leaves.iter().zip(operands);
    Ok(gradients
        .map(|(leaf, x)| dense(leaf.as_ref().and_then(Leaf::grad), &x.ty()))
        .collect())
}

/// The central difference of Σ seed·op(operands) by element `at` of operand `k`.
fn difference(
    op: &OpRef,
    operands: &[Array],
    seed: &Array,
    (k, at): (usize, usize),
    step: f64,
) -> Result<f64> {
    let sum = |by: f64| -> Result<f64> {
        let mut moved = operands.to_vec();
        let mut data = operands[k].to_f64();
        data[at] += by;
        moved[k] = array(DType::F64, operands[k].shape(), data)?;
        let y = evaluate(op, &moved)?.to_f64();
        Ok(y.iter().zip(seed.to_f64()).map(|(y, s)| y * s).sum())
    };
    Ok((sum(step)? - sum(-step)?) / (2.0 * step))
}

/// One node an operand, if it moves.
type Moving = Vec<Option<Variable>>;

/// Leaves of a case that rules may move, the others as they are.
fn leaves(case: &Case, operands: &[Array]) -> Result<(Vec<Variable>, Moving)> {
    let mut args = Vec::new();
    let mut moving = Vec::new();
    for (argument, operand) in case.args.iter().zip(operands) {
        let smooth = match argument {
            Argument::Real { domain, .. } => domain.iter().all(|(low, high)| low < high),
            Argument::Dominant { .. } => true,
            Argument::ShapeOnly { .. } | Argument::Index { .. } => false,
        };
        let leaf = match smooth {
            true => Leaf::new(operand.clone())?.boxed(),
            false => Constant::new(operand.clone()).boxed(),
        };
        args.push(leaf.clone());
        moving.push(smooth.then_some(leaf));
    }
    Ok((args, moving))
}

/// Σ weights·x, as a node.
fn weighted(x: &Variable, weights: &Array) -> Result<Variable> {
    let weights = Constant::new(weights.clone()).boxed();
    build::binary(&rules::Mul, x, &weights)
}

/// The gradients by all moving operands of Σ weights·op(operands), as nodes.
fn slopes(case: &Case, operands: &[Array], weights: &Array) -> Result<(Moving, Moving)> {
    let (args, moving) = leaves(case, operands)?;
    let y = weighted(&Variable::apply(case.op.clone(), &args)?, weights)?;
    let slopes = moving.iter().map(|x| match x {
        Some(x) => Ok(y.gradients(&[x])?.remove(0)),
        None => Ok(None),
    });
    Ok((slopes.collect::<Result<_>>()?, moving))
}

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
            let sum = |operands: &[Array]| -> Result<f64> {
                let slope = slopes(&case, operands, &seed)?.0[k].clone();
                let slope = slope.map_or(Ok(vec![0.0; weights.size()]), |s| {
                    s.value().map(|v| v.to_f64())
                })?;
                Ok(slope.iter().zip(weights.to_f64()).map(|(s, w)| s * w).sum())
            };
            for (l, x) in moving.iter().enumerate() {
                let Some(x) = x else { continue };
                let second = weighted(slope, &weights)?.gradients(&[x])?.remove(0);
                let second = second.map_or(Ok(vec![0.0; operands[l].size()]), |s| {
                    s.value().map(|v| v.to_f64())
                })?;
                for (at, found) in second.iter().enumerate() {
                    let moved = |by: f64| -> Result<f64> {
                        let mut moved = operands.clone();
                        let mut data = operands[l].to_f64();
                        data[at] += by;
                        moved[l] = array(DType::F64, operands[l].shape(), data)?;
                        sum(&moved)
                    };
                    let expected = (moved(STEP)? - moved(-STEP)?) / (2.0 * STEP);
                    let bound = 1e-6 * (1.0 + expected.abs());
                    assert!(
                        (found - expected).abs() <= bound,
                        "{name}, operands {k} and {l}, element {at}: {found}, not {expected}"
                    );
                    checked += 1;
                }
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
                    Some(total) => build::binary(&rules::Add, &total, &part)?,
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
fn every_entry_has_cases_and_a_name_of_its_own() {
    let mut names = HashSet::new();
    for entry in rules::table() {
        assert!(names.insert(entry.name), "{} is there twice", entry.name);
        assert!(!entry.formula.is_empty(), "{} has no formula", entry.name);
        let cases = (entry.cases)();
        assert!(!cases.is_empty(), "{} has no case", entry.name);
        for case in cases {
            assert_eq!(case.op.name(), entry.name);
        }
    }
}

/// The files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the sources are there");
    let paths = entries.map(|e| e.expect("a readable folder").path());
    let below = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    paths.flat_map(below).collect()
}

/// The types of `src/rules` that implement `Operator`, by their definitions: a structure of
/// their own, or a line `Name = name, "formula"`, `Name = "name"` or `Name, "name"` of a macro.
fn defined_operators() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
    let not_operators = [
        "algebra.rs",
        "batch.rs",
        "descriptions.rs",
        "kernel.rs",
        "lanes.rs",
        "table.rs",
    ];
    let mut found = Vec::new();
    for file in files(&folder) {
        let name = file.file_name().expect("a file has a name");
        if name == "mod.rs" || not_operators.iter().any(|n| *n == name) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let before = found.len();
        for line in text.lines().map(str::trim_start) {
            let rest = line.strip_prefix("pub struct ").unwrap_or(line);
            let (name, rest) = rest.split_at(rest.find([' ', ',', ';', '{']).unwrap_or(0));
            let named = rest.starts_with(" = ") && line.contains('"');
            let declared = named || rest.starts_with(", \"");
            if name.starts_with(char::is_uppercase) && (declared || line.starts_with("pub struct "))
            {
                found.push(name.to_owned());
            }
        }
        assert!(found.len() > before, "no operator in {}", file.display());
    }
    found
}

#[test]
fn every_operator_type_is_in_the_table() {
    let tested: HashSet<String> = cases()
        .filter_map(|(_, case)| {
            Some(
                format!("{:?}", case.op)
                    .split([' ', '{'])
                    .next()?
                    .to_owned(),
            )
        })
        .collect();
    let defined = defined_operators();
    for name in &defined {
        assert!(tested.contains(name), "{name} is not in the table");
    }
    assert_eq!(defined.len(), tested.len(), "{tested:?}");
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
                Argument::Index { .. } => false,
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
        if case.op.name() != "cast" {
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

/// Freezes Σ seed·op(operands), with the operands as parameters or as leaves, and compares
/// with eager numbers.
fn check_frozen(name: &str, op: &OpRef, operands: &[Array], trained: bool) -> Result<()> {
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
            let leaf = Leaf::new(operand.clone())?;
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

/// Types that fit some operators and not others.
fn odd_types() -> Vec<Type> {
    let shapes: [&[usize]; 9] = [
        &[],
        &[0],
        &[1],
        &[3],
        &[2, 3],
        &[3, 2],
        &[0, 3],
        &[1, 1, 1],
        &[2, 3, 4],
    ];
    let dtypes = [DType::F64, DType::F64, DType::F32, DType::U32];
    let types = dtypes
        .iter()
        .flat_map(|&d| shapes.iter().map(move |s| Type::new(d, s)));
    types.collect()
}

#[test]
fn operands_that_do_not_fit_are_refused_without_a_panic() -> Result<()> {
    let mut rng = Rng::seed_from_u64(5);
    let types = odd_types();
    for (name, case) in cases() {
        for _ in 0..60 {
            let count = rng.random_range(0..4);
            let pick = |rng: &mut Rng| types[rng.random_range(0..types.len())].clone();
            let chosen: Vec<Type> = (0..count).map(|_| pick(&mut rng)).collect();
            let Ok(ty) = case.op.infer(&chosen.iter().collect::<Vec<_>>()) else {
                continue;
            };
            let operands: Vec<Array> = chosen.iter().map(|ty| Array::full(ty, 2.0)).collect();
            // Only an index can still be wrong: 2 is not below every length.
            let indexed = chosen.iter().any(|t| !t.dtype.is_real());
            match evaluate(&case.op, &operands) {
                Ok(y) => {
                    assert_eq!(y.ty(), ty, "{name} of {chosen:?}");
                    if !ty.dtype.is_real() {
                        check_frozen(&name, &case.op, &operands, false)?;
                        continue;
                    }
                    match gradients(&case.op, &operands, Array::full(&ty, 1.0)) {
                        // All elements are 2: of some matrices of them there is no gradient.
                        Err(Error::LinAlg(_)) => {}
                        found => {
                            found?;
                            check_frozen(&name, &case.op, &operands, false)?;
                        }
                    }
                }
                Err(Error::LinAlg(_)) => {}
                Err(e) => assert!(indexed, "{name} of {chosen:?}: {e}"),
            }
        }
    }
    Ok(())
}

#[test]
fn results_too_large_for_memory_are_refused() {
    const LONG: usize = 1 << 58;
    let sides: Range<usize> = 1..4;
    let shapes: [&[usize]; 5] = [&[LONG], &[LONG, 1], &[1, LONG], &[LONG, 0], &[0, LONG]];
    let types: Vec<Type> = shapes.iter().map(|s| Type::new(DType::F64, s)).collect();
    for (name, case) in cases() {
        for count in sides.clone() {
            for first in &types {
                for second in &types {
                    let mut args = vec![first; count];
                    args[count - 1] = second;
                    if let Ok(ty) = case.op.infer(&args) {
                        assert!(element_count(&ty.shape).is_ok(), "{name} of {args:?}: {ty}");
                    }
                }
            }
        }
    }
    let many = vec![Type::new(DType::F64, &[LONG, 0]); 100];
    let join = rules::Concatenate { axis: 0 };
    let joined = rules::Operator::infer(&join, &many.iter().collect::<Vec<_>>());
    let shape = joined.map(|t| t.shape).unwrap_or_else(|_| Shape::new());
    assert!(element_count(&shape).is_ok());
}
