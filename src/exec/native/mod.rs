//! Functions as machine code, by Cranelift.
//!
//! Truth, integers and single numbers are in registers, blocks are Cranelift's, and elementwise
//! operators are instructions or calls of their scalar functions, so that results have the bits
//! that the interpreter gives. Arrays are in a frame (`frame`), and runs of operators on them are
//! calls (`segment`; `fixed` where their lengths are known). What [`Native::compile`] does not
//! take, and everything where no memory may be made executable, is left to the interpreter.
//!
//! Code is made for the processor at hand, in memory that is never both writable and executable
//! (`memory`), and is freed with its [`Native`]. It runs in any number of threads at once: what a run
//! changes is its own (`run`). Jumps back poll for signals and the stop flag.
//!
//! Limits: x86-64 with SSE4.1, on systems with `mmap`; the code does not unwind, and has no frames that a
//! debugger or profiler could name. The interpreter runs functions of more than 100,000 instructions or
//! 4096 blocks, of blocks, records or results of more than 4096 values, or whose frame on the stack would
//! be larger than 64 KiB. Compiling, which may take a second or two then, does not poll for signals; it
//! has a thread of its own, for its stack. A thread keeps up to 16 MiB of tapes for its next run.

mod arrays;
mod branches;
mod chunked;
mod compiler;
mod emit;
mod fixed;
mod interface;
mod kept;
mod memory;
mod polls;
mod rare;
mod run;
mod scalars;
mod segment;
mod tapes;
mod translate;
mod unsupported;
mod word;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use cranelift_codegen::ir::Function as Clif;
use smallvec::{SmallVec, smallvec};

use self::interface::{Carrier, Interface};
use self::memory::Code;
use self::run::{ArraySteps, NativeRun, NumberTape};
use self::unsupported::Translated;
pub(super) use self::unsupported::Unsupported;
use self::word::RawSlot;
use super::Outcome;
use super::interpreter::accept;
use crate::error::Result;
use crate::ir::{Datum, Function, KnownLengths};
use crate::reserve;

/// Bytes that Cranelift is estimated to ask for, infallibly, for an instruction.
const COMPILED: usize = 2048;

/// The stack, in bytes, on which Cranelift compiles. That of the calling thread may be of any size:
/// `threading.stack_size` allows 32 KiB.
const STACK: usize = 8 << 20;

/// Slots that a run has on the stack; more are allocated.
const FEW_SLOTS: usize = 32;

/// What `compile` gives, in a thread that has a stack of [`STACK`] bytes.
///
/// # Errors
/// Those of `compile`, and [`Unsupported`] if there can be no thread.
///
/// # Panics
/// If `compile` panics.
fn on_stack_of_its_own<R: Send>(compile: impl FnOnce() -> Translated<R> + Send) -> Translated<R> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK);
        let thread = builder.spawn_scoped(scope, compile);
        let thread = thread.map_err(|_| Unsupported("no thread to compile it in"))?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The function that machine code is.
