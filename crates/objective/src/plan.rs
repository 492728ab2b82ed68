//! What a trainer is to train: heads that are given, or a plan from which heads follow once the rows are known.
//!
//! | term | is |
//! |---|---|
//! | class | what a row belongs to, 0.. by first appearance |
//! | fold | the part of the rows, 0.. below [`MOST_FOLDS`], whose heads are trained without this row |
//! | group | class * stride + fold, the id that comes with each row; signs of heads are by group |
//! | stride | how many folds there may be, 1 where a plan has none: [`Plan::stride`] |
//! | final head | trained on every row: with two classes one head (class 0 negative, class 1 positive), with K > 2 one a class, that class against the others |
//! | held-out head | the same for one C and one fold, trained on all rows but the fold's; its decisions on those are *held-out decisions* |
//!
//! A training has one stage or two:
//!
//! | plan | first stage | second stage |
//! |---|---|---|
//! | one C | final heads | |
//! | one C, probabilities or intervals | final heads and held-out heads | |
//! | several C | held-out heads of each C | final heads at the best C |
//! | several s of a truncated loss | held-out heads of each C and s | final heads at the best of them |
//! | to validate | held-out heads of each C and s | |
//!
//! Where the best C is the smallest or the largest, and scores rise towards it, there may be stages in between: each with the
//! held-out heads of one C beyond, as long as that is better ([`Plan::beyond`]).
//!
//! All heads of a stage are trained in the same passes over the rows; the second stage goes on with the rows as they are,
//! in the cache or the spool. Which C is the best says [`Scoring`], of equals it is the smaller.
//!
//! A held-out head has to rank and to count, not to be stored: it may stop at a looser gap ([`HELD_OUT_TOLERANCE`]) and
//! after [`HELD_OUT_PASSES`] full passes, so that a C that is far too large holds nobody up.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory};
use crate::base::random::{Random, Stream};
use crate::calibration::{Calibration, CalibrationChoice};
use crate::heads::{HeadSpec, HeldOut, Signs};
use crate::pairs::{Pairs, Telling};
use crate::problem::Problem;
use crate::quantiles;
use crate::scoring::Scoring;

/// Folds that there may be where a column says them; fold ids are below this.
pub const MOST_FOLDS: u32 = 64;
/// Relative gap at which a held-out head stops, unless the problem's tolerance is looser.
pub const HELD_OUT_TOLERANCE: f64 = 1e-2;
/// Full passes after which a held-out head stops with the gap it has reached.
pub const HELD_OUT_PASSES: u32 = 40;

/// How rows are divided into folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Folds {
    /// Into so many, 2 to [`MOST_FOLDS`]; the caller draws each row's, see [`drawn_fold`].
    Count(u32),
    /// The source says each row's, below [`MOST_FOLDS`].
    Column,
    /// The same, of so many that follow each other: the heads of a fold are trained on those before it, so that the first has
    /// none and its rows are never held out.
    Forward(u32),
}

/// What a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// A model: final heads.
    Train,
    /// To know how good each C is; no final heads.
    Validate,
}

/// A classifier to be trained or validated, of as many classes as the rows turn out to have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Values of C to choose from, positive and finite; one: no choice.
    #[serde(deserialize_with = "list")]
    pub costs: Vec<f64>,
    /// Where losses are truncated, the s to choose from; none or one: no choice, and none: the problem's.
    #[serde(deserialize_with = "list")]
    pub truncations: Vec<f64>,
    /// How rows are held out; None: none is.
    pub folds: Option<Folds>,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether the final heads get probabilities, fitted to held-out decisions.
    pub probability: bool,
    /// Whether rows are held out to know how far predictions of numbers are off.
    pub intervals: bool,
    /// By what probabilities are made.
    pub calibration: CalibrationChoice,
    /// Whether the class of a row is the most probable one, of more than two; else that of the largest decision, or of the most votes.
    pub by_probability: bool,
    /// Up to so many classes, where there are more than two, each head tells two of them apart: see [`crate::pairs::Pairs`]. With more
    /// each tells one from the rest.
    pub pairs_up_to: usize,
    /// What says which C is the best.
    pub scoring: Scoring,
    /// How many values of C beyond the smallest or largest are tried, one after the other, as long as scores rise there.
    pub beyond: u32,
    /// Gap and passes at which the final heads stop, where they are but a beginning; None: as the problem says.
    pub final_stop: Option<(f64, u32)>,
    /// Where rows are of one class, the share of their bounds that the dual variables are to come to, in place of a C; strictly
    /// between 0 and 1.
    pub nu: Option<f64>,
    /// The C at which the search for that of nu begins, above 0; None where nobody knows one.
    pub nu_from: Option<f64>,
    /// Of rows with targets, the quantiles to predict, ascending, each by a head of its own; none: one head, on both of whose sides a loss
    /// counts alike.
    #[serde(deserialize_with = "list")]
    pub quantiles: Vec<f64>,
}

