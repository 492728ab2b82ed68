//! Rows near the margin, of one head: what the dual is solved over.

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::exact::effort;
use crate::exact::intercept::Constant;
use crate::exact::kernel_rows::KernelRows;
use crate::exact::pairs::Pairs;
use crate::exact::tied::TiedPairs;
use crate::kernels::{Kernel, Landmarks, Rows, ValueRounding};
use crate::objective::loss::{by_loss, Loss, LossFunction};
use crate::objective::minimized::share_off_balance;
use crate::simd::Level;

/// Candidates whose kernel rows are brought together.
const MEMBERS: usize = 64;

/// The candidates of a head.
pub(super) struct Candidates {
    kernel: Kernel,
    level: Level,
    loss: Loss,
    /// What is added to each kernel value, and to decisions, for the intercept.
    pub(super) constant: Constant,
    /// One segment for each round in which candidates came.
    segments: Vec<Landmarks>,
    starts: Vec<usize>,
    /// Rows on their way to become a segment.
    coming: Rows,
    /// By candidate: the row's ordinal, its side, weight, dual variable, and decision as far as it is known.
    pub(super) rows: Vec<u32>,
    pub(super) sides: Vec<f32>,
    pub(super) weights: Vec<f64>,
    pub(super) duals: Vec<f64>,
    pub(super) decisions: Vec<f64>,
    /// What of its decision is the row's offset.
    offsets: Vec<f64>,
    /// The largest dual variable, which has 32 bits, the dual's own curvature, and k(x, x) with it and the constant.
    pub(super) highs: Vec<f64>,
    pub(super) curvatures: Vec<f32>,
    pub(super) diagonals: Vec<f32>,
    /// The largest k(x, x) with the constant.
    largest: f64,
    /// By candidate what its decision's rounding is measured by.
    lengths: Vec<f64>,
    /// What 64 bits lose of sums over them.
    rounding: ValueRounding,
    /// Seconds that steps along pairs have taken, about.
    pub(super) seconds: f64,
}

/// Primal and dual over the candidates alone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Objectives {
    /// |w|²
    pub(super) norm: f64,
    pub(super) losses: f64,
    /// sum of (p - y o) a - 1/2 d a², with offsets o
    pub(super) linear: f64,
    /// What D may lose at most where dual variables are kept in 32 bits.
    pub(super) narrowing: f64,
    /// What D has lost, and will lose about, where they are balanced for a free intercept.
    pub(super) off_balance: f64,
}

impl Objectives {
    pub(super) fn primal(&self) -> f64 {
        0.5 * self.norm + self.losses
    }

    pub(super) fn dual(&self) -> f64 {
        self.linear - 0.5 * self.norm - self.narrowing - self.off_balance
    }
}

