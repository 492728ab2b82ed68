//! Signals kept for this process's main thread, the only one that may run PostgreSQL's handlers.

use core::mem::MaybeUninit;

/// While it lives no signal is delivered to this thread, nor to a thread that it starts, which inherits the mask. What
/// arrives meanwhile is delivered at its end: keep it short.
pub struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    /// Blocks every signal.
    pub fn all() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigfillset fills `all`. pthread_sigmask fails on an unknown `how` alone, so it fills `before`.
        let before = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        };
        Self { before }
    }
}

/// Delivers what has arrived while signals are blocked, in the middle of that; where they are not, there is nothing to do.
pub fn deliver() {
    let (mut none, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: sigemptyset fills `none`, and pthread_sigmask `before` with the mask that is set again. The process's own
    // threads have masks of their own.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, core::ptr::null(), before.as_mut_ptr());
        if libc::sigismember(before.as_ptr(), libc::SIGINT) == 1 {
            libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), core::ptr::null_mut());
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), core::ptr::null_mut());
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask that pthread_sigmask gave before; a null pointer asks for nothing back.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, core::ptr::null_mut()) };
    }
}
