//! The weights under training and the proximal shift that holds them near their last position.
//!
//! The subproblem is P(w) + kappa/2 (w - z)' M (w - z) with M the identity, or, where columns differ much in scale,
//! the diagonal of their mean squares m. Kept are u = v + kappa M z (v = sum a y x) and z; then w = u / (1 + kappa m)
//! column by column. M changes the path, not the optimum: kappa and z drop out of the certificate.
//! Vectors have one entry for each feature and, last, one for the intercept's constant feature.

use crate::kernel::{add_sparse, dot2_sparse, dot_damped_sparse, dot_sparse, Kernel, Real};
use crate::row::Row;
use crate::solver::{zeros, TrainError};

pub(crate) struct Iterate<T> {
    u: Vec<T>,
    z: Vec<T>,
    kappa: f64,
    /// 1 / (1 + kappa), for M the identity.
    damp: f64,
    columns: Option<Columns<T>>,
    dense: usize,
    intercept: f64,
}

/// M, and w = damp u.
struct Columns<T> {
    moment: Vec<f32>,
    damp: Vec<T>,
}

/// Where a row stands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// <w, x>
    pub(crate) score: f64,
    /// Second derivative of the shifted dual along this row, without the loss's part.
    pub(crate) curvature: f64,
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
    ) -> Result<Self, TrainError> {
        let (u, z) = (zeros(features + 1)?, zeros(features + 1)?);
        Ok(Self {
            u,
            z,
            kappa,
            damp: 1.0 / (1.0 + kappa),
            columns: None,
            dense,
            intercept,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.u.len()
    }

    #[inline(always)]
    pub(crate) fn place<K: Kernel>(&self, row: &Row<'_>) -> Place {
        match &self.columns {
            None => {
                let at_u = T::dot_dense::<K>(row.dense(), &self.u[..self.dense]);
                self.place_at(row, at_u + self.rest::<K>(row, &self.u))
            }
            Some(columns) => self.place_in(row, columns.place::<K>(row, &self.u, self.dense)),
        }
    }

    /// The place, and <start, x>.
    #[inline(always)]
    pub(crate) fn place_beside<K: Kernel>(&self, row: &Row<'_>, start: &[T]) -> (Place, f64) {
        let start_dense = &start[..self.dense];
        match &self.columns {
            None => {
                let last = self.u.len() - 1;
                let (mut at_u, mut at_start) = dot2_sparse::<K, T>(row.sparse(), &self.u, start);
                if self.dense > 0 {
                    let dense = T::dot2_dense::<K>(row.dense(), &self.u[..self.dense], start_dense);
                    at_u += dense.0;
                    at_start += dense.1;
                }
                at_u += self.intercept * self.u[last].to();
                (
                    self.place_at(row, at_u),
                    at_start + self.intercept * start[last].to(),
                )
            }
            Some(columns) => {
                let place = self.place_in(row, columns.place::<K>(row, &self.u, self.dense));
                (
                    place,
                    T::dot_dense::<K>(row.dense(), start_dense) + self.rest::<K>(row, start),
                )
            }
        }
    }

    /// <weights, x>
    #[inline(always)]
    pub(crate) fn score<K: Kernel>(&self, row: &Row<'_>, weights: &[T]) -> f64 {
        T::dot_dense::<K>(row.dense(), &weights[..self.dense]) + self.rest::<K>(row, weights)
    }

    #[inline(always)]
    fn rest<K: Kernel>(&self, row: &Row<'_>, weights: &[T]) -> f64 {
        dot_sparse::<K, T>(row.sparse(), weights) + self.intercept * weights[weights.len() - 1].to()
    }

    #[inline(always)]
    fn place_at(&self, row: &Row<'_>, at_u: f64) -> Place {
        Place {
            score: at_u * self.damp,
            curvature: (f64::from(row.q()) + self.intercept) * self.damp,
        }
    }

    #[inline(always)]
    fn place_in(&self, row: &Row<'_>, (score, curvature): (f64, f64)) -> Place {
        let last = self.u.len() - 1;
        let damp = self.intercept
            * self
                .columns
                .as_ref()
                .map_or(0.0, |columns| columns.damp[last].to());
        debug_assert!(row.dense().len() == self.dense);
        Place {
            score: score + damp * self.u[last].to(),
            curvature: curvature + damp,
        }
    }

    /// u += scale x, and so v.
    #[inline(always)]
    pub(crate) fn add<K: Kernel>(&mut self, row: &Row<'_>, scale: f64) {
        T::add_dense::<K>(&mut self.u[..self.dense], scale, row.dense());
        add_sparse::<K, T>(&mut self.u, scale, row.sparse());
        let last = self.u.len() - 1;
        self.u[last] = T::of(self.u[last].to() + self.intercept * scale);
    }

    /// |x|^2 in the norm of the shift: x' M^-1 x, intercept included.
    #[inline(always)]
    pub(crate) fn norm(&self, row: &Row<'_>) -> f64 {
        match &self.columns {
            None => f64::from(row.q()) + self.intercept,
            Some(columns) => {
                columns.norm(row) + self.intercept / f64::from(columns.moment[self.u.len() - 1])
            }
        }
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

    /// Writes w to `out`.
    pub(crate) fn write_weights(&self, out: &mut [T]) {
        for (j, (out, u)) in out.iter_mut().zip(&self.u).enumerate() {
            *out = T::of(u.to() * self.factors(j).0);
        }
    }

    pub(crate) fn norms(&self) -> Norms {
        let mut norms = Norms::default();
        for (j, (u, z)) in self.u.iter().zip(&self.z).enumerate() {
            let (damp, pull) = self.factors(j);
            let (w, v) = (u.to() * damp, u.to() - pull * z.to());
            norms.v += v * v;
            norms.w += w * w;
            norms.apart += (v - w) * (v - w);
        }
        norms
    }

    /// z := w, keeping v, with `kappa` from now on.
    pub(crate) fn move_centre(&mut self, kappa: f64) {
        self.recentre(kappa, |_, _| {});
    }

    /// As [`Self::move_centre`], with M the diagonal of `moment` from now on.
    pub(crate) fn move_centre_in(&mut self, kappa: f64, moment: &[f32]) -> Result<(), TrainError> {
        let mut own: Vec<f32> = zeros(moment.len())?;
        own.copy_from_slice(moment);
        let columns = Columns {
            moment: own,
            damp: zeros(moment.len())?,
        };
        self.recentre(kappa, |this, _| this.columns = Some(columns));
        Ok(())
    }

    fn recentre(&mut self, kappa: f64, change: impl FnOnce(&mut Self, f64)) {
        // v takes the place of u while the factors change
        for j in 0..self.u.len() {
            let (damp, pull) = self.factors(j);
            let (u, z) = (self.u[j].to(), self.z[j].to());
            self.z[j] = T::of(u * damp);
            self.u[j] = T::of(u - pull * z);
        }
        change(self, kappa);
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

    /// Takes over an exactly recomputed v.
    pub(crate) fn set_v(&mut self, v: &[f64]) {
        for (j, v) in v.iter().enumerate() {
            let pull = self.factors(j).1;
            self.u[j] = T::of(v + pull * self.z[j].to());
        }
    }
}

impl<T: Real> Columns<T> {
    /// sum damp u x and sum damp x^2, without the intercept.
    #[inline(always)]
    fn place<K: Kernel>(&self, row: &Row<'_>, u: &[T], dense: usize) -> (f64, f64) {
        let (score, curvature) =
            T::dot_damped_dense::<K>(row.dense(), &self.damp[..dense], &u[..dense]);
        let (more_score, more_curvature) = dot_damped_sparse::<K, T>(row.sparse(), &self.damp, u);
        (score + more_score, curvature + more_curvature)
    }

    #[inline(always)]
    fn norm(&self, row: &Row<'_>) -> f64 {
        let dense = row
            .dense()
            .iter()
            .zip(&self.moment)
            .map(|(x, m)| f64::from(*x) * f64::from(*x) / f64::from(*m));
        let sparse = row.sparse().iter().map(|[j, bits]| {
            let x = f64::from(f32::from_bits(*bits));
            x * x / f64::from(self.moment[*j as usize])
        });
        dense.sum::<f64>() + sparse.sum::<f64>()
    }
}
