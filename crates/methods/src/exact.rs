//! Kernel machines that are exact: every row may be compared with every other, and only the rows near the margin are held.
//!
//! ```text
//! objective   P(w) = 1/2 |w|² + sum of s_i L(y_i f(x_i)),   f(x) = <w, phi(x)>,  s_i = C times the row's cost
//! dual        D(a) = sum of (p a_i - 1/2 d_i a_i²) - 1/2 sum of a_i a_j y_i y_j k(x_i, x_j),  0 <= a_i <= high_i
//! symbols     w = sum of a_j y_j phi(x_j), so f(x) = sum of a_j y_j k(x_j, x) and |w|² = sum of a_i y_i f(x_i)
//!             k is the kernel, and 1 more where there is an intercept: a constant appended to phi(x), regularized like
//!             every weight, as in linear machines here; a free one, as LIBSVM's, is in no norm ([`intercept`]). p, d, high: objective/loss.rs
//! update      along two candidates at a time, the one with the largest projected gradient and the one with which D gains
//!             most ([`pairs`], and where sum of y a stays 0 [`tied`]); then f of all candidates by the kernel rows of the two
//! stop        a pass over all rows computes f with every support vector, in 64 bits: P, D and the gap are those of the problem
//!             itself, of the rows and dual variables as they are stored
//! ```
//!
//! The rounds, head by head:
//!
//! 1. Candidates are rows whose margin at the machine of low rank is below 1.5, and those with a dual variable there
//!    ([`candidates`]). Where memory holds fewer, those with the smallest margins. All begin at 0.
//! 2. The dual is solved over the candidates until their own gap is a part of the tolerance. Kernel rows are products of blocks
//!    of rows with all candidates, and kept as far as memory goes ([`kernel_rows`]). Where that takes as long as it would to solve for
//!    all at once, by interior points ([`interior`]), as it does where C is large, they are.
//! 3. All rows are decided with all support vectors. The first passes have kernel values in 32 bits. Once these say that the gap is there,
//!    or will be when the candidates have been solved for again, all passes have 64 bits, and the gap of such a pass ends the head.
//!    Otherwise rows that have a loss and were no candidates become candidates, and those that no longer matter are dropped where room is
//!    wanted. A pass also gives the decisions of candidates, and kernel rows in 32 bits only give what steps add to them. So each round
//!    takes off most of what 32 bits lack (iterative refinement). If three passes come no nearer, the head ends.
//! 4. What is stored is what the last pass has seen. Where an earlier one in 64 bits was of a better machine, or weights of 0 are better, that
//!    machine is made again and all rows are gone over once more ([`known`]).
//!
//! A head for a pair of classes reads the rows of those two only. Where heads are pairs, all rows are decided once more at the end, by all
//! support vectors together, for the classes that the heads vote for.
//!
//! Pairs of candidates: Fan, Chen, Lin, *Working set selection using second order information*, JMLR 6, 2005; blocks of kernel rows: Wen, Shi, Li, He,
//! Chen, *ThunderSVM*, JMLR 19, 2018. Candidates from a machine of low rank, and passes that bring violators in: StreamSVM's dual
//! cached loops (Matsushima, Vishwanathan, Smola, KDD 2012) with kernel rows.
//!
//! Knows rows, losses and kernels; nothing of linear solvers, schedules or PostgreSQL.

mod balance;
mod candidates;
mod effort;
mod head;
mod intercept;
mod interior;
mod kernel_rows;
mod known;
mod outcome;
mod outliers;
mod pairs;
mod tied;

use std::fmt;
use std::time::Instant;

use crate::base::interrupts;
use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::base::step::Step;
use crate::exact::effort::BESIDE;
use crate::exact::head::{Head, HeadStep};
use crate::exact::outcome::Support;
use crate::kernels::{Expansion, Kernel, Room, Rows};
use crate::maps::low_rank::{LowRankError, LowRankSource};
use crate::objective::calibration::Calibration;
use crate::objective::heads::HeadSpec;
use crate::objective::loss::{Loss, NO_LOSS_FROM};
use crate::objective::minimized::Intercept;
use crate::objective::problem::Problem;
use crate::rows::row::Row;
use crate::rows::source::{Source, Spool};

