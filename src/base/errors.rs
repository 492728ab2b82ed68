//! How every error of ours reaches the client: SQLSTATE, lower-case message with the values, a
//! DETAIL sentence, a HINT with the SQL to type. Raised in any process; from a worker PostgreSQL
//! carries the error to the leader with all its fields.

use pgrx::pg_sys;
use pgrx::pg_sys::elog::PgLogLevel;
use pgrx::pg_sys::panic::ErrorReport;
pub use pgrx::PgSqlErrorCode as Code;
use std::fmt::{self, Write};

/// An error of the user's making, before it is raised; or what is said without ending anything.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    pub about: About,
}

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The call, the columns, or all rows together.
    All,
    /// The row that was read last; it cannot be left out for that.
    Row,
    /// The values of the row that was read last: others can be trained on and predicted without it.
    BadRow,
}

impl Failure {
    /// A failure with neither detail nor hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            about: About::All,
        }
    }

    /// The same with a sentence of fact.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same with one more sentence of fact.
    pub fn in_detail(self, sentence: &str) -> Self {
        let detail = match &self.detail {
            Some(detail) => format!("{detail} {sentence}"),
            None => sentence.to_owned(),
        };
        self.detail(detail)
    }

    /// The same with what to type next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same as one about the row that was read last, whose number is told.
    pub fn about_row(self) -> Self {
        Self {
            about: About::Row,
            ..self
        }
    }

    /// The same as one about the values of the row that was read last.
    pub fn about_bad_row(self) -> Self {
        Self {
            about: About::BadRow,
            ..self
        }
    }

    /// Whether it is about the values of one row, which others can be trained on and predicted without.
    pub fn is_of_bad_row(&self) -> bool {
        self.about == About::BadRow
    }

    /// Several as one, with the code of the first; None where there is none.
    pub fn join(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(|mut joined, next| {
            joined.message += "; ";
            joined.message += &next.message;
            let both = |one: Option<String>, other: Option<String>| match (one, other) {
                (Some(one), Some(other)) if one.contains(&other) => Some(one),
                (Some(one), Some(other)) => Some(format!("{}. {other}", one.trim_end_matches('.'))),
                (one, other) => one.or(other),
            };
            joined.detail = both(joined.detail, next.detail);
            joined.hint = both(joined.hint, next.hint);
            joined
        })
    }

    /// Raises it as an ERROR, which ends the current statement.
    #[track_caller]
    pub fn raise(self) -> ! {
        self.report(PgLogLevel::ERROR);
        unreachable!("reporting an ERROR does not return")
    }

    /// Says it as a WARNING; the statement goes on.
    #[track_caller]
    pub fn warn(self) {
        self.say(PgLogLevel::WARNING);
    }

    /// Says it as a NOTICE.
    #[track_caller]
    pub fn notice(self) {
        self.say(PgLogLevel::NOTICE);
    }

    /// What ends nothing. PostgreSQL looks for interrupts at the end of each report, and pgrx calls it without a guard
    /// there: a cancel that is pending would jump over the caller's frames. So it waits until the report is out, and
    /// is raised where there is a guard.
    #[track_caller]
    fn say(self, level: PgLogLevel) {
        // SAFETY: the counter belongs to this thread, the server's only one; PostgreSQL itself sets it to 0 on an error.
        unsafe { pg_sys::InterruptHoldoffCount += 1 };
        self.report(level);
        // SAFETY: as above; the report did not raise an error, so the count is at least the one added.
        unsafe { pg_sys::InterruptHoldoffCount -= 1 };
        pgrx::check_for_interrupts!();
    }

    #[track_caller]
    fn report(self, level: PgLogLevel) {
        let mut report = ErrorReport::new(self.code, self.message, "pgsvm");
        if let Some(detail) = self.detail {
            report = report.set_detail(detail);
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(hint);
        }
        report.report(level);
    }
}

/// A NOTICE of one sentence, to be said later.
pub fn said(message: impl Into<String>) -> Failure {
    Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message)
}

/// A NOTICE of one sentence.
#[track_caller]
pub fn notice(message: impl Into<String>) {
    said(message).notice();
}

/// `Result::unwrap` for failures: the value, or the ERROR.
pub trait OrRaise<T> {
    fn or_raise(self) -> T;
}

impl<T, E: Into<Failure>> OrRaise<T> for Result<T, E> {
    #[track_caller]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(failure) => failure.into().raise(),
        }
    }
}

impl From<pgsvm_core::OutOfMemory> for Failure {
    fn from(error: pgsvm_core::OutOfMemory) -> Self {
        Self::new(Code::ERRCODE_OUT_OF_MEMORY, error.to_string())
    }
}

impl From<pgsvm_core::MessageError> for Failure {
    fn from(error: pgsvm_core::MessageError) -> Self {
        match error {
            pgsvm_core::MessageError::OutOfMemory(error) => error.into(),
            damaged => Self::new(Code::ERRCODE_DATA_CORRUPTED, damaged.to_string()),
        }
    }
}

/// Most bytes of a value that an error shows.
const SHOWN_BYTES: usize = 100;

/// A value as an error shows it, whose text may be of any length.
pub fn shown(value: &impl fmt::Display) -> String {
    struct ErrorBeginning(String);
    impl fmt::Write for ErrorBeginning {
        fn write_str(&mut self, piece: &str) -> fmt::Result {
            self.0.push_str(&shortened(piece));
            match self.0.len() > SHOWN_BYTES {
                true => Err(fmt::Error),
                false => Ok(()),
            }
        }
    }
    let mut beginning = ErrorBeginning(String::new());
    // it ends with an error where it is long
    let _ = write!(beginning, "{value}");
    shortened(&beginning.0)
}

/// A text as an error shows it, which may be of any length.
pub fn shortened(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= SHOWN_BYTES) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
