//! Levels that tests ask for.

/// What a test has this thread's trainings run with, whatever the processor could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forced {
    /// What every processor gives.
    Plain,
    /// The best level without the vectors of [`crate::avx512`].
    Narrow,
    /// The best level.
    Wide,
}

thread_local! {
    pub(super) static FORCED: std::cell::Cell<Option<Forced>> = const { std::cell::Cell::new(None) };
}

impl Forced {
    pub fn name(self) -> &'static str {
        match (self, cfg!(target_arch = "x86_64")) {
            (Self::Plain, _) => "plain",
            (Self::Narrow, true) => "avx2",
            (Self::Narrow, false) => "neon",
            (Self::Wide, _) => "avx512",
        }
    }
}

/// Does `work` with this level in place of the best.
pub fn forced<R>(level: Forced, work: impl FnOnce() -> R) -> R {
    FORCED.set(Some(level));
    let result = work();
    FORCED.set(None);
    result
}
