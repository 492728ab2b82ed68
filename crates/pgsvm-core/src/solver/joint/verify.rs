//! Verifying passes: as in [`crate::solver::single::verify`], of those heads that want one.

use super::matrix::tile_scores;
use super::Bank;
use crate::base::interrupts;
use crate::base::zeros::zeros;
use crate::rows::page::Page;
use crate::rows::row::Row;
use crate::simd::lanes::{Lanes, LANES, TILE};
use crate::simd::{Kernel, Work};
use crate::solver::certificate::progress::{Course, Verdict};
use crate::solver::single::verify::Proof;
use crate::solver::visit::visitor::Terms;
use crate::training::TrainError;
use std::ops::Range;

/// Scores of so many heads are taken for [`TILE`] rows at a time: rows come as they lie, and those of fewer heads wait for
/// memory in any case.
const LEAST_TILED: usize = 3;

/// The work of [`Bank::check`].
struct Check<'a> {
    bank: &'a mut Bank,
    row: &'a Row<'a>,
}

impl Work for Check<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self) {
        self.bank.check_row::<K>(self.row, None);
    }
}

/// The work of [`Bank::check_rows`].
struct CheckRows<'a> {
    bank: &'a mut Bank,
    page: Page<'a>,
    slots: Range<usize>,
}

impl Work for CheckRows<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Kernel>(self) -> usize {
        self.bank.check_tiles::<K>(self.page, self.slots)
    }
}

impl Bank {
    /// Begins to verify the heads that want it, or of those the ones that need no look at rows with a = 0, if the others can
    /// wait and all rows are `at_hand`; false when there are no others.
    pub(in crate::solver) fn begin_verify(&mut self, at_hand: bool) -> Result<bool, TrainError> {
        self.write_start();
        let lanes: Vec<_> = self.running().collect();
        let mut everything = false;
        self.proving.fill(0);
        let only_known = at_hand && self.verifies_only_known();
        for (lane, head) in lanes {
            let course = &mut self.courses[head];
            if course.wants_proof() && (!only_known || course.is_known()) {
                let primal = course.begin_verify();
                everything |= primal;
                self.proving[lane / LANES] |= u8::from(primal) << (lane % LANES);
                let (length, shifts) = (self.facts.features + 1, self.intercept > 0.0);
                let proof = Proof::new(length, primal, shifts, course.sorts_rows())?;
                self.proofs.push((head, proof));
            }
        }
        Ok(everything)
    }

    /// Whether heads whose gap is not known wait for the next full pass: those of others are, and that trains some.
    fn verifies_only_known(&self) -> bool {
        let running = || self.courses.iter().filter(|course| course.runs());
        running().any(Course::is_known)
            && !running().any(Course::cannot_wait)
            && !running().all(Course::wants_proof)
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

    /// Checks these rows. Gives back the values looked at.
    pub(in crate::solver) fn check_rows(&mut self, page: Page<'_>, slots: Range<usize>) -> usize {
        self.level.run(CheckRows {
            bank: self,
            page,
            slots,
        })
    }

    /// The scores of [`TILE`] rows at a time are taken together, where heads are several.
    #[inline(always)]
    fn check_tiles<K: Kernel>(&mut self, page: Page<'_>, mut slots: Range<usize>) -> usize {
        let proving = self.proofs.iter().filter(|(_, proof)| proof.primal());
        let lanes: Vec<_> = proving.map(|(head, _)| self.lane_of[*head]).collect();
        let mut values = 0;
        if lanes.len() >= LEAST_TILED && self.tiles() {
            let each = self.blocks.len();
            let mut scores = vec![[0.0; LANES]; TILE * each];
            while slots.len() >= TILE {
                let first = slots.start;
                let rows: [_; TILE] = std::array::from_fn(|n| page.peek_row(first + n));
                slots.start += TILE;
                let one = self.intercept;
                tile_scores::<K>(&self.start, &rows, one, &lanes, &mut [], &mut scores);
                for (row, scores) in rows.iter().zip(scores.chunks_exact(each)) {
                    values += 1 + row.values();
                    self.check_row::<K>(row, Some(scores));
                }
            }
        }
        for slot in slots {
            let row = page.peek_row(slot);
            values += 1 + row.values();
            self.check_row::<K>(&row, None);
        }
        values
    }

    /// Checks a row; `known`: its scores at the weights being verified, block by block.
    #[inline(always)]
    fn check_row<K: Kernel>(&mut self, row: &Row<'_>, known: Option<&[Lanes]>) {
        let mut proofs = std::mem::take(&mut self.proofs);
        let (mut sorted, mut awake) = (false, false);
        // heads come in the order of their lanes: a block's scores serve one after the other
        let (mut scored, mut scores) = (None, [0.0; LANES]);
        if proofs.len() > LANES {
            interrupts::look();
        }
        for (head, proof) in &mut proofs {
            let y = f64::from(self.specs[*head].signs.of(row.group()));
            if y == 0.0 {
                continue;
            }
            let (block, k) = (self.lane_of[*head] / LANES, self.lane_of[*head] % LANES);
            if proof.primal() && scored != Some(block) {
                scores = match known {
                    Some(known) => known[block],
                    None => self.score_start::<K>(row, block, self.proving[block]),
                };
                scored = Some(block);
            }
            let score = proof.primal().then(|| f64::from(scores[k]));
            let place = row.ordinal() * self.width + block;
            let alpha = &mut self.alpha[place][k];
            let terms = &self.courses[*head].terms;
            let checked = proof.check::<K>(row, terms, (y, *alpha, score), self.intercept.into());
            *alpha = checked.alpha;
            if let Some(settled) = checked.settled {
                let lanes = &mut self.asleep[place];
                *lanes = *lanes & !(1 << k) | u8::from(settled) << k;
                (sorted, awake) = (true, awake | !settled);
            }
        }
        self.proofs = proofs;
        if sorted {
            self.all_asleep.set(row.ordinal(), !awake);
        }
    }

    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end.
    pub(in crate::solver) fn end_verify(&mut self) -> Result<(), TrainError> {
        for (head, mut proof) in std::mem::take(&mut self.proofs) {
            interrupts::look();
            let lane = self.lane_of[head];
            let Terms { c, squared, .. } = self.courses[head].terms;
            let from = f64::from(self.start.column(lane).get(self.facts.features));
            let round = |intercept: f64| f64::from(intercept as f32);
            let (tally, shifted) = proof.losses(|kinks| kinks.better(from, c, squared, round));
            self.courses[head].sums.full = tally;
            if self.courses[head].end_verify_primal(self.start_norm[lane], shifted) {
                let mut better = vec![0.0; self.kappa.len()];
                better[lane] = 1.0;
                self.take_start(&better);
                if let Some(shifted) = shifted {
                    self.best.put_intercept(lane, shifted.intercept as f32);
                }
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
        self.pack()?;
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
