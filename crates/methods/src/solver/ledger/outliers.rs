//! What the outliers of a truncated loss, min(L(m), 1 + s), cost: each of them the constant C c (1 + s).

use crate::objective::heads::HeadSpec;
use crate::objective::problem::Problem;
use crate::objective::report::Truncation;
use crate::solver::visit::outliers::Sorted;

#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct OutlierCosts {
    /// s, where the loss is truncated.
    s: Option<f64>,
    /// How rows stand on their sides.
    pub(in crate::solver) sorted: Sorted,
}

impl OutlierCosts {
    /// Of no outliers yet.
    pub(in crate::solver) fn of(problem: &Problem, spec: &HeadSpec) -> Self {
        Self {
            s: spec.truncation.or(problem.truncation()),
            sorted: Sorted::default(),
        }
    }

    /// s, where the loss is truncated.
    pub(in crate::solver) fn s(&self) -> Option<f64> {
        self.s
    }

    /// Whether the loss is truncated.
    pub(in crate::solver) fn is_truncated(&self) -> bool {
        self.s.is_some()
    }

    /// What the outliers cost together: a constant that the problem of a round has beside the rows that are left.
    pub(in crate::solver) fn constant(&self, c: f64) -> f64 {
        self.s.map_or(0.0, |s| c * (1.0 + s) * self.sorted.cost)
    }

    /// A pass has found these outliers, and what their losses count beside C, at the weights that are the best: each on the
    /// side where these put it.
    pub(in crate::solver) fn take(&mut self, (outliers, cost): (u64, f64)) {
        if self.is_truncated() {
            self.sorted = Sorted {
                outliers,
                cost,
                ..Sorted::default()
            };
        }
    }

    /// All rows have been read at the weights that are stored: so many are outliers, and where a round has put rows on their sides they cost
    /// so much more there than on the other.
    pub(in crate::solver) fn recount(&mut self, outliers: u64, excess: Option<f64>) {
        self.sorted.outliers = outliers;
        self.sorted.excess = excess.unwrap_or(self.sorted.excess);
    }

    /// What rows cost more on their side than on the other, beside C.
    pub(in crate::solver) fn excess(&self) -> f64 {
        self.sorted.excess
    }

    /// What it came to at weights of this primal.
    pub(in crate::solver) fn report(&self, primal: f64, c: f64) -> Option<Truncation> {
        self.s.map(|_| Truncation {
            objective: primal - c * self.sorted.excess,
            outliers: self.sorted.outliers,
        })
    }
}
