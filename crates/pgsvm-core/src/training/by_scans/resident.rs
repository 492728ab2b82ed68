//! Passes over rows that are in memory, by several threads where these are all: where the sample holds every row, no other process needs to
//! scan them.
//!
//! Each row's outputs at the best weights and the newest are kept, 16 bytes a row and head, or class where classes are told apart
//! together: a pass along the line takes one product, and one for a plane none, and only rows within the margin are added up (libocas
//! does the same). Where they have no room, passes take all products.

use std::ops::Range;

use crate::base::memory::{filled, OutOfMemory, Room};
use crate::rows::batch::Batch;
use crate::scanning::{RowsHere, ScanPass, ScanSums};
use crate::solver::bundle::pass::Outputs;
use crate::training::threads::ThreadPool;

/// Who reads them.
pub(super) struct ResidentRows {
    pool: ThreadPool,
    dense: usize,
    /// By thread its words, of whole rows.
    parts: Vec<Part>,
    /// Outputs of a row that are kept; 0: none.
    each: usize,
    running: Option<Running>,
}

/// The rows of a thread.
struct Part {
    words: Range<usize>,
    rows: usize,
    /// Row by row; with the thread while a pass is under way.
    outputs: Vec<Outputs>,
}

impl Part {
    fn of(words: Range<usize>, rows: usize) -> Self {
        Self {
            words,
            rows,
            outputs: Vec::new(),
        }
    }
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
    outputs: Vec<Outputs>,
    /// Rows so far.
    rows: usize,
}

impl ResidentRows {
    /// So many threads over these rows.
    pub(super) fn new(words: &[u32], dense: usize, threads: usize) -> Result<Self, OutOfMemory> {
        let share = words.len().div_ceil(threads.max(1)).max(1);
        let (mut parts, mut begin, mut at, mut rows) = (Vec::new(), 0, 0, 0);
        parts.room(threads.max(1))?;
        for row in Batch::new(words, dense) {
            at += row.values();
            rows += 1;
            if at - begin >= share {
                parts.push(Part::of(begin..at, rows));
                (begin, rows) = (at, 0);
            }
        }
        if begin < at {
            parts.push(Part::of(begin..at, rows));
        }
        Ok(Self {
            pool: ThreadPool::new(parts.len().saturating_sub(1)),
            dense,
            parts,
            each: 0,
            running: None,
        })
    }

    /// Keeps so many outputs of each row from pass to pass, where they take no more than so many bytes and there is that memory.
    pub(super) fn keep(&mut self, each: usize, bytes: usize) {
        let rows: usize = self.parts.iter().map(|part| part.rows).sum();
        if rows * each * size_of::<Outputs>() > bytes {
            return;
        }
        for part in &mut self.parts {
            let Ok(outputs) = filled(Outputs::default(), part.rows * each) else {
                self.parts
                    .iter_mut()
                    .for_each(|part| part.outputs = Vec::new());
                return;
            };
            part.outputs = outputs;
        }
        self.each = each;
    }

    /// Whether a pass is under way.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Begins a pass.
    pub(super) fn begin(&mut self, pass: ScanPass) -> Result<(), OutOfMemory> {
        let mut members = Vec::new();
        members.room(self.parts.len())?;
        for part in &mut self.parts {
            let sums = pass.begin()?;
            members.push(Member {
                left: part.words.clone(),
                sums,
                outputs: std::mem::take(&mut part.outputs),
                rows: 0,
            });
        }
        self.running = Some(Running { pass, members });
        Ok(())
    }

    /// Has each thread multiply about so many values; the sums, once all have been read.
    pub(super) fn step(&mut self, words: &[u32], budget: usize) -> Option<(ScanPass, ScanSums)> {
        let Running { pass, mut members } = self.running.take()?;
        let (dense, each) = (self.dense, self.each);
        let budget = (budget / pass.products().max(1)).max(1);
        self.pool.side_by_side(&mut members, |member| {
            let words = &words[member.left.clone()];
            member.go_over(&pass, (words, dense, each), budget);
        });
        if members.iter().any(|member| !member.left.is_empty()) {
            self.running = Some(Running { pass, members });
            return None;
        }
        for (part, member) in self.parts.iter_mut().zip(&mut members) {
            part.outputs = std::mem::take(&mut member.outputs);
        }
        let mut all = members.into_iter().map(|member| member.sums);
        let mut sums = all.next()?;
        for more in all {
            sums.join(&more);
        }
        Some((pass, sums))
    }
}

impl Member {
    /// Reads about so many values more of these words.
    fn go_over(
        &mut self,
        pass: &ScanPass,
        (words, dense, each): (&[u32], usize, usize),
        budget: usize,
    ) {
        let rows = RowsHere {
            words,
            dense,
            outputs: &mut self.outputs[self.rows * each..],
            each,
        };
        let (rows, values) = pass.add_here(&mut self.sums, rows, budget);
        self.rows += rows;
        self.left.start += values;
        if self.left.is_empty() {
            self.sums.finish();
        }
    }
}
