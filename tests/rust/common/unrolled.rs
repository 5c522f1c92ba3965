//! A run of a function as straight code, and its derivatives by the passes for that: an oracle for
//! those over blocks.
//!
//! It keeps a value of each number beside its name in the straight code, and follows jumps by these
//! values.

use std::collections::HashMap;

use wyrmling::exec::interpret;
use wyrmling::graph::Constant;
use wyrmling::ir::{
    Builder, Datum, Expression, Function, Target, Terminator, ValueId, adjoint, tangent,
};
use wyrmling::rules::{self, OpRef};
use wyrmling::{Array, Variable};

/// A value, and its name in straight code if it is an array.
type Known = (Datum, Option<ValueId>);

/// A run of a function.
pub struct Unrolled {
    builder: Builder,
    /// The arguments that can be differentiated by.
    pub parameters: Vec<(ValueId, Datum)>,
    /// What was returned.
    pub results: Vec<Known>,
    /// How many values were appended to tapes.
    pub kept: usize,
}

/// What an operator makes of some arrays, by a graph of it alone.
fn evaluate(op: &OpRef, args: &[&Array]) -> Array {
    let args = args.iter().map(|&a| Constant::new(a.clone()).boxed());
    let args: Vec<Variable> = args.collect();
    let result = Variable::apply(op.clone(), &args).expect("fitting types");
    result.value().expect("it was computed")
}

