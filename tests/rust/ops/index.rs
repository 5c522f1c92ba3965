//! Elements chosen and replaced, masks, and integers.

use wyrmling::array::Dense;
use wyrmling::graph::ops;
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Error, Input, Variable};

use super::{array, check, constant, count, input, range, refused};

#[test]
fn elements_are_chosen_and_replaced() {
    let x = constant(count(&[4, 2]));
    let at = |indices: Vec<u32>| Dense::from(indices);
    check(
        ops::gather(&x, &constant(vec![3u32, 0])),
        &[2, 2],
        &[6.0, 7.0, 0.0, 1.0],
    );
    for x in [x.clone(), input(count(&[4, 2]))] {
        check(
            ops::rows(&x, at(vec![3, 0]), &[]),
            &[2, 2],
            &[6.0, 7.0, 0.0, 1.0],
        );
        check(
            ops::rows(&x, at(vec![3, 0]), &[0]),
            &[2, 2],
            &[6.0, 7.0, 0.0, 1.0],
        );
        check(
            ops::rows(&x, at(vec![3, 2]), &[0, 1]),
            &[2, 2],
            &[6.0, 7.0, 4.0, 5.0],
        );
        // A place that is there twice is one place.
        check(
            ops::rows(&x, at(vec![3, 2]), &[0, 0]),
            &[2, 2],
            &[6.0, 7.0, 4.0, 5.0],
        );
        refused(
            ops::rows(&x, at(vec![3, 2]), &[0, 2]),
            Error::Index,
            "rows: from_end has the place 2, expected less than 2",
        );
    }
    let sliced = |items: &[SliceItem]| ops::slice(&x, items.to_vec());
    check(sliced(&[SliceItem::At(-1)]), &[2], &[6.0, 7.0]);
    check(
        sliced(&[range(None, None, -2), SliceItem::At(1)]),
        &[2],
        &[7.0, 3.0],
    );
    check(
        ops::take_flat(&x, at(vec![7, 0, 7])),
        &[3],
        &[7.0, 0.0, 7.0],
    );
    // Values broadcast, axes of length 1 in front are dropped, and of equal places the last counts.
    let of_two = Dense::new(&[1, 2], vec![0u32, 5]).unwrap();
    let replaced = |places: &Dense<u32>, values: Variable| ops::replace(&x, places, &values);
    let expected = |a: f64, b: f64| [a, 1.0, 2.0, 3.0, 4.0, b, 6.0, 7.0];
    check(
        replaced(&of_two, constant(9.0)),
        &[4, 2],
        &expected(9.0, 9.0),
    );
    check(
        replaced(&of_two, constant(vec![8.0, 9.0])),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    let deep = array(&[1, 1, 1, 2], &[8.0, 9.0]);
    check(
        replaced(&of_two, constant(deep)),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    check(
        replaced(&at(vec![0, 5, 5]), input(vec![8.0, 7.0, 9.0])),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    let single = constant(Array::from(vec![8.0f32, 9.0]));
    check(
        replaced(&at(vec![0, 5]), single),
        &[4, 2],
        &expected(8.0, 9.0),
    );
    refused(
        replaced(&at(vec![8]), constant(1.0)),
        Error::Index,
        "replace",
    );
    refused(
        replaced(&at(vec![0, 1]), constant(count(&[2, 2]))),
        Error::Shape,
        "",
    );
    let items = || vec![range(Some(1), Some(3), 1), SliceItem::At(0)];
    let expected = [0.0, 1.0, 8.0, 3.0, 9.0, 5.0, 6.0, 7.0];
    for (x, values) in [
        (x.clone(), constant(vec![8.0, 9.0])),
        (x.clone(), input(vec![8.0, 9.0])),
        (input(count(&[4, 2])), constant(array(&[1, 2], &[8.0, 9.0]))),
    ] {
        check(ops::slice_replace(&x, items(), &values), &[4, 2], &expected);
    }
    let with_ones = [0.0, 1.0, 1.0, 3.0, 1.0, 5.0, 6.0, 7.0];
    check(
        ops::slice_replace(&x, items(), &constant(1.0)),
        &[4, 2],
        &with_ones,
    );
}

#[test]
fn masks_are_known_from_numbers() {
    let x = input(vec![1.0, 5.0, 3.0]);
    let plain = constant(vec![1.0, 5.0, 3.0]);
    let two = constant(2.0);
    let greater = |x: &Variable| ops::binary(&wyrmling::rules::Greater, x, &two).unwrap();
    let not_equal = ops::not_equal(&x, &two).unwrap();
    let one_minus = |x: &Variable| (constant(1.0) - x.clone()).boxed();
    for mask in [greater(&x), not_equal.clone()] {
        assert!(mask.is_boolean(), "{mask:?}");
    }
    let equal = ops::binary(&wyrmling::rules::Equal, &x, &two).unwrap();
    assert!(equal.is_boolean());
    let less = greater(&x);
    for number in [
        x.clone(),
        one_minus(&x),
        one_minus(&less),
        one_minus(&equal),
        (two.clone() - equal.clone()).boxed(),
        (x.clone() - equal.clone()).boxed(),
        ops::unary(&wyrmling::rules::Exp, &x).unwrap(),
    ] {
        assert!(!number.is_boolean(), "{number:?}");
    }
    let parts = ops::reshape(&greater(&x), &[3, 1]).unwrap();
    assert!(parts.is_boolean() && ops::truth(&x).unwrap().is_boolean());
    assert_eq!(
        ops::constant_mask(&greater(&plain)).unwrap().to_f64(),
        [0.0, 1.0, 1.0]
    );
    refused(
        ops::constant_mask(&plain),
        Error::Type,
        "an index is integers, or a mask",
    );
    refused(
        ops::constant_mask(&greater(&x)),
        Error::Type,
        "has as many elements as the mask has ones",
    );
    check(
        ops::replace_where(&x, &greater(&x), &constant(0.0)),
        &[3],
        &[1.0, 0.0, 0.0],
    );
    let table = constant(count(&[3, 2]));
    let number = constant(array(&[1, 1], &[9.0]));
    let replaced = ops::replace_where(&table, &greater(&x), &number);
    check(replaced, &[3, 2], &[0.0, 1.0, 9.0, 9.0, 9.0, 9.0]);
    let text = "a mask of shape (3,) does not fit an array of shape (2, 3)";
    let wide = constant(count(&[2, 3]));
    refused(
        ops::replace_where(&wide, &greater(&x), &two),
        Error::Index,
        text,
    );
}

#[test]
fn integers_stay_integers_where_they_can() {
    let index = constant(vec![3u32, 0]);
    let x = constant(vec![2.5, -1.5]);
    assert!(index.is_integer() && !x.is_integer());
    let numbers = ops::numbers(&index).unwrap();
    assert_eq!(numbers.dtype(), DType::F64);
    check(Ok(numbers), &[2], &[3.0, 0.0]);
    let whole = ops::whole(&x).unwrap();
    assert!(whole.is_integer());
    check(Ok(whole.clone()), &[2], &[2.0, -1.0]);
    // From the end of an axis of length 4.
    let like = constant(count(&[2, 4]));
    let at = ops::to_index(&whole, &like, 1).unwrap();
    assert_eq!(at.value().unwrap().dtype(), DType::U32);
    check(Ok(at), &[2], &[2.0, 3.0]);
    refused(
        ops::to_index(&x, &like, 1),
        Error::Type,
        "an index is integers, got numbers of type",
    );
    let both = [index.clone(), whole.clone()];
    let sum = ops::of_integers(&wyrmling::rules::Add, &both, true).unwrap();
    assert!(sum.is_integer());
    check(Ok(sum), &[2], &[5.0, -1.0]);
    let some = [index.clone(), x.clone()];
    let sum = ops::of_integers(&wyrmling::rules::Add, &some, false).unwrap();
    assert!(!sum.is_integer());
    check(Ok(sum), &[2], &[5.5, -1.5]);
    let ratio = ops::of_integers(&wyrmling::rules::Div, &[whole.clone(), whole.clone()], true);
    assert!(!ratio.as_ref().unwrap().is_integer());
    check(ratio, &[2], &[1.0, 1.0]);
    let negative =
        ops::of_integers(&wyrmling::rules::Neg, std::slice::from_ref(&index), true).unwrap();
    assert!(negative.is_integer());
    check(Ok(negative), &[2], &[-3.0, 0.0]);
    let mask = constant(vec![1.0, 0.0]);
    let chosen = ops::of_integers(
        &wyrmling::rules::Where,
        &[mask, whole.clone(), index],
        false,
    );
    check(chosen, &[2], &[2.0, 0.0]);
    // What has the elements of integers in another order holds integers.
    let kept = [
        ops::reshape(&whole, &[1, 2]),
        ops::slice(&whole, vec![range(None, None, -1)]),
        ops::concatenate(&[whole.clone(), whole.clone()], None),
        ops::replace(&whole, &Dense::from(vec![0u32]), &first(&whole)),
        ops::slice_replace(&whole, vec![SliceItem::At(0)], &first(&whole)),
    ];
    for (k, kept) in kept.into_iter().enumerate() {
        assert!(kept.unwrap().is_integer(), "{k}");
    }
    // Numbers that are assigned to integers become integers, as in NumPy.
    let at = Dense::from(vec![0u32]);
    for assigned in [
        ops::replace(&whole, &at, &constant(7.5)),
        ops::slice_replace(&whole, vec![SliceItem::At(0)], &constant(7.5)),
    ] {
        assert!(assigned.as_ref().unwrap().is_integer());
        check(assigned, &[2], &[7.0, -1.0]);
    }
    let mixed = [
        ops::concatenate(&[whole.clone(), x.clone()], None),
        ops::replace(&x, &Dense::from(vec![0u32]), &first(&whole)),
        ops::unary(&wyrmling::rules::Exp, &whole),
    ];
    for (k, mixed) in mixed.into_iter().enumerate() {
        assert!(!mixed.unwrap().is_integer(), "{k}");
    }
    let mask = constant(vec![1.0, 0.0]);
    assert!(ops::select(&mask, &whole, &whole).unwrap().is_integer());
    assert!(!ops::select(&mask, &whole, &x).unwrap().is_integer());
    assert!(!ops::select(&whole, &x, &x).unwrap().is_integer());
}

/// What is assigned becomes what was there, and nothing else does.
#[test]
fn an_assignment_keeps_the_kind_of_elements() {
    let number = constant(2.5);
    let greater = |x: &Variable| ops::binary(&wyrmling::rules::Greater, x, &constant(0.0)).unwrap();
    let x = constant(vec![1.0, -1.0]);
    let (whole, truth) = (ops::whole(&x).unwrap(), greater(&x));
    let some = || vec![SliceItem::At(0)];
    let all = || vec![range(None, None, 1)];
    // x, whether it holds integers and booleans, and what 2.5 is there.
    for (x, kinds, there) in [
        (&x, (false, false), 2.5),
        (&whole, (true, false), 2.0),
        (&truth, (false, true), 1.0),
    ] {
        let other = x.value().unwrap().to_f64()[1];
        for (items, expected) in [(some(), [there, other]), (all(), [there; 2])] {
            for values in [
                &number,
                &ops::truth(&number).unwrap(),
                &ops::whole(&number).unwrap(),
            ] {
                let found = ops::slice_replace(x, items.clone(), values).unwrap();
                assert_eq!((found.is_integer(), found.is_boolean()), kinds);
                if std::ptr::eq(values, &raw const number) {
                    check(Ok(found), &[2], &expected);
                }
            }
        }
        let cast = ops::cast(x, DType::F64).unwrap();
        assert!(!cast.is_integer() && !cast.is_boolean());
        check(Ok(cast), &[2], &x.value().unwrap().to_f64());
    }
}

/// What an assignment leaves is there also where it left nothing when the graph was built.
#[test]
fn an_assignment_to_what_is_all_now_leaves_the_rest_of_a_longer_input() {
    let x = Input::new(vec![1.0, 2.0]);
    let two = vec![range(None, Some(2), 1)];
    let y = ops::slice_replace(&x.clone().boxed(), two, &constant(vec![7.0, 8.0])).unwrap();
    check(Ok(y.clone()), &[2], &[7.0, 8.0]);
    x.set_value(vec![1.0, 2.0, 3.0]).unwrap();
    check(Ok(y), &[3], &[7.0, 8.0, 3.0]);
}

/// NumPy's arithmetic of booleans.
#[test]
fn booleans_are_computed_with_as_such() {
    use wyrmling::rules::{self, Operator};
    let zero = constant(0.0);
    let mask = |x: Vec<f64>| ops::not_equal(&constant(x), &zero).unwrap();
    let (x, y) = (
        mask(vec![1.0, 1.0, 0.0, 0.0]),
        mask(vec![1.0, 0.0, 1.0, 0.0]),
    );
    let both = [x.clone(), y.clone()];
    let or: &[&'static dyn Operator] = &[&rules::Add, &rules::Maximum];
    let and: &[&'static dyn Operator] = &[&rules::Mul, &rules::Minimum];
    for (ops, expected) in [(or, [1.0, 1.0, 1.0, 0.0]), (and, [1.0, 0.0, 0.0, 0.0])] {
        for &op in ops {
            let found = ops::of_booleans(op, &both, true).unwrap();
            assert!(found.is_boolean(), "{}", op.name());
            check(Ok(found), &[4], &expected);
        }
    }
    let chosen = [x.clone(), y.clone(), x.clone()];
    let chosen = ops::of_booleans(&rules::Where, &chosen, true).unwrap();
    assert!(chosen.is_boolean());
    check(Ok(chosen), &[4], &[1.0, 0.0, 0.0, 0.0]);
    let same = ops::of_booleans(&rules::Abs, std::slice::from_ref(&x), true).unwrap();
    assert!(same.is_boolean());
    check(Ok(same), &[4], &[1.0, 1.0, 0.0, 0.0]);
    for operands in [&[][..], &both] {
        let found = ops::of_booleans(&rules::Abs, operands, true);
        refused(found, Error::Type, "abs takes 1 operand");
    }
    let ratio = ops::of_booleans(&rules::Div, &both, true).unwrap();
    assert!(!ratio.is_boolean());
    for op in [&rules::Neg as &'static dyn Operator, &rules::Sign] {
        let found = ops::of_booleans(op, std::slice::from_ref(&x), true);
        refused(found, Error::Type, "booleans have none, as in NumPy");
    }
    refused(
        ops::of_booleans(&rules::Sub, &both, true),
        Error::Type,
        "sub: booleans have none",
    );
    // Beside numbers they are numbers.
    let number = constant(Array::from(vec![0.5f32; 4]));
    let sum = ops::of_booleans(&rules::Add, &[x.clone(), number], false).unwrap();
    assert!(!sum.is_boolean());
    check(Ok(sum), &[4], &[1.5, 1.5, 0.5, 0.5]);
}

/// The first element.
fn first(x: &Variable) -> Variable {
    ops::slice(x, vec![SliceItem::At(0)]).expect("a vector")
}

/// Operators are told by their type: one of a caller's may have the name of another.
#[test]
fn an_operator_named_add_is_no_sum() {
    use wyrmling::array::{Type, View, ViewMut};
    use wyrmling::rules::{Add, Ex, Operator};

    #[derive(Debug, Clone)]
    struct Named;

    impl Operator for Named {
        fn name(&self) -> &str {
            "add"
        }
        fn infer(&self, args: &[&Type]) -> wyrmling::Result<Type> {
            Add.infer(args)
        }
        fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> wyrmling::Result<()> {
            Add.eval(args, out)
        }
        fn vjp<'t>(&self, _: usize, _: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
            None
        }
    }

    let zero = constant(0.0);
    let mask = ops::not_equal(&constant(vec![1.0, 0.0]), &zero).unwrap();
    let both = [mask.clone(), mask];
    let sum = ops::of_booleans(&Named, &both, true).unwrap();
    assert!(!sum.is_boolean() && !sum.is_integer());
    check(Ok(sum), &[2], &[2.0, 0.0]);
}
