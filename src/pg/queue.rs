//! Messages from a worker to the leader, or to another worker: PostgreSQL's shared-memory queue, one a worker, bytes in,
//! bytes out, in order.

use pgrx::pg_sys;

/// Size of a queue for outcomes: a part of a message on the way; longer messages flow through it.
pub const OUTCOME_BYTES: usize = 64 * 1024;

/// The worker's end.
pub struct Sender(*mut pg_sys::shm_mq_handle);

/// The other end.
pub struct Receiver(*mut pg_sys::shm_mq_handle);

/// Creates a queue at `at`.
///
/// # Safety
/// `at` points to `bytes` bytes of shared memory, MAXALIGNed.
pub unsafe fn create(at: *mut u8, bytes: usize) {
    // SAFETY: room as the caller promises.
    unsafe { pg_sys::shm_mq_create(at.cast(), bytes) };
}

/// Attaches to the queue at `at` as its receiver.
///
/// # Safety
/// `create` ran at `at`, in the segment that this process has attached as `segment`.
pub unsafe fn attach_receiver(at: *mut u8, segment: *mut pg_sys::dsm_segment) -> Receiver {
    // SAFETY: as the caller promises; MyProc is this process.
    unsafe {
        let queue = at.cast();
        pg_sys::shm_mq_set_receiver(queue, pg_sys::MyProc);
        Receiver(pg_sys::shm_mq_attach(queue, segment, core::ptr::null_mut()))
    }
}

/// Attaches to the queue at `at` as its sender.
///
/// # Safety
/// `create` ran at `at`, in the segment that this process has attached as `segment`.
pub unsafe fn attach_sender(at: *mut u8, segment: *mut pg_sys::dsm_segment) -> Sender {
    // SAFETY: as the caller promises.
    unsafe {
        let queue = at.cast();
        pg_sys::shm_mq_set_sender(queue, pg_sys::MyProc);
        Sender(pg_sys::shm_mq_attach(queue, segment, core::ptr::null_mut()))
    }
}

impl Sender {
    /// Sends one message, waiting for room; false when the leader is gone.
    pub fn send(&mut self, message: &[u8]) -> bool {
        // SAFETY: the handle is attached; the bytes are read before the call returns.
        let result = unsafe {
            pg_sys::shm_mq_send(self.0, message.len(), message.as_ptr().cast(), false, true)
        };
        result == pg_sys::shm_mq_result::SHM_MQ_SUCCESS
    }
}

impl Receiver {
    /// Waits for one message and hands its bytes to `read`; None when the worker is gone.
    pub fn receive<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        // SAFETY: PostgreSQL keeps the message in place until the next receive, which cannot come
        // before `read` returns, since `self` is borrowed mutably.
        self.next().map(|message| read(unsafe { &*message }))
    }

    /// Waits for one message, which begins at a whole word and stays in place until the next one is waited for or the queue
    /// is closed; None when the worker is gone.
    pub fn next(&mut self) -> Option<*const [u8]> {
        let mut length: pg_sys::Size = 0;
        let mut data = core::ptr::null_mut();
        // SAFETY: the handle is attached; the call handles interrupts while it waits.
        let result = unsafe { pg_sys::shm_mq_receive(self.0, &mut length, &mut data, false) };
        let received = result == pg_sys::shm_mq_result::SHM_MQ_SUCCESS;
        received.then(|| core::ptr::slice_from_raw_parts(data.cast::<u8>().cast_const(), length))
    }

    /// Lets go of the queue: who sends, or will, learns that nobody listens.
    pub fn close(self) {
        // SAFETY: the handle is attached, and not used again.
        unsafe { pg_sys::shm_mq_detach(self.0) };
    }
}