impl Unrolled {
    /// Runs a function; `None` if it is left.
    pub fn new(function: &Function, args: &[Datum]) -> Option<Self> {
        let builder = Builder::new();
        let mut env: HashMap<ValueId, Known> = HashMap::new();
        let mut tapes: Vec<Vec<Vec<Known>>> = vec![Vec::new(); function.tapes.len()];
        let (mut parameters, mut kept) = (Vec::new(), 0);
        let mut incoming: Vec<Known> = Vec::new();
        for arg in args {
            let name = match arg {
                Datum::Array(a) if a.dtype().is_real() => Some(builder.parameter(a.ty())),
                Datum::Array(_) => Some(builder.literal(arg.clone())),
                _ => None,
            };
            if let (Some(name), true) = (name, arg.kind().is_differentiable()) {
                parameters.push((name, arg.clone()));
            }
            incoming.push((arg.clone(), name));
        }
        let mut block = 0;
        loop {
            let here = &function.blocks[block];
            for (&p, known) in here.parameters.iter().zip(incoming.drain(..)) {
                env.insert(p, known);
            }
            for i in &here.instructions {
                let known = |id: &ValueId| env[id].clone();
                let fixed = |datum: Datum| match &datum {
                    Datum::Array(_) => (datum.clone(), Some(builder.literal(datum))),
                    _ => (datum, None),
                };
                let results: Vec<Known> = match &i.expression {
                    Expression::Constant(datum) => vec![fixed(datum.clone())],
                    Expression::Apply(op, args) => {
                        let args: Vec<Known> = args.iter().map(known).collect();
                        let arrays: Vec<&Array> = args
                            .iter()
                            .map(|a| a.0.array().expect("an array"))
                            .collect();
                        let value = evaluate(op, &arrays);
                        let names: Vec<ValueId> =
                            args.iter().map(|a| a.1.expect("an array")).collect();
                        let name = builder.try_apply(op.clone(), &names);
                        vec![(value.into(), Some(name.expect("fitting types")))]
                    }
                    Expression::Compute(op, args, _) => {
                        let args: Vec<Known> = args.iter().map(known).collect();
                        let args: Vec<&Datum> = args.iter().map(|a| &a.0).collect();
                        vec![fixed(op.eval(&args)?)]
                    }
                    Expression::Guard(condition, _) => match known(condition).0 {
                        Datum::Bool(true) => Vec::new(),
                        _ => return None,
                    },
                    Expression::Push(tape, args) => {
                        kept += args.len();
                        tapes[*tape as usize].push(args.iter().map(known).collect());
                        Vec::new()
                    }
                    Expression::Pop(tape) => tapes[*tape as usize].pop().expect("a record"),
                };
                for (&id, known) in i.results.iter().zip(results) {
                    env.insert(id, known);
                }
            }
            let next: &Target = match &here.terminator {
                Terminator::Return(results) => {
                    let results = results.iter().map(|id| env[id].clone()).collect();
                    return Some(Unrolled {
                        builder,
                        parameters,
                        results,
                        kept,
                    });
                }
                Terminator::Leave(_) => return None,
                Terminator::Jump(to) => to,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                } => match env[condition].0.item().expect("one number") != 0.0 {
                    true => then,
                    false => otherwise,
                },
                Terminator::Switch { value, targets } => match env[value].0 {
                    Datum::Int(k) => &targets[k as usize],
                    _ => panic!("a switch is on an integer"),
                },
            };
            incoming.extend(next.args.iter().map(|id| env[id].clone()));
            block = next.block;
        }
    }

    /// The gradients, by all parameters, of the results' elements times those of cotangents, summed:
    /// one cotangent for each result that can have one. `None` where nothing depends on one.
    pub fn gradients(self, cotangents: &[Datum]) -> Vec<Option<Array>> {
        let builder = self.builder;
        let apply =
            |op: OpRef, args: &[ValueId]| builder.try_apply(op, args).expect("fitting types");
        let mut cotangents = cotangents.iter();
        let mut total: Option<ValueId> = None;
        for (value, name) in &self.results {
            if !value.kind().is_differentiable() {
                continue;
            }
            let cotangent = cotangents.next().expect("one for each result").clone();
            let name = name.expect("an array has a name");
            let axes = (0..value.array().expect("an array").shape().len()).collect();
            let product = apply(
                OpRef::Static(&rules::Mul),
                &[name, builder.literal(cotangent)],
            );
            let keepdims = false;
            let part = apply(OpRef::new(rules::Sum { axes, keepdims }), &[product]);
            total = Some(match total {
                None => part,
                Some(sum) => apply(OpRef::Static(&rules::Add), &[sum, part]),
            });
        }
        let Some(total) = total else {
            return vec![None; self.parameters.len()];
        };
        builder.terminate(Terminator::Return(vec![total]));
        let function = builder.finish("unrolled").expect("well formed");
        let wrt: Vec<ValueId> = self.parameters.iter().map(|p| p.0).collect();
        let found = adjoint(&function, &wrt).expect("straight code");
        let args: Vec<Datum> = self.parameters.into_iter().map(|p| p.1).collect();
        let run = interpret(&found.function, &args, usize::MAX).expect("it runs");
        let results = run.arrays().expect("arrays");
        let gradients = found.gradients.iter();
        gradients.map(|k| Some(results[(*k)?].clone())).collect()
    }

    /// The tangents of the results that can have one, for a tangent of each parameter. `None` where a
    /// result does not move.
    pub fn tangents(self, moved: &[Datum]) -> Vec<Option<Array>> {
        let results = self.results.iter();
        let moving = results.filter(|(value, _)| value.kind().is_differentiable());
        let names: Vec<ValueId> = moving.filter_map(|(_, name)| *name).collect();
        self.builder.terminate(Terminator::Return(names));
        let function = self.builder.finish("unrolled").expect("well formed");
        let wrt: Vec<ValueId> = self.parameters.iter().map(|p| p.0).collect();
        let found = tangent(&function, &wrt).expect("straight code");
        let mut args: Vec<Datum> = self.parameters.into_iter().map(|p| p.1).collect();
        args.extend(moved.iter().cloned());
        let run = interpret(&found.function, &args, usize::MAX).expect("it runs");
        let results = run.arrays().expect("arrays");
        let tangents = found.tangents.iter();
        tangents.map(|k| Some(results[(*k)?].clone())).collect()
    }
}
