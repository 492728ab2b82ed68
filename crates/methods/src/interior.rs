//! PSVM as published: a parallel incomplete Cholesky factorization of the kernel matrix of all rows, row by row of machines, and
//! a primal-dual interior point on the factor.
//!
//! ```text
//! objective   P(w, b) = 1/2 |w|² + sum of s_i L(y_i (<w, h_i> + b)),   h_i a row of H, K ≈ H H',  s_i = C times the row's cost; b is not
//!             in the norm, unless it is to be: then it is the weight of one more column of H, all 1, and y'a may be any; of a truncated loss sum of s_i min(L, 1 + s), in rounds
//! dual        D(a) = sum of p a_i - 1/2 d_i a_i² - 1/2 |sum of a_i y_i h_i|²,  0 <= a_i <= u_i,  sum of y_i a_i = 0; of the hinge p = 1,
//!             d = 0, u_i = s_i
//! stop        the surrogate gap and the residuals are within the tolerance, and P - D at a feasible a
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `factoring` | a machine's part of the factorization |
//! | `values` | its rows of H, in memory or in a spool |
//! | `head`, `sums` | its part of an interior point, and of the matrix that is solved with |
//! | `machine` | both, one after the other, for all heads |
//! | `exchange` | what machines tell each other |
//! | `crew`, `threads`, `slots` | who they are: threads with channels, processes with memory that all see |
//! | `progress` | how far they are |
//!
//! h_i is L^-1 (k(z_1, x_i), ..., k(z_p, x_i)) with the pivots z and K of them = L L', so what comes out is a machine of low rank
//! with the pivots as landmarks, and predicts as such.
//!
//! Rows are dealt out by turns. A machine holds its n / m rows, as many of H, and twelve numbers a row; of the others it sees what
//! [`exchange`] carries: a pivot's features and its row of H, sums of p numbers, and one of p (p + 1) / 2 a step. Machines are
//! threads of this process, which call nothing but this crate, or processes that share memory ([`Crew`]); either look every few
//! milliseconds whether they are to end.
//!
//! Chang, Zhu, Wang, Bai, Li, Qiu, Cui: *Parallelizing Support Vector Machines on Distributed Computers*, NIPS 2007.
//!
//! Knows rows and kernels; nothing of linear solvers, schedules or PostgreSQL.

mod crew;
mod exchange;
mod factoring;
mod head;
mod machine;
mod outcome;
mod progress;
mod slots;
mod sums;
mod threads;
mod values;

use std::fmt;
use std::time::Instant;

use crate::base::memory::{gathered, OutOfMemory};
use crate::base::step::Step;
use crate::interior::factoring::Aim;
use crate::interior::head::{Head, Rules};
use crate::interior::machine::Left;
use crate::interior::sums::Normal;
use crate::interior::values::Values;
use crate::kernels::{Expansion, Kernel, KernelError, LowRank};
use crate::maps::low_rank::{LowRankError, LowRankSource};
use crate::objective::heads::HeadSpec;
use crate::objective::minimized::Intercept;
use crate::objective::problem::Problem;
use crate::objective::solver_choice::InteriorRank;
use crate::rows::row::Row;
use crate::rows::source::{Source, Spool};

pub use crew::{Crew, CrewState};
pub use exchange::{Halt, MachineTimes};
pub use factoring::Share;
pub use head::StepState;
pub use machine::{Left as MachineLeft, News as MachineNews, Orders};
pub use outcome::{InteriorOutcome, InteriorStep};
pub use progress::InteriorProgress;
pub use slots::{clear_slots, work_in_slots, Slots, SlotsLayout, Waits};
pub use threads::Threads as MachineThreads;
pub use values::FactorSpool;

