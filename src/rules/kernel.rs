//! Elementwise kernels as plain function pointers.
//!
//! A fused group of a program calls one kernel per operator and block, so the call itself
//! must cost next to nothing: no slices are tagged, no element type is looked up. A kernel
//! is made from a scalar function ([`Map1`], [`Map2`], [`Map3`]) for one element type; the
//! loops are compiled once per instruction set. Special functions are calls, which no loop
//! makes faster: all share the loops over a [`ScalarFunction`] of `f64`, through which float32 goes
//! too, so that its results are right to the last place or nearly.

use smallvec::SmallVec;

use super::Operator;
use super::elementwise::{LANES, Map1, Map2, Map3, map1, map2, map3};
use crate::array::{Array, DType, Real, Slice, SliceMut, Typed, with_real};
use crate::error::{Error, Result};
use crate::split;

/// Elements from which on one operator may take long.
const MANY: usize = 1 << 16;

/// Elements that are computed between two looks whether to end, in a few milliseconds at most. Each
/// part is handed out under a mutex.
const PART: usize = 1 << 17;

/// As [`PART`], of a function that is called for each element, which takes up to some 3 us.
const CALLED_PART: usize = 1 << 14;

/// Operands that a kernel may have.
pub const MOST_OPERANDS: usize = 3;

/// The kernel, addresses and lengths of operands, address of the result, and its length. The
/// kernel is the one that holds the function; the rest is as [`Kernel::run`] asks.
type RunFunction = unsafe fn(&Kernel, &[Operand; MOST_OPERANDS], *mut u8, usize);

/// A scalar function that is called for each element.
#[derive(Debug, Clone, Copy)]
pub enum ScalarFunction {
    /// Of one number.
    One(fn(f64) -> f64),
    /// Of two numbers.
    Two(fn(f64, f64) -> f64),
    /// Of an integer, such as the order of a Bessel function, and a number.
    Ordered(fn(i32, f64) -> f64, i32),
    /// Of an integer and two numbers.
    OrderedTwo(fn(i32, f64, f64) -> f64, i32),
}

/// One operand of a kernel: `len` elements, either one or as many as the result has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub start: *const u8,
    pub len: usize,
}

impl Operand {
    /// No operand.
    pub(crate) const NONE: Operand = Operand {
        start: std::ptr::without_provenance(64),
        len: 0,
    };

