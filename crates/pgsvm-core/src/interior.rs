//! PSVM as published: a parallel incomplete Cholesky factorization of the kernel matrix of all rows, row by row of machines, and
//! a primal-dual interior point on the factor.
//!
//! ```text
//! objective   P(w, b) = 1/2 |w|² + sum of s_i max(0, 1 - y_i (<w, h_i> + b)),   h_i a row of H, K ≈ H H',  s_i = C times the
//!             row's cost; b is not in the norm
//! dual        D(a) = sum of a_i - 1/2 |sum of a_i y_i h_i|²,  0 <= a_i <= s_i,  sum of y_i a_i = 0
//! stop        the surrogate gap and the residuals are within the tolerance, and P - D at a feasible a
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `factoring` | a machine's part of the factorization |
//! | `head`, `sums` | its part of an interior point, and of the matrix that is solved with |
//! | `machine` | both, one after the other, for all heads |
//! | `exchange` | what machines tell each other |
//! | `progress` | how far they are |
//!
//! h_i is L^-1 (k(z_1, x_i), ..., k(z_p, x_i)) with the pivots z and K of them = L L', so what comes out is a machine of low rank
//! with the pivots as landmarks, and predicts as such.
//!
//! Rows are dealt out by turns. A machine holds its n / m rows, as many of H, and twelve numbers a row; of the others it sees what
//! [`exchange`] carries: a pivot's features and its row of H, sums of p numbers, and one of p (p + 1) / 2 a step. Machines are
//! threads of this process. They call nothing but this crate, and look every few milliseconds whether they are to end.
//!
//! Chang, Zhu, Wang, Bai, Li, Qiu, Cui: *Parallelizing Support Vector Machines on Distributed Computers*, NIPS 2007.
//!
//! Knows rows and kernels; nothing of linear solvers, schedules or PostgreSQL.

mod exchange;
mod factoring;
mod head;
mod machine;
mod outcome;
mod progress;
mod sums;
mod threads;

use std::fmt;
use std::time::Instant;

use crate::base::memory::{gathered, OutOfMemory};
use crate::base::step::Step;
use crate::interior::exchange::Halt;
use crate::interior::factoring::{Aim, Share};
use crate::interior::head::{Head, Rules};
use crate::interior::machine::{Left, News, Orders};
use crate::interior::sums::Normal;
use crate::interior::threads::{Machines, Told};
use crate::kernels::{KernelError, LowRank};
use crate::maps::low_rank::{LowRankError, LowRankSource};
use crate::rows::row::Row;
use crate::rows::source::{Source, Spool};
use crate::task::heads::HeadSpec;
use crate::task::problem::Problem;

pub use exchange::MachineTimes;
pub use head::StepState;
pub use outcome::{InteriorOutcome, InteriorStep};
pub use progress::InteriorProgress;

/// Rows that are dealt out in a step.
const DEALT: usize = 4096;

/// How many columns H has at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InteriorRank {
    Given(usize),
    /// n to this power.
    Power(f64),
}

impl InteriorRank {
    /// For so many rows.
    pub fn of(self, rows: usize) -> usize {
        match self {
            Self::Given(rank) => rank,
            Self::Power(power) => ((rows as f64).powf(power).ceil() as usize).clamp(1, rows.max(1)),
        }
    }
}

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InteriorTerms {
    pub machines: usize,
    pub rank: InteriorRank,
    /// The part of the trace below which no more columns are taken.
    pub trace_tolerance: f64,
    /// Whether the dual variables of all rows are wanted.
    pub keep_duals: bool,
    /// For all that machines hold.
    pub memory_bytes: usize,
}

impl InteriorTerms {
    /// Most machines.
    pub const MOST_MACHINES: u32 = 64;
    /// The paper's power of n that says how many columns there are.
    pub const POWER: f64 = 0.5;
    /// Most steps of a head.
    pub const MOST_STEPS: u32 = 500;
}

/// Why it cannot be done.
#[derive(Debug, PartialEq)]
pub enum InteriorError<S, P> {
    /// The rows cannot be read again.
    Read(LowRankError<S, P>),
    Kernel(KernelError),
    /// So many bytes would do for what machines hold.
    Room {
        bytes: usize,
    },
    /// The system has no more threads.
    Threads,
    OutOfMemory(OutOfMemory),
}

impl<S, P> From<OutOfMemory> for InteriorError<S, P> {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl<S: fmt::Display, P: fmt::Display> fmt::Display for InteriorError<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Kernel(error) => error.fmt(f),
            Self::Room { bytes } => write!(f, "machines would hold {bytes} bytes"),
            Self::Threads => write!(f, "no more threads can be started"),
            Self::OutOfMemory(error) => error.fmt(f),
        }
    }
}

/// All heads, on one factor: see the head of this file.
pub struct InteriorSolver {
    terms: InteriorTerms,
    orders: Option<Orders>,
    specs: Vec<HeadSpec>,
    began: Instant,
    stage: Stage,
    steps: Vec<InteriorStep>,
    progress: InteriorProgress,
}

enum Stage {
    /// Rows are dealt out; so many have been.
    Dealing(Vec<Share>, usize),
    Running(Machines),
    Done(Vec<Left>),
}

