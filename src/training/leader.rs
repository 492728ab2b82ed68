//! The backend that called `svm_train`: sizes the cache, starts the workers, plays the roles that
//! have none, and puts the outcome together.
//!
//! Which process plays which role:
//!
//! | the source | two workers | one worker | none |
//! |---|---|---|---|
//! | may be read by any process | reader, trainer | reader; the leader trains | the leader takes turns |
//! | only by the leader (temporary or foreign tables, …) | trainer; the leader reads | the same | the leader takes turns |
//! | outside parallel mode only (parallel-unsafe functions) | – | – | the leader takes turns |
//!
//! A training that begins from an earlier one has no workers for its roles, since the leader has what it begins from.
//! Helpers ([`crate::reading::helpers`]) fetch rows for the reader, whichever process that is, if any process may read the source and it is
//! nothing but one large table.
//! With fewer than two workers cached visits follow a fixed schedule, so that a seed gives the same
//! weights bit for bit. Nothing is written to any table here: parallel mode forbids it.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::pg::check_for_interrupts;
use crate::pg::memory;
use crate::pg::query::Planned;
use crate::planning::job::{Job, Role};
use crate::reading::helpers::Helpers;
use crate::training::failures::{
    cache_failure, no_gamma, say_how_long, say_many_classes, stalled, warn_of_gamma,
};
use crate::training::grid::Grid;
use crate::training::outcome::{
    Coarse, Collected, Fitted, Machine, Processes, Tested, Trained, TrainedHead,
};
use crate::training::processes::{self, SharedRegions};
use crate::training::progress::Progress;
use crate::training::recheck::{recheck, Rechecked};
use crate::training::roles::{MoreLandmarks, ReaderRole, TrainerRole};
use crate::training::watch::WatchedWay;
use crate::training::weights::{
    hyperplane, KeptDuals, StoredWeights, WeightFolding, FEATURES_BETWEEN_INTERRUPTS,
};
use crate::training::worker;
use crate::warm_start::following::Following;
use crate::warm_start::screening::merge;
use crate::warm_start::unfinished::Unfinished;
use pgsvm_core::cache::prefer_huge_pages;
use pgsvm_core::kernels::Kernel;
use pgsvm_core::memory::{copied, gathered, Room};
use pgsvm_core::plan::{Plan, Purpose};
use pgsvm_core::{
    Cache, CacheLayout, ExactOutcome, InteriorOutcome, LogEntry, LowRankJob, Phase, Snapshot, Step,
    Weights,
};
use std::cell::Cell;
use std::time::Instant;

/// An objective that twice as many landmarks make no smaller than so many times that of before.
const SETTLED: f64 = 0.98;

/// Runs the training that `job` describes to its end, reading by `planned` where this process reads; raises what goes wrong in
/// any process. One that begins from something has no workers but helpers.
pub fn train(job: &Job, planned: &Planned, following: Option<Following>) -> Trained {
    let layout = CacheLayout::for_bytes(job.trainer_cache_bytes())
        .map_err(cache_failure)
        .or_raise();
    match job.workers() {
        0 => train_alone(job, planned, &layout, following, None),
        _ => train_with_workers(job, planned, &layout),
    }
}

/// Goes on where a training by scans has got to; like one that begins from something it has no workers but helpers.
pub fn go_on(job: &Job, planned: &Planned, unfinished: Unfinished) -> Trained {
    let layout = CacheLayout::for_bytes(job.trainer_cache_bytes())
        .map_err(cache_failure)
        .or_raise();
    let unfinished = Some(unfinished).filter(|_| !job.plan.holds_out());
    train_alone(job, planned, &layout, None, unfinished)
}