impl Candidates {
    pub(super) fn new(kernel: Kernel, loss: Loss, constant: Constant, width: usize) -> Self {
        Self {
            kernel,
            level: Level::best(),
            loss,
            constant,
            segments: Vec::new(),
            starts: Vec::new(),
            coming: Rows::new(width),
            rows: Vec::new(),
            sides: Vec::new(),
            weights: Vec::new(),
            duals: Vec::new(),
            decisions: Vec::new(),
            offsets: Vec::new(),
            highs: Vec::new(),
            curvatures: Vec::new(),
            diagonals: Vec::new(),
            largest: 0.0,
            lengths: Vec::new(),
            rounding: ValueRounding::new(kernel, constant.penalty),
            seconds: 0.0,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.coming.width()
    }

    /// y a: what a support vector's kernel values count.
    pub(super) fn factor(&self, at: usize) -> f64 {
        self.duals[at] * f64::from(self.sides[at])
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes that their rows take.
    pub(super) fn bytes(&self) -> usize {
        let segments = self.segments.iter().map(Landmarks::bytes);
        self.coming.bytes() + segments.sum::<usize>() + 76 * self.rows.len()
    }

    /// Takes a row of others in, with its side, weight, dual variable, and decision, and what of that is the row's offset.
    pub(super) fn push(
        &mut self,
        (rows, at): (&Rows, usize),
        ordinal: u32,
        (side, weight): (f32, f64),
        dual: f64,
        (decision, offset): (f64, f64),
    ) -> Result<(), OutOfMemory> {
        self.coming.push_from(rows, at)?;
        self.rows.room(1)?.push(ordinal);
        self.sides.room(1)?.push(side);
        self.weights.room(1)?.push(weight);
        self.duals.room(1)?.push(dual);
        self.decisions.room(1)?.push(decision);
        self.offsets.room(1)?.push(offset);
        let conjugate = by_loss!(self.loss, loss => loss.conjugate(weight));
        self.highs.room(1)?.push(f64::from(conjugate.high));
        self.curvatures.room(1)?.push(conjugate.curvature as f32);
        let square = rows.wide_square(at);
        let own = self.kernel.own_value(square);
        let value = own + self.constant.penalty;
        self.largest = self.largest.max(value);
        self.diagonals
            .room(1)?
            .push((value + conjugate.curvature) as f32);
        let length = self.rounding.take((rows, at), square);
        self.lengths.room(1)?.push(length);
        Ok(())
    }

    /// What 64 bits lose of decisions by the dual variables as they are; of quick ones where what |w|² and the losses of support vectors lose
    /// by it is next to nothing: no more than this part of the tolerance, of sum a.
    pub(super) fn rounding(&self, tolerance: f64) -> ValueRounding {
        const PART: f64 = 1e-3;
        let lengths = self.duals.iter().zip(&self.lengths);
        let mut rounding = self.rounding;
        rounding.reach = lengths.map(|(dual, length)| dual * length).sum();
        let support = (0..self.len()).filter(|at| self.duals[*at] > 0.0);
        let losses: f64 = support.map(|at| self.weights[at] * self.lengths[at]).sum();
        let quick = rounding.of_decisions();
        let lost = quick.value_off() * quick.reach * (quick.reach + losses);
        match lost <= PART * tolerance * self.duals.iter().sum::<f64>() {
            true => quick,
            false => rounding,
        }
    }

    /// What is added to the second derivative along each dual variable until the next pass, so that -D has a smallest value though kernel
    /// values have 32 bits: a proximal term, whose centre is the dual variables of the last pass. 0 where the loss's own curvature, or its
    /// bounds, see to that.
    ///
    /// Errors of n² values without order, of this size each, have a norm of 2 sqrt(n) times that.
    pub(super) fn shift(&self) -> f64 {
        const UNIT: f64 = 1.0 / (1 << 24) as f64;
        let near = self.segments.iter().map(|it| it.nearness(&self.kernel));
        let near = near.fold(0.0, f64::max);
        let norm = 2.0 * (self.len() as f64).sqrt();
        let shift = norm * UNIT * (1.0 + 2.0 * near) * self.largest;
        let least = self
            .curvatures
            .iter()
            .copied()
            .fold(f32::INFINITY, f32::min);
        let is_bounded = self.highs.iter().all(|high| *high < f64::from(f32::MAX));
        match f64::from(least) >= shift || is_bounded {
            true => 0.0,
            false => shift,
        }
    }

    /// By how much P over the candidates may be more in 64 bits, and D less. |w|² is the sum of a m: off by as much as each m times a.
    pub(super) fn lost(&self, rounding: &ValueRounding) -> [f64; 2] {
        let mut losses = 0.0;
        for (at, length) in self.lengths.iter().enumerate() {
            let margin = f64::from(self.sides[at]) * self.decisions[at];
            let worst = self.loss.value(margin - rounding.off(*length));
            losses += self.weights[at] * (worst - self.loss.value(margin));
        }
        let norm = rounding.off(rounding.reach);
        [losses + 0.5 * norm, 0.5 * norm]
    }

    /// Those that came become a segment.
    pub(super) fn close(&mut self) -> Result<(), OutOfMemory> {
        if self.coming.is_empty() {
            return Ok(());
        }
        let width = self.coming.width();
        let rows = std::mem::replace(&mut self.coming, Rows::new(width));
        self.starts.room(1)?.push(self.rows.len() - rows.len());
        self.segments.room(1)?.push(Landmarks::new(rows)?);
        Ok(())
    }

    /// Where each segment begins and ends.
    pub(super) fn segments(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let lengths = self.segments.iter().map(Landmarks::len);
        self.starts
            .iter()
            .zip(lengths)
            .map(|(first, length)| (*first, first + length))
    }

    /// The segment of a candidate, and its place there.
    fn place(&self, candidate: usize) -> (&Landmarks, usize) {
        let segment = self.starts.partition_point(|first| *first <= candidate) - 1;
        (&self.segments[segment], candidate - self.starts[segment])
    }

    /// Copies a candidate's row behind others.
    pub(super) fn copy_to(&self, candidate: usize, rows: &mut Rows) -> Result<(), OutOfMemory> {
        let (segment, place) = self.place(candidate);
        rows.push_from(segment.rows(), place)
    }

    /// Kernel values of these candidates with those of the segment that begins at `first`, row after row.
    pub(super) fn kernel_values(
        &self,
        block: &[u32],
        first: usize,
        out: &mut [f32],
    ) -> Result<(), OutOfMemory> {
        let (segment, _) = self.place(first);
        let mut rows = Rows::new(segment.rows().width());
        for candidate in block {
            self.copy_to(*candidate as usize, &mut rows)?;
        }
        segment.kernel_values(&self.kernel, self.level, &rows, 0, out);
        Ok(())
    }

    /// Hands over each candidate's kernel values in 64 bits with all of them, one after the other.
    pub(super) fn each_wide_row(
        &self,
        mut take: impl FnMut(usize, &[f64]),
    ) -> Result<(), OutOfMemory> {
        let (width, count) = (self.width(), self.len());
        let mut values = filled(0.0, MEMBERS * count)?;
        for begin in (0..count).step_by(MEMBERS) {
            let end = (begin + MEMBERS).min(count);
            let mut rows = Rows::new(width);
            for candidate in begin..end {
                self.copy_to(candidate, &mut rows)?;
            }
            for (segment, (first, last)) in self.segments.iter().zip(self.segments()) {
                let mut part = filled(0.0, (end - begin) * (last - first))?;
                segment.wide_values(&self.kernel, self.level, (&rows, 0), &mut part);
                let to = values.chunks_exact_mut(count);
                for (to, part) in to.zip(part.chunks_exact(last - first)) {
                    to[first..last].copy_from_slice(part);
                }
            }
            for (row, values) in values.chunks_exact(count).take(end - begin).enumerate() {
                take(begin + row, values);
            }
        }
        Ok(())
    }

    pub(super) fn loss(&self) -> Loss {
        self.loss
    }

    /// What a candidate's margin has of its offset.
    pub(super) fn beside(&self, at: usize) -> f64 {
        f64::from(self.sides[at]) * self.offsets[at]
    }

    /// P and D over the candidates, at the decisions that are known.
    pub(super) fn objectives(&self) -> Objectives {
        by_loss!(self.loss, loss => self.objectives_by(loss))
    }

    fn objectives_by<L: LossFunction>(&self, loss: L) -> Objectives {
        let mut sums = Objectives::default();
        let (mut slope, mut length) = (0.0, 0.0);
        for at in 0..self.len() {
            let weight = self.weights[at];
            let margin = f64::from(self.sides[at]) * self.decisions[at];
            let a = self.duals[at];
            let conjugate = loss.conjugate(weight);
            let beside = self.beside(at);
            sums.norm += a * (margin - beside);
            sums.losses += weight * loss.value(margin);
            sums.linear += a * (conjugate.linear - beside - 0.5 * conjugate.curvature * a);
            // the sum of moves, each as long as the row in the space of the kernel
            let moved = (a - f64::from(a as f32)).abs();
            slope += moved * loss.gradient(margin, a, &conjugate).abs();
            length += moved * f64::from(self.diagonals[at]).sqrt();
        }
        sums.narrowing = slope + 0.5 * length * length;
        if self.constant.is_free {
            let (sum, all) = (self.signed_sum(), self.duals.iter().sum::<f64>());
            let along = self.intercept() * sum;
            sums.norm -= along;
            sums.off_balance = along + share_off_balance(sum, all) * sums.losses;
        }
        interrupts::worked(8 * self.len());
        sums
    }

    /// Some steps along pairs of candidates that violate most. False where none violates.
    pub(super) fn improve(&mut self, kernel_rows: &mut KernelRows) -> Result<bool, OutOfMemory> {
        let members = by_loss!(self.loss, loss => self.working_set(loss, kernel_rows.capacity()))?;
        if members.is_empty() {
            return Ok(false);
        }
        self.seconds += kernel_rows.bring(&members, self)?;
        let steps = match self.constant.is_free {
            true => TiedPairs::new(self, kernel_rows)?.go(),
            false => Pairs::new(self, kernel_rows)?.go(),
        };
        self.seconds += effort::steps(steps + 1, self.len());
        Ok(steps > 0)
    }

    /// The derivative of -D along a candidate.
    pub(super) fn gradient(&self, at: usize) -> f64 {
        let margin = f64::from(self.sides[at]) * self.decisions[at];
        let weight = self.weights[at];
        by_loss!(self.loss, loss => {
            loss.gradient(margin, self.duals[at], &loss.conjugate(weight))
        })
    }

    /// Whether a candidate wants to take from the sum of y a (0) or to add to it (1), and the amount of its projected gradient.
    #[inline(always)]
    fn wish<L: LossFunction>(&self, loss: L, at: usize) -> (usize, f64) {
        let side = f64::from(self.sides[at]);
        let margin = side * self.decisions[at];
        let gradient = violation(loss, margin, self.duals[at], self.weights[at]);
        (usize::from(side * gradient < 0.0), gradient.abs())
    }

    /// Those that want to take from the sum of y a, and those that want to add to it, with the amounts of their projected gradients.
    fn wanting<L: LossFunction>(&self, loss: L) -> Result<[Vec<(f64, u32)>; 2], OutOfMemory> {
        let mut wanting: [Vec<(f64, u32)>; 2] = [Vec::new(), Vec::new()];
        for side in &mut wanting {
            side.room(self.len())?;
        }
        for at in 0..self.len() {
            let (way, amount) = self.wish(loss, at);
            if amount != 0.0 {
                wanting[way].push((amount, at as u32));
            }
        }
        interrupts::worked(8 * self.len());
        Ok(wanting)
    }

    /// The same where the sum is to stay: those that gain together with another one, and by how much, where the other gains most.
    fn wanting_together(&self) -> Result<[Vec<(f64, u32)>; 2], OutOfMemory> {
        let mut wanting: [Vec<(f64, u32)>; 2] = [Vec::new(), Vec::new()];
        for side in &mut wanting {
            side.room(self.len())?;
        }
        for at in 0..self.len() {
            let slope = f64::from(self.sides[at]) * self.gradient(at);
            for (way, gain) in [slope, -slope].into_iter().enumerate() {
                if self.can_go(at, way == 1) {
                    wanting[way].push((gain, at as u32));
                }
            }
        }
        let most = [0, 1].map(|way: usize| {
            let gains = wanting[way].iter().map(|(gain, _)| *gain);
            gains.fold(f64::NEG_INFINITY, f64::max)
        });
        for (way, side) in wanting.iter_mut().enumerate() {
            side.retain_mut(|(gain, _)| {
                *gain += most[1 - way];
                *gain > 0.0
            });
        }
        interrupts::worked(8 * self.len());
        Ok(wanting)
    }

    /// Whether y a of a candidate can rise, or fall.
    fn can_go(&self, at: usize, rises: bool) -> bool {
        match (self.sides[at] > 0.0) == rises {
            true => self.duals[at] < self.highs[at],
            false => self.duals[at] > 0.0,
        }
    }

    /// The candidates whose projected gradients are largest, of both wishes.
    fn working_set<L: LossFunction>(
        &self,
        loss: L,
        capacity: usize,
    ) -> Result<Vec<u32>, OutOfMemory> {
        let most = capacity.min(MEMBERS);
        let mut wanting = match self.constant.is_free {
            true => self.wanting_together()?,
            false => self.wanting(loss)?,
        };
        let half = most / 2;
        let [fewer, more] = match wanting[1].len() < wanting[0].len() {
            true => [1, 0],
            false => [0, 1],
        };
        let taken = wanting[fewer].len().min(half);
        let mut found: Vec<(f64, u32)> = Vec::new();
        for (side, most) in [(fewer, taken), (more, most - taken)] {
            let all = &mut wanting[side];
            if all.len() > most {
                all.select_nth_unstable_by(most, |one, other| other.0.total_cmp(&one.0));
                all.truncate(most);
            }
            found.room(all.len())?.extend_from_slice(all);
        }
        let mut members: Vec<u32> = Vec::new();
        members
            .room(found.len())?
            .extend(found.iter().map(|(_, at)| *at));
        members.sort_unstable();
        // where the sum is to stay one may want either
        members.dedup();
        Ok(members)
    }
}

/// The projected gradient of the negative dual along a row: 0 where its dual variable is best, or cannot go where it should.
fn violation<L: LossFunction>(loss: L, margin: f64, dual: f64, weight: f64) -> f64 {
    let conjugate = loss.conjugate(weight);
    let gradient = loss.gradient(margin, dual, &conjugate);
    let high = f64::from(conjugate.high);
    let held = (dual <= 0.0 && gradient > 0.0) || (dual >= high && gradient < 0.0);
    match held {
        true => 0.0,
        false => gradient,
    }
}
