//! Where a long training is: each process that plays a role writes it into its `application_name`, which
//! `pg_stat_activity` shows and the view `svm_progress` takes apart. That holds 63 bytes, so what is written are short codes,
//! and numbers stay below the lengths that the view reads.

use pgrx::pg_sys;
use pgsvm_core::{
    Cache, ExactProgress, InteriorProgress, LowRankProgress, Phase, ScanProgress, Stage, Statistics,
};
use std::ffi::CString;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(250);
/// Largest pass shown.
const MOST_PASSES: u64 = 999_999_999;
/// The same beside a gamma.
const MOST_PASSES_OF_A_GAMMA: u64 = 99;
/// Largest number shown of heads, folds and seconds: eleven days of them.
const MOST_SHOWN: u64 = 999_999;

/// Most columns of a factor shown.
const MOST_RANK: usize = 999_999_999;

/// Gaps with an exponent of two digits.
const SHOWN_GAPS: core::ops::Range<f64> = 1e-99..1e99;

/// Shows the progress of one role while it lives; afterwards the session's own name is back.
pub struct Progress {
    role: &'static str,
    next: Instant,
    shown: bool,
    guess: Guess,
    tolerance: f64,
    /// Of a grid over gamma, which of how many is under way.
    gamma: Option<(usize, usize)>,
}

impl Progress {
    /// Starts for a role; nothing is shown before the first interval is over.
    pub fn start(role: &'static str, tolerance: f64) -> Self {
        Self {
            role,
            next: Instant::now() + INTERVAL,
            shown: false,
            guess: Guess::new(tolerance),
            tolerance,
            gamma: None,
        }
    }

    /// Turns to this of so many gammas; to none where the final machine is trained.
    pub fn begin_gamma(&mut self, at: usize, of: usize) {
        self.gamma = (of > 0).then_some((at, of));
        self.guess = Guess::new(self.tolerance);
    }

    /// Shows where the training is, a few times a second.
    pub fn show(&mut self, cache: &Cache) {
        self.show_with(cache, None);
    }

    /// The same of a training whose rows are mapped before they are trained on.
    pub fn show_with(&mut self, cache: &Cache, map: Option<LowRankProgress>) {
        if let Some(now) = self.due() {
            let line = self.line(now, &cache.statistics(), map);
            self.report(&line);
        }
    }

    /// The same of rows that are looked at and not kept, so many so far.
    pub fn show_survey(&mut self, rows: u64) {
        if self.due().is_some() {
            let role = &self.role[..1];
            self.report(&format!("pgsvm {role} n{rows}"));
        }
    }

    /// The same of landmarks that are chosen, so many so far.
    pub fn show_landmarks(&mut self, landmarks: usize) {
        if self.due().is_some() {
            let role = &self.role[..1];
            self.report(&format!("pgsvm {role} k{landmarks}"));
        }
    }

    /// The same of a training by scans.
    pub fn show_scans(&mut self, at: &ScanProgress) {
        if self.due().is_none() {
            return;
        }
        let counts = [at.running_heads as u64, at.heads as u64].map(|it| it.min(MOST_SHOWN));
        let ([running, heads], role) = (counts, &self.role[..1]);
        let scan = u64::from(at.scans).min(MOST_PASSES);
        let mut line = format!("pgsvm {role} p{scan} 0% f{running}/{heads}/0");
        line += &gap_words(at.gap.unwrap_or(f64::NAN));
        self.report(&line);
    }

    /// The same of the exact method, which reads so many rows.
    pub fn show_exact(&mut self, at: &ExactProgress, rows: u64) {
        if self.due().is_none() {
            return;
        }
        let percent = (100 * at.rows / rows.max(1)).min(100);
        let pass = u64::from(at.passes).min(MOST_PASSES);
        let counts = [
            at.heads.saturating_sub(at.head) as u64,
            at.heads as u64,
            at.sets,
        ];
        let [running, heads, sets] = counts.map(|count| count.min(MOST_SHOWN));
        let role = &self.role[..1];
        let mut line = format!("pgsvm {role} p{pass} {percent}% e{running}/{heads}/{sets}");
        line += &gap_words(at.gap);
        self.report(&line);
    }

