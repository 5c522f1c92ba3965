//! Functions as machine code, by Cranelift.
//!
//! [`Native::compile`] takes functions whose values are truth, integers and single numbers. Values are in
//! registers, blocks are Cranelift's, and elementwise operators are instructions or calls of their scalar
//! functions, so that results have the bits that the interpreter gives. What it does not take, and
//! everything where no memory may be made executable, is left to the interpreter.
//!
//! Code is made for the processor at hand, in memory that is never both writable and executable
//! (`memory`), and is freed with its [`Native`]. It runs in any number of threads at once: what a run
//! changes is its own (`run`). Jumps back poll for signals and the stop flag.
//!
//! Limits: x86-64 with SSE4.1, on systems with `mmap`; the code does not unwind, and has no frames that a
//! debugger or profiler could name.

mod memory;
mod operators;
mod run;
mod scalars;
mod tapes;
mod translate;
mod word;

use std::sync::OnceLock;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function as Clif, UserFuncName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use smallvec::{SmallVec, smallvec};

use self::memory::Code;
use self::run::{NativeRun, Tape};
use self::translate::Interface;
pub(super) use self::translate::Unsupported;
use self::word::RawSlot;
use crate::error::Result;
use crate::ir::{Cfg, Datum, Function};

use super::Outcome;

/// Most bytes of a frame on the stack. Threads have at least some hundred KiB.
const LARGEST_FRAME: u32 = 1 << 16;

/// Slots that a run has on the stack; more are allocated.
const FEW_SLOTS: usize = 32;

/// The function that machine code is.
type EntryPoint = unsafe extern "C" fn(*mut NativeRun, *mut RawSlot, *mut Tape) -> i64;

/// A function as machine code.
#[derive(Debug)]
pub(super) struct Native {
    code: Code,
    interface: Interface,
    tapes: usize,
    name: String,
}

/// What code is made for: this processor.
fn isa() -> Option<&'static OwnedTargetIsa> {
    static ISA: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    ISA.get_or_init(|| {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            // What is written here is compared with Cranelift's rules in debug builds.
            (
                "enable_verifier",
                if cfg!(debug_assertions) {
                    "true"
                } else {
                    "false"
                },
            ),
            // Frames of more than a page touch each page, so that none skips the guard of the stack.
            ("enable_probestack", "true"),
            ("probestack_strategy", "inline"),
            ("unwind_info", "false"),
        ] {
            flags.set(name, value).ok()?;
        }
        let builder = cranelift_native::builder().ok()?;
        builder.finish(settings::Flags::new(flags)).ok()
    })
    .as_ref()
}

impl Native {
    /// Machine code for a function that has passed [`Function::check`].
    ///
    /// # Errors
    /// [`Unsupported`] where there can be none; the interpreter runs the function then.
    pub(super) fn compile(function: &Function) -> std::result::Result<Self, Unsupported> {
        let isa = isa().ok_or(Unsupported("this processor"))?;
        let mut context = Context::new();
        let signature = translate::signature(isa.default_call_conv());
        context.func = Clif::with_name_signature(UserFuncName::default(), signature);
        let cfg = Cfg::new(function);
        let interface = translate::translate(function, &cfg, &mut context.func)?;
        let compiled = context.compile(&**isa, &mut ControlPlane::default());
        let compiled = compiled.map_err(|e| {
            debug_assert!(
                !matches!(e.inner, cranelift_codegen::CodegenError::Verifier(_)),
                "{:?}\n{}",
                e.inner,
                e.func
            );
            Unsupported("Cranelift refuses it")
        })?;
        // Functions are called by their addresses: all that could be left to link are Cranelift's own,
        // for instructions that this processor has not.
        if !compiled.buffer.relocs().is_empty() {
            return Err(Unsupported("instructions that this processor has not"));
        }
        let frame = compiled.buffer.frame_layout();
        if frame.is_none_or(|frame| frame.frame_to_fp_offset > LARGEST_FRAME) {
            return Err(Unsupported("too large a frame"));
        }
        let code = Code::new(compiled.code_buffer());
        Ok(Native {
            code: code.map_err(|_| Unsupported("no executable memory"))?,
            interface,
            tapes: function.tapes.len(),
            name: function.name.clone(),
        })
    }

    /// Runs the function; `None` if an argument is of another kind than its parameter, or they are more
    /// or less.
    ///
    /// # Errors
    /// As the interpreter.
    pub(super) fn run(&self, args: &[Datum]) -> Option<Result<Outcome>> {
        let Interface {
            parameters,
            results,
        } = &self.interface;
        let count = parameters.len().max(results.len());
        let mut slots: SmallVec<[RawSlot; FEW_SLOTS]> = smallvec![0; count];
        if parameters.len() != args.len() {
            return None;
        }
        for ((slot, word), arg) in slots.iter_mut().zip(parameters).zip(args) {
            *slot = word.slot(arg)?;
        }
        Some(self.enter(&mut slots).map(|exit| match exit {
            Some(exit) => Outcome::Left(exit),
            None => {
                let results = results.iter().zip(&slots);
                Outcome::Returned(results.map(|(word, &slot)| word.datum(slot)).collect())
            }
        }))
    }

    /// Runs the code on arguments in slots, which its results replace: `None` if there are any, else the
    /// exit by which it was left.
    ///
    /// # Errors
    /// As the interpreter.
    ///
    /// # Panics
    /// If there are less slots than parameters or results.
    fn enter(&self, slots: &mut [RawSlot]) -> Result<Option<u32>> {
        let Interface {
            parameters,
            results,
        } = &self.interface;
        assert!(slots.len() >= parameters.len().max(results.len()));
        let mut run = NativeRun::new(self.tapes);
        let tapes = run.tapes();
        // SAFETY: the code begins with a function of this type, since Cranelift compiled it with
        // `translate::signature`'s parameters and result for the calling convention of the target, which
        // is that of `extern "C"`.
        let entry: EntryPoint = unsafe { std::mem::transmute(self.code.start()) };
        // SAFETY: the code was translated from a function that `Function::check` passed, and has only
        // the loads and stores of `translate`: of `parameters` slots and `results` slots, which are there;
        // of `left` of the run; of the addresses of as many tapes as the function has, which
        // `NativeRun::new` made; and of slots between a tape's bottom and its end, which are its memory.
        // It calls functions with the types that they have, and those of `run` with this run, which
        // nobody else uses meanwhile. Nothing unwinds through it. It is not freed, since `self` is
        // borrowed.
        let status = unsafe { entry(&raw mut run, slots.as_mut_ptr(), tapes) };
        run.outcome(status, &self.name)
    }
}
