//! Truncated losses, min(L(m), 1 + s), in a head's certificate.
//!
//! The relaxation of Yen, Chang, Lin, Lin and Lin (KDD 2013, equation 5): with the outliers left out, each costing the constant
//! C c (1 + s), what is left is the convex problem over the other rows, IN. Visits put rows on their sides one by one, by the weights as
//! they are then, so that weights and sides come about together; a row that becomes an outlier takes its dual variable out of v.
//! A verifying pass draws the line anew at the weights that it verifies, and proves the gap of the convex problem over the rows
//! that are left then. So a head ends with weights that solve, within its tolerance, the problem over the very rows that are no
//! outliers at these weights; its primal and the outliers' constants are the truncated objective there.

use crate::base::memory::OutOfMemory;
use crate::objective::heads::HeadSpec;
use crate::objective::problem::Problem;
use crate::solver::ledger::outliers::OutlierCosts;
use crate::solver::visit::outliers::{Line, Outliers, Sorted};

/// Full passes, behind a beginning from nothing, in which no row is an outlier, at most: until weights are better than none. Rows that
/// worse ones take for outliers may never come back.
const MOST_CONVEX_PASSES: u32 = 30;
/// And then those whose visits put rows on their sides.
const OPEN_PASSES: u32 = 3;
/// The convex problem is solved roughly where its gap is no larger.
pub(in crate::solver) const SOLVED: f64 = 0.05;
/// Weights are no better than a constant decision where so many of the rows that this puts on the wrong side lie there.
const CONSTANT: f64 = 0.97;
/// Labels are nearly clean where visits of a full pass met losses of less than this share of those at weights of 0.
const CLEAN: f64 = 0.05;
/// The band at first, as a multiple of the tolerance's root: rows in it that are on the wrong side cost as the square of it.
const BAND: f64 = 8.0;
/// The share of the tolerance that they are let cost.
const EXCESS: f64 = 0.9;
/// But never more than this share of s.
const BAND_OF_S: f64 = 0.25;
/// Rounds in which there is none yet.
const FREE_ROUNDS: u32 = 4;
/// The share of the tolerance by which rows sorted anew must lower the truncated objective.
const LOWERS: f64 = 0.01;
/// Proofs that find it higher than one before them, because drafts led there, until there are no more drafts.
const MISLED: u32 = 3;

/// Where a head with a truncated loss stands; of others, that they are none.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Truncated {
    /// s, where the loss is truncated.
    s: Option<f64>,
    /// Rows whose loss is within this of 1 + s stay on the side on which they are, once rows have settled.
    band: f64,
    /// Before rows have been sorted: full passes begun, the convex primal where the first began, and from which pass on visits put
    /// rows on their sides.
    passes: u32,
    first: f64,
    opens_with: u32,
    /// Rows, and those of the smaller class, of a training that began with weights of 0.
    rows: u64,
    smaller: u64,
    /// How rows come to be sorted the first time, and how often that led to weights no better than none.
    way: Way,
    tries: u32,
    /// Times that rows have been sorted.
    rounds: u32,
    /// The truncated objective at the weights that put them there, and whether that is a draft's.
    objective: f64,
    drafted: bool,
    /// The lowest that was proved, and how often drafts have led to a higher one.
    proved: f64,
    misled: u32,
    /// Whether rows have been sorted since the last full pass.
    sorts: bool,
    /// Whether the last verifying pass left rows where they were, and whether the next one is to sort them by the weights that
    /// put them there.
    kept: bool,
    at_best: bool,
}

/// Whether weights that put so many of the rows on their side are hardly better than a constant decision, which puts all but those of the
/// smaller class there.
pub(in crate::solver) fn is_constant(correct: u64, rows: u64, smaller: u64) -> bool {
    correct < rows - (CONSTANT * smaller as f64) as u64
}

/// How weights come about by which rows are sorted the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Visits put rows on their sides, once a full pass has met something better than no weights.
    Open,
    /// The convex problem of all rows is solved, roughly.
    Convex,
}

/// What a verifying pass says beside losses.
#[derive(Debug, Clone, Copy)]
pub(in crate::solver) struct Found {
    /// Rows on their side.
    pub(in crate::solver) correct: u64,
    /// What was known before of the gap of the rows as they stand.
    pub(in crate::solver) gap: f64,
}

