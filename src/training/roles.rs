//! The two loops of a training as PostgreSQL runs them: the pure crate's reader and trainer, fed by
//! the executor and a temporary file. A worker loops one role; the leader takes what has no worker.
//!
//! Every step ends within a few milliseconds; whoever loops a role checks for interrupts between
//! steps and never inside.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::features::Nulls;
use crate::keys::chunks::KeyChunk;
use crate::pg::check_for_interrupts;
use crate::pg::query::Planned;
use crate::pg::signals;
use crate::pg::tempfile::TempFile;
use crate::pg::wait::failed_elsewhere;
use crate::planning::job::{Job, ReaderOutcome, TrainerOutcome};
use crate::reading::helpers::Helpers;
use crate::reading::rows::RowSource;
use crate::training::outcome::Collected;
use crate::warm_start::following::Following;
use pgsvm_core::engine::ThrottledSpool;
use pgsvm_core::leeway::Metric;
use pgsvm_core::memory::gathered;
use pgsvm_core::{
    check_by, Cache, CacheError, Duals, Leeways, NewtonRefused, Problem, ReadError, Reader,
    ReaderJob, Scaling, Spool, Start, Step, TrainError, Trainer, Weights,
};

/// Rows the reader handles in a step.
const READER_STEP_ROWS: usize = 1000;
/// Stored values the trainer visits in a step: about a millisecond.
const TRAINER_STEP_VALUES: usize = 1 << 20;

/// The reader role.
pub struct ReaderRole {
    reader: Reader<RowSource, ThrottledSpool<SpoolFile>>,
    /// Whether weights are for rows that are divided by their length.
    unit_rows: bool,
    cache_bytes: usize,
}

/// The trainer role.
pub struct TrainerRole {
    trainer: Trainer,
    /// Whether a step may start threads.
    threads: bool,
    keep_duals: bool,
}

/// The temporary file of a training, made when the first row does not fit the cache.
struct SpoolFile(Option<TempFile>);

impl Spool for SpoolFile {
    type Error = Failure;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, Failure> {
        let file = self.0.get_or_insert_with(TempFile::create);
        file.append(bytes).map_err(|reason| {
            let hint = match reason.code {
                Code::ERRCODE_DISK_FULL => "Name a tablespace on a disk with room, or let the rows fit: SET temp_tablespaces = '…', or SET pgsvm.cache_size = '1GB'",
                _ => "Raise pgsvm.cache_size or temp_file_limit: SET pgsvm.cache_size = '1GB'",
            };
            Failure::new(reason.code, reason.message)
                .detail("The rows do not fit pgsvm.cache_size and are spooled to a temporary file.")
                .hint(hint)
        })
    }

    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), Failure> {
        self.0
            .as_mut()
            .expect("positions come from append, which creates the file")
            .read(position, bytes);
        Ok(())
    }
}

impl ReaderRole {
    /// Starts the source query, planned in this process. `following`: what the training begins from; `helpers`: who
    /// fetches rows too.
    pub fn start(
        cache: Cache,
        job: &Job,
        planned: &Planned,
        following: Option<Following>,
        helpers: Option<Helpers>,
    ) -> Self {
        let screening = following.as_ref().and_then(|it| it.screening.as_ref());
        let kept = screening.map(|screening| screening.scaling().copied().or_raise());
        let source = RowSource::start(planned, job, following, helpers).or_raise();
        let reader_job = ReaderJob {
            scale: job.scale,
            seed: job.terms.seed,
            policy: job.terms.policy,
            blocks: job.terms.blocks,
            spooling: job.terms.spooling,
            stride: job.plan.stride(),
            balance: job.balance,
            impute: job.nulls == Nulls::Mean,
            unit_rows: job.unit_rows,
        };
        let spool = ThrottledSpool::new(SpoolFile(None), job.spool_rate);
        let mut reader = Reader::new(cache, reader_job, source, spool)
            .map_err(cache_failure)
            .or_raise();
        if let Some(scaling) = kept {
            reader.keep_scaling(scaling);
        }
        Self {
            reader,
            unit_rows: job.unit_rows,
            cache_bytes: job.cache_bytes,
        }
    }

