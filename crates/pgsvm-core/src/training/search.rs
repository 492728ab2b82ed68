//! The search for C from stage to stage: what has been the best so far, and which C is tried next beyond those of the plan.

use crate::objective::scoring::Scoring;
use crate::training::evaluating::Verdict;

/// How far beyond the plan's C others may lie.
const FARTHEST: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// A search under way.
pub(super) struct Search {
    scoring: Scoring,
    /// Values beyond that may be tried still.
    left: u32,
    /// How many times the one before the next is; None where none comes next.
    ratio: Option<f64>,
    best: Option<(f64, Option<f64>)>,
}

impl Search {
    pub(super) fn new(scoring: Scoring, beyond: u32) -> Self {
        Self {
            scoring,
            left: beyond,
            ratio: None,
            best: None,
        }
    }

    /// Takes the scores of a stage. Whether its best C is the best of all so far.
    pub(super) fn take(&mut self, costs: &[f64], verdict: &Verdict) -> bool {
        let is_first = self.best.is_none();
        if self
            .best
            .is_some_and(|(_, best)| !self.scoring.is_better(verdict.score, best))
        {
            self.ratio = None;
            return false;
        }
        self.best = Some((verdict.best.c, verdict.score));
        if is_first {
            let tried = costs.iter().copied().zip(verdict.scores.iter().copied());
            let best = (verdict.best.c, verdict.score);
            self.ratio = self.scoring.outwards(best, tried);
        }
        true
    }

    /// The C to be tried next.
    pub(super) fn next(&mut self) -> Option<f64> {
        let (best, score) = self.best?;
        let next = best * self.ratio?;
        if self.left == 0 || self.scoring.is_perfect(score) || !FARTHEST.contains(&next) {
            return None;
        }
        self.left -= 1;
        Some(next)
    }
}
