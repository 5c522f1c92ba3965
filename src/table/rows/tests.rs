//! How many rows a gradient has, of what type, and how much memory it keeps.

use super::*;
use crate::array::DType;

fn rows(n: usize, indices: Vec<u32>) -> Rows {
    let values = Array::full(&Type::new(DType::F64, &[indices.len(), 2]), 1.0);
    Rows::new(Type::new(DType::F64, &[n, 2]), indices.into(), values).unwrap()
}

#[test]
fn rows_that_are_never_cleared_do_not_grow_without_bound() {
    for n in [10, 2000] {
        let most = 2 * n.max(1024);
        let mut sum = rows(n, vec![3]);
        for k in 1..most {
            sum.extend(rows(n, vec![(k % 5) as u32]));
            assert_eq!(sum.len(), k + 1, "they are kept as they come");
        }
        sum.extend(rows(n, vec![3]));
        assert_eq!(sum.len(), 5, "equal ones are summed");
        let total: f64 = sum.to_dense().to_f64().iter().sum();
        assert_eq!(total, 2.0 * (most + 1) as f64);
    }
}

#[test]
fn how_many_rows_there_are() {
    assert!(rows(3, vec![]).is_empty() && !rows(3, vec![0]).is_empty());
    assert!(rows(3, vec![0, 0, 0]).is_many() && !rows(3, vec![0, 1]).is_many());
}

#[test]
fn a_gradient_has_the_type_of_what_it_is_of() {
    let ty = Type::new(DType::F64, &[3, 2]);
    let dense = |ty: &Type| Gradient::Dense(Array::full(ty, 1.0));
    for (dtype, shape, right) in [
        (DType::F64, &[3, 2][..], None),
        (DType::F64, &[2, 3], Some(false)),
        (DType::F32, &[3, 2], Some(true)),
        (DType::F32, &[6], Some(true)),
    ] {
        let found = dense(&Type::new(dtype, shape)).check(&ty, || "w".into());
        match right {
            None => assert_eq!(found, Ok(())),
            Some(true) => assert!(matches!(found, Err(Error::Type(_)))),
            Some(false) => assert!(matches!(found, Err(Error::Shape(_)))),
        }
    }
    let of_rows = Gradient::Rows(rows(3, vec![1]));
    assert_eq!(of_rows.check(&ty, String::new), Ok(()));
    let wider = Type::new(DType::F64, &[4, 2]);
    let refused = of_rows.check(&wider, || "w".into());
    assert!(matches!(refused, Err(Error::Shape(text)) if text.starts_with("w: expected")));
}
