//! Functions of numbers as functions of arrays.

use wyrmling::ir::{
    Datum, Expression, Function, Instruction, Operands, ScalarKind, Terminator, ValueId, ValueKind,
};
use wyrmling::rules::{self, BroadcastTo, Gather, OpRef, Operator};
use wyrmling::{Array, DType, Type};

/// A function in which every number of the given one is an array of `length` numbers, on which its
/// operators act one by one. What decides is an element; the identity repeats one; of products the
/// second operand is one, so that gradients are summed.
pub fn vectorized(function: &Function, length: usize) -> Function {
    let mut pass = Pass {
        out: function.clone(),
        length,
        before: Vec::new(),
    };
    let number = ValueKind::number(DType::F64);
    let vector = ValueKind::Array(Type::new(DType::F64, &[length]));
    let tapes = pass.out.tapes.iter_mut().flatten();
    for kind in pass.out.kinds.iter_mut().chain(tapes) {
        if *kind == number {
            *kind = vector.clone();
        }
    }
    for (number, block) in function.blocks.iter().enumerate() {
        let mut instructions = Vec::new();
        for i in &block.instructions {
            let i = pass.instruction(i);
            instructions.append(&mut pass.before);
            instructions.extend(i);
        }
        if let Terminator::Branch { condition, .. } = &mut pass.out.blocks[number].terminator {
            let mut decides = *condition;
            if pass.out.kind(decides).array().is_some() {
                decides = pass.element(decides, 0);
            }
            if let Terminator::Branch { condition, .. } = &mut pass.out.blocks[number].terminator {
                *condition = decides;
            }
        }
        instructions.append(&mut pass.before);
        pass.out.blocks[number].instructions = instructions;
    }
    pass.out.check().expect("well formed");
    pass.out
}

struct Pass {
    out: Function,
    length: usize,
    /// What comes before the instruction at hand.
    before: Vec<Instruction>,
}

impl Pass {
    fn new_value(&mut self, kind: ValueKind, expression: Expression) -> ValueId {
        self.out.kinds.push(kind);
        let id = (self.out.kinds.len() - 1) as ValueId;
        self.before.push(Instruction::new(id, expression));
        id
    }

    /// An element of an array.
    fn element(&mut self, id: ValueId, at: u32) -> ValueId {
        let index: Array = Array::full(&Type::scalar(DType::U32), f64::from(at));
        let index = self.new_value(
            ValueKind::number(DType::U32),
            Expression::Constant(Datum::Array(index)),
        );
        let gather = Expression::Apply(OpRef::Static(&Gather), Operands::from_slice(&[id, index]));
        self.new_value(ValueKind::number(DType::F64), gather)
    }

    /// A number that is repeated, named `id`.
    fn repeated(&self, id: ValueId, number: ValueId) -> Instruction {
        let shape = [self.length].as_slice().into();
        let op = OpRef::new(BroadcastTo { shape });
        Instruction::new(id, Expression::Apply(op, Operands::from_slice(&[number])))
    }

    fn instruction(&mut self, i: &Instruction) -> Vec<Instruction> {
        let mut i = i.clone();
        let name = match &i.expression {
            Expression::Apply(op, _) => op.name().to_owned(),
            _ => String::new(),
        };
        match &mut i.expression {
            Expression::Constant(Datum::Array(a)) => {
                let value = a.item().expect("one number");
                let ty = Type::new(DType::F64, &[self.length]);
                i.expression = Expression::Constant(Array::full(&ty, value).into());
            }
            Expression::Apply(_, args) if name == rules::Identity.name() => {
                let number = self.element(args[0], 1);
                return vec![self.repeated(i.results[0], number)];
            }
            Expression::Apply(_, args) if name == "mul" => args[1] = self.element(args[1], 2),
            Expression::Compute(op, args, _) => {
                let (takes, gives) = op.signature();
                for (arg, kind) in args.iter_mut().zip(takes) {
                    if *kind == ScalarKind::Number {
                        *arg = self.element(*arg, 0);
                    }
                }
                if gives == ScalarKind::Number {
                    let id = i.results[0];
                    let kind = ValueKind::number(DType::F64);
                    let number = self.new_value(kind, i.expression.clone());
                    return vec![self.repeated(id, number)];
                }
            }
            _ => {}
        }
        vec![i]
    }
}