/// What heads of one classifier are trained with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    pub c: f64,
    /// s, where the plan says which; else it is the problem's.
    pub truncation: Option<f64>,
}

/// Why a plan cannot be carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlanError {
    /// No value of C.
    NoCost,
    /// A C that is not positive and finite.
    Cost(f64),
    /// An s that is not positive and finite.
    Truncation(f64),
    /// Quantiles that are none, too many, or that do not ascend.
    Quantiles,
    /// A number of folds out of 2 to [`MOST_FOLDS`].
    FoldCount(u32),
    /// To choose C, to validate, and for probabilities and intervals rows must be held out.
    NoFolds,
    /// Rows of so many folds only, where two are the least.
    FoldsFound(u32),
    OutOfMemory(OutOfMemory),
}

impl From<OutOfMemory> for PlanError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCost => write!(f, "there is no value of c"),
            Self::Cost(c) => write!(f, "c must be positive and finite, but is {c}"),
            Self::Truncation(s) => {
                write!(f, "truncation must be positive and finite, but is {s}")
            }
            Self::Quantiles => write!(f, "quantiles must ascend between 0 and 1"),
            Self::FoldCount(count) => write!(
                f,
                "the number of folds must lie between 2 and {MOST_FOLDS}, but is {count}"
            ),
            Self::NoFolds => write!(f, "rows must be held out, but there are no folds"),
            Self::FoldsFound(found) => {
                write!(f, "the rows are of {found} fold(s), at least 2 are needed")
            }
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// One C, no row held out, no probabilities and no intervals.
    pub fn train(c: f64) -> Self {
        Self {
            costs: vec![c],
            truncations: Vec::new(),
            folds: None,
            purpose: Purpose::Train,
            probability: false,
            intervals: false,
            calibration: CalibrationChoice::Auto,
            by_probability: false,
            pairs_up_to: 0,
            scoring: Scoring::Accuracy,
            beyond: 0,
            final_stop: None,
            nu: None,
            nu_from: None,
            quantiles: Vec::new(),
        }
    }

    /// Folds that ids of groups leave room for: group = class * stride + fold.
    pub fn stride(&self) -> u32 {
        match self.folds {
            None => 1,
            Some(Folds::Count(count) | Folds::Forward(count)) => count.max(1),
            Some(Folds::Column) => MOST_FOLDS,
        }
    }

    /// What there is to choose from, by C and then s.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate> + '_ {
        let count = self.truncations.len().max(1);
        (0..self.costs.len() * count).map(move |number| Candidate {
            c: self.costs[number / count],
            truncation: self.truncations.get(number % count).copied(),
        })
    }

    /// How many those are.
    pub fn candidate_count(&self) -> usize {
        self.costs.len() * self.truncations.len().max(1)
    }

    /// How many heads each pair of classes has, final and held-out ones, with as many folds as there may be.
    pub fn heads_of_pair(&self) -> usize {
        match self.holds_out() {
            true => 1 + self.candidate_count() * self.stride() as usize,
            false => 1,
        }
    }

    /// Whether rows are held out.
    pub fn holds_out(&self) -> bool {
        self.candidate_count() > 1
            || self.probability
            || self.intervals
            || self.purpose == Purpose::Validate
    }

    /// Checks what does not depend on the rows.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.costs.is_empty() {
            return Err(PlanError::NoCost);
        }
        let wrong = |value: &&f64| !(**value > 0.0 && value.is_finite());
        if let Some(&c) = self.costs.iter().find(wrong) {
            return Err(PlanError::Cost(c));
        }
        if let Some(&s) = self.truncations.iter().find(wrong) {
            return Err(PlanError::Truncation(s));
        }
        if !quantiles::are_sound(&self.quantiles) {
            return Err(PlanError::Quantiles);
        }
        match self.folds {
            Some(Folds::Count(count) | Folds::Forward(count))
                if !(2..=MOST_FOLDS).contains(&count) =>
            {
                Err(PlanError::FoldCount(count))
            }
            None if self.holds_out() => Err(PlanError::NoFolds),
            _ => Ok(()),
        }
    }
}

