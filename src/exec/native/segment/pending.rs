//! Operators on arrays that wait to be one step.
//!
//! A [`Segment`] is written when something comes that touches arrays in another way, or that may leave:
//! what can fail keeps its order. Single numbers are put into slots of the segment's own at once.

use super::{PendingSegment, Segment, SegmentInstruction, SegmentOperand};
use crate::exec::native::arrays::OPERATOR;
use crate::exec::native::arrays::frame::ArrayStep;
use crate::exec::native::arrays::places::Use;
use crate::exec::native::translate::Translator;
use crate::exec::native::unsupported::Translated;
use crate::ir::ValueId;
use crate::rules::OpRef;

impl Translator<'_> {
    /// Lets an operator wait.
    pub(in crate::exec::native) fn wait(
        &mut self,
        op: &OpRef,
        args: &[ValueId],
        result: ValueId,
        place: usize,
        instruction: usize,
    ) -> Translated {
        self.write_fixed();
        let mut operands = Vec::with_capacity(args.len());
        for (k, &id) in args.iter().enumerate() {
            let last = self.last.operand(self.current, instruction, k);
            operands.push(match (self.pending.locals.get(&id), self.place(id)) {
                (Some(&local), _) => SegmentOperand::Local(local, last),
                (None, Some(place)) => SegmentOperand::Place(Use { place, last }),
                (None, None) => {
                    let slot = self.pending.numbers;
                    self.pending.numbers += 1;
                    SegmentOperand::Number(slot, self.put_number(id, slot)?)
                }
            });
        }
        let waiting = &mut self.pending;
        waiting.locals.insert(result, waiting.instructions.len());
        waiting.instructions.push(SegmentInstruction {
            op: op.clone(),
            operands: operands.into(),
            result,
            place,
        });
        Ok(())
    }

    /// Writes what waits.
    pub(in crate::exec::native) fn write_pending(&mut self) {
        self.write_segment();
        self.write_fixed();
    }

    /// Writes the segment that waits.
    pub(in crate::exec::native) fn write_segment(&mut self) {
        let PendingSegment { instructions, .. } = std::mem::take(&mut self.pending);
        let count = instructions.len();
        if count > 0 {
            let segment = Segment::new(instructions, self.buffers);
            self.buffers += count;
            self.scratch(0);
            self.step(
                ArrayStep::Segment(Box::new(segment)),
                OPERATOR * count as i64,
            );
        }
    }
}
