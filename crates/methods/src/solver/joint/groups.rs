//! Heads side by side, divided into groups, one for each trainer. Each group is visited by a thread of its own.
//!
//! Heads are dealt out to groups by turns. Neighbouring heads have much in common, such as C, and so about the same work: every group gets
//! its share of each kind.
//!
//! The loops choose the instruction set themselves, once for many rows, or for one row and many heads.

use std::ops::Range;

use super::shift::most_kappa;
use super::JointHeads;
use crate::base::memory::{all_of, gathered, OutOfMemory, Room};
use crate::objective::heads::{HeadSpec, Start};
use crate::rows::blocks::Blocks;
use crate::rows::facts::Facts;
use crate::rows::map::RowMap;
use crate::rows::row::Row;
use crate::rows::visited::VisitedPage;
use crate::simd::{Isa, Real};
use crate::solver::certificate::state::HeadState;
use crate::solver::driver::{decision, TakesBlocks, TakesRows, Visits, BLOCKS_AT_A_TIME};
use crate::solver::proximal::moments::ShiftMetric;
use crate::solver::single::head::Head;
use crate::solver::sums::tally::Sums;
use crate::solver::weights::{Duals, Weights};

/// Blocks visited at a time, times the heads: all of them visit a row together, and hundreds take their time.
const HEAD_BLOCKS_AT_A_TIME: usize = 1024;
/// Heads take turns where a row is in fewer active sets than so many.
const MOST_TOGETHER: u64 = 2;
/// And where a pass of all of them visits a value for each row and so many for each feature, times the heads: before and
/// behind a turn there is a look at all rows and at a head's weights.
const VALUES_PER_FEATURE: u64 = 16;

pub(in crate::solver) struct JointGroups {
    pub(in crate::solver) groups: Vec<JointHeads>,
    heads: usize,
    facts: Facts,
}

impl JointGroups {
    /// Whether the heads are better off together.
    pub(in crate::solver) fn suits(states: &[HeadState]) -> bool {
        let suits = |state: &HeadState| state.kappa() <= most_kappa(state);
        states.len() > 1 && states.iter().all(suits)
    }

    /// Heads in so many groups, or fewer where heads are.
    pub(in crate::solver) fn new(
        groups: usize,
        specs: &[HeadSpec],
        states: Vec<HeadState>,
        intercept: f64,
        facts: &Facts,
    ) -> Result<Self, OutOfMemory> {
        let heads = states.len();
        let count = groups.clamp(1, heads);
        let mut dealt = gathered((0..count).map(|_| Vec::new()))?;
        for (head, state) in states.into_iter().enumerate() {
            dealt[head % count].room(1)?.push(state);
        }
        let group = |(first, states)| {
            let specs = gathered(specs.iter().skip(first).step_by(count).cloned())?;
            JointHeads::new(&specs, states, intercept, facts)
        };
        Ok(Self {
            groups: all_of(dealt.into_iter().enumerate().map(group))?,
            heads,
            facts: *facts,
        })
    }

    /// The group of a head, and its number there.
    fn at(&self, head: usize) -> (&JointHeads, usize) {
        let count = self.groups.len();
        (&self.groups[head % count], head / count)
    }

    fn at_mut(&mut self, head: usize) -> (&mut JointHeads, usize) {
        let count = self.groups.len();
        (&mut self.groups[head % count], head / count)
    }

    /// Groups with a head that runs.
    pub(in crate::solver) fn running_groups(&self) -> usize {
        self.groups.iter().filter(|group| group.runs()).count()
    }

    fn running(&self) -> impl Iterator<Item = &HeadState> {
        self.groups.iter().flat_map(JointHeads::running_states)
    }

    /// Whether the weights keep digits enough in this metric.
    pub(in crate::solver) fn suits_metric(&self, metric: &ShiftMetric) -> bool {
        self.groups.iter().all(|group| group.suits_metric(metric))
    }

    /// Whether some head does not get on with the shift that heads side by side have.
    pub(in crate::solver) fn is_lost(&self) -> bool {
        self.running().any(HeadState::wants_dual_metric)
    }

    /// A head has ended with a constant decision, and these weights stand in its place.
    pub(in crate::solver) fn put_apart(&mut self, head: usize, weights: Vec<f32>) {
        let (group, head) = self.at_mut(head);
        group.put_apart(head, weights);
    }

