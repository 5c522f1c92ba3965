//! What typed variables have beside the elementwise operators: sums and products, softmax, and other
//! shapes. [`ops`](super::ops) has the same for boxed variables, by reference and with errors in place of
//! panics. All of these panic, too, if a value that was assigned below does not fit.

use super::node::{IntoDyn, Variable};
use super::ops::new_lengths;
use super::variable::{Binary, Unary, must};
use crate::array::{Shape, normalize_axis};
use crate::rules::{self, SliceItem};

impl<A: ?Sized + IntoDyn> Variable<A> {
    /// An axis by its number, which may count from the end.
    fn axis(&self, name: &str, axis: i64) -> usize {
        must(normalize_axis(name, axis, must(self.ty()).ndim()))
    }

    /// All axes.
    fn axes(&self) -> Shape {
        (0..must(self.ty()).ndim()).collect()
    }

    /// Sum of the diagonal.
    ///
    /// # Panics
    /// If this variable is no matrix.
    pub fn trace(self) -> Unary<rules::Trace, A> {
        must(self.unary(rules::Trace))
    }

    /// Sum of all elements.
    ///
    /// # Panics
    /// If this variable holds indices.
    pub fn sum(self) -> Unary<rules::Sum, A> {
        let axes = self.axes();
        must(self.unary(rules::Sum {
            axes,
            keepdims: false,
        }))
    }

    /// Mean of all elements.
    ///
    /// # Panics
    /// If this variable holds indices.
    pub fn mean(self) -> Unary<rules::Mean, A> {
        let axes = self.axes();
        must(self.unary(rules::Mean {
            axes,
            keepdims: false,
        }))
    }

    /// Sum along an axis, which is removed, and which counts from the end if it is negative.
    ///
    /// ```
    /// use wyrmling::Parameter;
    ///
    /// let x = Parameter::new([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(x.clone().sum_axis(0).value()?.to_f64(), [5.0, 7.0, 9.0]);
    /// assert_eq!(x.mean_axis(-1).value()?.to_f64(), [2.0, 5.0]);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such axis, or this variable holds indices.
    pub fn sum_axis(self, axis: i64) -> Unary<rules::Sum, A> {
        let axes = Shape::from_slice(&[self.axis("sum", axis)]);
        must(self.unary(rules::Sum {
            axes,
            keepdims: false,
        }))
    }

    /// Mean along an axis, which is removed, and which counts from the end if it is negative.
    ///
    /// # Panics
    /// As [`sum_axis`](Self::sum_axis).
    pub fn mean_axis(self, axis: i64) -> Unary<rules::Mean, A> {
        let axes = Shape::from_slice(&[self.axis("mean", axis)]);
        must(self.unary(rules::Mean {
            axes,
            keepdims: false,
        }))
    }

    /// Softmax along an axis, which counts from the end if it is negative.
    ///
    /// # Panics
    /// If there is no such axis, or nothing along it.
    pub fn softmax(self, axis: i64) -> Unary<rules::Softmax, A> {
        let axis = self.axis("softmax", axis);
        must(self.unary(rules::Softmax { axis }))
    }

    /// Logarithm of the [`softmax`](Self::softmax).
    ///
    /// # Panics
    /// As [`softmax`](Self::softmax).
    pub fn log_softmax(self, axis: i64) -> Unary<rules::LogSoftmax, A> {
        let axis = self.axis("log_softmax", axis);
        must(self.unary(rules::LogSoftmax { axis }))
    }

    /// Logarithm of the sum of the exponentials along an axis, which is removed.
    ///
    /// # Panics
    /// If there is no such axis.
    pub fn logsumexp(self, axis: i64) -> Unary<rules::LogSumExp, A> {
        let axis = self.axis("logsumexp", axis);
        must(self.unary(rules::LogSumExp {
            axis,
            keepdims: false,
        }))
    }

