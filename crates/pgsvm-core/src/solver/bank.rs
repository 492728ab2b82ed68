//! Many heads over the same rows, visited together: a row is read once, and one sweep over it gives all their scores.
//!
//! Each head has a lane: a column of the weights, a column of the dual variables, a bit of who is awake for a row. The
//! lanes of running heads come first; once eight can go, the weights are packed anew. What a pass means for each head is
//! its [`Course`]'s affair, kappa included. Weights are 32 bits wide; v and the dual of a verifying pass are 64.

use crate::bits::Bits;
use crate::kernel::lanes::{Lanes, LANES};
use crate::kernel::{prefetch, Kernel, Real};
use crate::row::Row;
use crate::solver::ahead::Ahead;
use crate::solver::course::{Course, Shift, Verdict};
use crate::solver::head::{Blocks, Head};
use crate::solver::iterate::Norms;
use crate::solver::lanes::{Block, Facing};
use crate::solver::matrix::{scores, Column, Matrix};
use crate::solver::moments::Metric;
use crate::solver::proof::Proof;
use crate::solver::visit::{right_side, Sums, NORM_SAMPLE};
use crate::solver::{zeros, Facts};
use crate::trainer::{HeadSpec, TrainError};

/// With a shift up to this, u = v + kappa z in 32 bits leaves v enough digits between two verifying passes.
const MOST_KAPPA: f64 = 10_000.0;

pub(super) struct Bank {
    courses: Vec<Course>,
    specs: Vec<HeadSpec>,
    facts: Facts,
    intercept: f32,
    /// The head of each lane, and the other way round. Lanes behind the last block belong to heads that have ended.
    head_of: Vec<usize>,
    lane_of: Vec<usize>,
    /// Eight lanes each.
    blocks: Vec<Block>,
    /// By class and lane, `blocks.len()` each.
    signs: Vec<Lanes>,
    /// Blocks of dual variables of a row: those of all heads, also of heads that have ended.
    width: usize,
    /// By row.
    alpha: Vec<Lanes>,
    /// Lanes for which a row sleeps, by row and block.
    asleep: Vec<u8>,
    /// Rows that sleep for all heads that ran when they were visited last.
    all_asleep: Bits,
    /// The weights, and the centre of the shift as in [`super::iterate`]: v = w (1 + kappa m) - kappa m z.
    w: Matrix,
    z: Matrix,
    metric: Option<InMetric>,
    /// Weights at the start of the full pass, or those being verified.
    start: Matrix,
    start_is_zero: bool,
    /// |start|^2, by lane.
    start_norm: Vec<f64>,
    /// kappa, by lane.
    kappa: Vec<f64>,
    /// Weights of the best primal.
    best: Matrix,
    /// The same of heads that have ended.
    final_w: Vec<Vec<f32>>,
    /// Heads being verified.
    proofs: Vec<(usize, Proof)>,
}

/// The metric M of the shift (see [`super::iterate`]).
struct InMetric {
    /// m, a row of equal lanes for each feature.
    moment: Matrix,
    /// 1 / (1 + kappa m)
    damp: Matrix,
    /// 1 / m by feature, the intercept last.
    inverse: Vec<f32>,
}

/// What the visits of a row by several blocks found.
#[derive(Default)]
struct Seen {
    /// Some head is awake for it still.
    awake: bool,
    /// It matters to some head.
    matters: bool,
}

impl Bank {
    /// Whether the heads are better off together.
    pub(super) fn suits(courses: &[Course]) -> bool {
        courses.len() > 1 && courses.iter().all(|course| course.kappa() <= MOST_KAPPA)
    }

    pub(super) fn new(
        specs: &[HeadSpec],
        courses: Vec<Course>,
        intercept: f64,
        facts: &Facts,
    ) -> Result<Self, TrainError> {
        let width = courses.len().div_ceil(LANES);
        let lanes = width * LANES;
        let matrix = || Matrix::new(facts.features, facts.dense, lanes);
        let mut this = Self {
            intercept: intercept as f32,
            head_of: (0..courses.len()).collect(),
            lane_of: (0..courses.len()).collect(),
            blocks: vec![Block::EMPTY; width],
            signs: Vec::new(),
            width,
            alpha: zeros(facts.rows * width)?,
            asleep: zeros(facts.rows * width)?,
            all_asleep: Bits::new(facts.rows).map_err(|_| TrainError::OutOfMemory {
                bytes: facts.rows as u64 / 8,
            })?,
            w: matrix()?,
            z: matrix()?,
            metric: None,
            start: matrix()?,
            start_is_zero: true,
            start_norm: Vec::new(),
            kappa: courses.iter().map(Course::kappa).collect(),
            best: matrix()?,
            final_w: vec![Vec::new(); courses.len()],
            proofs: Vec::new(),
            specs: specs.to_vec(),
            facts: *facts,
            courses,
        };
        this.kappa.resize(lanes, 0.0);
        this.list_signs();
        Ok(this)
    }

