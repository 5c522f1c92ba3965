//! Bayesian personalised ranking written by hand: what the library is held against.
//!
//! One sample at a time, stochastic gradient descent on plain slices, one thread, no
//! mini-batches and no graph: for each interaction, in shuffled order, an item is
//! drawn uniformly, and `-ln sigmoid(⟨u, i⟩ + b_i - ⟨u, j⟩ - b_j)` goes down its
//! gradient (Rendle et al., *BPR: Bayesian personalized ranking from implicit
//! feedback*, 2009; no regularisation). It is as fast as we know how to write it: rows
//! of constant width aligned to cache lines, `⟨u, i - j⟩` as one dot product, rows kept
//! in registers from there to the update, an instruction set chosen once an epoch,
//! interactions shuffled as pairs so that they are read in sequence.
//!
//! It comes in two forms. [`Whole`] does the library's work: it also sums the loss, and
//! its functions are exact to the last bits; the two share what they can. [`Bare`]
//! takes the steps alone, by a sigmoid of few bits: what is left if nobody looks.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::simd::VectorMath;

use super::interactions::Interactions;

/// What is computed from a sample's margin, the difference of its two scores.
pub trait Margin: Default {
    /// `sigmoid(-x)`; notes the margin if losses are asked for.
    fn slope(&mut self, x: f32) -> f32;
    /// The sum of the losses `-ln sigmoid(x)` of the margins noted.
    fn loss(self) -> f64;
}

/// Slope and loss, exact to the last bits. Losses are taken of many margins at a time, for
/// nothing waits for them.
pub struct Whole {
    margins: [f32; 128],
    count: usize,
    sum: f64,
}

impl Default for Whole {
    fn default() -> Self {
        Whole {
            margins: [0.0; 128],
            count: 0,
            sum: 0.0,
        }
    }
}

impl Margin for Whole {
    #[inline(always)]
    fn slope(&mut self, x: f32) -> f32 {
        self.margins[self.count] = x;
        self.count += 1;
        if self.count == self.margins.len() {
            let losses = self.margins.map(|x| -x.v_log_sigmoid());
            self.sum += f64::from(wyrmling::simd::sum(&losses));
            self.count = 0;
        }
        (-x).v_sigmoid()
    }
    fn loss(self) -> f64 {
        let rest = &self.margins[..self.count];
        self.sum
            - rest
                .iter()
                .map(|x| f64::from(x.v_log_sigmoid()))
                .sum::<f64>()
    }
}

/// The slope alone, within 3·10⁻⁶.
#[derive(Default)]
pub struct Bare;

impl Margin for Bare {
    #[inline(always)]
    fn slope(&mut self, x: f32) -> f32 {
        1.0 / (1.0 + exp_few(x))
    }
    fn loss(self) -> f64 {
        0.0
    }
}

