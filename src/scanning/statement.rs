//! The statement of a scan, which PostgreSQL plans as any other, for parallel workers where that pays.
//!
//! Three forms, by where the rows are:
//!
//! | rows | statement |
//! |---|---|
//! | here | one aggregate over columns |
//! | in partitions that are foreign tables | one over each, which their servers run, and one that joins what they found |
//! | in tables of Citus, or in more columns than a call has room for | an aggregate over rows, whose state travels as bytes |

use crate::base::errors::Failure;
use crate::base::settings;
use crate::combinations::scans;
use crate::pg::query::Planned;
use crate::pg::select::{connected, Parameter, PreparedSelect};
use crate::pg::subtransaction::attempt;
use crate::pg::{failure_of, is_unreachable, lacks_functions, wait};
use crate::planning::job::Job;
use crate::scanning::rows_state::{Arrived, Gathered};
use crate::scanning::state::{unread, ScanResult};
use crate::scanning::worker;
use core::fmt::Write;
use pgrx::{pg_sys, PgTryBuilder};
use pgsvm_core::memory::OutOfMemory;
use std::cell::Cell;
use std::ffi::CString;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Columns that a call has room for, beside the message.
const MOST_COLUMNS: usize = 98;

/// A scan over the rows of a job; where it has parts, one over each, all of which are joined.
pub struct Scan {
    text: CString,
    form: StatementForm,
    /// Whether servers of postgres_fdw have some of the rows.
    is_foreign: bool,
    sent: Cell<Sent>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StatementForm {
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
        Self::over(&job.statement.parts, job, planned)
    }

    /// The same by one process, which meets the rows in the order of the SELECT; None where that is to be this one, as nobody waits for
    /// a server that fails.
    pub fn in_order(job: &Job, planned: &Planned) -> Result<Option<Self>, Failure> {
        let is_patient =
            planned.is_foreign && !settings::retry_time().is_zero() && worker::may_connect();
        is_patient
            .then(|| Self::over(&[], job, planned))
            .transpose()
    }

    fn over(parts: &[String], job: &Job, planned: &Planned) -> Result<Self, Failure> {
        let count = planned.columns.len();
        let mut names = String::new();
        for at in 1..=count {
            let comma = if at == 1 { "" } else { ", " };
            let _ = write!(names, "{comma}c{at}");
        }
        let form = match planned.spread.is_citus || count > MOST_COLUMNS {
            true => StatementForm::Rows,
            false => StatementForm::Columns,
        };
        let call = match form {
            StatementForm::Columns => format!("svm_internal.svm_scan($1, {names})"),
            StatementForm::Rows => format!("svm_internal.svm_scan_rows($1, ROW({names}))"),
        };
        let scan = |select: &String| format!("SELECT {call} FROM ({select}\n) AS source ({names})");
        let text = match parts.is_empty() || form == StatementForm::Rows {
            true => scan(&job.statement.select),
            false => {
                let all: Vec<_> = parts.iter().map(scan).collect();
                let all = all.join(" UNION ALL ");
                format!("SELECT svm_internal.svm_scan_join(part) FROM ({all}) AS parts (part)")
            }
        };
        Ok(Self {
            text: CString::new(text).map_err(|_| OutOfMemory { bytes: 0 })?,
            form,
            is_foreign: planned.is_foreign,
            sent: Cell::default(),
        })
    }