pub use outcome::ExactOutcome;

/// Rows of a pass that are decided together; and that are read until there are so many that take part, at most.
const BLOCK: usize = 240;
const READ_AT_ONCE: usize = 1 << 14;
/// Seconds for a number of a row and one of a support vector, over all that is done with them at C = 1, and how they grow with C:
/// measured on sets of 3,000 to 50,000 rows, with 4 to 22 features and 2 to 26 classes.
const SECONDS_A_PRODUCT: f64 = 1e-9;
const BY_C: f64 = 0.35;

fn of_comparing(compared: f64, width: usize) -> f64 {
    SECONDS_A_PRODUCT * (width + BESIDE) as f64 * compared
}

fn by_c(c: f64) -> f64 {
    c.max(1.0).powf(BY_C)
}

/// A head, and what the machine of low rank says of its rows.
pub struct ExactStart {
    /// The head, its C and the weight of its positive rows included.
    pub spec: HeadSpec,
    /// The dual variable of each row at the machine of low rank, in the rows' order: those above 0 make candidates.
    pub duals: Vec<f32>,
}

/// Seconds on a usual processor that a head may work on its candidates, however short passes are, and all heads together.
const LEAST_SECONDS: f64 = 2.0;
const LEAST_SECONDS_OF_ALL: f64 = 4.0;

/// What is to be solved.
pub struct ExactJob {
    pub kernel: Kernel,
    pub loss: Loss,
    /// s, where losses are min(L, 1 + s).
    pub truncation: Option<f64>,
    pub intercept: Intercept,
    /// The relative gap at which a head ends.
    pub tolerance: f64,
    /// Passes over all rows after which a head ends with the gap that it has, or as much work on candidates as they take.
    pub max_passes: u32,
    /// Seconds that all heads may take on a usual processor: what takes longer is not begun.
    pub most_seconds: f64,
    /// Seconds that a head may take at least, however short its passes are.
    least_seconds: f64,
    /// For candidates and kernel rows.
    pub memory_bytes: usize,
    /// Where labels are numbers, by how much a score may be off without a loss.
    pub epsilon: Option<f64>,
    /// What a decision is to be more than for the positive class.
    pub bar: f64,
}

impl ExactJob {
    /// As the problem says.
    pub fn new(
        kernel: Kernel,
        problem: &Problem,
        (memory_bytes, epsilon): (usize, Option<f64>),
    ) -> Self {
        Self {
            kernel,
            loss: problem.loss(),
            truncation: problem.truncation(),
            intercept: problem.kind_of_intercept(),
            tolerance: problem.tolerance(),
            max_passes: problem.max_passes(),
            most_seconds: f64::INFINITY,
            least_seconds: LEAST_SECONDS,
            memory_bytes,
            epsilon,
            bar: 0.0,
        }
    }

    /// The same where all rows are of one class: they are usual beyond the margin.
    pub fn of_one_class(self) -> Self {
        Self {
            bar: NO_LOSS_FROM,
            ..self
        }
    }
}

/// Why it cannot be solved.
#[derive(Debug, PartialEq)]
pub enum ExactError<S, P> {
    /// The rows cannot be read again.
    Read(LowRankError<S, P>),
    /// The support vectors, or one block of kernel rows, do not fit the memory: so many bytes would do.
    Room {
        bytes: usize,
    },
    OutOfMemory(OutOfMemory),
}

