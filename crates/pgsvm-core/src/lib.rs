//! Support vector machines by dual coordinate descent over cached rows.
//!
//! This crate knows nothing of PostgreSQL. It holds two roles, each a state machine that is called
//! again and again with a small budget and never waits by itself:
//!
//! - [`Reader`] takes examples from a [`Source`], encodes them, learns the scaling and hands them
//!   over, pass after pass, re-reading its own [`Spool`] when the rows do not fit the cache;
//! - [`Trainer`] visits the rows, keeps the dual variables and the weights, and decides when to stop.
//!
//! They meet only in a [`Cache`], a region of position-independent memory that two processes, two
//! threads or one thread taking turns may share. [`engine`] runs both roles inside one process.
//!
//! What is minimized, with y the sign of a row in a head and c its cost:
//!
//! primal  P(w) = 1/2 |w|^2 + C sum c L(y <w, x>),  L(m) = max(0, 1 - m) or its square
//! dual    D(a) = sum a - 1/2 |sum a y x|^2 - 1/2 sum diag a^2,  0 <= a <= C c  (hinge, diag = 0)
//!                                                  0 <= a  (squared hinge, diag = 1 / (2 C c))
//!
//! | module | holds |
//! |---|---|
//! | [`problem`] | what is to be minimized and how: checked parameters |
//! | [`plan`] | which heads are to be trained: classes, folds, values of C |
//! | [`source`] | examples, where they come from, where they are spilled |
//! | [`evaluation`] | how good decisions are; probabilities from them |
//! | [`scaling`] | learned centre and factor of each feature, and how they fold into weights |
//! | [`cache`] | the shared region: control block, who may touch what, the ring |
//! | [`reader`], [`Trainer`] | the two roles |
//! | [`maps`] | kernel machines of low rank: a source that maps another one's rows |
//! | [`engine`] | both roles in one process, for tests, benchmarks and small tables |

pub mod engine;
mod training;

pub(crate) use pgsvm_base as base;
pub use pgsvm_delivery::{cache, maps, reader, scaling};
pub(crate) use pgsvm_methods::{exact, interior, scanning, screening, solver};
pub(crate) use pgsvm_objective as objective;
pub(crate) use pgsvm_rows as rows;
pub(crate) use pgsvm_simd as simd;

pub use base::interrupts::check_by;
pub use base::memory::{self, OutOfMemory};
pub use base::message::{self, MessageError};
pub use base::step::{Awake, Step};
pub use pgsvm_kernels as kernels;

pub use cache::{Cache, CacheError, CacheLayout, Phase, Statistics};
pub use exact::{ExactError, ExactJob, ExactOutcome, ExactProgress, ExactSolver, ExactStart};
pub use interior::{
    clear_slots, work_in_slots, Crew, CrewState, FactorSpool, Halt, InteriorError, InteriorOutcome,
    InteriorProgress, InteriorSolver, InteriorStep, InteriorTerms, MachineLeft, MachineNews,
    MachineThreads, MachineTimes, Orders, Share, Slots, SlotsLayout, StepState, Waits,
};
pub use maps::low_rank::proof::{LowRankProof, ProvedHead, StoredHead};
pub use maps::low_rank::scanned::{MapView, ReceivedMap, ScannedRows};
pub use maps::low_rank::search::{MapSearch, SampledMap};
pub use maps::low_rank::{
    LandmarkChoice, LowRankError, LowRankJob, LowRankProgress, LowRankSource,
};
pub use objective::calibration::{
    Calibration, CalibrationChoice, CalibrationLosses, CalibrationRows, Calibrations, Score,
};
pub use objective::conformal::ConformalResiduals;
pub use objective::evaluation::{self, Sigmoid};
pub use objective::heads::{HeadSpec, HeldOut, Signs, Start};
pub use objective::isotonic::Isotonic;
pub use objective::loss::{Loss, NO_LOSS_FROM};
pub use objective::minimized::Intercept;
pub use objective::outside::Outside;
pub use objective::pairs::{Pairs, PairsRoom};
pub use objective::plan::{self, Folds, Goal, Plan, PlanError, Purpose};
pub use objective::problem::{
    self, Compression, Formulation, Parameters, Problem, ProblemError, Proximal, StopRule,
    Stopping, Timing,
};
pub use objective::quantiles;
pub use objective::report::{
    outlying, relative_gap, Certificate, Doubt, Fit, HeadReport, Residuals, Stage, StopReason,
    TrainerReport, Truncation, Validation,
};
pub use objective::scoring::Scoring;
pub use objective::solver_choice::{
    Blocks, Cuts, ForestShape, Indexed, Inner, InteriorChoice, InteriorRank, Machines, Order,
    Picks, Policy, SolverChoice, SolverError, Updates,
};
pub use reader::{
    are_codes, Alone, Balance, Beyond, Expanding, Packing, ReadError, Reader, ReaderJob,
    ReaderReport, Renamed, RowForm, RowMaker, Survey, Surveyed, TellingColumn,
};
pub use rows::compact::{CompactForm, PartForm, StringForm, MOST_PARTS};
pub use rows::row::Row as PackedRow;
pub use rows::source::{self, Example, RowError, Source, Spool};
pub use scaling::{Scale, Scaling, Spread, TargetJob, TargetScale, TargetSums};
pub use scanning::{ScanPass, ScanSums};
pub use screening::measuring::Leeways;
pub use screening::slack as leeway;
pub use solver::scanned::DualsByRow;
pub use solver::weights::{Duals, Weights};
pub use training::by_scans::{
    Chosen, Holding, PartOrder, PartRefusal, PartRows, PartsFound, SampleSearch, ScanProgress,
    ScanTrainer,
};
pub use training::error::TrainError;
pub use training::log::{Event, LogEntry, Snapshot};
pub use training::Trainer;
