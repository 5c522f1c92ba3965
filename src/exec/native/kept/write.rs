//! Values as registers, or as slots of memory where they are kept there (`kept`).

use cranelift_codegen::cursor::Cursor;
use cranelift_codegen::ir::{self as clif, ValueDef};

use crate::exec::native::translate::{SLOT, Translator};
use crate::exec::native::unsupported::{Translated, Unsupported};
use crate::ir::ValueId;

impl Translator<'_> {
    /// Where the slot of a value is that is kept in memory.
    fn kept_at(&self, id: ValueId) -> Option<i32> {
        let slot = (*self.kept.slots.get(id as usize)?)?;
        Some((self.interface.slots() + slot) as i32 * SLOT)
    }

    /// A value where the current block reads it.
    pub(in crate::exec::native) fn read(&mut self, id: ValueId) -> Translated<clif::Value> {
        let value = match self.values[id as usize] {
            Some((value, block)) if self.cfg.dominates(block, self.current) => value,
            _ => return Err(Unsupported("a value that may be read before it is defined")),
        };
        let func = &self.cursor.func;
        let home = match func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => func.layout.inst_block(inst),
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Union(..) => None,
        };
        match self.kept_at(id) {
            Some(at) if home != self.cursor.current_block() => {
                let ty = self.word(id)?.ty();
                Ok(self.load(ty, self.slots, at))
            }
            _ => Ok(value),
        }
    }

    pub(in crate::exec::native) fn define(
        &mut self,
        id: ValueId,
        value: clif::Value,
    ) -> Translated {
        let ty = self.cursor.func.dfg.value_type(value);
        if self.word(id)?.ty() != ty {
            return Err(Unsupported(
                "a value of another kind than the function says",
            ));
        }
        self.values[id as usize] = Some((value, self.current));
        if let Some(at) = self.kept_at(id) {
            self.store(value, self.slots, at);
        }
        Ok(())
    }
}
