//! Several heads, each by itself.

use crate::base::memory::{OutOfMemory, Room};
use crate::objective::heads::{HeadSpec, Start};
use crate::objective::minimized::Intercept;
use crate::rows::blocks::Blocks;
use crate::rows::facts::Facts;
use crate::rows::map::RowMap;
use crate::rows::row::Row;
use crate::simd::{Isa, Real};
use crate::solver::certificate::dual::BALANCED;
use crate::solver::certificate::state::HeadState;
use crate::solver::driver::{decision, TakesBlocks, TakesRows, Visits, BLOCKS_AT_A_TIME};
use crate::solver::proximal::dual_moments::DualMoments;
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::single::head::Head;
use crate::solver::weights::{Duals, Weights};

pub struct Singles<T> {
    pub(in crate::solver) heads: Vec<Head<T>>,
}

impl<T: Real> Singles<T> {
    pub(in crate::solver) fn new(
        specs: &[HeadSpec],
        states: Vec<HeadState>,
        intercept: Intercept,
        facts: &Facts,
    ) -> Result<Self, OutOfMemory> {
        let mut heads = Vec::new();
        heads.room(specs.len())?;
        for (state, spec) in states.into_iter().zip(specs) {
            heads.push(Head::new(spec, state, intercept, facts)?);
        }
        Ok(Self { heads })
    }

    /// Lets Pegasos train these heads from the start.
    pub(in crate::solver) fn descend(&mut self, rows: usize) {
        self.heads.iter_mut().for_each(|head| head.descend(rows));
    }

    /// Whether several trainers can divide a pass: what they change is added up column by column.
    pub(in crate::solver) fn divisible(&self) -> bool {
        let mut running = self.heads.iter().filter(|head| head.state.runs());
        !running.any(|head| head.iterate.is_whole())
    }

    /// The heads that run.
    #[inline(always)]
    pub(in crate::solver) fn running(&mut self) -> impl Iterator<Item = &mut Head<T>> {
        running(&mut self.heads)
    }

    /// Has heads that begin from dual variables learn a metric from them.
    pub(in crate::solver) fn learn_metric(&mut self) -> Result<(), OutOfMemory> {
        for head in self.running() {
            head.dual_moments = Some(DualMoments::new(head.iterate.len() - 1)?);
        }
        Ok(())
    }

    /// Has them begin in the metric learned, where columns differ.
    pub(in crate::solver) fn begin_in_metric(
        &mut self,
        differ: bool,
        squares: &[f32],
    ) -> Result<(), OutOfMemory> {
        for head in self.running() {
            match differ {
                true => head.begin_in_metric(squares)?,
                false => head.dual_moments = None,
            }
        }
        Ok(())
    }

    /// Has Pegasos make an update by a row alone.
    #[inline(always)]
    pub fn descend_by_row<K: Isa>(&mut self, row: &Row<'_>) {
        for head in self.running() {
            head.descend_by_row::<K>(row);
        }
    }

    /// Makes room for Pegasos to look at so many rows of a set by which it is to make an update.
    pub fn begin_set(&mut self, rows: usize) -> Result<(), OutOfMemory> {
        for head in self.running() {
            head.begin_set(rows)?;
        }
        Ok(())
    }

    /// Has Pegasos look at a row of a set by which it is to make an update.
    #[inline(always)]
    pub fn look<K: Isa>(&mut self, row: &Row<'_>) {
        for head in self.running() {
            head.look::<K>(row);
        }
    }

    /// Begins the update by the set looked at. `keeps_norm`: its rows have fewer values than there are features.
    pub fn begin_update(&mut self, keeps_norm: bool) {
        self.running()
            .for_each(|head| head.begin_update(keeps_norm));
    }

    /// Adds a row of a set of `size` rows.
    #[inline(always)]
    pub fn descend_by_set<K: Isa>(&mut self, row: &Row<'_>, size: usize) {
        for head in self.running() {
            head.descend_by_set::<K>(row, size);
        }
    }

    /// Ends the update by a set.
    pub fn end_update(&mut self) {
        self.running().for_each(Head::end_update);
    }
}

/// The heads that run. Rows are visited in plain loops over them: Iterator's own functions need not be inlined, and where
/// they are not, what they call misses the instructions of its build.
#[inline(always)]
fn running<T>(heads: &mut [Head<T>]) -> impl Iterator<Item = &mut Head<T>> {
    heads.iter_mut().filter(|head| head.state.runs())
}

