//! The worker's side of a training: PostgreSQL starts `pgsvm_worker_main` in a parallel worker, which
//! loops the one role that the job gives to its number and sends the outcome to the leader, or helps the reader.
//!
//! A worker runs with the leader's snapshot, user and settings; its errors are raised again in the
//! leader. It writes to no table.

use crate::base::errors::OrRaise;
use crate::pg::memory_ends::prepared;
use crate::pg::query;
use crate::pg::queue::{self, Sender};
use crate::pg::wait::WakeUp;
use crate::pg::{check_for_interrupts, parallel};
use crate::planning::job::{Job, Role};
use crate::planning::pieces::{Cut, TablePieces};
use crate::reading::helpers::{self, Helpers};
use crate::training::progress::Progress;
use crate::training::roles::{ReaderRole, TrainerRole};
use pgrx::pg_sys;
use pgrx::prelude::pg_guard;
use pgsvm_core::message;
use pgsvm_core::{Awake, Cache, Step};

/// Keys of the chunks in the shared memory.
pub mod key {
    pub const JOB: u64 = 1;
    pub const CACHE: u64 = 2;
    pub const WAKE_UP: u64 = 3;
    pub const PIECES: u64 = 4;
    /// Queue of worker 0; worker 1's follows.
    pub const FIRST_QUEUE: u64 = 5;
}

/// Weights or dual variables sent in one message.
const NUMBERS_PER_MESSAGE: usize = 4096;

/// Entry point of a worker.
///
/// # Safety
/// Called by PostgreSQL's parallel-worker machinery only.
#[no_mangle]
#[pg_guard]
pub unsafe extern "C-unwind" fn pgsvm_worker_main(
    segment: *mut pg_sys::dsm_segment,
    toc: *mut pg_sys::shm_toc,
) {
    let _prepared = prepared();
    let worker = parallel::worker_number();
    // SAFETY: the leader put the job there before it started this worker.
    let message = unsafe { get_message(parallel::lookup(toc, key::JOB)) };
    let job: Job = message::decode(message).or_raise();
    // SAFETY: the leader made a queue for each worker.
    let queue_at = |worker| unsafe { parallel::lookup(toc, key::FIRST_QUEUE + worker as u64) };
    // SAFETY: the same.
    let mut sender = unsafe { queue::attach_sender(queue_at(worker as usize), segment) };
    // SAFETY: the leader put these there, wherever there are roles that need them.
    let shared = || unsafe {
        let cache = Cache::attach(parallel::lookup(toc, key::CACHE));
        (cache, WakeUp::attach(parallel::lookup(toc, key::WAKE_UP)))
    };
    // SAFETY: the same, of a job that is cut.
    let pieces =
        |cut: &Cut| unsafe { TablePieces::attach(parallel::lookup(toc, key::PIECES), cut.clone()) };
    match job.roles[worker as usize] {
        Role::Reader => {
            // SAFETY: each worker has a queue.
            let queue = |worker| unsafe { queue::attach_receiver(queue_at(worker), segment) };
            let cut = job.statement.cut.as_ref();
            let helpers = cut.map(|cut| Helpers::new(&job, pieces(cut), queue));
            play_reader(&job, shared(), helpers, &mut sender);
        }
        Role::Trainer => play_trainer(&job, shared(), &mut sender),
        Role::Helper => {
            if let Some(cut) = &job.statement.cut {
                helpers::help(&job, worker as usize, pieces(cut), &mut sender);
            }
        }
    }
}

fn play_reader(
    job: &Job,
    (cache, wake_up): (Cache, WakeUp),
    helpers: Option<Helpers>,
    sender: &mut Sender,
) {
    let planned = query::plan(&job.statement.select);
    let mut reader = ReaderRole::start(cache.clone(), job, &planned, None, helpers);
    play(job, "reader", &cache, wake_up, || reader.step());
    sender.send(&message::encode(&reader.outcome()).or_raise());
    for chunk in reader.key_chunks() {
        sender.send(&message::encode(chunk).or_raise());
    }
    let versions = reader.versions();
    send_numbers(sender, versions.len(), |i| versions[i].to_ne_bytes());
}

