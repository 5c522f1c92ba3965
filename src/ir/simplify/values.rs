//! Instructions that compute what is known, or what is there already.
//!
//! One pass folds numbers, removes operators that do nothing for the types at hand, and shares common
//! subexpressions. Blocks are gone through along the dominator tree, so that what an instruction is
//! compared with was computed whenever it runs. A condition is known where a branch or a guard on it
//! has been passed.
//!
//! Floating-point results are not reassociated: only exact identities are used. An operator that can
//! fail goes only where it surely does not: where the same one was computed before, or by an identity.

use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use smallvec::SmallVec;

use super::known::Known;
use super::lengths::Lengths;
use super::repeated::Repeated;
use super::scalars::{self, Same};
use crate::array::{Array, Type, View};
use crate::error::Result;
use crate::interrupt::Poller;
use crate::ir::cfg::Cfg;
use crate::ir::function::{
    Block, Expression, Function, Instruction, Operands, Terminator, ValueId,
};
use crate::ir::kind::{Datum, ValueKind};
use crate::ir::scalar::ScalarOperator;
use crate::rules::{Form, Internal, Kernel, Mul, Neg, OpRef, is_one_of, result_type};

/// About how many nanoseconds an instruction takes.
const VALUE: usize = 500;

/// The numbers of the first and the second derivative of a power by its base.
const FIRST_BY_X: i32 = 1;
const SECOND_BY_X: i32 = 3;

/// An operator of either sort.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Computation {
    Rule(OpRef),
    Scalar(ScalarOperator),
}

/// What becomes of an instruction.
enum Fate {
    Stays,
    /// Another value stands for its result, or it does nothing.
    Goes,
    /// It is a single value, of several blocks the first one's.
    Constant,
    /// The function is always left there.
    Leaves(u32),
}

/// What is known about values.
struct Simplifier<'f> {
    kinds: &'f [ValueKind],
    lengths: Lengths,
    /// Of several blocks.
    graph: Option<&'f Cfg>,
    /// The block that is gone through.
    here: usize,
    /// The value that stands for each value.
    alias: Vec<ValueId>,
    /// Values of one element that is known now.
    known: Vec<Option<Known>>,
    /// Values that are known in a block, and in those that it dominates, alone.
    facts: Vec<(usize, ValueId)>,
    repeated: Repeated,
    /// For a value that is -x, the value x.
    negated: Vec<Option<ValueId>>,
    /// For a value that is minus a product or quotient, these.
    opposites: HashMap<ValueId, (OpRef, Operands)>,
    /// For a value that a scalar operator made of one operand, these two.
    converted: HashMap<ValueId, (ScalarOperator, ValueId)>,
    /// Applied operators with their operands, and the block where they are.
    seen: HashMap<(Computation, Operands), (ValueId, usize)>,
    seen_constants: HashMap<(ValueKind, Known), ValueId>,
}

