//! Messages between machines that are processes, through shared memory. Each machine writes its numbers into a slot of its own, and reads the
//! others' once all have written.
//!
//! ```text
//! word 0               whether one of them has ended early
//! words 8, 16, ...     by machine, for how many turns it has written
//! then                 by turn, even and odd, by machine its numbers
//! ```
//!
//! A turn is one message of each machine; a longer message takes several turns. What was written for a turn is overwritten two turns later:
//! a machine that writes for the next turn has read this one, and none begins the turn after that before all have written for the next. So
//! one wait a turn does. All combine the same numbers in the machines' order, so nothing has to be sent back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::interior::exchange::{Clock, Combine, Exchange, Halt, MachineTimes, Pivot};
use crate::interior::factoring::Share;
use crate::interior::machine::{work, Left, News, Orders};
use crate::interior::values::FactorSpool;
use crate::kernels::Rows;
use crate::linalg::lower::Lower;

/// Words between those that different machines write.
const LINE: usize = 8;
/// Numbers of a message, at most and at least.
const MOST: usize = 1 << 16;
const LEAST: usize = 64;
/// Looks for the others before it is worth to wait.
const LOOKS: u32 = 100;

/// How a machine waits for others.
pub trait Waits {
    /// Returns when `ready` says so, which may be so at once. Somebody notifies when that may have changed.
    fn until(&self, ready: &dyn Fn() -> bool);

    /// Wakes all that wait.
    fn notify(&self);
}

/// Where what stands.
#[derive(Debug, Clone, Copy)]
pub struct SlotsLayout {
    machines: usize,
    numbers: usize,
}

impl SlotsLayout {
    /// For so many machines, and a factor of so many columns.
    pub fn new(machines: usize, rank: usize) -> Self {
        let numbers = Lower::numbers(rank.saturating_add(1));
        Self {
            machines,
            numbers: numbers.clamp(LEAST, MOST),
        }
    }

    /// 64-bit words that it takes.
    pub fn words(&self) -> usize {
        LINE * (1 + self.machines) + 2 * self.machines * self.numbers
    }
}

/// A machine's view of the memory.
pub struct Slots<'a, W> {
    words: &'a [AtomicU64],
    layout: SlotsLayout,
    own: usize,
    /// Turns that it has written for.
    turn: u64,
    waits: W,
    clock: Clock,
    /// What another machine has written.
    other: Vec<f64>,
}

/// Prepares the memory; before any machine looks at it.
pub fn clear_slots(words: &[AtomicU64], layout: &SlotsLayout) {
    for word in &words[..LINE * (1 + layout.machines)] {
        word.store(0, Ordering::Relaxed);
    }
}

/// Works as one of the machines to the end; its rows of H go to the spool where there is one. The others learn of it when it ends
/// early.
pub fn work_in_slots<W: Waits>(
    orders: &Orders,
    share: Share,
    spool: Option<Box<dyn FactorSpool>>,
    mut slots: Slots<'_, W>,
    tell: impl FnMut(News),
) -> Result<Left, Halt> {
    let result = work(orders, share, spool, &mut slots, tell);
    if result.is_err() {
        slots.words[0].store(1, Ordering::Release);
        slots.waits.notify();
    }
    result
}

