//! Which processes a training gets, by what PostgreSQL's planner expects of its rows.

use crate::base::settings;
use crate::features::FeatureSet;
use crate::pg::packed_rows::Shape;
use crate::pg::query::{Column, ParallelHazard, Planned};
use crate::pg::types::{type_kind, NumberKind, TypeKind};
use crate::planning::job::Role;
use crate::planning::pieces::Cut;
use pgrx::pg_sys;
use pgsvm_core::{CacheLayout, Timing};
use std::iter::repeat_n;

/// Bytes of the tables, out-of-line values included, from which on helpers are worth their start.
const LEAST_BYTES: f64 = 16.0 * 1024.0 * 1024.0;

/// Which roles get workers: by worker number, helpers last. None where rows will fit the cache, since then reading
/// and training follow each other, and memory of one process costs less than shared memory: it is
/// taken as rows come. Where the expectation was too low, rows stream through that one process.
pub fn assign(planned: &Planned, features: &FeatureSet) -> Vec<Role> {
    let worth_it = match settings::min_parallel_bytes() {
        Some(least) => estimated_bytes(planned) >= least,
        None => expected_cache_bytes(planned, features) > settings::cache_bytes() as f64,
    };
    let workers = if worth_it { settings::workers() } else { 0 };
    let mut roles = match (planned.runs, workers) {
        (ParallelHazard::Alone, _) | (_, 0) => Vec::new(),
        (ParallelHazard::InLeader, _) => vec![Role::Trainer],
        (ParallelHazard::Anywhere, 1) => vec![Role::Reader],
        (ParallelHazard::Anywhere, _) => vec![Role::Reader, Role::Trainer],
    };
    roles.extend(repeat_n(Role::Helper, helpers(planned)));
    roles
}

/// The schedule of cached visits for a training whose workers are to play `roles`.
pub fn timing(roles: &[Role]) -> Timing {
    match roles.contains(&Role::Reader) && roles.contains(&Role::Trainer) {
        true => Timing::Timed,
        false => Timing::Lockstep,
    }
}

/// Bytes the source may come to: what the planner expects, or what the relations it scans take on
/// disk, whichever is larger (wide arrays live out of line, where the planner does not look).
pub(super) fn estimated_bytes(planned: &Planned) -> f64 {
    (planned.rows * planned.width_bytes).max(planned.relation_bytes)
}

/// Bytes of cache that the rows may take: what the source may come to, but for plain columns and
/// categories what they take when packed, whatever else the relations hold.
pub fn expected_cache_bytes(planned: &Planned, features: &FeatureSet) -> f64 {
    let numbers = features
        .parts
        .iter()
        .try_fold(0, |sum, part| match part.is_dense() {
            _ if !part.is_one_value() => None,
            true => Some(sum + 1),
            // the feature's number and its value
            false => Some(sum + 2),
        });
    match numbers {
        Some(numbers) => planned.rows * CacheLayout::dense_row_bytes(numbers) as f64,
        None => estimated_bytes(planned),
    }
}

/// How many helpers to start for the rows of a query.
fn helpers(planned: &Planned) -> usize {
    let possible = planned.runs == ParallelHazard::Anywhere
        && Cut::of(planned).is_some()
        && Shape::of(planned).is_some();
    let worth_it = match settings::min_parallel_bytes() {
        Some(least) => planned.relation_bytes >= least,
        None => planned.relation_bytes >= LEAST_BYTES && is_dear(planned),
    };
    match possible && worth_it {
        true => settings::helpers(),
        false => 0,
    }
}

/// Whether fetching a row costs more than handing it over. Numbers and arrays that lie in their row as they are do not.
fn is_dear(planned: &Planned) -> bool {
    let pages = planned.tables.iter().flatten();
    let pages: f64 = pages.map(|table| f64::from(table.pages)).sum();
    let in_line = pages * f64::from(pg_sys::BLCKSZ);
    let is_cheap = |column: &Column| match type_kind(column.type_oid) {
        TypeKind::Number(number) => number != NumberKind::Numeric,
        TypeKind::Array(_) | TypeKind::Vector(_) => true,
        _ => false,
    };
    !planned.is_plain
        || planned.relation_bytes > 2.0 * in_line
        || !planned.columns.iter().all(is_cheap)
}
