//! A temporary file of PostgreSQL (`BufFile`): counted by `temp_file_limit`, placed by
//! `temp_tablespaces`, and removed at the end of the transaction whatever happens.

use super::caught;
use crate::base::errors::{Code, Failure};
use pgrx::pg_sys::panic::CaughtError;
use pgrx::{pg_sys, PgTryBuilder};
use std::panic::AssertUnwindSafe;

/// An append-and-read temporary file of this process.
pub struct TempFile {
    file: *mut pg_sys::BufFile,
    /// Where the next append goes, and whether the file stands there now.
    end: (i32, i64),
    at_end: bool,
}

/// Why a temporary file cannot grow.
#[derive(Debug)]
pub struct NoRoom {
    pub code: Code,
    pub message: String,
}

impl NoRoom {
    fn of(error: &CaughtError) -> Self {
        let report = caught(error);
        Self {
            code: report.sql_error_code(),
            message: report.message().to_owned(),
        }
    }
}

impl TempFile {
    /// Creates an empty file.
    pub fn create() -> Self {
        // SAFETY: called inside a transaction; the file belongs to its resource owner.
        let file = unsafe {
            pg_sys::PrepareTempTablespaces();
            pg_sys::BufFileCreateTemp(false)
        };
        Self {
            file,
            end: (0, 0),
            at_end: true,
        }
    }

    /// Appends `bytes` and returns the position at which `read` finds them; PostgreSQL's message when
    /// `temp_file_limit` or the disk has no room, after which the caller must raise an error.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, NoRoom> {
        let no_room = |error: CaughtError| Err(NoRoom::of(&error));
        PgTryBuilder::new(AssertUnwindSafe(|| Ok(self.write(bytes))))
            .catch_when(Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED, no_room)
            .catch_when(Code::ERRCODE_DISK_FULL, no_room)
            .execute()
    }

    fn write(&mut self, bytes: &[u8]) -> u64 {
        if !self.at_end {
            self.seek(self.end);
            self.at_end = true;
        }
        let position = (self.end.0 as u64) << 32 | self.end.1 as u64;
        // SAFETY: the file is open; BufFileWrite only reads from the pointer.
        unsafe {
            pg_sys::BufFileWrite(self.file, bytes.as_ptr().cast_mut().cast(), bytes.len());
            pg_sys::BufFileTell(self.file, &mut self.end.0, &mut self.end.1);
        }
        position
    }

    /// Fills `bytes` from what was appended at `position`.
    pub fn read(&mut self, position: u64, bytes: &mut [u8]) {
        self.at_end = false;
        self.seek(((position >> 32) as i32, (position & 0xffff_ffff) as i64));
        // SAFETY: the file is open and `bytes` has that much room.
        let read =
            unsafe { pg_sys::BufFileRead(self.file, bytes.as_mut_ptr().cast(), bytes.len()) };
        if read != bytes.len() {
            lost(format!("Read only {read} of {} bytes.", bytes.len()));
        }
    }

    fn seek(&mut self, (fileno, offset): (i32, i64)) {
        const SEEK_SET: core::ffi::c_int = 0;
        // SAFETY: the file is open; positions come from BufFileTell.
        if unsafe { pg_sys::BufFileSeek(self.file, fileno, offset, SEEK_SET) } != 0 {
            lost(format!("Byte {offset} of its part {fileno} is not there."));
        }
    }
}

/// What was written is not there any more.
fn lost(detail: String) -> ! {
    let message = "could not read the training's temporary file";
    Failure::new(Code::ERRCODE_IO_ERROR, message)
        .detail(detail)
        .hint("Somebody removed or cut it, or its disk fails: see the server's log, and SET temp_tablespaces to another disk")
        .raise()
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // While an ERROR unwinds, the file belongs to the resource owner that the abort releases.
        if !std::thread::panicking() {
            // SAFETY: opened by `create` and closed once.
            unsafe { pg_sys::BufFileClose(self.file) };
        }
    }
}
