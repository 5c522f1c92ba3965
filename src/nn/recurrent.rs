//! Layers over sequences: what a state becomes when a sequence goes on by one vector.
//!
//! Vectors have shape (d,), or (n, d) for n sequences at once; states (h,) or (n, h). The expression grows
//! with each step, so what is between steps is boxed. The products of all gates are one, with weights
//! side by side: a long product takes less than several short ones.

use rand::Rng;

use super::uniform;
use crate::array::{Array, Dense, show_shape};
use crate::error::{Error, Result};
use crate::graph::{Constant, Parameter, Variable, ops};
use crate::rules::{self, SliceItem};

/// Weights of a vector and of the state, for so many parts side by side, and what is added.
#[derive(Debug, Clone)]
struct GateWeights {
    of_vector: Parameter,
    of_state: Parameter,
    bias: Parameter,
    units: usize,
}

impl GateWeights {
    /// Numbers within `1 / sqrt(units)`, and a bias that is 1 in part `ones`, if there is one, else 0.
    fn new(
        [inputs, units, parts]: [usize; 3],
        ones: Option<usize>,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        if inputs == 0 || units == 0 {
            return Err(Error::Value(format!(
                "a layer of {units} units over {inputs} inputs, expected at least one of each"
            )));
        }
        let too_large = || Error::Shape(format!("a layer of {units} units is too large"));
        let columns = units.checked_mul(parts).ok_or_else(too_large)?;
        let bound = 1.0 / (units as f64).sqrt();
        let mut matrix = |rows| uniform(&[rows, columns], bound, rng);
        let (of_vector, of_state) = (matrix(inputs)?, matrix(units)?);
        let bias = (0..columns).map(|k| f32::from(u8::from(ones == Some(k / units))));
        Ok(GateWeights {
            of_vector: Parameter::new(of_vector),
            of_state: Parameter::new(of_state),
            bias: Parameter::new(Dense::new(&[columns], bias.collect())?),
            units,
        })
    }

    /// Weights on parameters of `layer`, and for how many parts they are: one of `parts`.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit each other.
    fn on(layer: &str, parameters: [Parameter; 3], parts: &[usize]) -> Result<(Self, usize)> {
        let shapes = parameters
            .each_ref()
            .map(|p| &p.param().table().ty().shape[..]);
        if let [&[inputs, columns], &[units, of_state], &[of_bias]] = shapes
            && inputs > 0
            && units > 0
            && (columns, columns) == (of_state, of_bias)
            && let Some(&parts) = parts
                .iter()
                .find(|&&parts| units.checked_mul(parts) == Some(columns))
        {
            let [of_vector, of_state, bias] = parameters;
            let weights = GateWeights {
                of_vector,
                of_state,
                bias,
                units,
            };
            return Ok((weights, parts));
        }
        let parts: Vec<String> = parts.iter().map(|parts| format!("{parts} h")).collect();
        Err(Error::Shape(format!(
            "parameters of {layer}: expected shapes (d, n), (h, n) and (n,), where n is {}, got {}",
            parts.join(" or "),
            shapes.map(show_shape).join(", ")
        )))
    }

    fn of_vector(&self, vector: &Variable) -> Result<Variable> {
        let product = ops::matmul(vector, &self.of_vector.clone().boxed())?;
        add(&product, &self.bias.clone().boxed())
    }

    fn of_state(&self, state: &Variable) -> Result<Variable> {
        ops::matmul(state, &self.of_state.clone().boxed())
    }

    /// What a vector and the state before it, if there is one, come to.
    fn of_both(&self, vector: &Variable, state: Option<&Variable>) -> Result<Variable> {
        let given = self.of_vector(vector)?;
        match state {
            None => Ok(given),
            Some(state) => add(&given, &self.of_state(state)?),
        }
    }

    /// Parts of what the weights give, from part `first` to before part `end`.
    fn parts(&self, all: &Variable, first: usize, end: usize) -> Result<Variable> {
        let whole = SliceItem::Range {
            start: None,
            stop: None,
            step: 1,
        };
        let part = SliceItem::Range {
            start: Some((first * self.units) as i64),
            stop: Some((end * self.units) as i64),
            step: 1,
        };
        let mut items = vec![whole; all.ty()?.ndim() - 1];
        items.push(part);
        ops::slice(all, items)
    }

