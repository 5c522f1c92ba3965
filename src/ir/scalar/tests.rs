//! The scalar operators against integers of 128 bits, and their special points.

use super::*;

fn ints(op: ScalarOperator, x: i64, y: i64) -> Option<i64> {
    match op.eval(&[&x.into(), &y.into()])? {
        Datum::Int(i) => Some(i),
        other => panic!("{other:?}"),
    }
}

/// Python's integers, in 128 bits.
#[test]
fn integers_are_pythons_or_fail() {
    let points = [
        i64::MIN,
        i64::MIN + 1,
        -(1 << 32),
        -65,
        -64,
        -63,
        -7,
        -2,
        -1,
        0,
        1,
        2,
        3,
        7,
        62,
        63,
        64,
        65,
        1 << 32,
        i64::MAX - 1,
        i64::MAX,
    ];
    for x in points {
        for y in points {
            let (a, b) = (i128::from(x), i128::from(y));
            let fits = |wide: i128| i64::try_from(wide).ok();
            assert_eq!(ints(S::IntAdd, x, y), fits(a + b));
            assert_eq!(ints(S::IntSub, x, y), fits(a - b));
            assert_eq!(ints(S::IntMul, x, y), fits(a * b));
            let floor = (b != 0).then(|| {
                let quotient = a.div_euclid(b);
                // Euclid's remainder is positive; Python's has the divisor's sign.
                if b < 0 && a.rem_euclid(b) != 0 {
                    quotient - 1
                } else {
                    quotient
                }
            });
            assert_eq!(ints(S::IntFloorDiv, x, y), floor.and_then(fits), "{x} {y}");
            let rest = floor.map(|quotient| a - quotient * b);
            assert_eq!(ints(S::IntMod, x, y), rest.and_then(fits), "{x} % {y}");
            let power = u32::try_from(y).ok().map(|n| a.checked_pow(n));
            match (x, y) {
                (-1..=1, 1..) => {
                    let odd = if y % 2 == 1 { x } else { x * x };
                    assert_eq!(ints(S::IntPow, x, y), Some(odd));
                }
                _ => assert_eq!(ints(S::IntPow, x, y), power.flatten().and_then(fits)),
            }
            let left = match y {
                0..=63 => fits(a << y),
                64.. if x == 0 => Some(0),
                _ => None,
            };
            assert_eq!(ints(S::IntShiftLeft, x, y), left, "{x} << {y}");
            let right = (y >= 0).then(|| fits(a >> y.min(100))).flatten();
            assert_eq!(ints(S::IntShiftRight, x, y), right);
        }
    }
}

#[test]
fn numbers_become_integers_where_they_fit() {
    let to = |op: ScalarOperator, x: f64| match op.eval(&[&x.into()]) {
        Some(Datum::Int(i)) => Some(i),
        None => None,
        other => panic!("{other:?}"),
    };
    for op in [S::FloatToInt, S::Floor, S::Ceil, S::Round] {
        for x in [
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
            9.3e18,
            2f64.powi(63),
            -9.3e18,
        ] {
            assert_eq!(to(op, x), None, "{op:?} {x}");
        }
        assert_eq!(to(op, -(2f64.powi(63))), Some(i64::MIN));
        assert_eq!(to(op, -0.0), Some(0));
    }
    assert_eq!(
        [-2.5, 2.5, 3.5, 0.4999].map(|x| to(S::Round, x)),
        [-2, 2, 4, 0].map(Some)
    );
    assert_eq!([-2.5, 2.5].map(|x| to(S::FloatToInt, x)), [-2, 2].map(Some));
    assert_eq!([-2.5, 2.5].map(|x| to(S::Floor, x)), [-3, 2].map(Some));
    assert_eq!([-2.5, 2.5].map(|x| to(S::Ceil, x)), [-2, 3].map(Some));
}

#[test]
fn names_are_one_to_one_and_what_cannot_fail_does_not() {
    let data: [Datum; 6] = [
        true.into(),
        i64::MIN.into(),
        f64::NAN.into(),
        1.5f32.into(),
        Array::from(7u32).into(),
        vec![1.0, 2.0].into(),
    ];
    for op in ScalarOperator::all() {
        assert_eq!(ScalarOperator::named(&op.name()), Some(op));
        for x in &data {
            for y in &data {
                let args: &[&Datum] = if op.signature().0.len() == 1 {
                    &[x]
                } else {
                    &[x, y]
                };
                let kinds: Vec<ValueKind> = args.iter().map(|a| a.kind()).collect();
                let kind = op.result(&kinds.iter().collect::<Vec<_>>());
                let found = op.eval(args);
                if let (Some(kind), Some(found)) = (&kind, &found) {
                    assert!(kind.accepts(&found.kind()), "{op:?}");
                }
                let must = kind.is_some() && !op.can_fail();
                assert!(!must || found.is_some(), "{op:?} {x:?} {y:?}");
            }
        }
    }
    assert_eq!(ScalarOperator::named("length3"), Some(S::Length(3)));
    assert_eq!(ScalarOperator::named("length300"), None);
}

/// As many indices as asked for, the last in the place of those above it; nothing where one is no index.
#[test]
fn rows_are_indices_or_fail() {
    let rows = |first: i64, count: i64, last: i64| {
        let found = S::Rows(3).eval(&[&first.into(), &count.into(), &last.into()])?;
        let array = found.array().expect("an array").clone();
        Some(array.view().indices().to_vec())
    };
    assert_eq!(rows(2, 3, 9), Some(vec![2, 3, 4]));
    assert_eq!(rows(0, 5, 1), Some(vec![0, 1, 1, 1, 1]));
    assert_eq!(rows(7, 0, -1), Some(vec![]));
    assert_eq!(rows(-7, 0, 0), Some(vec![]));
    let top = i64::from(u32::MAX);
    assert_eq!(rows(top, 1, top), Some(vec![u32::MAX]));
    assert_eq!(rows(top, 2, top), None);
    assert_eq!(rows(0, -1, 5), None);
    assert_eq!(rows(-1, 1, 5), None);
    assert_eq!(rows(0, 1, -1), None);
    assert_eq!(rows(0, i64::MAX, 5), None);
    assert_eq!(ScalarOperator::named("rows3"), Some(S::Rows(3)));
    assert_eq!(S::Rows(3).name(), "rows3");
    assert!(S::Rows(3).can_fail());
    let kind = S::Rows(3).result(&[&ValueKind::Int, &ValueKind::Int, &ValueKind::Int]);
    assert_eq!(kind, Some(Type::new(DType::U32, &[3]).into()));
}
