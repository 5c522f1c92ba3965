//! Random expressions: fused, unfused, interpreted and eager numbers agree.

mod common;

use proptest::prelude::*;
use wyrmling::array::Shape;
use wyrmling::graph::Parameter;
use wyrmling::rules::{self, OpRef, SliceItem};
use wyrmling::{Array, DType, Input, Result, Variable};

use common::{Frozen, assert_close, dense, numbers, rounding};

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
        || OpRef::Static(&rules::BroadcastLike),
        || OpRef::Static(&rules::Gather),
    ];
    match number % 24 {
        k @ 0..10 => (one[k](), 1),
        k @ 10..20 => (two[k - 10](), 2),
        20 => (OpRef::Static(&rules::Where), 3),
        21 => (matmul(transpose_a, transpose_b), 2),
        _ => match number / 24 % 10 {
            0 => (OpRef::new(rules::Sum { axes, keepdims }), 1),
            1 => (OpRef::new(rules::Mean { axes, keepdims }), 1),
            2 => (OpRef::new(rules::Max { axes, keepdims }), 1),
            3 => (OpRef::new(rules::Softmax { axis }), 1),
            4 => (OpRef::new(rules::LogSumExp { axis, keepdims }), 1),
            5 => (OpRef::new(rules::Concatenate { axis }), 2),
            6 => (OpRef::new(rules::Transpose { axes: reversed }), 1),
            7 => (OpRef::new(rules::Reshape { shape: vec![None] }), 1),
            8 => (OpRef::new(rules::ExpandDims { axes }), 1),
            _ => (OpRef::new(rules::Take { items }), 1),
        },
    }
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

fn check(choices: &[Choice], dtype: DType, rows: usize) -> Result<()> {
    let (parameters, inputs) = leaves(dtype, rows);
    let all = parameters.iter().cloned().map(Variable::boxed);
    let all = all.chain(inputs.iter().cloned().map(Variable::boxed));
    let loss = build(choices, all.collect())?;
    let (value, grads) = Frozen::new(&loss)?.run(&inputs)?;
    assert_close(&value, &loss.value()?, 0.0, "the value");
    loss.try_backward()?;
    for parameter in &parameters {
        let table = parameter.param().table();
        let eager = dense(parameter.grad(), table.ty());
        // Parameters that the loss does not depend on are no leaves of the program.
        let frozen = grads.get(&table.id()).cloned();
        let frozen = frozen.unwrap_or_else(|| Array::full(table.ty(), 0.0));
        assert_close(&frozen, &eager, rounding(dtype), "a gradient");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_way_of_running_an_expression_agrees(
        choices in prop::collection::vec(choice(), 1..60),
        rows in prop::sample::select(vec![1, 2, 3, 5, 64, 600, 1100]),
        single in any::<bool>(),
    ) {
        let dtype = if single { DType::F32 } else { DType::F64 };
        if let Err(error) = check(&choices, dtype, rows) {
            prop_assert!(false, "{error}");
        }
    }
}
