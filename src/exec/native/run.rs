//! One run of machine code: what it shares with the functions here that it calls.
//!
//! Machine code calls back to grow a tape, to poll for signals, and for what is too rare to be worth
//! instructions of its own. These functions never unwind, since machine code has no tables to unwind
//! by: a panic is kept, and goes on when the machine code has returned.
//!
//! Tapes are kept by each thread for its next run, up to [`KEPT`] slots, so that a run allocates
//! nothing once they have grown.

use std::any::Any;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Arc;

use super::arrays::array_tape::ArrayTape;
use super::arrays::frame::{ArrayStep, ElementAddress, Frame};
use super::word::RawSlot;
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::ir::{Datum, Function, ScalarOperator};
use crate::reserve;
use crate::simd::trigonometric::sine_and_cosine;

/// Slots of the first piece of a tape.
const FIRST: usize = 1 << 10;

/// Slots that a thread keeps for its next run: 16 MiB.
const KEPT: usize = 1 << 21;

/// Memory of a tape. What is above its top is not initialised.
type TapeMemory = Vec<MaybeUninit<RawSlot>>;

thread_local! {
    /// The tapes of this thread's last run.
    static TAPES: Cell<Vec<NumberTape>> = const { Cell::new(Vec::new()) };
}

/// A tape of numbers. Machine code reads and changes `top` and reads the other addresses.
///
/// `bottom` and `end` are those of `memory`, which is full of slots: `top` lies between them, a multiple of
/// slots above `bottom`.
#[repr(C)]
pub(super) struct NumberTape {
    pub(super) top: *mut MaybeUninit<RawSlot>,
    pub(super) end: *mut MaybeUninit<RawSlot>,
    pub(super) bottom: *mut MaybeUninit<RawSlot>,
    memory: TapeMemory,
}

impl NumberTape {
    fn new() -> Self {
        NumberTape {
            top: ptr::null_mut(),
            end: ptr::null_mut(),
            bottom: ptr::null_mut(),
            memory: Vec::new(),
        }
    }

    /// Sets the addresses to those of the memory, so many slots of which are in use. It has as many.
    fn point_at(&mut self, used: usize) {
        self.bottom = self.memory.as_mut_ptr();
        self.top = self.bottom.wrapping_add(used);
        self.end = self.bottom.wrapping_add(self.memory.len());
    }

    /// Makes room for so many slots above the top; the memory at least doubles.
    fn grow(&mut self, slots: usize) -> Result<()> {
        let used = (self.top.addr() - self.bottom.addr()) / size_of::<RawSlot>();
        reserve::grow(&mut self.memory, slots.max(FIRST))?;
        let capacity = self.memory.capacity();
        // SAFETY: so many slots are allocated, and a `MaybeUninit` needs no initialisation.
        unsafe { self.memory.set_len(capacity) };
        self.point_at(used);
        Ok(())
    }
}

/// Why machine code gave up.
enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// The steps with arrays of a function.
#[derive(Debug)]
pub(super) struct ArraySteps {
    pub(super) function: Arc<Function>,
    pub(super) steps: Vec<ArrayStep>,
    /// Buffers that these need.
    pub(super) buffers: usize,
}

/// What machine code is given the address of. It reads `failed` and `addresses`, by their offsets.
#[repr(C)]
pub(super) struct NativeRun<'a> {
    /// Not 0 if a function that was called has failed.
    pub(super) failed: i64,
    /// Those of the frame.
    pub(super) addresses: *const ElementAddress,
    pub(super) frame: Frame,
    steps: &'a ArraySteps,
    /// Slots of operands and results of steps, which the machine code writes and reads between calls.
    scratch: (*mut RawSlot, usize),
    tapes: Vec<NumberTape>,
    /// The address of the first tape, once the machine code has it.
    tape_start: *mut NumberTape,
    poller: Poller,
    failure: Option<Failure>,
}

