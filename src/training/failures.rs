//! Errors of the pure crate's reader and trainer as PostgreSQL's.

use crate::base::errors::{notice, Code, Failure};
use crate::base::settings;
use crate::base::text::duration;
use crate::combinations::kernels;
use crate::features::MOST_LANDMARKS;
use crate::pg::wait::failed_elsewhere;
use crate::planning::job::Job;
use crate::request::words::sql_float;
use crate::training::fit::VERY_MANY_CLASSES;
use pgsvm_core::kernels::KernelError;
use pgsvm_core::plan::Purpose;
use pgsvm_core::{
    Blocks, CacheError, ExactError, InteriorError, LowRankError, PlanError, ProblemError,
    ReadError, TrainError,
};

pub fn other_role_failed() -> ! {
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
        CacheError::TooSmall {
            cache_bytes,
            minimum,
        } => {
            // a training may have several caches, of which each has a quarter of what is set at least
            let parts = match cache_bytes < settings::cache_bytes() as u64 {
                true => 4,
                false => 1,
            };
            failure.hint(format!(
                "SET pgsvm.cache_size = '{}kB'",
                (minimum * parts).div_ceil(1024)
            ))
        }
        CacheError::TooLarge { .. } | CacheError::OutOfMemory { .. } => {
            failure.hint("SET pgsvm.cache_size = '64MB'; rows that do not fit are spooled")
        }
        CacheError::RoleTaken { .. } => failure,
    }
}

/// Why rows cannot be read.
pub fn read_failure(error: ReadError<Failure, Failure>, cache_bytes: usize) -> Failure {
    match error {
        ReadError::Source(failure) | ReadError::Spool(failure) => failure,
        other => without_source(other, cache_bytes),
    }
}

/// The same of rows that are mapped.
pub fn mapped_failure(
    error: ReadError<LowRankError<Failure, Failure>, Failure>,
    cache_bytes: usize,
) -> Failure {
    match error {
        ReadError::Source(LowRankError::Read(error)) => read_failure(error, cache_bytes),
        ReadError::Source(LowRankError::Kernel(error)) => Failure::from(error),
        ReadError::Source(LowRankError::Row(error)) => Failure::from(error),
        ReadError::Spool(failure) => failure,
        other => without_source(other, cache_bytes),
    }
}

/// What has nothing to do with the source.
fn without_source<S>(error: ReadError<S, Failure>, cache_bytes: usize) -> Failure {
    match error {
        ReadError::Row(error) => Failure::from(error),
        ReadError::Blocks { asked, needed } => Failure::new(
            Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!(
                "one of {asked} blocks does not fit the cache of {} kB",
                cache_bytes / 1024
            ),
        )
        .hint(match needed > Blocks::MOST as usize {
            true => "SET pgsvm.cache_size to more".to_owned(),
            false => {
                format!("options => '{{\"blocks\": {needed}}}', or SET pgsvm.cache_size to more")
            }
        }),
        ReadError::TrainerFailed => other_role_failed(),
        _ => Failure::new(
            Code::ERRCODE_DATA_CORRUPTED,
            "rows read from the training's temporary file are not those written to it",
        ),
    }
}

/// Why a kernel machine cannot be solved exactly.
pub fn exact_failure(error: ExactError<Failure, Failure>, cache_bytes: usize) -> Failure {
    match error {
        ExactError::Read(error) => mapped_failure(ReadError::Source(error), cache_bytes),
        ExactError::Room { bytes } => {
            kernels::exact_beyond_cache(cache_bytes / 1024, (3 * bytes).div_ceil(1 << 20))
        }
        ExactError::OutOfMemory(error) => error.into(),
    }
}

/// Why there are no interior points.
pub fn interior_failure(error: InteriorError<Failure, Failure>, cache_bytes: usize) -> Failure {
    match error {
        InteriorError::Read(error) => mapped_failure(ReadError::Source(error), cache_bytes),
        InteriorError::Kernel(error) => Failure::from(error),
        InteriorError::Room { bytes } => {
            kernels::interior_beyond_cache(cache_bytes / 1024, bytes.div_ceil(1 << 20))
        }
        InteriorError::Threads => Failure::new(
            Code::ERRCODE_INSUFFICIENT_RESOURCES,
            "the system starts no more threads",
        )
        .hint("options => '{\"machines\": 1}'"),
        InteriorError::OutOfMemory(error) => error.into(),
    }
}