impl Simplifier<'_> {
    fn ty(&self, id: ValueId) -> &Type {
        match &self.kinds[id as usize] {
            ValueKind::Array(ty) => ty,
            other => {
                unreachable!("an operator of the rule table was given a value of kind {other}")
            }
        }
    }

    fn known(&self, id: ValueId) -> Option<Known> {
        self.known[id as usize]
    }

    /// What is known of a condition, or of what it is the opposite of.
    fn condition(&self, id: ValueId) -> Option<Known> {
        let opposite = || match *self.converted.get(&id)? {
            (ScalarOperator::BoolNot, x) => Some(Known::Bool(!self.known(x)?.holds())),
            _ => None,
        };
        self.known(id).or_else(opposite)
    }

    /// What a value is called now: copies name a value for which another may stand.
    fn now(&self, id: ValueId) -> ValueId {
        self.alias[self.alias[id as usize] as usize]
    }

    fn stand(&mut self, result: ValueId, same: ValueId) -> Fate {
        self.alias[result as usize] = same;
        Fate::Goes
    }

    /// A value equal to `op(args)`, if the operator does nothing.
    fn identity(&self, op: &OpRef, args: &[ValueId], ty: &Type) -> Option<ValueId> {
        let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| self.ty(a)).collect();
        let sure = self.lengths.are_facts() || types.iter().all(|ty| ty.ndim() == 0);
        if sure && types.first().is_some_and(|first| *first == ty) && op.aliases(&types, ty) {
            return Some(args[0]);
        }
        // The number that leaves the other operand as it is.
        let neutral = match op.form() {
            Form::Product => [(0, 1, 1.0), (1, 0, 1.0)],
            Form::Quotient => [(0, 1, 1.0); 2],
            Form::Difference => [(0, 1, 0.0); 2],
            Form::Sum => [(0, 1, -0.0), (1, 0, -0.0)],
            _ => return None,
        };
        let [first, second] = neutral.map(|(kept, k, neutral)| {
            let number = || self.known(args[k]).is_some_and(|x| x.is_number(neutral));
            (args.len() == 2 && number() && self.keeps(kept, &types, ty)).then(|| args[kept])
        });
        first.or(second)
    }

    /// Whether an elementwise result has the shape of an operand.
    fn keeps(&self, kept: usize, types: &[&Type], ty: &Type) -> bool {
        let others = types.iter().enumerate().filter(|(k, _)| *k != kept);
        let others = others.map(|(_, ty)| *ty);
        self.lengths.is_shape_of(types[kept], others, ty)
    }

    /// The value of an operator on known numbers.
    fn fold(&self, op: &OpRef, args: &[ValueId], ty: &Type) -> Option<Array> {
        if !self.lengths.is_single(ty) || !ty.dtype.is_real() {
            return None;
        }
        let mut known: SmallVec<[Array; 3]> = SmallVec::new();
        for (k, &a) in args.iter().enumerate() {
            known.push(match self.known(a) {
                Some(Known::Number(x)) => Array::full(self.ty(a), x),
                // Only the shape is read; do not make a large array for it.
                _ if !op.reads(k) && (self.lengths.are_facts() || self.ty(a).ndim() == 0) => {
                    Array::scalar(self.ty(a).dtype, 0.0)
                }
                _ => return None,
            });
        }
        let types: SmallVec<[&Type; 3]> = args.iter().map(|&a| self.ty(a)).collect();
        // In a function that was put together by hand nobody has compared them.
        if result_type(&**op, &types).ok()? != *ty {
            return None;
        }
        let shapes = types.iter().map(|ty| &ty.shape[..]);
        let views = known.iter().zip(shapes);
        let views: SmallVec<[View<'_>; 3]> = views
            .map(|(a, shape)| View::new(shape, a.view().data))
            .collect();
        let mut out = Array::full(ty, 0.0);
        let written = op.eval(&views, out.view_mut()?);
        written.is_ok().then_some(out)
    }

    /// An operator of the rule table.
    fn apply(&mut self, i: &mut Instruction) -> Fate {
        let result = i.result();
        let Expression::Apply(op, args) = &mut i.expression else {
            return Fate::Stays;
        };
        let kinds = self.kinds;
        let ValueKind::Array(ty) = &kinds[result as usize] else {
            return Fate::Stays;
        };
        let exact = self.lengths.are_facts();
        if exact && ty.ndim() > 0 && Kernel::of(&**op, ty.dtype, args.len()).is_some() {
            self.repeated.read_once(args, ty, |id| self.ty(id));
        }
        if let Some(same) = self.identity(op, args, ty) {
            return self.stand(result, same);
        }
        if let Some(value) = self.fold(op, args, ty) {
            i.expression = Expression::Constant(value.into());
            return self.constant(i);
        }
        // The derivatives of x^2 are 2·x and 2, whatever x is.
        if is_one_of!(op: PowerDerivative)
            && let &[x, two] = args.as_slice()
            && self.known(two).is_some_and(|y| y.is_number(2.0))
            && [x, two, result].map(|id| kinds[id as usize].as_number()) == [Some(ty.dtype); 3]
        {
            match op.definition(Internal) {
                Some((_, FIRST_BY_X)) => *op = OpRef::Static(&Mul),
                Some((_, SECOND_BY_X)) => return self.stand(result, two),
                _ => {}
            }
        }
        if exact
            && op.form() == Form::Product
            && let Some(repeated) =
                self.repeated
                    .product(args, ty, |id| self.ty(id), |id| self.known(id))
        {
            (*op, *args) = repeated;
        }
        // x * -1 is -x, but for the sign of NaN, which programs do not promise.
        if exact && op.form() == Form::Product && args.len() == 2 {
            for (k, other) in [(0, 1), (1, 0)] {
                let minus = self.known(args[k]).is_some_and(|x| x.is_number(-1.0));
                if minus && self.ty(args[other]) == ty {
                    *args = SmallVec::from_slice(&[args[other]]);
                    *op = OpRef::Static(&Neg);
                    break;
                }
            }
        }
        // -(-x) is x, exactly. The types are compared, since an operator of a caller may claim to be a
        // negation.
        if op.form() == Form::Negation
            && args.len() == 1
            && kinds[args[0] as usize] == kinds[result as usize]
        {
            if let Some(x) = self.negated[args[0] as usize] {
                return self.stand(result, x);
            }
            self.negated[result as usize] = Some(args[0]);
            // So -(-x * y) is x * y, and the product before is read no more, if only this read it.
            if let Some((product, factors)) = self.opposites.get(&args[0]) {
                (*op, *args) = (product.clone(), factors.clone());
            }
        }
        if is_one_of!(op: Mul, Div) && (exact || ty.ndim() == 0) {
            for k in 0..args.len() {
                if let Some(x) = self.negated[args[k] as usize] {
                    let mut factors = args.clone();
                    factors[k] = x;
                    self.opposites.insert(result, (op.clone(), factors));
                    break;
                }
            }
        }
        let single = || args.first().is_some_and(|&a| self.ty(a).size() == 1);
        if exact && op.form() == Form::Repeated && single() {
            self.repeated.note(result, op, args);
        }
        let key = (Computation::Rule(op.clone()), Operands::from_slice(args));
        self.share(key, result)
    }

    /// An operator on integers, truth and numbers.
    fn compute(&mut self, i: &mut Instruction) -> Fate {
        let result = i.result();
        let Expression::Compute(op, args, exit) = &mut i.expression else {
            return Fate::Stays;
        };
        *op = scalars::in_order(*op, args);
        let (op, exit) = (*op, *exit);
        let datum = |&a: &ValueId| Some(self.known(a)?.datum(&self.kinds[a as usize]));
        if let Some(data) = args
            .iter()
            .map(datum)
            .collect::<Option<SmallVec<[Datum; 2]>>>()
        {
            let data: SmallVec<[&Datum; 2]> = data.iter().collect();
            match (op.eval(&data), exit) {
                // An array whose kind has another length, seen elsewhere, is computed where it is used.
                (Some(value), _) if value.kind() == self.kinds[result as usize] => {
                    i.expression = Expression::Constant(value);
                    return self.constant(i);
                }
                (Some(_), _) => {}
                (None, Some(exit)) => return Fate::Leaves(exit),
                (None, None) => {}
            }
        }
        let converted = |id| self.converted.get(&id).copied();
        match scalars::identity(op, args, |id| self.known(id), converted) {
            Some(Same::Value(same)) => return self.stand(result, same),
            Some(Same::Constant(known)) => {
                i.expression = Expression::Constant(known.datum(&self.kinds[result as usize]));
                return self.constant(i);
            }
            None => {}
        }
        if let &[x] = args.as_slice() {
            self.converted.insert(result, (op, x));
        }
        let key = (Computation::Scalar(op), Operands::from_slice(args));
        self.share(key, result)
    }

    /// A constant: the first of its value stands for all, if it was met on every way here.
    fn constant(&mut self, i: &Instruction) -> Fate {
        let (result, Expression::Constant(datum)) = (i.result(), &i.expression) else {
            return Fate::Stays;
        };
        let kind = &self.kinds[result as usize];
        if kind.array().is_some_and(|ty| !self.lengths.is_single(ty)) {
            return Fate::Stays;
        }
        let Some(known) = Known::of(datum) else {
            return Fate::Stays;
        };
        if let Some(&same) = self.seen_constants.get(&(kind.clone(), known)) {
            return self.stand(result, same);
        }
        self.seen_constants.insert((kind.clone(), known), result);
        self.known[result as usize] = Some(known);
        Fate::Constant
    }

    /// Lets an earlier result stand for this one, if the same was computed on every way here.
    fn share(&mut self, key: (Computation, Operands), result: ValueId) -> Fate {
        // What an operator says of itself may be wrong, the type is what was computed.
        if let Some(&(same, block)) = self.seen.get(&key)
            && self
                .graph
                .is_none_or(|graph| graph.dominates(block, self.here))
            && self.kinds[same as usize] == self.kinds[result as usize]
        {
            return self.stand(result, same);
        }
        self.seen.insert(key, (result, self.here));
        Fate::Stays
    }

    fn instruction(&mut self, i: &mut Instruction) -> Fate {
        for id in i.expression.operands_mut() {
            *id = self.now(*id);
        }
        match &i.expression {
            Expression::Apply(..) => self.apply(i),
            Expression::Compute(..) => self.compute(i),
            Expression::Constant(_) => self.constant(i),
            &Expression::Guard(condition, exit) => match self.condition(condition) {
                Some(Known::Bool(true)) => Fate::Goes,
                Some(_) => Fate::Leaves(exit),
                None => {
                    self.is_fact(condition, Known::Bool(true));
                    Fate::Stays
                }
            },
            Expression::Push(..) | Expression::Pop(_) => Fate::Stays,
        }
    }

    /// Notes that a value is known from here on.
    fn is_fact(&mut self, mut id: ValueId, mut value: Known) {
        while self.known(id).is_none() {
            self.known[id as usize] = Some(value);
            self.facts.push((self.here, id));
            match (self.converted.get(&id), value) {
                (Some(&(ScalarOperator::BoolNot, x)), Known::Bool(b)) => {
                    (id, value) = (x, Known::Bool(!b));
                }
                _ => return,
            }
        }
    }

    /// Forgets what was known in other parts of the dominator tree, and notes what the only way to
    /// this block says.
    fn enter(&mut self, graph: &Cfg, blocks: &[Block], block: usize) {
        self.here = block;
        while let Some((_, id)) = self.facts.pop_if(|fact| !graph.dominates(fact.0, block)) {
            self.known[id as usize] = None;
        }
        let &[edge] = graph.predecessors(block) else {
            return;
        };
        match &blocks[edge.from].terminator {
            Terminator::Branch { condition, .. } => {
                if self.kinds[*condition as usize] == ValueKind::Bool {
                    self.is_fact(*condition, Known::Bool(edge.slot == 0));
                }
            }
            Terminator::Switch { value, .. } => {
                self.is_fact(*value, Known::Int(edge.slot as i64));
            }
            Terminator::Return(_) | Terminator::Leave(_) | Terminator::Jump(_) => {}
        }
    }

    /// The end of a block. Whether a way from there is known not to be gone.
    fn terminator(&self, terminator: &mut Terminator) -> bool {
        terminator.each_mut(|id| *id = self.now(*id));
        let way = match &*terminator {
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => match self.condition(*condition) {
                Some(known) => Some(if known.holds() { then } else { otherwise }),
                None => None,
            },
            Terminator::Switch { value, targets } => match self.known(*value) {
                Some(Known::Int(i)) => usize::try_from(i).ok().and_then(|i| targets.get(i)),
                _ => None,
            },
            Terminator::Return(_) | Terminator::Leave(_) | Terminator::Jump(_) => None,
        };
        let Some(way) = way.cloned() else {
            return false;
        };
        *terminator = Terminator::Jump(way);
        true
    }
}