type EntryPoint = unsafe extern "C" fn(*mut NativeRun<'_>, *mut RawSlot, *mut NumberTape) -> i64;

/// A function as machine code.
#[derive(Debug)]
pub(super) struct Native {
    code: Code,
    interface: Interface,
    /// Slots of values that are kept in memory.
    kept: usize,
    /// Slots that steps need.
    scratch: usize,
    steps: ArraySteps,
}

impl Native {
    /// Calls `f` with the operators of its steps, each as often as it has it.
    #[cfg(feature = "python")]
    pub(super) fn operators(&self, f: &mut dyn FnMut(&crate::rules::OpRef)) {
        for step in &self.steps.steps {
            match step {
                arrays::frame::ArrayStep::Apply { op, .. } => f(op),
                arrays::frame::ArrayStep::Segment(segment) => segment.operators().for_each(&mut *f),
                _ => {}
            }
        }
    }

    /// Machine code for a function that has passed [`Function::check`], for arguments alone by which the
    /// `lengths` of its values are known, if these are given.
    ///
    /// # Errors
    /// [`Unsupported`] where there can be none; the interpreter runs the function then.
    pub(super) fn compile(
        function: &Arc<Function>,
        lengths: Option<&[KnownLengths]>,
    ) -> std::result::Result<Self, Unsupported> {
        let instructions = function.blocks.iter().map(|b| 1 + b.instructions.len());
        reserve::ahead(instructions.sum(), COMPILED)
            .map_err(|_| Unsupported("too little memory"))?;
        let interface = Interface::of(function, lengths)?;
        let (code, written) = on_stack_of_its_own(|| {
            let signature = translate::signature(compiler::isa()?.default_call_conv());
            let write = |to: &mut Clif| translate::translate(function, &interface, to);
            compiler::compile(signature, write)
        })?;
        Ok(Native {
            code,
            interface,
            kept: written.kept,
            scratch: written.scratch,
            steps: ArraySteps {
                function: Arc::clone(function),
                steps: written.steps,
                buffers: written.buffers,
            },
        })
    }

    /// Runs the function; `None` if an argument is of another kind than its parameter, or they are more
    /// or less.
    ///
    /// # Errors
    /// As the interpreter.
    ///
    /// # Panics
    /// If an operator of a caller panics.
    pub(super) fn run(&self, args: &[Datum]) -> Option<Result<Outcome>> {
        let Interface {
            parameters,
            results,
            places,
            frame,
            fixed,
        } = &self.interface;
        let function = &self.steps.function;
        if parameters.len() != args.len() {
            return None;
        }
        let few = self.interface.slots() + self.kept;
        let mut slots: SmallVec<[RawSlot; FEW_SLOTS]> = smallvec![0; few + self.scratch];
        for ((slot, passed), arg) in slots.iter_mut().zip(parameters).zip(args) {
            if let Carrier::Word(word) = passed {
                *slot = word.slot(arg)?;
            }
        }
        let start = slots.as_mut_ptr();
        let scratch = (start.wrapping_add(few), self.scratch);
        // SAFETY: behind the first slots there are as many as `scratch` says, all of them set to 0.
        // During the run nobody here uses them, and the machine code does between steps.
        let mut run = unsafe { NativeRun::new(function.tapes.len(), *frame, &self.steps, scratch) };
        for (&id, arg) in function.parameters().iter().zip(args) {
            if let (Some(place), Datum::Array(array)) = (places[id as usize], arg) {
                accept(function, id, arg).ok()?;
                run.frame.set(place as usize, Some(array.clone()));
            } else if places[id as usize].is_some() {
                return None;
            }
        }
        match fixed.memory(function.tapes.len()) {
            Ok(memory) => run.frame.fixed = memory,
            Err(error) => return Some(Err(error)),
        }
        let tapes = run.start();
        // SAFETY: the code begins with a function of this type, since Cranelift compiled it with
        // `translate::signature`'s parameters and result for the calling convention of the target, which
        // is that of `extern "C"`.
        let entry: EntryPoint = unsafe { std::mem::transmute(self.code.start()) };
        // The code has these loads and stores alone, at offsets that fit, since `MOST_VALUES` limits
        // arguments, results and records:
        // - of slots of arguments and results, of values that are kept and of scratch slots, all of which are there;
        // - of `failed` and `addresses` of the run, which `run` points to;
        // - of the addresses of as many tapes as the function has, which `NativeRun::new` made;
        // - of slots between a tape's bottom and its end, which are its memory. A record is read as the kinds
        //   that it was written as: a tape has one list of kinds, and its top moves by whole records;
        // - of as many `ElementAddress`es as the frame has places;
        // - of elements of an array, by indices below the lengths of its axes: of the last ones it compares
        //   each with its length, of the first one the position, which cannot overflow as `MANY` limits
        //   counts, with the count. The frame keeps them where they are until its place is set, and those of
        //   an argument, whose address is loaded once, stay as long as the caller has `args`.
        //   They are loaded as the element type that the function says, which is the array's: `accept` compared
        //   it for arguments and for results of operators, `Function::check` for constants, records and
        //   what blocks are given. They are stored to only below the number that may be changed, which is 0
        //   but for an array that nobody else has; so nobody reads or changes them meanwhile;
        // - of its own frame on the stack.
        // It calls functions with the types that they have, and those of `run` with this run, which
        // nobody else uses meanwhile. Nothing unwinds through it. Registers that the calling
        // convention asks to be kept are: Cranelift sees to it, but for the counter's, which is set
        // back before each return (`polls`).
        // SAFETY: the code was translated from a function that `Function::check` passed, so all that it does is
        // allowed, as said above. It is not freed meanwhile, since `self` is borrowed.
        let status = unsafe { entry(&raw mut run, start, tapes) };
        if status != run::status::FAILED {
            fixed.keep(std::mem::take(&mut run.frame.fixed));
        }
        let mut arrays = std::mem::take(&mut run.frame.results).into_iter();
        Some(run.outcome(status).map(|exit| match exit {
            Some(exit) => Outcome::Left(exit),
            None => {
                let data = results
                    .iter()
                    .zip(&slots)
                    .filter_map(|(passed, &slot)| match passed {
                        Carrier::Word(word) => Some(word.datum(slot)),
                        Carrier::Array => arrays.next().map(Datum::Array),
                    });
                Outcome::Returned(data.collect())
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::error::Error;
    use crate::interrupt::with_stop_flag;
    use crate::ir::{Builder, Target, Terminator};

    /// A loop without end, with or without a tape that grows.
    fn endless(keeps: bool) -> Native {
        let b = Builder::new();
        let header = b.block();
        if keeps {
            let tape = b.tape(vec![crate::ir::ValueKind::Int]);
            let x = b.literal(Datum::Int(7));
            for _ in 0..100 {
                b.push(tape, &[x]).unwrap();
                b.pop(tape).unwrap();
            }
        }
        let to = Target {
            block: header,
            args: Vec::new(),
        };
        b.terminate(Terminator::Jump(to.clone()));
        b.switch_to(0).unwrap();
        b.terminate(Terminator::Jump(to));
        let function = Arc::new(b.finish("endless").unwrap());
        function.check().unwrap();
        Native::compile(&function, None).unwrap()
    }

    #[test]
    fn a_loop_ends_when_it_is_asked_to() {
        for keeps in [false, true] {
            let (native, stop) = (endless(keeps), AtomicBool::new(false));
            std::thread::scope(|scope| {
                let run = scope.spawn(|| with_stop_flag(&stop, || native.run(&[])));
                std::thread::sleep(Duration::from_millis(20));
                assert!(!run.is_finished());
                stop.store(true, Ordering::Relaxed);
                let found = run.join().unwrap().unwrap();
                assert!(matches!(found, Err(Error::Interrupted)), "{found:?}");
            });
        }
    }
}
