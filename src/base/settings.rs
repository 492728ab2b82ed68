//! The settings `pgsvm.*`. Those of a training are read by the leader only: workers get what they need
//! with their job. PostgreSQL gives parallel workers the settings of the session they work for.

use super::errors::{Code, Failure};
use core::ffi::{c_int, c_void, CStr};
use core::ops::RangeInclusive;
use core::time::Duration;
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum};
use pgrx::pg_sys;
use pgsvm_core::{CacheLayout, InteriorTerms, Problem};
use std::fmt::Display;

static CACHE_SIZE_KB: GucSetting<i32> = GucSetting::<i32>::new(-1);
static WORKERS: GucSetting<i32> = GucSetting::<i32>::new(2);
static HELPERS: GucSetting<i32> = GucSetting::<i32>::new(2);
static TRAINERS: GucSetting<i32> = GucSetting::<i32>::new(1);
static MACHINES: GucSetting<i32> = GucSetting::<i32>::new(0);
static MIN_PARALLEL_SIZE_KB: GucSetting<i32> = GucSetting::<i32>::new(-1);
static SPOOL_RATE_MB: GucSetting<i32> = GucSetting::<i32>::new(0);
static MAX_FEATURES: GucSetting<i32> = GucSetting::<i32>::new(1 << 25);
static MAX_MEMORY_KB: GucSetting<i32> = GucSetting::<i32>::new(8 << 20);
static MAX_WORKERS: GucSetting<i32> = GucSetting::<i32>::new(16);
static MAX_TRAINERS: GucSetting<i32> = GucSetting::<i32>::new(16);
static RETRY_SECONDS: GucSetting<i32> = GucSetting::<i32>::new(0);
static KEEP_VERSIONS: GucSetting<i32> = GucSetting::<i32>::new(0);
static PREDICT_NULLS: GucSetting<PredictNulls> =
    GucSetting::<PredictNulls>::new(PredictNulls::Null);

/// What a prediction makes of a row with a NULL, of a model that has no rule for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PostgresGucEnum)]
pub enum PredictNulls {
    #[name = c"null"]
    Null,
    #[name = c"error"]
    Error,
}

const MOST_HELPERS: i32 = 16;
const CACHE_SIZES: &CStr =
    c"A cache has 16 kB to 32 GB; -1 has it as large as maintenance_work_mem.";

/// Registers the settings; called once from `_PG_init`. Names with this prefix that are none of them are errors from then on.
pub fn register() {
    register_sizes();
    register_processes();
    register_ceilings();
    register_servers();
    register_versions();
    // SAFETY: called while the library is being loaded; the name lives as long as the process.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"pgsvm".as_ptr()) };
}

fn register_sizes() {
    // SAFETY: the hook is of that type.
    unsafe {
        GucRegistry::define_int_guc_with_hooks(
            c"pgsvm.cache_size",
            c"Memory that a training may use to cache rows.",
            c"-1 uses maintenance_work_mem. Dual variables (8 bytes a row) and weights come on top.",
            &CACHE_SIZE_KB,
            -1,
            i32::MAX,
            GucContext::Userset,
            GucFlags::UNIT_KB,
            Some(check_cache_size),
            None,
            None,
        );
    }
    define_number(
        c"pgsvm.min_parallel_size",
        c"Estimated size of the source below which a training starts no workers.",
        c"-1 starts none for rows that are expected to fit the cache, 0 always starts them.",
        &MIN_PARALLEL_SIZE_KB,
        -1..=i32::MAX,
        (GucContext::Userset, GucFlags::UNIT_KB),
    );
    define_number(
        c"pgsvm.spool_rate",
        c"Bytes a second at which a training writes and reads its temporary file at most.",
        c"0 sets no limit. For measurements: a temporary file lies in the system's cache, this makes it as slow as a disk.",
        &SPOOL_RATE_MB,
        0..=1 << 20,
        (GucContext::Suset, GucFlags::UNIT_MB),
    );
}

fn register_processes() {
    define_number(
        c"pgsvm.workers",
        c"Worker processes that a training may start: 2 = reader and trainer, 1, or 0.",
        c"Roles without a worker are played by the backend that called svm_train.",
        &WORKERS,
        0..=2,
        (GucContext::Userset, GucFlags::default()),
    );
    define_number(
        c"pgsvm.helpers",
        c"Worker processes that fetch rows for the reader of a training, at most.",
        c"They are started where the source is one large table, unless pgsvm.workers is 0. What is learned does not depend on them.",
        &HELPERS,
        0..=MOST_HELPERS,
        (GucContext::Userset, GucFlags::default()),
    );
    define_number(
        c"pgsvm.trainers",
        c"Threads that train at the same time, in the process that plays the trainer.",
        c"They share the classes, folds and values of C that are trained, or else the rows. Threads are no worker processes, and no limit on those holds for them.",
        &TRAINERS,
        1..=Problem::MAX_TRAINERS as i32,
        (GucContext::Userset, GucFlags::default()),
    );
    define_number(
        c"pgsvm.machines",
        c"Machines of solver 'interior_point' that are processes, the calling one among them.",
        c"0 makes them threads. Where the server has fewer workers left, they are fewer.",
        &MACHINES,
        0..=InteriorTerms::MOST_MACHINES as i32,
        (GucContext::Userset, GucFlags::default()),
    );
}

