//! Heads side by side as heads whose rows are visited.
//!
//! The loops choose the instruction set themselves: one call of them visits many rows, or one row for many heads.

use std::ops::Range;

use super::JointHeads;
use crate::base::memory::OutOfMemory;
use crate::rows::blocks::Blocks;
use crate::rows::map::RowMap;
use crate::rows::row::Row;
use crate::rows::visited::VisitedPage;
use crate::simd::Isa;
use crate::solver::certificate::state::HeadState;
use crate::solver::driver::{decision, Visits, BLOCKS_AT_A_TIME};
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::sums::tally::Sums;
use crate::solver::weights::{Duals, Weights};
use crate::task::heads::Start;

/// Blocks visited at a time, times the heads: all of them visit a row together, and hundreds take their time.
const HEAD_BLOCKS_AT_A_TIME: usize = 1024;

impl Visits for JointHeads {
    fn len(&self) -> usize {
        self.states.len()
    }

    fn state(&self, head: usize) -> &HeadState {
        &self.states[head]
    }

    fn state_mut(&mut self, head: usize) -> &mut HeadState {
        &mut self.states[head]
    }

    fn pending(&self, head: usize) -> Sums {
        self.unsettled(head)
    }

    fn set_start(&mut self, head: usize, start: Start) {
        self.begin_at(head, &start);
    }

    fn put_duals(&mut self, head: usize, first: usize, duals: &[f32]) {
        self.write_duals(head, first, duals);
    }

    fn weights(&self, head: usize) -> Weights<'_> {
        self.column(head).into()
    }

    fn duals(&self, head: usize) -> Duals<'_> {
        let (values, step) = self.strided_duals(head);
        Duals::new(values, step)
    }

    #[inline(always)]
    fn decision<K: Isa>(&self, head: usize, row: &Row<'_>, intercept: f64) -> f32 {
        decision::<K, f32>(&self.final_w[head], row, intercept)
    }

    fn dual(&mut self) -> Option<f64> {
        Some(self.duals_now())
    }

    fn take_laid(&mut self, head: usize) {
        self.exchange_duals(head, 1.0);
        if let Some(intercept) = self.states[head].constant() {
            let none = std::iter::repeat_n(0.0, self.facts.features);
            self.best.put(self.lane_of[head], none.chain([intercept]));
        }
    }

    fn active(&self, n: usize) -> u64 {
        self.active_word(n)
    }

    #[inline(always)]
    fn shrunk(&self, ordinal: usize) -> bool {
        self.all_shrunk.get(ordinal)
    }

    fn begin_full(&mut self, undisturbed: bool) -> Result<(), OutOfMemory> {
        self.start_full(undisturbed)
    }

    fn blocks_at_a_time(&self, full: bool) -> usize {
        match self.turn.is_some() && !full {
            true => BLOCKS_AT_A_TIME,
            false => (HEAD_BLOCKS_AT_A_TIME / self.states.len()).clamp(1, BLOCKS_AT_A_TIME),
        }
    }

    #[inline(always)]
    fn visit_blocks<K: Isa, const FULL: bool>(&mut self, blocks: Blocks<'_, impl RowMap>) -> usize {
        self.visit_all::<FULL>(blocks)
    }

    #[inline(always)]
    fn visit_full<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        self.visit_row::<true>(row) <= margin
    }

    #[inline(always)]
    fn visit_active<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        self.visit_row::<false>(row) <= margin
    }

    #[inline(always)]
    fn visit_graded<K: Isa>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize {
        self.wake(row.ordinal());
        let held = self.visit_row::<false>(row);
        margins.partition_point(|margin| *margin < held)
    }

    #[inline(always)]
    fn measure<K: Isa>(&mut self, row: &Row<'_>) {
        self.measure_one(row);
    }

    #[inline(always)]
    fn scattered(&self) -> bool {
        self.w.scattered()
    }

    #[inline(always)]
    fn ask<const FULL: bool>(&mut self, row: &Row<'_>) {
        self.ask_for::<FULL>(row.sparse());
    }

    fn end_full(&mut self) -> Result<(), OutOfMemory> {
        self.finish_full()
    }

    /// Where all rows are at hand the next full pass finds the primal of heads that wait beside what it trains for the others:
    /// there all heads must want a proof, or one whose gap is known, for which it costs next to nothing.
    fn least_wanting(&self, at_hand: bool) -> usize {
        let running = || self.states.iter().filter(|state| state.runs());
        match at_hand {
            true if running().any(HeadState::is_known) => 1,
            true => running().count(),
            false => running().count().div_ceil(2),
        }
    }

    fn begin_verify(&mut self, _: bool, at_hand: bool) -> Result<bool, OutOfMemory> {
        self.begin_proofs(at_hand)
    }

    #[inline(always)]
    fn check<K: Isa>(&mut self, row: &Row<'_>) {
        self.check_one(row);
    }

    #[inline(always)]
    fn needs_check(&self, ordinal: usize) -> bool {
        self.has_dual(ordinal)
    }

    #[inline(always)]
    fn check_slots<K: Isa>(
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

    fn end_verify(&mut self) -> Result<(), OutOfMemory> {
        self.end_proofs()
    }

    fn advance(
        &mut self,
        metric: Option<&ShiftMetric>,
        _: Option<&[f32]>,
    ) -> Result<(), OutOfMemory> {
        self.move_centres(metric)
    }

    fn begin_active(&mut self) {
        self.start_active();
    }

    fn estimate_active(&mut self) {
        self.estimate();
    }

    fn end_active(&mut self) -> Result<(), OutOfMemory> {
        self.finish_active()
    }

    fn better_in_turns(&self, active: usize) -> bool {
        self.turns_pay(active)
    }

    fn turn(&self) -> Option<&HeadState> {
        let turn = self.turn.as_ref()?;
        Some(&self.states[self.head_of[turn.lane]])
    }

    fn next_turn(&mut self) -> Result<bool, OutOfMemory> {
        self.turn_to_next()
    }

    fn end_turns(&mut self) {
        self.end_all_turns();
    }
}
