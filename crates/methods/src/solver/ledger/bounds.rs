//! The best primal and the best dual that a head has come to: the pair that it reports.
//!
//! Primal and dual do not improve in every pass: when the centre of the shift moves, the dual may fall far below what it was. So the weights
//! of the best primal and the dual variables of the best dual are kept by the code that holds the vectors.

use crate::objective::report::{relative_gap, Certificate};
use crate::objective::rounded::{Rounded, Unrounded};
use crate::solver::ledger::constant::Constant;
use crate::solver::sums::intercept::Shifted;
use crate::solver::sums::tally::Tally;

/// A primal and its counts.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Primal {
    pub(in crate::solver) value: f64,
    pub(in crate::solver) correct: u64,
    pub(in crate::solver) ties: i64,
    pub(in crate::solver) rows: u64,
    /// Whether that is what a pass has summed up at just its weights.
    pub(in crate::solver) summed: bool,
}

impl Primal {
    /// Of weights whose losses have been summed.
    pub(in crate::solver) fn of(value: f64, full: &Tally, shifted: Option<Shifted>) -> Self {
        let (gain, turned) = shifted.map_or((0.0, 0), |shifted| (shifted.gain, shifted.turned));
        Self {
            value: value - gain,
            correct: full.correct.saturating_add_signed(turned),
            // another intercept moves them off the boundary
            ties: shifted.map_or(full.ties, |_| 0),
            rows: full.rows,
            summed: shifted.is_none(),
        }
    }
}

/// The best dual variables.
#[derive(Debug, Clone, Copy)]
struct BestDuals {
    dual: f64,
    support: u64,
    /// Visits before they were: as many now say that the present ones are the same.
    visits: u64,
    /// Whether the dual has been recomputed from them.
    proved: bool,
}

/// What has just been recomputed from the present dual variables.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct ProvedDual {
    pub(in crate::solver) dual: f64,
    pub(in crate::solver) support: u64,
    pub(in crate::solver) visits: u64,
}

/// Which dual variables a head that has arrived ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Choice {
    Present,
    /// The best ones, which have been proved.
    Best,
    /// The best ones, if they are what they are thought to be: to be proved.
    BestUnproved,
}

#[derive(Debug)]
pub(in crate::solver) struct Bounds {
    /// The best of weights that training has come to.
    pub(in crate::solver) primal: Primal,
    /// The best constant decision, where that is known.
    pub(in crate::solver) constant: Option<Constant>,
    best_duals: BestDuals,
    /// The dual at the end of the last pass.
    pub(in crate::solver) last_dual: f64,
    /// By how much the gap is wider for what rounding may change.
    pub(in crate::solver) rounding: f64,
}

impl Bounds {
    /// Nothing is known but that all dual variables are 0.
    pub(in crate::solver) const UNKNOWN: Bounds = Bounds {
        primal: Primal {
            value: f64::INFINITY,
            correct: 0,
            ties: 0,
            rows: 0,
            summed: false,
        },
        constant: None,
        best_duals: BestDuals {
            dual: 0.0,
            support: 0,
            visits: 0,
            proved: true,
        },
        last_dual: 0.0,
        rounding: 0.0,
    };

    /// Whether this primal is the best.
    pub(in crate::solver) fn take_primal(&mut self, primal: Primal) -> bool {
        let is_best = primal.value < self.primal.value;
        if is_best {
            self.primal = primal;
        }
        is_best
    }

    /// Takes the dual at the end of a pass; true when the present dual variables are the best from now on.
    pub(in crate::solver) fn take_dual(&mut self, dual: f64, support: u64, visits: u64) -> bool {
        self.last_dual = dual;
        let is_best = dual > self.best_duals.dual;
        if is_best {
            self.best_duals = BestDuals {
                dual,
                support,
                visits,
                proved: false,
            };
        }
        is_best
    }

    /// Takes weights and dual variables that follow from them, whose primal and dual these are, where their gap is smaller than
    /// that of the best pair or `arrived` says that training ends with them; true when both are the best from now on.
    pub(in crate::solver) fn take_pair(
        &mut self,
        primal: Primal,
        (dual, support, visits): (f64, u64, u64),
        arrived: bool,
    ) -> bool {
        self.last_dual = dual;
        let is_best = arrived
            || !self.primal.value.is_finite()
            || relative_gap(primal.value, dual) < self.trained_gap();
        if is_best {
            self.primal = primal;
            self.best_duals = BestDuals {
                dual,
                support,
                visits,
                proved: false,
            };
        }
        is_best
    }

