//! A grid over gamma: the C and folds of each gamma are trained on the rows that its own map makes, gamma after gamma, of the
//! rows that the table gave once; what is remembered of each is how good it is on rows that were held out. Pure.

use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::{Scoring, TrainerReport, Validation};

/// What has been found so far.
pub struct Grid {
    scoring: Scoring,
    validation: Vec<Validation>,
    best: Option<Best>,
    /// Of all gammas together.
    passes: u32,
    visits: u64,
    updates: u64,
}

/// The best pair so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Best {
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
            best: None,
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
        self.validation.room(report.validation.len())?.extend(found);
        self.passes += report.passes;
        self.visits += report.visits;
        self.updates += report.updates;
        let Some(c) = report.c else {
            return Ok(());
        };
        let of_c = report.validation.iter().find(|it| it.c == c);
        let found = Best {
            map,
            gamma,
            c,
            score: of_c.and_then(|it| it.overall),
        };
        if self.best.is_none_or(|best| self.is_better(&found, &best)) {
            self.best = Some(found);
        }
        Ok(())
    }

    fn is_better(&self, found: &Best, best: &Best) -> bool {
        match self.scoring.is_better(best.score, found.score) {
            true => false,
            false => {
                self.scoring.is_better(found.score, best.score)
                    || (found.c, found.gamma) < (best.c, best.gamma)
            }
        }
    }

    pub fn best(&self) -> Option<Best> {
        self.best
    }

    /// Puts it into the report of the training that comes last: of the final machine, or where there is to be none of the last
    /// gamma, which is among those taken.
    pub fn complete(self, report: &mut TrainerReport, is_final: bool) {
        report.validation = self.validation;
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
