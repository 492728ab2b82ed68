//! Verifying passes: as in [`crate::solver::single::verify`], of those heads that want one.

use super::best_duals::ROWS_A_LOOK;
use super::matrix::TileScores;
use super::{JointHeads, TileRoom};
use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::loss::{by_loss, LossFunction};
use crate::rows::map::RowMap;
use crate::rows::row::{entries, Row};
use crate::rows::visited::VisitedPage;
use crate::simd::entries::TILE;
use crate::simd::lanes::{Lanes, LANES};
use crate::simd::{Isa, Work};
use crate::solver::certificate::dual::Verified;
use crate::solver::certificate::proof::Proof;
use crate::solver::sums::terms::Terms;
use std::ops::Range;

/// Scores of so many heads are taken for [`TILE`] rows at a time: rows come as they lie, and those of fewer heads wait for
/// memory in any case.
const LEAST_TILED: usize = 3;

/// The work of [`JointHeads::check_one`].
struct Check<'a> {
    joint: &'a mut JointHeads,
    row: &'a Row<'a>,
}

impl Work for Check<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (joint, row) = (self.joint, self.row);
        by_loss!(joint.loss, loss => joint.check_row::<K, _>(loss, row, None));
    }
}

/// The work of [`JointHeads::check_rows`].
struct CheckRows<'a, M> {
    joint: &'a mut JointHeads,
    page: VisitedPage<'a, M>,
    slots: Range<usize>,
}

impl<M: RowMap> Work for CheckRows<'_, M> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let Self { joint, page, slots } = self;
        by_loss!(joint.loss, loss => joint.check_tiles::<K, _>(loss, page, slots))
    }
}

impl JointHeads {
    /// Begins to verify the heads that want it, or of those the ones that need no look at rows with a = 0; false when there are
    /// no others.
    pub(super) fn begin_proofs(&mut self, only_known: bool) -> Result<bool, OutOfMemory> {
        self.settle();
        self.take_norms();
        self.write_start();
        let mut everything = false;
        self.proofs.lanes.fill(0);
        for lane in 0..self.head_of.len() {
            let Some(head) = self.running_at(lane) else {
                continue;
            };
            let state = &mut self.states[head];
            if state.wants_proof() && (!only_known || state.ledger.is_known()) {
                let present = state.dual_at(self.norms[lane], state.sums);
                let verifying = state.begin_verify(present);
                everything |= verifying.primal;
                self.proofs.lanes[lane / LANES] |= u8::from(verifying.primal) << (lane % LANES);
                let (length, shifts) = (self.facts.features + 1, self.intercept > 0.0);
                let proof = Proof::new(
                    length,
                    verifying,
                    shifts,
                    (state.sorts_rows(), false, false),
                )?;
                self.proofs.heads.room(1)?.push((head, proof));
                if verifying.exact {
                    self.verify_best(lane);
                }
                if verifying.best_duals {
                    self.exchange_duals(head, 1.0);
                }
            }
        }
        Ok(everything)
    }

    /// Has the best weights of a head verified, not the newest.
    fn verify_best(&mut self, lane: usize) {
        let best = self.best.column(lane);
        self.start.w.put(lane, best.iter().map(f64::from));
        let squares = best.iter().map(|w| f64::from(w) * f64::from(w));
        self.start.norm[lane] = squares.sum();
    }

    /// <w, x> + b of the weights being verified and the offset, summed in 64 bits.
    fn exact_score(&self, row: &Row<'_>, lane: usize) -> f64 {
        let weights = self.start.w.column(lane);
        let weight = |j: usize| f64::from(weights.get(j));
        let last = row.offset() + f64::from(self.intercept) * weight(self.facts.features);
        entries(row).fold(last, |sum, (j, x)| sum + x * weight(j))
    }

    /// Whether a head being verified has a > 0 for this row.
    #[inline(always)]
    pub(super) fn has_dual(&self, ordinal: usize) -> bool {
        let alpha = self.alpha_of(ordinal);
        let mut heads = self.proofs.heads.iter();
        heads.any(|(head, _)| alpha[self.lane_of[*head]] > 0.0)
    }

    #[inline(always)]
    fn alpha_of(&self, ordinal: usize) -> &[f32] {
        self.alpha[ordinal * self.width..][..self.width].as_flattened()
    }

    /// Checks a row for the heads being verified.
    pub(super) fn check_one(&mut self, row: &Row<'_>) {
        self.level.run(Check { joint: self, row });
    }

    /// Checks these rows, or only those with a > 0 in a head being verified. Gives back the values looked at.
    pub(super) fn check_slots(
        &mut self,
        page: VisitedPage<'_, impl RowMap>,
        slots: Range<usize>,
        everything: bool,
    ) -> usize {
        if everything {
            return self.check_rows(page, slots);
        }
        let mut values = 0;
        for slot in slots {
            values += 1;
            if self.has_dual(slot) {
                let row = page.row(slot);
                values += row.values();
                self.check_one(&row);
            }
        }
        values
    }

    /// Checks these rows. Gives back the values looked at.
    fn check_rows(&mut self, page: VisitedPage<'_, impl RowMap>, slots: Range<usize>) -> usize {
        self.level.run(CheckRows {
            joint: self,
            page,
            slots,
        })
    }

