//! Prefetches: words of the next rows are requested from memory while the present ones are visited.

#[cfg(target_arch = "x86_64")]
use pgsvm_base::prefetch::{fetch_line, LINE_BYTES};
use pgsvm_base::prefetch::{prefetch, prefetch_far};

/// Words to ask for while others are gone through, a line of each at a time: the processor waits for some lines only, and
/// whoever asks for more at once waits as well.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    /// Those that come next.
    pub near: &'a [u32],
    /// Those of some rows behind them, for which the second cache is near enough.
    pub far: &'a [u32],
}

impl Next<'_> {
    pub const NONE: Next<'static> = Next {
        near: &[],
        far: &[],
    };

    /// Where to ask for the lines of both while these numbers are gone through, and how many words there are. Where there is
    /// nothing to ask for that is these numbers, which have come: so a loop asks at every place, whatever there is.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn lines(self, meanwhile: &[f32]) -> (Lines, usize) {
        let start = |words: &[u32]| match words.is_empty() {
            true => meanwhile.as_ptr().cast(),
            false => words.as_ptr(),
        };
        let lines = Lines {
            near: start(self.near),
            far: start(self.far),
        };
        (lines, self.near.len().max(self.far.len()))
    }

    /// Asks for all from this place on.
    #[inline(always)]
    pub fn ask_from(self, at: usize) {
        prefetch(self.near.get(at..).unwrap_or_default(), usize::MAX);
        prefetch_far(self.far.get(at..).unwrap_or_default(), usize::MAX);
    }
}

/// Where the words of [`Next`] begin.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Lines {
    near: *const u32,
    far: *const u32,
}

#[cfg(target_arch = "x86_64")]
impl Lines {
    /// Asks for the lines at this place, which may be any.
    #[inline(always)]
    pub(super) fn ask(self, at: usize) {
        fetch_line::<u32, true>(self.near.wrapping_add(at));
        fetch_line::<u32, false>(self.far.wrapping_add(at));
    }
}

/// The [`Lines`] of several rows.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Asked<const ROWS: usize> {
    lines: [Lines; ROWS],
    /// Words of the longest.
    words: usize,
}

#[cfg(target_arch = "x86_64")]
impl<const ROWS: usize> Asked<ROWS> {
    #[inline(always)]
    pub(super) fn new(next: [Next<'_>; ROWS], meanwhile: [&[f32]; ROWS]) -> Self {
        let (first, mut words) = next[0].lines(meanwhile[0]);
        let mut lines = [first; ROWS];
        for row in 1..ROWS {
            let (own, length) = next[row].lines(meanwhile[row]);
            lines[row] = own;
            words = words.max(length);
        }
        Self { lines, words }
    }

    /// Asks for the lines at this place; behind the last one for that again, which costs less than to look.
    #[inline(always)]
    pub(super) fn ask(&self, at: usize) {
        let at = at.min(self.words.saturating_sub(1));
        for lines in &self.lines {
            lines.ask(at);
        }
    }

    /// Asks for all lines from this place on.
    #[inline(always)]
    pub(super) fn rest(&self, mut at: usize) {
        while at < self.words {
            for lines in &self.lines {
                lines.ask(at);
            }
            at += LINE_BYTES / size_of::<u32>();
        }
    }
}
