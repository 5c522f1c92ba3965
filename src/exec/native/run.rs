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

use super::word::RawSlot;
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::ir::{Datum, ScalarOperator};
use crate::reserve;

/// Estimated nanoseconds between two calls of [`poll`]. At each the clock is read.
const BETWEEN_POLLS: i64 = 1 << 20;

/// Slots of the first piece of a tape.
const FIRST: usize = 1 << 10;

/// Slots that a thread keeps for its next run: 16 MiB.
const KEPT: usize = 1 << 21;

/// TapeMemory of a tape. What is above its top is not initialised.
type TapeMemory = Vec<MaybeUninit<RawSlot>>;

thread_local! {
    /// The tapes of this thread's last run.
    static TAPES: Cell<Vec<Tape>> = const { Cell::new(Vec::new()) };
}

/// A tape of numbers. Machine code reads and changes `top` and reads the other addresses.
///
/// `bottom` and `end` are those of `memory`, which is full of slots: `top` lies between them, a multiple of
/// slots above `bottom`.
#[repr(C)]
pub(super) struct Tape {
    pub(super) top: *mut MaybeUninit<RawSlot>,
    pub(super) end: *mut MaybeUninit<RawSlot>,
    pub(super) bottom: *mut MaybeUninit<RawSlot>,
    memory: TapeMemory,
}

impl Tape {
    fn new() -> Self {
        Tape {
            top: ptr::null_mut(),
            end: ptr::null_mut(),
            bottom: ptr::null_mut(),
            memory: Vec::new(),
        }
    }

    /// Points to the memory, with so many slots in use, which it has.
    fn rest(&mut self, used: usize) {
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
        self.rest(used);
        Ok(())
    }
}

/// Why machine code gave up.
enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// What machine code is given the address of. It reads and changes `left`, by its offset.
#[repr(C)]
pub(super) struct NativeRun {
    /// Estimated nanoseconds of work until signals are polled for.
    pub(super) left: i64,
    tapes: Vec<Tape>,
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

impl NativeRun {
    /// A run with empty tapes.
    pub(super) fn new(tapes: usize) -> Self {
        let mut kept = match tapes {
            0 => Vec::new(),
            _ => TAPES.take(),
        };
        while kept.len() < tapes {
            kept.push(Tape::new());
        }
        for tape in &mut kept {
            tape.rest(0);
        }
        NativeRun {
            left: BETWEEN_POLLS,
            tapes: kept,
            poller: Poller::default(),
            failure: None,
        }
    }

    /// Where the tapes are; they do not move during a run.
    pub(super) fn tapes(&mut self) -> *mut Tape {
        self.tapes.as_mut_ptr()
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
    pub(super) fn outcome(self, status: i64, name: &str) -> Result<Option<u32>> {
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
        0
    }
}

/// Polls for signals and the stop flag; whether to go on.
///
/// # Safety
/// `run` is the run that the machine code was given, and nobody else uses it.
pub(super) unsafe extern "C" fn poll(run: *mut NativeRun) -> u8 {
    // SAFETY: it is there and nobody else's, by what the caller promises.
    let run = unsafe { &mut *run };
    run.left = BETWEEN_POLLS;
    run.attempt(|run| run.poller.large_step())
}

/// Makes room for a record of so many slots on a tape; whether there is.
///
/// # Safety
/// As for [`poll`].
pub(super) unsafe extern "C" fn grow(run: *mut NativeRun, tape: usize, slots: usize) -> u8 {
    // SAFETY: it is there and nobody else's, by what the caller promises.
    let run = unsafe { &mut *run };
    run.attempt(|run| run.tapes[tape].grow(slots))
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
