//! Checking a function that anybody may have put together.
//!
//! A [`Builder`](super::Builder) sees to most of this; the fields of functions are public, and passes
//! change them. What runs a function relies on this check.

use smallvec::SmallVec;

use super::builder::{check_exit, check_record, record, scalar_kind};
use super::cfg::Cfg;
use super::function::{Expression, Function, Instruction, Target, Terminator, ValueId};
use super::kind::ValueKind;
use super::liveness::homes;
use crate::array::{DType, Shape, Type};
use crate::error::{Error, Result};
use crate::rules::{OpRef, check_possible};

impl Function {
    /// Checks that every value has a kind, is defined once, and wherever it is used was defined
    /// before, in the block or in one that dominates it; that constants, operands of scalar operators,
    /// conditions, records of tapes and what blocks are given are of the kinds that they must have; that
    /// all returns give the same kinds; that blocks, exits and tapes exist; that operators of the rule table
    /// take as many operands as they are given, of these element types, and give a result of the kind that is
    /// said. Lengths of arrays are not compared, for they may be others in a run, but there is no array that
    /// no memory could hold.
    ///
    /// # Errors
    /// [`Error::Value`], [`Error::Type`] or [`Error::Shape`] naming the value.
    pub fn check(&self) -> Result<()> {
        let kinds = self.kinds.iter().chain(self.tapes.iter().flatten());
        for ty in kinds.filter_map(ValueKind::array) {
            check_possible(&self.name, ty)?;
        }
        let mut check = Verifier {
            function: self,
            defined: vec![false; self.kinds.len()],
            returned: None,
        };
        for block in &self.blocks {
            for &id in &block.parameters {
                check.define(id)?;
            }
            for i in &block.instructions {
                check.instruction(i)?;
            }
            check.terminator(&block.terminator)?;
        }
        match self.blocks.len() {
            0 => Err(Error::Value(format!("{} has no blocks", self.name))),
            1 => Ok(()),
            _ => self.check_dominance(),
        }
    }

    /// Checks that what a block uses is defined in it before, or in a block that dominates it.
    fn check_dominance(&self) -> Result<()> {
        let graph = Cfg::new(self);
        let homes = homes(self);
        // The block in which each value was last seen to be defined.
        let mut defined = vec![usize::MAX; self.kinds.len()];
        for &number in graph.order() {
            let mut wrong = None;
            let mut used = |id: ValueId, defined: &[usize]| {
                let is_known = match homes[id as usize] {
                    Some(home) if home == number => defined[id as usize] == number,
                    Some(home) => graph.dominates(home, number),
                    None => false,
                };
                if !is_known {
                    wrong.get_or_insert(id);
                }
            };
            let block = &self.blocks[number];
            for &id in &block.parameters {
                defined[id as usize] = number;
            }
            for i in &block.instructions {
                for &id in i.expression.operands() {
                    used(id, &defined);
                }
                for &id in &i.results {
                    defined[id as usize] = number;
                }
            }
            block.terminator.each(|id| used(id, &defined));
            if let Some(id) = wrong {
                let what = format!("is used in block {number}, and not defined on every way there");
                return Err(self.wrong(id, &what));
            }
        }
        Ok(())
    }

    /// The error for a value.
    fn wrong(&self, id: ValueId, what: &str) -> Error {
        Error::Value(format!("{}: value %{id} {what}", self.name))
    }

    /// The error for something of another kind than it must have.
    fn mistyped(&self, what: &str, expected: &dyn std::fmt::Display, found: &ValueKind) -> Error {
        Error::Type(format!(
            "{}: {what}: expected {expected}, got {found}",
            self.name
        ))
    }
}

/// Whether an operator that refuses operands of some types would refuse them with any lengths: those in kinds may not
/// fit each other.
fn never_fits(op: &OpRef, types: &[&Type]) -> bool {
    let single = |ty: &&Type| Type::new(ty.dtype, &Shape::from_elem(1, ty.ndim()));
    let single: SmallVec<[Type; 3]> = types.iter().map(single).collect();
    let numbers = types.iter().all(|ty| ty.ndim() == 0);
    let refs: SmallVec<[&Type; 3]> = single.iter().collect();
    match op.infer(&refs) {
        Err(Error::Type(_) | Error::Axis(_) | Error::LinAlg(_)) => true,
        Err(Error::Shape(_) | Error::Value(_)) => numbers,
        _ => false,
    }
}

struct Verifier<'f> {
    function: &'f Function,
    defined: Vec<bool>,
    /// What the first return gives.
    returned: Option<&'f [ValueId]>,
}

impl<'f> Verifier<'f> {
    fn define(&mut self, id: ValueId) -> Result<()> {
        let what = match self.defined.get_mut(id as usize) {
            None => "has no type",
            Some(true) => "is defined twice",
            Some(new) => {
                *new = true;
                return Ok(());
            }
        };
        Err(self.function.wrong(id, what))
    }

    fn used(&self, ids: &[ValueId]) -> Result<()> {
        let one = self.function.blocks.len() == 1;
        let wrong = |id, what| Err(self.function.wrong(id, what));
        ids.iter()
            .try_for_each(|&id| match self.defined.get(id as usize) {
                None => wrong(id, "does not exist"),
                Some(false) if one => wrong(id, "is used before it is defined"),
                Some(_) => Ok(()),
            })
    }