    fn list_signs(&mut self) {
        self.signs.clear();
        for class in 0..self.facts.classes {
            for block in 0..self.blocks.len() {
                self.signs.push(std::array::from_fn(|k| {
                    match self.head_of.get(block * LANES + k) {
                        Some(&head) => self.specs[head].signs[class].into(),
                        None => 0.0,
                    }
                }));
            }
        }
    }

    pub(super) fn courses(&self) -> &[Course] {
        &self.courses
    }

    pub(super) fn courses_mut(&mut self) -> &mut [Course] {
        &mut self.courses
    }

    pub(super) fn weights(&self, head: usize) -> Column<'_> {
        match self.final_w[head].as_slice() {
            [] => self.best.column(self.lane_of[head]),
            all => Column::of(all),
        }
    }

    pub(super) fn duals(&self, head: usize) -> (&[f32], usize) {
        let all = self.alpha.as_flattened();
        let from = self.lane_of[head].min(all.len());
        (&all[from..], self.width * LANES)
    }

    /// The lanes of running heads, with their heads.
    fn running(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let lanes = self.head_of.iter().copied().enumerate();
        lanes.filter(|&(_, head)| self.courses[head].runs())
    }

    /// What visits have summed for a head since its course last heard of it.
    pub(super) fn pending(&self, head: usize) -> Sums {
        let lane = self.lane_of[head];
        match self.blocks.get(lane / LANES) {
            Some(block) => block.sums(lane % LANES),
            None => Sums::ZERO,
        }
    }

    /// Hands what visits have summed over to the courses.
    fn settle(&mut self) {
        for head in 0..self.courses.len() {
            let pending = self.pending(head);
            let sums = &mut self.courses[head].sums;
            *sums = sums.with(pending);
        }
        self.blocks.iter_mut().for_each(Block::clear);
    }

    /// Takes over from the courses what visits need to know.
    fn arm(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.running = 0);
        for (lane, &head) in self.head_of.iter().enumerate() {
            let course = &self.courses[head];
            if course.runs() {
                self.blocks[lane / LANES].arm(lane % LANES, &course.terms, self.kappa[lane]);
            }
        }
    }

    /// Bits of the rows `first..first + width` that some head is awake for.
    pub(super) fn awake(&self, first: usize, width: usize) -> u32 {
        let rows = width.min(self.facts.rows - first);
        ((1u32 << rows) - 1) & !self.all_asleep.group(first, width)
    }

    /// Visits the rows of these blocks, in a full pass all and else those awake. Gives back the values visited.
    #[inline(always)]
    pub(super) fn visit_blocks<K: Kernel, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_>,
    ) -> usize {
        let to_visit = |this: &Self, place: usize| {
            let (first, all) = blocks.rows(place);
            let left = if FULL {
                all
            } else {
                this.awake(first, blocks.width)
            };
            (first, left)
        };
        let mut ahead = Ahead::new(blocks.page);
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            let (first, mut left) = to_visit(self, place);
            if place + 2 < blocks.numbers.len() {
                let (slot, _) = blocks.rows(place + 2);
                blocks.page.prefetch_entry(slot);
            }
            if place + 1 < blocks.numbers.len() {
                let (first, rows) = to_visit(self, place + 1);
                ahead.begin(first, rows);
            }
            while left != 0 {
                let offset = left.trailing_zeros();
                left &= left - 1;
                let slot = first + offset as usize;
                let row = blocks.page.peek_row(slot);
                values += row.values();
                prefetch(
                    &self.alpha[(slot + 1).min(self.facts.rows - 1) * self.width..],
                    1,
                );
                ahead.fetch(&row, first, left);
                self.visit::<K, FULL>(&row, f32::INFINITY);
            }
            ahead.finish();
        }
        values
    }

    /// As [`super::Solver::visit_full`].
    #[inline(always)]
    pub(super) fn visit_full<K: Kernel>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        self.visit::<K, true>(row, margin as f32)
    }

    /// As [`super::Solver::visit_active`].
    #[inline(always)]
    pub(super) fn visit_active<K: Kernel>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        self.visit::<K, false>(row, margin as f32)
    }

    /// Visits a row; true if it matters to some head.
    #[inline(always)]
    fn visit<K: Kernel, const FULL: bool>(&mut self, row: &Row<'_>, margin: f32) -> bool {
        let mut seen = Seen::default();
        let norm = if FULL { self.norm::<K>(row) } else { None };
        let mut block = 0;
        while block < self.blocks.len() {
            let two = block + 1 < self.blocks.len();
            match (self.wanted::<FULL>(row, block), two) {
                (0, _) => block += 1,
                (_, true) if self.wanted::<FULL>(row, block + 1) != 0 => {
                    self.visit_lanes::<K, FULL, 2>(row, margin, norm, block, &mut seen);
                    block += 2;
                }
                _ => {
                    self.visit_lanes::<K, FULL, 1>(row, margin, norm, block, &mut seen);
                    block += 1;
                }
            }
        }
        self.all_asleep.set(row.ordinal(), !seen.awake);
        seen.matters
    }

    /// The lanes of a block that are to visit a row.
    #[inline(always)]
    fn wanted<const FULL: bool>(&self, row: &Row<'_>, block: usize) -> u8 {
        let running = self.blocks[block].running;
        if FULL {
            running
        } else {
            running & !self.asleep[row.ordinal() * self.width + block]
        }
    }

    /// Visits a row with the lanes of N blocks.
    #[inline(always)]
    fn visit_lanes<K: Kernel, const FULL: bool, const N: usize>(
        &mut self,
        row: &Row<'_>,
        margin: f32,
        norm: Option<f32>,
        block: usize,
        seen: &mut Seen,
    ) {
        let first = row.ordinal() * self.width + block;
        let wanted: [u8; N] = std::array::from_fn(|n| self.wanted::<FULL>(row, block + n));
        let one = self.intercept;
        let (score, at_start) = if FULL && !self.start_is_zero {
            let both = scores::<K, N, 2>([&self.w, &self.start], row, one, block, wanted);
            (both[0], both[1])
        } else {
            let [score] = scores::<K, N, 1>([&self.w], row, one, block, wanted);
            (score, [[0.0; LANES]; N])
        };
        for n in 0..N {
            let facing = Facing {
                signs: &self.signs[row.class() * self.blocks.len() + block + n],
                cost: row.cost(),
                lanes: wanted[n],
                margin,
            };
            let own = &mut self.blocks[block + n];
            let alpha = &mut self.alpha[first + n];
            let asleep = &mut self.asleep[first + n];
            let standing = own.look(facing, &score[n], alpha, asleep);
            seen.matters |= standing.matters != 0;
            seen.awake |= own.running & !*asleep != 0;
            if standing.moving != 0 {
                let damp = self.metric.as_ref().map(|metric| &metric.damp);
                let curvature = match damp {
                    None => own.curvature(row.q() + one),
                    Some(damp) => damp.squares::<K>(row, one, block + n, standing.moving),
                };
                let mut scales = own.step(facing, &standing, &curvature, alpha);
                if damp.is_none() {
                    scales = std::array::from_fn(|k| scales[k] * own.damp()[k]);
                }
                self.w.add::<K>(row, one, block + n, &scales, damp);
            }
            if FULL {
                own.measure(facing, &at_start[n], &score[n], alpha, norm);
            }
        }
    }

    /// |x|^2 in the norm of the shift: x' M^-1 x, intercept included; in a metric, of some rows only.
    #[inline(always)]
    fn norm<K: Kernel>(&self, row: &Row<'_>) -> Option<f32> {
        let Some(metric) = &self.metric else {
            return Some(row.q() + self.intercept);
        };
        if row.ordinal() % NORM_SAMPLE != 0 {
            return None;
        }
        let (dense, inverse) = (row.dense(), &metric.inverse);
        let mut norm = self.intercept;
        if !dense.is_empty() {
            let inverse = &inverse[..dense.len()];
            norm += f32::dot_damped_dense::<K>(dense, inverse, inverse).1 as f32;
        }
        norm += f32::dot_damped_sparse::<K>(row.sparse(), inverse, inverse).1 as f32;
        Some(norm)
    }

    /// Measures a row in a full pass without training it.
    #[inline(always)]
    pub(super) fn measure<K: Kernel>(&mut self, row: &Row<'_>) {
        for block in 0..self.blocks.len() {
            let wanted = self.blocks[block].running;
            let at_start = if self.start_is_zero {
                [0.0; LANES]
            } else {
                scores::<K, 1, 1>([&self.start], row, self.intercept, block, [wanted])[0][0]
            };
            let facing = Facing {
                signs: &self.signs[row.class() * self.blocks.len() + block],
                cost: row.cost(),
                lanes: wanted,
                margin: 0.0,
            };
            let alpha = [0.0; LANES];
            self.blocks[block].measure(facing, &at_start, &at_start, &alpha, None);
        }
    }

    pub(super) fn begin_full(&mut self) {
        self.settle();
        self.start_is_zero = self.courses.iter().all(|course| course.sums.updates == 0);
        self.write_start();
        let norms = self.norms();
        let lanes: Vec<_> = self.running().collect();
        for (lane, head) in lanes {
            self.courses[head].begin_full(norms[lane]);
        }
        self.arm();
    }

    /// Copies w to `start`, and notes its norms.
    fn write_start(&mut self) {
        let norms = self
            .start
            .sweep(&mut self.w, None, [], |[], _, [norm], start, w| {
                *start = *w;
                for k in 0..LANES {
                    norm[k] += f64::from(w[k]) * f64::from(w[k]);
                }
            });
        self.start_norm = norms.iter().map(|[norm]| *norm).collect();
    }

    fn norms(&mut self) -> Vec<Norms> {
        let moment = self.metric.as_ref().map(|metric| &metric.moment);
        let given: [&[f64]; 1] = [&self.kappa];
        let norms = self
            .w
            .sweep(&mut self.z, moment, given, |[kappa], m, sums, w, z| {
                for k in 0..LANES {
                    let (w, z) = (f64::from(w[k]), f64::from(z[k]));
                    let apart = kappa[k] * f64::from(m[k]) * (w - z);
                    sums[0][k] += (w + apart) * (w + apart);
                    sums[1][k] += w * w;
                    sums[2][k] += apart * apart;
                }
            });
        let norms = norms.into_iter().map(|[v, w, apart]| Norms { v, w, apart });
        norms.collect()
    }

    pub(super) fn end_full(&mut self) {
        self.settle();
        let norms = self.norms();
        let lanes: Vec<_> = self.running().collect();
        let mut better = vec![0.0; self.kappa.len()];
        for (lane, head) in lanes {
            if self.courses[head].end_full(self.start_norm[lane], norms[lane]) {
                better[lane] = 1.0;
            }
        }
        self.take_start(&better);
    }

    /// Makes the weights at the start of the pass the best of the lanes where `better` is not 0.
    fn take_start(&mut self, better: &[f64]) {
        self.best.sweep(
            &mut self.start,
            None,
            [better],
            |[better], _, [], best, start| {
                for k in 0..LANES {
                    best[k] = if better[k] != 0.0 { start[k] } else { best[k] };
                }
            },
        );
    }

    /// Whether the weights keep digits enough in this metric.
    pub(super) fn suits_metric(&self, metric: &Metric) -> bool {
        let most = metric.moment.iter().copied().fold(0.0, f32::max);
        let mut running = self.courses.iter().filter(|course| course.runs());
        running.all(|course| course.kappa_in(metric) * f64::from(most) <= MOST_KAPPA)
    }

    /// Corrects kappa and moves the centres after a full pass; `metric` when columns have just been found to call for it.
    pub(super) fn advance(&mut self, metric: Option<&Metric>) -> Result<(), TrainError> {
        if let Some(metric) = metric {
            let lanes = self.blocks.len() * LANES;
            let (features, dense) = (self.facts.features, self.facts.dense);
            let mut moment = Matrix::new(features, dense, lanes)?;
            moment.fill(&metric.moment);
            let mut inverse = zeros(metric.moment.len())?;
            for (inverse, moment) in inverse.iter_mut().zip(&metric.moment) {
                *inverse = 1.0 / moment;
            }
            self.metric = Some(InMetric {
                moment,
                damp: Matrix::new(features, dense, lanes)?,
                inverse,
            });
        }
        self.shift_each(metric.is_some(), |course| course.advance(metric));
        Ok(())
    }

    pub(super) fn begin_active(&mut self) {
        self.courses.iter_mut().for_each(Course::begin_active);
        self.blocks.iter_mut().for_each(Block::forget_range);
    }

    pub(super) fn end_active(&mut self) {
        self.settle();
        self.shift_each(false, Course::end_active);
    }

    /// Moves the centres as the courses say: z := w, keeping v. `first_in_metric`: until now there was no metric.
    fn shift_each(&mut self, first_in_metric: bool, mut decide: impl FnMut(&mut Course) -> Shift) {
        let from = self.kappa.clone();
        // kappa from now on; below 0 where the centre stays
        let mut to = vec![-1.0; from.len()];
        let lanes: Vec<_> = self.running().collect();
        for (lane, head) in lanes {
            if let Shift::Move(kappa) | Shift::MoveInMetric(kappa) = decide(&mut self.courses[head])
            {
                to[lane] = kappa;
                self.kappa[lane] = kappa;
            }
        }
        if to.iter().any(|to| *to >= 0.0) {
            let moment = self.metric.as_ref().map(|metric| &metric.moment);
            let given: [&[f64]; 2] = [&from, &to];
            self.w
                .sweep(&mut self.z, moment, given, |[from, to], m, [], w, z| {
                    for k in 0..LANES {
                        let (old_w, old_z) = (f64::from(w[k]), f64::from(z[k]));
                        let m = f64::from(m[k]);
                        let old_m = if first_in_metric { 1.0 } else { m };
                        let v = old_w + from[k] * old_m * (old_w - old_z);
                        let new_w = ((v + to[k] * m * old_w) / (1.0 + to[k] * m)) as f32;
                        let moves = to[k] >= 0.0;
                        z[k] = if moves { w[k] } else { z[k] };
                        w[k] = if moves { new_w } else { w[k] };
                    }
                });
        }
        self.set_damp();
        self.arm();
    }

    /// In a metric: 1 / (1 + kappa m).
    fn set_damp(&mut self) {
        if let Some(metric) = &mut self.metric {
            let given: [&[f64]; 1] = [&self.kappa];
            metric.damp.sweep(
                &mut metric.moment,
                None,
                given,
                |[kappa], _, [], damp, m| {
                    for k in 0..LANES {
                        damp[k] = (1.0 / (1.0 + kappa[k] * f64::from(m[k]))) as f32;
                    }
                },
            );
        }
    }

    /// Begins to verify the heads that want it; false when rows with a = 0 need not be looked at.
    pub(super) fn begin_verify(&mut self, tolerance: f64, last: bool) -> Result<bool, TrainError> {
        self.write_start();
        let lanes: Vec<_> = self.running().collect();
        let mut everything = false;
        for (_, head) in lanes {
            let course = &mut self.courses[head];
            if course.wants_proof(tolerance, last) {
                everything |= course.begin_verify(tolerance);
                let proof = Proof::new(self.facts.features + 1)?;
                self.proofs.push((head, proof));
            }
        }
        Ok(everything)
    }

    /// Whether a head being verified has a > 0 for this row.
    #[inline(always)]
    pub(super) fn needs_check(&self, ordinal: usize) -> bool {
        let alpha = self.alpha_of(ordinal);
        let mut heads = self.proofs.iter();
        heads.any(|(head, _)| alpha[self.lane_of[*head]] > 0.0)
    }

    #[inline(always)]
    fn alpha_of(&self, ordinal: usize) -> &[f32] {
        self.alpha[ordinal * self.width..][..self.width].as_flattened()
    }

    #[inline(always)]
    pub(super) fn check<K: Kernel>(&mut self, row: &Row<'_>) {
        let mut proofs = std::mem::take(&mut self.proofs);
        for (head, proof) in &mut proofs {
            let y = f64::from(self.specs[*head].signs[row.class()]);
            if y == 0.0 {
                continue;
            }
            let lane = self.lane_of[*head];
            let cost = f64::from(row.cost());
            let alpha = f64::from(self.alpha_of(row.ordinal())[lane]);
            let course = &mut self.courses[*head];
            if alpha > 0.0 {
                let diag = course.terms.diag(cost);
                proof.add::<K>(row, y, alpha, diag, self.intercept.into());
            }
            if course.verifies_primal() {
                let margin = y * self.start.score(row, self.intercept.into(), lane);
                let loss = cost * course.terms.loss(margin);
                let full = &mut course.sums.full;
                full.start_loss += loss;
                full.correct += u64::from(right_side(margin, y));
                full.rows += 1;
            }
        }
        self.proofs = proofs;
    }

    /// Ends a verifying pass: heads whose gap is within the tolerance, or out of passes, end.
    pub(super) fn end_verify(&mut self, tolerance: f64, last: bool) -> Result<(), TrainError> {
        for (head, proof) in std::mem::take(&mut self.proofs) {
            let lane = self.lane_of[head];
            if self.courses[head].end_verify_primal(self.start_norm[lane]) {
                let mut better = vec![0.0; self.kappa.len()];
                better[lane] = 1.0;
                self.take_start(&better);
            }
            match self.courses[head].end_verify(proof.proved(), tolerance, last) {
                Verdict::Ended { shrink } => self.end(head, shrink)?,
                Verdict::GoesOn => {
                    let moment = self.metric.as_ref().map(|metric| &metric.moment);
                    self.w
                        .set(lane, &proof.v, &self.z, moment, self.kappa[lane]);
                }
            }
        }
        self.pack();
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

    /// Packs the lanes of running heads together once a block can go.
    fn pack(&mut self) {
        let (kept, mut order): (Vec<usize>, Vec<usize>) =
            (0..self.head_of.len()).partition(|&lane| self.courses[self.head_of[lane]].runs());
        let blocks = kept.len().div_ceil(LANES);
        if blocks >= self.blocks.len() || blocks == 0 {
            return;
        }
        // the dual variables of heads that have ended go behind those of running ones
        order.splice(0..0, kept.iter().copied());
        let mut before = (vec![[0.0; LANES]; self.width], vec![0; self.width]);
        for row in 0..self.facts.rows {
            self.pack_row(row, &order, &mut before);
        }
        if let Some(metric) = &mut self.metric {
            metric.moment.keep(&kept, blocks * LANES);
            metric.damp.keep(&kept, blocks * LANES);
        }
        self.w.keep(&kept, blocks * LANES);
        self.z.keep(&kept, blocks * LANES);
        self.start.keep(&kept, blocks * LANES);
        self.best.keep(&kept, blocks * LANES);
        self.kappa = kept.iter().map(|&lane| self.kappa[lane]).collect();
        self.kappa.resize(blocks * LANES, 0.0);
        self.head_of = order.iter().map(|&lane| self.head_of[lane]).collect();
        for (lane, &head) in self.head_of.iter().enumerate() {
            self.lane_of[head] = lane;
        }
        self.blocks = vec![Block::EMPTY; blocks];
        self.list_signs();
    }

    /// Brings one row's dual variables and bits into a new order of lanes: those at `order[0]`, `order[1]`, …
    fn pack_row(&mut self, row: usize, order: &[usize], before: &mut (Vec<Lanes>, Vec<u8>)) {
        let lanes = row * self.width..(row + 1) * self.width;
        let alpha = &mut self.alpha[lanes.clone()];
        let asleep = &mut self.asleep[lanes];
        before.0.copy_from_slice(alpha);
        before.1.copy_from_slice(asleep);
        asleep.fill(0);
        for (new, &old) in order.iter().enumerate() {
            alpha[new / LANES][new % LANES] = before.0[old / LANES][old % LANES];
            asleep[new / LANES] |= (before.1[old / LANES] >> (old % LANES) & 1) << (new % LANES);
        }
    }

    /// The same heads, each by itself from now on.
    pub(super) fn part<T: Real>(&mut self) -> Result<Vec<Head<T>>, TrainError> {
        let courses = std::mem::take(&mut self.courses);
        let mut heads = Vec::new();
        for (head, course) in courses.into_iter().enumerate() {
            let lane = self.lane_of[head];
            let mut own = Head::new(
                &self.specs[head],
                course,
                self.intercept.into(),
                &self.facts,
            )?;
            if own.course.runs() {
                let columns = [&self.w, &self.z].map(|matrix| matrix.column(lane).iter());
                own.iterate.take_over(columns);
            }
            let duals = self.alpha.as_flattened()[lane..].iter();
            for (own, alpha) in own.alpha.iter_mut().zip(duals.step_by(self.width * LANES)) {
                *own = *alpha;
            }
            for (own, best) in own.best_w.iter_mut().zip(self.weights(head).iter()) {
                *own = T::of(f64::from(best));
            }
            heads.push(own);
        }
        Ok(heads)
    }
}
