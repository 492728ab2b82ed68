//! A scan run by a worker, which opens connections of its own to the servers of foreign tables. postgres_fdw keeps a connection for the
//! whole transaction, and once one has broken the transaction cannot go on; a worker's connections end with it.
//!
//! A parallel worker: it has the leader's snapshot, user, settings and uncommitted rows, and its error is raised in the leader.

use crate::base::errors::{Code, Failure};
use crate::pg::parallel::{self, SharedPlan};
use crate::pg::queue;
use crate::pg::select::{connected, Parameter, PreparedSelect};
use crate::pg::server_version;
use pgrx::pg_sys;
use pgrx::prelude::pg_guard;
use std::ffi::{CStr, CString};

/// Keys of the queues in the shared memory: the message to the worker, and its answer.
const ORDER: u64 = 1;
const FOUND: u64 = 2;

/// Whether postgres_fdw can connect without a client: before 18.6, that of PostgreSQL 18 may take one for granted.
pub fn may_connect() -> bool {
    !(180_000..180_006).contains(&server_version())
}

/// Runs a SELECT of one row and one column of bytes, whose parameter is `message`, and hands the bytes to `read`, none where the column is
/// NULL; None where the server has no worker left.
pub fn run<T>(select: &CStr, message: &[u8], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let mut plan = SharedPlan::new(1, c"pgsvm_scan_main");
    (0..2).for_each(|_| plan.reserve(queue::OUTCOME_BYTES));
    let mut group = plan
        .initialize()
        .unwrap_or_else(|reason| no_memory(reason).raise());
    let [order_at, found_at] = [ORDER, FOUND].map(|key| {
        let at = group.allocate(key, queue::OUTCOME_BYTES);
        // SAFETY: the chunk has the room that was reserved for it; no worker runs yet.
        unsafe { queue::create(at, queue::OUTCOME_BYTES) };
        at
    });
    if group.launch() == 0 {
        group.finish();
        return None;
    }
    // SAFETY: the queues were created in the group's segment.
    let (mut sender, mut receiver) = unsafe {
        (
            queue::attach_sender(order_at, group.segment()),
            queue::attach_receiver(found_at, group.segment()),
        )
    };
    group.wait_for_workers();
    // a worker that is gone has raised an error
    let is_sent = sender.send(select.to_bytes()) && sender.send(message);
    match is_sent.then(|| receiver.receive(read)).flatten() {
        Some(found) => {
            group.finish();
            Some(found)
        }
        None => group.raise_error_of_worker(),
    }
}

fn no_memory(reason: String) -> Failure {
    Failure::new(
        Code::ERRCODE_OUT_OF_MEMORY,
        "could not get shared memory for a scan",
    )
    .detail(reason)
    .hint("Have the session scan, and a server's failure be an error: SET pgsvm.retry_seconds = 0")
}

/// Entry point of the worker.
///
/// # Safety
/// Called by PostgreSQL's parallel-worker machinery only.
#[no_mangle]
#[pg_guard]
pub unsafe extern "C-unwind" fn pgsvm_scan_main(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    // SAFETY: the leader made both queues before it started this worker.
    let (mut orders, mut found) = unsafe {
        (
            queue::attach_receiver(parallel::lookup(toc, ORDER), segment),
            queue::attach_sender(parallel::lookup(toc, FOUND), segment),
        )
    };
    let select = orders.receive(|select| CString::new(select).unwrap_or_default());
    let Some(select) = select else { return };
    orders.receive(|order| {
        connected(|| {
            let scan = PreparedSelect::parallel(&select, &[pg_sys::BYTEAOID]);
            scan.for_each_at_once(&[Parameter::Bytes(order)], |row| {
                let bytes = row.varlena(1);
                found.send(bytes.as_ref().map_or(&[], |bytes| bytes.payload()));
            });
        });
    });
}
