//! The weights under training and the proximal shift that holds them near their last position.
//!
//! The subproblem is P(w) + kappa/2 (w - z)' M (w - z) with M the identity, or, where columns differ much in scale,
//! the diagonal of their mean squares m. Kept are u = v + kappa M z (v = sum a y x) and z; then w = u / (1 + kappa m)
//! column by column. M changes the path, not the optimum: kappa and z drop out of the certificate.
//! Vectors have one entry for each feature and, last, one for the intercept's constant feature.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::simd::Real;
use crate::solver::proximal::form::{Damping, WeightMap};
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::proximal::whole::{Whole, MOST_WEIGHTS};

pub(crate) struct Iterate<T> {
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

/// Squared norms of v, of w and of v - w.
#[derive(Clone, Copy, Default)]
pub(crate) struct Norms {
    pub(crate) v: f64,
    pub(crate) w: f64,
    pub(crate) apart: f64,
}

impl<T: Real> Iterate<T> {
    /// All zero, for `features` features and the intercept (1 or 0 times its constant feature).
    pub(crate) fn new(
        features: usize,
        dense: usize,
        intercept: f64,
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
            intercept,
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

    pub(crate) fn len(&self) -> usize {
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

    #[inline]
    fn factors(&self, j: usize) -> (f64, f64) {
        match &self.columns {
            None => (self.damp, self.kappa),
            Some(columns) => (
                columns.damp[j].to(),
                self.kappa * f64::from(columns.moment[j]),
            ),
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
    pub(crate) fn write_weights(&self, out: &mut [T]) {
        for (out, weight) in out.iter_mut().zip(self.weights()) {
            *out = T::of(weight);
        }
    }

    /// Whether M is not diagonal.
    pub(in crate::solver) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// kappa M (w - z), where M is whole: v - w.
    fn apart<'a>(&'a self, whole: &'a Whole) -> impl Iterator<Item = f64> + 'a {
        let moved = self.u.iter().zip(&self.z).map(|(w, z)| w.to() - z.to());
        whole.moved(moved).map(|moved| self.kappa * moved)
    }

    pub(crate) fn norms(&self) -> Norms {
        let mut norms = Norms::default();
        if let Some(whole) = &self.whole {
            for (w, apart) in self.u.iter().zip(self.apart(whole)) {
                let w = w.to();
                norms.v += (w + apart) * (w + apart);
                norms.w += w * w;
                norms.apart += apart * apart;
            }
            return norms;
        }
        for (j, (u, z)) in self.u.iter().zip(&self.z).enumerate() {
            let (damp, pull) = self.factors(j);
            let (w, v) = (u.to() * damp, u.to() - pull * z.to());
            norms.v += v * v;
            norms.w += w * w;
            norms.apart += (v - w) * (v - w);
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
    pub(crate) fn move_centre(&mut self, kappa: f64) -> Result<(), OutOfMemory> {
        if self.whole.is_some() {
            return self.move_whole(kappa, None);
        }
        self.reshape(kappa, None, true);
        Ok(())
    }

    /// As [`Self::move_centre`], with this M from now on.
    pub(crate) fn move_centre_in(
        &mut self,
        kappa: f64,
        metric: &ShiftMetric,
    ) -> Result<(), OutOfMemory> {
        if let Some(moment) = &metric.whole {
            if let Some(whole) = Whole::new(moment, kappa)? {
                return self.move_whole(kappa, Some(whole));
            }
        }
        if self.whole.is_some() {
            return self.move_whole(kappa, None);
        }
        let columns = Columns::new(&metric.moment)?;
        self.reshape(kappa, Some(columns), true);
        Ok(())
    }

    /// Keeps z, and v but for rounding, with `kappa` and M the diagonal of `moment` from now on.
    pub(crate) fn stay_in(&mut self, kappa: f64, moment: &[f32]) -> Result<(), OutOfMemory> {
        let columns = Columns::new(moment)?;
        self.reshape(kappa, Some(columns), false);
        Ok(())
    }

    /// z := w, keeping v, with `kappa` and perhaps another M from now on, which is whole or is to be.
    fn move_whole(&mut self, kappa: f64, new: Option<Whole>) -> Result<(), OutOfMemory> {
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
        let whole = match (new, self.whole.take()) {
            (Some(new), _) => Some(Box::new(new)),
            (None, Some(mut old)) => old.set_kappa(kappa)?.then_some(old),
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
    fn reshape(&mut self, kappa: f64, columns: Option<Columns<T>>, moves: bool) {
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
        self.kappa = kappa;
        self.damp = 1.0 / (1.0 + kappa);
        if let Some(columns) = &mut self.columns {
            for (damp, moment) in columns.damp.iter_mut().zip(&columns.moment) {
                *damp = T::of(1.0 / (1.0 + kappa * f64::from(*moment)));
            }
        }
        for j in 0..self.u.len() {
            let pull = self.factors(j).1;
            self.u[j] = T::of(self.u[j].to() + pull * self.z[j].to());
        }
    }

    /// Makes these weights the centre, as if they were v too; there is no metric yet.
    pub(crate) fn stand_at(&mut self, weights: &[f64]) {
        for (z, weight) in self.z.iter_mut().zip(weights) {
            *z = T::of(*weight);
        }
        self.set_v(weights);
    }

    /// Begins with this v and kappa, and where `at_v` there with the centre too; there is no metric yet.
    pub(crate) fn begin_with(&mut self, v: &[f64], kappa: f64, at_v: bool) {
        self.kappa = kappa;
        self.damp = 1.0 / (1.0 + kappa);
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

    /// Takes over an exactly recomputed v.
    pub(crate) fn set_v(&mut self, v: &[f64]) {
        if let Some(whole) = &self.whole {
            let pulled = whole.moved(self.z.iter().map(|z| z.to()));
            let pulled = v.iter().zip(pulled).map(|(v, m)| v + self.kappa * m);
            for (place, u) in self.u.iter_mut().zip(pulled) {
                *place = T::of(u);
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
