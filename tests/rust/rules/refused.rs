//! Operands that do not fit, and results that are too large.

use super::frozen::check_frozen;
use super::*;

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
    // Cases of one operator often differ in their operands alone, which are drawn here.
    let mut tried = HashSet::new();
    for (name, case) in cases() {
        for _ in 0..60 {
            let count = rng.random_range(0..4);
            let pick = |rng: &mut Rng| types[rng.random_range(0..types.len())].clone();
            let chosen: Vec<Type> = (0..count).map(|_| pick(&mut rng)).collect();
            let key = format!("{} {:?} {chosen:?}", case.op.name(), case.op);
            if !tried.insert(key) {
                continue;
            }
            let operands: Vec<Array> = chosen.iter().map(|ty| Array::full(ty, 2.0)).collect();
            let Ok(ty) = case.op.infer(&chosen.iter().collect::<Vec<_>>()) else {
                assert!(
                    evaluate(&case.op, &operands).is_err(),
                    "{name} of {chosen:?}"
                );
                continue;
            };
            // Only an index can still be wrong: 2 is not below every length.
            let indexed = case.op.name() == "to_index" || chosen.iter().any(|t| !t.dtype.is_real());
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
fn attributes_of_any_size_are_refused_without_a_panic() {
    const MOST: usize = usize::MAX;
    let all = rules::SliceItem::Range {
        start: None,
        stop: None,
        step: -1,
    };
    let slice_rows = |shape: &[usize]| {
        OpRef::new(rules::SliceRows {
            items: vec![all; shape.len()],
            shape: shape.into(),
        })
    };
    let add = |n| {
        OpRef::new(rules::AddFlat {
            shape: Shape::from_slice(&[n]),
        })
    };
    let vector = Array::full(&Type::new(DType::F64, &[3]), 2.0);
    for op in [
        slice_rows(&[MOST]),
        slice_rows(&[MOST, 2]),
        slice_rows(&[0, MOST, MOST]),
        OpRef::new(rules::Part {
            axis: 0,
            part: MOST,
        }),
        OpRef::new(rules::PartAdjoint {
            axis: 0,
            part: MOST,
        }),
        OpRef::new(rules::Accumulate::new(true, [(add(3), MOST), (add(3), 2)])),
        OpRef::new(rules::Accumulate::new(
            false,
            [(add(3), MOST), (add(3), MOST)],
        )),
    ] {
        for count in 0..4 {
            let operands = vec![vector.clone(); count];
            assert!(evaluate(&op, &operands).is_err(), "{op:?} of {count}");
        }
    }
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

#[test]
fn orders_at_the_ends_of_integers_are_refused_and_those_of_derivatives_too() {
    let x = Independent::new(0.5).expect("a number");
    for n in [i32::MIN, i32::MIN + 1, i32::MAX] {
        let found = x.clone().boxed().unary(rules::Polygamma { n });
        assert!(matches!(found, Err(Error::Value(_))), "{n}");
        let found = x.clone().boxed().unary(rules::Expn { n });
        assert!(
            matches!(found, Err(Error::Value(_))),
            "{n} {:?}",
            found.map(|y| y.value())
        );
    }
    let y = x
        .clone()
        .boxed()
        .unary(rules::Polygamma { n: i32::MAX - 1 });
    let y = y.expect("an order that has a value");
    assert!(matches!(y.try_backward(), Err(Error::Value(_))));
}