impl<S, P> From<OutOfMemory> for ExactError<S, P> {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl<S: fmt::Display, P: fmt::Display> fmt::Display for ExactError<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Room { bytes } => write!(f, "the exact method needs {bytes} bytes"),
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactProgress {
    /// The head under way, from 0, of so many, and the passes over all rows so far.
    pub head: usize,
    pub heads: usize,
    pub passes: u32,
    /// Rows read of the pass under way, if there is one.
    pub rows: u64,
    /// Working sets that the head's candidates were solved over.
    pub sets: u64,
    /// The gap of the last pass; NaN before the first.
    pub gap: f64,
}

/// All heads, one after the other: see the head of this file.
pub struct ExactSolver {
    job: ExactJob,
    /// The machine whose decisions about all rows are being noted: at first the one of low rank, and of pairs at the end the one found.
    noted: Option<Expansion>,
    /// Rows of it that have been read.
    row: usize,
    starts: Vec<ExactStart>,
    /// Those by which classes are told apart, or none.
    calibrations: Vec<Calibration>,
    /// By class its place in the order of labels, where that is known.
    class_ranks: Vec<u32>,
    /// Scores by head and row, offsets in them: at first those of the machine of low rank, then those that each head ends with.
    decisions: Vec<Vec<f32>>,
    groups: Vec<u32>,
    /// By row what its scores have beside decisions; empty where that is nothing.
    offsets: Vec<f64>,
    /// Of pairs, whether all rows have been decided by the machine that was found.
    has_decided_all: bool,
    deciding: Deciding,
    head: Option<Head>,
    support: Support,
    ended: usize,
    /// Of heads that have ended.
    spent: f64,
    passes: u32,
    gap: f64,
    began: Instant,
}

/// A block of rows on its way to be decided.
pub struct Deciding {
    rows: Rows,
    /// By row its place among all.
    ordinals: Vec<u32>,
    groups: Vec<u32>,
    costs: Vec<f32>,
    /// What scores have beside what a machine decides.
    offsets: Vec<f64>,
    room: Room,
    values: Vec<f64>,
}

impl Deciding {
    fn new(width: usize) -> Self {
        Self {
            rows: Rows::new(width),
            ordinals: Vec::new(),
            groups: Vec::new(),
            costs: Vec::new(),
            offsets: Vec::new(),
            room: Room::default(),
            values: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.ordinals.clear();
        self.groups.clear();
        self.costs.clear();
        self.offsets.clear();
    }

    fn take(&mut self, row: &Row<'_>, ordinal: usize) -> Result<(), OutOfMemory> {
        self.rows.push(row.dense(), row.sparse())?;
        self.ordinals.room(1)?.push(ordinal as u32);
        self.groups.room(1)?.push(row.group() as u32);
        self.costs.room(1)?.push(row.cost());
        self.offsets.room(1)?.push(row.offset());
        Ok(())
    }

    /// Takes the next rows that take part, by their places, from this one on, which moves behind them; true where the last one is
    /// among them.
    fn read<S: Source, P: Spool>(
        &mut self,
        source: &mut LowRankSource<S, P>,
        from: &mut usize,
        takes_part: impl Fn(usize) -> bool,
    ) -> Result<bool, ExactError<S::Error, P::Error>> {
        self.clear();
        let begun = *from;
        let mut last = false;
        while !last && self.rows.len() < BLOCK && *from - begun < READ_AT_ONCE {
            let taken = source.go_over(BLOCK, |row| {
                let ordinal = *from;
                *from += 1;
                match takes_part(ordinal) {
                    true => self.take(&row, ordinal),
                    false => Ok(()),
                }
            });
            last = taken.map_err(ExactError::Read)?;
        }
        Ok(last)
    }

    /// Has the rows taken scored: what the machine decides, and their offsets. `wide`: by kernel values in 64 bits. A machine without support
    /// vectors is its intercept.
    fn decide(&mut self, machine: Result<&Expansion, f64>, wide: bool) -> Result<(), OutOfMemory> {
        let (rows, room, values) = (&self.rows, &mut self.room, &mut self.values);
        match machine {
            Ok(machine) if wide => machine.decide(rows, room, values)?,
            Ok(machine) => machine.decide_narrowly(rows, room, values)?,
            Err(intercept) => {
                self.values.clear();
                let rows = self.rows.len();
                self.values.room(rows)?.resize(rows, intercept);
            }
        }
        let machines = self.values.len() / self.rows.len().max(1);
        let rows = self.values.chunks_exact_mut(machines.max(1));
        for (values, offset) in rows.zip(&self.offsets) {
            values.iter_mut().for_each(|value| *value += offset);
        }
        Ok(())
    }
}

impl ExactSolver {
    /// `first`: the machine of low rank, with a machine for each of the heads that begin there; `calibrations`: those by which classes are
    /// told apart, or none.
    pub fn new(
        job: ExactJob,
        first: Expansion,
        starts: Vec<ExactStart>,
        calibrations: Vec<Calibration>,
    ) -> Result<Self, OutOfMemory> {
        let width = first.width();
        let share = LEAST_SECONDS_OF_ALL / starts.len().max(1) as f64;
        let job = ExactJob {
            least_seconds: LEAST_SECONDS.min(share),
            ..job
        };
        Ok(Self {
            decisions: filled(Vec::new(), starts.len())?,
            groups: Vec::new(),
            offsets: Vec::new(),
            has_decided_all: false,
            deciding: Deciding::new(width),
            support: Support::new(width),
            noted: Some(first),
            row: 0,
            job,
            starts,
            calibrations,
            class_ranks: Vec::new(),
            head: None,
            ended: 0,
            spent: 0.0,
            passes: 0,
            gap: f64::NAN,
            began: Instant::now(),
        })
    }

