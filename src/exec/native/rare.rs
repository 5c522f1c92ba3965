//! Calls that seldom happen, and keep all registers.
//!
//! A call may change nearly all registers, so Cranelift keeps values in memory around one, also on the way
//! that does not call. What machine code asks for once in a thousand turns of a loop, it therefore asks
//! for by way of a function that saves the registers: it has Cranelift's calling convention for that
//! purpose, which has no results. Whether to go on is written in the run.

use std::sync::OnceLock;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, Signature, Value};
use cranelift_codegen::isa::CallConv;

use super::compiler;
use super::memory::Code;
use super::run;
use super::unsupported::{Translated, Unsupported};

/// The functions, made once.
#[derive(Debug)]
pub(super) struct RareCalls {
    poll: Code,
    grow: Code,
    step: Code,
    claim: Code,
    angle: Code,
}

/// Parameters of the functions: so many addresses and numbers.
pub(super) fn signature(parameters: usize, convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params = vec![AbiParam::new(I64); parameters];
    signature
}

/// A function that calls the one at an address, and keeps all registers.
fn keeping_registers(address: usize, parameters: usize) -> Translated<Code> {
    let convention = compiler::isa()?.default_call_conv();
    let write = |function: &mut Function| {
        let block = function.dfg.make_block();
        let args = (0..parameters).map(|_| function.dfg.append_block_param(block, I64));
        let args: Vec<Value> = args.collect();
        let called = function.import_signature(signature(parameters, convention));
        let mut cursor = FuncCursor::new(function);
        cursor.func.layout.append_block(block);
        cursor.goto_bottom(block);
        let callee = cursor.ins().iconst(I64, address as i64);
        cursor.ins().call_indirect(called, callee, &args);
        cursor.ins().return_(&[]);
        Ok(())
    };
    let signature = signature(parameters, CallConv::PreserveAll);
    Ok(compiler::compile(signature, write)?.0)
}

impl RareCalls {
    /// The functions of this process.
    pub(super) fn get() -> Translated<&'static Self> {
        static CALLS: OnceLock<Option<RareCalls>> = OnceLock::new();
        let calls = CALLS.get_or_init(|| {
            Some(RareCalls {
                poll: keeping_registers(run::poll as *const () as usize, 1).ok()?,
                grow: keeping_registers(run::grow as *const () as usize, 3).ok()?,
                step: keeping_registers(run::rare_step as *const () as usize, 2).ok()?,
                claim: keeping_registers(run::claim as *const () as usize, 2).ok()?,
                angle: keeping_registers(run::far_angle as *const () as usize, 2).ok()?,
            })
        });
        calls.as_ref().ok_or(Unsupported("no executable memory"))
    }

    /// The address of [`run::poll`]'s.
    pub(super) fn poll(&self) -> usize {
        self.poll.start().addr()
    }

    /// The address of [`run::grow`]'s.
    pub(super) fn grow(&self) -> usize {
        self.grow.start().addr()
    }

    /// The address of [`run::rare_step`]'s.
    pub(super) fn step(&self) -> usize {
        self.step.start().addr()
    }

    /// The address of [`run::claim`]'s.
    pub(super) fn claim(&self) -> usize {
        self.claim.start().addr()
    }

    /// The address of [`run::far_angle`]'s.
    pub(super) fn angle(&self) -> usize {
        self.angle.start().addr()
    }
}
