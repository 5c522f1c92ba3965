//! Random programs: every way of computing one, and of differentiating it, agrees.
//!
//! Values and gradients are had eagerly, from a program with fused steps, from one without, and
//! from the interpreter; gradients also as graphs, by forward mode, and by finite differences.
//! `PROPTEST_CASES` says how many programs to try.

use std::cell::Cell;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use wyrmling::array::{Dense, Shape};
use wyrmling::graph::{Constant, Parameter};
use wyrmling::rules::{self, OpRef, SliceItem};
use wyrmling::{Array, DType, Input, Result, Variable};

use crate::common::{Frozen, assert_close, dense, numbers, rounding};

/// One random choice of an operator and of its operands among earlier values.
#[derive(Debug, Clone, Copy)]
struct Choice {
    operator: usize,
    operands: [usize; 3],
}

fn choice() -> impl Strategy<Value = Choice> {
    (any::<u16>(), any::<[u16; 3]>()).prop_map(|(operator, operands)| Choice {
        operator: operator.into(),
        operands: operands.map(usize::from),
    })
}

/// The operators to choose from, and how many operands each takes. Those on one axis take
/// the last; values stay of moderate size.
fn operator(number: usize, ndim: usize) -> (OpRef, usize) {
    let axes: Shape = ndim.checked_sub(1).into_iter().collect();
    let axis = ndim.saturating_sub(1);
    let keepdims = number.is_multiple_of(2);
    let (transpose_a, transpose_b) = (keepdims, number.is_multiple_of(3));
    let reversed = (0..ndim).rev().collect();
    let back = SliceItem::Range {
        start: None,
        stop: None,
        step: -1,
    };
    let slices = [
        vec![SliceItem::At(-1)],
        vec![back],
        vec![SliceItem::NewAxis],
        vec![back, back],
    ];
    let items = slices[number % slices.len()].clone();
    let one: [fn() -> OpRef; 10] = [
        || OpRef::Static(&rules::Neg),
        || OpRef::Static(&rules::Sin),
        || OpRef::Static(&rules::Tanh),
        || OpRef::Static(&rules::Sigmoid),
        || OpRef::Static(&rules::LogSigmoid),
        || OpRef::Static(&rules::Softplus),
        || OpRef::Static(&rules::Relu),
        || OpRef::Static(&rules::Abs),
        || OpRef::Static(&rules::Square),
        || OpRef::Static(&rules::Trace),
    ];
    let two: [fn() -> OpRef; 10] = [
        || OpRef::Static(&rules::Add),
        || OpRef::Static(&rules::Sub),
        || OpRef::Static(&rules::Mul),
        || OpRef::Static(&rules::Maximum),
        || OpRef::Static(&rules::Minimum),
        || OpRef::Static(&rules::Less),
        || OpRef::Static(&rules::VecDot),
        || OpRef::Static(&rules::RowScale),
        || OpRef::Static(&rules::BroadcastLike { core: 0 }),
        || OpRef::Static(&rules::Gather),
    ];
    match number % 30 {
        24..=26 => table_operator(number / 30, 1),
        27..=28 => table_operator(number / 30, 2),
        29 => match number / 30 % 4 {
            0 => (
                OpRef::new(rules::CumSum {
                    axis,
                    reverse: keepdims,
                }),
                1,
            ),
            1 => (OpRef::new(rules::Tril { k: 0 }), 1),
            2 => (OpRef::new(rules::SliceReplace { items }), 2),
            _ => (OpRef::new(rules::Triu { k: 0 }), 1),
        },
        k @ 0..10 => (one[k](), 1),
        k @ 10..20 => (two[k - 10](), 2),
        20 => (OpRef::Static(&rules::Where), 3),
        21 => (matmul(transpose_a, transpose_b), 2),
        _ => match number / 30 % 10 {
            0 => (OpRef::new(rules::Sum { axes, keepdims }), 1),
            1 => (OpRef::new(rules::Mean { axes, keepdims }), 1),
            2 => (OpRef::new(rules::Max { axes, keepdims }), 1),
            3 => (OpRef::new(rules::Softmax { axis }), 1),
            4 => (OpRef::new(rules::LogSumExp { axis, keepdims }), 1),
            5 => (OpRef::new(rules::Concatenate { axis }), 2),
            6 => (OpRef::new(rules::Transpose { axes: reversed }), 1),
            7 => (OpRef::new(rules::Reshape { shape: vec![None] }), 1),
            8 => (OpRef::new(rules::ExpandDims { axes }), 1),
            _ => (OpRef::new(rules::BasicSlice { items }), 1),
        },
    }
}