    /// Takes the dual recomputed from the present dual variables; true when these are the best ones.
    pub(in crate::solver) fn take_proved(&mut self, proved: ProvedDual) -> bool {
        self.last_dual = proved.dual;
        let is_best = self.best_duals.visits == proved.visits && self.best_duals.visits > 0;
        if is_best {
            // the same ones: what was thought of them was off by rounding
            self.best_duals.dual = proved.dual;
            self.best_duals.proved = true;
        }
        is_best
    }

    /// Whether the best dual has been recomputed from its dual variables.
    pub(in crate::solver) fn dual_is_proved(&self) -> bool {
        self.best_duals.proved
    }

    /// Which dual variables are better behind a proof of the present ones.
    pub(in crate::solver) fn choose(&self, proved: ProvedDual) -> Choice {
        match (self.best_duals.dual > proved.dual, self.best_duals.proved) {
            (false, _) => Choice::Present,
            (true, true) => Choice::Best,
            (true, false) => Choice::BestUnproved,
        }
    }

    /// The head has ended with the dual variables just proved.
    pub(in crate::solver) fn end_with(&mut self, proved: ProvedDual) {
        self.best_duals = BestDuals {
            dual: proved.dual,
            support: proved.support,
            visits: proved.visits,
            proved: true,
        };
    }

    /// The present dual variables and the best ones change places.
    pub(in crate::solver) fn exchange(&mut self, present: ProvedDual, proved: bool) {
        self.last_dual = self.best_duals.dual;
        self.best_duals = BestDuals {
            dual: present.dual,
            support: present.support,
            visits: 0,
            proved,
        };
    }

    /// The best dual known.
    pub(in crate::solver) fn best_dual(&self) -> f64 {
        self.best_duals.dual
    }

    /// Rows with a > 0 among the best dual variables.
    pub(in crate::solver) fn best_duals_support(&self) -> u64 {
        self.best_duals.support
    }

    /// The best constant decision, where no weights are better.
    pub(in crate::solver) fn best_is_constant(&self) -> Option<Constant> {
        let better = |it: &Constant| it.is_best(self.primal.value);
        self.constant.filter(better)
    }

    /// The best primal.
    pub(in crate::solver) fn best_primal(&self) -> Primal {
        match self.constant {
            Some(constant) if constant.is_best(self.primal.value) => constant.primal,
            _ => self.primal,
        }
    }

    /// What is true of the weights that training has ended with; what the dual is beyond it is rounding.
    pub(in crate::solver) fn recount(&mut self, primal: Primal) {
        match self.best_is_constant() {
            Some(mut constant) => {
                constant.primal = primal;
                self.constant = Some(constant);
            }
            None => (self.primal, self.constant) = (primal, None),
        }
        self.best_duals.dual = self.best_duals.dual.min(primal.value);
    }

    /// Has the pair be certain of rows as they come, see [`Rounded::widening`].
    pub(in crate::solver) fn widen(&mut self, rounded: &Rounded, known: &Unrounded, least: f64) {
        let pair = (self.best_primal().value, self.best_duals.dual.max(0.0));
        let widening = rounded.widening(pair, known);
        let (wider, rounding) = Certificate::widened(pair, widening, least);
        if rounding == 0.0 {
            return;
        }
        let above = wider.primal - pair.0;
        self.primal.value += above;
        if let Some(constant) = &mut self.constant {
            constant.primal.value += above;
        }
        self.best_duals.dual = wider.dual;
        self.rounding = rounding;
    }

    /// The best pair.
    pub(in crate::solver) fn certificate(&self) -> Certificate {
        Certificate::of(self.best_primal().value, self.best_duals.dual)
    }

    /// Nothing is proved of the dual.
    pub(in crate::solver) fn forget_dual(&mut self) {
        self.best_duals.dual = 0.0;
    }

    /// Its relative gap.
    pub(in crate::solver) fn gap(&self) -> f64 {
        relative_gap(self.best_primal().value, self.best_duals.dual)
    }

    /// The same of weights that training has come to.
    pub(in crate::solver) fn trained_gap(&self) -> f64 {
        self.trained_gap_from(f64::INFINITY)
    }

    /// The same where it has come to this primal too.
    pub(in crate::solver) fn trained_gap_from(&self, primal: f64) -> f64 {
        relative_gap(self.primal.value.min(primal), self.best_duals.dual)
    }
}
