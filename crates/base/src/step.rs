//! What a role has done when it gives control back, and how it waits.

use std::thread::yield_now;
use std::time::{Duration, Instant};

/// What a call of a role's `step` achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Some work was done and the other role may have become able to go on: notify it.
    Progress,
    /// Nothing can be done before the other role makes progress.
    Blocked,
    /// The role has finished; further calls return `Done` again.
    Done,
}

/// How long a role that is blocked goes on looking before it sleeps. Batches follow each other within some tens of microseconds;
/// to fall asleep and to be woken takes longer than that.
const AWAKE: Duration = Duration::from_micros(100);

/// Whether a role that is blocked still looks again by itself.
#[derive(Debug, Default)]
pub struct Awake {
    blocked: Option<Instant>,
}

impl Awake {
    /// The role has done something.
    pub fn work(&mut self) {
        self.blocked = None;
    }

    /// The role is blocked: lets others run for a moment, after which it is to look again; false where it is to sleep.
    pub fn rest(&mut self) -> bool {
        let since = *self.blocked.get_or_insert_with(Instant::now);
        let awake = since.elapsed() < AWAKE;
        if awake {
            yield_now();
        }
        awake
    }
}
