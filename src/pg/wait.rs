//! One condition variable in shared memory on which reader, trainer and leader wait for each
//! other. It is a hint to look again, never the carrier of a fact: facts are in the cache.

use crate::base::errors::{Code, Failure};
use pgrx::pg_sys;

/// A condition variable at a fixed address in shared memory.
#[derive(Clone, Copy)]
pub struct WakeUp(*mut pg_sys::ConditionVariable);

/// Longest sleep before looking again anyway.
const TIMEOUT_MS: core::ffi::c_long = 100;

/// Sleeps until an interrupt raises an ERROR; returns after ten seconds without one.
fn for_interrupt() {
    for _ in 0..10_000 / TIMEOUT_MS {
        a_moment();
    }
}

/// Sleeps for a tenth of a second at most; an interrupt raises an ERROR.
pub fn a_moment() {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: the latch of this process.
    unsafe {
        pg_sys::WaitLatch(
            pg_sys::MyLatch,
            events as core::ffi::c_int,
            TIMEOUT_MS,
            pg_sys::PG_WAIT_EXTENSION,
        );
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    super::check_for_interrupts();
}

/// Another process has raised the error that the user is to see: it arrives as an interrupt. The message is for when none
/// does.
pub fn failed_elsewhere(message: &str) -> ! {
    for_interrupt();
    Failure::new(Code::ERRCODE_INTERNAL_ERROR, message).raise()
}

impl WakeUp {
    /// Bytes it takes in shared memory.
    pub const BYTES: usize = size_of::<pg_sys::ConditionVariable>();

    /// Initializes the variable at `at`.
    ///
    /// # Safety
    /// `at` points to `BYTES` bytes, 8-byte aligned, that outlive every copy of the result.
    pub unsafe fn create(at: *mut u8) -> Self {
        let variable = at.cast();
        // SAFETY: room and alignment as the caller promises.
        unsafe { pg_sys::ConditionVariableInit(variable) };
        Self(variable)
    }

    /// The variable that another process initialized at `at`.
    ///
    /// # Safety
    /// As for `create`, and `create` has run.
    pub unsafe fn attach(at: *mut u8) -> Self {
        Self(at.cast())
    }

    /// Wakes every process that waits.
    pub fn notify(self) {
        // SAFETY: the variable is initialized and mapped while `self` exists.
        unsafe { pg_sys::ConditionVariableBroadcast(self.0) };
    }

    /// Announces that this process is about to wait: a `notify` from here on ends the next `wait`.
    pub fn prepare(self) {
        // SAFETY: as for `notify`.
        unsafe { pg_sys::ConditionVariablePrepareToSleep(self.0) };
    }

    /// Sleeps until notified or 100 ms have passed; handles interrupts.
    pub fn wait(self) {
        // SAFETY: as for `notify`.
        unsafe {
            pg_sys::ConditionVariableTimedSleep(self.0, TIMEOUT_MS, pg_sys::PG_WAIT_EXTENSION)
        };
    }

    /// Takes back `prepare`.
    pub fn cancel(self) {
        // SAFETY: harmless when nothing was prepared.
        unsafe { pg_sys::ConditionVariableCancelSleep() };
    }
}