    /// As `Trainer::rank_classes`.
    pub fn rank_classes(mut self, ranks: Vec<u32>) -> Self {
        self.class_ranks = ranks;
        self
    }

    /// Has it begin nothing that takes longer than so many seconds on a usual processor, all in all. It goes on beyond: whoever has it
    /// step looks at what it has [`Self::spent`].
    pub fn keep_within(&mut self, seconds: f64) {
        self.job.most_seconds = seconds;
    }

    /// Seconds that what it has computed takes on a usual processor, about: the same on any.
    pub fn spent(&self) -> f64 {
        self.spent + self.head.as_ref().map_or(0.0, Head::spent)
    }

    /// Seconds that it will take on a usual processor, about; asked at the beginning.
    ///
    /// Every row is compared with the support vectors, which are about as many as those of the machine of low rank, in a few passes
    /// and on the way to them. More passes and steps come with larger C.
    pub fn seconds(&self) -> f64 {
        let (mut compared, mut at_end) = (0.0, 0.0);
        for start in &self.starts {
            let support = start.duals.iter().filter(|dual| **dual > 0.0).count() as f64;
            let (rows, share) = (start.duals.len() as f64, start.spec.signs.share());
            compared += support * rows * share * by_c(start.spec.c);
            // a row that is one of some pair is one of about half of its pairs
            at_end = rows.min(at_end + support * share);
            interrupts::worked(start.duals.len());
        }
        if self.is_in_pairs() {
            compared += at_end * self.starts[0].duals.len() as f64;
        }
        of_comparing(compared, self.deciding.rows.width())
    }

    /// The same where so many rows of this width are compared with support vectors, over all heads, at this C.
    pub fn seconds_of(compared: f64, width: usize, c: f64) -> f64 {
        of_comparing(compared * by_c(c), width)
    }

    /// Whether each head tells two classes of several apart.
    fn is_in_pairs(&self) -> bool {
        let first = self.starts.first();
        first.is_some_and(|start| start.spec.signs.is_of_pair())
    }

    pub fn progress(&self) -> ExactProgress {
        let (rows, sets) = match &self.head {
            Some(head) => head.progress(),
            None => (self.groups.len(), 0),
        };
        ExactProgress {
            head: self.ended,
            heads: self.starts.len(),
            passes: self.passes,
            rows: rows as u64,
            sets: sets as u64,
            gap: self.gap,
        }
    }

    /// Works on, for some milliseconds. `Done` when all heads have ended. The source must keep its rows.
    pub fn step<S: Source, P: Spool>(
        &mut self,
        source: &mut LowRankSource<S, P>,
    ) -> Result<Step, ExactError<S::Error, P::Error>> {
        if let Some(machine) = &self.noted {
            let wide = self.ended > 0;
            let last = self.deciding.read(source, &mut self.row, |_| true)?;
            self.deciding.decide(Ok(machine), wide)?;
            self.note()?;
            if last {
                self.noted = None;
                self.row = 0;
                self.passes += 1;
            }
            return Ok(Step::Progress);
        }
        self.step_head(source)
    }

