//! Powers of a number below 1, by table.
//!
//! Adam divides by `1 − βᵗ` for every row it changes, where `t` counts the changes of that
//! row, and a call of `powf` costs more than the rest of the row. Two tables of 256 powers
//! give every power up to 65,535 as a product of two. The first 256 are exactly those of
//! `powf`; the others are one rounding further off. Beyond the tables `powf` is asked.

/// Entries of each table.
const ENTRIES: usize = 256;

/// The powers of one number. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Powers {
    base: f64,
    /// `base` to the power `k`.
    low: Vec<f64>,
    /// `base` to the power `256 k`.
    high: Vec<f64>,
}

impl Powers {
    /// The powers of `base`.
    pub(crate) fn new(base: f64) -> Self {
        let every = |n: usize| (0..ENTRIES).map(|k| base.powf((k * n) as f64)).collect();
        Powers {
            base,
            low: every(1),
            high: every(ENTRIES),
        }
    }

    /// `base` to the power `n`, a whole number.
    #[inline(always)]
    pub(crate) fn of(&self, n: f64) -> f64 {
        let k = n as u32 as usize;
        match self.high.get(k / ENTRIES) {
            Some(high) => self.low[k % ENTRIES] * high,
            None => self.base.powf(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_powf() {
        for base in [0.0, 1e-3, 0.5, 0.9, 0.999, 1.0 - 1e-9] {
            let powers = Powers::new(base);
            for n in (0..1000).chain((1000..80_000).step_by(97)) {
                let n = f64::from(n);
                let (got, want) = (powers.of(n), base.powf(n));
                if n < ENTRIES as f64 {
                    assert_eq!(got, want, "{base} to the power {n}");
                }
                // Numbers below the least normal one have fewer digits.
                let close = 4.0 * f64::EPSILON * want + f64::MIN_POSITIVE;
                assert!((got - want).abs() <= close, "{base} to the power {n}");
            }
        }
    }
}
