//! What machines send each other: numbers that are combined over all machines, and the row of a pivot. A machine sees nothing else of
//! another. [`Exchange`] is the interface; [`Channels`] implements it for threads of one process, [`crate::interior::slots`] for processes.
//!
//! Numbers go to the master, machine 0, which combines them in the machines' order, so the outcome does not depend on which comes first.
//! The master sends the result to all. The machine that has a pivot's row sends it to all others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{unbounded, Receiver, Sender};

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, OutOfMemory};
use crate::kernels::{KernelError, Rows};

/// Why a machine ends before its work is done.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Halt {
    /// Another one has.
    Left,
    Kernel(KernelError),
    OutOfMemory(OutOfMemory),
    /// The system has no more of them.
    NoMachine,
}

impl Halt {
    /// Of two machines' reasons the one that says more: those that say that another one has ended do not know why.
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Left => other,
            known => known,
        }
    }
}

impl From<OutOfMemory> for Halt {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl From<KernelError> for Halt {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error)
    }
}

/// How the numbers of machines become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combine {
    Sum,
    /// Each the least.
    Least,
    /// The first two are a value and where it stands, of which the greatest value is taken, of equals the first; the others
    /// are sums.
    Pivot,
}

impl Combine {
    pub(super) fn take(self, all: &mut [f64], other: &[f64]) {
        match self {
            Self::Sum => add(all, other),
            Self::Least => {
                for (least, other) in all.iter_mut().zip(other) {
                    *least = least.min(*other);
                }
            }
            Self::Pivot => {
                let (pivot, sums) = all.split_at_mut(2);
                let earlier = other[0] == pivot[0] && other[1] < pivot[1];
                if other[0] > pivot[0] || earlier {
                    pivot.copy_from_slice(&other[..2]);
                }
                add(sums, &other[2..]);
            }
        }
    }
}

fn add(sums: &mut [f64], other: &[f64]) {
    for (sum, other) in sums.iter_mut().zip(other) {
        *sum += other;
    }
}

/// A pivot: its features, and its row of H up to the column on the diagonal.
#[derive(Debug)]
pub(super) struct Pivot {
    pub(super) features: Rows,
    pub(super) factors: Vec<f64>,
}

/// What a machine knows of the others.
pub(super) trait Exchange {
    /// Which of the machines this one is, from 0, and how many there are.
    fn own(&self) -> usize;
    fn machines(&self) -> usize;

    /// The numbers of all machines in one, in place of its own; each machine has as many.
    fn combine(&mut self, own: &mut [f64], how: Combine) -> Result<(), Halt>;

    /// The pivot of machine `from`, which has it.
    fn spread(&mut self, from: usize, own: Option<Pivot>) -> Result<Arc<Pivot>, Halt>;

    /// What the time since `began` went into.
    fn times(&self, began: Instant) -> MachineTimes;
}

enum Packet {
    Numbers(Arc<Vec<f64>>),
    Pivot(Arc<Pivot>),
}

/// How long a machine has worked and talked, and what it has held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineTimes {
    /// Seconds on its own rows, and as the master on sums.
    pub computing: f64,
    /// Seconds that went into messages.
    pub exchanging: f64,
    /// Seconds for which it waited for others.
    pub waiting: f64,
    /// Bytes of its rows, its part of the factor, its vectors and matrices, at most at a time.
    pub bytes: u64,
}

/// What of a machine's time did not go into computing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    pub(super) exchanging: Duration,
    pub(super) waiting: Duration,
}

impl Clock {
    pub(super) fn times(&self, began: Instant) -> MachineTimes {
        let computing = began
            .elapsed()
            .saturating_sub(self.exchanging + self.waiting);
        MachineTimes {
            computing: computing.as_secs_f64(),
            exchanging: self.exchanging.as_secs_f64(),
            waiting: self.waiting.as_secs_f64(),
            bytes: 0,
        }
    }

    /// Counts what has passed since `began`, at a time when it had waited for `waited`, as exchange but for the waiting.
    pub(super) fn talked(&mut self, began: Instant, waited: Duration) {
        self.exchanging += began.elapsed().saturating_sub(self.waiting - waited);
    }
}

/// Channels between each two machines.
pub(super) struct Channels {
    own: usize,
    to: Vec<Sender<Packet>>,
    from: Vec<Receiver<Packet>>,
    clock: Clock,
}

impl Channels {
    /// For so many machines, one for each.
    pub(super) fn between(machines: usize) -> Vec<Self> {
        let mut all: Vec<Self> = (0..machines).map(Self::new).collect();
        for from in 0..machines {
            for to in 0..machines {
                let (sender, receiver) = unbounded();
                all[from].to.push(sender);
                all[to].from.push(receiver);
            }
        }
        all
    }