impl<'a, W: Waits> Slots<'a, W> {
    /// Of this machine, in memory of that layout.
    pub fn new(
        words: &'a [AtomicU64],
        layout: SlotsLayout,
        own: usize,
        waits: W,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            words,
            own,
            turn: 0,
            waits,
            clock: Clock::default(),
            other: filled(0.0, layout.numbers)?,
            layout,
        })
    }

    /// Where a machine writes in this turn.
    fn place(&self, machine: usize, turn: u64) -> &'a [AtomicU64] {
        let SlotsLayout { machines, numbers } = self.layout;
        let at = (turn % 2) as usize * machines + machine;
        &self.words[LINE * (1 + machines) + at * numbers..][..numbers]
    }

    fn written(&self, machine: usize) -> &'a AtomicU64 {
        &self.words[LINE * (1 + machine)]
    }

    /// Writes for the next turn; what is no number of its own goes by its bits.
    fn write(&self, bits: impl Iterator<Item = u64>) {
        let place = self.place(self.own, self.turn + 1);
        for (word, bits) in place.iter().zip(bits) {
            word.store(bits, Ordering::Relaxed);
        }
    }

    /// Ends the turn: waits until all have written for it.
    fn turn_over(&mut self) -> Result<(), Halt> {
        self.turn += 1;
        let (turn, machines) = (self.turn, self.layout.machines);
        self.written(self.own).store(turn, Ordering::Release);
        let began = Instant::now();
        let all = || (0..machines).all(|it| self.written(it).load(Ordering::Acquire) >= turn);
        let ready = || all() || self.words[0].load(Ordering::Acquire) != 0;
        self.waits.notify();
        let looks = (0..LOOKS).any(|_| {
            std::hint::spin_loop();
            ready()
        });
        if !looks {
            self.waits.until(&ready);
        }
        let written = all();
        self.clock.waiting += began.elapsed();
        if written {
            Ok(())
        } else {
            Err(Halt::Left)
        }
    }

    fn talk<T>(&mut self, talk: impl FnOnce(&mut Self) -> Result<T, Halt>) -> Result<T, Halt> {
        let (began, waited) = (Instant::now(), self.clock.waiting);
        let said = talk(self);
        self.clock.talked(began, waited);
        said
    }

    /// Numbers of all machines, as many as fit a message.
    fn combine_some(&mut self, own: &mut [f64], how: Combine) -> Result<(), Halt> {
        self.write(own.iter().map(|number| number.to_bits()));
        self.turn_over()?;
        for machine in 0..self.layout.machines {
            let place = self.place(machine, self.turn);
            let other = &mut self.other[..own.len()];
            for (number, word) in other.iter_mut().zip(place) {
                *number = f64::from_bits(word.load(Ordering::Relaxed));
            }
            match machine {
                0 => own.copy_from_slice(other),
                _ => how.take(own, other),
            }
        }
        Ok(())
    }

    /// What machine `from` has to say, in its words.
    fn hear(&mut self, from: usize) -> Result<Vec<u64>, Halt> {
        let mut heard = Vec::new();
        loop {
            self.turn_over()?;
            let place = self.place(from, self.turn);
            let word = |at: usize| place[at].load(Ordering::Relaxed);
            let (left, most) = (word(0) as usize, place.len() - 1);
            let some = left.min(most);
            heard.room(some)?.extend((1..=some).map(word));
            if left <= most {
                return Ok(heard);
            }
        }
    }

    fn say(&mut self, words: &[u64]) -> Result<(), Halt> {
        let most = self.layout.numbers - 1;
        let mut left = words;
        loop {
            let some = left.len().min(most);
            let length = std::iter::once(left.len() as u64);
            self.write(length.chain(left[..some].iter().copied()));
            self.turn_over()?;
            left = &left[some..];
            if left.is_empty() {
                return Ok(());
            }
        }
    }
}

impl<W: Waits> Exchange for Slots<'_, W> {
    fn own(&self) -> usize {
        self.own
    }

    fn machines(&self) -> usize {
        self.layout.machines
    }

    fn combine(&mut self, own: &mut [f64], how: Combine) -> Result<(), Halt> {
        if self.machines() == 1 {
            return Ok(());
        }
        let most = self.layout.numbers;
        self.talk(|this| {
            let mut parts = own.chunks_mut(most);
            parts.try_for_each(|part| this.combine_some(part, how))
        })
    }

    fn spread(&mut self, from: usize, own: Option<Pivot>) -> Result<Arc<Pivot>, Halt> {
        self.talk(|this| match own {
            Some(pivot) => {
                if this.machines() > 1 {
                    this.say(&pivot_words(&pivot)?)?;
                }
                Ok(Arc::new(pivot))
            }
            None => Ok(Arc::new(pivot_of(&this.hear(from)?)?)),
        })
    }

    fn times(&self, began: Instant) -> MachineTimes {
        self.clock.times(began)
    }
}

/// A pivot in words: how many factors, dense values and sparse entries, then those.
fn pivot_words(pivot: &Pivot) -> Result<Vec<u64>, OutOfMemory> {
    let (dense, sparse) = (pivot.features.dense(0), pivot.features.sparse(0));
    let counts = [pivot.factors.len(), dense.len(), sparse.len()];
    let mut words = Vec::new();
    words.room(counts.len() + counts.iter().sum::<usize>())?;
    words.extend(counts.map(|count| count as u64));
    words.extend(pivot.factors.iter().map(|factor| factor.to_bits()));
    words.extend(dense.iter().map(|value| u64::from(value.to_bits())));
    let entries = sparse.iter();
    words.extend(entries.map(|[feature, bits]| u64::from(*feature) << 32 | u64::from(*bits)));
    Ok(words)
}

