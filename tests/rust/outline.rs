//! Outlines of graphs, for drawings, and operators as they are written.

use wyrmling::graph::{Independent, Parameter};
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{Array, Input, Variable};

use crate::common::matrix;

#[test]
fn an_outline_is_what_is_near_with_values_in_short() {
    let table = Array::from(ndarray::Array2::from_shape_fn((100, 2), |(i, j)| {
        (i + j) as f64
    }));
    let table = Parameter::new(table);
    let rows = Input::indices(vec![3, 7, 3]);
    let loss = (table.clone().gather(rows) * 2.0).sum();
    loss.backward();
    let outline = loss.outline(usize::MAX).unwrap();
    assert_eq!(outline.total, 6);
    let parents: Vec<_> = outline.nodes.iter().map(|n| n.parents.clone()).collect();
    let some = |places: &[usize]| places.iter().map(|&p| Some(p)).collect::<Vec<_>>();
    let expected = [&[][..], &[], &[0, 1], &[], &[2, 3], &[4]].map(some);
    assert_eq!(parents, expected);
    assert_eq!(
        outline.nodes[5].node.address(),
        loss.clone().boxed().address()
    );

    let value = |k: usize| outline.nodes[k].value.clone().unwrap();
    assert_eq!(
        (value(0).count, value(0).min, value(0).max),
        (200, 0.0, 100.0)
    );
    assert_eq!(value(0).first, [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]);
    assert_eq!(value(2).first, [3.0, 4.0, 7.0, 8.0, 3.0, 4.0]);
    assert_eq!(value(5).first, [loss.item().unwrap()]);
    let (gradient, rows) = outline.nodes[0].gradient.clone().unwrap();
    assert_eq!((gradient.first, rows), (vec![4.0, 4.0, 2.0, 2.0], Some(2)));
    assert!(outline.nodes[1..].iter().all(|n| n.gradient.is_none()));

    let near = loss.outline(2).unwrap();
    assert_eq!((near.nodes.len(), near.total), (2, 6));
    assert_eq!(near.nodes[0].parents, [None, None]);
    assert_eq!(near.nodes[1].parents, [Some(0)]);
    assert_eq!(loss.outline(0).unwrap().nodes.len(), 1, "the root at least");
}

#[test]
fn an_outline_of_rows_and_diagonals_counts_the_zeros_between() {
    let table = Parameter::new(matrix(100, 1, vec![7.0; 100])).boxed();
    let values = Independent::new(matrix(3, 1, vec![2.0, -1.0, 4.0]))
        .unwrap()
        .boxed();
    let index = Input::indices(vec![5, 9, 5]).boxed();
    let scatter = OpRef::Static(&rules::ScatterRows);
    let rows = Variable::apply(scatter, &[values, index, table]).unwrap();
    let value = rows.outline(1).unwrap().nodes[0].value.clone().unwrap();
    assert_eq!((value.count, value.min, value.max), (100, -1.0, 6.0));
    assert!(
        value.first.is_empty(),
        "the first elements are zeros that nobody wrote down"
    );

    let square = Independent::new(matrix(3, 3, vec![1.0; 9]))
        .unwrap()
        .boxed();
    let number = Independent::new(-2.5).unwrap().boxed();
    let diagonal = Variable::apply(OpRef::Static(&rules::DiagonalLike), &[number, square]).unwrap();
    let value = diagonal.outline(1).unwrap().nodes[0].value.clone().unwrap();
    assert_eq!(
        (value.count, value.min, value.max, value.nans),
        (9, -2.5, 0.0, 0)
    );
}

#[test]
fn attributes_are_shown_as_they_are_written() {
    let shown = |op: &dyn Operator| op.attributes();
    assert_eq!(shown(&rules::Exp), "");
    let axes = [0, 2].into_iter().collect();
    let sum = rules::Sum {
        axes,
        keepdims: true,
    };
    assert_eq!(shown(&sum), "axes: [0, 2], keepdims: true");
    use rules::SliceItem::{At, NewAxis, Range};
    let range = |start, stop, step| Range { start, stop, step };
    let items = vec![
        At(-1),
        NewAxis,
        range(Some(1), None, 1),
        range(None, Some(-2), -3),
    ];
    assert_eq!(
        shown(&rules::BasicSlice { items }),
        "items: [-1, None, 1:, :-2:-3]"
    );
}
