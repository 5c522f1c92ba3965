//! From blocks to Cranelift's.
//!
//! A block becomes one of Cranelift's with the same parameters, so that values stay in registers. Beside
//! them there are a prologue, which loads the arguments, and blocks for what seldom happens.
//!
//! Soundness. What is compiled has passed [`Function::check`], which sees to the kinds of operands and
//! the records of tapes. That control flow comes by a definition before its use is compared here again,
//! by dominance, and so is that the result of an operator is of the kind that the function says. Machine
//! code reaches memory at its slots, at the run, at the tapes and at elements of arrays alone, by offsets
//! known here; within a tape only between its bottom and its end, and within a vector only below its length,
//! which it compares each time.

use std::collections::HashMap;

use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    self as clif, AbiParam, BlockArg, InstBuilder, JumpTableData, SigRef, Signature,
};
use cranelift_codegen::isa::CallConv;
use smallvec::SmallVec;

use super::arrays::element_change::MOST_INDICES;
use super::arrays::frame::ArrayStep;
use super::arrays::places::Use;
use super::chunked::{ChunkedLoops, chunked_loops};
use super::fixed::pending::{PendingSteps, StandIns, stand_ins};
use super::interface::{Carrier, Interface, MOST_VALUES};
use super::kept::KeptValues;
use super::rare::RareCalls;
use super::run::status;
use super::scalars::angle_pairs::both_angles;
use super::segment::PendingSegment;
use super::unsupported::{Translated, Unsupported};
use super::word::{RawSlot, Word};
use crate::array::DType;
use crate::exec::plan::last_uses::LastUses;
use crate::ir::{
    Block, Cfg, Datum, Expression, Function, Instruction, Ranges, ScalarOperator as S, Terminator,
    ValueId,
};

/// Bytes of a slot.
pub(super) const SLOT: i32 = size_of::<RawSlot>() as i32;

/// Most instructions of a function: Cranelift takes about a second for so many.
const MOST_INSTRUCTIONS: usize = 100_000;

/// Most blocks of a function: the time that Cranelift takes grows with their square where values live
/// across many of them, to a second or two for so many.
const MOST_BLOCKS: usize = 4096;

/// The elements of an array that is an argument.
#[derive(Debug, Clone)]
pub(super) struct ArgumentElements {
    /// Where they are.
    pub(super) start: clif::Value,
    /// How many there are, and how many that an index can name.
    pub(super) count: clif::Value,
    pub(super) indexed: clif::Value,
    /// The length of each axis.
    pub(super) lengths: SmallVec<[clif::Value; MOST_INDICES]>,
}

/// Writes one function.
pub(super) struct Translator<'a> {
    pub(super) cursor: FuncCursor<'a>,
    pub(super) function: &'a Function,
    pub(super) interface: &'a Interface,
    pub(super) last: &'a LastUses,
    pub(super) cfg: &'a Cfg,
    pub(super) convention: CallConv,
    /// Cranelift's value for each of the function's, and the block that defines it.
    pub(super) values: Vec<Option<(clif::Value, usize)>>,
    /// Those that are kept in memory.
    pub(super) kept: KeptValues,
    pub(super) blocks: Vec<clif::Block>,
    /// The block that is written, and the number of its instruction.
    pub(super) current: usize,
    pub(super) number: usize,
    /// Loops that poll once in many turns.
    pub(super) chunked: ChunkedLoops,
    /// What is known of integers, once it is asked for.
    pub(super) ranges: Option<Ranges<'a>>,
    /// Estimated nanoseconds of the [way](super::polls) so far.
    pub(super) cost: i64,
    /// The same at the beginning of each block, as far as what comes before is written.
    pub(super) costs: Vec<i64>,
    pub(super) run: clif::Value,
    pub(super) slots: clif::Value,
    pub(super) tapes: clif::Value,
    /// The blocks that return a status.
    pub(super) leave: Vec<(i64, clif::Block)>,
    pub(super) rare: &'static RareCalls,
    /// What is done with arrays, by number.
    pub(super) steps: Vec<ArrayStep>,
    /// Slots that steps need.
    pub(super) scratch: usize,
    /// Operators that wait to be one step.
    pub(super) pending: PendingSegment,
    /// Steps that wait to be one.
    pub(super) fixed: PendingSteps,
    pub(super) stands: StandIns,
    /// How often each value is read.
    pub(super) uses: Vec<usize>,
    /// Buffers that steps need.
    pub(super) buffers: usize,
    /// Those of functions that are called.
    pub(super) signatures: Vec<SigRef>,
    /// Values of which this block has both sine and cosine: these, when the first was written.
    pub(super) angles: HashMap<ValueId, Option<[clif::Value; 2]>>,
    /// Angles whose formulas were written.
    pub(super) written_angles: usize,
    /// What the register for the [counter](super::polls) held before.
    pub(super) counter_of_caller: clif::Value,
    /// The arguments that loops read elements of.
    pub(super) arguments: HashMap<ValueId, ArgumentElements>,
}

