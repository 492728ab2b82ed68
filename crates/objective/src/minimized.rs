//! What is minimized for one head.
//!
//! primal     P(w) = 1/2 |w|^2 + C sum c L(y <w, x>)
//! truncated  T(w) = 1/2 |w|^2 + C sum c min(L(y <w, x>), 1 + s)
//!
//! The intercept's weight is the last of w, behind a constant at the end of each row; it counts in |w| but where it is free.
//!
//! A row may have an offset o ([`Row::offset`]), a number that its score has beside <w, x>: a feature whose weight is 1 and in no norm.
//! Margins are then y (<w, x> + o), and in the dual a counts a (1 - y o) where it counts a without one:
//!
//! dual       D(a) = sum of (p - y o) a - 1/2 d a^2, less 1/2 |sum of a y x|^2

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory};
use crate::loss::{Loss, NO_LOSS_FROM};
use crate::rows::row::Row;
use crate::simd::{Isa, Real};

/// The distance over which dual variables rise where the slope of a loss jumps.
const NEAR_JUMP: f64 = 0.02;

#[derive(Serialize, Deserialize)]
pub struct Objective {
    /// By group id: -1, +1, or 0 for rows that take no part.
    #[serde(deserialize_with = "list")]
    pub signs: Vec<i8>,
    pub c: f64,
    /// What the costs of positive rows are multiplied by.
    pub positive_weight: f64,
    pub loss: Loss,
    /// The constant behind a row's features, 0 without an intercept.
    pub intercept: f64,
    /// Whether the intercept's weight is not in the norm.
    pub free: bool,
    /// s, where losses are truncated.
    pub truncation: Option<f64>,
    /// How far within the margin a row may be, 1 - m; one that is further is an outlier, which costs what this costs and has no say
    /// in the weights. Infinite where the loss is not truncated, or not yet.
    pub most_within: f64,
    /// The weights that sort rows for a whole round, so that its problem is convex; empty where the weights at hand do.
    #[serde(deserialize_with = "list")]
    pub sorted_at: Vec<f64>,
}

/// An intercept: none, one in the norm, or a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Intercept {
    None,
    InNorm,
    Free,
}

impl Intercept {
    /// One in the norm, if there `is` one.
    pub fn in_norm(is: bool) -> Self {
        match is {
            true => Self::InNorm,
            false => Self::None,
        }
    }

    /// The constant behind a row's features.
    pub fn constant(self) -> f64 {
        f64::from(u8::from(self != Self::None))
    }
}

impl Objective {
    /// Of a loss that is not truncated.
    pub fn new(
        signs: Vec<i8>,
        (loss, c, positive_weight): (Loss, f64, f64),
        intercept: Intercept,
    ) -> Self {
        Self {
            signs,
            c,
            positive_weight,
            loss,
            intercept: intercept.constant(),
            free: intercept == Intercept::Free,
            truncation: None,
            most_within: f64::INFINITY,
            sorted_at: Vec::new(),
        }
    }

    /// The same with losses of 1 + s at most.
    pub fn truncated(mut self, s: Option<f64>) -> Self {
        self.truncation = s;
        self.truncate(true);
        self
    }

