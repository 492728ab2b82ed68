//! The weights under training and the proximal shift that holds them near their last position.
//!
//! The subproblem is P(w) + kappa/2 (w - z)' M (w - z) with M the identity, or, where columns differ much in scale,
//! the diagonal of their mean squares m. Kept are u = v + kappa M z (v = sum a y x) and z; then w = u / (1 + kappa m)
//! column by column. M changes the path, not the optimum: kappa and z drop out of the certificate.
//! Vectors have one entry for each feature and, last, one for the intercept's constant feature.
//!
//! A free intercept b is in no norm, so nothing pulls it towards 0. It is pulled towards its centre instead, always: b = (v_b + p z_b) / p with
//! p = rho (1 + kappa m). In the dual this is the method of multipliers for the constraint v_b = sum a y = 0: z_b is the multiplier, 1 / p the
//! penalty. rho is 1, as for any weight in the norm, or less where all dual variables together could hardly move b then; and it falls where
//! sum a y does not: rows far from 0 let the other weights make up for b.

use crate::base::memory::{filled, OutOfMemory};
use crate::base::zeros::zeros;
use crate::objective::minimized::Intercept;
use crate::simd::Real;
use crate::solver::proximal::form::{Damping, WeightMap};
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::proximal::whole::{Whole, MOST_WEIGHTS};

pub struct Iterate<T> {
    u: Vec<T>,
    z: Vec<T>,
    kappa: f64,
    /// 1 / (1 + kappa), for M the identity.
    damp: f64,
    columns: Option<Columns<T>>,
    /// Where M is not diagonal; then u is w itself.
    whole: Option<Box<Whole>>,
    dense: usize,
    intercept: f64,
    /// rho, where the intercept is free.
    rho: Option<f64>,
}

/// M and its inverse, and w = damp u.
struct Columns<T> {
    moment: Vec<f32>,
    inverse: Vec<T>,
    damp: Vec<T>,
}

impl<T: Real> Columns<T> {
    /// Of this M; w is not known yet.
    fn new(moment: &[f32]) -> Result<Self, OutOfMemory> {
        let mut own: Vec<f32> = zeros(moment.len())?;
        own.copy_from_slice(moment);
        let mut inverse: Vec<T> = zeros(moment.len())?;
        for (inverse, moment) in inverse.iter_mut().zip(moment) {
            *inverse = T::of(1.0 / f64::from(*moment));
        }
        Ok(Self {
            moment: own,
            inverse,
            damp: zeros(moment.len())?,
        })
    }
}

/// Squared norms of v, of w and of v - w, without a free intercept.
#[derive(Clone, Copy, Default)]
pub struct Norms {
    pub v: f64,
    pub w: f64,
    pub apart: f64,
    /// Of a free intercept b: b and sum a y, which is 0 at the optimum; else 0 both.
    pub multiplier: f64,
    pub unbalanced: f64,
}

impl Norms {
    /// What the dual at dual variables that are not balanced is less than the sums say, on the way to b: b sum a y.
    pub fn off_balance(&self) -> f64 {
        self.multiplier * self.unbalanced
    }

    /// Adds an entry of v, w and v - w.
    #[inline(always)]
    fn add(&mut self, [v, w, apart]: [f64; 3], is_free: bool) {
        if is_free {
            (self.multiplier, self.unbalanced) = (w, v);
            return;
        }
        self.v += v * v;
        self.w += w * w;
        self.apart += apart * apart;
    }
}

impl<T: Real> Iterate<T> {
    /// All zero, for `features` features and the intercept.
    pub fn new(
        (features, dense): (usize, usize),
        intercept: Intercept,
        kappa: f64,
    ) -> Result<Self, OutOfMemory> {
        let (u, z) = (zeros(features + 1)?, zeros(features + 1)?);
        Ok(Self {
            u,
            z,
            kappa,
            damp: 1.0 / (1.0 + kappa),
            columns: None,
            whole: None,
            dense,
            intercept: intercept.constant(),
            rho: (intercept == Intercept::Free).then_some(1.0),
        })
    }