/// Goes through a function once; see the [module documentation](self). `alias` names the value that
/// is to stand for each value. `graph` is that of a function of several blocks; single values then
/// are constants of the first one. Whether ways from block to block went.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted), with the function half done.
pub(super) fn simplify_values(
    function: &mut Function,
    lengths: Lengths,
    graph: Option<&Cfg>,
    alias: Vec<ValueId>,
) -> Result<bool> {
    let count = function.kinds.len();
    let applied = function.blocks.iter().map(|b| b.instructions.len()).sum();
    let mut pass = Simplifier {
        kinds: &function.kinds,
        lengths,
        graph,
        here: 0,
        alias,
        known: vec![None; count],
        facts: Vec::new(),
        repeated: Repeated::default(),
        negated: vec![None; count],
        opposites: HashMap::default(),
        converted: HashMap::default(),
        seen: HashMap::with_capacity_and_hasher(applied, FxBuildHasher),
        seen_constants: HashMap::default(),
    };
    let mut constants: Vec<Instruction> = Vec::new();
    let mut decided = false;
    let mut poller = Poller::default();
    for &number in graph.map_or(&[0][..], Cfg::by_dominance) {
        if let Some(graph) = graph {
            pass.enter(graph, &function.blocks, number);
        }
        let block = &mut function.blocks[number];
        let mut kept = Vec::with_capacity(block.instructions.len());
        let mut left = None;
        for mut i in std::mem::take(&mut block.instructions) {
            poller.step(VALUE)?;
            match pass.instruction(&mut i) {
                Fate::Constant if graph.is_some() => constants.push(i),
                Fate::Stays | Fate::Constant => kept.push(i),
                Fate::Goes => {}
                Fate::Leaves(exit) => {
                    left = Some(exit);
                    break;
                }
            }
        }
        block.instructions = kept;
        decided |= match left {
            Some(exit) => {
                block.terminator = Terminator::Leave(exit);
                true
            }
            None => pass.terminator(&mut block.terminator),
        };
    }
    if !constants.is_empty() {
        let first = &mut function.blocks[0].instructions;
        constants.append(first);
        *first = constants;
    }
    Ok(decided)
}