fn pivot_of(words: &[u64]) -> Result<Pivot, Halt> {
    let [factors, dense, sparse, rest @ ..] = words else {
        return Err(Halt::Left);
    };
    let counts = [*factors, *dense, *sparse].map(|count| count as usize);
    if counts.iter().sum::<usize>() != rest.len() {
        return Err(Halt::Left);
    }
    let (factors, rest) = rest.split_at(counts[0]);
    let (dense, sparse) = rest.split_at(counts[1]);
    let dense = gathered(dense.iter().map(|bits| f32::from_bits(*bits as u32)))?;
    let sparse = gathered(sparse.iter().map(|it| [(it >> 32) as u32, *it as u32]))?;
    let mut features = Rows::new(dense.len());
    features.push(&dense, &sparse)?;
    Ok(Pivot {
        features,
        factors: gathered(factors.iter().map(|bits| f64::from_bits(*bits)))?,
    })
}

#[cfg(test)]
mod tests {
    use parking_lot::{Condvar, Mutex};
    use std::time::Duration;

    use super::*;
    use crate::interior::exchange::combined;

    /// Threads that wait as processes would.
    #[derive(Default)]
    struct Bell(Mutex<()>, Condvar);

    impl Waits for &Bell {
        fn until(&self, ready: &dyn Fn() -> bool) {
            let mut guard = self.0.lock();
            while !ready() {
                self.1.wait_for(&mut guard, Duration::from_millis(5));
            }
        }

        fn notify(&self) {
            self.1.notify_all();
        }
    }

    fn memory(layout: &SlotsLayout) -> Vec<AtomicU64> {
        let mut words = Vec::new();
        words.resize_with(layout.words(), || AtomicU64::new(u64::MAX));
        clear_slots(&words, layout);
        words
    }

    fn with_machines(machines: usize, rank: usize, work: impl Fn(Slots<'_, &Bell>) + Sync) {
        let layout = SlotsLayout::new(machines, rank);
        let (words, bell) = (memory(&layout), Bell::default());
        std::thread::scope(|scope| {
            for own in 0..machines {
                let slots = Slots::new(&words, layout, own, &bell).unwrap();
                scope.spawn(|| work(slots));
            }
        });
    }

    #[test]
    fn messages_longer_than_a_slot_are_combined_over_all() {
        for machines in [1, 2, 5] {
            with_machines(machines, 1, |mut it| {
                let (own, all) = (it.own(), machines as f64);
                for round in 0..20 {
                    let mut numbers: Vec<f64> =
                        (0..1000).map(|i| (i * own + round) as f64).collect();
                    it.combine(&mut numbers, Combine::Sum).unwrap();
                    let owns = (0..machines).sum::<usize>() as f64;
                    for (i, number) in numbers.iter().enumerate() {
                        assert_eq!(*number, i as f64 * owns + round as f64 * all);
                    }
                    let least = combined(&mut it, [own as f64, -(own as f64)], Combine::Least);
                    assert_eq!(least.unwrap(), [0.0, 1.0 - all]);
                    let greatest = [1.0, 10.0 - own as f64, 1.0];
                    let greatest = combined(&mut it, greatest, Combine::Pivot).unwrap();
                    assert_eq!(greatest, [1.0, 11.0 - all, all]);
                }
            });
        }
    }

    #[test]
    fn pivots_of_any_length_reach_all_from_every_machine() {
        for entries in [0, 3, 500] {
            with_machines(3, 1, |mut it| {
                for from in [2, 0, 1, 1, 2] {
                    let sparse: Vec<[u32; 2]> = (0..entries)
                        .map(|i| [2 + i, (i as f32).to_bits()])
                        .collect();
                    let own = (it.own() == from).then(|| {
                        let mut features = Rows::new(2);
                        features.push(&[-1.5, from as f32], &sparse).unwrap();
                        let factors = vec![7.0; 40];
                        Pivot { features, factors }
                    });
                    let pivot = it.spread(from, own).unwrap();
                    assert_eq!(pivot.features.dense(0), [-1.5, from as f32]);
                    assert_eq!(pivot.features.sparse(0), sparse);
                    assert_eq!(pivot.factors, [7.0; 40]);
                }
            });
        }
    }

    #[test]
    fn whoever_leaves_lets_nobody_wait() {
        let layout = SlotsLayout::new(2, 1);
        let (words, bell) = (memory(&layout), Bell::default());
        words[0].store(1, Ordering::Release);
        let mut slots = Slots::new(&words, layout, 0, &bell).unwrap();
        let left = combined(&mut slots, [1.0], Combine::Sum);
        assert_eq!(left, Err(Halt::Left));
    }
}
