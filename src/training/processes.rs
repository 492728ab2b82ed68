//! The workers of a training and the memory that they share: made by the leader, which receives there what they leave behind.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::pg::parallel::{SharedPlan, WorkerGroup};
use crate::pg::queue::{self, Receiver};
use crate::pg::wait::WakeUp;
use crate::planning::job::{Job, ReaderOutcome, Role, TrainerOutcome};
use crate::planning::pieces::TablePieces;
use crate::reading::helpers;
use crate::training::outcome::{Collected, Fitted, TrainedHead};
use crate::training::weights::{with_room, KeptDuals, WeightFolding};
use crate::training::worker::{self, job_bytes, key};
use pgsvm_core::memory::gathered;
use pgsvm_core::message;
use pgsvm_core::{Cache, CacheLayout, Leeways};

/// What the leader holds of the shared memory.
pub struct SharedRegions {
    pub workers: Workers,
    pub cache: Cache,
    pub wake_up: WakeUp,
    /// One for each worker that plays a role, by worker number.
    queues: Vec<Receiver>,
}

/// Workers that can be started, and the shared memory that they need.
pub struct Workers {
    pub group: WorkerGroup,
    /// Where the queue of each is, by worker number.
    queues: Vec<*mut u8>,
    /// The pieces of the table, where there are helpers.
    pub pieces: Option<TablePieces>,
}

/// The helpers of a training that has no other workers, if it is to have any.
pub fn helpers(job: &Job) -> Option<Workers> {
    if job.roles.is_empty() {
        return None;
    }
    let message = message::encode(job).or_raise();
    let group = plan_workers(job, &message)
        .initialize()
        .unwrap_or_else(|reason| {
            Failure::new(
                Code::ERRCODE_OUT_OF_MEMORY,
                "could not get shared memory for helpers",
            )
            .detail(reason)
            .hint("Train without helpers: SET pgsvm.helpers = 0")
            .raise()
        });
    Some(Workers::prepare(group, job, &message))
}

/// Room for what all workers of a job need; `message` is the job.
fn plan_workers(job: &Job, message: &[u8]) -> SharedPlan {
    let mut plan = SharedPlan::new(job.roles.len() as i32, c"pgsvm_worker_main");
    plan.reserve(job_bytes(message));
    job.roles
        .iter()
        .for_each(|role| plan.reserve(queue_bytes(*role)));
    if let Some(cut) = &job.statement.cut {
        plan.reserve(TablePieces::bytes(cut));
    }
    plan
}

fn queue_bytes(role: Role) -> usize {
    match role {
        Role::Reader | Role::Trainer => queue::OUTCOME_BYTES,
        Role::Helper => helpers::QUEUE_BYTES,
    }
}

impl Workers {
    /// Puts into the shared memory what all workers of a job need; `message` is the job.
    fn prepare(mut group: WorkerGroup, job: &Job, message: &[u8]) -> Self {
        let job_at = group.allocate(key::JOB, job_bytes(message));
        // SAFETY: the chunk has the room that was reserved for it; no worker runs yet.
        unsafe { worker::put_message(job_at, message) };
        let pieces = job.statement.cut.as_ref().map(|cut| {
            let at = group.allocate(key::PIECES, TablePieces::bytes(cut));
            // SAFETY: the same.
            unsafe { TablePieces::create(at, cut.clone()) }
        });
        let queue = |(worker, role): (usize, &Role)| {
            let bytes = queue_bytes(*role);
            let at = group.allocate(key::FIRST_QUEUE + worker as u64, bytes);
            // SAFETY: the same.
            unsafe { queue::create(at, bytes) };
            at
        };
        let queues = job.roles.iter().enumerate().map(queue).collect();
        Self {
            group,
            queues,
            pieces,
        }
    }

    /// The receiving end of a worker's queue.
    pub fn listen(&self, worker: usize) -> Receiver {
        // SAFETY: the queue was created in the group's segment.
        unsafe { queue::attach_receiver(self.queues[worker], self.group.segment()) }
    }
}