fn train_alone(
    job: &Job,
    planned: &Planned,
    layout: &CacheLayout,
    following: Option<Following>,
    unfinished: Option<Unfinished>,
) -> Trained {
    let memory = private_memory(job, layout);
    // SAFETY: the region is private and of that size.
    unsafe { prefer_huge_pages(memory.address(), layout.total_bytes()) };
    // SAFETY: the region is private, large enough and outlives both roles; before another cache is made in it, those of the one
    // before have ended.
    let fresh = || unsafe { Cache::create(memory.address(), layout) };
    let turns = RolesInTurn {
        unfinished,
        ..RolesInTurn::new(job, planned, &fresh)
    };
    let Some(mut workers) = processes::helpers(job) else {
        return turns.take(following, None, Processes::default());
    };
    // they may come late: nothing waits for a helper that has taken no piece
    let launched = workers.group.launch();
    let helpers = workers
        .pieces
        .take()
        .map(|pieces| Helpers::new(job, pieces, |worker| workers.listen(worker)));
    let processes = Processes {
        helpers: launched,
        ..Processes::default()
    };
    let trained = turns.take(following, helpers, processes);
    workers.group.finish();
    trained
}

/// Memory for a cache that no other process sees.
fn private_memory(job: &Job, layout: &CacheLayout) -> memory::Huge {
    memory::Huge::allocate(layout.total_bytes()).unwrap_or_else(|| {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            format!(
                "out of memory for a cache of {} bytes",
                job.resources.cache_bytes
            ),
        )
        .hint("SET pgsvm.cache_size = '64MB'; rows that do not fit are spooled")
        .raise()
    })
}

/// A training whose two roles this process plays, in turns.
struct RolesInTurn<'a> {
    job: &'a Job,
    planned: &'a Planned,
    /// Gives a cache in place of the one before, which nobody may use any more.
    fresh: &'a dyn Fn() -> Cache,
    /// Where heads begin that go on where scans have got to.
    unfinished: Option<Unfinished>,
    /// Whether it has been said that there are many classes.
    said: Cell<bool>,
}

/// The roles of a training when both have ended.
struct EndedRoles {
    reader: ReaderRole,
    trainer: TrainerRole,
    grid: Option<Grid>,
}

impl<'a> RolesInTurn<'a> {
    fn new(job: &'a Job, planned: &'a Planned, fresh: &'a dyn Fn() -> Cache) -> Self {
        Self {
            job,
            planned,
            fresh,
            unfinished: None,
            said: Cell::new(false),
        }
    }

    fn take(
        &self,
        following: Option<Following>,
        helpers: Option<Helpers>,
        processes: Processes,
    ) -> Trained {
        let (job, follows) = (self.job, following.is_some());
        let cache = (self.fresh)();
        let mut progress = Progress::start("leader", job.terms.stopping().tolerance);
        let reader = ReaderRole::start(cache.clone(), job, self.planned, following, helpers);
        let maps = job.kernel.as_ref().map_or(&[][..], |it| &it.maps);
        let EndedRoles {
            mut reader,
            trainer,
            grid,
        } = match maps.len() > 1 {
            true => self.compare(maps, cache, reader, &mut progress),
            false => self.run(cache, reader, job.plan.clone(), follows, &mut progress),
        };
        let solved = reader.solve_further(job, &trainer, &mut progress);
        let again = maps
            .first()
            .filter(|_| solved.is_none() && trainer.ends_roughly());
        let (reader, trainer) = match again {
            Some(map) => self.train_to_the_end(map, reader, trainer, &mut progress),
            None => (reader, trainer),
        };
        let (mut reader, trainer, coarse) = match solved {
            None if maps.len() == 1 => self.double_landmarks(reader, trainer, &mut progress),
            _ => (reader, trainer, None),
        };
        let proved = reader.prove(job, &trainer, solved.as_ref());
        let gamma = reader.gamma();
        let compared = reader.compare(job, trainer.report().c);
        let approximate = reader.approximate();
        let mut read = reader.leave(solved);
        let doubts = trainer.doubts();
        let tested = tested(job, &read, &trainer).or_raise();
        let mut fitted = fitted_here(job, &read, &trainer);
        let report = &mut fitted.outcome.report;
        let weight = job.weight(report);
        for (proved, head) in proved.iter().zip(&mut report.heads) {
            proved.correct(head, job.arrives_with(&proved.certificate, weight));
        }
        if !proved.is_empty() {
            let summary = report.summary();
            if let Some(last) = fitted.outcome.log.last_mut() {
                (last.primal, last.dual) = (Some(summary.primal), Some(summary.dual));
                last.gap = Some(summary.gap);
            }
        }
        let report = &mut fitted.outcome.report;
        match grid {
            Some(grid) => grid.complete(report, job.plan.purpose == Purpose::Train),
            None => {
                report.gamma = gamma;
                report.validation.iter_mut().for_each(|it| it.gamma = gamma);
            }
        }
        let screening = read.screening.take();
        let rechecked = match screening.filter(|_| !fitted.heads.is_empty()) {
            None => Rechecked::default(),
            Some(screening) => {
                let weights = trainer.weights(0);
                recheck(job, self.planned, &read.outcome, weights, screening).or_raise()
            }
        };
        Trained {
            compared,
            approximate,
            coarse,
            doubts,
            tested,
            ..Trained::assemble(job.cost(), read, fitted, rechecked, processes)
        }
    }

