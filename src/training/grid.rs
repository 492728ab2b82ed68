//! A grid over gamma. The table is read once. For each gamma its own map makes the rows, and every C and fold is trained on them. What is
//! kept of each gamma is how good it is on rows that were held out. Pure.

use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::{ConformalResiduals, LowRankJob, Scoring, TrainerReport, Validation};

/// Gammas beyond the usual ones that may be tried, each so many times the one before or a part of it.
const MOST_BEYOND: u32 = 3;
const STEP_BEYOND: f64 = 4.0;

/// What has been found so far.
pub struct Grid {
    scoring: Scoring,
    validation: Vec<Validation>,
    /// The best score of each gamma taken.
    scores: Vec<(f64, Option<f64>)>,
    best: Option<BestPair>,
    /// Where labels are numbers, how far predictions of the rows held out were off at it.
    residuals: Option<ConformalResiduals>,
    /// Gammas beyond that may be tried still.
    left: u32,
    /// Of all gammas together.
    passes: u32,
    visits: u64,
    updates: u64,
}

/// The best pair so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestPair {
    /// The place of its map.
    pub map: usize,
    pub gamma: f64,
    pub c: f64,
    score: Option<f64>,
}

impl Grid {
    pub fn new(scoring: Scoring) -> Self {
        Self {
            scoring,
            validation: Vec::new(),
            scores: Vec::new(),
            best: None,
            residuals: None,
            left: MOST_BEYOND,
            passes: 0,
            visits: 0,
            updates: 0,
        }
    }

    /// Takes what was found at a gamma, whose map is at this place. Of equals the pair with the smaller C is the better, as where
    /// C alone is chosen, and then the one with the smaller gamma, whose machine is the smoother.
    pub fn take(
        &mut self,
        map: usize,
        gamma: f64,
        report: &TrainerReport,
    ) -> Result<(), OutOfMemory> {
        let found = report.validation.iter().map(|it| Validation {
            gamma: Some(gamma),
            ..*it
        });
        self.validation.retain(|it| it.gamma != Some(gamma));
        self.validation.room(report.validation.len())?.extend(found);
        self.passes += report.passes;
        self.visits += report.visits;
        self.updates += report.updates;
        let Some(c) = report.c else {
            return Ok(());
        };
        let of_c = report.validation.iter().find(|it| it.c == c);
        let score = of_c.and_then(|it| it.overall);
        self.scores.retain(|(known, _)| *known != gamma);
        self.scores.room(1)?.push((gamma, score));
        let found = BestPair {
            map,
            gamma,
            c,
            score,
        };
        if self.best.is_none_or(|best| self.is_better(&found, &best)) {
            self.best = Some(found);
            let residuals = report.calibrations.residuals.as_ref();
            self.residuals = residuals.map(|it| it.copied()).transpose()?;
        }
        Ok(())
    }

    fn is_better(&self, found: &BestPair, best: &BestPair) -> bool {
        match self.scoring.is_better(best.score, found.score) {
            true => false,
            false => {
                self.scoring.is_better(found.score, best.score)
                    || (found.c, found.gamma) < (best.c, best.gamma)
            }
        }
    }

    /// The map beyond those taken where the best gamma is the smallest or the largest of the usual ones and better than the
    /// one beside it; None where there are others to choose from than the usual ones.
    pub fn beyond(&mut self, maps: &[LowRankJob]) -> Option<LowRankJob> {
        let best = self.best.filter(|_| self.left > 0)?;
        let map = *maps.get(best.map)?;
        let is_usual = maps.len() > 1 && map.kernel.gamma().is_none();
        let scores = self.scores.iter().copied();
        let ratio = self.scoring.outwards((best.gamma, best.score), scores)?;
        if !is_usual || self.scoring.is_perfect(best.score) {
            return None;
        }
        let times = match ratio > 1.0 {
            true => STEP_BEYOND,
            false => 1.0 / STEP_BEYOND,
        };
        self.left -= 1;
        let scale_times = times * map.scale_times;
        Some(LowRankJob { scale_times, ..map })
    }

    /// Whether the best C is the smallest or the largest of those that are tried with each gamma, beyond which there may be better ones.
    pub fn is_at_the_edge(&self, costs: &[f64]) -> bool {
        let all = costs.iter().copied();
        let (least, most) = (
            all.clone().fold(f64::INFINITY, f64::min),
            all.fold(0.0, f64::max),
        );
        self.best
            .is_some_and(|best| best.c == least || best.c == most)
    }

    pub fn best(&self) -> Option<BestPair> {
        self.best
    }

    /// Puts it into the report of the training that comes last: of the final machine, or where there is to be none of the last
    /// gamma, which is among those taken.
    pub fn complete(self, report: &mut TrainerReport, is_final: bool) {
        report.validation = self.validation;
        let residuals = &mut report.calibrations.residuals;
        *residuals = residuals.take().or(self.residuals);
        report.c = self.best.map(|best| best.c);
        report.gamma = self.best.map(|best| best.gamma);
        let before = match is_final {
            true => (report.passes, report.visits, report.updates),
            false => (0, 0, 0),
        };
        report.passes = before.0 + self.passes;
        report.visits = before.1 + self.visits;
        report.updates = before.2 + self.updates;
    }
}