    /// # Safety
    /// At `start` are `len` live and initialised elements of type `T`, aligned, that nobody
    /// writes to while the slice is in use.
    #[inline(always)]
    unsafe fn slice<'a, T>(&self) -> &'a [T] {
        // SAFETY: the elements are there, initialised, aligned and not written to, by what the
        // caller promises; they are in one live piece of memory, so their size fits an `isize`.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

/// An elementwise kernel for one element type.
///
/// The constructors alone set the fields, all at once, and nothing changes them: `run` is the
/// instance for the type that `dtype` names, and reads the first `operands` operands. It is sound
/// to call because of that.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    run: RunFunction,
    /// What `run` calls, if it does.
    function: Option<ScalarFunction>,
    dtype: DType,
    operands: usize,
}

/// The memory of a result.
///
/// # Safety
/// At `start` are `n` live and initialised elements of type `T`, aligned, that nobody else reads
/// or writes while the slice is in use.
#[inline(always)]
unsafe fn out<'a, T>(start: *mut u8, n: usize) -> &'a mut [T] {
    // SAFETY: the elements are there, initialised, aligned and nobody else's, by what the caller
    // promises; they are in one live piece of memory, so their size fits an `isize`.
    unsafe { std::slice::from_raw_parts_mut(start.cast(), n) }
}

/// # Safety
/// As for [`Kernel::run`], of a kernel for `T` with one operand.
unsafe fn run1<T: Real, O: Map1>(_: &Kernel, args: &[Operand; 3], to: *mut u8, n: usize) {
    // SAFETY: only `Kernel::one` puts this function in a kernel, with the tag of `T` and 1 as
    // the number of operands; so by the caller's promise operand 0 is readable as elements of
    // `T`, and `to` is `n` elements of `T` that are apart from it.
    unsafe { map1::<T, O>(args[0].slice(), out(to, n)) }
}

/// # Safety
/// As for [`Kernel::run`], of a kernel for `T` with two operands.
unsafe fn run2<T: Real, O: Map2>(_: &Kernel, args: &[Operand; 3], to: *mut u8, n: usize) {
    // SAFETY: only `Kernel::two` puts this function in a kernel, with the tag of `T` and 2 as
    // the number of operands; so by the caller's promise operands 0 and 1 are readable as
    // elements of `T`, and `to` is `n` elements of `T` that are apart from them.
    unsafe { map2::<T, O>(args[0].slice(), args[1].slice(), out(to, n)) }
}

/// # Safety
/// As for [`Kernel::run`], of a kernel for `T` with three operands.
unsafe fn run3<T: Real, O: Map3>(_: &Kernel, args: &[Operand; 3], to: *mut u8, n: usize) {
    // SAFETY: only `Kernel::three` puts this function in a kernel, with the tag of `T` and 3 as
    // the number of operands; so by the caller's promise all three are readable as elements of
    // `T`, and `to` is `n` elements of `T` that are apart from them.
    unsafe {
        let [x, y, z] = args;
        map3::<T, O>(x.slice(), y.slice(), z.slice(), out(to, n));
    }
}

/// # Safety
/// As for [`Kernel::run`], of a kernel for `T` with a function of as many operands.
unsafe fn calls<T: Real>(kernel: &Kernel, args: &[Operand; 3], to: *mut u8, n: usize) {
    // SAFETY: only `Kernel::call` puts this function in a kernel, with the tag of `T`; so by the
    // caller's promise `to` is `n` elements of `T`, apart from the operands.
    let to: &mut [T] = unsafe { out(to, n) };
    match kernel.function {
        Some(ScalarFunction::One(f)) => {
            // SAFETY: for this function `Kernel::call` set one operand, which by the caller's
            // promise is readable as elements of `T`.
            map(unsafe { args[0].slice() }, to, f);
        }
        Some(ScalarFunction::Ordered(f, order)) => {
            // SAFETY: for this function `Kernel::call` set one operand, which by the caller's
            // promise is readable as elements of `T`.
            map(unsafe { args[0].slice() }, to, |x| f(order, x));
        }
        Some(ScalarFunction::Two(f)) => {
            // SAFETY: for this function `Kernel::call` set two operands, which by the caller's
            // promise are readable as elements of `T`.
            map_pairs(unsafe { (args[0].slice(), args[1].slice()) }, to, f);
        }
        Some(ScalarFunction::OrderedTwo(f, order)) => {
            // SAFETY: for this function `Kernel::call` set two operands, which by the caller's
            // promise are readable as elements of `T`.
            let pairs = unsafe { (args[0].slice(), args[1].slice()) };
            map_pairs(pairs, to, |x, y| f(order, x, y));
        }
        None => unreachable!("a kernel of calls has a function"),
    }
}

/// `f` of each element, or of the one.
fn map<T: Real>(x: &[T], to: &mut [T], f: impl Fn(f64) -> f64) {
    if let [x] = x {
        to.fill(T::of(f(x.to())));
    } else {
        for (o, x) in to.iter_mut().zip(x) {
            *o = T::of(f(x.to()));
        }
    }
}

/// `f` of each pair of elements; an operand of one element is read with step 0.
fn map_pairs<T: Real>((x, y): (&[T], &[T]), to: &mut [T], f: impl Fn(f64, f64) -> f64) {
    let (dx, dy) = (usize::from(x.len() != 1), usize::from(y.len() != 1));
    for (i, o) in to.iter_mut().enumerate() {
        *o = T::of(f(x[i * dx].to(), y[i * dy].to()));
    }
}

impl Kernel {
    /// The kernel that calls a function for each element.
    ///
    /// # Panics
    /// If the element type is that of indices, as [`one`](Self::one), [`two`](Self::two) and
    /// [`three`](Self::three).
    pub fn call(function: ScalarFunction, dtype: DType) -> Self {
        Kernel {
            run: with_real!(dtype, T => calls::<T>),
            function: Some(function),
            dtype,
            operands: match function {
                ScalarFunction::One(_) | ScalarFunction::Ordered(..) => 1,
                ScalarFunction::Two(_) | ScalarFunction::OrderedTwo(..) => 2,
            },
        }
    }

    /// The kernel of a function of one number.
    pub fn one<O: Map1>(dtype: DType) -> Self {
        Kernel {
            run: with_real!(dtype, T => run1::<T, O>),
            function: None,
            dtype,
            operands: 1,
        }
    }

    /// The kernel of a function of two numbers.
    pub fn two<O: Map2>(dtype: DType) -> Self {
        Kernel {
            run: with_real!(dtype, T => run2::<T, O>),
            function: None,
            dtype,
            operands: 2,
        }
    }

    /// The kernel of a function of three numbers.
    pub fn three<O: Map3>(dtype: DType) -> Self {
        Kernel {
            run: with_real!(dtype, T => run3::<T, O>),
            function: None,
            dtype,
            operands: 3,
        }
    }

    /// The kernel of an operator on `operands` operands of one element type; `None` if it has
    /// none, or one for something else.
    #[inline]
    pub(crate) fn of<O: Operator + ?Sized>(op: &O, dtype: DType, operands: usize) -> Option<Self> {
        let kernel = dtype.is_real().then(|| op.kernel(dtype))??;
        kernel.is_for(dtype, operands).then_some(kernel)
    }