    fn step_head<S: Source, P: Spool>(
        &mut self,
        source: &mut LowRankSource<S, P>,
    ) -> Result<Step, ExactError<S::Error, P::Error>> {
        let Some(head) = &mut self.head else {
            return self.begin_head();
        };
        match head.step(
            &self.job,
            source,
            &mut self.deciding,
            &mut self.decisions[self.ended],
        )? {
            HeadStep::Working => {}
            HeadStep::Passed(gap) => {
                self.passes += 1;
                self.gap = gap;
            }
            HeadStep::Ended(gap) => {
                self.passes += 1;
                self.gap = gap;
                if let Some(head) = self.head.take() {
                    self.spent += head.spent();
                    self.job.most_seconds -= head.spent();
                    self.support.add(head)?;
                }
                self.ended += 1;
            }
        }
        Ok(Step::Progress)
    }

    /// Takes down what the machine decides, and at the beginning the rows' groups.
    fn note(&mut self) -> Result<(), OutOfMemory> {
        let (groups, machines) = (&self.deciding.groups, self.starts.len());
        if self.ended == 0 {
            let before = self.groups.len();
            self.groups.room(groups.len())?.extend_from_slice(groups);
            let offsets = &self.deciding.offsets;
            if offsets.iter().any(|it| *it != 0.0) || !self.offsets.is_empty() {
                let missing = before - self.offsets.len();
                let own = self.offsets.room(missing + offsets.len())?;
                own.resize(before, 0.0);
                own.extend_from_slice(offsets);
            }
        }
        for (head, decisions) in self.decisions.iter_mut().enumerate() {
            let own = self.deciding.values.iter().skip(head);
            let own = own.step_by(machines.max(1)).map(|value| *value as f32);
            decisions.room(groups.len())?.extend(own);
        }
        Ok(())
    }

    /// All heads have ended: of pairs all rows are decided once more.
    fn end_heads(&mut self) -> Result<Step, OutOfMemory> {
        if self.has_decided_all || !self.is_in_pairs() {
            return Ok(Step::Done);
        }
        self.has_decided_all = true;
        self.support
            .put_in_order(&self.groups, &self.starts[0].spec.signs)?;
        self.noted = self.support.machine(self.job.kernel)?;
        let intercepts = self.support.intercepts();
        for (decisions, intercept) in self.decisions.iter_mut().zip(intercepts) {
            match &self.noted {
                Some(_) => decisions.clear(),
                // there are no support vectors
                None => decisions.fill(*intercept as f32),
            }
        }
        Ok(Step::Progress)
    }

    fn begin_head<S, P>(&mut self) -> Result<Step, ExactError<S, P>> {
        if self.ended == self.starts.len() {
            return Ok(self.end_heads()?);
        }
        let start = &mut self.starts[self.ended];
        let duals = std::mem::take(&mut start.duals);
        let width = self.deciding.rows.width();
        let decisions = &self.decisions[self.ended];
        self.head = Some(Head::new(
            &self.job,
            start.spec.clone(),
            duals,
            (decisions, &self.groups, &self.offsets),
            width,
        )?);
        Ok(Step::Progress)
    }

    /// What has been found, once all heads have ended.
    pub fn finish(mut self) -> Result<ExactOutcome, OutOfMemory> {
        for decisions in &mut self.decisions {
            if self.job.bar != 0.0 {
                let bar = self.job.bar as f32;
                decisions.iter_mut().for_each(|it| *it -= bar);
            }
            for (decision, offset) in decisions.iter_mut().zip(&self.offsets) {
                *decision = (f64::from(*decision) - offset) as f32;
            }
        }
        let specs = self.starts.iter().map(|start| &start.spec);
        let targets = self.job.epsilon.map(|it| (&self.offsets[..], it));
        self.support.finish(
            specs,
            &self.decisions,
            (&self.groups, targets),
            (&self.calibrations, &self.class_ranks),
            (
                self.job.kernel,
                self.passes,
                self.began.elapsed().as_secs_f64(),
            ),
        )
    }
}