/// Where rows go behind a verifying pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solver) enum Sides {
    /// Where its weights put them.
    Found,
    /// Nowhere: they stay where they are.
    Kept,
    /// No row is an outlier: the weights that put them on their sides are no better than none.
    Anew,
}

impl Truncated {
    /// Of a head whose rows are all there in each pass, or stream.
    pub(in crate::solver) fn of(problem: &Problem, spec: &HeadSpec, streams: bool) -> Self {
        let s = spec.truncation.or(problem.truncation());
        let band = BAND * problem.tolerance().sqrt();
        Self {
            s,
            band: band.min(BAND_OF_S * s.unwrap_or(0.0)),
            passes: 0,
            first: f64::INFINITY,
            opens_with: u32::MAX,
            way: if streams { Way::Convex } else { Way::Open },
            tries: 0,
            rows: 0,
            smaller: 0,
            rounds: 0,
            objective: f64::INFINITY,
            drafted: false,
            proved: f64::INFINITY,
            misled: 0,
            sorts: false,
            kept: false,
            at_best: false,
        }
    }

    /// Whether the loss is truncated.
    pub(in crate::solver) fn is(&self) -> bool {
        self.s.is_some()
    }

    /// Whether no row has been sorted yet.
    pub(in crate::solver) fn begins(&self) -> bool {
        self.is() && self.rounds == 0
    }

    /// Whether training is on the way to weights at which visits put rows on their sides, or they do.
    pub(in crate::solver) fn opens(&self) -> bool {
        self.begins() && self.way == Way::Open
    }

    /// Whether visits put rows on their sides, as long as weights are far from what they will be.
    pub(in crate::solver) fn is_open(&self) -> bool {
        self.opens() && self.passes >= self.opens_with
    }

    /// Whether rows are to be sorted behind so many full passes.
    pub(in crate::solver) fn wants_sorting(&self, full_passes: u32) -> bool {
        self.opens() && full_passes >= self.opens_with.saturating_add(OPEN_PASSES - 1)
    }

    /// The outliers of a head that begins from nothing: none.
    pub(in crate::solver) fn outliers(&self, rows: usize) -> Result<Option<Outliers>, OutOfMemory> {
        let made = |_| Outliers::none(self.line_of_visits(), rows);
        self.s.map(made).transpose()
    }

    /// The line between the sides in visits: none until they put rows on their sides.
    pub(in crate::solver) fn line_of_visits(&self) -> Line {
        match self.rounds > 0 || self.is_open() {
            true => self.line(),
            false => Line {
                most_loss: f64::INFINITY,
                ..self.line()
            },
        }
    }

    /// The line between the sides.
    pub(in crate::solver) fn line(&self) -> Line {
        Line {
            most_loss: 1.0 + self.s.unwrap_or(0.0),
            band: match self.rounds < FREE_ROUNDS {
                true => 0.0,
                false => self.band,
            },
        }
    }

    /// A verifying pass has found where its weights put rows, at which 1/2 |w|^2 and the losses of the rows inside come to
    /// `inside`: whether they go there. Then it is told of until the next full pass. They stay where they are unless that lowers the truncated
    /// objective: the weights that put them there have a lower one, and so no weights with a lower one are lost. The first time it
    /// must be lower than that of no weights, where training began with those, unless the pass is the `last` one.
    pub(in crate::solver) fn take_sides(
        &mut self,
        (inside, c, tolerance): (f64, f64, f64),
        (costs, sorted): (&mut OutlierCosts, Sorted),
        (drafts, last): (bool, bool),
        found: Found,
    ) -> Sides {
        let most = c * (1.0 + self.s.unwrap_or(0.0)) * sorted.cost;
        let objective = inside + most - c * sorted.excess;
        let least = LOWERS * tolerance;
        let lowers = |before: f64| objective < before - least * before.min(f64::MAX);
        if !drafts {
            self.misled += u32::from(self.drafted && !lowers(self.proved));
            self.proved = self.proved.min(objective);
        }
        let is_plain = is_constant(found.correct, self.rows, self.smaller);
        let is_too_bad = match (self.way, self.tries) {
            (_, 0) | (Way::Convex, 1) => is_plain || objective >= self.first,
            (Way::Open, _) => objective >= self.first,
            (Way::Convex, _) => objective > self.first * (1.0 + tolerance),
        };
        let is_too_bad = is_too_bad && self.rounds == 0 && !last;
        if is_too_bad && self.way == Way::Convex && found.gap > SOLVED {
            // it is not what the convex problem leads to
            (self.sorts, self.kept) = (false, true);
            return Sides::Kept;
        }
        if is_too_bad {
            // of the rows inside nothing that is better than none may come
            self.tries += 1;
            self.opens_with = u32::MAX;
            self.way = match self.way {
                Way::Convex => Way::Open,
                Way::Open => Way::Convex,
            };
            self.forget();
            (self.sorts, self.kept) = (false, true);
            return Sides::Anew;
        }
        let proves = self.drafted && !drafts;
        let takes = std::mem::take(&mut self.at_best) || proves || lowers(self.objective);
        if takes {
            costs.sorted = sorted;
            (self.objective, self.drafted) = (objective, drafts);
            self.rounds += 1;
        }
        (self.sorts, self.kept) = (takes, !takes);
        match takes {
            true => Sides::Found,
            false => Sides::Kept,
        }
    }