    /// Trains a machine of low rank anew that was to be a beginning only, and is what there is.
    fn train_to_the_end(
        &self,
        map: &LowRankJob,
        reader: ReaderRole,
        trainer: TrainerRole,
        progress: &mut Progress,
    ) -> (ReaderRole, TrainerRole) {
        let c = trainer.report().c.unwrap_or(self.job.cost());
        drop(trainer);
        let (mapped, cache) = reader.mapped_anew(self.fresh, self.job, map);
        let EndedRoles {
            reader, trainer, ..
        } = self.run(cache, mapped, self.job.at_cost(c), false, progress);
        (reader, trainer)
    }

    /// Trains a machine that stays one of low rank though nobody asked for it with twice as many landmarks, and so on, as long as that
    /// is worth it and its objective falls. Whether no more could be had before it stopped
    /// falling.
    fn double_landmarks(
        &self,
        mut reader: ReaderRole,
        mut trainer: TrainerRole,
        progress: &mut Progress,
    ) -> (ReaderRole, TrainerRole, Option<Coarse>) {
        let (job, mut last) = (self.job, f64::INFINITY);
        let mut coarse = None;
        while !job.plan.holds_out() {
            let report = trainer.report();
            let primal = report.summary().primal;
            let more = reader.more_landmarks(job, report.heads.len());
            let map = match more.filter(|_| primal <= SETTLED * last) {
                Some(MoreLandmarks::Twice(map)) => map,
                Some(MoreLandmarks::None) => {
                    coarse = Some(match last.is_finite() {
                        true => Coarse::Falling(1.0 - primal / last),
                        false => Coarse::Untried,
                    });
                    break;
                }
                None => break,
            };
            last = primal;
            drop(trainer);
            let (mapped, cache) = reader.mapped_anew(self.fresh, job, &map);
            EndedRoles {
                reader,
                trainer,
                ..
            } = self.run(cache, mapped, job.plan.clone(), false, progress);
        }
        (reader, trainer, coarse)
    }

