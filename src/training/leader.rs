//! The backend that called `svm_train`: sizes the cache, starts the workers, plays the roles that
//! have none, and collects the outcome.
//!
//! Which process plays which role:
//!
//! | the source | two workers | one worker | none |
//! |---|---|---|---|
//! | may be read by any process | reader, trainer | reader; the leader trains | the leader takes turns |
//! | only by the leader (temporary or foreign tables, …) | trainer; the leader reads | the same | the leader takes turns |
//! | outside parallel mode only (parallel-unsafe functions) | – | – | the leader takes turns |
//!
//! A training that begins from something has no workers for its roles: what it begins from is here.
//! Helpers ([`crate::reading::helpers`]) fetch rows for the reader, whoever that is, if any process may read the source and it is
//! nothing but one large table.
//! With fewer than two workers cached visits follow a fixed schedule, so that a seed gives the same
//! weights bit for bit. Nothing is written to any table here: parallel mode forbids it.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::settings;
use crate::features::FeatureSet;
use crate::keys::chunks::KeyChunk;
use crate::pg::check_for_interrupts;
use crate::pg::memory;
use crate::pg::parallel::{Group, Plan};
use crate::pg::query::{Planned, Runs};
use crate::pg::queue::{self, Receiver};
use crate::pg::wait::WakeUp;
use crate::planning::job::{self, Job, ReaderOutcome, Role, TrainerOutcome};
use crate::planning::pieces::Pieces;
use crate::reading::helpers::{self, Helpers};
use crate::request::source;
use crate::targets::labels;
use crate::training::passed_over::{self, Covers, PassedOver, RowLeeways};
use crate::training::progress::Progress;
use crate::training::roles::{cache_failure, ReaderRole, TrainerRole};
use crate::training::weights::{with_room, Folding, KeptDuals, StoredWeights};
use crate::training::worker::{self, job_bytes, key};
use crate::warm_start::admission::Following;
use pgsvm_core::cache::prefer_huge_pages;
use pgsvm_core::memory::gathered;
use pgsvm_core::{
    Cache, CacheLayout, Certificate, HeadReport, Leeways, Phase, Schedule, Step, StopReason,
};
use std::iter::repeat_n;

/// A millisecond of folding.
const FEATURES_BETWEEN_INTERRUPTS: usize = 1 << 16;

/// A finished training.
pub struct Trained {
    pub reader: ReaderOutcome,
    pub trainer: TrainerOutcome,
    /// The final heads, as in `trainer.report.heads`; none after a cross-validation.
    pub heads: Vec<TrainedHead>,
    /// Keys and digests of the rows, of a training with a key.
    pub keys: Vec<KeyChunk>,
    /// What the training began from, and how its rows compare with those known, as svm_version keeps it.
    pub followed: Option<serde_json::Value>,
    /// What versions of rows are known by, and their leeways, where they have some.
    pub leeways: Option<RowLeeways>,
    /// Whether the certificate covers all rows, those passed over too.
    pub covers: Covers,
    /// Workers that played a role.
    pub workers: i32,
    /// Workers that fetched rows.
    pub helpers: i32,
}

/// What a head has learned.
pub struct TrainedHead {
    pub weights: StoredWeights,
    pub duals: KeptDuals,
}

/// A model's heads in one: primal and dual summed up, the largest gap, and how the last of them ended.
pub struct Summary {
    pub primal: f64,
    pub dual: f64,
    pub gap: f64,
    pub stop: Option<StopReason>,
}

impl Trained {
    /// The certificates of all heads in one.
    pub fn summary(&self) -> Summary {
        let heads = &self.trainer.report.heads;
        let sum = |value: fn(&Certificate) -> f64| {
            heads.iter().map(|head| value(&head.certificate)).sum()
        };
        let behind = heads
            .iter()
            .find(|head| head.stop != Some(StopReason::Tolerance));
        Summary {
            primal: sum(|certificate| certificate.primal),
            dual: sum(|certificate| certificate.dual),
            gap: heads
                .iter()
                .map(|head| head.certificate.gap)
                .fold(0.0, f64::max),
            stop: behind.or(heads.first()).and_then(|head| head.stop),
        }
    }

    /// Whether no weight and no part of a certificate has grown beyond what numbers hold.
    pub fn is_finite(&self) -> bool {
        let certificates = self.trainer.report.heads.iter().all(|head| {
            let certificate = head.certificate;
            let parts = [certificate.primal, certificate.dual, certificate.gap];
            parts.iter().all(|part| part.is_finite())
        });
        certificates
            && self.heads.iter().all(|head| {
                let mut chunks = head.weights.chunks.iter();
                head.weights.intercept.is_finite()
                    && chunks.all(|chunk| chunk.weights.iter().all(|weight| weight.is_finite()))
            })
    }