    /// Runs it to its end with the active snapshot; None where there was no row. Where a server of postgres_fdw is out of reach it is run
    /// again, for as long as the settings say, each time by a worker and so by new connections. Not with Citus, which keeps broken
    /// connections, and those that were at work beside them, until the transaction ends.
    pub fn run(&self, message: &[u8]) -> Result<Option<ScanResult>, Failure> {
        let patience = settings::retry_time();
        if patience.is_zero() || !self.is_foreign || !worker::may_connect() {
            return self.run_once(|| self.scan(message));
        }
        let until = Instant::now() + patience;
        loop {
            match attempt(|| self.run_once(|| self.scan_by_worker(message))) {
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

    /// What errors of other servers mean here.
    fn run_once(
        &self,
        scan: impl FnOnce() -> Result<Option<ScanResult>, Failure>,
    ) -> Result<Option<ScanResult>, Failure> {
        let is_foreign = self.is_foreign;
        PgTryBuilder::new(AssertUnwindSafe(scan))
            .catch_others(|error| match lacks_functions(&error) {
                Some(failure) => failure
                    .detail("A server that has some of the rows was asked for it.")
                    .hint("There: CREATE EXTENSION pgsvm, the same release in the same schema")
                    .raise(),
                None if is_foreign && is_unreachable(&error) => {
                    out_of_reach(failure_of(&error)).raise()
                }
                None => error.rethrow(),
            })
            .execute()
    }

    /// The same as `scan` by a worker, or where the server has none left by this process.
    fn scan_by_worker(&self, message: &[u8]) -> Result<Option<ScanResult>, Failure> {
        let read = |bytes: &[u8]| match bytes.is_empty() {
            true => Ok(None),
            false => self.found(message, bytes),
        };
        match worker::run(&self.text, message, read) {
            Some(found) => found,
            None => self.scan(message),
        }
    }

    fn scan(&self, message: &[u8]) -> Result<Option<ScanResult>, Failure> {
        let mut found = Ok(None);
        connected(|| {
            let types = [pg_sys::BYTEAOID];
            let scan = match self.form {
                StatementForm::Columns => PreparedSelect::parallel(&self.text, &types),
                // Citus sends what is known when it plans
                StatementForm::Rows => PreparedSelect::for_values(&self.text, &types),
            };
            scan.for_each_at_once(&[Parameter::Bytes(message)], |row| {
                if let Some(bytes) = row.varlena(1) {
                    found = self.found(message, bytes.payload());
                }
            });
        });
        found
    }

    /// What its result says.
    fn found(&self, message: &[u8], bytes: &[u8]) -> Result<Option<ScanResult>, Failure> {
        Ok(match self.form {
            StatementForm::Columns => ScanResult::read(bytes).map_err(unread)?,
            StatementForm::Rows => {
                let gathered = Gathered::read(bytes).map_err(unread)?;
                self.count(message, gathered.arrived);
                gathered.found
            }
        })
    }

    fn count(&self, message: &[u8], arrived: Arrived) {
        let mut sent = self.sent.get();
        let copies = arrived.states.saturating_mul(message.len() as u64);
        let bytes = copies.saturating_add(arrived.bytes).saturating_mul(2);
        sent.bytes = sent.bytes.saturating_add(bytes);
        self.sent.set(sent);
    }

    /// Counts the scans that another one has made again as its own.
    pub fn count_again(&self, other: &Self) {
        let mut sent = self.sent.get();
        sent.repeated += other.sent.get().repeated;
        self.sent.set(sent);
    }

    /// What went between servers so far.
    pub fn sent(&self) -> Sent {
        self.sent.get()
    }
}

/// What the failure of a server is to the training.
fn out_of_reach(said: Failure) -> Failure {
    let first = said.message.lines().next().unwrap_or_default();
    let failure = Failure::new(
        said.code,
        format!("a server that has some of the rows is out of reach: {first}"),
    );
    let failure = match said.detail {
        Some(detail) => failure.detail(detail),
        None => failure,
    };
    match settings::retry_time().as_secs() {
        0 => failure.hint("To have each scan wait for it so long: SET pgsvm.retry_seconds = 60"),
        seconds => failure.hint(format!(
            "The scan was tried again for {seconds} s. To have it wait longer: SET pgsvm.retry_seconds = {}",
            2 * seconds
        )),
    }
}

/// Refuses rows that may be others each time.
fn check(job: &Job, planned: &Planned) -> Result<(), Failure> {
    if planned.repeats {
        return Ok(());
    }
    Err(scans::rows_that_change(job.terms.solver_word()))
}
