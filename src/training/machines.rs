//! PSVM's machines as processes: this backend is the first of them, PostgreSQL's parallel workers are the others. The backend
//! deals out rows through a queue to each; what machines send each other goes through shared memory (`pgsvm_core::Slots`), and
//! what a worker leaves behind comes back through another queue. A worker sees its own rows alone, and calls nothing of
//! PostgreSQL's but to wait.
//!
//! Workers that are not to be had make machines fewer. An error, a cancel or a termination of one process is an error of the
//! backend, whose abort ends the others, wherever they wait.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::pg::check_for_interrupts;
use crate::pg::memory_ends::prepared;
use crate::pg::parallel::{self, SharedPlan, WorkerGroup};
use crate::pg::queue::{self, Receiver, Sender};
use crate::pg::wait::WakeUp;
use crate::training::progress::Progress;
use crate::training::spool::SpoolFile;
use pgrx::pg_sys;
use pgrx::prelude::pg_guard;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::message;
use pgsvm_core::{
    clear_slots, work_in_slots, Crew, CrewState, FactorSpool, Halt, InteriorProgress, MachineLeft,
    MachineNews, Orders, PackedRow, Share, Slots, SlotsLayout, Spool, Waits,
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::sync::atomic::AtomicU64;

/// Keys of the chunks in the shared memory: queues by worker, rows to it and what it leaves from it.
const SLOTS: u64 = 1;
const WAKE_UP: u64 = 2;
const ROWS: u64 = 1 << 8;
const LEFT: u64 = 1 << 9;

/// Bytes of rows that go to a worker together.
const BATCH: usize = 32 * 1024;
/// Words of a row before its values.
const HEAD: usize = 6;

/// The first message to a worker.
#[derive(Serialize, Deserialize)]
struct Instructions {
    orders: Orders,
    machines: usize,
    width: usize,
}

/// Machines of which this backend is the first.
pub struct MachineProcesses<'a, 'b> {
    progress: &'a RefCell<&'b mut Progress>,
    wanted: usize,
    begun: Option<BegunMachines>,
}

struct BegunMachines {
    group: WorkerGroup,
    orders: Orders,
    layout: SlotsLayout,
    words: &'static [AtomicU64],
    wake_up: WakeUp,
    own: Share,
    workers: Vec<MachineWorker>,
    /// Bytes of the rows that workers have.
    bytes: usize,
}

/// A worker, and rows that are to go to it.
struct MachineWorker {
    rows: Sender,
    left: Receiver,
    batch: Vec<u8>,
}

impl<'a, 'b> MachineProcesses<'a, 'b> {
    /// So many, where as many workers are to be had; `progress` shows what they are at.
    pub fn new(wanted: usize, progress: &'a RefCell<&'b mut Progress>) -> Self {
        Self {
            progress,
            wanted,
            begun: None,
        }
    }

    fn begun(&mut self) -> &mut BegunMachines {
        match &mut self.begun {
            Some(begun) => begun,
            None => unreachable!("machines begin before they are used"),
        }
    }
}

impl Crew for MachineProcesses<'_, '_> {
    fn begin(&mut self, orders: Orders, width: usize) -> Result<(), Halt> {
        self.begun = Some(BegunMachines::start(self.wanted, orders, width)?);
        Ok(())
    }

    fn machines(&self) -> usize {
        self.begun.as_ref().map_or(1, BegunMachines::machines)
    }

    fn expect_rows(&mut self) -> Result<(), OutOfMemory> {
        let begun = self.begun();
        begun
            .own
            .room_for(begun.orders.rows_of(0, begun.machines()))
    }

    fn take(&mut self, machine: usize, row: &PackedRow<'_>) -> Result<(), OutOfMemory> {
        let begun = self.begun();
        let features = (row.dense(), row.sparse());
        let (group, cost) = (row.group() as u32, row.cost());
        let offset = row.has_offset().then(|| row.offset());
        match machine.checked_sub(1) {
            None => begun.own.push(features, group, (cost, offset)),
            Some(worker) => {
                begun.bytes += 4 * features.0.len() + 8 * features.1.len() + 28;
                begun.workers[worker].take(features, group, (cost, offset))
            }
        }
    }

    fn can_spool(&self) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        let begun = self.begun.as_ref();
        begun.map_or(0, |begun| begun.bytes + begun.own.bytes())
    }

    fn start(&mut self) -> Result<(), Halt> {
        for worker in &mut self.begun().workers {
            worker.send();
            // an empty message ends them
            worker.rows.send(&[]);
        }
        Ok(())
    }

    fn listen(&mut self, tell: &mut dyn FnMut(MachineNews)) -> CrewState {
        let Some(begun) = self.begun.take() else {
            return CrewState::Working;
        };
        let mut at = InteriorProgress::factoring(begun.orders.rank());
        let heads = begun.orders.heads();
        let mut progress = self.progress.borrow_mut();
        begun.work(&mut |news| {
            at.hear(&news, heads);
            progress.show_interior(&at);
            tell(news);
        })
    }
}