    /// Brings the classes into ascending order, and the heads with them: of two classes the larger one becomes the
    /// positive one. Returns the labels.
    pub fn order_classes(&mut self) -> Vec<String> {
        let order = labels::ascending(&self.reader.classes);
        let report = &mut self.trainer.report;
        if let ([1, 0], [head]) = (order.as_slice(), self.heads.as_mut_slice()) {
            head.weights.flip();
            report.heads.iter_mut().for_each(HeadReport::swap_sides);
            for sigmoid in &mut report.sigmoids {
                sigmoid.b = -sigmoid.b;
            }
        }
        permute(&mut self.heads, &order);
        permute(&mut report.heads, &order);
        permute(&mut report.sigmoids, &order);
        if let Some(fit) = &mut report.fit {
            permute(&mut fit.actual, &order);
            permute(&mut fit.predicted, &order);
            permute(&mut fit.right, &order);
        }
        let classes = &self.reader.classes;
        order
            .iter()
            .map(|class| classes[*class].text.clone())
            .collect()
    }
}

/// Puts `items[order[0]]` first, and so on; leaves what has another length as it is.
fn permute<T>(items: &mut Vec<T>, order: &[usize]) {
    if items.len() == order.len() {
        let mut taken: Vec<Option<T>> = gathered(items.drain(..).map(Some)).or_raise();
        items.extend(order.iter().filter_map(|at| taken[*at].take()));
    }
}

/// Which roles get workers: by worker number, helpers last. None where rows will fit the cache, since then reading
/// and training follow each other, and memory of one process costs less than shared memory: it is
/// taken as rows come. Where the expectation was too low, rows stream through that one process.
pub fn assign_roles(planned: &Planned, features: &FeatureSet) -> Vec<Role> {
    let worth_it = match settings::min_parallel_bytes() {
        Some(least) => source::estimated_bytes(planned) >= least,
        None => source::expected_cache_bytes(planned, features) > settings::cache_bytes() as f64,
    };
    let workers = if worth_it { settings::workers() } else { 0 };
    let mut roles = match (planned.runs, workers) {
        (Runs::Alone, _) | (_, 0) => Vec::new(),
        (Runs::InLeader, _) => vec![Role::Trainer],
        (Runs::Anywhere, 1) => vec![Role::Reader],
        (Runs::Anywhere, _) => vec![Role::Reader, Role::Trainer],
    };
    roles.extend(repeat_n(Role::Helper, helpers::wanted(planned)));
    roles
}

/// The schedule of cached visits for a training whose workers are to play `roles`.
pub fn schedule(roles: &[Role]) -> Schedule {
    match roles.contains(&Role::Reader) && roles.contains(&Role::Trainer) {
        true => Schedule::Timed,
        false => Schedule::Lockstep,
    }
}

/// Runs the training that `job` describes to its end; raises what goes wrong in any process. One that begins from
/// something has no workers but helpers.
pub fn train(job: &Job, following: Option<Following>) -> Trained {
    let layout = CacheLayout::for_bytes(job.cache_bytes)
        .map_err(cache_failure)
        .or_raise();
    match job.workers() {
        0 => train_alone(job, &layout, following),
        _ => train_with_workers(job, &layout),
    }
}

fn train_alone(job: &Job, layout: &CacheLayout, following: Option<Following>) -> Trained {
    let Some(memory) = memory::Huge::allocate(layout.total_bytes()) else {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!("out of memory for a cache of {} bytes", job.cache_bytes),
        )
        .hint("SET pgsvm.cache_size = '64MB'; rows that do not fit are spooled")
        .raise()
    };
    // SAFETY: the region is private, large enough and outlives both roles.
    let cache = unsafe {
        prefer_huge_pages(memory.address(), layout.total_bytes());
        Cache::create(memory.address(), layout)
    };
    let Some(mut workers) = prepare_helpers(job) else {
        return take_turns(job, &cache, following, None);
    };
    // they may come late: nothing waits for a helper that has taken no piece
    let launched = workers.group.launch();
    let helpers = workers
        .pieces
        .take()
        .map(|pieces| Helpers::new(job, pieces, |worker| workers.listen(worker)));
    let trained = take_turns(job, &cache, following, helpers);
    workers.group.finish();
    Trained {
        helpers: launched,
        ..trained
    }
}

