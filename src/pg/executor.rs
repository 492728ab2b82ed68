//! Runs a planned SELECT a piece at a time and pushes its rows to a Rust function, without copying
//! them: PostgreSQL's executor with a receiver of our own. Rights, row-level security, views and
//! partitions are the executor's.

pub use super::deform::DeformedRow;
use super::deform::{heap_tuple, RowColumns};
use super::long_errors::cut_off;
use super::origin::{DerivedOrigin, KnownColumns, Origins};
use super::pages::PageScans;
use super::{check_for_interrupts, compat, query::Planned, table_scans, whole_rows};
use crate::base::errors::Failure;
use core::ffi::c_int;
use core::ops::Range;
use pgrx::pg_sys;
use pgrx::prelude::pg_guard;

/// What to do after a row.
pub enum Continue {
    Yes,
    No,
}

/// Rows between two looks for interrupts.
const ROWS_A_STEP: u64 = 100;

type Visit<'a> = dyn FnMut(&DeformedRow<'_>) -> Continue + 'a;

/// A started query. Not finishing it leaves the clean-up to the transaction's abort.
pub struct RunningQuery {
    desc: *mut pg_sys::QueryDesc,
    receiver: Box<RowReceiver>,
    row_context: pg_sys::MemoryContext,
    /// Where it is restricted to pages of its tables.
    scans: Option<PageScans>,
    /// Whether there is nothing to be run.
    empty: bool,
}

/// PostgreSQL's receiver with our state behind it; PostgreSQL sees the first field only.
#[repr(C)]
struct RowReceiver {
    head: pg_sys::DestReceiver,
    visit: Option<*mut Visit<'static>>,
    row_context: pg_sys::MemoryContext,
    columns: RowColumns,
    origins: Origins,
    rows: u64,
    closed: bool,
}

impl RowReceiver {
    fn new(row_context: pg_sys::MemoryContext, origins: Origins) -> Self {
        Self {
            head: pg_sys::DestReceiver {
                receiveSlot: Some(receive_slot),
                rStartup: Some(startup),
                rShutdown: Some(shutdown),
                rDestroy: Some(shutdown),
                mydest: pg_sys::CommandDest::DestNone,
            },
            visit: None,
            row_context,
            columns: RowColumns::default(),
            origins,
            rows: 0,
            closed: false,
        }
    }

    /// The branches of the statement now that it is started, and where the wanted columns stand in those that yield whole
    /// rows.
    ///
    /// # Safety
    /// The query outlives `self`.
    unsafe fn expect(
        &mut self,
        states: &[Option<*mut pg_sys::PlanState>],
        places: Vec<Option<Vec<usize>>>,
    ) {
        // SAFETY: as the caller promises; only scans of tables yield whole rows.
        unsafe {
            for (state, places) in states.iter().zip(places) {
                if let (Some(state), Some(places)) = (state, places) {
                    let scan = state.cast::<pg_sys::ScanState>();
                    self.columns.expect((*scan).ss_ScanTupleSlot, places);
                }
            }
            self.origins.expect(states);
        }
    }
}

/// A query that pushes its rows to the receiver.
///
/// # Safety
/// Plan, text and snapshot are PostgreSQL's; all of it and the receiver stay in place while the query lives.
unsafe fn described(
    plan: *mut pg_sys::PlannedStmt,
    text: *const core::ffi::c_char,
    snapshot: pg_sys::Snapshot,
    receiver: &mut RowReceiver,
) -> *mut pg_sys::QueryDesc {
    let (crosscheck, receiver) = (core::ptr::null_mut(), &mut receiver.head);
    let (parameters, environment) = (core::ptr::null_mut(), core::ptr::null_mut());
    // SAFETY: as the caller promises.
    unsafe {
        pg_sys::CreateQueryDesc(
            plan,
            text,
            snapshot,
            crosscheck,
            receiver,
            parameters,
            environment,
            0,
        )
    }
}

/// Detoasted values may pile up to this many bytes before the row context is reset.
const ROW_CONTEXT_BYTES: usize = 256 * 1024;

/// Where a row lies.
#[derive(Debug, Clone, Copy)]
pub struct RowPlace {
    pub table: pg_sys::Oid,
    block: u32,
    number: u16,
}

