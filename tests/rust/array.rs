//! Arrays: conversions, checks, printing.

use ndarray::{Array1, Array2, ArrayD, IxDyn, ShapeBuilder, arr0, array, s};
use wyrmling::array::{Broadcast, Dense, broadcast, element_count, normalize_axis};
use wyrmling::{Array, DType, Error, Type};

/// Converts an `ndarray` array and compares elements and shape in logical order.
#[track_caller]
fn converts<D: ndarray::Dimension>(from: ndarray::Array<f64, D>) {
    let (shape, elements): (Vec<usize>, Vec<f64>) =
        (from.shape().to_vec(), from.iter().copied().collect());
    let ours = Array::from(from);
    assert_eq!(ours.ty(), Type::new(DType::F64, &shape));
    assert_eq!(ours.to_f64(), elements);
    let back = ArrayD::<f64>::try_from(&ours).expect("of one element type");
    assert_eq!(back.shape(), shape);
    assert!(back.iter().eq(elements.iter()));
}

fn counted(rows: usize, columns: usize) -> Array2<f64> {
    Array1::range(0.0, (rows * columns) as f64, 1.0)
        .into_shape_with_order((rows, columns))
        .expect("as many numbers as places")
}

#[test]
fn arrays_of_any_layout_convert() {
    converts(counted(3, 4));
    converts(counted(3, 4).reversed_axes());
    converts(counted(3, 4).slice_move(s![1.., ..]));
    converts(counted(3, 4).slice_move(s![.., 1..3]));
    converts(counted(3, 4).slice_move(s![..;-1, ..;2]));
    converts(counted(3, 4).slice_move(s![2, ..]));
    converts(counted(3, 4).slice_move(s![.., 1]));
    converts(Array2::from_shape_vec((2, 3).f(), (0..6).map(f64::from).collect()).unwrap());
    let cube = Array1::range(0.0, 24.0, 1.0).into_shape_with_order((2, 3, 4));
    converts(cube.unwrap().permuted_axes([2, 0, 1]));
    converts(ArrayD::from_elem(IxDyn(&[1, 1, 1, 1, 1, 2]), 7.0));
}

#[test]
fn single_numbers_and_empty_arrays_convert() {
    converts(arr0(2.5));
    converts(counted(3, 4).slice_move(s![2, 3]));
    converts(Array1::<f64>::zeros(0));
    converts(Array2::<f64>::zeros((0, 3)));
    converts(Array2::<f64>::zeros((3, 0)));
    converts(counted(3, 4).slice_move(s![3.., ..]));
    converts(counted(3, 4).slice_move(s![1..1, 2..]));
    converts(counted(3, 4).slice_move(s![.., 4..]).reversed_axes());
}

#[test]
fn every_element_type_converts_to_itself_alone() {
    let single = Array::from(array![[1.0f32, 2.0], [3.0, 4.0]].reversed_axes());
    assert_eq!(single.ty(), Type::new(DType::F32, &[2, 2]));
    assert_eq!(single.to_f64(), [1.0, 3.0, 2.0, 4.0]);
    let index = Array::from(array![3u32, 1, 2]);
    assert_eq!(index.ty(), Type::new(DType::U32, &[3]));
    assert_eq!(index.to_f64(), [3.0, 1.0, 2.0]);
    let back = ArrayD::<u32>::try_from(&index).unwrap();
    assert_eq!(back, array![3u32, 1, 2].into_dyn());
    let error = ArrayD::<f64>::try_from(&single).unwrap_err();
    let expected = "expected an array of float64, got float32";
    assert_eq!(error, Error::Type(expected.into()));
}

