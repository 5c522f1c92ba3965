//! The record that a training run returns, and what its observer answers after each epoch.

/// The record of a run, one entry an epoch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// The loss summed over all batches of the epoch, each taken just before its update.
    pub loss: Vec<f64>,
    /// Wall-clock seconds, shuffling and sampling included.
    pub seconds: Vec<f64>,
    /// Samples in an epoch.
    pub samples: usize,
}

impl History {
    /// Samples per second over the whole run; 0 before the first epoch has ended.
    pub fn samples_per_second(&self) -> f64 {
        let total: f64 = self.seconds.iter().sum();
        if total > 0.0 {
            (self.samples * self.seconds.len()) as f64 / total
        } else {
            0.0
        }
    }
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Run the next epoch.
    Continue,
    /// End here, as after the last epoch.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_that_of_all_epochs() {
        let mut history = History {
            samples: 600,
            ..History::default()
        };
        assert_eq!(history.samples_per_second(), 0.0);
        history.seconds = vec![2.0, 1.0];
        assert_eq!(history.samples_per_second(), 400.0);
    }
}