    /// The same of interior points.
    pub fn show_interior(&mut self, at: &InteriorProgress) {
        if self.due().is_none() {
            return;
        }
        let role = &self.role[..1];
        let line = match at {
            InteriorProgress::Dealing { rows } => format!("pgsvm {role} d{rows}"),
            InteriorProgress::Factoring { columns, rank } => {
                format!("pgsvm {role} f{columns} R{}", (*rank).min(MOST_RANK))
            }
            InteriorProgress::Solving {
                head,
                heads,
                steps,
                gap,
            } => {
                let counts = [heads.saturating_sub(*head) as u64, *heads as u64];
                let [running, heads] = counts.map(|count| count.min(MOST_SHOWN));
                let line = format!("pgsvm {role} p{steps} 0% i{running}/{heads}/0");
                line + &gap_words(*gap)
            }
        };
        self.report(&line);
    }

    /// The time, where something is to be shown.
    fn due(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let due = now >= self.next;
        if due {
            self.next = now + INTERVAL;
        }
        due.then_some(now)
    }

    fn report(&mut self, line: &str) {
        report(line);
        self.shown = true;
    }

    fn line(
        &mut self,
        now: Instant,
        statistics: &Statistics,
        map: Option<LowRankProgress>,
    ) -> String {
        let role = &self.role[..1];
        let gamma = match self.gamma {
            Some((at, of)) => format!(" G{at}/{of}"),
            None => String::new(),
        };
        if statistics.phase == Phase::Loading {
            self.guess.before = now;
            let (letter, count) = match map {
                Some(LowRankProgress::Reading { rows }) => ('n', rows),
                Some(LowRankProgress::Sampling { rows }) => ('s', rows),
                Some(LowRankProgress::Choosing { landmarks }) => ('k', landmarks as u64),
                Some(LowRankProgress::Mapping { rows }) => ('m', rows),
                Some(LowRankProgress::Done) | None => ('n', statistics.rows_loaded),
            };
            return format!("pgsvm {role} {letter}{count}{gamma}");
        }
        let percent = (100 * statistics.rows_into_pass / statistics.rows.max(1)).min(100);
        // a line that names a gamma too has less room; held-out heads take few passes
        let most = match self.gamma {
            Some(_) => MOST_PASSES_OF_A_GAMMA,
            None => MOST_PASSES,
        };
        let pass = u64::from(statistics.pass).min(most);
        let mut line = format!("pgsvm {role} p{pass} {percent}%");
        line += match statistics.stage {
            Stage::Choosing => " c",
            Stage::Beyond => " b",
            Stage::Final => " f",
        };
        let counts = [statistics.running_heads, statistics.heads, statistics.folds];
        let [running, heads, folds] = counts.map(|count| u64::from(count).min(MOST_SHOWN));
        line += &format!("{running}/{heads}/{folds}");
        line += &gap_words(statistics.gap);
        if let Some(seconds) = self.guess.seconds_left(now, statistics) {
            line += &format!(" e{}", (seconds.ceil() as u64).min(MOST_SHOWN));
        }
        line + &gamma
    }
}

fn gap_words(gap: f64) -> String {
    match SHOWN_GAPS.contains(&gap) {
        true => format!(" g{gap:.1e}"),
        false => String::new(),
    }
}

/// Passes that a training takes after its gap was first seen to bring it down by a factor of a thousand, in lengths of its
/// first pass, and what it takes at the end to look at the rows once more. Later passes are shorter: most rows have been
/// screened by then. Fitted to trainings of one and of several heads, in memory and through files.
const PASSES_A_THOUSANDTH: f64 = 1.0;
const PASSES_AT_THE_END: f64 = 0.35;
/// Passes behind the first gap after which what was seen counts as much as what others take.
const PASSES_TO_BELIEVE: f64 = 3.0;
/// Share of the first pass from which its length can be told.
const SHARE_TO_TELL: f64 = 0.05;

/// How long the stage that runs will take, by the length of its first pass, by what trainings take, and the more passes
/// there have been, by how its gap has shrunk.
struct Guess {
    tolerance: f64,
    /// When the stage before was last seen.
    before: Instant,
    stage: Option<Begun>,
}

