//! Cranelift, set up for this processor.

use std::sync::OnceLock;

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, Signature, UserFuncName};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context};

use super::memory::Code;
use super::unsupported::{Translated, Unsupported};

/// Most bytes of a frame on the stack. Threads have at least some hundred KiB.
const LARGEST_FRAME: u32 = 1 << 16;

/// From so many instructions on registers are allocated in a single pass: the time that backtracking takes
/// grows faster than their number, by far in derivatives of derivatives.
const MANY: usize = 1 << 13;

/// What code is made for: this processor.
pub(super) fn isa() -> Translated<&'static OwnedTargetIsa> {
    isa_for(0)
}

/// As [`isa`], for a function of so many instructions.
fn isa_for(instructions: usize) -> Translated<&'static OwnedTargetIsa> {
    static FEW: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    static MORE: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    let (isa, algorithm) = match instructions < MANY {
        true => (&FEW, "backtracking"),
        false => (&MORE, "single_pass"),
    };
    let isa = isa.get_or_init(|| {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("regalloc_algorithm", algorithm),
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
            // It holds what `polls` counts.
            ("enable_pinned_reg", "true"),
        ] {
            flags.set(name, value).ok()?;
        }
        let builder = cranelift_native::builder().ok()?;
        builder.finish(settings::Flags::new(flags)).ok()
    });
    isa.as_ref().ok_or(Unsupported("this processor"))
}

/// Compiles a function of this signature, which `write` writes.
///
/// # Errors
/// Those of `write`; [`Unsupported`] where there can be no code.
pub(super) fn compile<R>(
    signature: Signature,
    write: impl FnOnce(&mut Function) -> Translated<R>,
) -> Translated<(Code, R)> {
    let mut context = Context::new();
    context.func = Function::with_name_signature(UserFuncName::default(), signature);
    let written = write(&mut context.func)?;
    let isa = isa_for(context.func.dfg.num_insts())?;
    let compiled = context.compile(&**isa, &mut ControlPlane::default());
    let compiled = compiled.map_err(|e| {
        debug_assert!(
            !matches!(e.inner, CodegenError::Verifier(_)),
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
    Ok((
        code.map_err(|_| Unsupported("no executable memory"))?,
        written,
    ))
}