/// Refuses more landmarks than a stored model may have.
pub fn check_landmarks(landmarks: usize) -> Result<(), Failure> {
    match landmarks <= MOST_LANDMARKS {
        true => Ok(()),
        false => Err(Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("the machine has {landmarks} support vectors, more than {MOST_LANDMARKS}"),
        )
        .hint("options => '{\"method\": \"low_rank\"}'")),
    }
}

/// Why there is no such problem.
pub fn problem_failure(error: ProblemError) -> Failure {
    Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, error.to_string())
}

/// Whether it is these rows that the kernel does not suit, and another gamma may.
pub fn is_of_rows(error: &KernelError) -> bool {
    matches!(
        error,
        KernelError::NotPositive { .. } | KernelError::NotFinite { .. } | KernelError::Zero
    )
}

/// A gamma of a grid that is passed over.
pub fn warn_of_gamma(gamma: Option<f64>, error: KernelError) {
    let failure = Failure::from(error);
    let named = gamma.map_or(String::new(), |gamma| format!(" {}", sql_float(gamma)));
    let message = format!("gamma{named} is passed over: {}", failure.message);
    Failure::new(Code::ERRCODE_WARNING, message).warn();
}

/// Says of a training that takes long for its classes how many there are, once they are known.
pub fn say_many_classes(job: &Job, classes: usize) {
    if classes <= VERY_MANY_CLASSES || job.plan.purpose != Purpose::Train {
        return;
    }
    let label = &job.statement.columns.label.name;
    let message = format!(
        "label column \"{label}\" has {classes} values, and a decision is trained for each"
    );
    Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message)
        .hint("Is it an id, or a number to predict? Neither is a class. SELECT * FROM svm_progress, in another session, says how far the training is")
        .notice();
}

/// About how long a choice takes, known from the first of so many gammas or epsilons, where that is long.
pub fn say_how_long(seconds: f64, (values, name): (usize, &str)) {
    const LONG_SECONDS: f64 = 10.0;
    if seconds < LONG_SECONDS || values < 2 {
        return;
    }
    let (first, all) = (duration(seconds), duration(seconds * values as f64));
    notice(format!(
        "the first of {values} values of {name} took {first}: all take about {all}"
    ));
}

/// Of a grid no gamma will do.
pub fn no_gamma(gammas: &[Option<f64>], error: KernelError) -> Failure {
    let named = gammas.iter().flatten().map(|gamma| sql_float(*gamma));
    let named: Vec<String> = named.collect();
    let failure = Failure::from(error);
    failure.in_detail(&format!("So it is for every gamma: {}.", named.join(", ")))
}

/// A share in percent, to a tenth.
fn percent(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0
}

/// Why rows cannot be trained on.
pub fn train_failure(error: TrainError) -> Failure {
    match error {
        TrainError::Cache(error) => cache_failure(error),
        TrainError::OutOfMemory { bytes } => Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!("out of memory for {bytes} bytes of dual variables and weights"),
        ),
        TrainError::NewtonLoss => {
            Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, error.to_string())
                .hint("loss => 'squared_hinge'")
        }
        TrainError::Problem(error) => problem_failure(error),
        TrainError::Plan(error) => {
            let failure = Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, error.to_string());
            match error {
                PlanError::FoldsFound(_) => failure.hint("fold_column or fold_order names a column of two values or more. Folds that scans draw are drawn by what a row holds: equal rows are in the same one"),
                _ => failure,
            }
        }
        TrainError::NoPlane { nu, least } => Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "rows lie on all sides of the origin: no plane parts all but {} % of them from it",
                percent(nu)
            ),
        )
        .detail(format!("The least that was found is {} %.", percent(least)))
        .hint("kernel => 'rbf' encloses rows wherever they are, with a larger rank more closely; or a larger nu"),
        TrainError::Head { .. }
        | TrainError::Start { .. }
        | TrainError::Sample { .. }
        | TrainError::ReaderFailed => Failure::new(Code::ERRCODE_INTERNAL_ERROR, error.to_string()),
    }
}

/// What should never be: nobody has anything left to do.
pub(super) fn stalled() -> ! {
    Failure::new(
        Code::ERRCODE_INTERNAL_ERROR,
        "reader and trainer wait for each other",
    )
    .raise()
}
