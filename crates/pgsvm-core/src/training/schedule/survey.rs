//! How well the final heads fit the rows that they were trained on: all rows, or a sample of many, are evaluated when they have
//! ended. Rows in the cache are evaluated where they lie; of those that stream a sample is kept from the first pass.
//!
//! | bound | for |
//! |---|---|
//! | [`MOST_ROWS`] | time and memory of the ranking: eight bytes a row |
//! | [`MOST_DECISIONS`] | time, of many heads |
//! | [`MOST_WORDS`] | memory of the sample |

use crate::base::memory::filled;
use crate::objective::calibration::Calibration;
use crate::objective::evaluation::Ranking;
use crate::objective::minimized::target_of;
use crate::objective::pairs::Telling;
use crate::objective::plan::Layout;
use crate::objective::report::{Fit, Residuals};
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::rows::visited::{VisitedBatch, VisitedRows};
use crate::simd::{Isa, Real};
use crate::solver::ledger::Ledgers;
use crate::solver::scans::{ScanRows, Scans};
use crate::solver::Solver;
use crate::training::error::TrainError;
use std::iter::once;

/// Rows evaluated, about: a share of them that is 1/2 has a standard error of 0.0028.
const MOST_ROWS: usize = 1 << 15;
const MOST_DECISIONS: usize = 1 << 23;
/// 8 MB.
const MOST_WORDS: usize = 1 << 21;
/// Rows of the sample that are evaluated in a step: a millisecond or two of one head.
const SAMPLE_ROWS_A_STEP: usize = 1 << 10;

/// Which rows are evaluated: those whose number is hashed to less than this, which spreads them evenly and in step with
/// nothing that is periodic.
#[derive(Clone, Copy)]
pub(in crate::training) struct SampleRule(u64);

impl SampleRule {
    /// Of so many rows about so many.
    pub(in crate::training) fn new(rows: usize, wanted: usize) -> Self {
        Self(((wanted as u64) << 32) / rows.max(1) as u64)
    }

    pub(in crate::training) fn has(self, row: usize) -> bool {
        // Fibonacci hashing: 2^32 over the golden ratio
        u64::from((row as u32).wrapping_mul(0x9E37_79B9)) < self.0
    }
}

/// Rows of a classifier of so many heads to evaluate.
fn rows_wanted(rows: usize, heads: usize) -> usize {
    rows.min(MOST_ROWS).min(MOST_DECISIONS / heads.max(1))
}

/// Rows kept from the first pass of those that stream.
pub(in crate::training) struct Sample {
    pick: SampleRule,
    words: Vec<u32>,
    /// How many words there may be.
    room: usize,
}

impl Sample {
    pub(in crate::training) fn new(facts: &Facts, layout: &Layout) -> Self {
        let wanted = rows_wanted(facts.rows, layout.heads());
        Self::of(facts, wanted, MOST_WORDS)
    }

    /// Of about so many rows, of about so many words together at most.
    pub(in crate::training) fn of(facts: &Facts, wanted: usize, words: usize) -> Self {
        let room = words / facts.stored_row_words.max(1);
        Self {
            pick: SampleRule::new(facts.rows, wanted.min(room)),
            words: Vec::new(),
            room: words + words / 8,
        }
    }

    /// The rows, one behind the other.
    pub(in crate::training) fn into_words(self) -> Vec<u32> {
        self.words
    }

    /// Keeps those of a batch's rows that are picked, as far as there is room and memory.
    pub(in crate::training) fn take(&mut self, words: &[u32], dense: usize) {
        for row in Batch::new(words, dense) {
            let fits = self.words.len() + row.values() <= self.room;
            if self.pick.has(row.ordinal()) && fits && self.words.try_reserve(row.values()).is_ok()
            {
                self.words.extend_from_slice(row.words());
            }
        }
    }

    /// Has some rows taken in, from this place among the words on, which moves behind them; true behind the last.
    pub(in crate::training) fn read<T: Real>(
        &self,
        from: &mut usize,
        solver: &Solver<T>,
        dense: usize,
        sums: &mut impl ScanRows<Solver<T>>,
    ) -> bool {
        let rest = &self.words[*from..];
        let rows = Batch::new(rest, dense).take(SAMPLE_ROWS_A_STEP);
        let length = rows.map(|row| row.values()).sum();
        let rows = VisitedRows::Batch {
            batch: VisitedBatch::as_stored(Batch::new(&rest[..length], dense)),
            count: &mut 0,
        };
        sums.scan(solver, rows);
        *from += length;
        *from == self.words.len()
    }
}

/// The evaluation, under way.
pub(in crate::training) struct Survey {
    layout: Layout,
    telling: Telling,
    pick: SampleRule,
    fit: Fit,
    /// By head: the decisions of a row, and their sums and sums of squares.
    decisions: Vec<f32>,
    sums: Vec<[f64; 2]>,
    /// Of two classes.
    ranking: Option<Ranking>,
    /// Where labels are numbers.
    epsilon: f64,
    /// What a decision is to be more than for the positive class.
    bar: f32,
}