    /// The same heads, each by itself from now on.
    pub(in crate::solver) fn part<T: Real>(&mut self) -> Result<Vec<Head<T>>, OutOfMemory> {
        let parts = self.groups.iter_mut().map(JointHeads::part);
        let mut parts = gathered(all_of(parts)?.into_iter().map(Vec::into_iter))?;
        let (mut heads, count) = (Vec::new(), parts.len());
        heads.room(self.heads)?;
        heads.extend((0..self.heads).filter_map(|head| parts[head % count].next()));
        Ok(heads)
    }

    /// Whether heads whose gap is not known wait for the next full pass: those of others are, and that trains some.
    fn verifies_only_known(&self) -> bool {
        self.running().any(|state| state.ledger.is_known())
            && !self.running().any(HeadState::cannot_wait)
            && !self.running().all(HeadState::wants_proof)
    }
}

/// Groups with a head that runs.
#[inline(always)]
fn running(groups: &mut [JointHeads]) -> impl Iterator<Item = &mut JointHeads> {
    groups.iter_mut().filter(|group| group.runs())
}

impl TakesRows for [JointHeads] {
    #[inline(always)]
    fn visit_full<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        let mut keep = false;
        for group in running(self) {
            keep |= group.visit_row::<true>(row) <= margin;
        }
        keep
    }

    #[inline(always)]
    fn visit_active<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        let mut keep = false;
        for group in running(self) {
            keep |= group.visit_row::<false>(row) <= margin;
        }
        keep
    }

    #[inline(always)]
    fn visit_graded<K: Isa>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize {
        let mut held = f64::INFINITY;
        for group in running(self) {
            group.wake(row.ordinal());
            held = held.min(group.visit_row::<false>(row));
        }
        margins.partition_point(|margin| *margin < held)
    }

    #[inline(always)]
    fn measure<K: Isa>(&mut self, row: &Row<'_>) {
        for group in running(self) {
            group.measure_one(row);
        }
    }

    #[inline(always)]
    fn check<K: Isa>(&mut self, row: &Row<'_>) {
        for group in running(self) {
            group.check_one(row);
        }
    }

    #[inline(always)]
    fn shrunk(&self, ordinal: usize) -> bool {
        self.iter()
            .all(|group| !group.runs() || group.all_shrunk.get(ordinal))
    }

    #[inline(always)]
    fn scattered(&self) -> bool {
        self.iter().any(|group| group.w.scattered())
    }

    #[inline(always)]
    fn ask<const FULL: bool>(&mut self, row: &Row<'_>) {
        for group in running(self) {
            group.ask_for::<FULL>(row.sparse());
        }
    }
}

impl TakesBlocks for [JointHeads] {
    fn blocks_at_a_time(&self, full: bool) -> usize {
        let of = |group: &JointHeads| match group.turn.is_some() && !full {
            true => BLOCKS_AT_A_TIME,
            false => (HEAD_BLOCKS_AT_A_TIME / group.states.len()).clamp(1, BLOCKS_AT_A_TIME),
        };
        self.iter().map(of).min().unwrap_or(BLOCKS_AT_A_TIME)
    }

    #[inline(always)]
    fn visit_blocks<K: Isa, const FULL: bool>(&mut self, blocks: Blocks<'_, impl RowMap>) -> usize {
        let mut most = 0;
        for group in running(self) {
            most = most.max(group.visit_all::<FULL>(blocks));
        }
        most
    }

    #[inline(always)]
    fn needs_check(&self, ordinal: usize) -> bool {
        self.iter().any(|group| group.has_dual(ordinal))
    }

    #[inline(always)]
    fn check_slots<K: Isa>(
        &mut self,
        page: VisitedPage<'_, impl RowMap>,
        slots: Range<usize>,
        everything: bool,
    ) -> usize {
        let mut most = 0;
        for group in running(self) {
            most = most.max(group.check_slots(page, slots.clone(), everything));
        }
        most
    }
}

impl Visits for JointGroups {
    fn len(&self) -> usize {
        self.heads
    }

    fn state(&self, head: usize) -> &HeadState {
        let (group, head) = self.at(head);
        &group.states[head]
    }

