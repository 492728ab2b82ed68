//! The proof that a head has arrived: v and the dual from the dual variables exactly, over all rows.
//!
//! What is stored and reported is what was proved: the weights of the best primal, the dual variables shrunk by the
//! factor that makes their dual largest.

use crate::base::zeros::zeros;
use crate::rows::row::Row;
use crate::simd::{Kernel, Real};
use crate::solver::certificate::progress::{Proved, Verdict};
use crate::solver::single::head::Head;
use crate::solver::sums::intercept::{Kinks, Shifted};
use crate::solver::visit::visitor::{score, Form, Lent, Tally, Terms};
use crate::training::TrainError;

/// A head in a verifying pass: what has been recomputed so far.
pub(in crate::solver) struct Proof {
    pub(in crate::solver) v: Vec<f64>,
    proved: Proved,
    /// Losses at the newest weights, if `primal`, and where a better intercept is found for them.
    tally: Tally,
    kinks: Option<Kinks>,
    primal: bool,
    /// Whether rows that these weights hold at their bound are to sleep, and all others to be awake.
    sorts: bool,
}

/// What the check of a row says.
pub(in crate::solver) struct Checked {
    /// Its dual variable, within its bounds.
    pub(in crate::solver) alpha: f32,
    /// Whether it is to sleep, if the proof sorts rows.
    pub(in crate::solver) settled: Option<bool>,
}

/// Weights hold a row at its bound by so much when its gradient is that far from 0, as margins are from 1.
const SETTLED: f64 = 0.1;

/// Whether active passes may leave a row out at first where weights came from elsewhere, and it stands like this there.
#[inline(always)]
fn settled(alpha: f32, upper: f32, margin: f64) -> bool {
    let gradient = margin - 1.0;
    (alpha <= 0.0 && gradient > SETTLED) || (alpha >= upper && gradient < -SETTLED)
}

impl Proof {
    /// For weights of this length, the intercept's counted in. `primal`: of the losses at the newest weights too, and where
    /// `shifts` at others of its intercept; `sorts`: says which rows sleep.
    pub(in crate::solver) fn new(
        length: usize,
        primal: bool,
        shifts: bool,
        sorts: bool,
    ) -> Result<Self, TrainError> {
        Ok(Self {
            v: zeros(length)?,
            proved: Proved::default(),
            tally: Tally::EMPTY,
            kinks: (primal && shifts).then(Kinks::new),
            primal,
            sorts,
        })
    }

    /// Checks a row with sign `y`, this dual variable and, if the primal is summed, this score at the newest weights.
    #[inline(always)]
    pub(in crate::solver) fn check<K: Kernel>(
        &mut self,
        row: &Row<'_>,
        terms: &Terms,
        (y, alpha, score): (f64, f32, Option<f64>),
        intercept: f64,
    ) -> Checked {
        let cost = f64::from(row.cost());
        let (diag, upper) = terms.diag_and_upper(cost);
        // one that came from elsewhere may be beyond its bound
        let alpha = alpha.min(upper);
        if alpha > 0.0 {
            self.add::<K>(row, y, alpha.into(), diag, intercept);
        }
        let settled = score.and_then(|score| {
            let kinks = self.kinks.as_mut();
            self.tally.add_at_start(terms, (y, cost, score), kinks);
            self.sorts.then(|| settled(alpha, upper, y * score))
        });
        Checked { alpha, settled }
    }

    /// Whether the primal at the newest weights is summed.
    pub(in crate::solver) fn primal(&self) -> bool {
        self.primal
    }

    /// What was summed at the newest weights, and what `better` makes of where the losses have their kinks.
    pub(in crate::solver) fn losses(
        &mut self,
        better: impl FnOnce(&Kinks) -> Option<Shifted>,
    ) -> (Tally, Option<Shifted>) {
        (self.tally, self.kinks.take().as_ref().and_then(better))
    }

    /// Adds a row with sign `y` and dual variable `alpha`.
    #[inline(always)]
    fn add<K: Kernel>(&mut self, row: &Row<'_>, y: f64, alpha: f64, diag: f64, intercept: f64) {
        let last = self.v.len() - 1;
        let dense = row.dense();
        f64::add_dense::<K>(&mut self.v[..dense.len()], y * alpha, dense);
        f64::add_sparse::<K>(&mut self.v, y * alpha, row.sparse());
        self.v[last] += intercept * y * alpha;
        self.proved.alpha += alpha;
        self.proved.diag += diag * alpha * alpha;
        self.proved.support += 1;
    }

