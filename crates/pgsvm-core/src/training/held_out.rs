//! Held-out decisions: one more pass over the rows when the heads of a stage have ended.
//!
//! Each row is decided by the held-out heads of its own fold: one f32 for each candidate, a C or a C and s, and head of a classifier. Beside them
//! stands the group of each row. Of a row with a target the decision is kept less the target, which stands beside it; it is delivered on two
//! sides, of which evaluations count the positive one.

use std::cell::RefCell;
use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{gathered, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::calibration::CalibrationChoice;
use crate::objective::minimized::target_of;
use crate::objective::pairs::{Pairs, PairsRoom, Telling};
use crate::objective::plan::{Candidate, Layout, Plan, Purpose, MOST_FOLDS};
use crate::objective::quantiles;
use crate::objective::report::Doubt;
use crate::objective::scoring::{Counts, Scoring};
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::simd::{Isa, Real};
use crate::solver::decided::{Decide, Decided};
use crate::solver::ledger::Ledgers;
use crate::solver::scans::Scans;
use crate::solver::Solver;
use crate::training::error::TrainError;

/// The decisions of held-out heads, as they come.
pub(super) struct HeldOutDecisions {
    pub(super) layout: Layout,
    pub(super) candidates: Vec<Candidate>,
    pub(super) scoring: Scoring,
    /// Of two classes, the one that scores take for positive.
    pub(super) positive: usize,
    /// Whether the final heads are to get probabilities, and by what.
    pub(super) probabilities: bool,
    pub(super) calibration: CalibrationChoice,
    /// The first held-out head of the stage; they come by candidate, fold and class.
    first: usize,
    /// By fold, its place among those that have heads of their own.
    places: [Option<usize>; MOST_FOLDS as usize],
    /// By row.
    pub(super) groups: Vec<u32>,
    /// By row, C and head of a classifier.
    decisions: Vec<f32>,
    /// By row, where rows have targets; and by how much a decision may be off then.
    targets: Vec<f64>,
    epsilon: Option<f64>,
    /// What says the class of a row by its decisions, and room for the probabilities of pairs.
    telling: RefCell<Telling>,
    room: RefCell<Option<PairsRoom>>,
}

impl HeldOutDecisions {
    pub(super) fn new(
        plan: &Plan,
        layout: Layout,
        first: usize,
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let mut this = Self::empty(plan, layout, first, facts)?;
        this.groups = zeros(facts.rows)?;
        this.decisions = zeros(facts.rows * this.width())?;
        if facts.epsilon.is_some() {
            this.targets = zeros(facts.rows)?;
        }
        Ok(this)
    }

    /// The same where no row is there yet.
    pub(super) fn empty(
        plan: &Plan,
        layout: Layout,
        first: usize,
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let mut places = [None; MOST_FOLDS as usize];
        for (place, &fold) in layout.folds().iter().enumerate() {
            places[fold as usize] = Some(place);
        }
        Ok(Self {
            candidates: gathered(plan.candidates())?,
            scoring: plan.scoring,
            positive: facts.positive,
            probabilities: plan.probability && plan.purpose == Purpose::Train,
            calibration: plan.calibration,
            first,
            places,
            groups: Vec::new(),
            decisions: Vec::new(),
            targets: Vec::new(),
            epsilon: facts.epsilon,
            telling: RefCell::new(Telling::new(layout.pairs(), &[], &[])?),
            room: RefCell::new(layout.pairs().map(Pairs::room).transpose()?),
            layout,
        })
    }

    /// Decisions of a row.
    fn width(&self) -> usize {
        self.candidates.len() * self.layout.heads()
    }

    /// The first head of the stage that this C and the fold at this place have.
    pub(super) fn head(&self, cost: usize, place: usize) -> usize {
        self.first + (cost * self.layout.folds().len() + place) * self.layout.heads()
    }

    /// What decides rows that somebody else holds by the heads of these candidates.
    pub(super) fn order(
        &self,
        solver: &impl Ledgers,
        candidates: Range<usize>,
        (features, intercept): (usize, f64),
    ) -> Result<Decide, OutOfMemory> {
        let (heads, folds) = (self.layout.heads(), self.layout.folds().len());
        let all = self.head(candidates.start, 0)..self.head(candidates.end, 0);
        let mut weights = Vec::new();
        weights.room(all.len() * (features + 1))?;
        for head in all {
            let own = solver.weights(head);
            let from = weights.len();
            weights.extend(own.iter().take(features));
            weights.resize(from + features, 0.0);
            weights.push(own.intercept());
        }
        debug_assert_eq!(
            weights.len(),
            candidates.len() * folds * heads * (features + 1)
        );
        let places = (0..self.layout.stride()).map(|fold| self.places[fold]);
        let form = (intercept, self.epsilon);
        Decide::new((candidates.len(), heads), places, weights, form)
    }

    /// Takes what they have decided. Rows come in another order each time, and are sorted by group: within one it does not matter which is
    /// which. False where they are not those of the candidates before.
    pub(super) fn take(
        &mut self,
        candidates: Range<usize>,
        found: Decided,
    ) -> Result<bool, OutOfMemory> {
        let found = found.checked()?;
        let rows = found.groups.len();
        if self.has_targets() != (found.targets.len() == rows) {
            return Ok(false);
        }
        let mut order: Vec<u32> = gathered(0..rows as u32)?;
        order.sort_unstable_by_key(|row| found.groups[*row as usize]);
        let groups = order.iter().map(|row| found.groups[*row as usize]);
        if candidates.start == 0 {
            self.groups = gathered(groups)?;
            let targets = order.iter().map(|row| found.targets.get(*row as usize));
            self.targets = gathered(targets.flatten().copied())?;
            self.decisions = zeros(rows * self.width())?;
        } else if !groups.eq(self.groups.iter().copied()) {
            return Ok(false);
        }
        let (all, heads) = (self.width(), self.layout.heads());
        let width = candidates.len() * heads;
        for (place, row) in order.iter().enumerate() {
            let own = &found.decisions[*row as usize * width..][..width];
            self.decisions[place * all + candidates.start * heads..][..width].copy_from_slice(own);
        }
        Ok(true)
    }

    #[inline(always)]
    fn decide<K: Isa, T: Real>(&mut self, solver: &Solver<T>, row: &Row<'_>) {
        let (ordinal, width, heads) = (row.ordinal(), self.width(), self.layout.heads());
        self.groups[ordinal] = row.group() as u32;
        let Some(place) = self.place(row.group()) else {
            return;
        };
        let target = self.target(row);
        if let Some(own) = self.targets.get_mut(ordinal) {
            *own = target;
        }
        for cost in 0..self.candidates.len() {
            interrupts::check();
            let first = self.head(cost, place);
            for head in 0..heads {
                let decision = solver.decision::<K>(first + head, row);
                self.decisions[ordinal * width + cost * heads + head] = match self.epsilon {
                    None => decision,
                    Some(_) => (f64::from(decision) - target) as f32,
                };
            }
        }
    }

    /// What a row is to be decided as, where it has a target.
    fn target(&self, row: &Row<'_>) -> f64 {
        let y = [-1.0, 1.0][self.layout.class(row.group()).min(1)];
        let of = |epsilon| target_of(row.offset(), y, epsilon);
        self.epsilon.map_or(0.0, of)
    }

    /// Counts how far above its target a row's decisions at one C are, on one of its sides.
    pub(super) fn count_error(&self, row: usize, cost: usize, counts: &mut Counts) {
        if self.class(row) == 1 {
            let quantiles = self.layout.quantiles();
            counts.add_errors(self.targets[row], self.of(row, cost), quantiles);
        }
    }

    /// How far above its target the decision at one C of a row that is counted is, of several quantiles the one that stands for all; None of
    /// its other side.
    pub(super) fn away(&self, row: usize, cost: usize) -> Option<f32> {
        let away = || {
            let all = self.of(row, cost).iter().map(|away| f64::from(*away));
            quantiles::sorted(self.layout.quantiles(), all).0 as f32
        };
        (self.class(row) == 1).then(away)
    }

    /// Whether heads are quantiles, which are no middle of an interval.
    pub(super) fn of_quantiles(&self) -> bool {
        !self.layout.quantiles().is_empty()
    }

    /// Whether rows have targets.
    pub(super) fn has_targets(&self) -> bool {
        self.epsilon.is_some()
    }

    /// The place of a group's fold; None where it is never held out.
    pub(super) fn place(&self, group: usize) -> Option<usize> {
        self.places[self.layout.fold(group) as usize]
    }

    /// The same of a row.
    pub(super) fn fold_place(&self, row: usize) -> Option<usize> {
        self.place(self.groups[row] as usize)
    }

    pub(super) fn class(&self, row: usize) -> usize {
        self.layout.class(self.groups[row] as usize)
    }

    /// The decisions of a row at one C.
    pub(super) fn of(&self, row: usize, cost: usize) -> &[f32] {
        let heads = self.layout.heads();
        &self.decisions[row * self.width() + cost * heads..][..heads]
    }

    /// A row's decision by one head at one C, and whether the row is positive for it; None where it takes no part in it.
    pub(super) fn for_head(&self, row: usize, cost: usize, head: usize) -> Option<(f32, bool)> {
        let positive = self.layout.is_positive(self.class(row), head)?;
        Some((self.of(row, cost)[head], positive))
    }

    /// The class that a row's decisions at one C say.
    pub(super) fn predicted(&self, row: usize, cost: usize) -> usize {
        self.telling.borrow_mut().class(self.of(row, cost))
    }

    /// How far a row's decisions at one C speak for its own class: of more than two less than for another, the best one; of pairs
    /// against the one that does best against it.
    fn margin(&self, row: usize, cost: usize) -> f32 {
        let (decisions, class) = (self.of(row, cost), self.class(row));
        if self.layout.pairs().is_some() {
            let own = (0..decisions.len()).filter_map(|head| self.for_head(row, cost, head));
            let margins = own.map(|(it, positive)| if positive { it } else { -it });
            return margins.fold(f32::INFINITY, f32::min);
        }
        match *decisions {
            [decision] if class == 1 => decision,
            [decision] => -decision,
            _ => {
                let others = decisions.iter().enumerate();
                let best = others
                    .filter(|(other, _)| *other != class)
                    .fold(f32::NEG_INFINITY, |best, (_, it)| best.max(*it));
                decisions[class] - best
            }
        }
    }

    /// The rows whose margin at one C is below this.
    pub(super) fn doubts(&self, cost: usize, below: f64) -> Result<Vec<Doubt>, OutOfMemory> {
        let mut found = Vec::new();
        for (row, group) in self.groups.iter().enumerate() {
            interrupts::check();
            let margin = self.margin(row, cost);
            if self.place(*group as usize).is_some() && f64::from(margin) < below {
                let class = self.predicted(row, cost);
                found.room(1)?.push(Doubt { row, class, margin });
            }
        }
        Ok(found)
    }

    /// The rows whose decision at one C is farther than this from their target.
    pub(super) fn far_off(&self, cost: usize, beyond: f64) -> Result<Vec<Doubt>, OutOfMemory> {
        let mut found = Vec::new();
        for row in 0..self.groups.len() {
            interrupts::check();
            let away = self.fold_place(row).and_then(|_| self.away(row, cost));
            if let Some(margin) = away.filter(|away| f64::from(away.abs()) > beyond) {
                let class = self.class(row);
                found.room(1)?.push(Doubt { row, class, margin });
            }
        }
        Ok(found)
    }

    /// The probability of a row's own class at one C, by what `of` says of each head's decision.
    pub(super) fn probability(
        &self,
        row: usize,
        cost: usize,
        of: impl Fn(usize, f64) -> f64,
    ) -> f64 {
        let class = self.class(row);
        let decisions = self.of(row, cost);
        if let (Some(pairs), Some(room)) = (self.layout.pairs(), &mut *self.room.borrow_mut()) {
            let probability = |head: usize| of(head, f64::from(decisions[head]));
            return pairs.couple(probability, room)[class];
        }
        let decisions = decisions.iter().enumerate();
        let mut each = decisions.map(|(head, decision)| of(head, f64::from(*decision)));
        if self.layout.heads() == 1 {
            let positive = each.next().unwrap_or(0.5);
            return if class == 1 { positive } else { 1.0 - positive };
        }
        let (mut own, mut sum) = (0.0, 0.0);
        for (head, probability) in each.enumerate() {
            own += if head == class { probability } else { 0.0 };
            sum += probability;
        }
        if sum > 0.0 {
            own / sum
        } else {
            0.0
        }
    }
}

impl<T: Real> Scans<Solver<T>> for HeldOutDecisions {
    #[inline(always)]
    fn add<K: Isa>(&mut self, solver: &Solver<T>, row: &Row<'_>) -> usize {
        self.decide::<K, T>(solver, row);
        row.values() * self.width()
    }
}
