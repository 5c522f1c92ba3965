//! Printing functions.
//!
//! Values print as `%0`, `%1`, …; a block as its number with its parameters; an operator
//! as its name with the attributes it carries. Names and lines of the source follow `#`.

use std::fmt;

use super::function::{Expression, Function, Instruction, Target, Terminator, ValueId};
use super::kind::Datum;
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

fn constant(value: &Datum) -> String {
    match value {
        Datum::Array(a) => match a.item() {
            Ok(x) => format!("constant {x}"),
            Err(_) => "constant".to_owned(),
        },
        Datum::Bool(b) => format!("constant {b}"),
        Datum::Int(i) => format!("constant {i}"),
    }
}

fn expression(expression: &Expression) -> String {
    match expression {
        Expression::Apply(op, args) => format!("{}({})", operator(&**op), values(args)),
        Expression::Constant(value) => constant(value),
        Expression::Compute(op, args, exit) => {
            let leave = exit.map_or(String::new(), |exit| format!(" or leave by {exit}"));
            format!("{}({}){leave}", op.name(), values(args))
        }
        Expression::Guard(condition, exit) => format!("guard %{condition} or leave by {exit}"),
        Expression::Push(tape, args) => format!("push {tape} ({})", values(args)),
        Expression::Pop(tape) => format!("pop {tape}"),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.block, values(&self.args))
    }
}

impl fmt::Display for Terminator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Terminator::Return(results) => write!(f, "return {}", values(results)),
            Terminator::Leave(exit) => write!(f, "leave by {exit}"),
            Terminator::Jump(to) => write!(f, "jump {to}"),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => write!(f, "branch %{condition} to {then} else {otherwise}"),
            Terminator::Switch { value, targets } => {
                let targets: Vec<String> = targets.iter().map(Target::to_string).collect();
                write!(f, "switch %{value} to {}", targets.join(", "))
            }
        }
    }
}

impl Function {
    /// The names that values have in the source, and a line.
    fn note(&self, ids: &[ValueId], line: u32) -> String {
        let names = ids.iter().filter_map(|id| self.notes.names.get(id));
        let mut notes: Vec<String> = names.cloned().collect();
        if line > 0 {
            notes.push(format!("line {line}"));
        }
        match notes.is_empty() {
            true => String::new(),
            false => format!("  # {}", notes.join(", ")),
        }
    }

    /// A value that is defined, with what it is. A function that is not well formed may not say that.
    fn typed(&self, id: ValueId) -> String {
        match self.kinds.get(id as usize) {
            Some(kind) => format!("%{id}: {kind}"),
            None => format!("%{id}: ?"),
        }
    }

    fn instruction(&self, i: &Instruction, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let results = i.results.iter();
        let results: Vec<String> = results.map(|&id| self.typed(id)).collect();
        let equals = if results.is_empty() { "" } else { " = " };
        let note = self.note(&i.results, i.line);
        let value = expression(&i.expression);
        writeln!(f, "  {}{equals}{value}{note}", results.join(", "))
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "fn {}", self.name)?;
        for (number, block) in self.blocks.iter().enumerate() {
            let parameters = block.parameters.iter();
            let parameters: Vec<String> = parameters.map(|&id| self.typed(id)).collect();
            let note = self.note(&block.parameters, 0);
            writeln!(f, "{number}({}):{note}", parameters.join(", "))?;
            for i in &block.instructions {
                self.instruction(i, f)?;
            }
            writeln!(f, "  {}", block.terminator)?;
        }
        for (number, exit) in self.notes.exits.iter().enumerate() {
            let line = match exit.line {
                0 => String::new(),
                line => format!("line {line}: "),
            };
            writeln!(f, "exit {number}: {line}{}", exit.text)?;
        }
        Ok(())
    }
}