impl RowPlace {
    /// As PostgreSQL writes a ctid.
    pub fn ctid(&self) -> String {
        format!("({},{})", self.block, self.number)
    }
}

impl RunningQuery {
    /// Starts a copy of the plan with the active snapshot, as what is changed in it is for one run; checks the caller's
    /// rights.
    pub fn start(planned: &Planned) -> Self {
        Self::start_knowing(planned, KnownColumns::default())
    }

    /// The same, for rows that are to be known by where they come from.
    pub fn start_knowing(planned: &Planned, known: KnownColumns) -> Self {
        // SAFETY: plain allocation and executor start inside a transaction with an active
        // snapshot; the receiver is boxed, so its address stays.
        unsafe {
            let row_context = row_context();
            let snapshot = pg_sys::GetActiveSnapshot();
            let plan: *mut pg_sys::PlannedStmt =
                pg_sys::copyObjectImpl(planned.plan.cast_const().cast()).cast();
            let origins = Origins::of_statement(plan, &known, snapshot);
            let places = whole_rows::read_whole_rows(plan);
            let mut receiver = Box::new(RowReceiver::new(row_context, origins));
            let desc = described(plan, planned.text, snapshot, &mut receiver);
            cut_off(|| pg_sys::ExecutorStart(desc, 0));
            let states = table_scans::states(desc);
            receiver.expect(&states, places);
            Self {
                desc,
                receiver,
                row_context,
                scans: None,
                empty: false,
            }
        }
    }

    /// How its columns are derived, by branch of its plan, where that is wanted.
    pub fn derived(&self) -> &[Option<DerivedOrigin>] {
        self.receiver.origins.derived()
    }

    /// Whether rows have no origin because what they are read by was made or altered too lately.
    pub fn is_unsettled(&self) -> bool {
        self.receiver.origins.is_unsettled()
    }

    /// Has rows of other tables than these be known by nothing whatever their columns.
    pub fn keep_tables(&mut self, kept: impl Fn(u64) -> bool) {
        self.receiver.origins.keep_tables(kept);
    }

    /// Has a query that [`Planned::tables`] has tables of go on with these pages of one of them, and end with them; an end
    /// beyond the last page means that one.
    pub fn restrict(&mut self, table: usize, pages: Range<u32>) {
        // SAFETY: the query is started, not finished, and runs only in `run`.
        unsafe {
            let scans = self.scans.get_or_insert_with(|| PageScans::of(self.desc));
            self.empty = !scans.restrict(table, pages);
        }
    }

    /// Does something with rows that came from elsewhere as if they came from here: what it allocates is freed as theirs is.
    pub fn like_rows<T>(&mut self, work: impl FnOnce() -> T) -> T {
        // SAFETY: the context lives as long as the query.
        unsafe { in_row_context(self.row_context, work) }
    }

    /// Pushes up to `rows` rows into `visit`; true when there may be more, false too when `visit` has had enough: then the
    /// next call goes on with the row behind.
    pub fn run(&mut self, rows: u64, visit: &mut Visit<'_>) -> bool {
        if self.empty {
            return false;
        }
        // SAFETY: the lifetime is erased only for the duration of this call, during which
        // `visit` is borrowed; it is taken out again below, also when PostgreSQL raises an error,
        // because then `self` is never run again.
        let visit: *mut Visit<'static> = unsafe { core::mem::transmute(visit) };
        self.receiver.visit = Some(visit);
        (self.receiver.rows, self.receiver.closed) = (0, false);
        let order = FixedOrder::start();
        // SAFETY: the query is started and not finished.
        cut_off(|| unsafe { compat::executor_run(self.desc, rows) });
        drop(order);
        self.receiver.visit = None;
        self.receiver.rows == rows && !self.receiver.closed
    }

    /// Where the row that was handed over last lies; None where the query does more than scan tables.
    pub fn place(&self) -> Option<RowPlace> {
        // SAFETY: the query is started and not finished; a scan's slot holds its last row.
        let tuple = unsafe { heap_tuple((*table_scans::last(self.desc)?).ss_ScanTupleSlot) }?;
        let place = tuple.t_self;
        Some(RowPlace {
            table: tuple.t_tableOid,
            block: u32::from(place.ip_blkid.bi_hi) << 16 | u32::from(place.ip_blkid.bi_lo),
            number: place.ip_posid,
        })
    }