    /// What was sorted says nothing of weights to come: there is none that may not be worse.
    pub(in crate::solver) fn forget(&mut self) {
        (self.objective, self.proved) = (f64::INFINITY, f64::INFINITY);
    }

    /// Whether the last verifying pass left rows where they were.
    pub(in crate::solver) fn keeps(&self) -> bool {
        self.kept
    }

    /// Where rows have been left where they were, the next verifying pass sorts them by the weights that put them there.
    pub(in crate::solver) fn look_at_best(&mut self) {
        self.at_best = self.kept;
    }

    /// Whether the verifying pass that begins does.
    pub(in crate::solver) fn looks_at_best(&self) -> bool {
        self.at_best
    }

    /// Whether drafts lead anywhere.
    pub(in crate::solver) fn may_draft(&self) -> bool {
        self.is() && !self.begins() && self.misled < MISLED
    }

    /// Whether rows on the wrong side, which cost `excess` too much, cost no more than `most`, and that is known.
    pub(in crate::solver) fn stays(&self, excess: f64, most: f64) -> bool {
        !self.begins() && excess <= most && !self.drafted
    }

    /// Whether rows were left where they were though those on the wrong side cost more than a share of `most`. Then the problem that they
    /// make may be solved without the truncated objective becoming lower: its primal is that objective and what they cost.
    pub(in crate::solver) fn is_loose(&self, excess: f64, most: f64) -> bool {
        self.kept && excess > EXCESS * most
    }

    /// Makes the band as wide as it may be for rows on the wrong side to cost no more than a share of `most`: they cost as its square.
    pub(in crate::solver) fn fit_band(&mut self, excess: f64, most: f64) {
        let wider = if self.kept { 1.0 } else { 2.0 };
        if self.is() && excess > 0.0 && self.rounds > FREE_ROUNDS {
            let times = (EXCESS * most / excess).sqrt().clamp(0.5, wider);
            self.band = (self.band * times).min(BAND_OF_S * self.s.unwrap_or(0.0));
        }
    }

    /// Whether rows have been sorted since the last full pass.
    pub(in crate::solver) fn has_sorted(&self) -> bool {
        self.sorts
    }

    /// Whether none of them changed sides.
    pub(in crate::solver) fn stood_still(&self, sorted: Sorted) -> bool {
        self.sorts && sorted.moved == 0
    }

    /// A full pass ends: the convex primal by what its visits met.
    pub(in crate::solver) fn end_full(&mut self, met: f64) {
        let is_better = met < self.first || self.passes >= MOST_CONVEX_PASSES;
        let is_first = self.tries == 0 && !self.is_open();
        if self.opens() && is_first && met < CLEAN * self.first {
            self.way = Way::Convex;
        }
        if self.opens() && is_better {
            self.opens_with = self.opens_with.min(self.passes + 1);
        }
    }

    /// The first full pass has begun at weights of 0, where losses of all rows come to so much; rows, and those of the smaller class.
    pub(in crate::solver) fn take_nothing(&mut self, nothing: f64, (rows, smaller): (u64, u64)) {
        self.first = nothing;
        (self.rows, self.smaller) = (rows, smaller);
    }