/// What machine code does with arrays.
pub(super) struct WrittenSteps {
    pub(super) steps: Vec<ArrayStep>,
    /// Slots of values that are kept in memory, and behind them those that the steps need.
    pub(super) kept: usize,
    pub(super) scratch: usize,
    /// Buffers that they need.
    pub(super) buffers: usize,
}

/// The signature of what is compiled: run, slots and tapes, for a status.
pub(super) fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params = vec![AbiParam::new(I64); 3];
    signature.returns = vec![AbiParam::new(I64)];
    signature
}

/// Writes a function that has passed [`Function::check`] into an empty one of Cranelift's, with
/// [`signature`]'s: the steps that it does.
pub(super) fn translate(
    function: &Function,
    interface: &Interface,
    to: &mut clif::Function,
) -> Translated<WrittenSteps> {
    let (cfg, last) = (&Cfg::new(function), &LastUses::new(function));
    let instructions: usize = function.blocks.iter().map(|b| b.instructions.len()).sum();
    let wide = |b: &Block| b.parameters.len() > MOST_VALUES;
    let count = function.blocks.len();
    if instructions > MOST_INSTRUCTIONS || count > MOST_BLOCKS || function.blocks.iter().any(wide) {
        return Err(Unsupported("too large"));
    }
    let convention = to.signature.call_conv;
    let prologue = to.dfg.make_block();
    let [run, slots, tapes] = [(); 3].map(|()| to.dfg.append_block_param(prologue, I64));
    let blocks = function
        .blocks
        .iter()
        .map(|_| to.dfg.make_block())
        .collect();
    let mut translator = Translator {
        cursor: FuncCursor::new(to),
        function,
        interface,
        last,
        cfg,
        convention,
        values: vec![None; function.kinds.len()],
        kept: KeptValues::of(function, cfg),
        blocks,
        current: 0,
        number: 0,
        chunked: chunked_loops(function, cfg),
        ranges: None,
        cost: 0,
        costs: vec![0; count],
        run,
        slots,
        tapes,
        leave: Vec::new(),
        rare: RareCalls::get()?,
        steps: Vec::new(),
        scratch: 0,
        pending: PendingSegment::default(),
        fixed: PendingSteps::default(),
        stands: stand_ins(function, interface),
        uses: function.uses(),
        buffers: 0,
        signatures: Vec::new(),
        angles: HashMap::new(),
        written_angles: 0,
        counter_of_caller: run,
        arguments: HashMap::new(),
    };
    translator.open(prologue);
    translator.counter_of_caller = translator.begin_counting();
    translator.load_addresses()?;
    let mut arguments = Vec::new();
    for (k, passed) in interface.parameters.iter().enumerate() {
        if let Carrier::Word(word) = passed {
            let at = k as i32 * SLOT;
            let value = translator.load(word.ty(), slots, at);
            arguments.push(BlockArg::Value(value));
        }
    }
    translator.enter_fixed();
    let entry = translator.blocks[0];
    translator.cursor.ins().jump(entry, &arguments);
    for &block in cfg.order() {
        translator.block(block)?;
    }
    translator.write_limits()?;
    translator.write_leaving();
    Ok(WrittenSteps {
        steps: translator.steps,
        kept: translator.kept.count,
        scratch: translator.scratch,
        buffers: translator.buffers,
    })
}