    /// Reads on; raises what goes wrong.
    pub fn step(&mut self) -> Step {
        match self.reader.step(READER_STEP_ROWS) {
            Ok(step) => step,
            Err(ReadError::Source(failure) | ReadError::Spool(failure)) => failure.raise(),
            Err(ReadError::Row(error)) => Failure::from(error).raise(),
            Err(ReadError::Blocks { asked, needed }) => Failure::new(
                Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!(
                    "one of {asked} blocks does not fit the cache of {} kB",
                    self.cache_bytes / 1024
                ),
            )
            .hint(match needed > Problem::MOST_BLOCKS as usize {
                true => "SET pgsvm.cache_size to more".to_owned(),
                false => format!(
                    "options => '{{\"blocks\": {needed}}}', or SET pgsvm.cache_size to more"
                ),
            })
            .raise(),
            Err(ReadError::SpoolCorrupt) => Failure::new(
                Code::ERRCODE_DATA_CORRUPTED,
                "rows read from the training's temporary file are not those written to it",
            )
            .raise(),
            Err(ReadError::TrainerFailed) => other_role_failed(),
        }
    }

    /// What was read; complete once the role is done.
    pub fn outcome(&self) -> ReaderOutcome {
        let source = self.reader.source();
        let report = self.reader.report().or_raise();
        let (features, dropped) = source.features(&report).or_raise();
        let dense = report.dense_features;
        let mut report = report.with_imprecise(source.imprecise().map(|id| dense + u64::from(id)));
        report.features -= dropped.len() as u64;
        for id in &mut report.imprecise {
            *id -= dropped.partition_point(|gone| gone < id) as u64;
        }
        ReaderOutcome {
            features,
            dropped,
            report,
            classes: source.classes().or_raise(),
            fold_values: source.fold_values(),
            rows_skipped: source.rows_skipped(),
            key_chunks: source.key_chunks().len() as u64,
            versions: source.versions().map(|versions| versions.len() as u64),
        }
    }

    /// Keys and digests of the rows.
    pub fn key_chunks(&self) -> &[KeyChunk] {
        self.reader.source().key_chunks()
    }

    /// What versions of rows are known by, where those are wanted.
    pub fn versions(&self) -> &[u64] {
        self.reader.source().versions().unwrap_or_default()
    }

    /// Gives away all that was read; once the role is done.
    pub fn leave(mut self) -> Collected {
        let outcome = self.outcome();
        let source = self.reader.source_mut();
        Collected {
            outcome,
            keys: source.take_key_chunks(),
            versions: source.take_versions(),
            followed: source.following().map(Following::followed),
            screening: source
                .following_mut()
                .and_then(|following| following.screening.take()),
        }
    }

    /// The metrics in which margin slacks are to be measured; none where they are to be learned. Once every row was read.
    pub fn metrics(&self) -> Vec<Metric> {
        let source = self.reader.source();
        let screening = source.following().and_then(|it| it.screening.as_ref());
        screening.map_or_else(Vec::new, |screening| {
            screening.metrics(source.known_classes())
        })
    }

    /// By final head, where it begins; for a training that begins from something, once every row was read.
    pub fn take_starts(&mut self) -> Vec<Start> {
        let report = self.reader.report().or_raise();
        let classes = self.reader.source().classes().or_raise();
        let dropped = self.reader.source().dropped().or_raise();
        let Some(following) = self.reader.source_mut().following_mut() else {
            return Vec::new();
        };
        let features = (report.dense_features as usize, report.features as usize);
        let unscaled = Scaling::none(features.0);
        let scaling = match self.unit_rows {
            true => &unscaled,
            false => &report.scaling,
        };
        following
            .take_starts(report.rows as usize, &classes, scaling, features, &dropped)
            .or_raise()
    }
}

/// What a long step does between rows.
fn answer() {
    signals::deliver();
    check_for_interrupts();
}

