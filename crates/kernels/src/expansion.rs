//! Predictions of kernel machines: f(x) = sum_j a_j k(z_j, x) + b over landmarks z_j, for one row or for many, and for as many
//! machines as share the landmarks.

use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{gathered, OutOfMemory, Room as _};
use crate::kernel::Kernel;
use crate::products::{Landmarks, Room};
use crate::rows::Rows;
use crate::simd::panels::COLUMNS;
use crate::simd::Level;
use crate::triangle;

/// Rows that are decided together, and landmarks at a time: whole panels, and kernel values of both that stay in the processor's
/// cache until they have been summed.
const ROWS: usize = 240;
const LANDMARKS: usize = 16 * COLUMNS;

#[derive(Debug)]
pub struct Expansion {
    kernel: Kernel,
    level: Level,
    landmarks: Landmarks,
    /// Machine after machine, as many as there are landmarks.
    factors: Vec<f64>,
    intercepts: Vec<f64>,
    /// By part of the landmarks and machine: where in the part factors other than 0 begin and end. Machines that tell two classes of many
    /// apart have few.
    spans: Vec<[u32; 2]>,
    /// Whether distances may be made of products.
    quick: bool,
}

impl Expansion {
    /// One machine for each intercept, its factors one after the other, as [`crate::LowRank::fold`] gives them; None where
    /// they are not as many as landmarks times machines.
    pub fn new(
        kernel: Kernel,
        landmarks: Rows,
        factors: Vec<f64>,
        intercepts: Vec<f64>,
    ) -> Result<Option<Self>, OutOfMemory> {
        if landmarks.is_empty() || landmarks.len() * intercepts.len() != factors.len() {
            return Ok(None);
        }
        let mut this = Self {
            kernel,
            level: Level::best(),
            landmarks: Landmarks::new(landmarks)?,
            factors,
            intercepts,
            spans: Vec::new(),
            quick: true,
        };
        this.spans = this.find_spans()?;
        Ok(Some(this))
    }

    /// The same machine whose distances are made of differences alone, which lose less and take longer.
    pub fn of_differences(self) -> Self {
        Self {
            quick: false,
            ..self
        }
    }

    fn find_spans(&self) -> Result<Vec<[u32; 2]>, OutOfMemory> {
        let (landmarks, part) = (self.landmarks.len(), self.part());
        let mut spans = Vec::new();
        spans.room(landmarks.div_ceil(part) * self.machines())?;
        for from in (0..landmarks).step_by(part) {
            for factors in self.factors.chunks_exact(landmarks) {
                let own = &factors[from..(from + part).min(landmarks)];
                let begin = own.iter().position(|factor| *factor != 0.0);
                let end = own.iter().rposition(|factor| *factor != 0.0);
                spans.push(match begin.zip(end) {
                    Some((begin, last)) => [begin as u32, last as u32 + 1],
                    None => [0, 0],
                });
                interrupts::worked(own.len());
            }
        }
        Ok(spans)
    }

    /// The width that rows to be decided must have.
    pub fn width(&self) -> usize {
        self.landmarks.rows().width()
    }

    pub fn machines(&self) -> usize {
        self.intercepts.len()
    }

    /// The landmarks' rows.
    pub fn landmarks(&self) -> &Rows {
        self.landmarks.rows()
    }

    /// A machine's factors, landmark after landmark.
    pub fn factors(&self, machine: usize) -> &[f64] {
        let landmarks = self.landmarks.len();
        &self.factors[machine * landmarks..][..landmarks]
    }