    /// Adds what was summed over other rows.
    pub(in crate::solver) fn join(&mut self, other: &Proof) {
        for (v, other) in self.v.iter_mut().zip(&other.v) {
            *v += other;
        }
        self.proved.alpha += other.proved.alpha;
        self.proved.diag += other.proved.diag;
        self.proved.support += other.proved.support;
        self.tally = self.tally.with(other.tally);
        if let (Some(all), Some(some)) = (&mut self.kinks, &other.kinks) {
            all.join(some);
        }
    }

    pub(in crate::solver) fn proved(&self) -> Proved {
        Proved {
            norm: self.v.iter().map(|v| v * v).sum(),
            ..self.proved
        }
    }
}

impl<T: Real> Lent<'_, T> {
    /// Adds a row to the proof.
    #[inline(always)]
    pub(in crate::solver) fn check<K: Kernel>(&self, row: &Row<'_>, proof: &mut Proof) {
        let y = f64::from(self.signs[row.group()]);
        if y == 0.0 {
            return;
        }
        let Form {
            dense, intercept, ..
        } = self.form;
        let dual = &self.alpha[row.ordinal()];
        let before = dual.get();
        let score = match (proof.primal, self.start) {
            (true, Some(start)) => Some(score::<K, T>(row, start, dense, intercept)),
            _ => None,
        };
        let checked = proof.check::<K>(row, &self.terms, (y, before, score), intercept);
        if checked.alpha != before {
            dual.set(checked.alpha);
        }
        if let Some(settled) = checked.settled {
            self.asleep.set(row.ordinal(), settled);
        }
    }
}

impl<T: Real> Head<T> {
    /// Begins to verify; true when rows with a = 0 must be looked at too, for the primal at the newest weights.
    pub(crate) fn begin_verify(&mut self) -> Result<bool, TrainError> {
        self.iterate.write_weights(&mut self.start);
        self.start_is_zero = false;
        self.make_feasible();
        let primal = self.course.begin_verify();
        let sorts = self.course.sorts_rows();
        let proof = Proof::new(self.iterate.len(), primal, self.shifts(), sorts)?;
        self.proof = Some(Box::new(proof));
        Ok(primal)
    }

    /// Whether the verifying pass needs this row even if it looks at the dual only.
    #[inline(always)]
    pub(crate) fn needs_check(&self, ordinal: usize) -> bool {
        self.proof.is_some() && self.alpha[ordinal] > 0.0
    }

    /// An empty proof of the kind that is under way, for some of the rows.
    pub(in crate::solver) fn another_proof(&self) -> Result<Option<Box<Proof>>, TrainError> {
        match &self.proof {
            Some(proof) => {
                let shifts = proof.kinks.is_some();
                let another = Proof::new(proof.v.len(), proof.primal, shifts, proof.sorts)?;
                Ok(Some(Box::new(another)))
            }
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

    /// Ends the head when the verified gap is within the tolerance or no pass is left; else takes over the exact v.
    pub(crate) fn end_verify(&mut self) {
        let Some(mut proof) = self.proof.take() else {
            return;
        };
        let (tally, shifted) = proof.losses(|kinks| self.better(kinks));
        self.course.sums.full = tally;
        let norm = self.start_norm();
        if self.course.end_verify_primal(norm, shifted) {
            self.take_start(shifted);
        }
        match self.course.end_verify(proof.proved()) {
            Verdict::Ended { shrink: 1.0 } => {}
            Verdict::Ended { shrink } => self.scale_duals(shrink),
            Verdict::GoesOn => self.go_on_from(&mut proof.v),
            Verdict::Begins { kappa, at_v } => self.iterate.begin_with(&proof.v, kappa, at_v),
        }
    }
}

/// max over t of D(t a), where 0 <= t <= 1 (any t >= 0 without upper bounds), and that t.
pub(in crate::solver) fn shrunk_dual(
    sum: f64,
    norm: f64,
    diag: f64,
    unbounded: bool,
) -> (f64, f64) {
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
