//! Decisions of held-out heads in a training by scans. The heads that were trained without a row's fold decide the row: one decision for each
//! candidate and head of a classifier. Rows come back in any order, as a group and its decisions, four bytes each.

use serde::{Deserialize, Serialize};

use crate::base::memory::{list, OutOfMemory, Room};
use crate::objective::minimized::{score, target_of};
use crate::rows::row::Row;
use crate::simd::Isa;
use crate::solver::fixed_weights::Numbers;

/// A row's fold has no heads: it is never held out.
const NOWHERE: u32 = u32::MAX;

/// Heads that decide.
#[derive(Serialize, Deserialize)]
pub struct Decide {
    /// By candidate, fold and head of a classifier: the weights of each, the intercept's last.
    w: Numbers,
    /// The constant behind a row's features.
    intercept: f64,
    /// By fold, its place among those that have heads, or [`NOWHERE`].
    #[serde(deserialize_with = "list")]
    places: Vec<u32>,
    folds: u32,
    candidates: u32,
    /// Of a classifier.
    heads: u32,
    /// Where rows have targets.
    epsilon: Option<f64>,
}

/// What they have decided.
#[derive(Serialize, Deserialize)]
pub struct Decided {
    /// By row.
    #[serde(deserialize_with = "list")]
    pub groups: Vec<u32>,
    /// By row, candidate and head of a classifier.
    #[serde(deserialize_with = "list")]
    pub decisions: Vec<f32>,
    /// By row, where rows have targets; decisions are how far above them then.
    #[serde(deserialize_with = "list")]
    pub targets: Vec<f64>,
    width: u32,
    /// Whether there was no memory for a row.
    failed: bool,
}

impl Decide {
    /// So many candidates, of each fold that has a place so many heads, whose `weights` follow one another; the constant behind features, and
    /// epsilon where rows have targets.
    pub fn new(
        (candidates, heads): (usize, usize),
        places: impl Iterator<Item = Option<usize>>,
        weights: Vec<f64>,
        (intercept, epsilon): (f64, Option<f64>),
    ) -> Result<Self, OutOfMemory> {
        let mut all = Vec::new();
        for place in places {
            all.room(1)?
                .push(place.map_or(NOWHERE, |place| place as u32));
        }
        Ok(Self {
            w: Numbers(weights),
            intercept,
            folds: all.iter().filter(|place| **place != NOWHERE).count() as u32,
            places: all,
            candidates: candidates as u32,
            heads: heads as u32,
            epsilon,
        })
    }

    /// Decisions of a row.
    pub fn width(&self) -> usize {
        self.candidates as usize * self.heads as usize
    }

    /// Whether it fits rows with so many features: what came from elsewhere may not.
    pub fn fits(&self, features: usize) -> bool {
        let vectors = self.width().checked_mul(self.folds as usize);
        let length = vectors.and_then(|vectors| vectors.checked_mul(features + 1));
        let has = |place: &u32| *place < self.folds || *place == NOWHERE;
        self.width() > 0
            && length == Some(self.w.0.len())
            && !self.places.is_empty()
            && self.epsilon.is_none_or(f64::is_finite)
            && self.places.iter().all(has)
    }

    /// No decisions as yet.
    pub fn begin(&self) -> Decided {
        Decided {
            groups: Vec::new(),
            decisions: Vec::new(),
            targets: Vec::new(),
            width: self.width() as u32,
            failed: false,
        }
    }

    /// Decides a row, unless it is never held out.
    #[inline(always)]
    pub fn add<K: Isa>(&self, all: &mut Decided, row: &Row<'_>) {
        let place = self.places[row.group() % self.places.len()];
        let width = self.width();
        let has_room = all.groups.room(1).is_ok()
            && all.targets.room(1).is_ok()
            && all.decisions.room(width).is_ok();
        if place == NOWHERE || !has_room {
            all.failed |= !has_room;
            return;
        }
        all.groups.push(row.group() as u32);
        let y = [-1.0, 1.0][(row.group() / self.places.len()).min(1)];
        let target = self.epsilon.map(|it| target_of(row.offset(), y, it));
        all.targets.extend(target);
        let (heads, folds) = (self.heads as usize, self.folds as usize);
        let length = self.w.0.len() / (width * folds);
        for candidate in 0..self.candidates as usize {
            let first = (candidate * folds + place as usize) * heads;
            for head in first..first + heads {
                let w = &self.w.0[head * length..][..length];
                let decision = score::<K>(row, w, self.intercept);
                all.decisions
                    .push((decision - target.unwrap_or(0.0)) as f32);
            }
        }
    }
}

impl Decided {
    /// Whether its parts fit one another, and rows are of groups below that one; those of bytes that came from elsewhere may not.
    pub fn is_sound(&self, groups: usize) -> bool {
        let known = |group: &u32| (*group as usize) < groups;
        let decisions = self.groups.len().checked_mul(self.width as usize);
        let targets = self.targets.is_empty() || self.targets.len() == self.groups.len();
        Some(self.decisions.len()) == decisions && targets && self.groups.iter().all(known)
    }

    /// Whether others are of the same pass.
    pub fn fits(&self, more: &Self) -> bool {
        self.width == more.width
    }

    /// Takes those of other rows in.
    pub fn join(&mut self, more: &Self) {
        let groups = self.groups.room(more.groups.len()).is_ok();
        let decisions = self.decisions.room(more.decisions.len()).is_ok();
        let targets = self.targets.room(more.targets.len()).is_ok();
        self.failed |= more.failed || !groups || !decisions || !targets;
        if !self.failed {
            self.groups.extend_from_slice(&more.groups);
            self.decisions.extend_from_slice(&more.decisions);
            self.targets.extend_from_slice(&more.targets);
        }
    }

    /// Refuses decisions of which some are missing.
    pub fn checked(self) -> Result<Self, OutOfMemory> {
        match self.failed {
            false => Ok(self),
            true => Err(OutOfMemory {
                bytes: 4 * (self.groups.len() + self.decisions.len()) as u64,
            }),
        }
    }
}
