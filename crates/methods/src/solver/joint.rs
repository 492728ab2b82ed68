//! Many heads over the same rows, visited together: a row is read once, and one sweep over it gives all their scores.
//!
//! Each head has a lane: a column of the weights, a column of the dual variables, a bit of whether a row is in its active set. The
//! lanes of running heads come first; once eight can go, the weights are packed again. What a pass means for each head is
//! its [`HeadState`]'s affair, kappa included. Weights are 32 bits wide; v and the dual of a verifying pass are 64.

mod best_duals;
mod exact_v;
pub(in crate::solver) mod groups;
mod lanes;
pub mod matrix;
mod pack;
mod recompute;
mod shift;
mod signs;
mod turn;
mod turn_state;
mod verify;
mod visit;

use crate::base::memory::{filled, gathered, OutOfMemory, Room};
use crate::base::zeros::{zeros, Lined};
use crate::objective::heads::{HeadSpec, Start};
use crate::objective::loss::Loss;
use crate::rows::facts::Facts;
use crate::simd::entries::{tiles, TILE};
use crate::simd::lanes::{Lanes, LANES};
use crate::simd::Level;
use crate::solver::certificate::proof::Proof;
use crate::solver::certificate::state::{HeadState, Shift};
use crate::solver::proximal::iterate::Norms;
use crate::solver::sums::tally::Sums;
use crate::solver::visit::active::nothing_shrunk;
use crate::solver::visit::per_row::Shrunk;
use crate::solver::weights::Column;
use exact_v::ExactV;
use lanes::LaneBlock;
use matrix::{Matrix, SweepSums, Wide, SUMS};
use shift::InMetric;
use signs::FacingSigns;
use turn_state::Turn;

pub(in crate::solver) struct JointHeads {
    states: Vec<HeadState>,
    specs: Vec<HeadSpec>,
    facts: Facts,
    level: Level,
    /// The loss of all heads.
    loss: Loss,
    intercept: f32,
    /// The head of each lane, and the other way round. Lanes behind the last block belong to heads that have ended.
    head_of: Vec<usize>,
    lane_of: Vec<usize>,
    /// Eight lanes each.
    blocks: Vec<LaneBlock>,
    signs: FacingSigns,
    /// Blocks of dual variables of a row: those of all heads, also of heads that have ended.
    width: usize,
    /// By row.
    alpha: Lined<Lanes>,
    /// Those of each head's best dual.
    best_duals: Lined<Lanes>,
    /// Lanes in which a row is shrunk, by row and block.
    shrunk: Vec<u8>,
    /// Shrunk rows for all heads that ran when they were visited last.
    all_shrunk: Shrunk,
    /// The head that active passes visit, where heads take turns in them.
    turn: Option<Turn>,
    /// Lanes of each block whose weights have changed since the rows of a tile began to be visited.
    moved: Vec<u8>,
    /// Whether few visits of the last tiles moved a dual variable.
    calm: bool,
    /// In a full pass.
    exact_v: Option<ExactV>,
    /// The weights, and the centre of the shift as in [`crate::solver::proximal::iterate`]: v = w (1 + kappa m) - kappa m z.
    w: Matrix,
    z: Matrix,
    metric: Option<InMetric>,
    start: PassStart,
    /// kappa, by lane.
    kappa: Vec<f64>,
    /// Weights of the best primal.
    best: Matrix,
    /// The same of heads that have ended.
    final_w: Vec<Vec<f32>>,
    /// Room for what is summed and chosen by lane, made once.
    sums: SweepSums,
    norms: Vec<Norms>,
    chosen: [Vec<f64>; 2],
    /// Where rows of passes over all are taken several at a time.
    tile: Option<TileRoom>,
    proofs: Proofs,
}

/// Weights at the start of the full pass, or those being verified.
struct PassStart {
    w: Matrix,
    is_zero: bool,
    /// |w|^2, by lane.
    norm: Vec<f64>,
}

/// Heads being verified.
struct Proofs {
    heads: Vec<(usize, Proof)>,
    /// By block, the lanes of those whose primal is summed.
    lanes: Vec<u8>,
}