fn play_trainer(job: &Job, (cache, wake_up): (Cache, WakeUp), sender: &mut Sender) {
    let mut trainer = TrainerRole::start(cache.clone(), job, job.plan.clone());
    play(job, "trainer", &cache, wake_up, || trainer.step());
    send_outcome(&trainer, sender);
}

/// Loops a role until it is done: wakes the other side after progress; when blocked looks again for a moment, then sleeps.
pub fn play(
    job: &Job,
    role: &'static str,
    cache: &Cache,
    wake_up: WakeUp,
    mut step: impl FnMut() -> Step,
) {
    let mut progress = Progress::start(role, job.terms.stopping().tolerance);
    let mut prepared = false;
    let mut awake = Awake::default();
    loop {
        match step() {
            Step::Blocked if awake.rest() => {}
            Step::Blocked if prepared => wake_up.wait(),
            // Look once more after announcing the wait: what changed in between must not be missed.
            Step::Blocked => {
                wake_up.prepare();
                prepared = true;
            }
            Step::Progress => {
                awake.work();
                if std::mem::take(&mut prepared) {
                    wake_up.cancel();
                }
                wake_up.notify();
            }
            Step::Done => break,
        }
        check_for_interrupts();
        progress.show(cache);
    }
    wake_up.cancel();
    wake_up.notify();
}

/// The outcome, then the weights and the dual variables of each head, and margin slacks; stops when the leader is gone.
fn send_outcome(trainer: &TrainerRole, sender: &mut Sender) -> bool {
    let outcome = trainer.outcome();
    let heads = 0..outcome.intercepts.len();
    sender.send(&message::encode(&outcome).or_raise())
        && heads.into_iter().all(|head| {
            let (weights, duals) = (trainer.weights(head), trainer.duals(head));
            send_numbers(sender, weights.len(), |i| weights.get(i).to_ne_bytes())
                && send_numbers(sender, duals.len(), |i| duals.get(i).to_ne_bytes())
        })
        && trainer.slacks().is_none_or(|slacks| {
            let codes = &slacks.codes;
            send_numbers(sender, codes.len(), |i| [codes[i]])
        })
}

fn send_numbers<const N: usize>(
    sender: &mut Sender,
    count: usize,
    number: impl Fn(usize) -> [u8; N],
) -> bool {
    let mut bytes = Vec::with_capacity(NUMBERS_PER_MESSAGE * N);
    (0..count).step_by(NUMBERS_PER_MESSAGE).all(|start| {
        bytes.clear();
        let end = count.min(start + NUMBERS_PER_MESSAGE);
        (start..end).for_each(|i| bytes.extend(number(i)));
        sender.send(&bytes)
    })
}

/// Bytes that a message takes in shared memory: its length, then itself.
pub fn job_bytes(message: &[u8]) -> usize {
    size_of::<usize>() + message.len()
}

/// Writes a message for `get_message`.
///
/// # Safety
/// `at` points to `job_bytes(message)` writable bytes, 8-byte aligned.
pub unsafe fn put_message(at: *mut u8, message: &[u8]) {
    // SAFETY: room and alignment as the caller promises.
    unsafe {
        at.cast::<usize>().write(message.len());
        at.add(size_of::<usize>())
            .copy_from_nonoverlapping(message.as_ptr(), message.len());
    }
}

/// # Safety
/// `put_message` wrote at `at`, and nobody writes there any more while the result lives.
unsafe fn get_message<'a>(at: *const u8) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe {
        let length = at.cast::<usize>().read();
        core::slice::from_raw_parts(at.add(size_of::<usize>()), length)
    }
}