impl BegunMachines {
    /// Starts the workers and tells them what is to be done.
    fn start(wanted: usize, orders: Orders, width: usize) -> Result<Self, Halt> {
        let workers = wanted.saturating_sub(1);
        let most = SlotsLayout::new(wanted, orders.rank());
        let mut group = reserved(workers, &most);
        let slots = group.allocate(SLOTS, 8 * most.words());
        let wake_up = group.allocate(WAKE_UP, WakeUp::BYTES);
        let queues = queues(&mut group, workers)?;
        // SAFETY: as large as was reserved; the memory stays until the group is finished, behind which nobody uses it.
        let (words, wake_up) = unsafe { (words(slots, &most), WakeUp::create(wake_up)) };
        clear_slots(words, &most);
        let launched = group.launch() as usize;
        group.wait_for_workers();
        let mut workers = attached(&group, &queues[..launched])?;
        let instructions = Instructions {
            orders,
            machines: 1 + launched,
            width,
        };
        let message = message::encode(&instructions)?;
        for worker in &mut workers {
            worker.rows.send(&message);
        }
        Ok(Self {
            group,
            layout: SlotsLayout::new(instructions.machines, instructions.orders.rank()),
            orders: instructions.orders,
            words,
            wake_up,
            own: Share::new(width),
            workers,
            bytes: 0,
        })
    }

    fn machines(&self) -> usize {
        1 + self.workers.len()
    }

    /// Works with the others to the end, and ends them.
    fn work(mut self, tell: &mut dyn FnMut(MachineNews)) -> CrewState {
        let slots = Slots::new(self.words, self.layout, 0, Sleeper(self.wake_up));
        let own = slots.map_err(Halt::from).and_then(|slots| {
            let spool = factor_spool(&self.orders);
            work_in_slots(&self.orders, self.own, spool, slots, tell)
        });
        let mut left = Vec::new();
        let mut halt = None;
        let mut take = |one: Result<MachineLeft, Halt>| match one {
            Ok(one) => left.push(one),
            Err(error) => {
                halt = Some(match halt.take() {
                    Some(known) => Halt::or(known, error),
                    None => error,
                });
            }
        };
        take(own);
        for worker in &mut self.workers {
            let received = worker.left.receive(|bytes| message::decode(bytes));
            match received {
                Some(one) => take(one.or_raise()),
                None => self.group.raise_error_of_worker(),
            }
        }
        if let Some(halt) = halt {
            return CrewState::Halted(halt);
        }
        self.group.finish();
        CrewState::Left(left)
    }
}

/// Shared memory for so many workers.
fn reserved(workers: usize, layout: &SlotsLayout) -> WorkerGroup {
    let mut plan = SharedPlan::new(workers as i32, c"pgsvm_machine_main");
    plan.reserve(8 * layout.words());
    plan.reserve(WakeUp::BYTES);
    (0..2 * workers).for_each(|_| plan.reserve(queue::OUTCOME_BYTES));
    plan.initialize()
        .unwrap_or_else(|reason| no_memory(reason).raise())
}