/// Those of the table's elementwise operators that take all numbers.
fn table_operator(number: usize, operands: usize) -> (OpRef, usize) {
    static ALL: LazyLock<[Vec<OpRef>; 2]> = LazyLock::new(|| {
        [1, 2].map(|operands| {
            let fits = |entry: &&rules::Entry| {
                entry.reference.is_some_and(|r| {
                    r.domains.len() == operands && r.domains.iter().all(|d| *d == [(-2.0, 2.0)])
                })
            };
            let entries = rules::table().filter(fits);
            entries
                .flat_map(|entry| (entry.cases)())
                .map(|case| case.op)
                .collect()
        })
    });
    let all = &ALL[operands - 1];
    (all[number % all.len()].clone(), operands)
}

fn matmul(transpose_a: bool, transpose_b: bool) -> OpRef {
    OpRef::new(rules::MatMul {
        transpose_a,
        transpose_b,
    })
}

/// Leaves to compute with: `rows` is the length of a batch.
fn leaves(dtype: DType, rows: usize) -> (Vec<Parameter>, Vec<Input>) {
    let shapes: [&[usize]; 7] = [&[], &[3], &[5, 3], &[3, 3], &[5], &[1, 3], &[5, 2, 3]];
    let parameters = shapes.iter().zip(1..);
    let parameters = parameters.map(|(shape, k)| Parameter::new(numbers(dtype, shape, k)));
    let at: Vec<u32> = (0..rows).map(|k| (k * 7 % 5) as u32).collect();
    let inputs: [Array; 4] = [
        numbers(dtype, &[rows, 3], 10),
        numbers(dtype, &[rows, 1], 11),
        numbers(dtype, &[], 12),
        at.into(),
    ];
    (parameters.collect(), inputs.map(Input::new).into())
}

/// The sum of the last values that the choices give; choices that do not fit are skipped.
fn build(choices: &[Choice], leaves: Vec<Variable>) -> Result<Variable> {
    const LARGEST: usize = 20_000;
    let mut values = leaves;
    for choice in choices {
        let operand = |k: usize| values[choice.operands[k] % values.len()].clone();
        let (op, count) = operator(choice.operator, operand(0).ty()?.ndim());
        let args: Vec<Variable> = (0..count).map(operand).collect();
        let types = args.iter().map(Variable::ty).collect::<Result<Vec<_>>>()?;
        let fits = op.infer(&types.iter().collect::<Vec<_>>());
        if fits.is_ok_and(|ty| ty.size() <= LARGEST) {
            // An index may still be too large for what it looks up.
            values.extend(Variable::apply(op, &args));
        }
    }
    let mut total: Option<Variable> = None;
    for value in values.iter().rev().filter(|v| v.differentiable()).take(4) {
        let term = value.clone().tanh().sum().boxed();
        total = Some(match total {
            None => term,
            Some(sum) => (sum + term).boxed(),
        });
    }
    total.map_or_else(|| Ok(values[0].clone()), Ok)
}

/// Whether differences could tell: in double precision, where the loss is smooth.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slope {
    Agrees,
    NotSmooth,
    NotAsked,
}

