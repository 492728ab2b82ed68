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

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask that pthread_sigmask gave before; a null pointer asks for nothing back.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, core::ptr::null_mut()) };
    }
}