impl<T: Real> TakesRows for [Head<T>] {
    #[inline(always)]
    fn visit_full<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        let mut keep = false;
        for head in running(self) {
            keep |= head.visit_full::<K>(row).matters(margin);
        }
        keep
    }

    #[inline(always)]
    fn visit_active<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        let mut keep = false;
        for head in running(self) {
            keep |= head.visit_active::<K>(row).matters(margin);
        }
        keep
    }

    #[inline(always)]
    fn visit_graded<K: Isa>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize {
        let mut grade = margins.len();
        for head in running(self) {
            head.shrunk.set(row.ordinal(), false);
            let outcome = head.visit_active::<K>(row);
            grade = grade.min(margins.partition_point(|margin| !outcome.matters(*margin)));
        }
        grade
    }

    #[inline(always)]
    fn measure<K: Isa>(&mut self, row: &Row<'_>) {
        for head in running(self) {
            head.measure::<K>(row);
        }
    }

    #[inline(always)]
    fn scattered(&self) -> bool {
        self.first().is_some_and(Head::scattered)
    }

    #[inline(always)]
    fn ask<const FULL: bool>(&mut self, row: &Row<'_>) {
        for head in running(self) {
            head.ask::<FULL>(row);
        }
    }

    #[inline(always)]
    fn check<K: Isa>(&mut self, row: &Row<'_>) {
        for head in running(self) {
            head.check::<K>(row);
        }
    }

    #[inline(always)]
    fn shrunk(&self, ordinal: usize) -> bool {
        let mut heads = self.iter();
        heads.all(|head| !head.state.runs() || head.shrunk.get(ordinal))
    }
}

impl<T: Real> TakesBlocks for [Head<T>] {
    fn blocks_at_a_time(&self, _: bool) -> usize {
        BLOCKS_AT_A_TIME
    }

    #[inline(always)]
    fn visit_blocks<K: Isa, const FULL: bool>(&mut self, blocks: Blocks<'_, impl RowMap>) -> usize {
        let mut most = 0;
        for head in running(self) {
            most = most.max(head.visit_blocks::<K, FULL>(blocks));
        }
        most
    }

    #[inline(always)]
    fn needs_check(&self, ordinal: usize) -> bool {
        self.iter().any(|head| head.needs_check(ordinal))
    }

    #[inline(always)]
    fn learn_blocks(&mut self, blocks: Blocks<'_, impl RowMap>) {
        for head in running(self) {
            head.learn_blocks(blocks);
        }
    }

    #[inline(always)]
    fn learn_row(&mut self, row: &Row<'_>) {
        for head in running(self) {
            head.learn_row(row);
        }
    }
}

impl<T: Real> Visits for Singles<T> {
    fn len(&self) -> usize {
        self.heads.len()
    }

    fn state(&self, head: usize) -> &HeadState {
        &self.heads[head].state
    }

    fn state_mut(&mut self, head: usize) -> &mut HeadState {
        &mut self.heads[head].state
    }

    fn set_start(&mut self, head: usize, start: Start) {
        self.heads[head].set_start(start);
    }

    fn put_duals(&mut self, head: usize, first: usize, duals: &[f32]) {
        self.heads[head].alpha[first..][..duals.len()].copy_from_slice(duals);
    }

    fn weights(&self, head: usize) -> Weights<'_> {
        Weights::with_intercept(T::numbers(self.heads[head].weights()))
    }

    fn duals(&self, head: usize) -> Duals<'_> {
        Duals::new(&self.heads[head].alpha, 1)
    }

    #[inline(always)]
    fn decision<K: Isa>(&self, head: usize, row: &Row<'_>, intercept: f64) -> f32 {
        decision::<K, T>(self.heads[head].weights(), row, intercept)
    }

    fn dual(&mut self) -> Option<f64> {
        self.heads.iter().map(Head::dual).sum()
    }

    fn take_best_duals(&mut self, head: usize) {
        self.heads[head].exchange_duals(BALANCED);
        self.heads[head].end();
    }

    fn active(&self, n: usize) -> u64 {
        let running = self.heads.iter().filter(|head| head.state.runs());
        running.fold(0, |active, head| active | !head.shrunk.word(n))
    }

    fn begin_full(&mut self, _: bool) -> Result<(), OutOfMemory> {
        self.running().for_each(Head::begin_full);
        Ok(())
    }

    fn end_full(&mut self) -> Result<(), OutOfMemory> {
        self.running().for_each(Head::end_full);
        Ok(())
    }

    fn least_wanting(&self, _: bool) -> usize {
        let running = self.heads.iter().filter(|head| head.state.runs());
        running.count().div_ceil(2)
    }

    fn begin_verify(&mut self, all: bool, _: bool) -> Result<bool, OutOfMemory> {
        let mut everything = false;
        for head in self
            .running()
            .filter(|head| all || head.state.wants_proof())
        {
            everything |= head.begin_verify()?;
        }
        Ok(everything)
    }

    fn end_verify(&mut self) -> Result<(), OutOfMemory> {
        self.running().try_for_each(Head::end_verify)
    }

    fn advance(
        &mut self,
        metric: Option<&ShiftMetric>,
        mean_squares: Option<&[f32]>,
    ) -> Result<(), OutOfMemory> {
        for head in self.running() {
            head.advance(metric, mean_squares)?;
        }
        Ok(())
    }

    fn begin_active(&mut self) {
        self.running().for_each(|head| head.state.begin_active());
    }

    fn estimate_active(&mut self) {
        self.running().for_each(Head::estimate_active);
    }

    fn end_active(&mut self) -> Result<(), OutOfMemory> {
        self.running().try_for_each(Head::end_active)
    }
}