    /// Ends the query and releases its snapshot, locks aside.
    pub fn finish(self) {
        // SAFETY: the query is started and ends here.
        unsafe {
            if let Some(scans) = self.scans {
                scans.release();
            }
            pg_sys::ExecutorFinish(self.desc);
            pg_sys::ExecutorEnd(self.desc);
            pg_sys::FreeQueryDesc(self.desc);
            pg_sys::MemoryContextDelete(self.row_context);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn startup(
    _receiver: *mut pg_sys::DestReceiver,
    _operation: c_int,
    _columns: pg_sys::TupleDesc,
) {
}

#[pg_guard]
unsafe extern "C-unwind" fn shutdown(_receiver: *mut pg_sys::DestReceiver) {}

#[pg_guard]
unsafe extern "C-unwind" fn receive_slot(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: `receiver` is the head of our Receiver, alive while the query runs; the slot is
    // PostgreSQL's and holds its row until we return.
    unsafe {
        let receiver = &mut *receiver.cast::<RowReceiver>();
        let (origin, tuple) = receiver.origins.of(slot);
        let row = DeformedRow {
            origin,
            tuple,
            ..receiver.columns.of(slot)
        };
        let Some(visit) = receiver.visit else {
            return false;
        };
        receiver.rows += 1;
        match in_row_context(receiver.row_context, || (*visit)(&row)) {
            Continue::Yes => true,
            Continue::No => {
                receiver.closed = true;
                false
            }
        }
    }
}

/// Makes a memory context for rows.
///
/// # Safety
/// Inside a transaction.
pub(super) unsafe fn row_context() -> pg_sys::MemoryContext {
    // SAFETY: as the caller promises; the name is static.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"pgsvm row".as_ptr(),
            0,
            8 * 1024,
            8 * 1024 * 1024,
        )
    }
}

/// Works in the memory context of rows, and empties that when it has grown.
///
/// # Safety
/// The context is alive.
#[inline]
pub(super) unsafe fn in_row_context<T>(
    context: pg_sys::MemoryContext,
    work: impl FnOnce() -> T,
) -> T {
    // SAFETY: as the caller promises; nothing that was allocated for a row is kept.
    unsafe {
        let outer = pg_sys::CurrentMemoryContext;
        pg_sys::CurrentMemoryContext = context;
        let result = work();
        pg_sys::CurrentMemoryContext = outer;
        if (*context).mem_allocated > ROW_CONTEXT_BYTES {
            pg_sys::MemoryContextReset(context);
        }
        result
    }
}

/// While it lives, scans start at a table's first page, not where another scan happens to be: the same
/// rows give the same model. Holds back the setting synchronize_seqscans, also when an error unwinds.
struct FixedOrder {
    before: bool,
}

impl FixedOrder {
    fn start() -> Self {
        // SAFETY: a plain flag of this process.
        unsafe {
            let before = pg_sys::synchronize_seqscans;
            pg_sys::synchronize_seqscans = false;
            Self { before }
        }
    }
}

impl Drop for FixedOrder {
    fn drop(&mut self) {
        // SAFETY: a plain flag of this process.
        unsafe { pg_sys::synchronize_seqscans = self.before };
    }
}

/// Visits up to so many rows of a query, each with its number from 1.
pub fn each_row(
    planned: &Planned,
    most: u64,
    visit: impl FnMut(&DeformedRow<'_>, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    RunningQuery::start(planned).each(most, visit)
}

impl RunningQuery {
    /// Calls `visit` with each of its rows, `most` of them at most, and their number, from 1; then it is finished.
    pub fn each(
        mut self,
        most: u64,
        mut visit: impl FnMut(&DeformedRow<'_>, u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut number, mut failure) = (0, None);
        loop {
            check_for_interrupts();
            let rows = ROWS_A_STEP.min(most - number);
            let more = self.run(rows, &mut |row| {
                number += 1;
                match visit(row, number) {
                    Ok(()) => Continue::Yes,
                    Err(error) => {
                        failure = Some(error);
                        Continue::No
                    }
                }
            });
            if let Some(failure) = failure {
                return Err(failure);
            }
            if !more || number >= most {
                self.finish();
                return Ok(());
            }
        }
    }
}