/// Rows that are dealt out in a step.
const DEALT: usize = 4096;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InteriorTerms {
    /// Where machines are threads.
    pub machines: usize,
    pub rank: InteriorRank,
    /// The part of the trace below which no more columns are taken.
    pub trace_tolerance: f64,
    /// Whether the intercept is in the norm, which PSVM's is not.
    pub in_norm: bool,
    /// Whether the dual variables of all rows are wanted.
    pub keep_duals: bool,
    /// Whether weights on the way are.
    pub keep_weights: bool,
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

    /// Of the linear kernel so many features at most have a column each by default.
    pub const LINEAR: usize = 256;

    /// How many columns the factor has at most, over so many rows for which this map was made. More than there are features a linear kernel has not,
    /// and with fewer it would be another problem.
    fn rank_over(&self, map: &LowRank, rows: usize) -> usize {
        let rank = self.rank.of(rows);
        let width = map.landmarks().rows().width();
        match *map.kernel() == Kernel::Linear && self.rank == InteriorRank::Power(Self::POWER) {
            true => rank.max(width.min(Self::LINEAR).min(rows)),
            false => rank,
        }
    }

    /// Whether so many rows for which this map was made, the factor and all else are expected to fit the memory.
    pub fn fits(&self, map: &LowRank, rows: usize) -> bool {
        let width = map.landmarks().rows().width();
        let held = rows.saturating_mul(4 * width + 20);
        let rank = self.rank_over(map, rows);
        bytes(rows, rank, self.machines, false).saturating_add(held) <= self.memory_bytes
    }
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

impl<S, P> From<Halt> for InteriorError<S, P> {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Kernel(error) => Self::Kernel(error),
            Halt::OutOfMemory(error) => Self::OutOfMemory(error),
            Halt::NoMachine => Self::Threads,
            Halt::Left => Self::OutOfMemory(OutOfMemory { bytes: 0 }),
        }
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
pub struct InteriorSolver<C: Crew> {
    terms: InteriorTerms,
    crew: C,
    rank: usize,
    rows: usize,
    spooled: bool,
    specs: Vec<HeadSpec>,
    began: Instant,
    stage: Stage,
    steps: Vec<InteriorStep>,
    progress: InteriorProgress,
    /// Where labels are numbers, by how much a score may be off without a loss.
    epsilon: Option<f64>,
}

enum Stage {
    /// Rows are dealt out; so many have been.
    Dealing(usize),
    Running,
    /// And seconds that it took.
    Done(Vec<Left>, f64),
}

impl<C: Crew> InteriorSolver<C> {
    /// For the rows that `map` was made for, so many, with its kernel, by these machines. `first`: a machine for such rows of as many
    /// heads, near which they begin.
    pub fn new(
        terms: InteriorTerms,
        map: &LowRank,
        problem: &Problem,
        specs: Vec<HeadSpec>,
        (rows, first): (usize, Option<Expansion>),
        crew: C,
    ) -> Result<Self, Halt> {
        let width = map.landmarks().rows().width();
        let rank = terms.rank_over(map, rows);
        let mut crew = crew;
        let spooled = crew.can_spool() && !terms.fits(map, rows);
        crew.begin(
            Orders {
                aim: Aim {
                    kernel: *map.kernel(),
                    rank,
                    tolerance: terms.trace_tolerance,
                },
                rules: Rules {
                    loss: problem.loss(),
                    truncation: problem.truncation(),
                    intercept: match problem.intercept() {
                        true if terms.in_norm => Intercept::InNorm,
                        true => Intercept::Free,
                        false => Intercept::None,
                    },
                    tolerance: problem.tolerance(),
                    max_steps: problem.max_passes().min(InteriorTerms::MOST_STEPS),
                },
                specs: gathered(specs.iter().cloned())?,
                rows,
                keep_duals: terms.keep_duals,
                keep_weights: terms.keep_weights,
                spooled,
                first: first.filter(|it| it.width() == width),
            },
            width,
        )?;
        Ok(Self {
            terms,
            crew,
            rank,
            rows,
            spooled,
            specs,
            began: Instant::now(),
            stage: Stage::Dealing(0),
            steps: Vec::new(),
            progress: InteriorProgress::Dealing { rows: 0 },
            epsilon: None,
        })
    }

    /// Works on, or waits for the machines, for some milliseconds. `Done` when all heads have ended. The source must have kept
    /// its rows.
    pub fn step<S: Source, P: Spool>(
        &mut self,
        source: &mut LowRankSource<S, P>,
    ) -> Result<Step, InteriorError<S::Error, P::Error>> {
        match &mut self.stage {
            Stage::Dealing(dealt) => {
                let crew = &mut self.crew;
                let turn = |row: Row<'_>| {
                    let machine = *dealt % crew.machines();
                    *dealt += 1;
                    crew.take(machine, &row)
                };
                let last = source.go_over(DEALT, turn).map_err(InteriorError::Read)?;
                self.progress = InteriorProgress::Dealing {
                    rows: *dealt as u64,
                };
                self.check_room()?;
                self.crew.expect_rows()?;
                if last {
                    self.crew.start()?;
                    self.stage = Stage::Running;
                    self.progress = InteriorProgress::factoring(self.rank);
                }
                Ok(Step::Progress)
            }
            Stage::Running => match self.listen()? {
                CrewState::Working => Ok(Step::Progress),
                CrewState::Left(left) => {
                    self.stage = Stage::Done(left, self.began.elapsed().as_secs_f64());
                    Ok(Step::Done)
                }
                CrewState::Halted(halt) => Err(halt.into()),
            },
            Stage::Done(..) => Ok(Step::Done),
        }
    }

    /// Refuses what takes more memory than there is, as soon as the rows dealt out so far tell.
    fn check_room<S, P>(&self) -> Result<(), InteriorError<S, P>> {
        let Stage::Dealing(dealt) = &self.stage else {
            return Ok(());
        };
        let (rows, rank) = (self.rows, self.rank);
        if rank > rows {
            return Err(InteriorError::Kernel(KernelError::Rank { rank, rows }));
        }
        let held = self.crew.bytes() as f64 / (*dealt).max(1) as f64;
        let all = (held * rows as f64) as usize;
        let needs = bytes(rows, rank, self.crew.machines(), self.spooled);
        let bytes = all.saturating_add(needs);
        match bytes > self.terms.memory_bytes {
            true => Err(InteriorError::Room { bytes }),
            false => Ok(()),
        }
    }

    fn listen(&mut self) -> Result<CrewState, OutOfMemory> {
        let heads = self.specs.len();
        let (began, steps, progress) = (self.began, &mut self.steps, &mut self.progress);
        let mut noted = Ok(());
        let told = self.crew.listen(&mut |news| {
            progress.hear(&news, heads);
            let seconds = began.elapsed().as_secs_f64();
            if noted.is_ok() {
                noted = InteriorStep::note(steps, news, seconds);
            }
        });
        noted.map(|()| told)
    }

    /// The same where labels are numbers, and a score may be off by so much without a loss.
    pub fn of_targets(mut self, epsilon: Option<f64>) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// How far it is.
    pub fn progress(&self) -> InteriorProgress {
        self.progress
    }

    /// What has been found, once all heads have ended; None before.
    pub fn finish(self) -> Result<Option<InteriorOutcome>, OutOfMemory> {
        match self.stage {
            Stage::Done(left, seconds) => {
                InteriorOutcome::of(left, (self.steps, seconds), (&self.specs, self.epsilon))
            }
            Stage::Dealing(_) | Stage::Running => Ok(None),
        }
    }
}

/// Bytes that machines take beside their rows.
fn bytes(rows: usize, rank: usize, machines: usize, spooled: bool) -> usize {
    let factor = match spooled {
        true => machines * Values::spooled_bytes(rows.div_ceil(machines), rank),
        false => rows.saturating_mul(4 * rank),
    };
    let vectors = 12 * rows + Head::bytes(rows);
    let matrices = machines * Normal::bytes(rank) + LowRank::bytes(rank);
    factor.saturating_add(vectors).saturating_add(matrices)
}