/// By worker the queue of rows to it, and of what it leaves.
fn queues(group: &mut WorkerGroup, workers: usize) -> Result<Vec<[*mut u8; 2]>, OutOfMemory> {
    let mut all = Vec::new();
    for worker in 0..workers as u64 {
        let both = [ROWS, LEFT].map(|key| {
            let at = group.allocate(key + worker, queue::OUTCOME_BYTES);
            // SAFETY: the chunk has the room that was reserved for it; no worker runs yet.
            unsafe { queue::create(at, queue::OUTCOME_BYTES) };
            at
        });
        all.room(1)?.push(both);
    }
    Ok(all)
}

/// This process's ends of the queues.
fn attached(
    group: &WorkerGroup,
    queues: &[[*mut u8; 2]],
) -> Result<Vec<MachineWorker>, OutOfMemory> {
    let mut workers = Vec::new();
    for [rows, left] in queues {
        // SAFETY: the queues were created in the group's segment.
        let worker = unsafe {
            MachineWorker {
                rows: queue::attach_sender(*rows, group.segment()),
                left: queue::attach_receiver(*left, group.segment()),
                batch: Vec::new(),
            }
        };
        workers.room(1)?.push(worker);
    }
    Ok(workers)
}

fn no_memory(reason: String) -> Failure {
    Failure::new(
        Code::ERRCODE_OUT_OF_MEMORY,
        "could not get shared memory for machines",
    )
    .detail(reason)
    .hint("Let them be threads: SET pgsvm.machines = 0")
}

/// The words of the shared memory.
///
/// # Safety
/// `at` points to as many words as the layout has, 8-byte aligned, which outlive every use of the result and are used as such
/// words alone.
unsafe fn words(at: *mut u8, layout: &SlotsLayout) -> &'static [AtomicU64] {
    // SAFETY: as the caller promises; any bits are a word.
    unsafe { core::slice::from_raw_parts(at.cast(), layout.words()) }
}

impl MachineWorker {
    /// Packs a row: group, cost, offset, which is not a number where there is none, how many values and entries, and those.
    fn take(
        &mut self,
        (dense, sparse): (&[f32], &[[u32; 2]]),
        group: u32,
        (cost, offset): (f32, Option<f64>),
    ) -> Result<(), OutOfMemory> {
        let offset = offset.unwrap_or(f64::NAN).to_bits();
        let head: [u32; HEAD] = [
            group,
            cost.to_bits(),
            offset as u32,
            (offset >> 32) as u32,
            dense.len() as u32,
            sparse.len() as u32,
        ];
        let bytes = 4 * (HEAD + dense.len() + 2 * sparse.len());
        let batch = self.batch.room(bytes)?;
        let values = dense.iter().map(|value| value.to_bits());
        let words = head.into_iter().chain(values);
        for word in words.chain(sparse.iter().flatten().copied()) {
            batch.extend_from_slice(&word.to_ne_bytes());
        }
        if batch.len() >= BATCH {
            self.send();
        }
        Ok(())
    }

    fn send(&mut self) {
        if !self.batch.is_empty() {
            // one that is gone has raised an error, which comes as an interrupt
            self.rows.send(&self.batch);
            self.batch.clear();
        }
    }
}

/// A temporary file of this process for its rows of the factor, where they are too many for memory.
struct FactorFile(SpoolFile);

impl FactorSpool for FactorFile {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, Halt> {
        Ok(self.0.append(bytes).or_raise())
    }

    fn read(&mut self, position: u64, from: usize, bytes: &mut [u8]) -> Result<(), Halt> {
        self.0.read(position + from as u64, bytes).or_raise();
        Ok(())
    }
}