impl InteriorSolver {
    /// For the rows that `map` was made for, so many, with its kernel.
    pub fn new(
        terms: InteriorTerms,
        map: &LowRank,
        problem: &Problem,
        specs: Vec<HeadSpec>,
        rows: usize,
    ) -> Result<Self, OutOfMemory> {
        let rank = terms.rank.of(rows);
        let width = map.landmarks().rows().width();
        let shares = (0..terms.machines).map(|_| Share::new(width)).collect();
        Ok(Self {
            orders: Some(Orders {
                aim: Aim {
                    kernel: *map.kernel(),
                    rank,
                    tolerance: terms.trace_tolerance,
                },
                rules: Rules {
                    intercept: problem.intercept(),
                    tolerance: problem.tolerance(),
                    max_steps: problem.max_passes().min(InteriorTerms::MOST_STEPS),
                },
                specs: gathered(specs.iter().cloned())?,
                rows,
                keep_duals: terms.keep_duals,
            }),
            terms,
            specs,
            began: Instant::now(),
            stage: Stage::Dealing(shares, 0),
            steps: Vec::new(),
            progress: InteriorProgress::Dealing { rows: 0 },
        })
    }

    /// Works on, or waits for the machines, for some milliseconds. `Done` when all heads have ended. The source must have kept
    /// its rows; they are given up when they have been dealt out.
    pub fn step<S: Source, P: Spool>(
        &mut self,
        source: &mut LowRankSource<S, P>,
    ) -> Result<Step, InteriorError<S::Error, P::Error>> {
        match &mut self.stage {
            Stage::Dealing(shares, dealt) => {
                let turn = |row: Row<'_>| {
                    let machine = *dealt % shares.len();
                    *dealt += 1;
                    shares[machine].take(&row)
                };
                let last = source.go_over(DEALT, turn).map_err(InteriorError::Read)?;
                self.progress = InteriorProgress::Dealing {
                    rows: *dealt as u64,
                };
                self.check_room()?;
                self.make_room()?;
                if last {
                    source.give_up_rows()?;
                    self.start()?;
                }
                Ok(Step::Progress)
            }
            Stage::Running(machines) => match machines.listen() {
                Told::Nothing => Ok(Step::Progress),
                Told::News(news) => {
                    self.note(news)?;
                    Ok(Step::Progress)
                }
                Told::Left(left) => {
                    self.stage = Stage::Done(left);
                    Ok(Step::Done)
                }
                Told::Halted(halt) => Err(halted(halt)),
            },
            Stage::Done(_) => Ok(Step::Done),
        }
    }

    /// Refuses what takes more memory than there is, as soon as the rows dealt out so far tell.
    fn check_room<S, P>(&self) -> Result<(), InteriorError<S, P>> {
        let (Stage::Dealing(shares, dealt), Some(orders)) = (&self.stage, &self.orders) else {
            return Ok(());
        };
        let (rows, rank) = (orders.rows, orders.aim.rank);
        if rank > rows {
            return Err(InteriorError::Kernel(KernelError::Rank { rank, rows }));
        }
        let held: usize = shares
            .iter()
            .map(|share| share.rows.bytes() + 8 * share.len())
            .sum();
        let all = (held as f64 / (*dealt).max(1) as f64 * rows as f64) as usize;
        let factor = rows.saturating_mul(4 * rank + 12) + Head::bytes(rows);
        let matrices = self.terms.machines * Normal::bytes(rank) + LowRank::bytes(rank);
        let bytes = all.saturating_add(factor).saturating_add(matrices);
        match bytes > self.terms.memory_bytes {
            true => Err(InteriorError::Room { bytes }),
            false => Ok(()),
        }
    }

    /// Has machines hold no more than their rows take.
    fn make_room(&mut self) -> Result<(), OutOfMemory> {
        if let (Stage::Dealing(shares, _), Some(orders)) = (&mut self.stage, &self.orders) {
            let machines = shares.len();
            for (machine, share) in shares.iter_mut().enumerate() {
                share.room_for(orders.rows.saturating_sub(machine).div_ceil(machines))?;
            }
        }
        Ok(())
    }

    fn start<S, P>(&mut self) -> Result<(), InteriorError<S, P>> {
        let before = std::mem::replace(&mut self.stage, Stage::Done(Vec::new()));
        if let (Stage::Dealing(shares, _), Some(orders)) = (before, self.orders.take()) {
            self.progress = InteriorProgress::Factoring {
                columns: 0,
                rank: orders.aim.rank,
            };
            let machines = Machines::start(orders, shares);
            self.stage = Stage::Running(machines.map_err(|_| InteriorError::Threads)?);
        }
        Ok(())
    }

    fn note(&mut self, news: News) -> Result<(), OutOfMemory> {
        self.progress.hear(&news, self.specs.len());
        let seconds = self.began.elapsed().as_secs_f64();
        InteriorStep::note(&mut self.steps, news, seconds)
    }

    /// How far it is.
    pub fn progress(&self) -> InteriorProgress {
        self.progress
    }

    /// What has been found, once all heads have ended; None before.
    pub fn finish(self) -> Result<Option<InteriorOutcome>, OutOfMemory> {
        match self.stage {
            Stage::Done(left) => InteriorOutcome::of(left, self.steps, &self.specs),
            Stage::Dealing(..) | Stage::Running(_) => Ok(None),
        }
    }
}

fn halted<S, P>(halt: Halt) -> InteriorError<S, P> {
    match halt {
        Halt::Kernel(error) => InteriorError::Kernel(error),
        Halt::OutOfMemory(error) => InteriorError::OutOfMemory(error),
        Halt::Left => InteriorError::OutOfMemory(OutOfMemory { bytes: 0 }),
    }
}