    fn state_mut(&mut self, head: usize) -> &mut HeadState {
        let (group, head) = self.at_mut(head);
        &mut group.states[head]
    }

    fn pending(&self, head: usize) -> Sums {
        let (group, head) = self.at(head);
        group.unsettled(head)
    }

    fn set_start(&mut self, head: usize, start: Start) {
        let (group, head) = self.at_mut(head);
        group.begin_at(head, &start);
    }

    fn put_duals(&mut self, head: usize, first: usize, duals: &[f32]) {
        let (group, head) = self.at_mut(head);
        group.write_duals(head, first, duals);
    }

    fn weights(&self, head: usize) -> Weights<'_> {
        let (group, head) = self.at(head);
        group.column(head).into()
    }

    fn duals(&self, head: usize) -> Duals<'_> {
        let (group, head) = self.at(head);
        let (values, step) = group.strided_duals(head);
        Duals::new(values, step)
    }

    #[inline(always)]
    fn decision<K: Isa>(&self, head: usize, row: &Row<'_>, intercept: f64) -> f32 {
        let (group, head) = self.at(head);
        decision::<K, f32>(&group.final_w[head], row, intercept)
    }

    fn dual(&mut self) -> Option<f64> {
        Some(self.groups.iter_mut().map(JointHeads::duals_now).sum())
    }

    fn take_best_duals(&mut self, head: usize) {
        let (group, head) = self.at_mut(head);
        group.end_with_best_duals(head);
    }

    fn active(&self, n: usize) -> u64 {
        let groups = self.groups.iter().filter(|group| group.runs());
        groups.fold(0, |active, group| active | group.active_word(n))
    }

    fn begin_full(&mut self, undisturbed: bool) -> Result<(), OutOfMemory> {
        let mut groups = self.groups.iter_mut();
        groups.try_for_each(|group| group.start_full(undisturbed))
    }

    fn end_full(&mut self) -> Result<(), OutOfMemory> {
        self.groups.iter_mut().try_for_each(JointHeads::finish_full)
    }

    /// Where all rows are at hand the next full pass finds the primal of heads that wait beside what it trains for the others:
    /// there all heads must want a proof, or one whose gap is known, for which it costs next to nothing.
    fn least_wanting(&self, at_hand: bool) -> usize {
        match at_hand {
            true if self.running().any(|state| state.ledger.is_known()) => 1,
            true => self.running().count(),
            false => self.running().count().div_ceil(2),
        }
    }

    fn begin_verify(&mut self, _: bool, at_hand: bool) -> Result<bool, OutOfMemory> {
        let only_known = at_hand && self.verifies_only_known();
        let mut everything = false;
        for group in &mut self.groups {
            everything |= group.begin_proofs(only_known)?;
        }
        Ok(everything)
    }

    fn end_verify(&mut self) -> Result<(), OutOfMemory> {
        self.groups.iter_mut().try_for_each(JointHeads::end_proofs)
    }

    fn advance(
        &mut self,
        metric: Option<&ShiftMetric>,
        _: Option<&[f32]>,
    ) -> Result<(), OutOfMemory> {
        let mut groups = self.groups.iter_mut();
        groups.try_for_each(|group| group.move_centres(metric))
    }

    fn begin_active(&mut self) {
        self.groups.iter_mut().for_each(JointHeads::start_active);
    }

    fn estimate_active(&mut self) {
        self.groups.iter_mut().for_each(JointHeads::estimate);
    }

    fn end_active(&mut self) -> Result<(), OutOfMemory> {
        let mut groups = self.groups.iter_mut();
        groups.try_for_each(JointHeads::finish_active)
    }

    fn better_in_turns(&self, active: usize) -> bool {
        let heads = self.running().count() as u64;
        let Facts { rows, features, .. } = self.facts;
        let least = heads * (rows as u64 + VALUES_PER_FEATURE * features as u64);
        let values = |visits: u64| visits * self.facts.mean_row_words as u64;
        let most = MOST_TOGETHER * active as u64;
        if heads < 2 || values(most) < least {
            return false;
        }
        let visits: u64 = self.groups.iter().map(JointHeads::active_visits).sum();
        visits < most && values(visits) >= least
    }

    fn end_turns(&mut self) {
        self.groups.iter_mut().for_each(JointHeads::end_all_turns);
    }
}
