//! When solver 'auto' takes scans on one server: where they are clearly faster than writing a copy of the rows to a temporary file.

use crate::base::settings;
use crate::pg::query::ParallelHazard;
use crate::planning::prepare::Prepared;
use crate::planning::roles::{estimated_bytes, expected_cache_bytes};
use pgrx::pg_sys;

/// Rows take so many times the cache at least: what fits it is read once. And so many bytes, so that processes are worth their start.
const LEAST_CACHES: f64 = 2.0;
const LEAST_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
/// A scan sums up products of features, which cost more than the rest of a row where there are more than these; and there are so
/// many rows for each at least.
const MOST_FEATURES: f64 = 128.0;
const ROWS_PER_FEATURE: f64 = 1000.0;
/// Bytes of a feature in its row, as narrow arrays have it.
const FEATURE_BYTES: f64 = 4.0;

/// Whether this training, which may be by scans, is expected to be faster by them.
pub fn pays(prepared: &Prepared) -> bool {
    let (job, planned) = (&prepared.job, &prepared.planned);
    let bytes = expected_cache_bytes(planned, &job.features);
    let rows = planned.rows.max(1.0);
    let features = estimated_bytes(planned) / rows / FEATURE_BYTES;
    // SAFETY: a setting, read in the server's main thread.
    let workers =
        unsafe { pg_sys::max_parallel_workers_per_gather.min(pg_sys::max_parallel_workers) };
    // the hinge takes more scans; how many features there will be is known only where all are numbers, and values of categories are
    // learned by the session alone
    job.terms.loss().is_parabola()
        // which takes many times as many scans
        && job.terms.truncation().is_none()
        && job.kernel.is_none()
        && job.features.dense_parts() == job.features.parts.len()
        && planned.runs == ParallelHazard::Anywhere
        && planned.repeats
        && workers > 0
        && bytes > LEAST_CACHES * settings::cache_bytes() as f64
        && bytes > LEAST_BYTES
        && features <= MOST_FEATURES
        && rows >= ROWS_PER_FEATURE * features
}
