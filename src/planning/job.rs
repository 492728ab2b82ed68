//! The messages between the leader and its workers: the job, and what the roles leave behind. Plain values, encoded for processes of one
//! and the same library, and stored nowhere.

use crate::base::settings;
use crate::features::{FeatureSet, Nulls};
use crate::index::stored::StoredIndex;
use crate::planning::bad_rows::BadRows;
use crate::planning::columns::Columns;
use crate::planning::pieces::Cut;
use crate::request::kernel::KernelTerms;
use crate::request::{ClassWeight, RowTerms, SolvingTerms};
use crate::targets::labels::LabelValue;
use pgrx::pg_sys;
use pgsvm_core::leeway::Metric;
use pgsvm_core::memory::{list, received, text};
use pgsvm_core::plan::{Plan, Purpose};
use pgsvm_core::{
    Balance, Certificate, InteriorTerms, LogEntry, LowRankJob, Machines, Problem, ProblemError,
    ReaderReport, Scale, SolverChoice, TargetScale, Timing, TrainerReport,
};
use pgsvm_expand::KeptWords;
use serde::{Deserialize, Deserializer, Serialize};
use std::cell::RefCell;
use std::rc::Rc;

/// One of the two loops of a training, or helping the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    Reader,
    Trainer,
    /// Fetches rows for the reader.
    Helper,
}

/// One training, complete.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub statement: Statement,
    /// How feature columns become features.
    #[serde(with = "sent")]
    pub features: FeatureSet,
    /// By part of them, the words of texts, from the pass that has learned them to the first that reads, in the process that did.
    #[serde(skip)]
    pub kept: RefCell<Vec<(usize, KeptWords)>>,
    pub rows: RowTerms,
    /// Columns that somebody left out: hints name them too.
    #[serde(deserialize_with = "received")]
    pub excluded: Vec<String>,
    pub scale: Scale,
    pub terms: SolvingTerms,
    pub plan: Plan,
    /// Where rows come by scans, the plan by which C and sigmoids are found beforehand on a sample of them, by the process that trains.
    #[serde(skip)]
    pub chooses: Option<Plan>,
    /// The kernel machine that is asked for; the process that reads makes it, and that is the leader.
    #[serde(skip)]
    pub kernel: Option<KernelTerms>,
    pub looks: Looks,
    /// The relation on whose rows weights on the way are tested.
    #[serde(skip)]
    pub watch: Option<pg_sys::Oid>,
    /// The index from which numbers come of the rows that it knows; only the process that has it reads.
    #[serde(skip)]
    pub index: Option<Rc<StoredIndex>>,
    pub class_weight: ClassWeight,
    pub timing: Timing,
    /// The role of each worker, by worker number.
    #[serde(deserialize_with = "list")]
    pub roles: Vec<Role>,
    pub resources: Resources,
}

/// The SELECT of a training.
#[derive(Debug, Serialize, Deserialize)]
pub struct Statement {
    /// That yields the rows.
    #[serde(deserialize_with = "text")]
    pub select: String,
    /// Whether its rows are those of a table, or of its partitions.
    pub in_table: bool,
    /// The same of its partitions, one by one, where servers of theirs are to sum up what is theirs.
    #[serde(deserialize_with = "received")]
    pub parts: Vec<String>,
    /// What they hold.
    pub columns: Columns,
    /// What helpers share among them and the reader; none where there are no helpers.
    pub cut: Option<Cut>,
    /// Rows that the planner expects.
    pub expected_rows: u64,
}

/// What is looked for on the way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Looks {
    /// Each row's margin slack, so that trainings that continue this one can screen rows.
    pub slacks: bool,
    /// Where rows are held out, the margin below which they are doubted, and reported; None where that is not wanted.
    #[serde(skip)]
    pub doubts: Option<f64>,
    /// How a kernel machine compares with the linear one on a sample of the rows.
    pub compares: bool,
    /// Features that may tell the classes apart alone, or the number to predict, or only count rows.
    pub telltales: bool,
}

/// What a training may take, as settings say.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Resources {
    /// Threads that train.
    pub trainers: usize,
    /// Machines of solver 'interior_point' that are processes; 0: they are threads.
    pub machines: usize,
    pub cache_bytes: usize,
    /// Bytes a second of the spool at most.
    pub spool_rate: f64,
}

impl Resources {
    pub fn set() -> Self {
        Self {
            trainers: settings::trainers(),
            machines: settings::machines(),
            cache_bytes: settings::cache_bytes(),
            spool_rate: settings::spool_rate(),
        }
    }
}