/// What a training may take at most, whatever its caller has set.
fn register_ceilings() {
    define_number(
        c"pgsvm.max_features",
        c"Features that a training may have at most.",
        c"An index of a sparse row makes as many as it is large.",
        &MAX_FEATURES,
        1..=i32::MAX,
        (GucContext::Suset, GucFlags::default()),
    );
    define_number(
        c"pgsvm.max_memory",
        c"Memory that a training may take at most for its cache, dual variables and weights.",
        c"A training that would take more is an error.",
        &MAX_MEMORY_KB,
        1024..=i32::MAX,
        (GucContext::Suset, GucFlags::UNIT_KB),
    );
    define_number(
        c"pgsvm.max_workers",
        c"Worker processes that a training may start at most.",
        c"pgsvm.workers and pgsvm.helpers together, and pgsvm.machines, may not come to more.",
        &MAX_WORKERS,
        0..=128,
        (GucContext::Suset, GucFlags::default()),
    );
    define_number(
        c"pgsvm.max_trainers",
        c"Threads that a training may have at most.",
        c"pgsvm.trainers may not be more.",
        &MAX_TRAINERS,
        1..=Problem::MAX_TRAINERS as i32,
        (GucContext::Suset, GucFlags::default()),
    );
}

fn register_servers() {
    define_number(
        c"pgsvm.retry_seconds",
        c"How long a training by scans tries again where a server of postgres_fdw fails.",
        c"0 makes it an error at once. Citus leaves a transaction no other try.",
        &RETRY_SECONDS,
        0..=i32::MAX / 1000,
        (GucContext::Userset, GucFlags::UNIT_S),
    );
}

fn register_versions() {
    define_number(
        c"pgsvm.keep_versions",
        c"Versions of a model that a training leaves, itself among them.",
        c"0 leaves all. Older ones are removed, but never the deployed one.",
        &KEEP_VERSIONS,
        0..=i32::MAX,
        (GucContext::Userset, GucFlags::default()),
    );
    GucRegistry::define_enum_guc(
        c"pgsvm.predict_nulls",
        c"What a prediction is for a row with a NULL, of a model trained with nulls => 'error'.",
        c"\"null\" predicts NULL, \"error\" ends the statement. Other models have a rule of their own.",
        &PREDICT_NULLS,
        GucContext::Userset,
        GucFlags::default(),
    );
}

/// Defines a number: `Userset` everybody may set for their session, `Suset` only superusers and whom they grant that.
fn define_number(
    name: &'static CStr,
    meaning: &'static CStr,
    details: &'static CStr,
    setting: &'static GucSetting<i32>,
    range: RangeInclusive<i32>,
    (context, flags): (GucContext, GucFlags),
) {
    let (least, most) = range.into_inner();
    GucRegistry::define_int_guc(name, meaning, details, setting, least, most, context, flags);
}

/// Whether a cache may have this size, in kB.
///
/// # Safety
/// PostgreSQL calls it with a new value.
unsafe extern "C-unwind" fn check_cache_size(
    kb: *mut c_int,
    _: *mut *mut c_void,
    _: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: as the caller promises; PostgreSQL reads the text and does not free it.
    unsafe {
        let kb = *kb;
        let fits = kb == -1 || CacheLayout::for_bytes(kb as usize * 1024).is_ok();
        if !fits {
            pg_sys::GUC_check_errdetail_string = CACHE_SIZES.as_ptr().cast_mut();
        }
        fits
    }
}

/// How long a scan is tried again where another server fails.
pub fn retry_time() -> Duration {
    Duration::from_secs(RETRY_SECONDS.get() as u64)
}

/// How many versions of a model a training leaves; None for all.
pub fn keep_versions() -> Option<i32> {
    Some(KEEP_VERSIONS.get()).filter(|keep| *keep > 0)
}

/// What a prediction is for a row with a NULL, where the model has no rule.
pub fn predict_nulls() -> PredictNulls {
    PREDICT_NULLS.get()
}