/// A stage that has begun.
struct Begun {
    stage: Stage,
    at: Instant,
    pass: u32,
    /// Seconds of its first pass, and how much of it had been seen to.
    pass_seconds: Option<f64>,
    share: f64,
    /// Whether its first pass is over: its number is no longer that, its rows begin anew, or it has left a gap.
    past_first: bool,
    /// When its first gap was seen, in which pass, and the gap.
    first_gap: Option<(Instant, u32, f64)>,
    /// The gap last seen, and since when.
    gap: (f64, Instant),
}

impl Guess {
    fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            before: Instant::now(),
            stage: None,
        }
    }

    fn seconds_left(&mut self, now: Instant, statistics: &Statistics) -> Option<f64> {
        let (stage, gap) = (statistics.stage, statistics.gap);
        let known = self.stage.take().filter(|begun| begun.stage == stage);
        let known = known.unwrap_or_else(|| Begun::new(self.before, now, statistics));
        let begun = self.stage.insert(known);
        self.before = now;
        let elapsed = (now - begun.at).as_secs_f64();
        begun.look_at_first_pass(elapsed, statistics);
        let pass_seconds = begun.pass_seconds?;
        let thousandths = |gap: f64| (gap / self.tolerance).ln().max(0.0) / 1e3_f64.ln();
        let passes = |gap| PASSES_AT_THE_END + PASSES_A_THOUSANDTH * thousandths(gap);
        if !SHOWN_GAPS.contains(&gap) {
            return Some(((1.0 + passes(1.0)) * pass_seconds - elapsed).max(0.0));
        }
        if begun.gap.0 != gap {
            begun.gap = (gap, now);
        }
        let waited = (now - begun.gap.1).as_secs_f64();
        let at_the_end = PASSES_AT_THE_END * pass_seconds;
        if statistics.running_heads == 0 {
            // what is left is to look at the rows
            return Some((at_the_end - waited).max(0.0));
        }
        let usual = (passes(gap) * pass_seconds - waited).max(at_the_end);
        Some(begun.with_what_was_seen(usual, now, statistics, self.tolerance))
    }
}

impl Begun {
    /// A stage that was not there `before`.
    fn new(before: Instant, now: Instant, statistics: &Statistics) -> Self {
        Self {
            stage: statistics.stage,
            at: before,
            pass: statistics.pass,
            pass_seconds: None,
            share: 0.0,
            past_first: false,
            first_gap: None,
            gap: (statistics.gap, now),
        }
    }

    /// Tells the length of the first pass by what has been seen to of it.
    fn look_at_first_pass(&mut self, elapsed: f64, statistics: &Statistics) {
        let share = statistics.rows_into_pass as f64 / statistics.rows.max(1) as f64;
        // many heads are several passes over the rows under one number
        self.past_first |= statistics.pass != self.pass
            || share < self.share
            || SHOWN_GAPS.contains(&statistics.gap);
        if !self.past_first {
            self.share = share;
            self.pass_seconds = (share > SHARE_TO_TELL).then(|| elapsed / share.min(1.0));
        }
    }

    /// The seconds that are left where others take `usual` ones, by how the gap has shrunk.
    fn with_what_was_seen(
        &mut self,
        usual: f64,
        now: Instant,
        statistics: &Statistics,
        tolerance: f64,
    ) -> f64 {
        let (pass, gap) = (statistics.pass, statistics.gap);
        let (first_at, first_pass, first) = *self.first_gap.get_or_insert((now, pass, gap));
        let shrunk = (first / gap).ln();
        if shrunk <= 0.1 {
            return usual;
        }
        // the gap shrinks about geometrically: the time so far, in proportion to what remains
        let remaining = (gap / tolerance).ln().max(0.0);
        let seen = (now - first_at).as_secs_f64() * remaining / shrunk;
        let since = f64::from(pass - first_pass.min(pass));
        let belief = since / (since + PASSES_TO_BELIEVE);
        usual.powf(1.0 - belief) * seen.max(0.1).powf(belief)
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
