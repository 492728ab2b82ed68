//! The state behind `svm_log_loss`. Pure.

use crate::base::errors::Failure;
use crate::pg::aggregate::{put, take, State};

/// The sum of -ln(probability of what was) over the rows so far.
#[derive(Default)]
pub struct LogLoss {
    sum: f64,
    rows: u64,
}

impl LogLoss {
    /// Takes a row: the probability given to positive, from 0 to 1, and whether it was. Probabilities
    /// count as at least 2^-52, so that one wrong certainty does not make the loss infinite.
    pub fn add(&mut self, probability: f64, positive: bool) {
        let given = match positive {
            true => probability,
            false => 1.0 - probability,
        };
        self.sum -= given.max(f64::EPSILON).ln();
        self.rows += 1;
    }

    /// The mean; None without rows.
    pub fn mean(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.sum / self.rows as f64)
    }
}

impl State for LogLoss {
    fn merge(&mut self, other: &mut Self) -> Result<(), Failure> {
        self.sum += other.sum;
        self.rows = self.rows.saturating_add(other.rows);
        Ok(())
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        put(out, self.sum.to_bits())?;
        put(out, self.rows)?;
        Ok(())
    }

    fn read(mut bytes: &[u8]) -> Result<Option<Self>, Failure> {
        let numbers = take(&mut bytes).zip(take(&mut bytes));
        Ok(numbers.map(|(sum, rows)| Self {
            sum: f64::from_bits(sum),
            rows,
        }))
    }
}
