//! Counts that a schedule keeps.

/// Counters beside those of the solver.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tallies {
    pub(crate) passes: u32,
    pub(crate) rows_into_pass: u64,
    pub(crate) working_set_rows: u64,
    pub(crate) evictions: u64,
    pub(crate) replaced: u64,
}