    /// Compares the gammas of a grid by how good their machines are on held-out rows, and trains the final machine, where one is
    /// wanted, with the best C and gamma. The rows are read once, and mapped for each of them.
    fn compare(
        &self,
        maps: &[LowRankJob],
        cache: Cache,
        reader: ReaderRole,
        progress: &mut Progress,
    ) -> EndedRoles {
        let job = self.job;
        let mut maps = copied(maps).or_raise();
        let mut grid = Grid::new(job.plan.scoring);
        let (mut cache, mut reader) = (cache, reader);
        let mut refused = Vec::new();
        let mut at = 0;
        let started = Instant::now();
        // C beyond the usual ones are tried with the best gamma alone
        let mut beyond = 0;
        loop {
            progress.begin_gamma(at + 1, maps.len());
            let plan = Plan {
                beyond,
                ..job.comparing()
            };
            let mut ended = self.run(cache, reader, plan, false, progress);
            let gamma = ended.reader.gamma();
            let error = ended.reader.refused();
            match error {
                None => {
                    let report = ended.trainer.report();
                    grid.take(at, gamma.unwrap_or_default(), &report).or_raise();
                }
                Some(error) => {
                    refused.room(1).or_raise().push(gamma);
                    if refused.len() == maps.len() {
                        no_gamma(&refused, error).raise();
                    }
                    warn_of_gamma(gamma, error);
                }
            }
            at += 1;
            if at == 1 {
                say_how_long(started.elapsed().as_secs_f64(), (maps.len(), "gamma"));
            }
            if at == maps.len() && beyond == 0 {
                let more = grid.beyond(&maps);
                maps.room(1).or_raise().extend(more);
            }
            if at == maps.len() && beyond < job.plan.beyond && grid.is_at_the_edge(&job.plan.costs)
            {
                beyond = job.plan.beyond;
                let again = grid.best().map(|best| maps[best.map]);
                maps.room(1).or_raise().extend(again);
            }
            let Some(next) = self.next_map(at, &maps, &grid, error.is_some()) else {
                ended.grid = Some(grid);
                return ended;
            };
            drop(ended.trainer);
            (reader, cache) = ended.reader.mapped_anew(self.fresh, job, &next);
            if at == maps.len() {
                break;
            }
        }
        let c = grid.best().map_or(job.cost(), |best| best.c);
        progress.begin_gamma(0, 0);
        let ended = self.run(cache, reader, job.at_cost(c), false, progress);
        EndedRoles {
            grid: Some(grid),
            ..ended
        }
    }

    /// The map to come where so many have been compared: the next one, and then the best for the final machine, where there is to
    /// be one. Where the last one could not be had, what is told of the rows comes from the best one too.
    fn next_map(
        &self,
        compared: usize,
        maps: &[LowRankJob],
        grid: &Grid,
        refused: bool,
    ) -> Option<LowRankJob> {
        match grid.best() {
            _ if compared < maps.len() => Some(maps[compared]),
            Some(best) if refused || self.job.plan.purpose == Purpose::Train => {
                Some(maps[best.map])
            }
            _ => None,
        }
    }

    /// Until both are done. `follows`: whether the training begins from a version.
    fn run(
        &self,
        cache: Cache,
        mut reader: ReaderRole,
        plan: Plan,
        follows: bool,
        progress: &mut Progress,
    ) -> EndedRoles {
        let mut trainer = TrainerRole::start(cache.clone(), self.job, plan);
        let mut loaded = false;
        loop {
            let read = reader.step();
            check_for_interrupts();
            if reader.refused().is_some() {
                break;
            }
            if !loaded && cache.phase() != Phase::Loading {
                loaded = true;
                if self.job.kernel.is_some() {
                    if follows {
                        reader.find_near(self.job);
                    }
                    // interior points begin there by themselves
                    if self.job.interior_terms().is_none() {
                        trainer.begin_from(reader.starts_near());
                    }
                } else if follows {
                    trainer.begin_from(reader.take_starts(self.job));
                } else if let Some(unfinished) = &self.unfinished {
                    trainer.begin_from(reader.starts_at(unfinished));
                }
                let ranks = reader.class_ranks();
                if !self.said.replace(true) {
                    say_many_classes(self.job, ranks.len());
                }
                trainer.rank_classes(ranks);
                if reader.will_be_exact(self.job) {
                    trainer.end_roughly();
                }
                let metrics = reader.metrics();
                if !metrics.is_empty() {
                    trainer.measure_slacks(metrics);
                }
            }
            let trained = trainer.step();
            check_for_interrupts();
            progress.show_with(&cache, reader.map_progress());
            match (read, trained) {
                (Step::Done, Step::Done) => break,
                (Step::Blocked | Step::Done, Step::Blocked) => stalled(),
                _ => {}
            }
        }
        EndedRoles {
            reader,
            trainer,
            grid: None,
        }
    }
}