    fn new(own: usize) -> Self {
        Self {
            own,
            to: Vec::new(),
            from: Vec::new(),
            clock: Clock::default(),
        }
    }

    fn send(&self, to: usize, packet: Packet) -> Result<(), Halt> {
        self.to[to].send(packet).map_err(|_| Halt::Left)
    }

    fn send_others(&self, packet: impl Fn() -> Packet) -> Result<(), Halt> {
        let mut others = (0..self.to.len()).filter(|other| *other != self.own);
        others.try_for_each(|other| self.send(other, packet()))
    }

    fn receive(&mut self, from: usize) -> Result<Packet, Halt> {
        let began = Instant::now();
        let packet = self.from[from].recv().map_err(|_| Halt::Left);
        self.clock.waiting += began.elapsed();
        packet
    }

    fn numbers(&mut self, from: usize) -> Result<Arc<Vec<f64>>, Halt> {
        match self.receive(from)? {
            Packet::Numbers(numbers) => Ok(numbers),
            // machines do the same in the same order
            Packet::Pivot(_) => Err(Halt::Left),
        }
    }

    fn talk<T>(&mut self, talk: impl FnOnce(&mut Self) -> Result<T, Halt>) -> Result<T, Halt> {
        let (began, waited) = (Instant::now(), self.clock.waiting);
        let said = talk(self);
        self.clock.talked(began, waited);
        said
    }
}

impl Exchange for Channels {
    fn own(&self) -> usize {
        self.own
    }

    fn machines(&self) -> usize {
        self.to.len()
    }

    fn combine(&mut self, own: &mut [f64], how: Combine) -> Result<(), Halt> {
        if self.machines() == 1 {
            return Ok(());
        }
        self.talk(|this| match this.own {
            0 => {
                for other in 1..this.machines() {
                    how.take(own, &this.numbers(other)?);
                }
                let all = Arc::new(copied(own)?);
                this.send_others(|| Packet::Numbers(Arc::clone(&all)))
            }
            _ => {
                this.send(0, Packet::Numbers(Arc::new(copied(own)?)))?;
                own.copy_from_slice(&this.numbers(0)?);
                Ok(())
            }
        })
    }

    fn spread(&mut self, from: usize, own: Option<Pivot>) -> Result<Arc<Pivot>, Halt> {
        self.talk(|this| match own {
            Some(pivot) => {
                let pivot = Arc::new(pivot);
                this.send_others(|| Packet::Pivot(Arc::clone(&pivot)))?;
                Ok(pivot)
            }
            None => match this.receive(from)? {
                Packet::Pivot(pivot) => Ok(pivot),
                Packet::Numbers(_) => Err(Halt::Left),
            },
        })
    }

    fn times(&self, began: Instant) -> MachineTimes {
        self.clock.times(began)
    }
}

/// One number of each machine in one.
pub(super) fn combined<const N: usize>(
    exchange: &mut impl Exchange,
    mut own: [f64; N],
    how: Combine,
) -> Result<[f64; N], Halt> {
    exchange.combine(&mut own, how)?;
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_combined_over_all_and_pivots_reach_all() {
        for machines in [1, 2, 5] {
            std::thread::scope(|scope| {
                for mut it in Channels::between(machines) {
                    scope.spawn(move || {
                        let (own, all) = (it.own() as f64, machines as f64);
                        let sums = combined(&mut it, [own, 1.0], Combine::Sum).unwrap();
                        assert_eq!(sums, [all * (all - 1.0) / 2.0, all]);
                        let least = combined(&mut it, [own, -own], Combine::Least).unwrap();
                        assert_eq!(least, [0.0, 1.0 - all]);
                        let greatest =
                            combined(&mut it, [1.0, 10.0 - own, own], Combine::Pivot).unwrap();
                        assert_eq!(greatest, [1.0, 11.0 - all, sums[0]]);
                        let from = machines - 1;
                        let pivot = (it.own() == from).then(|| Pivot {
                            features: Rows::new(0),
                            factors: vec![7.0],
                        });
                        assert_eq!(it.spread(from, pivot).unwrap().factors, [7.0]);
                    });
                }
            });
        }
    }

    #[test]
    fn whoever_leaves_lets_nobody_wait() {
        let mut both = Channels::between(2);
        drop(both.pop());
        let left = combined(&mut both[0], [1.0], Combine::Sum);
        assert_eq!(left, Err(Halt::Left));
    }
}
