//! The proof that a head has arrived: v and the dual from the dual variables exactly, over all rows.
//!
//! What is stored and reported is what was proved: the weights of the best primal, the dual variables shrunk by the
//! factor that makes their dual largest.

use crate::kernel::{Kernel, Real};
use crate::row::Row;
use crate::solver::course::{Proved, Verdict};
use crate::solver::head::Head;
use crate::solver::visit::{right_side, score};
use crate::solver::zeros;
use crate::trainer::TrainError;

/// A head in a verifying pass: what has been recomputed so far.
pub(super) struct Proof {
    pub(super) v: Vec<f64>,
    proved: Proved,
}

impl Proof {
    /// For weights of this length, the intercept's counted in.
    pub(super) fn new(length: usize) -> Result<Self, TrainError> {
        Ok(Self {
            v: zeros(length)?,
            proved: Proved::default(),
        })
    }

    /// Adds a row with sign `y` and dual variable `alpha`.
    #[inline(always)]
    pub(super) fn add<K: Kernel>(
        &mut self,
        row: &Row<'_>,
        y: f64,
        alpha: f64,
        diag: f64,
        intercept: f64,
    ) {
        let last = self.v.len() - 1;
        let dense = row.dense();
        f64::add_dense::<K>(&mut self.v[..dense.len()], y * alpha, dense);
        f64::add_sparse::<K>(&mut self.v, y * alpha, row.sparse());
        self.v[last] += intercept * y * alpha;
        self.proved.alpha += alpha;
        self.proved.diag += diag * alpha * alpha;
        self.proved.support += 1;
    }

    pub(super) fn proved(&self) -> Proved {
        Proved {
            norm: self.v.iter().map(|v| v * v).sum(),
            ..self.proved
        }
    }
}

impl<T: Real> Head<T> {
    /// Begins to verify; true when rows with a = 0 must be looked at too, for the primal at the newest weights.
    pub(crate) fn begin_verify(&mut self, tolerance: f64) -> Result<bool, TrainError> {
        self.iterate.write_weights(&mut self.start);
        self.proof = Some(Proof::new(self.iterate.len())?);
        Ok(self.course.begin_verify(tolerance))
    }

    /// Whether the verifying pass needs this row even if it looks at the dual only.
    #[inline(always)]
    pub(crate) fn needs_check(&self, ordinal: usize) -> bool {
        self.proof.is_some() && self.alpha[ordinal] > 0.0
    }

    #[inline(always)]
    pub(crate) fn check<K: Kernel>(&mut self, row: &Row<'_>) {
        let y = self.sign(row);
        let Some(proof) = self.proof.as_mut() else {
            return;
        };
        if y == 0.0 {
            return;
        }
        let course = &mut self.course;
        let cost = f64::from(row.cost());
        let alpha = f64::from(self.alpha[row.ordinal()]);
        if alpha > 0.0 {
            proof.add::<K>(
                row,
                y,
                alpha,
                course.terms.diag_and_upper(cost).0,
                self.intercept,
            );
        }
        if course.verifies_primal() {
            let margin = y * score::<K, T>(row, &self.start, self.dense, self.intercept);
            let loss = cost * course.terms.loss(margin);
            let full = &mut course.sums.full;
            full.start_loss += loss;
            full.correct += u64::from(right_side(margin, y));
            full.rows += 1;
        }
    }

    /// Ends the head when the verified gap is within `tolerance` or no pass is left; else takes over the exact v.
    pub(crate) fn end_verify(&mut self, tolerance: f64, last: bool) {
        let Some(proof) = self.proof.take() else {
            return;
        };
        if self.course.end_verify_primal(self.start_norm()) {
            std::mem::swap(&mut self.start, &mut self.best_w);
        }
        match self.course.end_verify(proof.proved(), tolerance, last) {
            Verdict::Ended { shrink: 1.0 } => {}
            Verdict::Ended { shrink } => {
                for alpha in &mut self.alpha {
                    *alpha = (f64::from(*alpha) * shrink) as f32;
                }
            }
            Verdict::GoesOn => self.iterate.set_v(&proof.v),
        }
    }
}

/// max over t of D(t a), where 0 <= t <= 1 (any t >= 0 without upper bounds), and that t.
pub(super) fn shrunk_dual(sum: f64, norm: f64, diag: f64, unbounded: bool) -> (f64, f64) {
    let full = sum - 0.5 * (norm + diag);
    let best = sum / (norm + diag);
    if !full.is_finite() || !best.is_finite() {
        return if full.is_finite() {
            (full, 1.0)
        } else {
            (0.0, 0.0)
        };
    }
    if best < 1.0 || unbounded {
        let t = best.max(0.0);
        return (t * sum - 0.5 * t * t * (norm + diag), t);
    }
    (full, 1.0)
}
