//! PostgreSQL's parallel-worker machinery: workers that share the leader's snapshot, user,
//! settings and uncommitted rows, and whose errors the leader raises again.
//!
//! On an error PostgreSQL itself ends the workers and frees the memory when the transaction (or
//! subtransaction) aborts; so nothing here has a `Drop`.

use crate::base::errors::{Code, Failure};
use core::ffi::CStr;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::{pg_sys, PgTryBuilder};
use std::panic::AssertUnwindSafe;

/// Space for shared memory asked for before it exists.
pub struct SharedPlan {
    context: *mut pg_sys::ParallelContext,
}

/// Shared memory and workers of one training. Exists between `EnterParallelMode` and `finish`.
pub struct WorkerGroup {
    context: *mut pg_sys::ParallelContext,
}

/// PostgreSQL's BUFFERALIGN, which its table of contents rounds chunks to.
const BUFFER_ALIGN: usize = 32;

impl SharedPlan {
    /// Enters parallel mode and prepares for up to `workers` workers that run `entry`.
    pub fn new(workers: i32, entry: &CStr) -> Self {
        // SAFETY: in a transaction; the strings are copied.
        let context = unsafe {
            pg_sys::EnterParallelMode();
            pg_sys::CreateParallelContext(c"pgsvm".as_ptr(), entry.as_ptr(), workers)
        };
        Self { context }
    }

    /// Reserves room for one chunk of `bytes`.
    pub fn reserve(&mut self, bytes: usize) {
        // SAFETY: the context is live and not yet initialized, so its estimator may still grow.
        let estimator = unsafe { &mut (*self.context).estimator };
        estimator.space_for_chunks += bytes.next_multiple_of(BUFFER_ALIGN);
        estimator.number_of_keys += 1;
    }

    /// Creates the shared memory; PostgreSQL's message when there is not enough, after which the
    /// caller must raise an error. Other errors are raised as they come.
    pub fn initialize(self) -> Result<WorkerGroup, String> {
        let context = self.context;
        PgTryBuilder::new(AssertUnwindSafe(|| {
            // SAFETY: the context is live and not yet initialized.
            unsafe { pg_sys::InitializeParallelDSM(context) };
            Ok(WorkerGroup { context })
        }))
        .catch_when(Code::ERRCODE_DISK_FULL, no_memory)
        .catch_when(Code::ERRCODE_OUT_OF_MEMORY, no_memory)
        .catch_when(Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED, no_memory)
        .execute()
    }
}

impl WorkerGroup {
    /// Takes `bytes` of the reserved room and publishes their address under `key`.
    pub fn allocate(&mut self, key: u64, bytes: usize) -> *mut u8 {
        // SAFETY: the table of contents exists and the room was reserved.
        unsafe {
            let toc = (*self.context).toc;
            let address = pg_sys::shm_toc_allocate(toc, bytes);
            pg_sys::shm_toc_insert(toc, key, address);
            address.cast()
        }
    }

    /// The segment, null when PostgreSQL had none left and gave private memory (then no worker
    /// starts).
    pub fn segment(&self) -> *mut pg_sys::dsm_segment {
        // SAFETY: the context is live.
        unsafe { (*self.context).seg }
    }

    /// Starts the workers. Returns how many could be registered; they run a few milliseconds later.
    pub fn launch(&mut self) -> i32 {
        // SAFETY: the context is initialized.
        unsafe {
            pg_sys::LaunchParallelWorkers(self.context);
            (*self.context).nworkers_launched
        }
    }

    /// Waits until all that were registered have attached.
    pub fn wait_for_workers(&mut self) {
        // SAFETY: the workers were launched.
        unsafe { pg_sys::WaitForParallelWorkersToAttach(self.context) };
    }

    /// Raises the error with which a worker ended before it had sent its outcome.
    pub fn raise_error_of_worker(&self) -> ! {
        // SAFETY: the context is live; waiting raises a worker's error when it arrives.
        unsafe { pg_sys::WaitForParallelWorkersToFinish(self.context) };
        let code = Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
        Failure::new(code, "a training worker ended without an outcome")
            .hint("See the server's log, or train without workers: SET pgsvm.workers = 0")
            .raise()
    }

    /// Waits for the workers to exit, frees everything and leaves parallel mode.
    pub fn finish(self) {
        // SAFETY: the context is live and ends here.
        unsafe {
            pg_sys::WaitForParallelWorkersToFinish(self.context);
            pg_sys::DestroyParallelContext(self.context);
            pg_sys::ExitParallelMode();
        }
    }
}

/// The cause alone: PostgreSQL's message names a segment by a random number.
fn no_memory(error: CaughtError) -> Result<WorkerGroup, String> {
    let message = super::caught(&error).message();
    let cause = message.rsplit(": ").next().unwrap_or(message);
    Err(format!("{cause}."))
}

/// The chunk that the leader published under `key`, seen from a worker.
///
/// # Safety
/// `toc` is the table of contents handed to the worker's entry point and the leader allocated `key`.
pub unsafe fn lookup(toc: *mut pg_sys::shm_toc, key: u64) -> *mut u8 {
    // SAFETY: as the caller promises; a missing key is an ERROR, not a null.
    unsafe { pg_sys::shm_toc_lookup(toc, key, false).cast() }
}

/// This worker's number, from 0; -1 in the leader.
pub fn worker_number() -> i32 {
    // SAFETY: a plain integer set once when the process started.
    unsafe { pg_sys::ParallelWorkerNumber }
}
