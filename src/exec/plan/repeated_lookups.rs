//! Which lookups of a sample are the same one, where a penalty counts each of them once.
//!
//! In a plan they are those that have one value as their index, whose rows are one part of a gradient. In a function
//! with blocks a value is computed wherever it is written, and an index that may be negative is one of two values, so
//! that indices are compared by how they are computed ([`Indices`]); what is computed alike in several turns of a loop
//! is the same if no turn changes it. Two indices that are the same number by chance are two lookups.
//!
//! Limits: two that are chosen alike from the same values, by other conditions, are taken for one where they are the
//! same number.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::error::Result;
use crate::ir::{Datum, Expression, Function, ScalarOperator, ValueId};
use crate::reserve;
use crate::rules::OpRef;

/// How the values of a function are computed.
pub(in crate::exec) struct Indices {
    /// A number for each value: equal ones are computed alike.
    pub numbers: Vec<usize>,
    /// Whether it depends on nothing that a loop goes on with.
    pub same_in_all_turns: Vec<bool>,
}

/// How a value is computed of others, by their numbers.
#[derive(PartialEq, Eq, Hash)]
enum Derivation<'f> {
    Integer(i64),
    Rule(&'f OpRef, SmallVec<[usize; 3]>),
    Scalar(ScalarOperator, SmallVec<[usize; 3]>),
    /// One of these, in rising order.
    Chosen(SmallVec<[usize; 3]>),
}

impl Indices {
    /// Those of a function.
    pub(in crate::exec) fn of(function: &Function) -> Self {
        const UNKNOWN: usize = usize::MAX;
        let mut numbers = vec![UNKNOWN; function.kinds.len()];
        let mut same = vec![false; function.kinds.len()];
        let mut known: FxHashMap<Derivation<'_>, usize> = FxHashMap::default();
        let mut next = 0..;
        let mut supplied: Vec<Vec<SmallVec<[ValueId; 2]>>> = Vec::new();
        for block in &function.blocks {
            supplied.push(vec![SmallVec::new(); block.parameters.len()]);
        }
        for target in function.blocks.iter().flat_map(|b| b.terminator.targets()) {
            for (values, &id) in supplied[target.block].iter_mut().zip(&target.args) {
                values.push(id);
            }
        }
        for (block, supplied) in function.blocks.iter().zip(&supplied) {
            for (&id, values) in block.parameters.iter().zip(supplied) {
                let mut of: SmallVec<[usize; 3]> =
                    values.iter().map(|&v| numbers[v as usize]).collect();
                of.sort_unstable();
                of.dedup();
                // What comes from a block further down, as that of a loop, is not known yet.
                let is_known = !of.contains(&UNKNOWN);
                same[id as usize] = is_known && values.iter().all(|&v| same[v as usize]);
                numbers[id as usize] = match is_known && !of.is_empty() {
                    true => *known
                        .entry(Derivation::Chosen(of))
                        .or_insert_with(|| next.next().unwrap_or(UNKNOWN)),
                    false => next.next().unwrap_or(UNKNOWN),
                };
            }
            for i in &block.instructions {
                let read = i.expression.operands();
                let of = || read.iter().map(|&v| numbers[v as usize]).collect();
                let computed = match &i.expression {
                    Expression::Constant(Datum::Int(n)) => Some(Derivation::Integer(*n)),
                    Expression::Apply(op, _) => Some(Derivation::Rule(op, of())),
                    Expression::Compute(op, ..) => Some(Derivation::Scalar(*op, of())),
                    _ => None,
                };
                let all = read.iter().all(|&v| same[v as usize]);
                let all = all && !matches!(i.expression, Expression::Pop(_));
                let number = match computed {
                    Some(computed) if i.results.len() == 1 => *known
                        .entry(computed)
                        .or_insert_with(|| next.next().unwrap_or(UNKNOWN)),
                    _ => next.next().unwrap_or(UNKNOWN),
                };
                for &id in &i.results {
                    (same[id as usize], numbers[id as usize]) = (all, number);
                }
            }
        }
        Indices {
            numbers,
            same_in_all_turns: same,
        }
    }
}

/// A lookup of a function.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec) struct LookupSite {
    /// Which of the thread's records gets the gradient.
    pub record: usize,
    /// Its number among all of the function.
    pub number: usize,
    /// The number of its index in [`Indices`].
    pub index: usize,
    /// Whether its index depends on the turn of a loop.
    pub turns: bool,
}

/// The lookups of a sample in a table.
#[derive(Debug, Default)]
pub(in crate::exec) struct SeenLookups(FxHashMap<(usize, SmallVec<[u32; 4]>), Repeats>);

/// The lookups by indices that are computed alike and are the same numbers.
#[derive(Debug, Default)]
struct Repeats {
    /// Where the rows begin, of each turn in which they were looked up.
    starts: SmallVec<[usize; 1]>,
    /// How often each site that turns has looked them up.
    turns: SmallVec<[(usize, usize); 2]>,
}

impl SeenLookups {
    /// What comes is of another sample.
    pub(in crate::exec) fn clear(&mut self) {
        self.0.clear();
    }

    /// Where the rows of a lookup begin that was there before; if there was none, those of this one are to begin at
    /// `here`.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub(in crate::exec) fn before(
        &mut self,
        site: LookupSite,
        indices: &[u32],
        here: usize,
    ) -> Result<Option<usize>> {
        let mut key = SmallVec::new();
        reserve::grow(&mut key, indices.len())?;
        key.extend_from_slice(indices);
        reserve::grow(&mut self.0, 1)?;
        let repeats = self.0.entry((site.index, key)).or_default();
        let turn = repeats.turn(site)?;
        if let Some(&start) = repeats.starts.get(turn) {
            return Ok(Some(start));
        }
        reserve::grow(&mut repeats.starts, 1)?;
        repeats.starts.push(here);
        Ok(None)
    }
}

impl Repeats {
    /// How often they were looked up before at a site; 0 if no turn changes its index.
    fn turn(&mut self, site: LookupSite) -> Result<usize> {
        if !site.turns {
            return Ok(0);
        }
        let mut turns = self.turns.iter_mut();
        if let Some((_, count)) = turns.find(|(number, _)| *number == site.number) {
            *count += 1;
            return Ok(*count - 1);
        }
        reserve::grow(&mut self.turns, 1)?;
        self.turns.push((site.number, 1));
        Ok(0)
    }
}
