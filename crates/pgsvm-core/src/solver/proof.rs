//! The proof that a head has arrived: v and the dual from the dual variables exactly, over all rows.
//!
//! What is stored and reported is what was proved: the weights of the best primal, the dual variables shrunk by the
//! factor that makes their dual largest.

use crate::kernel::{Kernel, Real};
use crate::row::Row;
use crate::solver::head::{relative, Head};
use crate::solver::visit::{right_side, score, Form, Lent, Tally};
use crate::solver::zeros;
use crate::trainer::{Certificate, StopReason, TrainError};

/// A verifying pass in progress.
pub(super) struct Proof {
    v: Vec<f64>,
    sum: f64,
    diag: f64,
    support: u64,
    /// Whether the primal at the newest weights is being summed too.
    primal: bool,
    tally: Tally,
}

impl Proof {
    fn new(length: usize, primal: bool) -> Result<Box<Self>, TrainError> {
        Ok(Box::new(Self {
            v: zeros(length)?,
            sum: 0.0,
            diag: 0.0,
            support: 0,
            primal,
            tally: Tally::EMPTY,
        }))
    }

    /// Adds what was summed over other rows.
    pub(super) fn add(&mut self, other: &Proof) {
        for (v, other) in self.v.iter_mut().zip(&other.v) {
            *v += other;
        }
        self.sum += other.sum;
        self.diag += other.diag;
        self.support += other.support;
        self.tally.add(&other.tally);
    }
}

impl<T: Real> Lent<'_, T> {
    /// Adds a row to the proof.
    #[inline(always)]
    pub(super) fn check<K: Kernel>(&self, row: &Row<'_>, proof: &mut Proof) {
        let y = f64::from(self.signs[row.class()]);
        if y == 0.0 {
            return;
        }
        let Form {
            dense, intercept, ..
        } = self.form;
        let alpha = f64::from(self.alpha[row.ordinal()].get());
        let cost = f64::from(row.cost());
        if alpha > 0.0 {
            f64::add_dense::<K>(&mut proof.v[..dense], y * alpha, row.dense());
            f64::add_sparse::<K>(&mut proof.v, y * alpha, row.sparse());
            let last = proof.v.len() - 1;
            proof.v[last] += intercept * y * alpha;
            proof.sum += alpha;
            proof.diag += if self.terms.squared {
                0.5 / (self.terms.c * cost) * alpha * alpha
            } else {
                0.0
            };
            proof.support += 1;
        }
        if let (true, Some(start)) = (proof.primal, self.start) {
            let margin = y * score::<K, T>(row, start, dense, intercept);
            let tally = &mut proof.tally;
            tally.start_loss += cost * self.terms.loss(margin);
            tally.correct += u64::from(right_side(margin, y));
            tally.rows += 1;
        }
    }
}

impl<T: Real> Head<T> {
    /// Whether it is time to verify: the gap is there, or seems to be, or no pass is left.
    pub(crate) fn wants_proof(&self, tolerance: f64, last: bool) -> bool {
        last || self.known(tolerance) || self.estimate < self.slack * tolerance
    }

    fn known(&self, tolerance: f64) -> bool {
        self.certificate.is_some_and(|c| c.gap <= tolerance)
    }

    /// Begins to verify; true when rows with a = 0 must be looked at too, for the primal at the newest weights.
    pub(crate) fn begin_verify(&mut self, tolerance: f64) -> Result<bool, TrainError> {
        let primal = !self.known(tolerance);
        self.iterate.write_weights(&mut self.start);
        self.start_is_zero = false;
        self.proof = Some(Proof::new(self.iterate.len(), primal)?);
        Ok(primal)
    }

    /// An empty proof of the kind that is under way, for some of the rows.
    pub(super) fn another_proof(&self) -> Result<Option<Box<Proof>>, TrainError> {
        match &self.proof {
            Some(proof) => Proof::new(proof.v.len(), proof.primal).map(Some),
            None => Ok(None),
        }
    }

    #[inline(always)]
    pub(crate) fn check<K: Kernel>(&mut self, row: &Row<'_>) {
        if let Some(mut proof) = self.proof.take() {
            self.lend().1.check::<K>(row, &mut proof);
            self.proof = Some(proof);
        }
    }

    /// Ends the head when the verified gap is within `tolerance` or no pass is left; else takes over the exact v.
    pub(crate) fn end_verify(&mut self, tolerance: f64, last: bool) {
        let Some(proof) = self.proof.take() else {
            return;
        };
        if proof.primal {
            let tally = proof.tally;
            self.take_start(tally.start_loss, tally.correct, tally.rows);
        }
        let norm: f64 = proof.v.iter().map(|v| v * v).sum();
        let (dual, shrink) = shrunk_dual(proof.sum, norm, proof.diag, self.terms.squared);
        let certificate = self.certify(dual);
        self.certificate = Some(certificate);
        self.support_vectors = proof.support;
        self.best_dual = self.best_dual.max(dual);
        if certificate.gap <= tolerance || last {
            self.finish(
                shrink,
                if certificate.gap <= tolerance {
                    StopReason::Tolerance
                } else {
                    StopReason::MaxPasses
                },
            );
            return;
        }
        if proof.primal {
            // an estimate that was too low by so much is trusted that much less; one at or below the dual, never again
            self.slack = self.slack.min(self.estimate / certificate.gap);
        }
        self.iterate.set_v(&proof.v);
        self.sums.alpha = proof.sum;
        self.sums.diag = proof.diag;
    }

    fn finish(&mut self, shrink: f64, stop: StopReason) {
        if shrink != 1.0 {
            for alpha in &mut self.alpha {
                *alpha = (f64::from(*alpha) * shrink) as f32;
            }
        }
        self.stop = Some(stop);
    }

    pub(super) fn certify(&self, dual: f64) -> Certificate {
        let primal = self.best.primal;
        Certificate {
            primal,
            dual,
            gap: relative(primal, dual),
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
