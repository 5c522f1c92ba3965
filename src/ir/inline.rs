//! Appending a whole function where another one is built.

use smallvec::SmallVec;

use super::builder::Builder;
use super::cfg::Cfg;
use super::function::{Expression, Function, Target, Terminator, ValueId};
use crate::error::{Error, Result};

impl Builder {
    /// Appends all that a function does for some arguments, and gives its results. Instructions go on
    /// after it: in the same block if it has one, else in another.
    ///
    /// Its exits are exits of this function too, with new numbers, and its tapes tapes of their own.
    /// They must be empty when it returns, as they are in gradients, if it is to run more than once.
    ///
    /// # Errors
    /// As [`Function::check`]; [`Error::Value`] if there are more or fewer arguments than parameters,
    /// one does not exist, or the function never returns; [`Error::Type`] if one is of another kind;
    /// [`Error::Memory`]. But for the last of these nothing was appended then.
    pub fn inline(&self, function: &Function, args: &[ValueId]) -> Result<Vec<ValueId>> {
        function.check()?;
        self.fits(function, args)?;
        let graph = Cfg::new(function);
        let is_return =
            |b: &&usize| matches!(function.blocks[**b].terminator, Terminator::Return(_));
        let returns: Vec<usize> = graph.order().iter().filter(is_return).copied().collect();
        let Some(&first) = returns.first() else {
            let message = format!("inline: '{}' never returns", function.name);
            return Err(Error::Value(message));
        };
        let mut copy = Copy {
            builder: self,
            function,
            values: vec![None; function.kinds.len()],
            blocks: vec![0; function.blocks.len()],
            tapes: function
                .tapes
                .iter()
                .map(|kinds| self.tape(kinds.clone()))
                .collect(),
            exits: {
                let exits = function.notes.exits.iter();
                exits.map(|exit| self.exit(&exit.text, exit.line)).collect()
            },
        };
        let (start, line) = (self.current(), self.current_line());
        // What is jumped back to is a block of its own.
        let entry = match graph.predecessors(0) {
            [] => start,
            _ => self.block(),
        };
        for &block in graph.order() {
            copy.blocks[block] = if block == 0 { entry } else { self.block() };
        }
        if entry == start {
            for (&p, &a) in function.parameters().iter().zip(args) {
                copy.values[p as usize] = Some(a);
            }
        } else {
            self.switch_to(start)?;
            self.terminate(Terminator::Jump(Target {
                block: entry,
                args: args.to_vec(),
            }));
        }
        let end = match returns.as_slice() {
            [_] => None,
            _ => Some(self.block()),
        };
        for &block in graph.order() {
            copy.block(block, block > 0 || entry != start, end)?;
        }
        self.line(line);
        let Terminator::Return(results) = &function.blocks[first].terminator else {
            return Ok(Vec::new());
        };
        match end {
            None => {
                self.switch_to(copy.blocks[first])?;
                Ok(copy.named(results))
            }
            Some(end) => {
                self.switch_to(end)?;
                let kinds = results.iter().map(|&id| function.kind(id).clone());
                Ok(kinds.map(|kind| self.parameter(kind)).collect())
            }
        }
    }

    /// Checks arguments for a function.
    fn fits(&self, function: &Function, args: &[ValueId]) -> Result<()> {
        let parameters = function.parameters();
        if args.len() != parameters.len() {
            return Err(Error::Value(format!(
                "inline: '{}' takes {} values, {} given",
                function.name,
                parameters.len(),
                args.len()
            )));
        }
        for (k, (&p, &a)) in parameters.iter().zip(args).enumerate() {
            let (expected, found) = (function.kind(p), self.kind(a)?);
            if !expected.accepts(&found) {
                return Err(Error::Type(format!(
                    "inline: argument {k} of '{}': expected {expected}, got {found}",
                    function.name
                )));
            }
        }
        Ok(())
    }
}

/// A function while it is copied, and what is called how in the copy.
struct Copy<'b> {
    builder: &'b Builder,
    function: &'b Function,
    values: Vec<Option<ValueId>>,
    blocks: Vec<usize>,
    tapes: Vec<u32>,
    exits: Vec<u32>,
}

impl Copy<'_> {
    fn named(&self, ids: &[ValueId]) -> Vec<ValueId> {
        ids.iter().map(|&id| self.name(id)).collect()
    }

    /// The copy of a value. Definitions were copied before uses: the function was checked.
    fn name(&self, id: ValueId) -> ValueId {
        let copy = self.values[id as usize];
        copy.expect("blocks come after those that dominate them")
    }

    fn define(&mut self, id: ValueId, copy: ValueId) {
        self.values[id as usize] = Some(copy);
        if let Some(name) = self.function.notes.names.get(&id) {
            self.builder.name(copy, name);
        }
    }

    /// Copies a block, its parameters too if it keeps them. A return goes to `end`, if there is one.
    fn block(&mut self, number: usize, parameters: bool, end: Option<usize>) -> Result<()> {
        let block = &self.function.blocks[number];
        self.builder.switch_to(self.blocks[number])?;
        if parameters {
            for &p in &block.parameters {
                let copy = self.builder.parameter(self.function.kind(p).clone());
                self.define(p, copy);
            }
        }
        for i in &block.instructions {
            let mut expression = i.expression.clone();
            for id in expression.operands_mut() {
                *id = self.name(*id);
            }
            match &mut expression {
                Expression::Push(tape, _) | Expression::Pop(tape) => {
                    *tape = self.tapes[*tape as usize];
                }
                Expression::Guard(_, exit) | Expression::Compute(_, _, Some(exit)) => {
                    *exit = self.exits[*exit as usize];
                }
                Expression::Apply(..) | Expression::Constant(_) | Expression::Compute(..) => {}
            }
            let kinds = i.results.iter().map(|&id| self.function.kind(id).clone());
            let kinds: SmallVec<[_; 1]> = kinds.collect();
            self.builder.line(i.line);
            let copies = self.builder.append(kinds, expression)?;
            for (&id, copy) in i.results.iter().zip(copies) {
                self.define(id, copy);
            }
        }
        let mut terminator = block.terminator.clone();
        terminator.each_mut(|id| *id = self.name(*id));
        for to in terminator.targets_mut() {
            to.block = self.blocks[to.block];
        }
        let terminator = match (terminator, end) {
            (Terminator::Return(args), Some(block)) => Terminator::Jump(Target { block, args }),
            // Whoever builds goes on there.
            (Terminator::Return(_), None) => return Ok(()),
            (Terminator::Leave(exit), _) => Terminator::Leave(self.exits[exit as usize]),
            (other, _) => other,
        };
        self.builder.terminate(terminator);
        Ok(())
    }
}
