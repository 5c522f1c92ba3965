//! Values that are assigned to leaves: who sees them, and which are refused.

use wyrmling::graph::{Independent, Parameter};
use wyrmling::rules::{self, OpRef};
use wyrmling::{Array, Error, Input, Variable};

use crate::common::{gradient_numbers, matrix};

#[test]
fn assigned_values_are_seen_above() {
    let p = Parameter::new(vec![1.0, 2.0]);
    let x = Input::new(vec![3.0, 4.0]);
    let leaf = Independent::new(10.0).unwrap();
    let product = p.clone() * x.clone();
    let total = product.clone().sum() + leaf.clone();
    let above = total.clone().square().boxed();
    assert_eq!(above.item().unwrap(), 441.0);
    x.set_value(vec![5.0, 6.0]).unwrap();
    assert_eq!(above.item().unwrap(), 27.0 * 27.0, "an input");
    leaf.set_value(0.0).unwrap();
    assert_eq!(total.item().unwrap(), 17.0, "a leaf, read halfway up");
    assert_eq!(above.item().unwrap(), 17.0 * 17.0, "and then above");
    p.param().table().write(&vec![1.0, 0.0].into()).unwrap();
    above.backward();
    assert_eq!(
        gradient_numbers(p.grad()),
        [50.0, 60.0],
        "backward computes anew by itself"
    );
    assert_eq!(gradient_numbers(leaf.grad()), [10.0]);
    assert_eq!(above.item().unwrap(), 25.0, "a table");
    let late = above.clone() + product.sum();
    x.set_value(vec![1.0, 1.0]).unwrap();
    assert_eq!(
        late.item().unwrap(),
        2.0,
        "what was built between two assignments"
    );
    p.param().table().exclusive().unwrap().slice::<f64>()[0] = 3.0;
    assert_eq!(late.item().unwrap(), 12.0, "plain access to a table");
}

#[test]
fn an_input_may_change_its_length() {
    let p = Parameter::new(2.0);
    let x = Input::new(vec![1.0, 2.0]);
    let loss = (x.clone() * p.clone()).square().sum();
    for values in [vec![1.0, 2.0, 3.0], vec![], vec![4.0]] {
        let squares: f64 = values.iter().map(|x| x * x).sum();
        x.set_value(values).unwrap();
        p.zero_grad();
        loss.backward();
        assert_eq!(loss.item().unwrap(), 4.0 * squares);
        assert_eq!(gradient_numbers(p.grad()), [4.0 * squares]);
    }
}

#[test]
fn an_assignment_that_does_not_fit_is_refused_or_reported() {
    let (a, b) = (Input::new(vec![1.0, 2.0]), Input::new(vec![3.0, 4.0]));
    let p = Independent::new(1.0).unwrap();
    let sum = a.clone() + b.clone() * p.clone();
    let wrong = a.set_value(vec![1.0f32]);
    assert!(matches!(wrong, Err(Error::Type(_))), "another element type");
    assert!(matches!(p.set_value(vec![1.0]), Err(Error::Shape(_))));
    for axes in [matrix(2, 1, vec![7.0, 7.0]), Array::from(7.0)] {
        let wrong = a.set_value(axes).unwrap_err().to_string();
        assert!(
            wrong.contains("expected 1 axes as in shape (2,)"),
            "{wrong}"
        );
    }
    assert_eq!(sum.value().unwrap().to_f64(), [4.0, 6.0]);
    a.set_value(vec![1.0, 2.0, 3.0]).unwrap();
    for _ in 0..2 {
        assert!(matches!(sum.value(), Err(Error::Shape(_))));
        assert!(matches!(sum.try_backward(), Err(Error::Shape(_))));
        assert!(sum.freeze().is_err());
    }
    assert!(p.grad().is_none());
    b.set_value(vec![0.0, 0.0, 1.0]).unwrap();
    assert_eq!(
        sum.value().unwrap().to_f64(),
        [1.0, 2.0, 4.0],
        "and repaired"
    );
}

#[test]
fn an_index_out_of_range_is_reported_until_it_is_repaired() {
    let table = Parameter::new(matrix(3, 2, (0..6).map(f64::from).collect()));
    let at = Input::indices(vec![0, 2]);
    let loss = table.clone().gather(at.clone()).sum();
    at.set_value(vec![3u32]).unwrap();
    assert!(matches!(loss.item(), Err(Error::Index(_))));
    assert!(matches!(loss.try_backward(), Err(Error::Index(_))));
    assert!(table.grad().is_none());
    at.set_value(vec![1u32]).unwrap();
    assert_eq!(loss.item().unwrap(), 5.0);
    let past = Variable::apply(
        OpRef::Static(&rules::Gather),
        &[table.boxed(), Input::indices(vec![7]).boxed()],
    );
    assert!(matches!(past, Err(Error::Index(_))));
}
