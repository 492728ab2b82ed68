//! Errors of PostgreSQL on their way through Rust. pgrx copies their texts without a way to fail, and a text may hold a value of
//! any length: what is long is cut off before. And it knows PostgreSQL's own codes only: those that somebody's function
//! raises are put back behind it. Any process.
//!
//! PostgreSQL calls the functions on `error_context_stack` when it raises an error. Ours stays there while the error travels on
//! as a panic, and is called again when pgrx raises it anew; what ends the statement takes it away.

use core::ffi::{c_char, c_int, c_void, CStr};
use core::panic::AssertUnwindSafe;
use pgrx::pg_sys;
use pgrx::pg_sys::elog::PgLogLevel;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::pg_guard;
use pgrx::{PgSqlErrorCode, PgTryBuilder};
use twox_hash::XxHash3_64;

/// Bytes of a text that stays whole.
const MOST_BYTES: usize = 16 << 10;
/// Bytes that are left of a longer one.
const LEFT_BYTES: c_int = 1000;

// Not among pgrx's; they cannot raise an error.
unsafe extern "C-unwind" {
    fn errcode(code: c_int) -> c_int;
    fn geterrcode() -> c_int;
}

/// Bytes of a message by which it is known again.
const KNOWN_BYTES: usize = 500;

/// Lives until the transaction ends.
struct ErrorSite {
    callback: pg_sys::ErrorContextCallback,
    /// The code of the last error, and the hash of its message; 0 as long as there was none.
    code: c_int,
    message: u64,
}

/// Runs `body`, in which PostgreSQL may run what anybody wrote, or read what anybody stored.
pub fn cut_off<T>(body: impl FnOnce() -> T) -> T {
    let site = Put::on();
    let result = body();
    site.off();
    result
}

/// A site on the stack of those that are told of errors. Putting on and taking off are compiled once, whatever the body is.
struct Put(*mut ErrorSite);

impl Put {
    #[inline(never)]
    fn on() -> Self {
        // SAFETY: what is put on the stack lives as long as the transaction, and is taken off by `off`, or by whoever ends the
        // statement after an error.
        unsafe {
            let transaction = pg_sys::TopTransactionContext;
            let bytes = size_of::<ErrorSite>();
            let site = pg_sys::MemoryContextAllocZero(transaction, bytes).cast::<ErrorSite>();
            (*site).callback = pg_sys::ErrorContextCallback {
                previous: pg_sys::error_context_stack,
                callback: Some(on_error),
                arg: site.cast(),
            };
            pg_sys::error_context_stack = core::ptr::addr_of_mut!((*site).callback);
            Self(site)
        }
    }

    #[inline(never)]
    fn off(self) {
        // SAFETY: `on` has put it there, and what came on top of it since is off.
        unsafe {
            pg_sys::error_context_stack = (*self.0).callback.previous;
            pg_sys::pfree(self.0.cast());
        }
    }
}

/// The same where an error ends here, and is given back.
pub fn caught_short<T>(body: impl FnOnce() -> T) -> Result<T, Box<CaughtError>> {
    // SAFETY: what is put on the stack lives until it is taken off, which is here, also after an error.
    unsafe {
        let previous = pg_sys::error_context_stack;
        let mut site = ErrorSite {
            callback: pg_sys::ErrorContextCallback {
                previous,
                callback: Some(on_error),
                arg: core::ptr::null_mut(),
            },
            code: 0,
            message: 0,
        };
        let at = core::ptr::addr_of_mut!(site);
        (*at).callback.arg = at.cast();
        pg_sys::error_context_stack = core::ptr::addr_of_mut!((*at).callback);
        let ended = PgTryBuilder::new(AssertUnwindSafe(|| Ok(body())))
            .catch_others(|error| Err(Box::new(error)))
            .execute();
        pg_sys::error_context_stack = previous;
        ended
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn on_error(argument: *mut c_void) {
    // SAFETY: the argument is what `cut_off` put there; the functions work on the error being raised. The copy lives in the
    // transaction's memory, as PostgreSQL makes none in that of errors.
    unsafe {
        // Nothing is asked for where there is no memory: errors within errors end in a PANIC. Such a message is short, and one
        // that has no room for its copy comes back as such a one.
        if geterrcode() == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int {
            return;
        }
        let site = &mut *argument.cast::<ErrorSite>();
        let context = pg_sys::MemoryContextSwitchTo(pg_sys::CurTransactionContext);
        let data = pg_sys::CopyErrorData();
        pg_sys::MemoryContextSwitchTo(context);
        if (*data).elevel >= PgLogLevel::ERROR as c_int {
            cut((*data).message, |format, text| {
                pg_sys::errmsg_internal(format, text)
            });
            cut((*data).detail, |format, text| {
                pg_sys::errdetail_internal(format, text)
            });
            cut((*data).hint, |format, text| {
                pg_sys::errhint_plural(format, format, 1, text)
            });
            site.note(&*data);
        }
        pg_sys::FreeErrorData(data);
    }
}

impl ErrorSite {
    /// Notes what the error is, or where it is the last one again and lost its code, puts that back.
    ///
    /// # Safety
    /// It is the error being raised.
    unsafe fn note(&mut self, data: &pg_sys::ErrorData) {
        let message = match data.message.is_null() {
            true => 0,
            false => {
                // SAFETY: a message is a terminated text.
                let bytes = unsafe { CStr::from_ptr(data.message) }.to_bytes();
                XxHash3_64::oneshot(&bytes[..bytes.len().min(KNOWN_BYTES)])
            }
        };
        let lost = data.sqlerrcode == PgSqlErrorCode::ERRCODE_INTERNAL_ERROR as c_int;
        if lost && self.code != 0 && self.message == message {
            // SAFETY: as the caller promises.
            unsafe { errcode(self.code) };
        } else {
            (self.code, self.message) = (data.sqlerrcode, message);
        }
    }
}

/// Has `set` take the beginning of a text, where that is long.
///
/// # Safety
/// It is a terminated text that nobody else reads, or null.
unsafe fn cut(text: *mut c_char, set: impl FnOnce(*const c_char, *mut c_char) -> c_int) {
    // SAFETY: as the caller promises; the place where it ends lies within the text.
    unsafe {
        if text.is_null() || CStr::from_ptr(text).count_bytes() <= MOST_BYTES {
            return;
        }
        let end = pg_sys::pg_mbcliplen(text, MOST_BYTES as c_int, LEFT_BYTES);
        *text.add(end as usize) = 0;
        set(c"%s...".as_ptr(), text);
    }
}