impl Survey {
    /// `calibrations`: those of the heads, as far as they were fitted; `ranks`: by class its place in the order of labels, if that is known;
    /// `bar`: what a decision is to be more than for the positive class.
    pub(in crate::training) fn new(
        layout: Layout,
        facts: &Facts,
        calibrations: &[Calibration],
        ranks: &[u32],
        bar: f32,
    ) -> Result<Self, TrainError> {
        let (classes, heads) = (layout.classes(), layout.heads());
        let wanted = rows_wanted(facts.rows, heads);
        let ranking = match classes {
            // the pick may be a few rows more than wanted
            2 if facts.epsilon.is_none() => {
                Some(Ranking::new(wanted + wanted / 64 + 64).map_err(|_| {
                    TrainError::OutOfMemory {
                        bytes: 8 * wanted as u64,
                    }
                })?)
            }
            _ => None,
        };
        Ok(Self {
            pick: SampleRule::new(facts.rows, wanted),
            fit: Fit {
                rows: 0,
                actual: filled(0, classes)?,
                predicted: filled(0, classes)?,
                right: filled(0, classes)?,
                auc: None,
                deviation: 0.0,
                residuals: facts.epsilon.map(|_| Residuals::default()),
            },
            epsilon: facts.epsilon.unwrap_or(0.0),
            bar,
            decisions: filled(0.0, heads)?,
            sums: filled([0.0; 2], heads)?,
            telling: layout.telling(calibrations, ranks)?,
            ranking,
            layout,
        })
    }

    /// Compares what the heads decide for a row with its class.
    #[inline(always)]
    fn evaluate<K: Isa>(&mut self, solver: &impl Ledgers, row: &Row<'_>) {
        for (head, decision) in self.decisions.iter_mut().enumerate() {
            *decision = solver.decision::<K>(head, row) - self.bar;
            let value = f64::from(*decision);
            let [sum, squares] = &mut self.sums[head];
            *sum += value;
            *squares += value * value;
        }
        let class = self.layout.class(row.group());
        if let Some(residuals) = &mut self.fit.residuals {
            let y = if class == 1 { 1.0 } else { -1.0 };
            let target = target_of(row.offset(), y, self.epsilon);
            let all = self.decisions.iter().map(|it| f64::from(*it));
            residuals.take(target, all, self.layout.quantiles());
            self.fit.rows += 1;
            return;
        }
        let predicted = self.telling.class(&self.decisions);
        self.fit.rows += 1;
        self.fit.actual[class] += 1;
        self.fit.predicted[predicted] += 1;
        self.fit.right[class] += u64::from(predicted == class);
        if let Some(ranking) = &mut self.ranking {
            ranking.add(once((self.decisions[0], class == 1)));
        }
    }

    /// Ranks some of the rows evaluated; true at the end.
    pub(in crate::training) fn rank(&mut self) -> bool {
        self.ranking.as_mut().is_none_or(Ranking::step)
    }

    /// What was found, when all rows have been evaluated and ranked; None where there was none.
    pub(in crate::training) fn finish(mut self) -> Option<Fit> {
        let rows = self.fit.rows as f64;
        let variance = |[sum, squares]: &[f64; 2]| squares / rows - (sum / rows).powi(2);
        let most = self.sums.iter().map(variance).fold(0.0, f64::max);
        self.fit.deviation = most.sqrt();
        self.fit.auc = self.ranking.as_ref().and_then(Ranking::area);
        (self.fit.rows > 0).then_some(self.fit)
    }
}

impl<L: Ledgers> Scans<L> for Survey {
    #[inline(always)]
    fn add<K: Isa>(&mut self, solver: &L, row: &Row<'_>) -> usize {
        if !self.pick.has(row.ordinal()) {
            return 1;
        }
        self.evaluate::<K>(solver, row);
        1 + row.values() * self.decisions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::SampleRule;

    #[test]
    fn picks_as_many_rows_as_wanted_of_every_class_of_a_periodic_table() {
        for (rows, wanted) in [
            (10, 10),
            (1000, 1000),
            (393_216, 131_072),
            (4_000_000, 131_072),
            (131_073, 131_072),
        ] {
            let pick = SampleRule::new(rows, wanted);
            for period in [1, 2, 3, 7, 64] {
                let mut found = vec![0usize; period];
                (0..rows)
                    .filter(|row| pick.has(*row))
                    .for_each(|row| found[row % period] += 1);
                let expected = wanted as f64 / period as f64;
                for count in found {
                    assert!(
                        (count as f64 - expected).abs() <= 2.0 + 0.02 * expected,
                        "{rows} {wanted} {period}: {count}"
                    );
                }
            }
        }
    }
}