    /// A full pass begins.
    pub(in crate::solver) fn begin_full(&mut self) {
        self.passes += 1;
        self.sorts = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::loss::Loss;

    const TOLERANCE: f64 = 1e-3;
    const GOOD: Found = Found {
        correct: 100,
        gap: 0.0,
    };

    fn problem() -> Problem {
        let problem = Problem::new(Loss::Hinge, 1.0, TOLERANCE).unwrap();
        problem
            .with(|it| it.formulation.truncation = Some(1.0))
            .unwrap()
    }

    fn truncated() -> Truncated {
        Truncated::of(&problem(), &HeadSpec::binary(1.0), false)
    }

    /// Whether rows go where weights with this truncated objective put them.
    fn takes(truncated: &mut Truncated, objective: f64, drafts: bool) -> bool {
        let sides = sides(truncated, objective, drafts, GOOD);
        assert_ne!(sides, Sides::Anew);
        sides == Sides::Found
    }

    fn sides(truncated: &mut Truncated, objective: f64, drafts: bool, found: Found) -> Sides {
        let sorted = Sorted {
            cost: 10.0,
            outliers: 10,
            ..Sorted::default()
        };
        let inside = (objective - 20.0, 1.0, TOLERANCE);
        let mut costs = OutlierCosts::of(&problem(), &HeadSpec::binary(1.0));
        truncated.take_sides(inside, (&mut costs, sorted), (drafts, false), found)
    }

    #[test]
    fn what_is_no_better_than_a_constant_decision_is_not_begun_with() {
        let constant = |gap| Found { correct: 60, gap };
        let mut truncated = Truncated {
            way: Way::Convex,
            ..truncated()
        };
        truncated.take_nothing(100.0, (100, 40));
        truncated.begin_full();
        // as long as the convex problem is not solved nothing follows from that
        assert_eq!(
            sides(&mut truncated, 95.0, false, constant(0.5)),
            Sides::Kept
        );
        assert!(!truncated.opens() && truncated.begins());
        assert_eq!(
            sides(&mut truncated, 95.0, false, constant(0.01)),
            Sides::Anew
        );
        assert!(truncated.opens());
        // what opens is to be better than no weights
        assert_eq!(sides(&mut truncated, 100.0, false, GOOD), Sides::Anew);
        assert!(!truncated.opens());
        // the convex problem has the last word
        assert_eq!(
            sides(&mut truncated, 99.0, false, constant(0.01)),
            Sides::Found
        );
        assert!(!truncated.begins());
    }

    #[test]
    fn no_row_is_an_outlier_until_weights_are_better_than_none() {
        let mut truncated = truncated();
        truncated.take_nothing(100.0, (100, 40));
        for (met, is_convex) in [(3000.0, true), (200.0, true), (90.0, false), (120.0, false)] {
            truncated.begin_full();
            truncated.end_full(met);
            let next = Truncated {
                passes: truncated.passes + 1,
                ..truncated
            };
            assert_eq!(
                next.line_of_visits().most_loss.is_infinite(),
                is_convex,
                "{met}"
            );
        }
        let opened = 4;
        assert!(!truncated.wants_sorting(opened + OPEN_PASSES - 2));
        assert!(truncated.wants_sorting(opened + OPEN_PASSES - 1));
    }

    #[test]
    fn rows_change_sides_only_where_that_lowers_the_truncated_objective() {
        let mut truncated = truncated();
        assert!(takes(&mut truncated, 100.0, false));
        for higher in [150.0, 100.0, 100.0 * (1.0 - 0.5 * LOWERS * TOLERANCE)] {
            assert!(!takes(&mut truncated, higher, false));
            assert!(truncated.keeps() && !truncated.has_sorted());
        }
        assert!(takes(&mut truncated, 99.9, false) && truncated.has_sorted());
        // the weights that put them there, by another band
        assert!(!takes(&mut truncated, 99.9, false));
        truncated.look_at_best();
        assert!(truncated.looks_at_best() && takes(&mut truncated, 99.9, false));
        assert!(!truncated.looks_at_best() && !takes(&mut truncated, 99.9, false));
    }

    #[test]
    fn drafts_that_lead_to_higher_objectives_come_to_an_end() {
        let mut truncated = truncated();
        assert!(takes(&mut truncated, 100.0, false));
        for _ in 0..MISLED {
            assert!(truncated.may_draft());
            assert!(takes(&mut truncated, 90.0, true) || truncated.keeps());
            // what a draft found is proved, whatever it is
            truncated.objective = f64::INFINITY;
            truncated.drafted = true;
            assert!(takes(&mut truncated, 101.0, false));
        }
        assert!(!truncated.may_draft());
    }
}