    /// Goes on from these w and z, of the same kappa.
    pub(in crate::solver) fn take_over(&mut self, [w, z]: [impl Iterator<Item = f32>; 2]) {
        for (j, (w, z)) in w.zip(z).enumerate() {
            let (damp, _) = self.factors(j);
            self.u[j] = T::of(f64::from(w) / damp);
            self.z[j] = T::of(z.into());
        }
    }

    pub fn len(&self) -> usize {
        self.u.len()
    }

    /// u, and how weights follow from it.
    #[inline(always)]
    pub(in crate::solver) fn view(&mut self) -> (&mut [T], WeightMap<'_, T>) {
        let form = WeightMap {
            damp: self.damp,
            columns: self.columns.as_ref().map(|columns| Damping {
                damp: &columns.damp,
                inverse: &columns.inverse,
            }),
            whole: self.whole.as_ref().map(|whole| whole.view()),
            dense: self.dense,
            intercept: self.intercept,
        };
        (&mut self.u, form)
    }

    /// By what a column of u is multiplied to be one of w, and a column of z to be one of u - v.
    #[inline]
    fn factors(&self, j: usize) -> (f64, f64) {
        let (damp, pull) = match &self.columns {
            None => (self.damp, self.kappa),
            Some(columns) => (
                columns.damp[j].to(),
                self.kappa * f64::from(columns.moment[j]),
            ),
        };
        match self.is_free(j) {
            true => (damp, 1.0 / damp),
            false => (damp, pull),
        }
    }

    /// Whether it is the column of a free intercept.
    #[inline]
    fn is_free(&self, j: usize) -> bool {
        self.rho.is_some() && j + 1 == self.u.len()
    }

    /// Whether the intercept is free.
    pub(in crate::solver) fn frees_intercept(&self) -> bool {
        self.rho.is_some()
    }

    pub(in crate::solver) fn kind_of_intercept(&self) -> Intercept {
        match self.rho {
            Some(_) => Intercept::Free,
            None => Intercept::in_norm(self.intercept > 0.0),
        }
    }