/// Bytes of the row cache.
pub fn cache_bytes() -> usize {
    let kb = match CACHE_SIZE_KB.get() {
        // SAFETY: a plain integer of this backend, changed only between statements.
        -1 => unsafe { pg_sys::maintenance_work_mem },
        kb => kb,
    };
    kb as usize * 1024
}

/// How many workers a training may start, 0 to 2.
pub fn workers() -> i32 {
    WORKERS.get()
}

/// How many helpers a training may start.
pub fn helpers() -> usize {
    match workers() {
        0 => 0,
        _ => HELPERS.get() as usize,
    }
}

/// How many threads train, 1 or more.
pub fn trainers() -> usize {
    TRAINERS.get() as usize
}

/// How many machines of solver 'interior_point' are processes; 0: they are threads.
pub fn machines() -> usize {
    MACHINES.get() as usize
}

/// Features that a training may have at most.
pub fn max_features() -> usize {
    MAX_FEATURES.get().unsigned_abs() as usize
}

/// Bytes that cache, dual variables and weights of a training may come to at most.
pub fn max_memory_bytes() -> usize {
    MAX_MEMORY_KB.get().unsigned_abs() as usize * 1024
}

/// Refuses a training with more than superusers let it have, by what the caller has set.
pub fn check_ceilings() -> Result<(), Failure> {
    check_cache()?;
    let most = MAX_WORKERS.get();
    let (workers, machines, trainers) = (WORKERS.get(), MACHINES.get(), TRAINERS.get());
    let fetching = workers + helpers() as i32;
    if fetching > most {
        let fewer = most.min(workers);
        return Err(above(
            &format!("pgsvm.workers and pgsvm.helpers come to {fetching}"),
            ("pgsvm.max_workers", &most),
            &format!(
                "SET pgsvm.workers = {fewer}; SET pgsvm.helpers = {}",
                most - fewer
            ),
        ));
    }
    // the calling process is one of them
    if machines - 1 > most {
        return Err(above(
            &format!(
                "pgsvm.machines = {machines} starts {} workers",
                machines - 1
            ),
            ("pgsvm.max_workers", &most),
            &format!("SET pgsvm.machines = {}", most + 1),
        ));
    }
    let most = MAX_TRAINERS.get();
    match trainers > most {
        true => Err(above(
            &format!("pgsvm.trainers is {trainers}"),
            ("pgsvm.max_trainers", &most),
            &format!("SET pgsvm.trainers = {most}"),
        )),
        false => Ok(()),
    }
}

/// Three quarters of so many kB: whole GB or MB where they are as many.
fn below(kb: i32) -> i32 {
    let part = kb - kb / 4;
    match part {
        0x0010_0000.. => part >> 20 << 20,
        0x0400.. => part >> 10 << 10,
        _ => part,
    }
}

/// Refuses a cache that is larger than a training may be.
fn check_cache() -> Result<(), Failure> {
    let (kb, most) = ((cache_bytes() / 1024) as i32, MAX_MEMORY_KB.get());
    if kb <= most {
        return Ok(());
    }
    let set = match CACHE_SIZE_KB.get() {
        -1 => "maintenance_work_mem",
        _ => "pgsvm.cache_size",
    };
    // weights and dual variables come on top
    let cache = in_units(below(most));
    Err(above(
        &format!("{set} is {}", in_units(kb)),
        ("pgsvm.max_memory", &in_units(most)),
        &format!("SET pgsvm.cache_size = '{cache}'"),
    ))
}

/// Bytes a second of the spool at most; infinite without a limit.
pub fn spool_rate() -> f64 {
    match SPOOL_RATE_MB.get() {
        0 => f64::INFINITY,
        mb => f64::from(mb) * 1048576.0,
    }
}

/// Estimated source bytes from which on workers are worth their start; None leaves it to whether the
/// rows fit the cache.
pub fn min_parallel_bytes() -> Option<f64> {
    match MIN_PARALLEL_SIZE_KB.get() {
        -1 => None,
        kb => Some(f64::from(kb) * 1024.0),
    }
}

/// What is set is above a ceiling; `set` is what to type.
fn above(what: &str, (ceiling, most): (&str, &dyn Display), set: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        format!("{what}, and {ceiling} allows {most}"),
    )
    .hint(format!("{set}; a superuser may raise {ceiling}"))
}

/// A number of kB as a setting shows it.
fn in_units(kb: i32) -> String {
    match kb {
        _ if kb % (1 << 20) == 0 => format!("{}GB", kb >> 20),
        _ if kb % (1 << 10) == 0 => format!("{}MB", kb >> 10),
        _ => format!("{kb}kB"),
    }
}