#[test]
fn the_number_of_elements_must_fit_the_shape() {
    let dense = Dense::new(&[2, 3], vec![1.0; 6]).unwrap();
    assert_eq!(dense.shape(), [2, 3]);
    let error = Dense::new(&[2, 3], vec![1.0; 5]).unwrap_err();
    let expected = "5 elements do not fill shape (2, 3)";
    assert_eq!(error, Error::Shape(expected.into()));
    assert!(Dense::new(&[], vec![1.0, 2.0]).is_err());
    assert!(Dense::<f64>::new(&[], vec![]).is_err());
    assert_eq!(Dense::new(&[], vec![1.5]).unwrap().as_slice(), [1.5]);
    assert!(Dense::new(&[0], vec![1.0]).is_err());
    let huge = Dense::<f64>::new(&[usize::MAX, 2, usize::MAX], vec![]);
    assert!(matches!(huge, Err(Error::Shape(_))));
}

#[test]
fn an_item_is_the_only_element() {
    for shape in [&[][..], &[1], &[1, 1]] {
        let one = Array::from(Dense::new(shape, vec![2.5]).unwrap());
        assert_eq!(one.item().unwrap(), 2.5);
    }
    assert_eq!(Array::from(7u32).item().unwrap(), 7.0);
    assert_eq!(Array::from(0.5f32).item().unwrap(), 0.5);
    for shape in [&[0][..], &[2], &[1, 2]] {
        let many = Array::full(&Type::new(DType::F32, shape), 1.0);
        assert!(matches!(many.item(), Err(Error::Shape(_))));
    }
    let error = Array::from(vec![1.0, 2.0]).item().unwrap_err();
    let expected = "expected exactly one element, as one number is asked for; got shape (2,)";
    assert_eq!(error, Error::Shape(expected.into()));
}

#[test]
fn writing_does_not_reach_a_clone() {
    let mut one = Dense::from(vec![1.0, 2.0]);
    let other = one.clone();
    one.make_mut().unwrap()[0] = 5.0;
    assert_eq!(
        (one.as_slice(), other.as_slice()),
        (&[5.0, 2.0][..], &[1.0, 2.0][..])
    );
    assert_eq!(other.into_vec().unwrap(), [1.0, 2.0]);
}

#[test]
fn finite_means_neither_nan_nor_infinite() {
    assert!(Array::from(vec![1.0, -0.0, f64::MAX]).is_finite());
    assert!(!Array::from(vec![1.0f32, f32::NAN]).is_finite());
    assert!(!Array::from(f64::NEG_INFINITY).is_finite());
    assert!(Array::from(vec![u32::MAX]).is_finite());
}

#[test]
fn shapes_broadcast_as_in_numpy() {
    let joint = |a: &[usize], b: &[usize]| broadcast("f", [a, b].into_iter());
    assert_eq!(joint(&[2, 1], &[3]).unwrap()[..], [2, 3]);
    assert_eq!(joint(&[], &[4]).unwrap()[..], [4]);
    assert_eq!(joint(&[0, 3], &[1]).unwrap()[..], [0, 3]);
    let error = joint(&[2, 3], &[2]).unwrap_err();
    let expected = "f: shapes (2, 3) and (2,) do not broadcast together";
    assert_eq!(error, Error::Shape(expected.into()));
    assert!(joint(&[0], &[2]).is_err());
    let far = 1 << 40;
    assert!(matches!(joint(&[far, 1], &[1, far]), Err(Error::Shape(_))));
}

#[test]
fn axes_count_from_either_end() {
    assert_eq!(normalize_axis("f", -1, 3).unwrap(), 2);
    assert_eq!(normalize_axis("f", 0, 3).unwrap(), 0);
    for axis in [3, -4, i64::MIN, i64::MAX] {
        assert!(matches!(normalize_axis("f", axis, 3), Err(Error::Axis(_))));
    }
    assert!(normalize_axis("f", 0, 0).is_err());
}