    /// Whether this is a kernel on so many operands of an element type.
    pub(crate) fn is_for(&self, dtype: DType, operands: usize) -> bool {
        (self.dtype, self.operands) == (dtype, operands)
    }

    /// Computes `n` elements at `to`.
    ///
    /// # Safety
    /// The first operands, as many as the kernel has, are live, initialised and aligned memory of
    /// the kernel's element type, each of `n` elements or one, which nobody writes to meanwhile;
    /// `to` is such memory of `n` elements, apart from the operands, that nobody else uses.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, args: &[Operand; MOST_OPERANDS], to: *mut u8, n: usize) {
        // SAFETY: the constructor that chose `run` set `dtype` and `operands` to the element type
        // and the number of operands that it reads, and they are private and never changed. What
        // the caller promises of these is therefore all that `run` asks.
        unsafe { (self.run)(self, args, to, n) }
    }

    /// Computes a result from slices, each as long as it or one element.
    ///
    /// # Panics
    /// If types, lengths or the number of operands do not fit.
    pub fn apply(&self, args: &[Slice<'_>], mut to: SliceMut<'_>) {
        let n = to.len();
        assert_eq!((args.len(), to.dtype()), (self.operands, self.dtype));
        let mut operands = [Operand::NONE; MOST_OPERANDS];
        for (operand, arg) in operands.iter_mut().zip(args) {
            assert!(arg.dtype() == self.dtype && (arg.len() == n || arg.len() == 1));
            *operand = Operand {
                start: arg.address(),
                len: arg.len(),
            };
        }
        // SAFETY: the slices are borrowed for this call, of the kernel's type and, as was
        // just checked, of the right lengths; `to` is borrowed mutably.
        unsafe { self.run(&operands, to.address(), n) };
    }

    /// Computes an array from others, each of as many elements or of one. Few elements are computed
    /// with all the memory that there is for them: it has the length that kernels take at a time,
    /// and nothing is copied.
    ///
    /// # Errors
    /// What ends long work; [`Error::Value`] if the elements of the result are shared.
    ///
    /// # Panics
    /// As [`apply`](Self::apply).
    pub(crate) fn apply_to_arrays(&self, args: &[&Array], to: &mut Array) -> Result<()> {
        let (count, dtype) = (to.elements().len(), to.dtype());
        if let Some(mut block) = to.block_mut() {
            let n = block.len();
            assert!((args.len(), dtype) == (self.operands, self.dtype));
            let mut operands = [Operand::NONE; MOST_OPERANDS];
            let mut all = true;
            for (operand, arg) in operands.iter_mut().zip(args) {
                let elements = arg.elements();
                assert!(arg.dtype() == dtype && (elements.len() == count || elements.len() == 1));
                let elements = arg.block().unwrap_or(elements);
                all &= elements.len() == n || elements.len() == 1;
                *operand = Operand {
                    start: elements.address(),
                    len: elements.len(),
                };
            }
            if all {
                // SAFETY: the operands are borrowed for this call, of the kernel's type and, as was just
                // compared, of one element or as many as there are to write; `to` is borrowed mutably, and
                // `block_mut` gives what nobody else has.
                unsafe { self.run(&operands, block.address(), n) };
                return Ok(());
            }
        }
        let args = args.iter().map(|arg| arg.elements());
        let args: SmallVec<[Slice<'_>; MOST_OPERANDS]> = args.collect();
        match to.view_mut() {
            Some(to) => self.apply_split(&args, to.data),
            None => Err(Error::Value(
                "somebody else has the elements of a result".into(),
            )),
        }
    }

    /// As [`apply`](Self::apply), by several threads if there are many elements.
    ///
    /// # Errors
    /// What ends long work.
    ///
    /// # Panics
    /// As [`apply`](Self::apply).
    pub(crate) fn apply_split(&self, args: &[Slice<'_>], mut to: SliceMut<'_>) -> Result<()> {
        if to.len() <= MANY {
            self.apply(args, to);
            return Ok(());
        }
        // A quarter of a nanosecond an element, as the quickest take.
        let threads = split::threads(to.len() / 4);
        let most = if self.function.is_some() {
            CALLED_PART
        } else {
            PART
        };
        let length = split::part(to.len(), 4 * threads, LANES).min(most);
        with_real!(to.dtype(), T => {
            let parts = T::slice_mut(&mut to).chunks_mut(length).enumerate();
            split::try_each(threads, parts, |(number, to)| {
                let start = number * length;
                let part = args.iter().map(|&s| match s.len() {
                    1 => s,
                    _ => s.part(start, to.len()),
                });
                self.apply(&part.collect::<SmallVec<[_; MOST_OPERANDS]>>(), T::tag_mut(to));
                Ok(())
            })
        })
    }
}