fn factor_spool(orders: &Orders) -> Option<Box<dyn FactorSpool>> {
    let file = || Box::new(FactorFile(SpoolFile::default())) as Box<dyn FactorSpool>;
    orders.spooled().then(file)
}

/// Sleeps until others have written.
struct Sleeper(WakeUp);

impl Waits for Sleeper {
    fn until(&self, ready: &dyn Fn() -> bool) {
        self.0.prepare();
        while !ready() {
            self.0.wait();
        }
        self.0.cancel();
    }

    fn notify(&self) {
        self.0.notify();
    }
}

/// Entry point of a worker.
///
/// # Safety
/// Called by PostgreSQL's parallel-worker machinery only.
#[no_mangle]
#[pg_guard]
pub unsafe extern "C-unwind" fn pgsvm_machine_main(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    let _prepared = prepared();
    let worker = parallel::worker_number() as u64;
    // SAFETY: the backend made both queues before it started this worker.
    let (mut rows, mut left) = unsafe {
        (
            queue::attach_receiver(parallel::lookup(toc, ROWS + worker), segment),
            queue::attach_sender(parallel::lookup(toc, LEFT + worker), segment),
        )
    };
    let instructions = rows.receive(|message| message::decode::<Instructions>(message).or_raise());
    let Some(instructions) = instructions else {
        return;
    };
    let layout = SlotsLayout::new(instructions.machines, instructions.orders.rank());
    // SAFETY: the backend made and cleared them for as many machines at least; this worker uses them until it ends.
    let (words, wake_up) = unsafe {
        (
            words(parallel::lookup(toc, SLOTS), &layout),
            WakeUp::attach(parallel::lookup(toc, WAKE_UP)),
        )
    };
    let own = 1 + worker as usize;
    let Some(share) = receive_share(&instructions, own, &mut rows) else {
        return;
    };
    let mut progress = Progress::start("machine", 0.0);
    let mut at = InteriorProgress::factoring(instructions.orders.rank());
    let heads = instructions.orders.heads();
    let slots = Slots::new(words, layout, own, Sleeper(wake_up)).or_raise();
    let spool = factor_spool(&instructions.orders);
    let result = work_in_slots(&instructions.orders, share, spool, slots, |news| {
        at.hear(&news, heads);
        progress.show_interior(&at);
    });
    left.send(&message::encode(&result).or_raise());
}

/// The rows of this worker; None when the backend is gone.
fn receive_share(instructions: &Instructions, own: usize, rows: &mut Receiver) -> Option<Share> {
    let mut share = Share::new(instructions.width);
    let expected = instructions.orders.rows_of(own, instructions.machines);
    share.room_for(expected).or_raise();
    let (mut dense, mut sparse) = (Vec::new(), Vec::new());
    loop {
        let empty = rows.receive(|message| {
            unpack(message, &mut share, (&mut dense, &mut sparse)).or_raise();
            message.is_empty()
        })?;
        if empty {
            return Some(share);
        }
        check_for_interrupts();
    }
}

/// Takes the rows of a message.
fn unpack(
    message: &[u8],
    share: &mut Share,
    (dense, sparse): (&mut Vec<f32>, &mut Vec<[u32; 2]>),
) -> Result<(), OutOfMemory> {
    let (words, _) = message.as_chunks::<4>();
    let mut words = words.iter().map(|bytes| u32::from_ne_bytes(*bytes));
    while let Some(group) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        let cost = f32::from_bits(next());
        let offset = f64::from_bits(u64::from(next()) | u64::from(next()) << 32);
        let (values, entries) = (next(), next());
        dense.clear();
        dense
            .room(values as usize)?
            .extend((0..values).map(|_| f32::from_bits(next())));
        sparse.clear();
        sparse
            .room(entries as usize)?
            .extend((0..entries).map(|_| [next(), next()]));
        let offset = (!offset.is_nan()).then_some(offset);
        share.push((dense, sparse), group, (cost, offset))?;
    }
    Ok(())
}
