//! Printing functions.
//!
//! Values print as `%0`, `%1`, …; a block as its number with its parameters; an operator
//! as its name with the attributes it carries.

use std::fmt;

use super::function::{Expression, Function, Target, Terminator, ValueId};
use crate::rules::Operator;

fn values(ids: &[ValueId]) -> String {
    let parts: Vec<String> = ids.iter().map(|id| format!("%{id}")).collect();
    parts.join(", ")
}

/// The operator's name, followed by its attributes if it has any.
fn operator(op: &dyn Operator) -> String {
    match op.attributes() {
        none if none.is_empty() => op.name().to_owned(),
        attributes => format!("{}[{attributes}]", op.name()),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.block, values(&self.args))
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "fn {}", self.name)?;
        for (number, block) in self.blocks.iter().enumerate() {
            let typed = |&id: &ValueId| format!("%{id}: {}", self.ty(id));
            let parameters: Vec<String> = block.parameters.iter().map(typed).collect();
            writeln!(f, "{number}({}):", parameters.join(", "))?;
            for i in &block.instructions {
                let value = match &i.expression {
                    Expression::Apply(op, args) => format!("{}({})", operator(&**op), values(args)),
                    Expression::Constant(a) => match a.item() {
                        Ok(x) => format!("constant {x}"),
                        Err(_) => "constant".to_owned(),
                    },
                };
                writeln!(f, "  %{}: {} = {value}", i.result, self.ty(i.result))?;
            }
            match &block.terminator {
                Terminator::Return(results) => writeln!(f, "  return {}", values(results))?,
                Terminator::Jump(to) => writeln!(f, "  jump {to}")?,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                } => writeln!(f, "  branch %{condition} to {then} else {otherwise}")?,
            }
        }
        Ok(())
    }
}
