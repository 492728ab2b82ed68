//! When to look a model up again.
//!
//! An executed statement has call sites of its own, so what it found stays right for as long as it
//! runs. But PL/pgSQL keeps the call sites of simple expressions for a whole transaction. There a
//! call site must notice that its statement is another one (the stamp differs: somebody committed,
//! or the user changed) and that a model was changed, which PostgreSQL's relation cache tells every
//! backend: each change of a model invalidates the primary key of `svm_model` (`svm_model_changed`, below).
//! Invalidating the table itself would have every statement planned anew that reads it, the look-up of a
//! model and half a dozen of a training's own: plans depend on tables, not on their indexes.
//!
//! What belongs to a version is written with it, with one exception: the first copy of logical
//! replication takes table by table. There weights that arrive invalidate the table `svm_weight`
//! (`svm_weight_changed`), and versions read so far are read again.

use crate::base::errors::{Code, Failure};
use crate::pg::statement::Stamp;
use crate::pg::trigger::{self, Fired};
use crate::pg::{c_function, citus, statement};
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use pgrx::pg_sys;
use pgrx::prelude::pg_guard;

// Only this process's main thread touches these; they are atomic to be safe statics.
/// The oids of `svm_model`, its primary key and `svm_weight`.
static MODELS: AtomicU32 = AtomicU32::new(0);
static MODEL_KEY: AtomicU32 = AtomicU32::new(0);
static WEIGHTS: AtomicU32 = AtomicU32::new(0);
/// Invalidations of any of these so far, of `svm_weight`, and of any relation.
static MODEL_CHANGES: AtomicU64 = AtomicU64::new(0);
static WEIGHT_CHANGES: AtomicU64 = AtomicU64::new(0);
static RELATION_CHANGES: AtomicU64 = AtomicU64::new(0);
/// Whether this process is told of every change, and what `RELATION_CHANGES` was when that was found out.
static HEARS_CHANGES: AtomicBool = AtomicBool::new(true);
static LOOKED_AT: AtomicU64 = AtomicU64::new(u64::MAX);
/// Whether this process has warned that it is not.
static WARNED: AtomicBool = AtomicBool::new(false);

/// The name of the primary key of `svm_model`, as PostgreSQL gives it.
pub const MODELS_KEY: &CStr = c"svm_model_pkey";

/// What a call site remembers about its last look-up.
#[derive(Clone, Copy)]
pub struct Freshness {
    stamp: Stamp,
    changes: u64,
    /// Whether the look-up's snapshot is younger than every change counted in `changes`. A first
    /// look-up may use a snapshot from before a change that is already counted.
    settled: bool,
}

impl Freshness {
    /// To be taken just before a look-up; `earlier` is that of the look-up before.
    pub fn now(earlier: Option<Self>) -> Self {
        let stamp = Stamp::now();
        let changes = MODEL_CHANGES.load(Relaxed);
        Self {
            stamp,
            changes,
            settled: HEARS_CHANGES.load(Relaxed)
                && earlier
                    .is_some_and(|earlier| earlier.changes == changes && earlier.stamp != stamp),
        }
    }

    /// Whether it is still the statement of the look-up, and no model has changed. Neither panics nor
    /// raises an error.
    #[inline]
    pub fn holds_now(&self) -> bool {
        Stamp::now() == self.stamp && self.changes == MODEL_CHANGES.load(Relaxed)
    }

    /// Whether what was looked up still holds; may learn that it does in a later statement.
    #[inline]
    pub fn holds(&mut self) -> bool {
        let stamp = Stamp::now();
        if stamp == self.stamp {
            return self.changes == MODEL_CHANGES.load(Relaxed);
        }
        self.holds_since(stamp)
    }

    #[cold]
    fn holds_since(&mut self, stamp: Stamp) -> bool {
        // SAFETY: inside a transaction, as any function call is.
        unsafe { pg_sys::AcceptInvalidationMessages() };
        let holds = self.settled
            && stamp.same_user(&self.stamp)
            && self.changes == MODEL_CHANGES.load(Relaxed);
        if holds {
            self.stamp = stamp;
        }
        holds
    }
}

/// Counts changes of any relation's shape that this process heard of.
#[inline]
pub fn relation_changes() -> u64 {
    RELATION_CHANGES.load(Relaxed)
}

/// Counts the times that weights may have arrived for versions stored before.
pub fn weight_changes() -> u64 {
    WEIGHT_CHANGES.load(Relaxed)
}

