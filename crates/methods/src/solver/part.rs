//! Heads that rows are shown to: all of them, or a part, which another thread shows the same rows to at the same time.
//!
//! Heads know nothing of each other: each has weights, dual variables and sums of its own. So they can be dealt out among threads
//! without any loss. What is learned of the columns is learned by the first part, which sees all rows as any other does.

use super::{Heads, Solver};
use crate::base::memory::{OutOfMemory, Room};
use crate::rows::blocks::Blocks;
use crate::rows::map::RowMap;
use crate::rows::row::Row;
use crate::simd::{Isa, Real};
use crate::solver::certificate::state::HeadState;
use crate::solver::driver::{TakesBlocks, TakesRows};
use crate::solver::joint::JointHeads;
use crate::solver::ledger::Ledgers;
use crate::solver::proximal::moments::Moments;
use crate::solver::single::head::Head;

pub struct Part<'a, T> {
    heads: Heads<&'a mut [Head<T>], &'a mut [JointHeads]>,
    /// The number of the first head, and from one to the next.
    numbers: (usize, usize),
    moments: Option<&'a mut Moments>,
    /// Whether a verifying pass learns of the columns too.
    sets_out: bool,
}

impl<T: Real> Solver<T> {
    /// All heads.
    #[inline(always)]
    pub fn whole(&mut self) -> Part<'_, T> {
        Part {
            numbers: (0, 1),
            sets_out: self.sets_out(),
            moments: self.scales.moments.as_mut(),
            heads: match &mut self.heads {
                Heads::Single(heads) => Heads::Single(&mut heads.heads),
                Heads::Joint(heads) => Heads::Joint(&mut heads.groups),
            },
        }
    }

    /// Parts into which heads are dealt out among so many trainers; None where rows are divided instead. Where heads are as many
    /// as trainers, or more, rows never are: it makes no difference then how many trainers there are.
    pub fn dealt(&self, trainers: usize) -> Option<usize> {
        let running = self.running_heads();
        match &self.heads {
            Heads::Joint(heads) => Some(heads.running_groups()),
            Heads::Single(heads) if heads.heads.len() >= trainers || !heads.divisible() => {
                Some(running.min(trainers))
            }
            Heads::Single(_) => None,
        }
    }

    /// The parts; all heads in one where rows are divided.
    pub fn parts(&mut self, trainers: usize) -> Result<Vec<Part<'_, T>>, OutOfMemory> {
        let (count, running) = (self.dealt(trainers).unwrap_or(1), self.running_heads());
        let sets_out = self.sets_out();
        let mut moments = self.scales.moments.as_mut();
        let mut part = |heads, numbers| Part {
            heads,
            numbers,
            moments: moments.take(),
            sets_out,
        };
        let mut parts = Vec::new();
        parts.room(count)?;
        match &mut self.heads {
            Heads::Joint(heads) => {
                let groups = heads.groups.len();
                for (number, group) in heads.groups.chunks_mut(1).enumerate() {
                    if group[0].runs() {
                        parts.push(part(Heads::Joint(group), (number, groups)));
                    }
                }
            }
            Heads::Single(heads) => {
                let (mut rest, mut first) = (&mut heads.heads[..], 0);
                for number in 0..count {
                    let own = running * (number + 1) / count - running * number / count;
                    let (some, others) = rest.split_at_mut(ends_behind(rest, own));
                    rest = others;
                    let behind = first + some.len();
                    parts.push(part(Heads::Single(some), (first, 1)));
                    first = behind;
                }
            }
        }
        Ok(parts)
    }
}

/// Where so many heads that run have gone by.
fn ends_behind<T: Real>(heads: &[Head<T>], running: usize) -> usize {
    let mut places = (0..heads.len()).filter(|place| heads[*place].state.runs());
    match running {
        0 => 0,
        _ => places.nth(running - 1).map_or(heads.len(), |it| it + 1),
    }
}

