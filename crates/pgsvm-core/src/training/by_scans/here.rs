//! Passes over rows that are all here, by several threads: where the sample holds every row, nobody else needs to scan them.

use std::ops::Range;

use crate::base::memory::{OutOfMemory, Room};
use crate::rows::batch::Batch;
use crate::scanning::{ScanPass, ScanSums};
use crate::training::threads::ThreadPool;

/// Who goes over them.
pub(super) struct Here {
    pool: ThreadPool,
    dense: usize,
    /// By thread its words, of whole rows.
    parts: Vec<Range<usize>>,
    running: Option<Running>,
}

/// A pass that is under way.
struct Running {
    pass: ScanPass,
    members: Vec<Member>,
}

/// A thread's part of it.
struct Member {
    left: Range<usize>,
    sums: ScanSums,
}

impl Here {
    /// So many threads over these rows.
    pub(super) fn new(words: &[u32], dense: usize, threads: usize) -> Result<Self, OutOfMemory> {
        let share = words.len().div_ceil(threads.max(1)).max(1);
        let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
        parts.room(threads.max(1))?;
        for row in Batch::new(words, dense) {
            at += row.values();
            if at - begin >= share {
                parts.push(begin..at);
                begin = at;
            }
        }
        if begin < at {
            parts.push(begin..at);
        }
        Ok(Self {
            pool: ThreadPool::new(parts.len().saturating_sub(1)),
            dense,
            parts,
            running: None,
        })
    }

    /// Whether a pass is under way.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Begins a pass.
    pub(super) fn begin(&mut self, pass: ScanPass) -> Result<(), OutOfMemory> {
        let mut members = Vec::new();
        members.room(self.parts.len())?;
        for part in &self.parts {
            let left = part.clone();
            members.push(Member {
                left,
                sums: pass.begin()?,
            });
        }
        self.running = Some(Running { pass, members });
        Ok(())
    }

    /// Has each thread go over about so many values; the sums, once all have been gone over.
    pub(super) fn step(&mut self, words: &[u32], budget: usize) -> Option<(ScanPass, ScanSums)> {
        let Running { pass, mut members } = self.running.take()?;
        let dense = self.dense;
        self.pool.side_by_side(&mut members, |member| {
            let begin = member.left.start;
            for row in Batch::new(&words[member.left.clone()], dense) {
                if member.left.start - begin >= budget {
                    return;
                }
                pass.add(&mut member.sums, &row);
                member.left.start += row.values();
            }
            member.sums.finish();
        });
        if members.iter().any(|member| !member.left.is_empty()) {
            self.running = Some(Running { pass, members });
            return None;
        }
        let mut all = members.into_iter().map(|member| member.sums);
        let mut sums = all.next()?;
        for more in all {
            sums.join(&more);
        }
        Some((pass, sums))
    }
}