/// What a trainer is to train.
#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    /// These heads, which are all final; groups of rows are what their signs say.
    Heads(Vec<HeadSpec>),
    /// The heads of this plan.
    Plan(Plan),
}

impl Goal {
    /// [`Plan::stride`], 1 for given heads.
    pub fn stride(&self) -> u32 {
        match self {
            Self::Heads(_) => 1,
            Self::Plan(plan) => plan.stride(),
        }
    }
}

impl From<Vec<HeadSpec>> for Goal {
    fn from(heads: Vec<HeadSpec>) -> Self {
        Self::Heads(heads)
    }
}

impl From<Plan> for Goal {
    fn from(plan: Plan) -> Self {
        Self::Plan(plan)
    }
}

/// The fold of the `nth` row of a class: each `folds` consecutive rows of a class go to all folds, in an order drawn
/// from the seed, so that folds have equally many rows of each class, give or take one.
pub fn drawn_fold(seed: u64, class: u32, nth: u64, folds: u32) -> u32 {
    let mut order: [u32; MOST_FOLDS as usize] = std::array::from_fn(|fold| fold as u32);
    let folds = folds.clamp(1, MOST_FOLDS) as usize;
    let turn = nth / folds as u64;
    let mixed = seed ^ (turn << 24).wrapping_add(class.into());
    Random::new(mixed, Stream::Folds).shuffle(&mut order[..folds]);
    order[(nth % folds as u64) as usize]
}

/// The classes and folds that rows turned out to have.
#[derive(Clone)]
pub struct Layout {
    classes: usize,
    stride: usize,
    /// Folds that have heads of their own, ascending: those that have rows.
    folds: Vec<u32>,
    /// Whether those heads are trained on the folds before alone.
    forward: bool,
    /// By class, what it weighs where it is positive; empty: 1.
    positive_weights: Arc<Vec<f32>>,
    /// Whether the class of a row is the most probable one.
    by_probability: bool,
    /// Those that heads tell apart; None where each tells a class from the rest.
    pairs: Option<Arc<Pairs>>,
    /// As the plan has them.
    final_stop: Option<(f64, u32)>,
    quantiles: Arc<Vec<f64>>,
}

impl Layout {
    /// `groups`: largest id of a group + 1; `folds`: a bit for each fold that occurs; `positive_weights`: by class, what it
    /// weighs where it is positive, or none.
    pub fn new(
        plan: &Plan,
        groups: usize,
        folds: u64,
        positive_weights: &Arc<Vec<f32>>,
    ) -> Result<Self, PlanError> {
        let stride = plan.stride() as usize;
        let mut folds: Vec<u32> = (0..MOST_FOLDS)
            .filter(|fold| folds >> fold & 1 != 0)
            .collect();
        if plan.holds_out() && folds.len() < 2 {
            return Err(PlanError::FoldsFound(folds.len() as u32));
        }
        let forward = matches!(plan.folds, Some(Folds::Forward(_)));
        if forward {
            folds.remove(0);
        }
        let classes = groups.div_ceil(stride);
        let in_pairs = classes > 2 && classes <= plan.pairs_up_to;
        let pairs = in_pairs.then(|| Pairs::all(classes)).transpose()?;
        Ok(Self {
            classes,
            stride,
            folds,
            forward,
            positive_weights: positive_weights.clone(),
            by_probability: plan.by_probability,
            pairs: pairs.map(Arc::new),
            final_stop: plan.final_stop,
            quantiles: Arc::new(copied(&plan.quantiles)?),
        })
    }

    /// Folds that have heads of their own, ascending.
    pub fn folds(&self) -> &[u32] {
        &self.folds
    }

    /// Classes that there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Heads of one classifier: one for two classes, for more one a class or one a pair of them; of quantiles one each.
    pub fn heads(&self) -> usize {
        match &self.pairs {
            Some(pairs) => Pairs::count(pairs.classes()),
            None if self.classes > 2 => self.classes,
            None => self.quantiles.len().max(1),
        }
    }