    /// w
    pub(in crate::solver) fn weights(&self) -> impl Iterator<Item = f64> + '_ {
        let all = self.u.iter().enumerate();
        all.map(|(j, u)| u.to() * self.factors(j).0)
    }

    /// z
    pub(in crate::solver) fn centre(&self) -> impl Iterator<Item = f64> + '_ {
        self.z.iter().map(|z| z.to())
    }

    /// Writes w to `out`.
    pub fn write_weights(&self, out: &mut [T]) {
        for (out, weight) in out.iter_mut().zip(self.weights()) {
            *out = T::of(weight);
        }
    }

    /// Whether M is not diagonal.
    pub(in crate::solver) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// kappa M (w - z), where M is whole: v - w, and of a free intercept v itself less what the norm would have of it.
    fn apart<'a>(&'a self, whole: &'a Whole) -> impl Iterator<Item = f64> + 'a {
        let moved = self.u.iter().zip(&self.z).map(|(w, z)| w.to() - z.to());
        let all = whole.moved(moved).map(|moved| self.kappa * moved);
        all.enumerate().map(|(j, apart)| match self.rho {
            Some(rho) if self.is_free(j) => {
                let (b, z) = (self.u[j].to(), self.z[j].to());
                apart + rho * (b - z) - b
            }
            _ => apart,
        })
    }

    /// Of a free intercept sum a y, as the norms have it; 0 of another.
    pub(in crate::solver) fn unbalanced(&self) -> f64 {
        let last = self.u.len() - 1;
        match (self.rho, &self.whole) {
            (None, _) => 0.0,
            (Some(_), Some(whole)) => self
                .apart(whole)
                .last()
                .map_or(0.0, |apart| self.u[last].to() + apart),
            (Some(_), None) => self.u[last].to() - self.factors(last).1 * self.z[last].to(),
        }
    }

    pub fn norms(&self) -> Norms {
        let mut norms = Norms::default();
        match &self.whole {
            Some(whole) => {
                for (j, (w, apart)) in self.u.iter().zip(self.apart(whole)).enumerate() {
                    norms.add([w.to() + apart, w.to(), apart], self.is_free(j));
                }
            }
            None => {
                for (j, (u, z)) in self.u.iter().zip(&self.z).enumerate() {
                    let (damp, pull) = self.factors(j);
                    let (w, v) = (u.to() * damp, u.to() - pull * z.to());
                    norms.add([v, w, v - w], self.is_free(j));
                }
            }
        }
        norms
    }

    /// Adds up what several copies of u were changed to, each `sigma` times too far. Gives back |sum d|^2 / sum |d|^2
    /// of the changes d in the norm of the shift; 1 where nothing changed.
    pub(in crate::solver) fn merge<'a>(
        &mut self,
        copies: impl Iterator<Item = &'a [T]> + Clone,
        sigma: f64,
    ) -> f64 {
        let (mut together, mut apart) = (0.0, 0.0);
        for j in 0..self.u.len() {
            let (u, damp) = (self.u[j].to(), self.factors(j).0);
            let mut sum = 0.0;
            for copy in copies.clone() {
                let change = copy[j].to() - u;
                sum += change;
                apart += damp * change * change;
            }
            together += damp * sum * sum;
            self.u[j] = T::of(u + sum / sigma);
        }
        if apart > 0.0 {
            together / apart
        } else {
            1.0
        }
    }

    /// z := w, keeping v, with `kappa` from now on.
    pub fn move_centre(&mut self, kappa: f64) -> Result<(), OutOfMemory> {
        if self.whole.is_some() {
            return self.move_whole((kappa, self.rho), None);
        }
        self.reshape((kappa, self.rho), None, true);
        Ok(())
    }

    /// As [`Self::move_centre`], with this M from now on.
    pub fn move_centre_in(&mut self, kappa: f64, metric: &ShiftMetric) -> Result<(), OutOfMemory> {
        if let Some(moment) = &metric.whole {
            if let Some(whole) = Whole::new(moment, kappa, self.own())? {
                return self.move_whole((kappa, self.rho), Some(whole));
            }
        }
        if self.whole.is_some() {
            return self.move_whole((kappa, self.rho), None);
        }
        let columns = Columns::new(&metric.moment)?;
        self.reshape((kappa, self.rho), Some(columns), true);
        Ok(())
    }

    /// Pulls a free intercept less towards its centre from now on, this many times less where rho stays above `least`. v stays; z does too
    /// but where M is whole, where it moves to w.
    pub(in crate::solver) fn loosen(&mut self, times: f64, least: f64) -> Result<(), OutOfMemory> {
        let looser = self.rho.map(|rho| rho / times).filter(|_| times > 1.0);
        let Some(rho) = looser.filter(|rho| *rho >= least) else {
            return Ok(());
        };
        if self.whole.is_some() {
            return self.move_whole((self.kappa, Some(rho)), None);
        }
        let columns = match &self.columns {
            Some(_) => None,
            None => Some(Columns::new(&filled(1.0, self.u.len())?)?),
        };
        self.reshape((self.kappa, Some(rho)), columns, false);
        Ok(())
    }

    /// Keeps z, and v but for rounding, with `kappa` and M the diagonal of `moment` from now on.
    pub fn stay_in(&mut self, kappa: f64, moment: &[f32]) -> Result<(), OutOfMemory> {
        let columns = Columns::new(moment)?;
        self.reshape((kappa, self.rho), Some(columns), false);
        Ok(())
    }

    /// z := w, keeping v, with `kappa` and perhaps another M from now on, which is whole or is to be.
    fn move_whole(
        &mut self,
        (kappa, rho): (f64, Option<f64>),
        new: Option<Whole>,
    ) -> Result<(), OutOfMemory> {
        let mut v: Vec<f64> = zeros(self.u.len())?;
        match &self.whole {
            Some(whole) => {
                for ((v, w), apart) in v.iter_mut().zip(&self.u).zip(self.apart(whole)) {
                    *v = w.to() + apart;
                }
            }
            None => {
                for (j, v) in v.iter_mut().enumerate() {
                    let (damp, pull) = self.factors(j);
                    *v = self.u[j].to() - pull * self.z[j].to();
                    self.u[j] = T::of(self.u[j].to() * damp);
                }
            }
        }
        self.z.copy_from_slice(&self.u);
        self.rho = rho;
        let whole = match (new, self.whole.take()) {
            (Some(new), _) => Some(Box::new(new)),
            (None, Some(mut old)) => old.set_kappa(kappa, self.own())?.then_some(old),
            (None, None) => None,
        };
        self.kappa = kappa;
        self.columns = None;
        self.damp = match whole {
            Some(_) => 1.0,
            None => 1.0 / (1.0 + kappa),
        };
        self.whole = whole;
        self.set_v(&v);
        Ok(())
    }

    /// Changes the shift, keeping v. `columns`: another M; `moves`: z := w.
    fn reshape(
        &mut self,
        (kappa, rho): (f64, Option<f64>),
        columns: Option<Columns<T>>,
        moves: bool,
    ) {
        // v takes the place of u while the factors change
        for j in 0..self.u.len() {
            let (damp, pull) = self.factors(j);
            let (u, z) = (self.u[j].to(), self.z[j].to());
            if moves {
                self.z[j] = T::of(u * damp);
            }
            self.u[j] = T::of(u - pull * z);
        }
        self.columns = columns.or(self.columns.take());
        self.rho = rho;
        self.set_kappa(kappa);
        for j in 0..self.u.len() {
            let pull = self.factors(j).1;
            self.u[j] = T::of(self.u[j].to() + pull * self.z[j].to());
        }
    }

    /// Another kappa, where M is diagonal.
    fn set_kappa(&mut self, kappa: f64) {
        self.kappa = kappa;
        self.damp = 1.0 / (1.0 + kappa);
        let own = self.own();
        if let Some(columns) = &mut self.columns {
            for (damp, moment) in columns.damp.iter_mut().zip(&columns.moment) {
                *damp = T::of(1.0 / (1.0 + kappa * f64::from(*moment)));
            }
            if let Some(damp) = columns.damp.last_mut() {
                *damp = T::of(damp.to() / own);
            }
        }
    }

    /// What the intercept has on the diagonal of I + kappa M in place of 1.
    fn own(&self) -> f64 {
        self.rho.unwrap_or(1.0)
    }

    /// Makes these weights the centre, as if they were v too, and the dual variables balanced; there is no metric yet.
    pub fn stand_at(&mut self, weights: &[f64]) {
        for (z, weight) in self.z.iter_mut().zip(weights) {
            *z = T::of(*weight);
        }
        self.set_v(weights);
        let last = self.u.len() - 1;
        if self.rho.is_some() {
            self.u[last] = T::of(self.factors(last).1 * self.z[last].to());
        }
    }

    /// Begins with this v and kappa, and where `at_v` there with the centre too; there is no metric yet.
    pub fn begin_with(&mut self, v: &[f64], kappa: f64, at_v: bool) {
        self.set_kappa(kappa);
        match at_v {
            true => self.stand_at(v),
            false => self.set_v(v),
        }
    }

    /// The constant feature.
    pub(in crate::solver) fn intercept(&self) -> f64 {
        self.intercept
    }

    /// Multiplies the weights, without a shift.
    pub(in crate::solver) fn multiply(&mut self, factor: f64) {
        for u in &mut self.u {
            *u = T::of(u.to() * factor);
        }
    }

    /// Takes over these weights, where there is no shift.
    pub(in crate::solver) fn set_weights(&mut self, w: &[f64]) {
        for (u, w) in self.u.iter_mut().zip(w) {
            *u = T::of(*w);
        }
    }

    /// Takes over an exactly recomputed v.
    pub fn set_v(&mut self, v: &[f64]) {
        if let Some(whole) = &self.whole {
            let pulled = whole.moved(self.z.iter().map(|z| z.to()));
            let pulled = v.iter().zip(pulled).map(|(v, m)| v + self.kappa * m);
            for (place, u) in self.u.iter_mut().zip(pulled) {
                *place = T::of(u);
            }
            if let (Some(rho), Some(u), Some(z)) = (self.rho, self.u.last_mut(), self.z.last()) {
                *u = T::of(u.to() + rho * z.to());
            }
            let whole_u: [f64; MOST_WEIGHTS] =
                std::array::from_fn(|j| self.u.get(j).map_or(0.0, |u| u.to()));
            for (place, w) in self.u.iter_mut().zip(whole.weights(&whole_u)) {
                *place = T::of(w);
            }
            return;
        }
        for (j, v) in v.iter().enumerate() {
            let pull = self.factors(j).1;
            self.u[j] = T::of(v + pull * self.z[j].to());
        }
    }
}