/// Room for what is known of [`TILE`] rows: made once, since loops over rows have no way to fail.
struct TileRoom {
    /// Those whose scores are taken.
    lanes: Vec<usize>,
    /// Scores at the weights of the pass's start, or those being verified, and at those of the visit, row by row and block by block.
    at_start: Vec<Lanes>,
    at_visit: Vec<Lanes>,
}

impl TileRoom {
    fn new(heads: usize) -> Result<Self, OutOfMemory> {
        let scores = TILE * heads.div_ceil(LANES);
        let mut lanes = Vec::new();
        lanes.room(heads)?;
        Ok(Self {
            lanes,
            at_start: zeros(scores)?,
            at_visit: zeros(scores)?,
        })
    }

    /// Begins rows whose scores are taken in these lanes, of `each` blocks.
    fn begin(&mut self, lanes: impl Iterator<Item = usize>, each: usize) {
        self.lanes.clear();
        self.lanes.extend(lanes);
        self.at_start[..TILE * each].fill([0.0; LANES]);
        self.at_visit[..TILE * each].fill([0.0; LANES]);
    }
}

impl JointHeads {
    pub(in crate::solver) fn new(
        specs: &[HeadSpec],
        mut states: Vec<HeadState>,
        intercept: f64,
        facts: &Facts,
    ) -> Result<Self, OutOfMemory> {
        states.iter_mut().for_each(HeadState::sum_narrowly);
        let width = states.len().div_ceil(LANES);
        let lanes = width * LANES;
        let matrix = || Matrix::new(facts.features, facts.dense, lanes);
        let mut this = Self {
            intercept: intercept as f32,
            head_of: gathered(0..states.len())?,
            lane_of: gathered(0..states.len())?,
            blocks: filled(LaneBlock::EMPTY, width)?,
            signs: FacingSigns::default(),
            width,
            alpha: Lined::zeros(facts.rows * width)?,
            best_duals: Lined::zeros(facts.rows * width)?,
            shrunk: zeros(facts.rows * width)?,
            all_shrunk: nothing_shrunk(facts.rows)?,
            turn: None,
            moved: zeros(width)?,
            calm: false,
            exact_v: None,
            w: matrix()?,
            z: matrix()?,
            metric: None,
            start: PassStart {
                w: matrix()?,
                is_zero: true,
                norm: zeros(lanes)?,
            },
            kappa: zeros(lanes)?,
            best: matrix()?,
            final_w: gathered(states.iter().map(|_| Vec::new()))?,
            sums: SweepSums::new(lanes)?,
            norms: filled(Norms::default(), lanes)?,
            chosen: [zeros(lanes)?, zeros(lanes)?],
            tile: match tiles(facts.dense) {
                true => Some(TileRoom::new(states.len())?),
                false => None,
            },
            proofs: Proofs {
                heads: Vec::new(),
                lanes: zeros(width)?,
            },
            specs: gathered(specs.iter().cloned())?,
            facts: *facts,
            level: Level::best(),
            loss: states[0].ledger.terms.loss,
            states,
        };
        for (kappa, state) in this.kappa.iter_mut().zip(&this.states) {
            *kappa = state.kappa();
        }
        this.list_signs()?;
        Ok(this)
    }