#[test]
fn sizes_that_no_memory_holds_are_refused() {
    assert_eq!(element_count(&[2, 3, 4]).unwrap(), 24);
    assert_eq!(element_count(&[3, 0, 4]).unwrap(), 0);
    assert_eq!(element_count(&[]).unwrap(), 1);
    for shape in [
        &[usize::MAX][..],
        &[1 << 40, 1 << 40],
        &[0, usize::MAX],
        &[usize::MAX, 0],
    ] {
        assert!(
            matches!(element_count(shape), Err(Error::Shape(_))),
            "{shape:?}"
        );
    }
    // Allowed, and yet more than any machine has.
    let huge = Type::new(DType::F64, &[1 << 50]);
    assert!(matches!(Array::zeros(&huge), Err(Error::Memory(_))));
}

#[test]
fn arrays_print_their_type_and_first_elements() {
    let text = format!("{:?}", Array::from(array![[1.0, 2.5]]));
    assert_eq!(text, "f64[1, 2] [1.0, 2.5]");
    let text = format!("{:?}", Array::from((0..9u32).collect::<Vec<_>>()));
    assert_eq!(text, "u32[9] [0, 1, 2, 3, 4, 5, 6, 7]…");
}

#[test]
fn walks_of_empty_spaces_end() {
    let walk = Broadcast::new(&[2, 0, 3], [&[2, 0, 3][..], &[3]].into_iter());
    walk.for_each(|_, _| panic!("there is nothing to visit"));
}

#[test]
fn arrays_are_equal_if_type_shape_and_numbers_are() {
    // Elements of few, of many, and of a single number are stored in different ways.
    for count in [0, 1, 5, 40] {
        let made = |scale: f64| -> Array {
            (0..count)
                .map(|k| f64::from(k) * scale)
                .collect::<Vec<_>>()
                .into()
        };
        let computed = wyrmling::graph::Constant::new(made(2.0));
        assert_eq!((computed * 0.5).value().unwrap(), made(1.0));
        assert_eq!(made(2.0) == made(1.0), count < 2);
    }
    let flat: Array = vec![1.0, 2.0].into();
    let column: Array = Dense::new(&[2, 1], vec![1.0, 2.0]).unwrap().into();
    assert!(flat != column && flat != flat.to_dtype(DType::F32));
    assert!(Array::from(1.0) != Array::from(vec![1.0]));
    let nan: Array = vec![f64::NAN].into();
    assert!(nan != nan.clone());
    assert_eq!(Array::from(0.0), Array::from(-0.0));
}

#[test]
fn arrays_of_rust_convert() {
    assert_eq!(Array::from([1.0, 2.0]), Array::from(vec![1.0, 2.0]));
    assert_eq!(Array::from(&[3_u32, 1][..]), Array::from(vec![3_u32, 1]));
    let rows = Array::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(rows, array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]].into());
    for (empty, shape) in [
        (Array::from([[0.0; 0]; 3]), [3, 0]),
        (Array::from([[0.0; 3]; 0]), [0, 3]),
    ] {
        assert_eq!(empty.shape(), shape);
    }
    assert_eq!(Array::from([0.0; 0]).shape(), [0]);
}

#[test]
fn an_array_gives_its_elements_away_and_keeps_what_is_shared() {
    let ours = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    let mut theirs = ArrayD::<f64>::try_from(ours.clone()).expect("of one element type");
    theirs[[0, 1]] = 9.0;
    assert_eq!(ours.to_f64(), [1.0, 2.0, 3.0, 4.0]);
    let matrix = Array2::<f64>::try_from(&ours).expect("of two axes");
    assert_eq!(matrix, array![[1.0, 2.0], [3.0, 4.0]]);
    let refused = Array1::<f64>::try_from(&ours);
    assert!(matches!(refused, Err(Error::Shape(m)) if m == "expected 1 axes, got shape (2, 2)"));
    let refused = ArrayD::<u32>::try_from(ours);
    assert!(
        matches!(refused, Err(Error::Type(m)) if m == "expected an array of uint32, got float64")
    );
}