/// How good the weights that the training had on its way are on the rows that are watched, where there are such.
fn tested(job: &Job, read: &Collected, trainer: &TrainerRole) -> Result<Vec<Tested>, Failure> {
    let Some(relation) = job.watch else {
        return Ok(Vec::new());
    };
    let (report, snapshots) = (trainer.report(), trainer.snapshots());
    let heads = report.heads.len();
    let mut way = WatchedWay::new(report.in_pairs);
    match &read.machine {
        Some(Machine::InteriorPoint(found)) => {
            let kept = Snapshot::of_interior_points(&trainer.log(), found)?;
            way.add(job, read, (&gathered(kept.iter())?, heads))?;
        }
        Some(Machine::Exact(found)) => {
            if let Some((form, map)) = &read.began {
                way.add_mapped(&read.outcome, (form, map), (&snapshots, heads))?;
            }
            if let Some(last) = trainer.log().last() {
                let seconds = LogEntry::of_exact(last, found).seconds;
                way.add_exact(read, found, seconds)?;
            }
        }
        Some(Machine::LowRank(_)) | None => way.add(job, read, (&snapshots, heads))?,
    }
    way.test(job, relation, &read.outcome)
}

/// A head's weights as they are stored: for rows as they come, of a kernel machine as factors of kernel values.
pub(super) fn folded(
    job: &Job,
    read: &Collected,
    scaled: Weights<'_>,
    intercept: f64,
) -> StoredWeights {
    if let Some(Machine::LowRank(map)) = &read.machine {
        return factors(&map.fold(scaled.iter()).or_raise(), intercept);
    }
    let mut weights = WeightFolding::of(job, &read.outcome, intercept);
    for feature in 0..scaled.len() {
        if feature % FEATURES_BETWEEN_INTERRUPTS == 0 {
            check_for_interrupts();
        }
        weights.push(scaled.get(feature));
    }
    weights.finish()
}

/// Factors of kernel values as weights.
fn factors(factors: &[f64], intercept: f64) -> StoredWeights {
    let mut weights = WeightFolding::of_factors(intercept);
    factors.iter().for_each(|factor| weights.push(*factor));
    weights.finish()
}

/// What an exact machine leaves behind, in place of the one of low rank that was trained before.
fn fitted_exactly(job: &Job, found: &ExactOutcome, trainer: &TrainerRole) -> Fitted {
    let mut outcome = trainer.outcome();
    if let Some(last) = outcome.log.last().copied() {
        let ended = LogEntry::of_exact(&last, found);
        outcome.log.room(1).or_raise().push(ended);
    }
    let report = &mut outcome.report;
    report.heads = copied(&found.reports).or_raise();
    report.fit = found.fit.as_ref().map(|fit| fit.copied().or_raise());
    if let Some([c, nu]) = found.nu {
        (report.c, report.nu) = (Some(c), Some(nu));
    }
    report.passes += found.passes;
    report.newton = false;
    let head = |head: usize| {
        check_for_interrupts();
        let mut duals = KeptDuals::new(job);
        found.duals[head].iter().for_each(|dual| duals.push(*dual));
        TrainedHead {
            weights: factors(&found.factors[head], found.intercepts[head]),
            duals,
        }
    };
    Fitted {
        heads: gathered((0..found.reports.len()).map(head)).or_raise(),
        slacks: None,
        outcome,
    }
}

/// What interior points leave behind, in place of the machine of low rank before them.
fn fitted_by_interior_points(
    job: &Job,
    read: &Collected,
    found: &InteriorOutcome,
    trainer: &TrainerRole,
) -> Fitted {
    let mut outcome = trainer.outcome();
    outcome.log = LogEntry::with_interior_points(&outcome.log, found, job.only_begins()).or_raise();
    let report = &mut outcome.report;
    report.heads = copied(&found.reports).or_raise();
    report.fit = found.fit.as_ref().map(|fit| fit.copied().or_raise());
    report.passes = found.steps;
    report.newton = false;
    let head = |head: usize| {
        let mut duals = KeptDuals::new(job);
        let known = found.duals.get(head).into_iter().flatten();
        known.for_each(|dual| duals.push(*dual));
        let weights = found
            .map
            .fold(found.weights[head].iter().copied())
            .or_raise();
        let intercept = found.intercepts[head];
        let weights = match *found.map.kernel() {
            Kernel::Linear => {
                let landmarks = found.map.landmarks().rows();
                hyperplane(job, &read.outcome, landmarks, (&weights, intercept))
            }
            _ => factors(&weights, intercept),
        };
        TrainedHead { weights, duals }
    };
    Fitted {
        heads: gathered((0..found.reports.len()).map(head)).or_raise(),
        slacks: None,
        outcome,
    }
}

