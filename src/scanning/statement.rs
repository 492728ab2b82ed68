//! The statement of a scan, which PostgreSQL plans as any other, for parallel workers where that pays.
//!
//! Three forms, by where the rows are:
//!
//! | rows | statement |
//! |---|---|
//! | here | one aggregate over columns |
//! | in partitions that are foreign tables | one over each, which their servers run, and one that joins what they found |
//! | in tables of Citus, or in more columns than a call has room for | an aggregate over rows, whose state travels as bytes |

use crate::base::errors::{Code, Failure};
use crate::base::settings;
use crate::pg::query::Planned;
use crate::pg::select::{connected, Parameter, PreparedSelect};
use crate::pg::subtransaction::attempt;
use crate::pg::{is_unreachable, lacks_functions, wait};
use crate::planning::job::Job;
use crate::scanning::rows_state::{Arrived, Gathered};
use crate::scanning::state::{unread, Found};
use core::fmt::Write;
use pgrx::{pg_sys, PgTryBuilder};
use pgsvm_core::memory::OutOfMemory;
use std::cell::Cell;
use std::ffi::CString;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Columns that a call has room for, beside what it is told.
const MOST_COLUMNS: usize = 98;

/// A scan over the rows of a job; where it has parts, one over each, all of which are joined.
pub struct Scan {
    text: CString,
    form: Form,
    is_citus: bool,
    sent: Cell<Sent>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Columns,
    Rows,
}

/// What went between servers, as far as this one tells, as text and so with two bytes for one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sent {
    pub bytes: u64,
    /// Scans that were made again.
    pub repeated: u32,
}

impl Scan {
    /// Over the rows of the job's SELECT, which has this plan.
    ///
    /// # Errors
    /// Rows that may be others when they are read once more.
    pub fn new(job: &Job, planned: &Planned) -> Result<Self, Failure> {
        check(job, planned)?;
        let count = planned.columns.len();
        let mut names = String::new();
        for at in 1..=count {
            let comma = if at == 1 { "" } else { ", " };
            let _ = write!(names, "{comma}c{at}");
        }
        let form = match planned.spread.is_citus || count > MOST_COLUMNS {
            true => Form::Rows,
            false => Form::Columns,
        };
        let call = match form {
            Form::Columns => format!("svm_internal.svm_scan($1, {names})"),
            Form::Rows => format!("svm_internal.svm_scan_rows($1, ROW({names}))"),
        };
        let scan = |select: &String| format!("SELECT {call} FROM ({select}\n) AS source ({names})");
        let text = match job.parts.is_empty() || form == Form::Rows {
            true => scan(&job.select),
            false => {
                let all: Vec<_> = job.parts.iter().map(scan).collect();
                let all = all.join(" UNION ALL ");
                format!("SELECT svm_internal.svm_scan_join(part) FROM ({all}) AS parts (part)")
            }
        };
        Ok(Self {
            text: CString::new(text).map_err(|_| OutOfMemory { bytes: 0 })?,
            form,
            is_citus: planned.spread.is_citus,
            sent: Cell::default(),
        })
    }

    /// Runs it to its end with the active snapshot; None where there was no row. Where a server is out of reach it is run again, for
    /// as long as the settings say. Not with Citus, which keeps broken connections, and those that were at work beside them, until
    /// the transaction ends.
    pub fn run(&self, told: &[u8]) -> Result<Option<Found>, Failure> {
        let patience = settings::retry_time();
        if patience.is_zero() || self.is_citus {
            return self.run_once(told);
        }
        let until = Instant::now() + patience;
        loop {
            match attempt(|| self.run_once(told)) {
                Ok(found) => return found,
                Err(error) if is_unreachable(&error) && Instant::now() < until => {
                    let mut sent = self.sent.get();
                    sent.repeated += 1;
                    self.sent.set(sent);
                    wait::a_moment();
                }
                Err(error) => error.rethrow(),
            }
        }
    }

    fn run_once(&self, told: &[u8]) -> Result<Option<Found>, Failure> {
        PgTryBuilder::new(AssertUnwindSafe(|| self.scan(told)))
            .catch_others(|error| match lacks_functions(&error) {
                Some(failure) => failure
                    .detail("A server that has some of the rows was asked for it.")
                    .hint("There: CREATE EXTENSION pgsvm, the same release in the same schema")
                    .raise(),
                None => error.rethrow(),
            })
            .execute()
    }

    fn scan(&self, told: &[u8]) -> Result<Option<Found>, Failure> {
        let mut found = Ok(None);
        connected(|| {
            let types = [pg_sys::BYTEAOID];
            let scan = match self.form {
                Form::Columns => PreparedSelect::parallel(&self.text, &types),
                // Citus sends what is known when it plans
                Form::Rows => PreparedSelect::for_values(&self.text, &types),
            };
            scan.for_each_at_once(&[Parameter::Bytes(told)], |row| {
                if let Some(bytes) = row.varlena(1) {
                    found = match self.form {
                        Form::Columns => Found::read(bytes.payload()),
                        Form::Rows => Gathered::read(bytes.payload()).map(|gathered| {
                            self.count(told, gathered.arrived);
                            gathered.found
                        }),
                    };
                }
            });
        });
        found.map_err(unread)
    }

    fn count(&self, told: &[u8], arrived: Arrived) {
        let mut sent = self.sent.get();
        let told = arrived.states.saturating_mul(told.len() as u64);
        let bytes = told.saturating_add(arrived.bytes).saturating_mul(2);
        sent.bytes = sent.bytes.saturating_add(bytes);
        self.sent.set(sent);
    }

    /// What went between servers so far.
    pub fn sent(&self) -> Sent {
        self.sent.get()
    }
}

/// Refuses rows that may be others each time.
fn check(job: &Job, planned: &Planned) -> Result<(), Failure> {
    if planned.repeats {
        return Ok(());
    }
    let solver = job.terms.solver();
    Err(Failure::new(
        Code::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("solver '{solver}' reads its rows again and again, and these may be others each time"),
    )
    .detail("The source calls a volatile function, locks its rows, or changes something.")
    .hint("Store the rows first: CREATE TABLE … AS SELECT …; or take solver => 'stream', which reads them once"))
}