impl<T: Real> Part<'_, T> {
    /// Visits blocks of rows of the arena, all rows in a full pass and else those of the active set. Gives back how many of the
    /// blocks and values that was, whatever the number of heads: about `budget` values, but at least a block.
    #[inline(always)]
    pub fn visit_blocks<K: Isa, const FULL: bool>(
        &mut self,
        blocks: Blocks<'_, impl RowMap>,
        budget: usize,
    ) -> (usize, usize) {
        let (mut done, mut values) = (0, 0);
        let at_a_time = ask!(&self.heads, heads => heads.blocks_at_a_time(FULL));
        while done < blocks.numbers.len() && (done == 0 || values < budget) {
            let end = (done + at_a_time).min(blocks.numbers.len());
            let some = Blocks {
                numbers: &blocks.numbers[done..end],
                ..blocks
            };
            if let (true, Some(moments)) = (FULL, &mut self.moments) {
                moments.learn_blocks(some);
            }
            values += ask!(&mut self.heads, heads => heads.visit_blocks::<K, FULL>(some));
            done = end;
        }
        (done, values)
    }

    /// Checks the rows of these blocks in a verifying pass, or only those with a > 0 in some head. Gives back how many
    /// of the blocks and values that was: about `budget` values, but at least a block.
    #[inline(always)]
    pub fn check_blocks<K: Isa>(
        &mut self,
        blocks: Blocks<'_, impl RowMap>,
        everything: bool,
        budget: usize,
    ) -> (usize, usize) {
        let mut values = 0;
        for place in 0..blocks.numbers.len() {
            if values >= budget {
                return (place, values);
            }
            if self.sets_out {
                let numbers = &blocks.numbers[place..=place];
                self.learn_blocks(Blocks { numbers, ..blocks });
            }
            let (first, rows) = blocks.rows(place);
            let slots = first..first + rows.count_ones() as usize;
            let page = blocks.page;
            values +=
                ask!(&mut self.heads, heads => heads.check_slots::<K>(page, slots, everything));
        }
        (blocks.numbers.len(), values)
    }

    /// Has column scales learned from the rows of these blocks.
    #[inline(always)]
    fn learn_blocks(&mut self, blocks: Blocks<'_, impl RowMap>) {
        if let Some(moments) = &mut self.moments {
            moments.learn_blocks(blocks);
        }
        ask!(&mut self.heads, heads => heads.learn_blocks(blocks));
    }

    /// The same from one row.
    #[inline(always)]
    fn learn_row(&mut self, row: &Row<'_>) {
        if let Some(moments) = &mut self.moments {
            moments.learn_one(row);
        }
        ask!(&mut self.heads, heads => heads.learn_row(row));
    }
}

impl<T: Real> TakesRows for Part<'_, T> {
    #[inline(always)]
    fn visit_full<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        if let Some(moments) = &mut self.moments {
            moments.learn_one(row);
        }
        ask!(&mut self.heads, heads => heads.visit_full::<K>(row, margin))
    }

    #[inline(always)]
    fn visit_active<K: Isa>(&mut self, row: &Row<'_>, margin: f64) -> bool {
        ask!(&mut self.heads, heads => heads.visit_active::<K>(row, margin))
    }

    #[inline(always)]
    fn visit_graded<K: Isa>(&mut self, row: &Row<'_>, margins: &[f64]) -> usize {
        ask!(&mut self.heads, heads => heads.visit_graded::<K>(row, margins))
    }

    #[inline(always)]
    fn measure<K: Isa>(&mut self, row: &Row<'_>) {
        ask!(&mut self.heads, heads => heads.measure::<K>(row));
    }

    #[inline(always)]
    fn check<K: Isa>(&mut self, row: &Row<'_>) {
        if self.sets_out {
            self.learn_row(row);
        }
        ask!(&mut self.heads, heads => heads.check::<K>(row));
    }

    #[inline(always)]
    fn shrunk(&self, ordinal: usize) -> bool {
        ask!(&self.heads, heads => heads.shrunk(ordinal))
    }

    #[inline(always)]
    fn scattered(&self) -> bool {
        ask!(&self.heads, heads => heads.scattered())
    }

    #[inline(always)]
    fn ask<const FULL: bool>(&mut self, row: &Row<'_>) {
        ask!(&mut self.heads, heads => heads.ask::<FULL>(row));
    }
}

/// Heads of a part that take turns in active passes. Only those side by side do.
impl<T: Real> Part<'_, T> {
    /// The next head's turn, its number given back; None behind the last.
    pub fn next_turn(&mut self) -> Result<Option<usize>, OutOfMemory> {
        let Heads::Joint([heads]) = &mut self.heads else {
            return Ok(None);
        };
        let (first, step) = self.numbers;
        Ok(heads.turn_to_next()?.map(|head| first + step * head))
    }

    /// The state of the head whose turn it is.
    fn in_turn(&self) -> Option<&HeadState> {
        match &self.heads {
            Heads::Joint([heads]) => heads.in_turn(),
            _ => None,
        }
    }

    /// Bits of the rows `64 n..64 (n + 1)` in its active set.
    pub fn active(&self, n: usize) -> u64 {
        match &self.heads {
            Heads::Joint([heads]) => heads.active_word(n),
            _ => 0,
        }
    }

    /// How many times as long as at first its active passes may go on.
    pub fn patience(&self) -> usize {
        self.in_turn().map_or(1, HeadState::patience)
    }

    /// Its visits so far.
    pub fn visits_in_turn(&self) -> u64 {
        self.in_turn().map_or(0, |state| state.sums.visits)
    }

    pub fn begin_active(&mut self) {
        if let Heads::Joint([heads]) = &mut self.heads {
            heads.start_active();
        }
    }

    /// Whether it seems to have arrived at the end of an active pass.
    pub fn seems_to_arrive(&mut self) -> bool {
        if let Heads::Joint([heads]) = &mut self.heads {
            heads.estimate();
        }
        self.in_turn().is_some_and(HeadState::wants_proof)
    }

    pub fn end_active(&mut self) -> Result<(), OutOfMemory> {
        match &mut self.heads {
            Heads::Joint([heads]) => heads.finish_active(),
            _ => Ok(()),
        }
    }
}