/// What machine code returns.
pub(super) mod status {
    /// The results are in the slots.
    pub const RETURNED: i64 = 0;
    /// A function that was called has failed, and the run knows how.
    pub const FAILED: i64 = 1;
    /// A record was to be taken from a tape without one.
    pub const NO_RECORD: i64 = 2;
    /// A switch has no target of the value's number.
    pub const NO_TARGET: i64 = 3;
    /// The function was left by exit 0; by a later one, so much more.
    pub const LEFT: i64 = 16;
}

impl<'a> NativeRun<'a> {
    /// A run with empty tapes, and a frame of so many places.
    ///
    /// # Safety
    /// `scratch` is the address of so many initialised slots, which nobody else reads or writes while a
    /// step is done, for as long as the run goes on.
    pub(super) unsafe fn new(
        tapes: usize,
        places: usize,
        steps: &'a ArraySteps,
        scratch: (*mut RawSlot, usize),
    ) -> Self {
        let mut kept = match tapes {
            0 => Vec::new(),
            _ => TAPES.take(),
        };
        while kept.len() < tapes {
            kept.push(NumberTape::new());
        }
        for tape in &mut kept {
            tape.point_at(0);
        }
        let frame = Frame::new(places, tapes, steps.buffers);
        NativeRun {
            failed: 0,
            addresses: ptr::null(),
            frame,
            steps,
            scratch,
            tapes: kept,
            tape_start: ptr::null_mut(),
            poller: Poller::default(),
            failure: None,
        }
    }

    /// Where the tapes are. From here on the run reaches them by this address alone, as the machine code
    /// does, until that has returned. The address of the addresses is taken anew, too.
    pub(super) fn start(&mut self) -> *mut NumberTape {
        self.tape_start = self.tapes.as_mut_ptr();
        self.addresses = self.frame.addresses();
        self.tape_start
    }

    /// What became of a run whose machine code has returned a status: `None` if there are results,
    /// else the exit.
    ///
    /// # Errors
    /// [`Error::Value`] if the function is at fault, by tapes that do not match or a switch without the
    /// target; what a function that was called has reported.
    ///
    /// # Panics
    /// If one panicked.
    pub(super) fn outcome(self, status: i64) -> Result<Option<u32>> {
        ArrayTape::keep(self.frame.tapes);
        let name = &self.steps.function.name;
        let slots: usize = self.tapes.iter().map(|tape| tape.memory.len()).sum();
        if !self.tapes.is_empty() && slots <= KEPT {
            TAPES.set(self.tapes);
        }
        let wrong = |what: &str| Err(Error::Value(format!("{name}: {what}")));
        match (self.failure, status) {
            (Some(Failure::Panic(panic)), _) => resume_unwind(panic),
            (Some(Failure::Error(error)), _) => Err(error),
            (None, status::RETURNED) => Ok(None),
            (None, status::NO_RECORD) => wrong("a record is taken from an empty tape"),
            (None, status::NO_TARGET) => wrong("a switch has no target of that number"),
            (None, status) => match u32::try_from(status - status::LEFT) {
                Ok(exit) => Ok(Some(exit)),
                Err(_) => wrong("machine code returned an unknown status"),
            },
        }
    }

    /// Does something that may fail or panic; whether it went well.
    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> u8 {
        // Whatever is half changed by a panic is dropped with the run, or set anew by the next.
        let failure = match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(Ok(())) => return 1,
            Ok(Err(error)) => Failure::Error(error),
            Err(panic) => Failure::Panic(panic),
        };
        self.failure = Some(failure);
        self.failed = 1;
        0
    }
}

/// Polls for signals and the stop flag. The run says whether that failed.
///
/// # Safety
/// `run` is the run that the machine code was given, and nobody else uses it.
pub(super) unsafe extern "C" fn poll(run: *mut NativeRun<'_>) {
    // SAFETY: it is there and nobody else's, by what the caller promises.
    let run = unsafe { &mut *run };
    run.attempt(|run| run.poller.large_step());
}

