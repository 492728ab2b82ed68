//! Verifying passes: as in [`crate::solver::proof`], of those heads that want one.

use super::Bank;
use crate::kernel::lanes::LANES;
use crate::kernel::{Kernel, Work};
use crate::row::Row;
use crate::solver::course::Verdict;
use crate::solver::proof::{settled, Proof};
use crate::solver::visit::right_side;
use crate::trainer::TrainError;
use crate::zeros::zeros;

/// The work of [`Bank::check`].
struct Check<'a> {
    bank: &'a mut Bank,
    row: &'a Row<'a>,
}

impl Work for Check<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self) {
        self.bank.check_row::<K>(self.row);
    }
}

impl Bank {
    /// Begins to verify the heads that want it; false when rows with a = 0 need not be looked at.
    pub(in crate::solver) fn begin_verify(&mut self) -> Result<bool, TrainError> {
        self.write_start();
        let lanes: Vec<_> = self.running().collect();
        let mut everything = false;
        for (_, head) in lanes {
            let course = &mut self.courses[head];
            if course.wants_proof() {
                everything |= course.begin_verify();
                let proof = Proof::new(self.facts.features + 1, false, false, course.sorts_rows())?;
                self.proofs.push((head, proof));
            }
        }
        Ok(everything)
    }

    /// Whether a head being verified has a > 0 for this row.
    #[inline(always)]
    pub(in crate::solver) fn needs_check(&self, ordinal: usize) -> bool {
        let alpha = self.alpha_of(ordinal);
        let mut heads = self.proofs.iter();
        heads.any(|(head, _)| alpha[self.lane_of[*head]] > 0.0)
    }

    #[inline(always)]
    fn alpha_of(&self, ordinal: usize) -> &[f32] {
        self.alpha[ordinal * self.width..][..self.width].as_flattened()
    }

    /// Checks a row for the heads being verified.
    pub(in crate::solver) fn check(&mut self, row: &Row<'_>) {
        self.level.run(Check { bank: self, row });
    }

    #[inline(always)]
    fn check_row<K: Kernel>(&mut self, row: &Row<'_>) {
        let mut proofs = std::mem::take(&mut self.proofs);
        let (mut sorted, mut awake) = (false, false);
        for (head, proof) in &mut proofs {
            let y = f64::from(self.specs[*head].signs[row.group()]);
            if y == 0.0 {
                continue;
            }
            let lane = self.lane_of[*head];
            let cost = f64::from(row.cost());
            let course = &mut self.courses[*head];
            let place = row.ordinal() * self.width + lane / LANES;
            let alpha = &mut self.alpha[place][lane % LANES];
            let (diag, upper) = course.terms.diag_and_upper(cost);
            if *alpha > 0.0 {
                // one that came from elsewhere may be beyond its bound
                *alpha = alpha.min(upper);
                let alpha = f64::from(*alpha);
                proof.add::<K>(row, y, alpha, diag, self.intercept.into());
            }
            if course.verifies_primal() {
                let margin = y * self.start.score(row, self.intercept.into(), lane);
                let loss = cost * course.terms.loss(margin);
                let full = &mut course.sums.full;
                full.start_loss += loss;
                full.correct += u64::from(right_side(margin, y));
                full.rows += 1;
                if course.sorts_rows() {
                    let settled = settled(*alpha, upper, margin);
                    let lanes = &mut self.asleep[place];
                    *lanes = *lanes & !(1 << (lane % LANES)) | u8::from(settled) << (lane % LANES);
                    (sorted, awake) = (true, awake | !settled);
                }
            }
        }
        self.proofs = proofs;
        if sorted {
            self.all_asleep.set(row.ordinal(), !awake);
        }
    }

    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end.
    pub(in crate::solver) fn end_verify(&mut self) -> Result<(), TrainError> {
        for (head, proof) in std::mem::take(&mut self.proofs) {
            let lane = self.lane_of[head];
            if self.courses[head].end_verify_primal(self.start_norm[lane], None) {
                let mut better = vec![0.0; self.kappa.len()];
                better[lane] = 1.0;
                self.take_start(&better);
            }
            match self.courses[head].end_verify(proof.proved()) {
                Verdict::Ended { shrink } => self.end(head, shrink)?,
                verdict => {
                    if let Verdict::Begins { kappa, at_v } = verdict {
                        if at_v {
                            self.z.put(lane, proof.v.iter().copied());
                        }
                        self.kappa[lane] = kappa;
                    }
                    let moment = self.metric.as_ref().map(|metric| &metric.moment);
                    self.w
                        .set(lane, &proof.v, &self.z, moment, self.kappa[lane]);
                }
            }
        }
        self.pack();
        self.arm();
        Ok(())
    }

    /// Lays a head's weights aside and shrinks its dual variables.
    fn end(&mut self, head: usize, shrink: f64) -> Result<(), TrainError> {
        let lane = self.lane_of[head];
        let mut weights = zeros(self.facts.features + 1)?;
        self.best.column(lane).copy_to(&mut weights);
        self.final_w[head] = weights;
        if shrink != 1.0 {
            let all = self.alpha.as_flattened_mut();
            for alpha in all.iter_mut().skip(lane).step_by(self.width * LANES) {
                *alpha = (f64::from(*alpha) * shrink) as f32;
            }
        }
        Ok(())
    }
}