    /// By machine the weights of phi(x) whose decisions at these landmarks are its own, and its intercept behind them. `lower`: the rows of
    /// the landmarks' factor L.
    pub fn projected<'a, L: Iterator<Item = &'a [f64]>>(
        &self,
        landmarks: &Rows,
        lower: impl Fn() -> L,
    ) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        let (mut decisions, mut all) = (Vec::new(), Vec::new());
        self.decide(landmarks, &mut Room::default(), &mut decisions)?;
        let machines = self.machines();
        all.room(machines)?;
        for (place, intercept) in self.intercepts.iter().enumerate() {
            let own = decisions.iter().skip(place).step_by(machines);
            let mut weights = gathered(own.map(|decision| decision - intercept))?;
            triangle::forward_by_rows(lower(), &mut weights);
            weights.room(1)?.push(*intercept);
            all.push(weights);
        }
        Ok(all)
    }

    /// By machine its intercept.
    pub fn intercepts(&self) -> &[f64] {
        &self.intercepts
    }

    /// Decisions of all machines for each row, row after row, in place of what `decisions` holds: of kernel values in 64 bits. No
    /// memory is asked for once both have grown.
    pub fn decide(
        &self,
        rows: &Rows,
        room: &mut Room,
        decisions: &mut Vec<f64>,
    ) -> Result<(), OutOfMemory> {
        let values = room.of_wide(ROWS.min(rows.len()) * self.part())?;
        self.sum(rows, decisions, |first, some, out| {
            let values = &mut values[..out.count * some.len()];
            let (all, level) = (&self.landmarks, self.level);
            let to = (&mut *values, self.quick);
            all.wide_values_with(some.clone(), &self.kernel, level, (rows, first), to);
            out.add(values, some, dot);
        })
    }

    /// The same of kernel values in 32 bits: what a solver goes by on its way.
    pub fn decide_narrowly(
        &self,
        rows: &Rows,
        room: &mut Room,
        decisions: &mut Vec<f64>,
    ) -> Result<(), OutOfMemory> {
        let values = room.of(ROWS.min(rows.len()) * self.part())?;
        self.sum(rows, decisions, |first, some, out| {
            let values = &mut values[..out.count * some.len()];
            let (all, level) = (&self.landmarks, self.level);
            all.kernel_values_with(some.clone(), &self.kernel, level, (rows, first), values);
            out.add(values, some, dot);
        })
    }

    /// Landmarks that are gone through at a time.
    fn part(&self) -> usize {
        match self.landmarks.can_be_parted() {
            true => LANDMARKS.min(self.landmarks.len()),
            false => self.landmarks.len(),
        }
    }

    /// The intercepts, and what `add` adds for each block of rows and some landmarks.
    fn sum(
        &self,
        rows: &Rows,
        decisions: &mut Vec<f64>,
        mut add: impl FnMut(usize, Range<usize>, &mut BlockSums<'_>),
    ) -> Result<(), OutOfMemory> {
        let (landmarks, machines) = (self.landmarks.len(), self.machines());
        decisions.clear();
        decisions.room(rows.len() * machines)?;
        for _ in 0..rows.len() {
            decisions.extend_from_slice(&self.intercepts);
        }
        let part = self.part();
        for first in (0..rows.len()).step_by(ROWS) {
            let count = ROWS.min(rows.len() - first);
            let parts = self.spans.chunks_exact(machines.max(1));
            for (from, spans) in (0..landmarks).step_by(part).zip(parts) {
                let mut sums = BlockSums {
                    factors: &self.factors,
                    spans,
                    landmarks,
                    machines,
                    count,
                    decisions: &mut decisions[first * machines..],
                };
                let some = from..(from + part).min(landmarks);
                let work = count * machines * some.len() / 2;
                add(first, some, &mut sums);
                interrupts::worked(work);
            }
        }
        Ok(())
    }
}

/// The decisions about a block of rows.
struct BlockSums<'a> {
    factors: &'a [f64],
    /// Of the part under way, by machine.
    spans: &'a [[u32; 2]],
    landmarks: usize,
    machines: usize,
    /// Rows.
    count: usize,
    decisions: &'a mut [f64],
}

impl BlockSums<'_> {
    /// Adds what some landmarks say by their kernel values.
    fn add<T>(&mut self, values: &[T], some: Range<usize>, dot: impl Fn(&[T], &[f64]) -> f64) {
        let rows = values.chunks_exact(some.len());
        for (values, sums) in rows.zip(self.decisions.chunks_exact_mut(self.machines)) {
            let machines = self.factors.chunks_exact(self.landmarks);
            for ((sum, factors), [begin, end]) in sums.iter_mut().zip(machines).zip(self.spans) {
                let span = *begin as usize..*end as usize;
                *sum += dot(&values[span.clone()], &factors[some.clone()][span]);
            }
        }
    }
}

/// Partial sums of a product, and how many numbers each takes before it is added to the others of its kind.
const LANES: usize = 8;
const IN_TURN: usize = 8;

/// The product of values and factors, as long as each other, in partial sums, which need not wait for each other.
pub fn dot<T: Copy + Into<f64>>(values: &[T], factors: &[f64]) -> f64 {
    let mut all = [0.0; LANES];
    let parts = values.chunks(LANES * IN_TURN);
    for (values, factors) in parts.zip(factors.chunks(LANES * IN_TURN)) {
        let mut sums = [0.0; LANES];
        let (values, last_values) = values.as_chunks::<LANES>();
        let (factors, last_factors) = factors.as_chunks::<LANES>();
        for (values, factors) in values.iter().zip(factors) {
            for lane in 0..LANES {
                sums[lane] += values[lane].into() * factors[lane];
            }
        }
        let last = last_values.iter().zip(last_factors);
        for (sum, (value, factor)) in sums.iter_mut().zip(last) {
            *sum += (*value).into() * factor;
        }
        for (all, sum) in all.iter_mut().zip(sums) {
            *all += sum;
        }
    }
    let [a, b, c, d, e, f, g, h] = all;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// How many roundings a [`dot`] of so many numbers makes of each of its terms at most.
pub(crate) fn roundings_of_dot(count: usize) -> usize {
    let in_turn = IN_TURN.min(count.div_ceil(LANES));
    1 + in_turn + count.div_ceil(LANES * IN_TURN) + 3
}