    fn kinds(&self, ids: &[ValueId]) -> Vec<&'f ValueKind> {
        ids.iter().map(|&id| self.function.kind(id)).collect()
    }

    /// Checks an instruction, and defines its results.
    fn instruction(&mut self, i: &Instruction) -> Result<()> {
        let function = self.function;
        let args = i.expression.operands();
        self.used(args)?;
        for &id in &i.results {
            self.define(id)?;
        }
        let expected: Vec<ValueKind> = match &i.expression {
            Expression::Constant(value) => vec![value.kind()],
            Expression::Apply(op, _) => {
                let others = self.kinds(args).into_iter().find(|k| k.array().is_none());
                if let Some(found) = others {
                    return Err(function.mistyped(op.name(), &"arrays", found));
                }
                let types: SmallVec<[&Type; 3]> = args.iter().map(|&id| function.ty(id)).collect();
                match (op.infer(&types), i.results.as_slice()) {
                    (Ok(ty), _) => vec![ty.into()],
                    (Err(error), _) if never_fits(op, &types) => {
                        let result = i.results.first().copied().unwrap_or_default();
                        let what = format!("{}: value %{result}: {error}", function.name);
                        return Err(Error::Type(what));
                    }
                    (Err(_), &[id]) if function.kind(id).array().is_some() => return Ok(()),
                    _ => vec![ValueKind::number(DType::F64)],
                }
            }
            Expression::Compute(op, _, exit) => {
                let exits = function.notes.exits.len();
                vec![scalar_kind(*op, &self.kinds(args), *exit, exits)?]
            }
            Expression::Guard(condition, exit) => {
                check_exit("guard", *exit, function.notes.exits.len())?;
                let found = function.kind(*condition);
                if *found != ValueKind::Bool {
                    return Err(function.mistyped("guard", &ValueKind::Bool, found));
                }
                Vec::new()
            }
            Expression::Push(tape, _) => {
                check_record(*tape, record(*tape, &function.tapes)?, &self.kinds(args))?;
                Vec::new()
            }
            Expression::Pop(tape) => record(*tape, &function.tapes)?.to_vec(),
        };
        if expected.len() != i.results.len() {
            return Err(Error::Value(format!(
                "{}: an instruction has {} results, expected {}",
                function.name,
                i.results.len(),
                expected.len()
            )));
        }
        for (expected, &id) in expected.iter().zip(&i.results) {
            let found = function.kind(id);
            let constant = matches!(i.expression, Expression::Constant(_));
            if constant && expected != found {
                return Err(function.wrong(id, "is a constant of another type"));
            }
            if !expected.accepts(found) {
                return Err(function.mistyped(&format!("value %{id}"), expected, found));
            }
        }
        Ok(())
    }

    fn terminator(&mut self, terminator: &'f Terminator) -> Result<()> {
        let function = self.function;
        self.used(terminator.operands())?;
        for to in terminator.targets() {
            self.target(to)?;
        }
        match terminator {
            Terminator::Branch { condition, .. } => {
                let found = function.kind(*condition);
                if *found != ValueKind::Bool && found.as_number().is_none() {
                    return Err(function.mistyped("branch", &"bool or a number", found));
                }
            }
            Terminator::Switch { value, targets } => {
                let found = function.kind(*value);
                if *found != ValueKind::Int {
                    return Err(function.mistyped("switch", &ValueKind::Int, found));
                }
                if targets.is_empty() {
                    return Err(function.wrong(*value, "is switched on without a target"));
                }
            }
            Terminator::Leave(exit) => {
                check_exit("leave", *exit, function.notes.exits.len())?;
            }
            Terminator::Return(results) => self.returns(results)?,
            Terminator::Jump(_) => {}
        }
        Ok(())
    }

    /// Compares what is returned with the first return.
    fn returns(&mut self, results: &'f [ValueId]) -> Result<()> {
        let first = *self.returned.get_or_insert(results);
        let (expected, found) = (self.kinds(first), self.kinds(results));
        let mut pairs = expected.iter().zip(&found);
        if expected.len() == found.len() && pairs.all(|(a, b)| a.accepts(b)) {
            return Ok(());
        }
        let show = |kinds: &[&ValueKind]| {
            let kinds: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
            kinds.join(", ")
        };
        Err(Error::Type(format!(
            "{}: it returns ({}) in one place and ({}) in another",
            self.function.name,
            show(&expected),
            show(&found)
        )))
    }

    fn target(&self, to: &Target) -> Result<()> {
        let function = self.function;
        self.used(&to.args)?;
        let Some(block) = function.blocks.get(to.block) else {
            return Err(Error::Value(format!(
                "{}: block {} does not exist",
                function.name, to.block
            )));
        };
        if block.parameters.len() != to.args.len() {
            return Err(Error::Value(format!(
                "{}: block {} takes {} values, {} given",
                function.name,
                to.block,
                block.parameters.len(),
                to.args.len()
            )));
        }
        for (&p, &a) in block.parameters.iter().zip(&to.args) {
            let expected = function.kinds.get(p as usize);
            let expected = expected.ok_or_else(|| function.wrong(p, "has no type"))?;
            let found = function.kind(a);
            if !expected.accepts(found) {
                let what = format!("block {}, parameter %{p}", to.block);
                return Err(function.mistyped(&what, expected, found));
            }
        }
        Ok(())
    }
}