    /// What heads predict, where these are quantiles.
    pub fn quantiles(&self) -> &[f64] {
        &self.quantiles
    }

    /// The pairs that heads tell apart; None where each tells a class from the rest.
    pub fn pairs(&self) -> Option<&Pairs> {
        self.pairs.as_deref()
    }

    /// What says the class of a row, where these calibrations were fitted, of classes of these ranks.
    pub fn telling(
        &self,
        calibrations: &[Calibration],
        ranks: &[u32],
    ) -> Result<Telling, OutOfMemory> {
        Telling::new(
            self.pairs(),
            match self.by_probability {
                true => calibrations,
                false => &[],
            },
            ranks,
        )
    }

    /// Folds that there may be.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The class of a group.
    pub fn class(&self, group: usize) -> usize {
        group / self.stride
    }

    /// The fold of a group.
    pub fn fold(&self, group: usize) -> u32 {
        (group % self.stride) as u32
    }

    /// The class that is positive for a head of a classifier, and the one that is negative; None: all others are.
    fn sides(&self, head: usize) -> (usize, Option<usize>) {
        match &self.pairs {
            Some(pairs) => {
                let [positive, negative] = pairs.sides(head);
                (positive, Some(negative))
            }
            None if self.classes > 2 => (head, None),
            None => (1, None),
        }
    }

    /// Whether a class is positive for a head of a classifier; None where its rows take no part.
    pub fn is_positive(&self, class: usize, head: usize) -> Option<bool> {
        let (positive, negative) = self.sides(head);
        let takes_part = negative.is_none_or(|it| it == class) || class == positive;
        takes_part.then_some(class == positive)
    }

    /// The final heads, appended to `heads`.
    pub fn add_final(
        &self,
        candidate: Candidate,
        heads: &mut Vec<HeadSpec>,
    ) -> Result<(), OutOfMemory> {
        let first = heads.len();
        self.add(candidate, HeldOut::Nothing, heads)?;
        if let Some((tolerance, max_passes)) = self.final_stop {
            for head in &mut heads[first..] {
                (head.tolerance, head.max_passes) = (Some(tolerance), Some(max_passes));
            }
        }
        Ok(())
    }

    /// The held-out heads, by candidate, fold and class, appended to `heads`.
    pub fn add_held_out(
        &self,
        candidates: impl Iterator<Item = Candidate>,
        problem: &Problem,
        heads: &mut Vec<HeadSpec>,
    ) -> Result<(), OutOfMemory> {
        let first = heads.len();
        for candidate in candidates {
            for &fold in &self.folds {
                let held_out = match self.forward {
                    true => HeldOut::From(fold),
                    false => HeldOut::Fold(fold),
                };
                self.add(candidate, held_out, heads)?;
            }
        }
        for head in &mut heads[first..] {
            head.tolerance = Some(problem.tolerance().max(HELD_OUT_TOLERANCE));
            head.max_passes = Some(problem.max_passes().min(HELD_OUT_PASSES));
        }
        Ok(())
    }

    fn add(
        &self,
        candidate: Candidate,
        held_out: HeldOut,
        heads: &mut Vec<HeadSpec>,
    ) -> Result<(), OutOfMemory> {
        let groups = self.classes.max(2) * self.stride;
        for head in 0..self.heads() {
            let (positive, negative) = self.sides(head);
            let stride = self.stride;
            let signs = match negative {
                None => Signs::Against {
                    positive,
                    stride,
                    held_out,
                    groups,
                },
                Some(negative) => Signs::Between {
                    positive,
                    negative,
                    stride,
                    held_out,
                    groups,
                },
            };
            let bytes = size_of::<HeadSpec>() as u64;
            heads.try_reserve(1).map_err(|_| OutOfMemory { bytes })?;
            let weight = self.positive_weights.get(positive);
            let spec = HeadSpec {
                positive_weight: weight.copied().unwrap_or(1.0),
                truncation: candidate.truncation,
                ..HeadSpec::new(signs, candidate.c)
            };
            heads.push(match self.quantiles.get(head) {
                Some(tau) => spec.of_quantile(*tau),
                None => spec,
            });
        }
        Ok(())
    }
}