/// What a trainer in this process leaves behind. The dual variables of screened rows are 0.
fn fitted_here(job: &Job, read: &Collected, trainer: &TrainerRole) -> Fitted {
    match &read.machine {
        Some(Machine::Exact(found)) => return fitted_exactly(job, found, trainer),
        Some(Machine::InteriorPoint(found)) => {
            return fitted_by_interior_points(job, read, found, trainer)
        }
        Some(Machine::LowRank(_)) | None => {}
    }
    let screened = read.screening.as_ref().map_or(&[][..], |it| &it.rows);
    let outcome = trainer.outcome();
    let fold = |(head, intercept): (usize, &f64)| {
        let weights = folded(job, read, trainer.weights(head), *intercept);
        let mut duals = KeptDuals::new(job);
        let all = merge(trainer.duals(head).iter(), screened, |_| 0.0);
        for (row, dual) in all.enumerate() {
            if row % FEATURES_BETWEEN_INTERRUPTS == 0 {
                check_for_interrupts();
            }
            duals.push(dual);
        }
        TrainedHead { weights, duals }
    };
    Fitted {
        heads: gathered(outcome.intercepts.iter().enumerate().map(fold)).or_raise(),
        slacks: trainer.slacks().map(|it| it.copied().or_raise()),
        outcome,
    }
}

fn train_with_workers(job: &Job, planned: &Planned, layout: &CacheLayout) -> Trained {
    let mut shared = SharedRegions::create(job, layout);
    let launched = shared.workers.group.launch();
    shared.workers.group.wait_for_workers();
    let workers = launched.min(job.workers() as i32);
    let processes = Processes {
        workers,
        helpers: launched - workers,
        away: None,
        averaged: None,
    };
    let (read, fitted) = match &job.roles[..workers as usize] {
        [] => {
            let cache = || shared.cache.clone();
            let trained = RolesInTurn::new(job, planned, &cache).take(None, None, processes);
            shared.workers.group.finish();
            return trained;
        }
        [Role::Reader] => train_here(job, &mut shared),
        [Role::Trainer] => read_here(job, planned, &mut shared),
        _ => {
            let read = shared.receive_reader(0);
            let fitted = shared.receive_trainer(job, &read, 1);
            (read, fitted)
        }
    };
    shared.workers.group.finish();
    Trained::assemble(job.cost(), read, fitted, Rechecked::default(), processes)
}

/// Trains in this process while a worker reads.
fn train_here(job: &Job, shared: &mut SharedRegions) -> (Collected, Fitted) {
    let mut trainer = TrainerRole::start(shared.cache.clone(), job, job.plan.clone());
    worker::play(job, "trainer", &shared.cache, shared.wake_up, || {
        trainer.step()
    });
    let read = shared.receive_reader(0);
    let fitted = fitted_here(job, &read, &trainer);
    (read, fitted)
}

/// Reads in this process while a worker trains.
fn read_here(job: &Job, planned: &Planned, shared: &mut SharedRegions) -> (Collected, Fitted) {
    let mut reader = ReaderRole::start(shared.cache.clone(), job, planned, None, None);
    worker::play(job, "reader", &shared.cache, shared.wake_up, || {
        reader.step()
    });
    let read = reader.leave(None);
    let fitted = shared.receive_trainer(job, &read, 0);
    (read, fitted)
}