    /// The axes in reverse order: the transpose of a matrix.
    ///
    /// # Panics
    /// If a value assigned below does not fit.
    pub fn t(self) -> Unary<rules::Transpose, A> {
        let axes = self.axes().into_iter().rev().collect();
        must(self.unary(rules::Transpose { axes }))
    }

    /// The same elements in another shape; one length may be -1, to be inferred.
    ///
    /// ```
    /// use wyrmling::Parameter;
    ///
    /// let x = Parameter::new([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// assert_eq!(x.reshape(&[-1, 2]).value()?.shape(), [3, 2]);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are not as many elements, or two lengths are negative.
    pub fn reshape(self, shape: &[i64]) -> Unary<rules::Reshape, A> {
        let shape = must(new_lengths(shape));
        must(self.unary(rules::Reshape { shape }))
    }

    /// A basic slice, with Python's meaning; the axes that `items` do not name stay whole.
    ///
    /// ```
    /// use wyrmling::Parameter;
    /// use wyrmling::rules::SliceItem;
    ///
    /// let x = Parameter::new(vec![1.0, 2.0, 3.0, 4.0]);
    /// let middle = SliceItem::Range { start: Some(1), stop: Some(-1), step: 1 };
    /// assert_eq!(x.slice([middle]).value()?.to_f64(), [2.0, 3.0]);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are more items than axes, an index is out of range, or a step is 0.
    pub fn slice(self, items: impl Into<Vec<SliceItem>>) -> Unary<rules::BasicSlice, A> {
        let items = items.into();
        must(self.unary(rules::BasicSlice { items }))
    }

    /// This and another array, one after the other along an axis.
    ///
    /// # Panics
    /// If the lengths of another axis differ, numbers meet indices, or there is no such axis.
    pub fn concatenate<B: ?Sized + IntoDyn>(
        self,
        other: Variable<B>,
        axis: i64,
    ) -> Binary<rules::Concatenate, A, B> {
        let axis = self.axis("concatenate", axis);
        must(self.binary(rules::Concatenate { axis }, other))
    }

    /// This and another array of the same shape along a new axis.
    ///
    /// # Panics
    /// If the shapes differ, numbers meet indices, or there is no such axis.
    pub fn stack<B: ?Sized + IntoDyn>(self, other: Variable<B>, axis: i64) -> Stacked<A, B> {
        let axis = must(normalize_axis("stack", axis, must(self.ty()).ndim() + 1));
        let axes = || rules::ExpandDims {
            axes: Shape::from_slice(&[axis]),
        };
        let (first, second) = (must(self.unary(axes())), must(other.unary(axes())));
        must(first.binary(rules::Concatenate { axis }, second))
    }

    /// Dot products along the last axis.
    ///
    /// # Panics
    /// If the shapes differ or there is no axis.
    pub fn vecdot<B: ?Sized + IntoDyn>(self, other: Variable<B>) -> Binary<rules::VecDot, A, B> {
        must(self.binary(rules::VecDot, other))
    }

    /// Matrix product of the last two axes; those before them broadcast. [`ops::matmul`](super::ops::matmul)
    /// takes vectors, too.
    ///
    /// # Panics
    /// If the shapes do not fit, or one of them has no two axes.
    pub fn matmul<B: ?Sized + IntoDyn>(self, other: Variable<B>) -> Binary<rules::MatMul, A, B> {
        let op = rules::MatMul {
            transpose_a: false,
            transpose_b: false,
        };
        must(self.binary(op, other))
    }

    /// Rows at `index`.
    ///
    /// # Panics
    /// If an index is out of range or `index` does not hold indices.
    pub fn gather<B: ?Sized + IntoDyn>(self, index: Variable<B>) -> Binary<rules::Gather, A, B> {
        must(self.binary(rules::Gather, index))
    }
}

/// One more axis.
type Expanded<A> = super::operation::Operation<rules::ExpandDims, (Variable<A>,)>;
/// The type of [`stack`](Variable::stack).
pub type Stacked<A, B> = Binary<rules::Concatenate, Expanded<A>, Expanded<B>>;