impl Translator<'_> {
    /// What a register holds for a value.
    pub(super) fn word(&self, id: ValueId) -> Translated<Word> {
        Word::of(self.function.kind(id)).ok_or(Unsupported("arrays"))
    }

    fn block(&mut self, block: usize) -> Translated {
        let function = self.function;
        let here = &function.blocks[block];
        self.current = block;
        self.begin_cost(block);
        self.angles = both_angles(here);
        self.open(self.blocks[block]);
        for &id in &here.parameters {
            if self.place(id).is_some() {
                continue;
            }
            let ty = self.word(id)?.ty();
            let dfg = &mut self.cursor.func.dfg;
            let value = dfg.append_block_param(self.blocks[block], ty);
            self.define(id, value)?;
        }
        let mut fused = None;
        for (number, instruction) in here.instructions.iter().enumerate() {
            self.number = number;
            if Some(number) != fused {
                fused = self.indexed_element(here, number)?;
                if fused.is_none() {
                    self.instruction(instruction, number)?;
                }
            }
        }
        self.add_limit(block);
        self.terminator(&here.terminator)
    }

    fn instruction(&mut self, instruction: &Instruction, number: usize) -> Translated {
        let waits = match &instruction.expression {
            Expression::Constant(_) | Expression::Compute(_, _, None) => {
                !self.has_arrays(&instruction.results)
            }
            Expression::Apply(..) => true,
            _ => false,
        };
        if !waits {
            self.write_segment();
            if !self.leaves_steps_waiting(instruction) {
                self.write_fixed();
            }
        }
        match &instruction.expression {
            Expression::Constant(Datum::Array(array)) if self.has_arrays(&instruction.results) => {
                if self.fixed_constant(array, instruction.result()) {
                    return Ok(());
                }
                let to = self
                    .place(instruction.result())
                    .ok_or(Unsupported("no array"))?;
                self.step(ArrayStep::Constant(array.clone(), to), 1);
                Ok(())
            }
            Expression::Constant(datum) => {
                let word = self.word(instruction.result())?;
                let slot = word.slot(datum).ok_or(Unsupported("a constant array"))?;
                let value = match word {
                    Word::F64 => self.cursor.ins().f64const(f64::from_bits(slot)),
                    Word::F32 => self.cursor.ins().f32const(f32::from_bits(slot as u32)),
                    Word::Bool | Word::Int | Word::U32 => {
                        self.cursor.ins().iconst(word.ty(), slot as i64)
                    }
                };
                self.define(instruction.result(), value)
            }
            Expression::Apply(op, args) => {
                let result = instruction.result();
                let single = !self.has_arrays(args) && self.place(result).is_none();
                if single && let Ok((value, cost)) = self.apply(&**op, args, result) {
                    self.cost += cost;
                    return self.define(result, value);
                }
                match self.apply_to_arrays(op, args, result, number)? {
                    Some(value) => self.define(result, value),
                    None => Ok(()),
                }
            }
            Expression::Compute(S::Length(axis), args, Some(exit)) if self.has_arrays(args) => {
                let value = self.length(args[0], *axis, *exit)?;
                self.define(instruction.result(), value)
            }
            Expression::Compute(S::Rows(_), _, Some(exit)) => self.rows(instruction, *exit),
            Expression::Compute(op, args, exit) => {
                self.cost += 1;
                let value = self.compute(*op, args, *exit)?;
                self.define(instruction.result(), value)
            }
            Expression::Guard(condition, exit) => {
                self.cost += 1;
                let condition = self.read(*condition)?;
                self.require_or_exit(condition, *exit);
                Ok(())
            }
            Expression::Push(tape, args) => {
                self.push_fixed(*tape, args);
                self.push_arrays(*tape, args, number);
                self.push(*tape, args)
            }
            Expression::Pop(tape) => {
                self.pop(*tape, &instruction.results)?;
                self.pop_fixed(*tape, &instruction.results);
                self.pop_arrays(*tape, &instruction.results);
                Ok(())
            }
        }
    }

    fn terminator(&mut self, terminator: &Terminator) -> Translated {
        if !matches!(terminator, Terminator::Jump(_)) {
            self.write_pending();
            self.count_long_way();
        }
        let mut later = Vec::new();
        match terminator {
            Terminator::Return(results) => {
                self.leave_fixed(results);
                let mut arrays = Vec::new();
                for (k, &id) in results.iter().enumerate() {
                    match self.place(id) {
                        Some(place) => {
                            let last = !results[k + 1..].contains(&id);
                            arrays.push(Use { place, last });
                        }
                        None => {
                            let value = self.read(id)?;
                            self.store(value, self.slots, k as i32 * SLOT);
                        }
                    }
                }
                if !arrays.is_empty() {
                    self.step(ArrayStep::Return(arrays), 0);
                }
                let status = self.integer(status::RETURNED);
                self.return_status(status);
            }
            Terminator::Leave(exit) => {
                let status = self.integer(status::LEFT + i64::from(*exit));
                self.return_status(status);
            }
            Terminator::Jump(to) => self.jump(to, 0)?,
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => self.branch(*condition, then, otherwise, &mut later)?,
            Terminator::Switch { value, targets } => {
                if targets.len() > MOST_VALUES {
                    return Err(Unsupported("too large a switch"));
                }
                let value = self.read(*value)?;
                let count = self.integer(targets.len() as i64);
                let there = self
                    .cursor
                    .ins()
                    .icmp(IntCC::UnsignedLessThan, value, count);
                self.require(there, status::NO_TARGET);
                let number = self.cursor.ins().ireduce(clif::types::I32, value);
                let mut calls = Vec::new();
                for (number, target) in targets.iter().enumerate() {
                    let (block, args) = self.edge(target, number, &mut later)?;
                    calls.push(self.cursor.func.dfg.block_call(block, &args));
                }
                // The last one serves as the default, which is not reached otherwise.
                match calls.pop() {
                    Some(last) => {
                        let table = JumpTableData::new(last, &calls);
                        let table = self.cursor.func.create_jump_table(table);
                        self.cursor.ins().br_table(number, table);
                    }
                    None => {
                        let status = self.integer(status::NO_TARGET);
                        self.return_status(status);
                    }
                }
            }
        }
        let cost = self.cost;
        for (edge, target, number) in later {
            self.open(edge);
            self.cost = cost;
            self.jump(&target, number)?;
        }
        Ok(())
    }

    /// The number 0.
    pub(super) fn zero(&mut self, word: Word) -> clif::Value {
        match word.real() {
            Some(DType::F32) => self.cursor.ins().f32const(0.0),
            _ => self.cursor.ins().f64const(0.0),
        }
    }
}