/// Plays both roles in this process, in turns.
fn take_turns(
    job: &Job,
    cache: &Cache,
    following: Option<Following>,
    helpers: Option<Helpers>,
) -> Trained {
    let begins = following.is_some();
    let mut reader = ReaderRole::start(cache.clone(), job, following, helpers);
    let mut trainer = TrainerRole::start(cache.clone(), job);
    let mut progress = Progress::start("leader", job.terms.tolerance);
    let mut loaded = false;
    loop {
        let read = reader.step();
        check_for_interrupts();
        if !loaded && cache.phase() != Phase::Loading {
            loaded = true;
            if begins {
                trainer.begin_from(reader.take_starts());
            }
            let metrics = reader.metrics();
            if !metrics.is_empty() {
                trainer.measure_leeways(metrics);
            }
        }
        let trained = trainer.step();
        check_for_interrupts();
        progress.show(cache);
        match (read, trained) {
            (Step::Done, Step::Done) => break,
            (Step::Blocked | Step::Done, Step::Blocked) => stalled(),
            _ => {}
        }
    }
    let followed = reader.following().map(Following::report);
    let (outcome, keys) = (reader.outcome(), reader.take_key_chunks());
    let passing = reader.take_passing();
    let passed = passing.as_ref().map_or(&[][..], |passing| &passing.rows);
    let mut trained = finish_here(job, outcome, &trainer, passed);
    (trained.keys, trained.followed) = (keys, followed);
    let mut codes = Vec::new();
    if let (Some(passing), false) = (&passing, trained.heads.is_empty()) {
        codes = passed_over::prove(job, &mut trained, trainer.weights(0), passing).or_raise();
    }
    let leeways = trainer.leeways().map(|it| it.copied().or_raise());
    let versions = reader.take_versions();
    passed_over::keep(&mut trained, leeways, versions, (passed, &codes));
    trained
}

fn stalled() -> ! {
    Failure::new(
        Code::ERRCODE_INTERNAL_ERROR,
        "reader and trainer wait for each other",
    )
    .raise()
}

/// `passed`: rows that were passed over, whose dual variables are 0.
fn finish_here(
    job: &Job,
    reader: ReaderOutcome,
    trainer: &TrainerRole,
    passed: &[PassedOver],
) -> Trained {
    let outcome = trainer.outcome();
    let fold = |(head, intercept): (usize, &f64)| {
        let scaled = trainer.weights(head);
        let mut weights = Folding::of(job, &reader, *intercept);
        for feature in 0..scaled.len() {
            if feature % FEATURES_BETWEEN_INTERRUPTS == 0 {
                check_for_interrupts();
            }
            weights.push(scaled.get(feature));
        }
        let mut duals = KeptDuals::new(job);
        let all = passed_over::merge(trainer.duals(head).iter(), passed, |_| 0.0);
        for (row, dual) in all.enumerate() {
            if row % FEATURES_BETWEEN_INTERRUPTS == 0 {
                check_for_interrupts();
            }
            duals.push(dual);
        }
        TrainedHead {
            weights: weights.finish(),
            duals,
        }
    };
    Trained {
        heads: gathered(outcome.intercepts.iter().enumerate().map(fold)).or_raise(),
        keys: Vec::new(),
        followed: None,
        leeways: None,
        covers: Covers::AllRows,
        reader,
        trainer: outcome,
        workers: 0,
        helpers: 0,
    }
}

/// What the leader holds of the shared memory.
struct Shared {
    workers: Workers,
    cache: Cache,
    wake_up: WakeUp,
    /// One for each worker that plays a role, by worker number.
    queues: Vec<Receiver>,
}

/// Workers that can be started, and the shared memory that they need.
struct Workers {
    group: Group,
    /// Where the queue of each is, by worker number.
    queues: Vec<*mut u8>,
    /// The pieces of the table, where there are helpers.
    pieces: Option<Pieces>,
}

fn train_with_workers(job: &Job, layout: &CacheLayout) -> Trained {
    let mut shared = share(job, layout);
    let launched = shared.workers.group.launch();
    shared.workers.group.wait_for_workers();
    let workers = launched.min(job.workers() as i32);
    let trained = match &job.roles[..workers as usize] {
        [] => take_turns(job, &shared.cache, None, None),
        [Role::Reader] => {
            let mut trainer = TrainerRole::start(shared.cache.clone(), job);
            worker::play(job, "trainer", &shared.cache, shared.wake_up, || {
                trainer.step()
            });
            let read = shared.receive_reader(0);
            let mut trained = finish_here(job, read.outcome, &trainer, &[]);
            trained.keys = read.keys;
            let leeways = trainer.leeways().map(|it| it.copied().or_raise());
            passed_over::keep(&mut trained, leeways, read.versions, (&[], &[]));
            trained
        }
        [Role::Trainer] => {
            let mut reader = ReaderRole::start(shared.cache.clone(), job, None, None);
            worker::play(job, "reader", &shared.cache, shared.wake_up, || {
                reader.step()
            });
            let read = Read {
                outcome: reader.outcome(),
                keys: reader.take_key_chunks(),
                versions: reader.take_versions(),
            };
            shared.collect(job, read, 0)
        }
        _ => {
            let read = shared.receive_reader(0);
            shared.collect(job, read, 1)
        }
    };
    shared.workers.group.finish();
    Trained {
        workers,
        helpers: launched - workers,
        ..trained
    }
}