/// Watches the table `svm_model`, its primary key and the table `svm_weight`, with these oids, from now on.
pub fn watch(models: pg_sys::Oid, key: pg_sys::Oid, weights: pg_sys::Oid) {
    MODEL_KEY.store(key.to_u32(), Relaxed);
    WEIGHTS.store(weights.to_u32(), Relaxed);
    if MODELS.swap(models.to_u32(), Relaxed) == 0 {
        // SAFETY: done once per process, as this is the only place that leaves zero; the function
        // stays loaded as long as the process lives.
        unsafe {
            pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), pg_sys::Datum::from(0));
        }
    }
}

/// Finds out whether changes of models that replication applies are told: `pg_restore --disable-triggers` leaves triggers
/// that do not fire there, and none fires where Citus changes what its nodes have. Then every statement looks models up again.
pub fn look_at_triggers(schema: pg_sys::Oid) {
    let now = RELATION_CHANGES.load(Relaxed);
    if LOOKED_AT.swap(now, Relaxed) == now {
        return;
    }
    let are_announced = [
        (c"svm_model", c"svm_model_changed"),
        (c"svm_version", c"svm_version_changed"),
        (c"svm_permission", c"svm_permission_changed"),
    ]
    .into_iter()
    .all(|(table, name)| {
        // SAFETY: a catalog look-up.
        let table = unsafe { pg_sys::get_relname_relid(table.as_ptr(), schema) };
        table == pg_sys::InvalidOid || trigger::is_always_enabled(table, name)
    });
    HEARS_CHANGES.store(are_announced && !citus::is_there(), Relaxed);
}

#[pg_guard]
extern "C-unwind" fn relation_changed(_argument: pg_sys::Datum, relation: pg_sys::Oid) {
    RELATION_CHANGES.fetch_add(1, Relaxed);
    let concerns = |table: &AtomicU32| {
        relation == pg_sys::InvalidOid || relation.to_u32() == table.load(Relaxed)
    };
    let weights = concerns(&WEIGHTS);
    if weights {
        WEIGHT_CHANGES.fetch_add(1, Relaxed);
    }
    if weights || concerns(&MODEL_KEY) || concerns(&MODELS) {
        MODEL_CHANGES.fetch_add(1, Relaxed);
    }
}

c_function!(
    svm_model_changed_wrapper,
    pg_finfo_svm_model_changed_wrapper,
    svm_model_changed
);
c_function!(
    svm_weight_changed_wrapper,
    pg_finfo_svm_weight_changed_wrapper,
    svm_weight_changed
);

/// The trigger on `svm_model`, `svm_version` and `svm_permission`: tells every backend, this one
/// included, at the end of the command here and of the transaction elsewhere.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn svm_model_changed(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        if let Some(fired) = Fired::of(fcinfo) {
            warn_where_replication_is_silent(&fired);
        }
        invalidate(fcinfo, [MODELS_KEY, c"svm_model"])
    }
}

/// The trigger on `svm_weight` and `svm_head` where replication applies changes.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn svm_weight_changed(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe { invalidate(fcinfo, [c"svm_weight"; 2]) }
}

/// Invalidates the first of these relations that is in the schema whose table the trigger is on.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn invalidate(fcinfo: pg_sys::FunctionCallInfo, names: [&CStr; 2]) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the rest is a catalog look-up, and an invalidation of what it finds.
    unsafe {
        if let Some(fired) = Fired::of(fcinfo) {
            let oids = names.map(|name| pg_sys::get_relname_relid(name.as_ptr(), fired.schema()));
            let found = oids.into_iter().find(|oid| *oid != pg_sys::InvalidOid);
            if let Some(relation) = found {
                pg_sys::CacheInvalidateRelcacheByRelid(relation);
            }
        }
    }
    pg_sys::Datum::from(0)
}

/// Says once a session what `pg_restore --disable-triggers` has left.
fn warn_where_replication_is_silent(fired: &Fired) {
    if fired.is_always_enabled() || WARNED.swap(true, Relaxed) {
        return;
    }
    let schema = statement::quoted_schema(fired.schema()).unwrap_or_default();
    Failure::new(
        Code::ERRCODE_WARNING,
        format!(
            "trigger \"{}\" does not fire any more where replication applies changes of models",
            fired.name()
        ),
    )
    .detail("pg_restore --disable-triggers leaves it so.")
    .hint(format!("As a superuser: SELECT {schema}.svm_repair()"))
    .warn();
}