impl TrainerRole {
    /// Prepares the trainer; memory is asked for once the size of the problem is known.
    pub fn start(cache: Cache, job: &Job) -> Self {
        let problem = job.problem().map_err(|error| {
            Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, error.to_string())
        });
        let mut trainer = Trainer::new(cache, problem.or_raise(), job.plan.clone())
            .map_err(train_failure)
            .or_raise();
        if job.slacks {
            trainer.measure_leeways(Vec::new());
        }
        Self {
            trainer,
            threads: job.trainers > 1,
            keep_duals: job.terms.keep_duals || job.columns.key.is_some(),
        }
    }

    /// Has margin slacks measured in these metrics, by class, and not in some that are learned; to be called before the first
    /// step behind loading.
    pub fn measure_slacks(&mut self, metrics: Vec<Metric>) {
        self.trainer.measure_leeways(metrics);
    }

    /// The margin slacks of the rows, where those are measured.
    pub fn slacks(&self) -> Option<&Leeways> {
        self.trainer.leeways()
    }

    /// Begins from here; to be called once every row was read.
    pub fn begin_from(&mut self, starts: Vec<Start>) {
        self.trainer.begin_from(starts);
    }

    /// Trains on; raises what goes wrong.
    pub fn step(&mut self) -> Step {
        check_by(answer);
        let result = {
            let _blocked = self.threads.then(signals::Blocked::all);
            self.trainer.step(TRAINER_STEP_VALUES)
        };
        match result {
            Err(TrainError::ReaderFailed) => other_role_failed(),
            step => step.map_err(train_failure).or_raise(),
        }
    }

    /// How the training ended; complete once the role is done.
    pub fn outcome(&self) -> TrainerOutcome {
        let report = self.trainer.report().or_raise();
        let heads = 0..report.heads.len();
        let some = heads.clone().next();
        TrainerOutcome {
            intercepts: gathered(heads.map(|head| self.weights(head).intercept())).or_raise(),
            weights: some.map_or(0, |head| self.weights(head).len() as u64),
            duals: some.map_or(0, |head| self.duals(head).len() as u64),
            report,
            log: self.trainer.log().or_raise(),
            metrics: self.slacks().map(|slacks| slacks.metrics.clone()),
        }
    }

    /// The dual variables of a final head by row, in the order in which the source gave the rows; none
    /// when they are not kept.
    pub fn duals(&self, head: usize) -> Duals<'_> {
        match self.keep_duals {
            true => self.trainer.duals(head),
            false => Duals::default(),
        }
    }

    /// The weights of a final head, for scaled rows.
    pub fn weights(&self, head: usize) -> Weights<'_> {
        self.trainer.weights(head)
    }
}

fn other_role_failed() -> ! {
    failed_elsewhere("the other role of the training failed without an error")
}

/// A cache that cannot be laid out.
pub fn cache_failure(error: CacheError) -> Failure {
    let failure = Failure::new(
        match error {
            CacheError::OutOfMemory { .. } => Code::ERRCODE_OUT_OF_MEMORY,
            CacheError::RoleTaken { .. } => Code::ERRCODE_INTERNAL_ERROR,
            _ => Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        },
        error.to_string(),
    );
    match error {
        CacheError::TooSmall { minimum, .. } => failure.hint(format!(
            "SET pgsvm.cache_size = '{}kB'",
            minimum.div_ceil(1024)
        )),
        CacheError::TooLarge { .. } | CacheError::OutOfMemory { .. } => {
            failure.hint("SET pgsvm.cache_size = '64MB'; rows that do not fit are spooled")
        }
        CacheError::RoleTaken { .. } => failure,
    }
}

fn train_failure(error: TrainError) -> Failure {
    match error {
        TrainError::Cache(error) => cache_failure(error),
        TrainError::OutOfMemory { bytes } => Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!("out of memory for {bytes} bytes of dual variables and weights"),
        ),
        TrainError::Newton(refused) => {
            let hint = match refused {
                NewtonRefused::Loss => "loss => 'squared_hinge'",
                NewtonRefused::Streams => "SET pgsvm.cache_size = '1GB', or solver => 'auto'",
                NewtonRefused::Features(_) => "solver => 'auto'",
            };
            Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, refused.to_string()).hint(hint)
        }
        TrainError::Plan(error) => {
            Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, error.to_string())
        }
        TrainError::Head { .. } | TrainError::Start { .. } | TrainError::ReaderFailed => {
            Failure::new(Code::ERRCODE_INTERNAL_ERROR, error.to_string())
        }
    }
}
