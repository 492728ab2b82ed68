//! The statement of a scan, which PostgreSQL plans as any other, for parallel workers where that pays.

use crate::base::errors::{Code, Failure};
use crate::pg::query::Planned;
use crate::pg::select::{connected, Parameter, PreparedSelect};
use crate::planning::job::Job;
use crate::scanning::state::Found;
use core::fmt::Write;
use pgrx::pg_sys;
use pgsvm_core::memory::OutOfMemory;
use std::ffi::CString;

/// Columns that a call has room for, beside what it is told.
const MOST_COLUMNS: usize = 98;

/// A scan over the rows of a job; where it has parts, one over each, all of which are joined.
pub struct Scan {
    text: CString,
}

impl Scan {
    /// Over the rows of the job's SELECT, which has this plan.
    ///
    /// # Errors
    /// Rows that may be others when they are read once more; too many columns.
    pub fn new(job: &Job, planned: &Planned) -> Result<Self, Failure> {
        let solver = job.terms.solver();
        if !planned.repeats {
            return Err(Failure::new(
                Code::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("solver '{solver}' reads its rows again and again, and these may be others each time"),
            )
            .detail("The source calls a volatile function, locks its rows, or changes something.")
            .hint("Store the rows first: CREATE TABLE … AS SELECT …; or take solver => 'stream', which reads them once"));
        }
        let count = planned.columns.len();
        if count > MOST_COLUMNS {
            return Err(Failure::new(
                Code::ERRCODE_TOO_MANY_COLUMNS,
                format!("solver '{solver}' reads {MOST_COLUMNS} columns at most, and here are {count}"),
            )
            .hint("Put numbers into one array column: svm_train_query('SELECT label, ARRAY[x1, x2, …] AS x FROM …', 'label', solver => 'scan', …)"));
        }
        let mut names = String::new();
        for at in 1..=count {
            let comma = if at == 1 { "" } else { ", " };
            let _ = write!(names, "{comma}c{at}");
        }
        let scan = |select: &String| {
            format!(
                "SELECT svm_internal.svm_scan($1, {names}) FROM ({select}\n) AS source ({names})"
            )
        };
        let text = match job.parts.is_empty() {
            true => scan(&job.select),
            false => {
                let all: Vec<_> = job.parts.iter().map(scan).collect();
                let all = all.join(" UNION ALL ");
                format!("SELECT svm_internal.svm_scan_join(part) FROM ({all}) AS parts (part)")
            }
        };
        Ok(Self {
            text: CString::new(text).map_err(|_| OutOfMemory { bytes: 0 })?,
        })
    }

    /// Runs it to its end with the active snapshot; None where there was no row.
    pub fn run(&self, told: &[u8]) -> Result<Option<Found>, Failure> {
        let mut found = Ok(None);
        connected(|| {
            let scan = PreparedSelect::parallel(&self.text, &[pg_sys::BYTEAOID]);
            scan.for_each_at_once(&[Parameter::Bytes(told)], |row| {
                if let Some(bytes) = row.varlena(1) {
                    found = Found::read(bytes.payload());
                }
            });
        });
        Ok(found?)
    }
}