/// What the reader role leaves behind.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReaderOutcome {
    pub report: ReaderReport,
    /// By class id.
    #[serde(deserialize_with = "list")]
    pub classes: Vec<LabelValue>,
    /// Values of the fold column by fold; none without such a column.
    #[serde(deserialize_with = "received")]
    pub fold_values: Vec<String>,
    /// The feature set with everything learned (array lengths).
    #[serde(with = "sent")]
    pub features: FeatureSet,
    /// Dense features that were read and are none of these, ascending: columns of one value.
    #[serde(deserialize_with = "list")]
    pub dropped: Vec<u64>,
    /// Rows left out for a NULL or a weight of 0.
    pub rows_skipped: u64,
    /// Rows left out as they have no label.
    pub rows_unlabelled: u64,
    pub bad_rows: BadRows,
    pub telltales: Telltales,
    /// Chunks of keys, which follow.
    pub key_chunks: u64,
    /// Versions of rows, which follow behind; None where no slack is measured.
    pub versions: Option<u64>,
}

impl ReaderOutcome {
    /// Rows of the source that were not trained on, for whichever reason.
    pub fn rows_left_out(&self) -> u64 {
        self.rows_skipped + self.rows_unlabelled + self.bad_rows.count
    }
}

/// Features that may be no honest ones, by name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Telltales {
    /// Those that tell the classes apart alone, or the number to predict, and how well.
    #[serde(deserialize_with = "received")]
    pub telling: Vec<(String, f64)>,
    /// Whole numbers that rise from row to row.
    #[serde(deserialize_with = "received")]
    pub counting: Vec<String>,
    /// Columns of whole numbers that are codes rather than amounts.
    #[serde(deserialize_with = "received")]
    pub codes: Vec<String>,
    /// Columns of whole numbers, nearly all different, that do not rise and are called as keys are.
    #[serde(deserialize_with = "received")]
    pub keys: Vec<String>,
    /// Columns of categories, nearly all different.
    #[serde(deserialize_with = "received")]
    pub distinct: Vec<String>,
    /// Columns that are NULL in all rows.
    #[serde(deserialize_with = "received")]
    pub empty: Vec<String>,
}

/// What the trainer role leaves behind, but for weights and dual variables, which follow in pieces.
#[derive(Debug, Serialize, Deserialize)]
pub struct TrainerOutcome {
    pub report: TrainerReport,
    /// What happened when.
    #[serde(deserialize_with = "list")]
    pub log: Vec<LogEntry>,
    /// Weights of the constant feature, for scaled rows, by final head.
    #[serde(deserialize_with = "list")]
    pub intercepts: Vec<f64>,
    /// Number of weights of each head; they follow head by head, each with its dual variables behind.
    pub weights: u64,
    /// Number of dual variables of each head: one for each row, or none when they are not kept.
    pub duals: u64,
    /// The metrics of margin slacks, by class, which follow behind all heads, one for each row; None where none are measured.
    #[serde(deserialize_with = "received")]
    pub metrics: Option<Vec<Metric>>,
}

/// Multiplications of mapping that landmarks may take where rows are held out, for each gamma: a tenth of a second. And how many
/// they are at most, as every fold, class and C trains on rows of so many numbers.
const CHOOSING_WORK: f64 = 2e9;
const MOST_CHOOSING: usize = 600;

impl Job {
    /// What a NULL counts as, once the rows have shown which parts have some.
    pub fn settled_nulls(&self, features: &FeatureSet) -> Nulls {
        match self.rows.nulls_by_rows && !features.has_nulls() {
            true => Nulls::Error,
            false => self.rows.nulls,
        }
    }

    /// Of the cache what the trainer's rows may take. Of a kernel machine those are the rows that its map makes; the rest is
    /// for what they are made of.
    pub fn trainer_cache_bytes(&self) -> usize {
        match self.kernel {
            Some(_) => self.resources.cache_bytes / 2,
            None => self.resources.cache_bytes,
        }
    }

    /// What the exact method may take for the rows that it works on and their kernel values: with less than this least pairs of some
    /// hundred rows go on and on where C is large, which all of them at once end.
    pub fn exact_bytes(&self) -> usize {
        const LEAST: usize = 1 << 20;
        (self.resources.cache_bytes / 2).max(LEAST)
    }

    /// What interior points are to be like, where they solve the kernel machine.
    pub fn interior_terms(&self) -> Option<InteriorTerms> {
        match *self.terms.solver() {
            SolverChoice::InteriorPoint(asked) => Some(InteriorTerms {
                machines: match (asked.machines, self.resources.machines) {
                    (Machines::Count(machines), _) => machines,
                    (Machines::Usual | Machines::Scans, 0) => self.resources.trainers,
                    (Machines::Usual | Machines::Scans, machines) => machines,
                },
                rank: asked.rank,
                trace_tolerance: asked.trace_tolerance,
                in_norm: asked.in_norm,
                // what is reported is proved by them
                keep_duals: true,
                keep_weights: self.watch.is_some(),
                memory_bytes: self.resources.cache_bytes,
            }),
            _ => None,
        }
    }

