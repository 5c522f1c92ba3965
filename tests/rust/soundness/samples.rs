//! Losses of one sample whose arguments and parts are not what they are taken for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wyrmling::exec::{Leaf, LossArgument, SampleLoss, batched};
use wyrmling::ir::{Expression, Function};
use wyrmling::optim::Optimizer;
use wyrmling::rules::{self, OpRef};
use wyrmling::train::{
    self, DrawnLength, Flow, FunctionLoss, History, Ragged, SampleValue, Sampler, Source,
};
use wyrmling::{Array, DType, Error, Result, Table, Type};

use super::{lookup, without_panic};
use crate::common::fit::once;
use crate::common::numbers;

/// `Σ w[i]` for the indices `i` of a sample.
fn function() -> Function {
    lookup(&Type::new(DType::F64, &[5]), &Type::new(DType::U32, &[2]))
}

/// What it says for these arguments, of which the first is the parameter.
fn loss(function: &Function, arguments: Vec<LossArgument>) -> Result<SampleLoss> {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5], 1), None)?);
    SampleLoss::new(function, arguments, vec![("w".into(), table)])
}

fn arguments(feed: usize) -> Vec<LossArgument> {
    vec![LossArgument::Parameter(0), LossArgument::Feed(feed)]
}

#[test]
fn a_parameter_without_a_table_is_refused() {
    let wrong = vec![LossArgument::Parameter(3), LossArgument::Feed(0)];
    let text = "argument 0 is the parameter 3, expected less than 1";
    let found = without_panic(&text, || loss(&function(), wrong.clone()));
    assert!(matches!(found, Err(Error::Value(message)) if message.contains(text)));
    let found = without_panic(&text, || batched(&function(), &wrong, &[], &[]).map(drop));
    assert!(matches!(found, Err(Error::Value(_))), "{found:?}");
}

#[test]
fn operators_that_lack_operands_are_refused() {
    let axes = |count: usize| rules::TakeAt {
        axes: (0..count).collect(),
    };
    let lookups = [
        OpRef::Static(&rules::Gather),
        OpRef::new(axes(1)),
        OpRef::new(axes(3)),
    ];
    for lookup in lookups {
        for operands in [&[][..], &[0], &[1], &[0, 1, 1], &[0, 1, 1, 1]] {
            let mut function = function();
            function.blocks[0].instructions[0].expression =
                Expression::Apply(lookup.clone(), operands.into());
            let what = (&lookup.attributes(), operands);
            let found = without_panic(&what, || loss(&function, arguments(0)));
            assert!(found.is_err(), "{what:?}");
        }
    }
}

#[test]
fn parts_that_are_staged_otherwise_are_refused() -> Result<()> {
    let ragged = Arc::new(Ragged::new(vec![0u32, 1, 2, 3].into(), vec![0, 2, 4])?);
    let entry = || SampleValue::Entry(Arc::clone(&ragged));
    let rows = |width: usize| Array::zeros(&Type::new(DType::U32, &[3, width]));
    let column = |array: Array| (array.ty(), Source::Column(array));
    let sampler = Source::Sampled {
        sampler: Arc::new(Sampler::uniform(3)?),
        given: None,
    };
    let one = Type::new(DType::U32, &[1]);
    let single = || column(vec![0u32, 1, 1].into());
    let run = |feed: usize, value: SampleValue, (mut ty, source): (Type, Source), batch: usize| {
        ty.shape[0] = 1;
        let input = |id, ty, name: &str| Leaf::Input {
            id,
            ty,
            name: name.into(),
        };
        // Samplers go by a column.
        let feeds = vec![
            (input(0, ty, "part"), value),
            (input(1, one.clone(), "column"), SampleValue::Int),
        ];
        let (_, column) = single();
        let function = FunctionLoss::new(loss(&function(), arguments(feed))?, feeds);
        let fit = once(vec![(0, source), (1, column)], batch);
        let mut watch = |_: usize, _: &History| Flow::Continue;
        let stop = AtomicBool::new(false);
        train::fit_function(&function, &fit, &Optimizer::sgd(0.1)?, &stop, &mut watch).map(drop)
    };
    let mut wrong: Vec<(usize, SampleValue, (Type, Source), &str)> = vec![
        (
            7,
            SampleValue::Row,
            column(rows(2)?),
            "argument 1 is part 7",
        ),
        (
            0,
            entry(),
            column(vec![0u32, 2, 1].into()),
            "'part': index 2",
        ),
        (
            0,
            entry(),
            (one.clone(), sampler),
            "the sampler draws others",
        ),
        (
            0,
            entry(),
            column(rows(2)?),
            "expected 1 numbers a sample, got 2",
        ),
        (
            0,
            SampleValue::WideInt,
            single(),
            "expected 2 numbers a sample, got 1",
        ),
        (
            0,
            SampleValue::Float,
            column(rows(0)?),
            "expected 1 numbers a sample, got 0",
        ),
        (
            0,
            SampleValue::Bool,
            column(vec![0.0, 1.0, 1.0].into()),
            "expected uint32",
        ),
    ];
    let drawn = SampleValue::Drawn(vec![DrawnLength::Fixed(2), DrawnLength::Of(2)]);
    wrong.push((
        0,
        drawn,
        column(rows(2)?),
        "a length of input 'part' is part 2",
    ));
    for (feed, value, part, text) in wrong {
        for batch in [1, 2] {
            let (value, part) = (value.clone(), part.clone());
            let found = without_panic(&text, || run(feed, value, part, batch));
            let message = found.expect_err("it is refused").to_string();
            assert!(message.contains(text), "{text:?} is not in {message:?}");
        }
    }
    for batch in [1, 2] {
        run(0, entry(), single(), batch)?;
        run(0, SampleValue::Row, column(rows(2)?), batch)?;
    }
    Ok(())
}