    /// The scores of [`TILE`] rows at a time are taken together, where heads are several.
    #[inline(always)]
    fn check_tiles<K: Isa, L: LossFunction>(
        &mut self,
        loss: L,
        page: VisitedPage<'_, impl RowMap>,
        mut slots: Range<usize>,
    ) -> usize {
        let mut tile = self.tile.take();
        let proving = self.proofs.heads.iter().filter(|(_, proof)| proof.primal());
        let mut values = 0;
        if let Some(TileRoom {
            lanes, at_start, ..
        }) = tile
            .as_mut()
            .filter(|_| proving.clone().count() >= LEAST_TILED)
        {
            lanes.clear();
            lanes.extend(proving.map(|(head, _)| self.lane_of[*head]));
            let each = self.blocks.len();
            let scores = &mut at_start[..TILE * each];
            scores.fill([0.0; LANES]);
            while slots.len() >= TILE {
                let first = slots.start;
                let rows: [_; TILE] = std::array::from_fn(|n| page.row(first + n));
                slots.start += TILE;
                K::apart(TileScores {
                    matrix: &self.start.w,
                    rows: &rows,
                    intercept: self.intercept,
                    lanes,
                    coming: &mut [],
                    out: scores,
                });
                for (row, scores) in rows.iter().zip(scores.chunks_exact(each)) {
                    values += 1 + row.values();
                    self.check_row::<K, L>(loss, row, Some(scores));
                }
            }
        }
        for slot in slots {
            let row = page.row(slot);
            values += 1 + row.values();
            self.check_row::<K, L>(loss, &row, None);
        }
        self.tile = tile;
        values
    }

    /// Checks a row; `known`: its scores at the weights being verified, block by block.
    #[inline(always)]
    fn check_row<K: Isa, L: LossFunction>(
        &mut self,
        loss: L,
        row: &Row<'_>,
        known: Option<&[Lanes]>,
    ) {
        let mut proofs = std::mem::take(&mut self.proofs.heads);
        let (mut sorted, mut active) = (false, false);
        // heads come in the order of their lanes: a block's scores serve one after the other
        let (mut scored, mut scores) = (None, [0.0; LANES]);
        if proofs.len() > LANES {
            interrupts::check();
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
                    None => self.score_start::<K>(row, block, self.proofs.lanes[block]),
                };
                scored = Some(block);
            }
            let score = match proof.exact {
                true => Some(self.exact_score(row, self.lane_of[*head])),
                false => proof.primal().then(|| f64::from(scores[k])),
            };
            let place = row.ordinal() * self.width + block;
            let alpha = &mut self.alpha[place][k];
            let terms = &self.states[*head].ledger.terms;
            let (at, one) = ((y, *alpha, score), self.intercept.into());
            let checked = proof.check::<K, L>(row, (loss, terms), at, one);
            *alpha = checked.alpha;
            if let Some(settled) = checked.settled {
                let lanes = &mut self.shrunk[place];
                *lanes = *lanes & !(1 << k) | u8::from(settled) << k;
                (sorted, active) = (true, active | !settled);
            }
        }
        self.proofs.heads = proofs;
        if sorted {
            self.all_shrunk.set(row.ordinal(), !active);
        }
    }

    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end.
    pub(super) fn end_proofs(&mut self) -> Result<(), OutOfMemory> {
        let running = self.running_states().count();
        for (head, mut proof) in std::mem::take(&mut self.proofs.heads) {
            interrupts::check();
            let lane = self.lane_of[head];
            let Terms { c, loss, .. } = self.states[head].ledger.terms;
            let from = f64::from(self.start.w.column(lane).get(self.facts.features));
            let round = |intercept: f64| f64::from(intercept as f32);
            let (tally, shifted) =
                proof.losses(|breakpoints| breakpoints.better(from, c, (loss, false), round));
            self.states[head].sums.full = tally;
            if self.states[head].end_verify_primal(self.start.norm[lane], shifted) {
                self.best.take(lane, &self.start.w);
                if let Some(shifted) = shifted {
                    self.best.put_intercept(lane, shifted.intercept as f32);
                }
            }
            let verified = self.states[head].end_verify(proof.proved(), false);
            match verified {
                Verified::Ended { shrink } => self.end(head, shrink)?,
                Verified::EndedWithBest => {
                    self.exchange_duals(head, 1.0);
                    self.end(head, 1.0)?;
                }
                Verified::Exactly => {}
                Verified::Again { shrink } => self.exchange_duals(head, shrink),
                Verified::GoesOn { lay } | Verified::Begins { lay, .. } => {
                    if let Some(shrink) = lay {
                        self.keep_best_of_head(head, shrink);
                    }
                    if let Verified::Begins { kappa, at_v, .. } = verified {
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
        if self.running_states().count() < running {
            self.leave_ended();
        }
        Ok(())
    }

    /// Rows that were in the active sets of heads alone that have ended are in none any more.
    fn leave_ended(&mut self) {
        for (row, shrunk) in self.shrunk.chunks_exact(self.width).enumerate() {
            if row % ROWS_A_LOOK == 0 {
                interrupts::check();
            }
            let mut lanes = self.blocks.iter().zip(shrunk);
            let active = lanes.any(|(block, shrunk)| block.running & !shrunk != 0);
            self.all_shrunk.set(row, !active);
        }
    }

    /// Lays a head's weights aside and shrinks its dual variables.
    fn end(&mut self, head: usize, shrink: f64) -> Result<(), OutOfMemory> {
        let lane = self.lane_of[head];
        let mut weights = zeros(self.facts.features + 1)?;
        match self.states[head].ledger.constant() {
            Some(intercept) => weights[self.facts.features] = intercept as f32,
            None => self.best.column(lane).copy_to(&mut weights),
        }
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