    /// The same once more.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            signs: copied(&self.signs)?,
            sorted_at: copied(&self.sorted_at)?,
            ..*self
        })
    }

    /// Whether it fits rows with so many features and groups: what came from elsewhere may not.
    pub fn fits(&self, features: usize, groups: usize) -> bool {
        self.signs.len() >= groups && (!self.is_sorted() || self.sorted_at.len() == features + 1)
    }

    /// Has rows be outliers from now on, or none.
    pub fn truncate(&mut self, truncates: bool) {
        let s = self.truncation.filter(|_| truncates);
        self.most_within = s.map_or(f64::INFINITY, |s| self.loss.within_at(1.0 + s));
    }

    /// Whether its losses are truncated.
    pub fn is_truncated(&self) -> bool {
        self.truncation.is_some()
    }

    /// How far within the margin a row of this sign and score is, 1 - m.
    #[inline(always)]
    pub fn within(&self, y: f64, score: f64) -> f64 {
        NO_LOSS_FROM - y * score
    }

    /// What a row of cost 1 has in the second derivative of the primal where it is within the margin: C L''.
    #[inline(always)]
    pub fn curvature(&self) -> f64 {
        self.loss.curvature() * self.c
    }

    /// What (1 - m)^2 of a row of cost 1 within the margin counts in the primal, where the loss is a parabola: C L'' / 2. Its part of
    /// the dual, a^2 / (2 C L''), is the same times (1 - m)^2 where a is the slope.
    #[inline(always)]
    pub fn half_curvature(&self) -> f64 {
        0.5 * self.curvature()
    }

    /// The dual variable that goes with this distance within the margin: C c times minus the slope of the loss, 0 of an outlier. Where the
    /// slope has a jump it may be any of a range there, and is taken to rise over a short distance on either side: only the optimum says
    /// which it is.
    pub fn dual_of(&self, cost: f64, within: f64) -> f64 {
        let share = match self.loss.is_smooth() {
            _ if self.is_out(within) => 0.0,
            true => self.loss.steepness(NO_LOSS_FROM - within),
            false => self.loss.slope() * (0.5 + within / NEAR_JUMP).clamp(0.0, 1.0),
        };
        self.c * cost * share
    }

    /// The largest loss of a row.
    pub fn most_loss(&self) -> f64 {
        self.truncation.map_or(f64::INFINITY, |s| 1.0 + s)
    }

    /// Whether a row that is so far within the margin is an outlier.
    #[inline(always)]
    pub fn is_out(&self, within: f64) -> bool {
        within > self.most_within
    }

    /// Whether a round sorts rows, and not the weights at hand.
    #[inline(always)]
    pub fn is_sorted(&self) -> bool {
        !self.sorted_at.is_empty()
    }

    /// Whether a row on this side is an outlier of the round, which costs [`Self::most_loss`] at any weights.
    #[inline(always)]
    pub fn is_sorted_out<K: Isa>(&self, row: &Row<'_>, y: f64) -> bool {
        self.is_sorted() && self.is_out(self.within(y, self.score::<K>(row, &self.sorted_at)))
    }

    /// The sign of a row, 0 where it takes no part, and what its loss counts beside C.
    #[inline(always)]
    pub fn side(&self, row: &Row<'_>) -> (f64, f64) {
        let y = f64::from(self.signs[row.group()]);
        (y, self.cost(row, y))
    }

    /// What the loss of a row counts beside C on the side of this sign.
    #[inline(always)]
    pub fn cost(&self, row: &Row<'_>, y: f64) -> f64 {
        let weight = if y > 0.0 { self.positive_weight } else { 1.0 };
        f64::from(row.cost()) * weight
    }

    /// Whether a row that takes part is within the margin at these weights, and no outlier.
    #[inline(always)]
    pub fn is_within<K: Isa>(&self, row: &Row<'_>, w: &[f64]) -> bool {
        let y = f64::from(self.signs[row.group()]);
        let within = self.within(y, self.score::<K>(row, w));
        y != 0.0 && within > 0.0 && !self.is_out(within)
    }

    /// <w, x>, the intercept's constant behind the features, and the row's offset.
    #[inline(always)]
    pub fn score<K: Isa>(&self, row: &Row<'_>, w: &[f64]) -> f64 {
        self.along::<K>(row, w) + row.offset()
    }

    /// What a step of the weights adds to the score of a row.
    #[inline(always)]
    pub fn along<K: Isa>(&self, row: &Row<'_>, step: &[f64]) -> f64 {
        score::<K>(row, step, self.intercept)
    }
}

/// <w, x>, with the intercept's constant behind the features; without the row's offset.
#[inline(always)]
pub fn score<K: Isa>(row: &Row<'_>, w: &[f64], intercept: f64) -> f64 {
    let dense = row.dense();
    let score = f64::dot_dense::<K>(dense, &w[..dense.len()]);
    score + f64::dot_sparse::<K>(row.sparse(), w) + intercept * w[w.len() - 1]
}

/// The target t of a row on side y whose offset is y (1 + epsilon) - t: see `scaling::target` of the crate delivery.
pub fn target_of(offset: f64, y: f64, epsilon: f64) -> f64 {
    y * (NO_LOSS_FROM + epsilon) - offset
}

/// By what sums of dual variables, of negative rows and of positive ones, are multiplied so that both are the same: what the dual asks where
/// the intercept is free.
pub fn balanced(negative: f64, positive: f64) -> [f64; 2] {
    match negative > positive {
        true => [positive / negative, 1.0],
        false => [
            1.0,
            if positive > 0.0 {
                negative / positive
            } else {
                1.0
            },
        ],
    }
}

/// The part of their losses that rows are taken to lose where [`balanced`] scales dual variables that come to `sum` and, with the signs of
/// their rows, to `unbalanced`.
pub fn share_off_balance(unbalanced: f64, sum: f64) -> f64 {
    match unbalanced == 0.0 {
        true => 0.0,
        false => 2.0 * unbalanced.abs() / sum,
    }
}
