//! Machines as processes are: each works in memory that all see, this thread is the first of them.

use parking_lot::{Condvar, Mutex};
use pgsvm_core::{
    clear_slots, work_in_slots, Crew, CrewState, FactorSpool, Halt, MachineLeft, MachineNews,
    Orders, OutOfMemory, PackedRow, Share, Slots, SlotsLayout, Waits,
};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

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

/// A spool in memory.
#[derive(Default)]
struct Spooled(Vec<u8>);

impl FactorSpool for Spooled {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Halt> {
        let position = self.0.len() as u64;
        self.0.extend_from_slice(bytes);
        Ok(position)
    }

    fn read(&mut self, position: u64, from: usize, bytes: &mut [u8]) -> Result<(), Halt> {
        let from = position as usize + from;
        bytes.copy_from_slice(&self.0[from..from + bytes.len()]);
        Ok(())
    }
}

fn spool(orders: &Orders) -> Option<Box<dyn FactorSpool>> {
    let spool = || Box::new(Spooled::default()) as Box<dyn FactorSpool>;
    orders.spooled().then(spool)
}

pub struct SharedMachines {
    machines: usize,
    orders: Option<Orders>,
    shares: Vec<Share>,
}

impl SharedMachines {
    pub fn new(machines: usize) -> Self {
        Self {
            machines,
            orders: None,
            shares: Vec::new(),
        }
    }

    /// What is left of each.
    fn work(&mut self, tell: &mut dyn FnMut(MachineNews)) -> Vec<Result<MachineLeft, Halt>> {
        let orders = self.orders.take().unwrap();
        let layout = SlotsLayout::new(self.machines, orders.rank());
        let mut words = Vec::new();
        words.resize_with(layout.words(), || AtomicU64::new(u64::MAX));
        clear_slots(&words, &layout);
        let bell = Bell::default();
        let slots = |own| Slots::new(&words, layout, own, &bell).unwrap();
        let mut shares = std::mem::take(&mut self.shares).into_iter().enumerate();
        let (_, first) = shares.next().unwrap();
        let (orders, slots) = (&orders, &slots);
        std::thread::scope(|scope| {
            let work = |(own, share)| {
                scope.spawn(move || work_in_slots(orders, share, spool(orders), slots(own), |_| ()))
            };
            let others: Vec<_> = shares.map(work).collect();
            let own = work_in_slots(orders, first, spool(orders), slots(0), tell);
            let others = others.into_iter().map(|it| it.join().unwrap());
            std::iter::once(own).chain(others).collect()
        })
    }
}

impl Crew for SharedMachines {
    fn begin(&mut self, orders: Orders, width: usize) -> Result<(), Halt> {
        self.orders = Some(orders);
        self.shares = (0..self.machines).map(|_| Share::new(width)).collect();
        Ok(())
    }

    fn machines(&self) -> usize {
        self.machines
    }

    fn expect_rows(&mut self) -> Result<(), OutOfMemory> {
        Ok(())
    }

    fn take(&mut self, machine: usize, row: &PackedRow<'_>) -> Result<(), OutOfMemory> {
        let features = (row.dense(), row.sparse());
        let offset = row.has_offset().then(|| row.offset());
        self.shares[machine].push(features, row.group() as u32, (row.cost(), offset))
    }

    fn can_spool(&self) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        self.shares.iter().map(Share::bytes).sum()
    }

    fn start(&mut self) -> Result<(), Halt> {
        Ok(())
    }

    fn listen(&mut self, tell: &mut dyn FnMut(MachineNews)) -> CrewState {
        let mut left = Vec::new();
        let mut halt: Option<Halt> = None;
        for one in self.work(tell) {
            match (one, halt.take()) {
                (Ok(one), _) => left.push(one),
                (Err(error), Some(known)) => halt = Some(known.or(error)),
                (Err(error), None) => halt = Some(error),
            }
        }
        halt.map_or(CrewState::Left(left), CrewState::Halted)
    }
}