    fn parameters(&self) -> [&Parameter; 3] {
        [&self.of_vector, &self.of_state, &self.bias]
    }
}

fn add(x: &Variable, y: &Variable) -> Result<Variable> {
    ops::binary(&rules::Add, x, y)
}

fn times(x: &Variable, y: &Variable) -> Result<Variable> {
    ops::binary(&rules::Mul, x, y)
}

/// `1 - x`.
fn rest(x: &Variable) -> Result<Variable> {
    let one = Constant::new(Array::scalar(x.dtype(), 1.0)).boxed();
    ops::binary(&rules::Sub, &one, x)
}

/// A long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000).
///
/// `i, f, o, c` are the input, forget and output gates and the new content; the memory becomes
/// `f memory + i c`, the state `o tanh(memory)`.
#[derive(Debug, Clone)]
pub struct Lstm {
    weights: GateWeights,
    coupled: bool,
}

/// What an [`Lstm`] hands on.
#[derive(Debug, Clone)]
pub struct LstmState {
    /// What the layer shows.
    pub state: Variable,
    /// What it keeps.
    pub memory: Variable,
}

impl Lstm {
    /// A layer whose forget gate is open at first.
    ///
    /// # Errors
    /// [`Error::Value`] if a number is 0, [`Error::Shape`] or [`Error::Memory`] if the layer is too large.
    pub fn new(inputs: usize, units: usize, rng: &mut impl Rng) -> Result<Self> {
        Ok(Lstm {
            weights: GateWeights::new([inputs, units, 4], Some(1), rng)?,
            coupled: false,
        })
    }

    /// A layer whose forget gate is `1 - i`, so that it forgets as much as it learns (Greff et al. 2017).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn coupled(inputs: usize, units: usize, rng: &mut impl Rng) -> Result<Self> {
        Ok(Lstm {
            weights: GateWeights::new([inputs, units, 3], None, rng)?,
            coupled: true,
        })
    }

    /// A layer on parameters such as [`parameters`](Self::parameters) gives. These may be on
    /// [shared](Parameter::shared) tables, so that each worker of [`parallel`](crate::train::parallel()) has a
    /// layer of its own over the same numbers. It is coupled if there are three parts and not four.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rand::SeedableRng;
    /// use wyrmling::nn::Lstm;
    /// use wyrmling::optim::Optimizer;
    /// use wyrmling::{Input, Parameter, train};
    ///
    /// let lstm = Lstm::new(1, 4, &mut rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1))?;
    /// let tables = lstm.parameters().map(|parameter| Arc::clone(parameter.param().table()));
    /// let losses = train::parallel(2, 1, &tables, &Optimizer::adagrad(0.1)?, |worker| {
    ///     let own = Lstm::from_parameters(tables.clone().map(Parameter::shared))?;
    ///     let inputs = [1.0_f32, 2.0].map(|x| Input::new(vec![x]).boxed());
    ///     let loss = (own.states(inputs)?[1].clone() - 0.5).square().sum();
    ///     let mut trainer = worker.trainer(&loss)?;
    ///     (0..500).map(|_| trainer.step()).last().unwrap()
    /// })?;
    /// assert!(losses.iter().all(|&loss| loss < 1e-3));
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit each other.
    pub fn from_parameters(parameters: [Parameter; 3]) -> Result<Self> {
        let (weights, parts) = GateWeights::on("an LSTM", parameters, &[4, 3])?;
        Ok(Lstm {
            weights,
            coupled: parts == 3,
        })
    }

    /// Weights of vectors, of shape (d, 4 h) for `i, f, o, c` side by side, of states, (h, 4 h), and what
    /// is added, (4 h,); `i, o, c` if coupled.
    pub fn parameters(&self) -> [&Parameter; 3] {
        self.weights.parameters()
    }

    /// The state after one more vector; a sequence begins with none, which stands for zeros.
    ///
    /// # Errors
    /// [`Error::Shape`] if the arrays do not fit, [`Error::Type`] if they hold indices.
    pub fn step(&self, vector: &Variable, before: Option<&LstmState>) -> Result<LstmState> {
        let weights = &self.weights;
        let all = weights.of_both(vector, before.map(|before| &before.state))?;
        let gates = if self.coupled { 2 } else { 3 };
        let opened = weights.parts(&all, 0, gates)?.sigmoid().boxed();
        let new = weights.parts(&all, gates, gates + 1)?.tanh().boxed();
        let gate = |k: usize| weights.parts(&opened, k, k + 1);
        let enter = gate(0)?;
        let mut memory = times(&enter, &new)?;
        if let Some(before) = before {
            let keep = match self.coupled {
                true => rest(&enter)?,
                false => gate(1)?,
            };
            memory = add(&times(&keep, &before.memory)?, &memory)?;
        }
        let state = times(&gate(gates - 1)?, &memory.clone().tanh().boxed())?;
        Ok(LstmState { state, memory })
    }

    /// The state after each vector of a sequence.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn states(&self, vectors: impl IntoIterator<Item = Variable>) -> Result<Vec<Variable>> {
        let mut last: Option<LstmState> = None;
        let state = |vector: Variable| {
            let after = self.step(&vector, last.as_ref())?;
            Ok(last.insert(after).state.clone())
        };
        vectors.into_iter().map(state).collect()
    }
}