/// Creates the shared memory and puts the job, the cache and the queues there.
fn share(job: &Job, layout: &CacheLayout) -> Shared {
    let cache_bytes = layout.total_bytes();
    let message = job::encode(job).or_raise();
    let mut plan = plan_workers(job, &message);
    plan.reserve(cache_bytes);
    plan.reserve(WakeUp::BYTES);
    let mut group = plan.initialize().unwrap_or_else(|reason| {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!(
                "could not get shared memory for a cache of {} bytes",
                job.cache_bytes
            ),
        )
        .detail(reason)
        .hint("SET pgsvm.cache_size = '64MB'; rows that do not fit are spooled")
        .raise()
    });
    let cache_at = group.allocate(key::CACHE, cache_bytes);
    let wake_up_at = group.allocate(key::WAKE_UP, WakeUp::BYTES);
    // SAFETY: each chunk has the room that was reserved for it; no worker runs yet.
    let (cache, wake_up) = unsafe { (Cache::create(cache_at, layout), WakeUp::create(wake_up_at)) };
    let workers = Workers::prepare(group, job, &message);
    Shared {
        queues: (0..job.workers())
            .map(|worker| workers.listen(worker))
            .collect(),
        workers,
        cache,
        wake_up,
    }
}

/// The helpers of a training that has no other workers, if it is to have any.
fn prepare_helpers(job: &Job) -> Option<Workers> {
    if job.roles.is_empty() {
        return None;
    }
    let message = job::encode(job).or_raise();
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
fn plan_workers(job: &Job, message: &[u8]) -> Plan {
    let mut plan = Plan::new(job.roles.len() as i32, c"pgsvm_worker_main");
    plan.reserve(job_bytes(message));
    job.roles
        .iter()
        .for_each(|role| plan.reserve(queue_bytes(*role)));
    if let Some(cut) = &job.cut {
        plan.reserve(Pieces::bytes(cut));
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
    fn prepare(mut group: Group, job: &Job, message: &[u8]) -> Self {
        let job_at = group.allocate(key::JOB, job_bytes(message));
        // SAFETY: the chunk has the room that was reserved for it; no worker runs yet.
        unsafe { worker::put_message(job_at, message) };
        let pieces = job.cut.as_ref().map(|cut| {
            let at = group.allocate(key::PIECES, Pieces::bytes(cut));
            // SAFETY: the same.
            unsafe { Pieces::create(at, cut.clone()) }
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
    fn listen(&self, worker: usize) -> Receiver {
        // SAFETY: the queue was created in the group's segment.
        unsafe { queue::attach_receiver(self.queues[worker], self.group.segment()) }
    }
}

impl Shared {
    /// Waits for a message of a worker; its error is raised here.
    fn receive<T: for<'a> serde::Deserialize<'a>>(&mut self, worker: usize) -> T {
        match self.queues[worker].receive(|bytes| job::decode(bytes)) {
            Some(message) => message.or_raise(),
            None => self.workers.group.raise_error_of_worker(),
        }
    }

    /// Receives what the reader leaves behind.
    fn receive_reader(&mut self, worker: usize) -> Read {
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
        Read {
            outcome,
            keys,
            versions,
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

    /// Receives the trainer's outcome and folds its weights piece by piece.
    fn collect(&mut self, job: &Job, read: Read, worker: usize) -> Trained {
        let outcome: TrainerOutcome = self.receive(worker);
        let mut heads = with_room(outcome.intercepts.len());
        for intercept in &outcome.intercepts {
            let mut weights = Folding::of(job, &read.outcome, *intercept);
            self.receive_numbers(worker, outcome.weights, |bytes| weights.extend(bytes));
            let mut duals = KeptDuals::new(job);
            self.receive_numbers(worker, outcome.duals, |bytes| duals.extend(bytes));
            heads.push(TrainedHead {
                weights: weights.finish(),
                duals,
            });
        }
        let leeways = outcome.metrics.clone().map(|metrics| {
            let mut codes: Vec<u8> = with_room(outcome.report.rows as usize);
            self.receive_numbers(worker, outcome.report.rows, |bytes| {
                codes.extend(bytes);
                bytes.len()
            });
            Leeways { metrics, codes }
        });
        let mut trained = Trained {
            heads,
            keys: read.keys,
            followed: None,
            leeways: None,
            covers: Covers::AllRows,
            reader: read.outcome,
            trainer: outcome,
            workers: 0,
            helpers: 0,
        };
        passed_over::keep(&mut trained, leeways, read.versions, (&[], &[]));
        trained
    }
}

/// What a reader leaves behind, with its keys and what versions of rows are known by.
struct Read {
    outcome: ReaderOutcome,
    keys: Vec<KeyChunk>,
    versions: Option<Vec<u64>>,
}