/// `e^x` within 3·10⁻⁶ of its size for `|x| ≤ 30`, and that of ±30 beyond, where the
/// sigmoid is 0 or 1 to 10⁻¹³. It is 2 to the integer nearest to `x / ln 2` times
/// Taylor's polynomial for the rest, in few and fused steps: an update waits for it.
#[inline(always)]
fn exp_few(x: f32) -> f32 {
    use std::f32::consts::{LN_2, LOG2_E};
    /// Adding this rounds to an integer, which the low bits then hold.
    const ROUND: f32 = 1.5 * (1 << 23) as f32;
    const C: [f32; 6] = {
        let l = LN_2;
        let (l2, l3) = (l * l, l * l * l);
        [1.0, l, l2 / 2.0, l3 / 6.0, l2 * l2 / 24.0, l2 * l3 / 120.0]
    };
    let x = x.clamp(-30.0, 30.0);
    let rounded = x.mul_add(LOG2_E, ROUND);
    let r = x.mul_add(LOG2_E, ROUND - rounded);
    let r2 = r * r;
    let low = C[1].mul_add(r, C[0]);
    let middle = C[3].mul_add(r, C[2]);
    let high = C[5].mul_add(r, C[4]);
    let fraction = r2.mul_add(r2.mul_add(high, middle), low);
    f32::from_bits(fraction.to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// The factors of one user or item.
#[derive(Clone)]
#[repr(align(64))]
struct Row<const WIDTH: usize>([f32; WIDTH]);

/// Factors of users and items, and the items' biases.
pub struct Model<const WIDTH: usize> {
    users: Vec<Row<WIDTH>>,
    items: Vec<Row<WIDTH>>,
    bias: Vec<f32>,
    rng: Xoshiro256PlusPlus,
}

impl<const WIDTH: usize> Model<WIDTH> {
    /// Factors at random within ±0.1, biases 0.
    pub fn new(data: &Interactions, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut rows = |count| {
            let mut factor = || ((rng.next_u64() >> 40) as f32 / (1 << 23) as f32 - 1.0) * 0.1;
            (0..count)
                .map(|_| Row(std::array::from_fn(|_| factor())))
                .collect()
        };
        let (users, items) = (rows(data.users), rows(data.items));
        Model {
            users,
            items,
            bias: vec![0.0; data.items],
            rng,
        }
    }

    /// Shuffles the interactions and takes one step on each; returns the sum of the losses
    /// before each step, 0 if `S` does not compute them.
    pub fn epoch<S: Margin>(&mut self, pairs: &mut [(u32, u32)], rate: f32) -> f64 {
        #[cfg(target_arch = "x86_64")]
        {
            use wyrmling::simd::Isa;
            match Isa::active() {
                // SAFETY: `Isa::active` has found these features in the CPU.
                Isa::Avx512 => return unsafe { self.epoch_avx512::<S>(pairs, rate) },
                // SAFETY: as above.
                Isa::Avx2 => return unsafe { self.epoch_avx2::<S>(pairs, rate) },
                Isa::Scalar => {}
            }
        }
        let mut margin = S::default();
        self.each_sample(pairs, |user, positive, negative, bias| {
            let (user, positive, negative) = (&mut user.0, &mut positive.0, &mut negative.0);
            let mut lanes = [0.0; 8];
            for k in 0..WIDTH {
                lanes[k % 8] += user[k] * (positive[k] - negative[k]);
            }
            let step = rate * margin.slope(lanes.iter().sum::<f32>() + bias);
            for k in 0..WIDTH {
                let (u, i, j) = (user[k], positive[k], negative[k]);
                user[k] = u + step * (i - j);
                positive[k] = i + step * u;
                negative[k] = j - step * u;
            }
            step
        });
        margin.loss()
    }

    /// Shuffles the interactions and gives the rows of each, with those of an item
    /// drawn at random, to `step`, which updates them and returns the step of the
    /// biases.
    #[inline(always)]
    fn each_sample(
        &mut self,
        pairs: &mut [(u32, u32)],
        mut step: impl FnMut(&mut Row<WIDTH>, &mut Row<WIDTH>, &mut Row<WIDTH>, f32) -> f32,
    ) {
        let Model {
            users,
            items,
            bias,
            rng,
        } = self;
        let mut rng = rng.clone();
        let mut below = |n: usize| ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize;
        for last in (1..pairs.len()).rev() {
            pairs.swap(last, below(last + 1));
        }
        for &(user, positive) in &*pairs {
            let (user, positive, negative) = (user as usize, positive as usize, below(items.len()));
            // An item against itself has no gradient.
            if let Ok([i, j]) = items.get_disjoint_mut([positive, negative]) {
                let step = step(&mut users[user], i, j, bias[positive] - bias[negative]);
                bias[positive] += step;
                bias[negative] -= step;
            }
        }
        self.rng = rng;
    }

    /// The mean loss over the interactions, each against one random item.
    pub fn loss(&mut self, pairs: &[(u32, u32)]) -> f64 {
        let dot = |a: &Row<WIDTH>, b: &Row<WIDTH>| wyrmling::simd::dot(&a.0, &b.0);
        let mut total = 0.0;
        for &(user, positive) in pairs {
            let negative = self.rng.next_u64() as usize % self.items.len();
            let (user, positive) = (&self.users[user as usize], positive as usize);
            let score = |item: usize| dot(user, &self.items[item]) + self.bias[item];
            total -= f64::from(score(positive) - score(negative)).v_log_sigmoid();
        }
        total / pairs.len() as f64
    }
}

/// An epoch for one instruction set.
#[cfg(target_arch = "x86_64")]
macro_rules! epoch {
    (
        $name:ident, $features:literal, $lanes:literal, $zero:ident, $load:ident, $store:ident,
        $splat:ident, $sub:ident, $mul_add:ident, $neg_mul_add:ident, $sum:expr
    ) => {
        impl<const WIDTH: usize> Model<WIDTH> {
            #[target_feature(enable = $features)]
            fn $name<S: Margin>(&mut self, pairs: &mut [(u32, u32)], rate: f32) -> f64 {
                use std::arch::x86_64::*;
                const { assert!(WIDTH % $lanes == 0) };
                let mut margin = S::default();
                self.each_sample(pairs, |user, positive, negative, bias| {
                    let user = user.0.as_mut_ptr();
                    let positive = positive.0.as_mut_ptr();
                    let negative = negative.0.as_mut_ptr();
                    // SAFETY: the features are enabled, and `k` is at least a vector
                    // before the end of the three rows, which are borrowed mutably and
                    // hence apart.
                    unsafe {
                        let mut sum = $zero();
                        for k in (0..WIDTH).step_by($lanes) {
                            let apart = $sub($load(positive.add(k)), $load(negative.add(k)));
                            sum = $mul_add($load(user.add(k)), apart, sum);
                        }
                        let step = rate * margin.slope($sum(sum) + bias);
                        let steps = $splat(step);
                        for k in (0..WIDTH).step_by($lanes) {
                            let (u, i, j) = (
                                $load(user.add(k)),
                                $load(positive.add(k)),
                                $load(negative.add(k)),
                            );
                            $store(user.add(k), $mul_add(steps, $sub(i, j), u));
                            $store(positive.add(k), $mul_add(steps, u, i));
                            $store(negative.add(k), $neg_mul_add(steps, u, j));
                        }
                        step
                    }
                });
                margin.loss()
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
epoch!(
    epoch_avx512,
    "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma",
    16,
    _mm512_setzero_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    _mm512_sub_ps,
    _mm512_fmadd_ps,
    _mm512_fnmadd_ps,
    _mm512_reduce_add_ps
);

#[cfg(target_arch = "x86_64")]
epoch!(
    epoch_avx2,
    "avx2,fma",
    8,
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_sub_ps,
    _mm256_fmadd_ps,
    _mm256_fnmadd_ps,
    |x| {
        let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
        let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
        _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
    }
);
