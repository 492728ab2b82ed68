//! Several classes that are told apart together (Crammer, Singer, JMLR 2, 2001): the weights of all of them are one vector, class
//! by class.
//!
//! primal    1/2 sum_k |w_k|^2 + C sum c max(0, 1 + max_(k != y) <w_k, x> - <w_y, x>)
//!
//! The loss of a row is the largest of as many lines as there are classes, its own one 0. Its plane takes the row to its own class,
//! and from the class that is nearest to passing it, where 1 + <w_k, x> - <w_y, x> is above 0.

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, list, OutOfMemory, Room};
use crate::rows::row::Row;
use crate::simd::Isa;
use crate::solver::bundle::kinks::Line;
use crate::solver::fixed_weights::add_row;

/// The class of groups whose rows take no part.
const NONE: u32 = u32::MAX;

/// The classes of rows.
#[derive(Serialize, Deserialize)]
pub(in crate::solver) struct Classes {
    /// By group.
    #[serde(deserialize_with = "list")]
    of: Vec<u32>,
    /// By class what the costs of its rows are multiplied by.
    #[serde(deserialize_with = "list")]
    weights: Vec<f64>,
}

/// The class of a row, and what its loss counts beside C.
#[derive(Clone, Copy)]
pub(in crate::solver) struct OwnClass {
    pub(in crate::solver) class: usize,
    pub(in crate::solver) cost: f64,
}

impl Classes {
    /// By class the signs of groups, above 0 where their rows are of it, and what the costs of these are multiplied by.
    pub(in crate::solver) fn of<'a>(
        heads: impl ExactSizeIterator<Item = (&'a [i8], f64)>,
    ) -> Result<Self, OutOfMemory> {
        let (mut of, mut weights) = (Vec::new(), Vec::new());
        weights.room(heads.len())?;
        for (class, (signs, weight)) in heads.enumerate() {
            if of.len() < signs.len() {
                let more = signs.len() - of.len();
                of.room(more)?.resize(signs.len(), NONE);
            }
            for (of, sign) in of.iter_mut().zip(signs) {
                if *sign > 0 {
                    *of = class as u32;
                }
            }
            weights.push(weight);
        }
        Ok(Self { of, weights })
    }

    /// The same once more.
    pub(super) fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            of: copied(&self.of)?,
            weights: copied(&self.weights)?,
        })
    }

    /// How many there are.
    pub(in crate::solver) fn count(&self) -> usize {
        self.weights.len()
    }

    /// Whether they are those of rows with so many groups: what came from elsewhere may not.
    pub(in crate::solver) fn fits(&self, groups: usize) -> bool {
        let known = |class: &u32| *class == NONE || (*class as usize) < self.count();
        self.count() > 1 && self.of.len() >= groups && self.of.iter().all(known)
    }

    /// That of a row; None where it takes no part.
    #[inline(always)]
    pub(in crate::solver) fn own(&self, row: &Row<'_>) -> Option<OwnClass> {
        let class = self.of[row.group()];
        (class != NONE).then(|| OwnClass {
            class: class as usize,
            cost: f64::from(row.cost()) * self.weights[class as usize],
        })
    }
}

/// The loss of a row of this class by each, from its scores at either end of a line, in their place.
#[inline(always)]
pub(super) fn lose(lines: &mut [Line], own: usize) {
    let Line { at, along } = lines[own];
    for line in lines.iter_mut() {
        line.at += 1.0 - at;
        line.along -= along;
    }
    lines[own] = Line::ZERO;
}

/// The class that a row of this class is nearest to be taken for, the first of equals, where it is within the margin.
#[inline(always)]
pub(super) fn rival(scores: &[f64], own: usize) -> Option<usize> {
    let (mut most, mut place, mut owns) = (f64::NEG_INFINITY, own, 0.0);
    for (class, score) in scores.iter().copied().enumerate() {
        if class == own {
            owns = score;
        } else if score > most {
            (most, place) = (score, class);
        }
    }
    (1.0 + most - owns > 0.0).then_some(place)
}

/// sum += by x at its own class, and less that at the rival.
#[inline(always)]
pub(super) fn add_between<K: Isa>(
    sum: &mut [f64],
    (own, rival): (usize, usize),
    by: f64,
    (row, classes, intercept): (&Row<'_>, usize, f64),
) {
    let length = sum.len() / classes;
    for (class, by) in [(own, by), (rival, -by)] {
        add_row::<K>(&mut sum[class * length..][..length], by, row, intercept);
    }
}