fn check(choices: &[Choice], dtype: DType, rows: usize) -> Result<Slope> {
    let (parameters, inputs) = leaves(dtype, rows);
    let all = parameters.iter().cloned().map(Variable::boxed);
    let all = all.chain(inputs.iter().cloned().map(Variable::boxed));
    let loss = build(choices, all.collect())?;
    let frozen = Frozen::new(&loss)?;
    let (value, grads) = frozen.run(&inputs)?;
    assert_close(&value, &loss.value()?, 0.0, "the value");
    loss.try_backward()?;
    let boxed: Vec<Variable> = parameters.iter().cloned().map(Variable::boxed).collect();
    let wrt: Vec<&Variable> = boxed.iter().collect();
    let graphs = loss.gradients(&wrt)?;
    let mut eagers = Vec::new();
    for (parameter, graph) in parameters.iter().zip(graphs) {
        let table = parameter.param().table();
        let eager = dense(parameter.grad(), table.ty());
        // Parameters that the loss does not depend on are no leaves of the program.
        let frozen = grads.get(&table.id()).cloned();
        let zeros = || Array::full(table.ty(), 0.0);
        let frozen = frozen.unwrap_or_else(zeros);
        assert_close(&frozen, &eager, rounding(dtype), "a gradient");
        let graph = graph.map_or_else(|| Ok(zeros()), |g| g.value())?;
        assert_close(&graph, &eager, rounding(dtype), "a gradient as a graph");
        eagers.push(eager);
    }
    // One direction for all parameters.
    let directions: Vec<Array> = parameters
        .iter()
        .zip(20..)
        .map(|(p, seed)| {
            let ty = p.param().table().ty();
            numbers(dtype, &ty.shape, seed)
        })
        .collect();
    let pairs = || eagers.iter().zip(&directions);
    let products = pairs().flat_map(|(g, d)| g.to_f64().into_iter().zip(d.to_f64()));
    let (slope, size) = products.fold((0.0, 0.0), |(sum, size): (f64, f64), (g, d)| {
        (sum + g * d, size + (g * d).abs())
    });
    let nodes: Vec<Variable> = directions
        .iter()
        .cloned()
        .map(|d| Constant::new(d).boxed())
        .collect();
    let forward = Variable::tangents(&[&loss], &wrt, &nodes.iter().collect::<Vec<_>>())?;
    let forward = forward[0].as_ref().map_or(Ok(0.0), Variable::item)?;
    let moves = parameters.iter().zip(&directions);
    let moves = moves.map(|(p, d)| (p.param().table().id(), d.clone()));
    let pushed = frozen.tangent(&inputs, &moves.collect())?;
    let near = |a: f64, b: f64, tolerance: f64| {
        (a - b).abs() <= tolerance * (1.0 + size) || (a.is_nan() && b.is_nan()) || a == b
    };
    assert!(
        near(forward, slope, 50.0 * rounding(dtype)),
        "forward {forward}, reverse {slope}"
    );
    let pushed = pushed.item()?;
    assert!(
        near(pushed, forward, 50.0 * rounding(dtype)),
        "forward {forward}, in a program {pushed}"
    );
    if dtype != DType::F64 {
        return Ok(Slope::NotAsked);
    }
    let starts: Vec<Array> = parameters
        .iter()
        .map(|p| p.param().table().read())
        .collect();
    let moved = |by: f64| -> Result<f64> {
        for ((parameter, start), direction) in parameters.iter().zip(&starts).zip(&directions) {
            let moved = start.to_f64().into_iter().zip(direction.to_f64());
            let moved = moved.map(|(x, d)| x + by * d).collect();
            parameter.set_value(Dense::new(start.shape(), moved)?)?;
        }
        loss.item()
    };
    // By central differences, and how much those ahead and behind differ.
    let here = value.item()?;
    let differences = |step: f64| -> Result<(f64, f64)> {
        let (ahead, behind) = (moved(step)?, moved(-step)?);
        let bend = (ahead - 2.0 * here + behind) / step;
        Ok(((ahead - behind) / (2.0 * step), bend))
    };
    let (coarse, bend_twice) = differences(2e-5)?;
    let (fine, bend) = differences(1e-5)?;
    // A kink between the two points moves differences of other steps elsewhere, and one very near
    // bends them as much at half the step; so does rounding, and a slope that is so steep that the
    // steps are not small.
    let scale = 1.0 + fine.abs() + here.abs();
    // False of NaN too.
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * scale;
    let smooth = near(coarse, fine) && near(bend, bend_twice / 2.0);
    if !smooth {
        return Ok(Slope::NotSmooth);
    }
    if slope.is_nan() && overflows(&loss)? {
        return Ok(Slope::NotSmooth);
    }
    let close = (fine - slope).abs() <= 1e-5 * scale;
    assert!(close, "by differences {fine}, by rules {slope}");
    Ok(Slope::Agrees)
}

/// Whether a number on the way is infinite, or NaN: the gradient may be 0 times infinity then.
fn overflows(loss: &Variable) -> Result<bool> {
    for node in loss.topological()? {
        if node.dtype().is_real() && node.value()?.to_f64().iter().any(|x| !x.is_finite()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[test]
fn every_way_of_running_and_differentiating_a_program_agrees() {
    let strategy = (
        prop::collection::vec(choice(), 1..60),
        prop::sample::select(vec![1, 2, 3, 5, 64, 600, 1100]),
        any::<bool>(),
    );
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|n| n.parse().ok()).unwrap_or(600);
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let (agreed, kinks) = (Cell::new(0_u32), Cell::new(0_u32));
    let result = runner.run(&strategy, |(choices, rows, single)| {
        let dtype = if single { DType::F32 } else { DType::F64 };
        match check(&choices, dtype, rows) {
            Ok(Slope::Agrees) => agreed.set(agreed.get() + 1),
            Ok(Slope::NotSmooth) => kinks.set(kinks.get() + 1),
            Ok(Slope::NotAsked) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{cases} programs: {} agree with differences too, {} have a kink there",
        agreed.get(),
        kinks.get()
    );
    assert!(
        kinks.get() * 10 < agreed.get(),
        "differences tell too seldom"
    );
}
