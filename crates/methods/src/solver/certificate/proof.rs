//! The proof that a head has arrived: v and the dual from the dual variables exactly, over all rows.
//!
//! What is stored and reported is what was proved: the weights of the best primal, the dual variables shrunk by the
//! factor that makes their dual largest.

use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::objective::loss::{Conjugate, LossFunction};
use crate::objective::minimized::balanced;
use crate::rows::row::Row;
use crate::simd::{Isa, Real};
use crate::solver::certificate::dual::Proved;
use crate::solver::certificate::state::Verifying;
use crate::solver::sums::intercept::{Breakpoints, Shifted};
use crate::solver::sums::tally::Tally;
use crate::solver::sums::terms::Terms;
use crate::solver::visit::outliers::Sorted;

/// v and what else the dual has, summed over some rows.
type DualSum = (Vec<f64>, Proved);

/// A head in a verifying pass: what has been recomputed so far.
pub(in crate::solver) struct Proof {
    pub(in crate::solver) v: Vec<f64>,
    proved: Proved,
    /// The same of rows that it finds to be outliers and that were none, where the loss is truncated.
    gone: Vec<f64>,
    proved_gone: Proved,
    /// The same of positive rows alone, of those that stay and of outliers, where the intercept is free.
    of_positive: Option<Box<[DualSum; 2]>>,
    /// Losses at the newest weights, if `primal`, and where a better intercept is found for them.
    tally: Tally,
    pub(in crate::solver) breakpoints: Option<Breakpoints>,
    /// What was found of outliers.
    pub(in crate::solver) sorted: Sorted,
    pub(in crate::solver) primal: bool,
    /// Whether rows that these weights hold at their bound are to be shrunk, and all others active.
    pub(in crate::solver) sorts: bool,
    /// Whether scores are to be summed in 64 bits.
    pub(in crate::solver) exact: bool,
}

/// What the check of a row says.
pub(in crate::solver) struct Checked {
    /// Its dual variable, within its bounds.
    pub(in crate::solver) alpha: f32,
    /// Whether it is to be shrunk, if the proof sorts rows.
    pub(in crate::solver) settled: Option<bool>,
}

/// Weights hold a row at its bound by so much when its gradient is that far from 0.
const SETTLED: f64 = 0.1;

/// Whether active passes may leave a row out at first where weights came from elsewhere, and it stands like this there.
#[inline(always)]
fn settled(alpha: f32, upper: f32, gradient: f64) -> bool {
    (alpha <= 0.0 && gradient > SETTLED) || (alpha >= upper && gradient < -SETTLED)
}

impl Proof {
    /// For weights of this length, the intercept's counted in. `primal`: of the losses at the newest weights too, and where
    /// `shifts` at others of its intercept; `exact`: from scores in 64 bits; `sorts`: says which rows are shrunk; `truncated`: finds
    /// outliers; `free`: balances the dual variables, as the intercept is free.
    pub(in crate::solver) fn new(
        length: usize,
        Verifying { primal, exact, .. }: Verifying,
        shifts: bool,
        (sorts, truncated, free): (bool, bool, bool),
    ) -> Result<Self, OutOfMemory> {
        let of_gone = if truncated { length } else { 0 };
        let of_positive = match free {
            true => {
                let [stays, gone] = [zeros(length)?, zeros(of_gone)?];
                let sums = [stays, gone].map(|v| (v, Proved::default()));
                Some(Box::new(sums))
            }
            false => None,
        };
        Ok(Self {
            v: zeros(length)?,
            proved: Proved::default(),
            gone: zeros(of_gone)?,
            proved_gone: Proved::default(),
            of_positive,
            tally: Tally::EMPTY,
            breakpoints: (primal && shifts && !exact).then(Breakpoints::new),
            sorted: Sorted::default(),
            primal,
            sorts,
            exact,
        })
    }

    /// Checks a row with sign `y`, this dual variable and, if the primal is summed, this score at the newest weights.
    #[inline(always)]
    pub(in crate::solver) fn check<K: Isa, L: LossFunction>(
        &mut self,
        row: &Row<'_>,
        (loss, terms): (L, &Terms),
        (y, alpha, score): (f64, f32, Option<f64>),
        intercept: f64,
    ) -> Checked {
        let cost = terms.cost(row.cost(), y);
        let Conjugate {
            linear,
            curvature: diag,
            high: upper,
        } = loss.conjugate(terms.c * cost);
        // one that came from elsewhere may be beyond its bound
        let alpha = alpha.min(upper);
        if alpha > 0.0 {
            let with = (y, alpha.into(), diag);
            add::<K>((&mut self.v, &mut self.proved), row, with, intercept);
            self.proved.weight += terms.c * cost;
            self.add_positive::<K>(0, row, with);
        }
        let settled = score.and_then(|score| {
            let breakpoints = self.breakpoints.as_mut();
            self.tally.add_at_start(loss, (y, cost, score), breakpoints);
            self.sorts
                .then(|| settled(alpha, upper, y * score - linear))
        });
        Checked { alpha, settled }
    }

    /// Adds rows that were not looked at, none of which has a loss below its truncation or a dual variable: so many, so many of
    /// them on the right side, and the outliers among them.
    pub(in crate::solver) fn add_unseen(&mut self, (rows, correct): (u64, u64), sorted: Sorted) {
        self.tally.rows += rows;
        self.tally.correct += correct;
        self.sorted = self.sorted.with(sorted);
    }

