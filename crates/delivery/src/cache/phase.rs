//! What the shared region is in use for.

use serde::{Deserialize, Serialize};

/// What the region is in use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
pub enum Phase {
    /// Pass 1: the reader fills the arena.
    Loading = 0,
    /// Every row is in the arena, which the trainer owns.
    Resident = 1,
    /// Rows arrive through the ring, pass after pass.
    Streaming = 2,
    /// The trainer has finished.
    Finished = 3,
    /// A role has given up with an error.
    Failed = 4,
}