/// Makes room for a record of so many slots on a tape. The run says whether that failed.
///
/// # Safety
/// As for [`poll`].
pub(super) unsafe extern "C" fn grow(run: *mut NativeRun<'_>, tape: usize, slots: usize) {
    // SAFETY: it is there and nobody else's, by what the caller promises.
    let run = unsafe { &mut *run };
    run.attempt(|run| {
        assert!(tape < run.tapes.len() && !run.tape_start.is_null());
        // SAFETY: there are more tapes than `tape`, where `NativeRun::start` said, and the machine code
        // waits for this call.
        unsafe { (*run.tape_start.add(tape)).grow(slots) }
    });
}

/// Does a step with arrays; whether it went well.
///
/// # Safety
/// As for [`poll`].
pub(super) unsafe extern "C" fn step(run: *mut NativeRun<'_>, number: usize) -> u8 {
    // SAFETY: it is there and nobody else's, by what the caller promises.
    let run = unsafe { &mut *run };
    run.attempt(|run| {
        let (start, count) = run.scratch;
        // SAFETY: so many initialised slots are there, and while this step is done nobody else uses
        // them, as whoever made the run promised.
        let slots = unsafe { std::slice::from_raw_parts_mut(start, count) };
        let ArraySteps {
            function, steps, ..
        } = run.steps;
        let done = run.frame.step(&steps[number], function, slots);
        // Setting addresses went by a reference to all of them, which ends what was read by before.
        run.addresses = run.frame.addresses();
        done
    })
}

/// Does a step with arrays. The run says whether that failed.
///
/// # Safety
/// As for [`poll`].
pub(super) unsafe extern "C" fn rare_step(run: *mut NativeRun<'_>, number: usize) {
    // SAFETY: as the caller promises.
    unsafe { step(run, number) };
}

/// Lets the elements of an array be changed in place, as [`Frame::claim`].
///
/// # Safety
/// As for [`poll`]; the place is one of the frame, so that nothing here panics.
pub(super) unsafe extern "C" fn claim(run: *mut NativeRun<'_>, place: usize) {
    // SAFETY: it is there and nobody else's, by what the caller promises.
    let run = unsafe { &mut *run };
    run.frame.claim(place);
    run.addresses = run.frame.addresses();
}

/// An operator of two integers; whether there is a result, which is then written.
fn integers(op: ScalarOperator, x: i64, y: i64) -> Option<i64> {
    match op.eval(&[&Datum::Int(x), &Datum::Int(y)]) {
        Some(Datum::Int(z)) => Some(z),
        _ => None,
    }
}

/// Writes a result if there is one; whether there is.
///
/// # Safety
/// `to` is valid for writing.
unsafe fn written(z: Option<i64>, to: *mut i64) -> u8 {
    if let Some(z) = z {
        // SAFETY: the caller promises that it may be written to.
        unsafe { to.write(z) };
    }
    u8::from(z.is_some())
}

/// Writes the sine and cosine of the angle with these bits.
///
/// # Safety
/// `to` is valid for writing two numbers.
pub(super) unsafe extern "C" fn far_angle(bits: u64, to: *mut [f64; 2]) {
    let (sine, cosine) = sine_and_cosine(f64::from_bits(bits));
    // SAFETY: the caller promises that it may be written to.
    unsafe { to.write([sine, cosine]) };
}

/// Integer power.
///
/// # Safety
/// `to` is valid for writing.
pub(super) unsafe extern "C" fn int_pow(x: i64, y: i64, to: *mut i64) -> u8 {
    // SAFETY: as the caller promises.
    unsafe { written(integers(ScalarOperator::IntPow, x, y), to) }
}

/// Integer times a power of two.
///
/// # Safety
/// `to` is valid for writing.
pub(super) unsafe extern "C" fn int_shift_left(x: i64, y: i64, to: *mut i64) -> u8 {
    // SAFETY: as the caller promises.
    unsafe { written(integers(ScalarOperator::IntShiftLeft, x, y), to) }
}
