//! Rows near the kink of their loss. A pass returns them whole. With them the primal is known exactly at all weights within reach, not only at
//! the weights of the pass ([`super::local`]).
//!
//! | symbol | is |
//! |---|---|
//! | z | 1 - y <w, x> at the weights of the pass: the loss of a row is c max(0, z)^2 |
//! | u | by column the reciprocal of its curvature; \|s\|^2 = sum s_j^2 / u_j measures a step |
//! | r | sqrt(sum u_j x_j^2): \|<s, x>\| is r \|s\| at most (Cauchy and Schwarz) |
//! | reach | a row with \|z\| < reach r is near |
//!
//! For a row that is not near, z keeps its sign for all steps with |s| up to reach. If it is within the margin, its loss is c (z - y <s, x>)^2
//! there; the pass sums up its gradient and products. If it is beyond, its loss is 0. If there is no room for all near rows, the reach
//! shrinks, and the farthest of them are summed up like the others.

use serde::{Deserialize, Serialize};

use crate::linalg::gram::Gram;
use crate::rows::row::Row;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::fixed_weights::{added, Numbers};
use crate::solver::held_rows::{Beside, HeldRows};

/// Which rows of a pass are near.
#[derive(Serialize, Deserialize)]
pub(super) struct Nearness {
    /// By column, the constant's last.
    pub(super) u: Numbers,
    pub(super) reach: f64,
    /// The largest of u.
    pub(super) largest: f64,
    /// Words that they may take.
    pub(super) room: u64,
    /// Dense features of a row.
    pub(super) dense: u32,
}

/// |x|^2 of a row is kept in 32 bits.
const ROUNDED_Q: f64 = 1.0 + 1e-5;

/// The near rows of a pass.
#[derive(Serialize, Deserialize)]
pub(super) struct NearRows {
    pub(super) rows: HeldRows<Near>,
    pub(super) reach: f64,
    room: u64,
    intercept: f64,
}

/// What is known of a near row.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Near {
    /// z / r
    away: f64,
    /// c y
    pub(super) by: f64,
    words: u32,
}

impl Beside for Near {
    #[inline(always)]
    fn away(&self) -> f64 {
        self.away.abs()
    }

    #[inline(always)]
    fn words(&self) -> usize {
        self.words as usize
    }
}

impl Nearness {
    /// None yet.
    pub(super) fn begin(&self, intercept: f64) -> NearRows {
        NearRows {
            rows: HeldRows::new(self.dense),
            reach: self.reach,
            room: self.room,
            intercept,
        }
    }

    /// r^2
    #[inline(always)]
    fn square<K: Isa>(&self, row: &Row<'_>, constant: f64) -> f64 {
        let (u, dense) = (&self.u.0[..], row.dense());
        let own = &u[..dense.len()];
        let (_, of_dense) = f64::dot_damped_dense::<K>(dense, own, own);
        let (_, of_sparse) = f64::dot_damped_sparse::<K>(row.sparse(), u, u);
        of_dense + of_sparse + constant
    }

    /// What is known of a row with this z and c y, where it is near as far as is known yet.
    #[inline(always)]
    pub(super) fn look<K: Isa>(
        &self,
        rows: &NearRows,
        row: &Row<'_>,
        (z, by): (f64, f64),
    ) -> Option<Near> {
        let constant = self
            .u
            .0
            .last()
            .map_or(0.0, |last| last * rows.intercept.powi(2));
        // most rows are too far away whatever their values
        let most = f64::from(row.q()) * ROUNDED_Q * self.largest + constant;
        if z * z >= rows.reach * rows.reach * most {
            return None;
        }
        let away = z / self.square::<K>(row, constant).sqrt();
        (away.abs() < rows.reach).then_some(Near {
            away,
            by,
            words: row.values() as u32,
        })
    }
}

impl NearRows {
    /// Holds a row, unless others are nearer and there is no room; then it goes to the products, as those do that give way.
    #[inline(always)]
    pub(super) fn take<K: Isa>(&mut self, row: &Row<'_>, near: Near, gram: &mut Gram) {
        while near.away() < self.reach && (self.rows.words() + row.values()) as u64 > self.room {
            let reach = self.rows.nearer().unwrap_or(0.0);
            self.come_within(reach, gram);
        }
        if near.away() < self.reach && self.rows.push(row, near).is_err() {
            self.come_within(0.0, gram);
        }
        if near.away() >= self.reach {
            add::<K>(gram, row, &near, self.intercept);
        }
    }

    /// Takes this reach.
    #[cold]
    fn come_within(&mut self, reach: f64, gram: &mut Gram) {
        Level::best().run(ComeWithin {
            near: self,
            reach,
            gram,
        });
    }

    /// Whether they are rows with so many features at most, and near; those that came as bytes may not be.
    pub(super) fn are_sound(&self, features: usize, groups: usize) -> bool {
        let is_near = |near: &Near| near.away() < self.reach;
        self.rows.are_sound(features, groups, is_near)
    }

    /// Joins those of other rows, of the same pass.
    pub(super) fn join(&mut self, more: &Self, gram: &mut Gram) {
        self.come_within(self.reach.min(more.reach), gram);
        Level::best().run(JoinRows {
            near: self,
            more,
            gram,
        });
    }
}

/// Adds the products of a row that is within the margin.
#[inline(always)]
fn add<K: Isa>(gram: &mut Gram, row: &Row<'_>, near: &Near, intercept: f64) {
    if near.away > 0.0 {
        gram.add::<K>(added(row, near.by.abs(), intercept));
    }
}

/// Rows that are farther away go to the products.
struct ComeWithin<'a> {
    near: &'a mut NearRows,
    reach: f64,
    gram: &'a mut Gram,
}

impl Work for ComeWithin<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let Self { near, reach, gram } = self;
        if reach >= near.reach {
            return;
        }
        near.reach = reach;
        let intercept = near.intercept;
        near.rows.retain(
            |row| row.away() < reach,
            |row, beside| add::<K>(gram, row, beside, intercept),
        );
    }
}

/// Takes in what came of other rows.
struct JoinRows<'a> {
    near: &'a mut NearRows,
    more: &'a NearRows,
    gram: &'a mut Gram,
}

impl Work for JoinRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (row, beside) in self.more.rows.from((0, 0)) {
            self.near.take::<K>(&row, *beside, self.gram);
        }
    }
}