impl SharedRegions {
    /// Creates the shared memory and puts the job, the cache and the queues there.
    pub fn create(job: &Job, layout: &CacheLayout) -> Self {
        let cache_bytes = layout.total_bytes();
        let message = message::encode(job).or_raise();
        let mut plan = plan_workers(job, &message);
        plan.reserve(cache_bytes);
        plan.reserve(WakeUp::BYTES);
        let mut group = plan.initialize().unwrap_or_else(|reason| {
            Failure::new(
                Code::ERRCODE_OUT_OF_MEMORY,
                format!(
                    "could not get shared memory for a cache of {} bytes",
                    job.resources.cache_bytes
                ),
            )
            .detail(reason)
            .hint("SET pgsvm.cache_size = '64MB'; rows that do not fit are spooled")
            .raise()
        });
        let cache_at = group.allocate(key::CACHE, cache_bytes);
        let wake_up_at = group.allocate(key::WAKE_UP, WakeUp::BYTES);
        // SAFETY: each chunk has the room that was reserved for it; no worker runs yet.
        let (cache, wake_up) =
            unsafe { (Cache::create(cache_at, layout), WakeUp::create(wake_up_at)) };
        let workers = Workers::prepare(group, job, &message);
        Self {
            queues: (0..job.workers())
                .map(|worker| workers.listen(worker))
                .collect(),
            workers,
            cache,
            wake_up,
        }
    }

    /// Waits for a message of a worker; its error is raised here.
    fn receive<T: for<'a> serde::Deserialize<'a>>(&mut self, worker: usize) -> T {
        match self.queues[worker].receive(|bytes| message::decode(bytes)) {
            Some(message) => message.or_raise(),
            None => self.workers.group.raise_error_of_worker(),
        }
    }

    /// Receives what the reader leaves behind.
    pub fn receive_reader(&mut self, worker: usize) -> Collected {
        let outcome: ReaderOutcome = self.receive(worker);
        let keys = gathered((0..outcome.key_chunks).map(|_| self.receive(worker))).or_raise();
        let versions = outcome.versions.map(|count| {
            let mut versions: Vec<u64> = with_room(count as usize);
            self.receive_numbers(worker, count, |bytes| {
                let (numbers, _) = bytes.as_chunks();
                versions.extend(numbers.iter().map(|bytes| u64::from_ne_bytes(*bytes)));
                numbers.len()
            });
            versions
        });
        Collected {
            outcome,
            machine: None,
            began: None,
            keys,
            versions,
            followed: None,
            served: None,
            screening: None,
        }
    }

    /// Receives messages until they held `count` numbers; `take` says how many one held.
    fn receive_numbers(&mut self, worker: usize, count: u64, mut take: impl FnMut(&[u8]) -> usize) {
        let mut received = 0;
        while received < count {
            match self.queues[worker].receive(&mut take) {
                Some(numbers) => received += numbers as u64,
                None => self.workers.group.raise_error_of_worker(),
            }
        }
    }

    /// Receives what the trainer leaves behind, and folds its weights piece by piece.
    pub fn receive_trainer(&mut self, job: &Job, read: &Collected, worker: usize) -> Fitted {
        let outcome: TrainerOutcome = self.receive(worker);
        let mut heads = with_room(outcome.intercepts.len());
        for intercept in &outcome.intercepts {
            let mut weights = WeightFolding::of(job, &read.outcome, *intercept);
            self.receive_numbers(worker, outcome.weights, |bytes| weights.extend(bytes));
            let mut duals = KeptDuals::new(job);
            self.receive_numbers(worker, outcome.duals, |bytes| duals.extend(bytes));
            heads.push(TrainedHead {
                weights: weights.finish(),
                duals,
            });
        }
        let slacks = outcome.metrics.clone().map(|metrics| {
            let mut codes: Vec<u8> = with_room(outcome.report.rows as usize);
            self.receive_numbers(worker, outcome.report.rows, |bytes| {
                codes.extend(bytes);
                bytes.len()
            });
            Leeways { metrics, codes }
        });
        Fitted {
            outcome,
            heads,
            slacks,
        }
    }
}
