//! Where a long training is: each process that plays a role writes it into its `application_name`, which
//! `pg_stat_activity` shows and the view `svm_progress` takes apart. That holds 63 bytes, so what is written are short codes,
//! and numbers stay below the lengths that the view reads.

use pgrx::pg_sys;
use pgsvm_core::{Cache, Phase, Statistics};
use std::ffi::CString;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(250);
/// Largest number shown of what could have more digits.
const MOST_SHOWN: u64 = 999_999_999;

/// Gaps with an exponent of two digits.
const SHOWN_GAPS: core::ops::Range<f64> = 1e-99..1e99;

/// Shows the progress of one role while it lives; afterwards the session's own name is back.
pub struct Progress {
    role: &'static str,
    next: Instant,
    shown: bool,
    /// When the first gap was seen, and that gap.
    first_gap: Option<(Instant, f64)>,
    tolerance: f64,
}

impl Progress {
    /// Starts for a role; nothing is shown before the first interval is over.
    pub fn start(role: &'static str, tolerance: f64) -> Self {
        Self {
            role,
            next: Instant::now() + INTERVAL,
            shown: false,
            first_gap: None,
            tolerance,
        }
    }

    /// Shows where the training is, a few times a second.
    pub fn show(&mut self, cache: &Cache) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + INTERVAL;
        let line = self.line(now, &cache.statistics());
        report(&line);
        self.shown = true;
    }

    fn line(&mut self, now: Instant, statistics: &Statistics) -> String {
        let role = &self.role[..1];
        if statistics.phase == Phase::Loading {
            return format!("pgsvm {role} n{}", statistics.rows_loaded);
        }
        let percent = (100 * statistics.rows_into_pass / statistics.rows.max(1)).min(100);
        let pass = u64::from(statistics.pass).min(MOST_SHOWN);
        let mut line = format!("pgsvm {role} p{pass} {percent}%");
        if SHOWN_GAPS.contains(&statistics.gap) {
            line += &format!(" g{:.1e}", statistics.gap);
            if let Some(seconds) = self.seconds_left(now, statistics) {
                line += &format!(" e{}", seconds.min(MOST_SHOWN));
            }
        }
        line
    }

    /// The gap shrinks about geometrically: the time so far, in proportion to the decades that remain.
    fn seconds_left(&mut self, now: Instant, statistics: &Statistics) -> Option<u64> {
        let (start, first) = *self.first_gap.get_or_insert((now, statistics.gap));
        let done = (first / statistics.gap).ln();
        let remaining = (statistics.gap / self.tolerance).ln().max(0.0);
        (done > 0.1).then(|| ((now - start).as_secs_f64() * remaining / done).ceil() as u64)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // SAFETY: the setting's own string, which PostgreSQL copies.
            unsafe { pg_sys::pgstat_report_appname(pg_sys::application_name) };
        }
    }
}

fn report(line: &str) {
    let line = CString::new(line).expect("the line holds no zero byte");
    // SAFETY: a terminated string, copied (and cut at 63 bytes) by PostgreSQL.
    unsafe { pg_sys::pgstat_report_appname(line.as_ptr()) };
}