    /// Counts an outlier with sign `y` and this dual variable, which is on the wrong side.
    #[inline(always)]
    pub(in crate::solver) fn leave_out<K: Isa, L: LossFunction>(
        &mut self,
        row: &Row<'_>,
        (loss, terms): (L, &Terms),
        (y, alpha): (f64, f32),
        intercept: f64,
    ) {
        self.tally.rows += 1;
        if alpha > 0.0 {
            let of_row = loss.conjugate(terms.c * terms.cost(row.cost(), y));
            let alpha = alpha.min(of_row.high);
            let at = (&mut self.gone[..], &mut self.proved_gone);
            let with = (y, alpha.into(), of_row.curvature);
            add::<K>(at, row, with, intercept);
            self.add_positive::<K>(1, row, with);
        }
    }

    /// The same once more for a positive row, where these are summed by themselves: of those that stay, or of outliers.
    #[inline(always)]
    fn add_positive<K: Isa>(&mut self, of: usize, row: &Row<'_>, with: (f64, f64, f64)) {
        if let (Some(positive), true) = (&mut self.of_positive, with.0 > 0.0) {
            let (v, proved) = &mut positive[of];
            add::<K>((v, proved), row, with, 0.0);
        }
    }

    /// Rows stay where they were.
    pub(in crate::solver) fn keep_sides(&mut self) {
        let keep =
            |v: &mut [f64], gone: &[f64]| v.iter_mut().zip(gone).for_each(|(v, gone)| *v += *gone);
        keep(&mut self.v, &self.gone);
        self.proved = self.proved.with(self.proved_gone);
        if let Some(positive) = &mut self.of_positive {
            let [(v, proved), (gone, proved_gone)] = &mut **positive;
            keep(v, gone);
            *proved = proved.with(*proved_gone);
        }
    }

    /// Whether it finds outliers.
    pub(in crate::solver) fn finds_outliers(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Whether the primal at the newest weights is summed.
    pub(in crate::solver) fn primal(&self) -> bool {
        self.primal
    }

    /// What was summed at the newest weights, and what `better` makes of where the losses have their breakpoints.
    pub(in crate::solver) fn losses(
        &mut self,
        better: impl FnOnce(&Breakpoints) -> Option<Shifted>,
    ) -> (Tally, Option<Shifted>) {
        (
            self.tally,
            self.breakpoints.take().as_ref().and_then(better),
        )
    }

    /// Adds what was summed over other rows.
    pub(in crate::solver) fn join(&mut self, other: &Proof) {
        let join = |own: &mut [f64], other: &[f64]| {
            own.iter_mut().zip(other).for_each(|(v, other)| *v += other)
        };
        join(&mut self.v, &other.v);
        join(&mut self.gone, &other.gone);
        if let (Some(own), Some(other)) = (&mut self.of_positive, &other.of_positive) {
            for ((v, proved), (other, more)) in own.iter_mut().zip(other.iter()) {
                join(v, other);
                *proved = proved.with(*more);
            }
        }
        self.proved = self.proved.with(other.proved);
        self.proved_gone = self.proved_gone.with(other.proved_gone);
        self.tally = self.tally.with(other.tally);
        self.sorted = self.sorted.with(other.sorted);
        if let (Some(all), Some(some)) = (&mut self.breakpoints, &other.breakpoints) {
            all.join(some);
        }
    }

    /// The dual variables are multiplied by this factor.
    pub(in crate::solver) fn scale(&mut self, factor: f64) {
        let scale = |v: &mut [f64], proved: &mut Proved| {
            v.iter_mut().for_each(|v| *v *= factor);
            proved.alpha *= factor;
            proved.offsets *= factor;
            proved.diag *= factor * factor;
        };
        scale(&mut self.v, &mut self.proved);
        if let Some(positive) = &mut self.of_positive {
            let (v, proved) = &mut positive[0];
            scale(v, proved);
        }
    }

    /// Whether dual variables are balanced.
    pub(in crate::solver) fn balances(&self) -> bool {
        self.of_positive.is_some()
    }

    /// What the dual variables, balanced where the intercept is free, prove.
    pub(in crate::solver) fn proved(&self) -> Proved {
        let proved = Proved {
            held: [self.proved.alpha, self.proved.offsets, self.proved.diag],
            ..self.proved
        };
        let Some(positive) = &self.of_positive else {
            return Proved {
                norm: self.v.iter().map(|v| v * v).sum(),
                ..proved
            };
        };
        let (positive_v, positive) = &positive[0];
        let negative = (proved.alpha - positive.alpha, proved.diag - positive.diag);
        let balance = balanced(negative.0, positive.alpha);
        let [of_negative, of_positive] = balance;
        let features = self.v.len() - 1;
        let all = self.v.iter().zip(positive_v).take(features);
        let v = all.map(|(v, positive)| of_negative * (v - positive) + of_positive * positive);
        Proved {
            norm: v.map(|v| v * v).sum(),
            alpha: of_negative * negative.0 + of_positive * positive.alpha,
            offsets: of_negative * (proved.offsets - positive.offsets)
                + of_positive * positive.offsets,
            diag: of_negative * of_negative * negative.1
                + of_positive * of_positive * positive.diag,
            balance,
            ..proved
        }
    }
}

/// Adds a row with sign `y` and dual variable `alpha` to v and what is summed beside it.
#[inline(always)]
fn add<K: Isa>(
    (v, proved): (&mut [f64], &mut Proved),
    row: &Row<'_>,
    (y, alpha, diag): (f64, f64, f64),
    intercept: f64,
) {
    let last = v.len() - 1;
    let dense = row.dense();
    f64::add_dense::<K>(&mut v[..dense.len()], y * alpha, dense);
    f64::add_sparse::<K>(v, y * alpha, row.sparse());
    v[last] += intercept * y * alpha;
    proved.alpha += alpha;
    proved.offsets += y * alpha * row.offset();
    proved.diag += diag * alpha * alpha;
    proved.support += 1;
}