/// A gated recurrent unit (Cho et al. 2014; the reset gate after the product, as in cuDNN).
///
/// `r, z, n` are the reset gate, the update gate and the new content, and the state becomes
/// `(1 - z) n + z state`.
#[derive(Debug, Clone)]
pub struct Gru {
    weights: GateWeights,
}

impl Gru {
    /// A layer whose bias is 0.
    ///
    /// # Errors
    /// [`Error::Value`] if a number is 0, [`Error::Shape`] or [`Error::Memory`] if the layer is too large.
    pub fn new(inputs: usize, units: usize, rng: &mut impl Rng) -> Result<Self> {
        Ok(Gru {
            weights: GateWeights::new([inputs, units, 3], None, rng)?,
        })
    }

    /// A layer on parameters such as [`parameters`](Self::parameters) gives, which may be on shared tables:
    /// [`Lstm::from_parameters`].
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not fit each other.
    pub fn from_parameters(parameters: [Parameter; 3]) -> Result<Self> {
        let (weights, _) = GateWeights::on("a GRU", parameters, &[3])?;
        Ok(Gru { weights })
    }

    /// Weights of vectors, of shape (d, 3 h) for `r, z, n` side by side, of states, (h, 3 h), and what is
    /// added, (3 h,).
    pub fn parameters(&self) -> [&Parameter; 3] {
        self.weights.parameters()
    }

    /// The state after one more vector; a sequence begins with none, which stands for zeros.
    ///
    /// # Errors
    /// [`Error::Shape`] if the arrays do not fit, [`Error::Type`] if they hold indices.
    pub fn step(&self, vector: &Variable, before: Option<&Variable>) -> Result<Variable> {
        let weights = &self.weights;
        let given = weights.of_vector(vector)?;
        let Some(state) = before else {
            let update = weights.parts(&given, 1, 2)?.sigmoid().boxed();
            return times(
                &rest(&update)?,
                &weights.parts(&given, 2, 3)?.tanh().boxed(),
            );
        };
        let own = weights.of_state(state)?;
        let both = |k: usize| -> Result<Variable> {
            add(
                &weights.parts(&given, k, k + 1)?,
                &weights.parts(&own, k, k + 1)?,
            )
        };
        let (reset, update) = (both(0)?.sigmoid().boxed(), both(1)?.sigmoid().boxed());
        let of_state = times(&reset, &weights.parts(&own, 2, 3)?)?;
        let new = add(&weights.parts(&given, 2, 3)?, &of_state)?
            .tanh()
            .boxed();
        add(&times(&rest(&update)?, &new)?, &times(&update, state)?)
    }

    /// The state after each vector of a sequence.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn states(&self, vectors: impl IntoIterator<Item = Variable>) -> Result<Vec<Variable>> {
        let mut last: Option<Variable> = None;
        let state = |vector: Variable| {
            let after = self.step(&vector, last.as_ref())?;
            Ok(last.insert(after).clone())
        };
        vectors.into_iter().map(state).collect()
    }
}
