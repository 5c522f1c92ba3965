//! What becomes an [`Array`] by `into()`, and arrays of `ndarray`, which an [`Array`] becomes.

use super::{Array, Dense, Element, Shape, show_shape, size};
use crate::error::{Error, Result};

macro_rules! conversions {
    ($($t:ty => $tag:ident),*) => {$(
        impl From<$t> for Array {
            fn from(x: $t) -> Self { Array::$tag(Dense::scalar(x)) }
        }
        impl From<Dense<$t>> for Array {
            fn from(d: Dense<$t>) -> Self { Array::$tag(d) }
        }
        impl From<Vec<$t>> for Dense<$t> {
            fn from(v: Vec<$t>) -> Self {
                Dense::from_vec(Shape::from_slice(&[v.len()]), v)
            }
        }
        impl From<Vec<$t>> for Array {
            fn from(v: Vec<$t>) -> Self {
                Array::$tag(v.into())
            }
        }
        impl From<&[$t]> for Array {
            fn from(v: &[$t]) -> Self {
                v.to_vec().into()
            }
        }
        impl<const N: usize> From<[$t; N]> for Array {
            fn from(v: [$t; N]) -> Self {
                v.to_vec().into()
            }
        }
        /// A matrix by its rows.
        impl<const N: usize, const M: usize> From<[[$t; M]; N]> for Array {
            fn from(rows: [[$t; M]; N]) -> Self {
                let shape = Shape::from_slice(&[N, M]);
                Array::$tag(Dense::from_vec(shape, rows.as_flattened().to_vec()))
            }
        }
        impl<D: ndarray::Dimension> From<ndarray::Array<$t, D>> for Array {
            fn from(a: ndarray::Array<$t, D>) -> Self {
                let shape = Shape::from_slice(a.shape());
                let data = if a.is_standard_layout() {
                    let (data, offset) = a.into_raw_vec_and_offset();
                    let start = offset.unwrap_or(0);
                    if start == 0 && data.len() == size(&shape) {
                        data
                    } else {
                        data[start..start + size(&shape)].to_vec()
                    }
                } else {
                    a.iter().copied().collect()
                };
                Array::$tag(Dense::from_vec(shape, data))
            }
        }
        impl<D: ndarray::Dimension> TryFrom<Array> for ndarray::Array<$t, D> {
            type Error = Error;
            /// Takes the elements, or copies of them if they are shared; [`Error::Type`] if they are of another
            /// type, [`Error::Shape`] if there is another number of axes.
            fn try_from(a: Array) -> Result<Self> {
                match a {
                    Array::$tag(d) => {
                        let shape = d.shape().to_vec();
                        let array = ndarray::ArrayD::from_shape_vec(shape.clone(), d.into_vec()?);
                        array.and_then(ndarray::Array::into_dimensionality).map_err(|_| {
                            let axes = D::NDIM.unwrap_or(shape.len());
                            Error::Shape(format!(
                                "expected {axes} axes, got shape {}", show_shape(&shape)
                            ))
                        })
                    }
                    other => Err(Error::Type(format!(
                        "expected an array of {}, got {}", <$t>::DTYPE, other.dtype()
                    ))),
                }
            }
        }
        impl<D: ndarray::Dimension> TryFrom<&Array> for ndarray::Array<$t, D> {
            type Error = Error;
            /// As of an [`Array`], and copies the elements.
            fn try_from(a: &Array) -> Result<Self> {
                a.clone().try_into()
            }
        }
    )*};
}
conversions!(f32 => F32, f64 => F64, u32 => U32);