    pub(in crate::solver) fn column(&self, head: usize) -> Column<'_> {
        match self.final_w[head].as_slice() {
            [] => self.best.column(self.lane_of[head]),
            all => Column::of(all),
        }
    }

    /// A head has ended with a constant decision, and these weights stand in its place.
    pub(in crate::solver) fn put_apart(&mut self, head: usize, weights: Vec<f32>) {
        self.final_w[head] = weights;
    }

    pub(in crate::solver) fn strided_duals(&self, head: usize) -> (&[f32], usize) {
        let all = self.alpha.as_flattened();
        let from = self.lane_of[head].min(all.len());
        (&all[from..], self.width * LANES)
    }

    /// Sets where a head begins.
    pub(in crate::solver) fn begin_at(&mut self, head: usize, start: &Start) {
        if let Some(weights) = &start.weights {
            self.w.put(self.lane_of[head], weights.iter().copied());
            self.z.put(self.lane_of[head], weights.iter().copied());
        }
        self.write_duals(head, 0, &start.duals);
    }

    /// Sets the dual variables of a head, of the rows from `first` on.
    pub(in crate::solver) fn write_duals(&mut self, head: usize, first: usize, duals: &[f32]) {
        let (lane, step) = (self.lane_of[head], self.width * LANES);
        let all = self.alpha.as_flattened_mut().iter_mut();
        let own = all.skip(first * step + lane).step_by(step);
        for (own, dual) in own.zip(duals) {
            *own = *dual;
        }
    }

    /// The lanes of running heads, with their heads.
    fn running(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let lanes = self.head_of.iter().copied().enumerate();
        lanes.filter(|&(_, head)| self.states[head].runs())
    }

    /// Whether any of them does.
    pub(in crate::solver) fn runs(&self) -> bool {
        self.running_states().next().is_some()
    }

    fn running_states(&self) -> impl Iterator<Item = &HeadState> {
        self.states.iter().filter(|state| state.runs())
    }

    /// The head of a lane, while it runs.
    fn running_at(&self, lane: usize) -> Option<usize> {
        let head = *self.head_of.get(lane)?;
        self.states[head].runs().then_some(head)
    }

    /// What visits have summed for a head since its state last heard of it.
    pub(in crate::solver) fn unsettled(&self, head: usize) -> Sums {
        let lane = self.lane_of[head];
        match self.blocks.get(lane / LANES) {
            Some(block) => block.sums(lane % LANES),
            None => Sums::ZERO,
        }
    }

    /// Hands what visits have summed over to the states.
    fn settle(&mut self) {
        for head in 0..self.states.len() {
            let pending = self.unsettled(head);
            let sums = &mut self.states[head].sums;
            *sums = sums.with(pending);
        }
        self.blocks.iter_mut().for_each(LaneBlock::clear);
    }

    /// Takes over from the states what visits need to know.
    fn arm(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.running = 0);
        for (lane, &head) in self.head_of.iter().enumerate() {
            let state = &self.states[head];
            if state.runs() {
                let (block, own) = (lane / LANES, (&state.ledger.terms, state.limits));
                self.blocks[block].arm(lane % LANES, own, self.kappa[lane]);
            }
        }
    }

    /// Rows that are in no active set; in a turn, not in that of the head whose turn it is.
    fn shrunk_now(&self) -> &Shrunk {
        self.turn
            .as_ref()
            .map_or(&self.all_shrunk, |turn| &turn.shrunk)
    }

    /// Bits of the rows `first..first + width` in the active set of some head, or of the one whose turn it is.
    pub(super) fn active_of(&self, first: usize, width: usize) -> u32 {
        ((1u32 << width) - 1) & !self.shrunk_now().group(first, width)
    }

    /// The same of the rows `64 n..64 (n + 1)`.
    pub(in crate::solver) fn active_word(&self, n: usize) -> u64 {
        !self.shrunk_now().word(n)
    }

    /// A head ends as it stands: with the dual variables of its best dual.
    fn end_with_best_duals(&mut self, head: usize) {
        self.exchange_duals(head, 1.0);
        if let Some(intercept) = self.states[head].ledger.constant() {
            let none = std::iter::repeat_n(0.0, self.facts.features);
            self.best.put(self.lane_of[head], none.chain([intercept]));
        }
    }

    /// Begins a full pass. `undisturbed`: every row is visited once, and none between.
    pub(in crate::solver) fn start_full(&mut self, undisturbed: bool) -> Result<(), OutOfMemory> {
        self.begin_recomputing(undisturbed)?;
        self.settle();
        self.write_start();
        self.start.is_zero = self.start.norm.iter().all(|norm| *norm == 0.0);
        self.take_norms();
        for lane in 0..self.head_of.len() {
            if let Some(head) = self.running_at(lane) {
                self.states[head].begin_full(self.norms[lane]);
            }
        }
        self.arm();
        Ok(())
    }

    /// Copies w to `start`, and notes its norms.
    fn write_start(&mut self) {
        let sums = &mut self.sums;
        let sums = self.start.w.sweep(
            &mut self.w,
            None,
            [],
            sums,
            |[], _, [norm, ..], start, w| {
                *start = *w;
                for k in 0..LANES {
                    norm[k] += f64::from(w[k]) * f64::from(w[k]);
                }
            },
        );
        self.start.norm.truncate(sums.len());
        for (norm, [sum, ..]) in self.start.norm.iter_mut().zip(sums) {
            *norm = *sum;
        }
    }

    /// Takes the norms of all lanes anew.
    fn take_norms(&mut self) -> &[Norms] {
        if let Some(turn) = &self.turn {
            self.norms.truncate(turn.norms.len());
            self.norms.copy_from_slice(&turn.norms);
            self.norms[turn.lane] = turn.iterate.norms();
            return &self.norms;
        }
        let moment = self.metric.as_ref().map(|metric| &metric.moment);
        let given: [&[f64]; 1] = [&self.kappa];
        let change = |[kappa]: [Wide; 1],
                      m: &Lanes,
                      sums: &mut [Wide; SUMS],
                      w: &mut Lanes,
                      z: &mut Lanes| {
            for k in 0..LANES {
                let (w, z) = (f64::from(w[k]), f64::from(z[k]));
                let apart = kappa[k] * f64::from(m[k]) * (w - z);
                sums[0][k] += (w + apart) * (w + apart);
                sums[1][k] += w * w;
                sums[2][k] += apart * apart;
            }
        };
        let sums = &mut self.sums;
        let sums = self.w.sweep(&mut self.z, moment, given, sums, change);
        self.norms.truncate(sums.len());
        for (norms, &[v, w, apart]) in self.norms.iter_mut().zip(sums) {
            *norms = Norms {
                v,
                w,
                apart,
                ..Norms::default()
            };
        }
        &self.norms
    }

    /// The duals at the present dual variables, summed over the heads.
    pub(in crate::solver) fn duals_now(&mut self) -> f64 {
        self.take_norms();
        let dual = |(head, state): (usize, &HeadState)| {
            let norms = self
                .norms
                .get(self.lane_of[head])
                .copied()
                .unwrap_or_default();
            state.dual_at(norms, state.sums.with(self.unsettled(head)))
        };
        self.states.iter().enumerate().map(dual).sum()
    }

    pub(in crate::solver) fn finish_full(&mut self) -> Result<(), OutOfMemory> {
        self.settle();
        self.end_recomputing();
        self.take_norms();
        // not 0 where the weights at the start of the pass are the best
        self.chosen[0].fill(0.0);
        let mut lays = filled(None, self.blocks.len() * LANES)?;
        for (lane, lay) in lays.iter_mut().enumerate().take(self.head_of.len()) {
            let Some(head) = self.running_at(lane) else {
                continue;
            };
            let better = self.states[head].end_full(self.start.norm[lane], None, self.norms[lane]);
            if better.weights {
                self.chosen[0][lane] = 1.0;
            }
            *lay = better.duals;
        }
        self.keep_best_duals(&lays);
        self.best.sweep(
            &mut self.start.w,
            None,
            [&self.chosen[0]],
            &mut self.sums,
            |[better], _, _, best, start| {
                for k in 0..LANES {
                    best[k] = if better[k] != 0.0 { start[k] } else { best[k] };
                }
            },
        );
        Ok(())
    }

    pub(in crate::solver) fn start_active(&mut self) {
        for head in 0..self.states.len() {
            let pending = self.unsettled(head);
            self.states[head].scan(pending);
            self.states[head].begin_active();
        }
        self.blocks.iter_mut().for_each(LaneBlock::forget_pass);
    }

    /// Estimates the gaps at the end of an active pass.
    pub(in crate::solver) fn estimate(&mut self) {
        if let Some(turn) = &self.turn {
            let state = &mut self.states[self.head_of[turn.lane]];
            return state.estimate_active(|| turn.iterate.norms());
        }
        self.settle();
        // norms cost a look at every weight
        let far = |(_, head): (usize, usize)| self.states[head].leaves_much();
        if !self.running().all(far) {
            self.take_norms();
        }
        for lane in 0..self.head_of.len() {
            if let Some(head) = self.running_at(lane) {
                self.states[head].estimate_active(|| self.norms[lane]);
            }
        }
    }

    pub(in crate::solver) fn finish_active(&mut self) -> Result<(), OutOfMemory> {
        if let Some(turn) = &mut self.turn {
            let state = &mut self.states[self.head_of[turn.lane]];
            if let Shift::Move(kappa) = state.end_active() {
                turn.iterate.move_centre(kappa)?;
                self.kappa[turn.lane] = kappa;
            }
            return Ok(());
        }
        self.settle();
        self.shift_each(false, HeadState::end_active);
        Ok(())
    }
}