    /// Whether the machine of low rank, which comes first, only says which heads there are: interior points solve them, and
    /// nothing is chosen on rows held out.
    pub fn only_begins(&self) -> bool {
        self.interior_terms().is_some() && !self.holds_out()
    }

    /// Whether C, gamma or something else is chosen on rows held out.
    fn holds_out(&self) -> bool {
        self.plan.holds_out() || self.kernel.as_ref().is_some_and(KernelTerms::is_grid)
    }

    /// A map of a kernel machine, with the memory that it may take.
    pub fn asked(&self, map: &LowRankJob) -> LowRankJob {
        let map = match self.holds_out() {
            // what is chosen is chosen by machines that can follow the kernel
            true => LowRankJob {
                work: CHOOSING_WORK,
                most: MOST_CHOOSING,
                ..*map
            },
            false => *map,
        };
        let asked = LowRankJob {
            memory_bytes: self.source_cache_bytes(),
            ..map
        };
        match self.only_begins() {
            // one landmark does
            true => LowRankJob {
                rank: Some(1),
                ..asked
            },
            false => asked,
        }
    }

    /// Of a kernel machine what the rows of the source may take until they are mapped, and what choosing landmarks may.
    pub fn source_cache_bytes(&self) -> usize {
        self.resources.cache_bytes / 4
    }

    /// The plan by which gammas are compared, each on rows that its own map makes.
    pub fn comparing(&self) -> Plan {
        Plan {
            purpose: Purpose::Validate,
            ..self.plan.clone()
        }
    }

    /// The plan of the final machine where gammas were compared, and this C chosen.
    pub fn at_cost(&self, c: f64) -> Plan {
        Plan {
            costs: vec![c],
            beyond: 0,
            final_stop: None,
            ..self.plan.clone()
        }
    }

    /// What the reader is to balance.
    pub fn balance(&self) -> Balance {
        self.class_weight.balance(self.plan.pairs_up_to)
    }

    /// Number of roles that workers are to play, helpers aside.
    pub fn workers(&self) -> usize {
        let plays = |role: &&Role| **role != Role::Helper;
        self.roles.iter().filter(plays).count()
    }

    /// The C of a training of one; the first of several.
    pub fn cost(&self) -> f64 {
        self.plan.costs.first().copied().unwrap_or(1.0)
    }

    /// What the primal of a training over so many rows is at most where all weights are 0: of targets with a deviation of 1 no more than
    /// C for each, in parts of delta. Infinite where nobody knows.
    pub fn most_at_zero(&self, targets: Option<TargetScale>, rows: u64) -> f64 {
        let standardizes = self.terms.targets.is_some_and(|it| it.standardizes);
        match targets {
            Some(targets) if standardizes => self.cost() * rows as f64 / targets.of_objective(),
            _ => f64::INFINITY,
        }
    }

    /// C times the rows of a training.
    pub fn weight(&self, report: &TrainerReport) -> f64 {
        report.c.unwrap_or(self.cost()) * report.rows as f64
    }

    /// Whether a head with this C times rows has arrived with this certificate.
    pub fn arrives_with(&self, certificate: &Certificate, weight: f64) -> bool {
        let stopping = self.terms.stopping();
        !certificate.misses(stopping.rule, stopping.tolerance, weight)
    }

    /// The problem for the pure solver.
    pub fn problem(&self) -> Result<Problem, ProblemError> {
        let passes = match self.only_begins() {
            true => 1,
            false => self.terms.stopping().most_passes(),
        };
        self.problem_within(passes)
    }

    /// The same with so many passes, or steps of an interior point.
    pub fn problem_within(&self, passes: u32) -> Result<Problem, ProblemError> {
        let mut parameters = self.terms.parameters;
        parameters.stopping.max_passes = Some(passes);
        let problem = Problem::of(parameters, self.cost())?.with_timing(self.timing);
        problem.with_trainers(self.resources.trainers)
    }
}

/// A feature set on its way between processes: in the form in which models store it, as it has fields that are left out and
/// parts that are told apart by a field, which a format without names does not know.
pub mod sent {
    use super::{text, Deserializer, FeatureSet};
    use serde::{de, ser, Serialize, Serializer};

    pub fn serialize<S: Serializer>(features: &FeatureSet, to: S) -> Result<S::Ok, S::Error> {
        let json = features.to_json().map_err(ser::Error::custom)?;
        json.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FeatureSet, D::Error> {
        let features = FeatureSet::from_json(&text(from)?).map_err(de::Error::custom)?;
        features.ok_or_else(|| de::Error::custom("no feature set"))
    }
}
