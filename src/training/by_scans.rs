//! A training by scans: the leader has PostgreSQL's own plans read the rows, and takes the sums.
//!
//! First comes a survey, which finds out what all rows are like and takes a sample. PostgreSQL runs it in parallel where features are
//! numbers. Where there are categories, this process reads the rows alone, since values get their codes in the order of the rows. It also
//! reads alone when something is wrong with a row, so that the error names the row. Then come scans, each with the weights of the training
//! so far, until it has ended. Nothing of a row is kept but the sample and, with the hinge, rows that came near the margin. No file is
//! written.

mod mapping;
mod refusals;
mod sampling;

use crate::base::errors::Failure;
use crate::features::FeatureSet;
use crate::keys::chunks::KeyChunk;
use crate::pg::check_for_interrupts;
use crate::pg::query::{ParallelHazard, Planned};
use crate::planning::job::{Job, TrainerOutcome};
use crate::planning::roles::expected_cache_bytes;
use crate::reading::rows::RowSource;
use crate::scanning::order::{self, KnownRows, ScanTask};
use crate::scanning::state::{damaged, ScanResult};
use crate::scanning::statement::Scan;
use crate::training::any_reader::{outcome, reads};
use crate::training::by_scans::mapping::ChosenMap;
use crate::training::by_scans::refusals::{changed, changed_again, check_features, refused};
use crate::training::by_scans::sampling::{MapSampling, Sampled};
use crate::training::failures::{problem_failure, stalled, train_failure};
use crate::training::leader::folded;
use crate::training::outcome::{Away, Collected, Fitted, Processes, Trained, TrainedHead};
use crate::training::progress::Progress;
use crate::training::recheck::Rechecked;
use crate::training::watch::WatchedWay;
use crate::training::weights::KeptDuals;
use crate::warm_start::followed::Followed;
use crate::warm_start::following::Following;
use crate::warm_start::near::{ComparedRows, WantedHeads};
use crate::warm_start::unfinished::Unfinished;
use pgsvm_core::memory::gathered;
use pgsvm_core::{
    Holding, PackedRow, PartOrder, PartsFound, ReaderReport, RowForm, Scaling, ScanPass, ScanSums,
    ScanTrainer, ScannedRows, SolverChoice, Source, Step, Survey, Surveyed,
};
use std::rc::Rc;
use std::time::Instant;

/// Of the cache what the sample takes, as one in so many, and most bytes of it: what it saves is scans, of which some are left
/// however large it is.
const SAMPLE_PART: usize = 4;
const MOST_SAMPLE_BYTES: usize = 16 << 20;
/// Rows between two looks for interrupts, and values of the sample.
const ROWS_A_STEP: usize = 1000;
const VALUES_A_STEP: usize = 1 << 20;

/// How a training by scans has ended.
pub enum ScanOutcome {
    Trained(Box<Trained>),
    /// Rows that stream are expected to be faster.
    GaveWay(Unfinished),
}

/// How an attempt has.
enum Attempt {
    Ended(ScanOutcome),
    /// A scan has found other rows than the one before; where the training had got to.
    Changed(Option<Unfinished>),
}

/// Runs the training that `job` describes to its end, or until it gives way where it may: never with rows on several servers, which
/// would all have to come here. Those have no common snapshot: where their rows change between scans it begins anew, once.
/// `following`: the model whose weights it begins at.
pub fn train(
    job: &Job,
    planned: &Planned,
    may_give_way: bool,
    following: Option<&Following>,
) -> Result<ScanOutcome, Failure> {
    let started = Instant::now();
    let scan = Scan::new(job, planned)?;
    let run = |anew| ScanAttempt {
        started,
        anew,
        may_give_way: may_give_way && job.kernel.is_none() && !on_servers(job, planned),
        following,
    };
    let before = match attempt(job, planned, &scan, run(false), None)? {
        Attempt::Ended(outcome) => return Ok(outcome),
        Attempt::Changed(_) if !on_servers(job, planned) => return Err(changed()),
        Attempt::Changed(unfinished) => unfinished,
    };
    match attempt(job, planned, &scan, run(true), before.as_ref())? {
        Attempt::Ended(outcome) => Ok(outcome),
        Attempt::Changed(_) => Err(changed_again()),
    }
}

/// The same without giving way.
pub fn to_the_end(
    job: &Job,
    planned: &Planned,
    following: Option<&Following>,
) -> Result<Trained, Failure> {
    match train(job, planned, false, following)? {
        ScanOutcome::Trained(trained) => Ok(*trained),
        ScanOutcome::GaveWay(_) => stalled(),
    }
}

/// Which attempt it is.
#[derive(Clone, Copy)]
struct ScanAttempt<'a> {
    started: Instant,
    anew: bool,
    may_give_way: bool,
    following: Option<&'a Following>,
}

/// Whether several servers have the rows.
fn on_servers(job: &Job, planned: &Planned) -> bool {
    planned.spread.shards > 0 || !job.statement.parts.is_empty()
}

/// `before`: where the one before has got to.
fn attempt(
    job: &Job,
    planned: &Planned,
    scan: &Scan,
    run: ScanAttempt<'_>,
    before: Option<&Unfinished>,
) -> Result<Attempt, Failure> {
    let mut progress = Progress::start("leader", job.terms.stopping().tolerance);
    let (source, surveyed) = survey(job, planned, scan, (run.following, &mut progress))?;
    let report = surveyed.report.copied()?;
    let form = surveyed.form.copied()?;
    let problem = job
        .problem_within(job.terms.stopping().most_passes())
        .map_err(problem_failure)?;
    let sampling = MapSampling {
        job,
        problem: &problem,
        source: &source,
        bytes: sample_bytes(job, planned),
    };
    let Sampled {
        surveyed,
        mapping,
        plan,
        chosen,
        grid,
    } = sampling.choose(surveyed, report.rows, &mut progress)?;
    let mut rows = RowsOfScans {
        job,
        planned,
        scan,
        form,
        mapping,
        features: source.decoded_features(&report.means)?,
        folds: source.known_folds(),
        source,
    };
    let holding = Holding {
        bytes: job.resources.cache_bytes - rows.sample_bytes(),
        lets_go: planned.runs == ParallelHazard::Anywhere,
    };
    let trainer = match job.terms.solver() {
        SolverChoice::Average => ScanTrainer::averaging(&problem, &plan, surveyed, run.started),
        SolverChoice::InteriorPoint(_) => {
            check_features(surveyed.form.size().0)?;
            ScanTrainer::interior_point(&problem, &plan, surveyed, run.started)
        }
        _ => ScanTrainer::new(&problem, &plan, surveyed, holding, run.started),
    };
    let mut trainer = trainer.map_err(train_failure)?;
    if holds_all(job, planned) {
        trainer.scan_resident(job.resources.trainers, job.resources.cache_bytes)?;
    }
    let starts = match (before, run.following) {
        (Some(before), _) => {
            let classes = rows.source.known_classes();
            before.weights_of(classes, report.features as usize)?
        }
        (None, Some(following)) => starts(job, &rows, &report, following)?,
        (None, None) => Vec::new(),
    };
    if !starts.is_empty() {
        trainer.begin_at(starts).map_err(train_failure)?;
    }
    if job.watch.is_some() {
        trainer.keep_weights();
    }
    if let Some(chosen) = chosen {
        trainer.tell_chosen(chosen);
    }
    let parts = match rows.train(&mut trainer, run.may_give_way, &mut progress)? {
        ScansEnded::By(parts) => parts,
        ScansEnded::GaveWay => {
            let unfinished = rows.unfinished(&trainer)?;
            return Ok(Attempt::Ended(ScanOutcome::GaveWay(unfinished)));
        }
        ScansEnded::Changed => {
            // landmarks would be others
            let unfinished = match job.kernel {
                None => Some(rows.unfinished(&trainer)?),
                Some(_) => None,
            };
            return Ok(Attempt::Changed(unfinished));
        }
    };
    let processes = rows.processes(parts, trainer.averaged(), run.anew);
    let kept = rows.keep(&trainer, &mut progress)?;
    let mut outcome = outcome(&rows.source, report)?;
    let mapping = rows.mapping.take();
    let gamma = mapping.as_ref().and_then(ChosenMap::gamma);
    outcome.features.kernel = match &mapping {
        Some(mapping) => Some(Rc::new(mapping.form(job, &outcome.report)?)),
        None => None,
    };
    let read = Collected {
        outcome,
        machine: mapping.map(ChosenMap::into_machine),
        began: None,
        keys: kept.keys,
        versions: None,
        // rows are not compared with those of the version where only its weights are taken
        followed: run.following.map(|it| Followed {
            rows: None,
            ..it.followed()
        }),
        served: None,
        screening: None,
    };
    let mut fitted = fitted(job, &read, &trainer, kept.duals)?;
    let report = &mut fitted.outcome.report;
    match grid {
        Some(grid) => grid.complete(report, true),
        None => {
            report.gamma = gamma;
            report.validation.iter_mut().for_each(|it| it.gamma = gamma);
        }
    }
    let rechecked = Rechecked::default();
    let cost = job.cost();
    let tested = match job.watch {
        Some(relation) => {
            let heads = fitted.heads.len();
            let mut way = WatchedWay::new(false);
            way.add(job, &read, (&trainer.snapshots()?, heads))?;
            way.test(job, relation, &read.outcome)?
        }
        None => Vec::new(),
    };
    let trained = Trained::assemble(cost, read, fitted, rechecked, processes);
    let trained = Box::new(Trained { tested, ..trained });
    Ok(Attempt::Ended(ScanOutcome::Trained(trained)))
}

/// By head the weights of the model that a training begins from; none where it begins from nothing.
fn starts(
    job: &Job,
    rows: &RowsOfScans<'_>,
    report: &ReaderReport,
    following: &Following,
) -> Result<Vec<Vec<f64>>, Failure> {
    let source = &rows.source;
    let features = (report.dense_features as usize, report.features as usize);
    let unscaled = Scaling::none(features.0);
    let scaling = match job.rows.unit_rows {
        true => &unscaled,
        false => &report.scaling,
    };
    let wanted = WantedHeads {
        classes: source.known_classes(),
        in_pairs: false,
        targets: report.targets,
        quantiles: &job.plan.quantiles,
        most: job.most_at_zero(report.targets, report.rows),
    };
    let dropped = source.dropped()?;
    let Some(mapping) = &rows.mapping else {
        return following.weights_of(wanted, scaling, features, &dropped);
    };
    let map = mapping.map();
    let compared = ComparedRows {
        kernel: *map.kernel(),
        scaling,
        dense: features.0,
        features: features.1,
        width: map.landmarks().rows().width(),
    };
    match following.machines(wanted, &compared, &dropped)? {
        Some(near) => Ok(map.project(&near)?),
        None => Ok(Vec::new()),
    }
}

/// What all rows are like.
fn survey(
    job: &Job,
    planned: &Planned,
    scan: &Scan,
    (following, progress): (Option<&Following>, &mut Progress),
) -> Result<(RowSource, Surveyed), Failure> {
    let found = match job.features.categories().next() {
        // a key that is wrong is told before anything is trained
        _ if job.statement.columns.key.is_some() => None,
        None => survey_by(scan, job, planned)?,
        // values get their codes in the order of the rows
        Some(_) => match Scan::in_order(job, planned)? {
            Some(in_order) => {
                let found = survey_by(&in_order, job, planned)?;
                scan.count_again(&in_order);
                found
            }
            None => None,
        },
    };
    let (source, mut survey) = match found {
        Some(found) => found,
        None => survey_alone(job, planned, following.is_some(), progress)?,
    };
    if job.looks.telltales {
        survey.look(&|sparse| source.category_of(sparse))?;
    }
    let surveyed = survey.finish(&source.idle()?, source.positive())?;
    Ok((source, surveyed))
}

fn sample_bytes(job: &Job, planned: &Planned) -> usize {
    match holds_all(job, planned) {
        true => job.resources.cache_bytes,
        false => (job.resources.cache_bytes / SAMPLE_PART).min(MOST_SAMPLE_BYTES),
    }
}

/// Whether all rows are to be in the sample: for planes alone, which need no other memory, where rows are expected to fit the cache.
fn holds_all(job: &Job, planned: &Planned) -> bool {
    job.terms.solver().by_planes()
        && job.kernel.is_none()
        && !on_servers(job, planned)
        && expected_cache_bytes(planned, &job.features) <= job.resources.cache_bytes as f64
}

/// By a scan; None where that has found nothing, or nothing good.
fn survey_by(
    scan: &Scan,
    job: &Job,
    planned: &Planned,
) -> Result<Option<(RowSource, Survey)>, Failure> {
    let sample_bytes = sample_bytes(job, planned);
    let task = ScanTask::Survey {
        reads: reads(job),
        sample_bytes,
        part_bytes: match planned.spread.shards as usize {
            0 | 1 => sample_bytes,
            // some may have more rows than others
            shards => 2 * sample_bytes / shards,
        },
    };
    match scan.run(&order::message(job, &planned.columns, task)?)? {
        Some(ScanResult::Learned(learned)) if learned.failed => Ok(None),
        Some(ScanResult::Learned(learned)) if learned.is_of(&job.features) => {
            RowSource::learned(planned, job, *learned).map(Some)
        }
        Some(_) => Err(damaged()),
        _ => Ok(None),
    }
}

/// By this process, row after row.
fn survey_alone(
    job: &Job,
    planned: &Planned,
    continues: bool,
    progress: &mut Progress,
) -> Result<(RowSource, Survey), Failure> {
    let mut source = RowSource::start(planned, job, None, None)?;
    if continues {
        source.continues();
    }
    let mut survey = Survey::new(&reads(job), sample_bytes(job, planned));
    while source.fetch(ROWS_A_STEP, &mut |example| survey.take(example))? {
        check_for_interrupts();
        progress.show_survey(survey.rows());
    }
    source.drop_keys();
    Ok((source, survey))
}

/// The rows of a training, wherever they are.
struct RowsOfScans<'a> {
    job: &'a Job,
    planned: &'a Planned,
    scan: &'a Scan,
    form: RowForm,
    /// Of a kernel machine.
    mapping: Option<ChosenMap>,
    /// As they are decoded in each scan.
    features: FeatureSet,
    /// The values of a fold column, by fold.
    folds: Vec<String>,
    source: RowSource,
}

/// What is kept of the rows.
struct KeptByScan {
    keys: Vec<KeyChunk>,
    /// By head.
    duals: Vec<KeptDuals>,
}

/// How the scans have ended.
enum ScansEnded {
    /// By so many processes at most.
    By(u32),
    GaveWay,
    /// With other rows than before.
    Changed,
}

impl RowsOfScans<'_> {
    /// Has them scanned until the trainer has ended, or gives way.
    fn train(
        &self,
        trainer: &mut ScanTrainer,
        may_give_way: bool,
        progress: &mut Progress,
    ) -> Result<ScansEnded, Failure> {
        let (mut digest, mut parts) = (None, 1);
        loop {
            check_for_interrupts();
            progress.show_scans(&trainer.progress());
            if may_give_way && trainer.gives_way() {
                return Ok(ScansEnded::GaveWay);
            }
            match trainer.step(VALUES_A_STEP).map_err(train_failure)? {
                Step::Progress => {}
                Step::Blocked => {
                    if let Some(order) = trainer.part_order(self.job.resources.cache_bytes)? {
                        match self.parts(&order)? {
                            Some(found) if found.rows() == trainer.rows() => {
                                trainer.take_parts(found)?;
                            }
                            _ => return Ok(ScansEnded::Changed),
                        }
                    }
                    let pass = trainer.pass()?;
                    let Some(sums) = self.sums(&pass)? else {
                        return Ok(ScansEnded::Changed);
                    };
                    let is_same = *digest.get_or_insert(sums.digest()) == sums.digest();
                    if sums.rows() != trainer.rows() || !is_same {
                        return Ok(ScansEnded::Changed);
                    }
                    parts = parts.max(sums.parts());
                    trainer.take(pass, sums).map_err(train_failure)?;
                }
                Step::Done => return Ok(ScansEnded::By(parts)),
            }
        }
    }

    /// Where the trainer has got to.
    fn unfinished(&self, trainer: &ScanTrainer) -> Result<Unfinished, Failure> {
        let classes = self.source.known_classes().iter();
        Ok(Unfinished {
            classes: gathered(classes.map(|class| class.text.clone()))?,
            weights: trainer.weights_so_far()?,
            scans: trainer.progress().scans,
        })
    }

    /// Who read them, in so many parts.
    fn processes(&self, parts: u32, averaged: Option<u32>, anew: bool) -> Processes {
        let spread = self.planned.spread;
        let away = Away {
            spread,
            sent: self.scan.sent(),
            anew,
        };
        Processes {
            workers: match spread.shards {
                0 => parts as i32 - 1,
                _ => 0,
            },
            helpers: 0,
            averaged,
            away: on_servers(self.job, self.planned).then_some(away),
        }
    }

    /// The sums of a pass over all of them; None where there were none.
    fn sums(&self, pass: &ScanPass) -> Result<Option<ScanSums>, Failure> {
        match self.with_known(|known| self.run(ScanTask::Sum(known, pass)))? {
            Some(ScanResult::Summed(sums)) => {
                let visited = self.mapping.as_ref().map(|it| it.view().form);
                match pass.began(&sums, visited.unwrap_or(&self.form))? {
                    true => Ok(Some(*sums)),
                    false => Err(damaged()),
                }
            }
            _ => Ok(None),
        }
    }

    /// What a training on the rows of each process alone finds; None where there were none.
    fn parts(&self, order: &PartOrder) -> Result<Option<PartsFound>, Failure> {
        let found = self.with_known(|known| self.run(ScanTask::Train(known, order)))?;
        let Some(ScanResult::Trained(found)) = found else {
            return Ok(None);
        };
        match found.refused() {
            Some(why) => Err(refused(why, self.job.resources.cache_bytes)),
            None if order.is_answered_by(&found) => Ok(Some(*found)),
            None => Err(damaged()),
        }
    }

    /// What is kept of each row, where that is asked for: its key, and its dual variables at the weights that scans have found. This
    /// process reads the rows once more for it.
    fn keep(&self, trainer: &ScanTrainer, progress: &mut Progress) -> Result<KeptByScan, Failure> {
        let job = self.job;
        let heads = 0..trainer.report()?.heads.len();
        let mut duals = gathered(heads.clone().map(|_| KeptDuals::new(job)))?;
        if duals.is_empty() || (job.statement.columns.key.is_none() && !job.terms.keep_duals) {
            return Ok(KeptByScan {
                keys: Vec::new(),
                duals,
            });
        }
        let all = heads.map(|head| trainer.dual_variables(head));
        let all = gathered(all.collect::<Result<Vec<_>, _>>()?)?;
        let known = (self.source.known_classes(), &self.folds[..]);
        let mut source = RowSource::again(self.planned, job, &self.features, known)?;
        let map = self
            .mapping
            .as_ref()
            .map(|it| it.view().arrived().map_err(order::refused));
        let mut rows = ScannedRows::new(&self.form, map.transpose()?)?;
        let mut count = 0;
        let visit = &mut |row: &PackedRow<'_>| {
            for (of_head, kept) in all.iter().zip(&mut duals) {
                kept.push(of_head.of(row));
            }
        };
        loop {
            let more = source.fetch(ROWS_A_STEP, &mut |example| {
                count += 1;
                rows.take(example, visit)
            })?;
            check_for_interrupts();
            progress.show_survey(count);
            if !more {
                break;
            }
        }
        rows.finish(visit)?;
        match count == trainer.rows() {
            true => Ok(KeptByScan {
                keys: source.take_key_chunks(),
                duals,
            }),
            false => Err(changed()),
        }
    }

    /// Does something with what is known of them.
    fn with_known<T>(&self, act: impl FnOnce(KnownRows<'_>) -> T) -> T {
        let map = self.mapping.as_ref().map(ChosenMap::view);
        act(KnownRows {
            features: &self.features,
            classes: self.source.known_classes(),
            folds: &self.folds,
            form: &self.form,
            map: map.as_ref(),
        })
    }

    /// What samples of them take: one of the rows, and of a kernel machine one of those that its map makes.
    fn sample_bytes(&self) -> usize {
        let bytes = sample_bytes(self.job, self.planned);
        match self.mapping {
            Some(_) => 2 * bytes,
            None => bytes,
        }
    }

    fn run(&self, task: ScanTask<'_>) -> Result<Option<ScanResult>, Failure> {
        self.scan
            .run(&order::message(self.job, &self.planned.columns, task)?)
    }
}

/// What the trainer leaves behind.
fn fitted(
    job: &Job,
    read: &Collected,
    trainer: &ScanTrainer,
    duals: Vec<KeptDuals>,
) -> Result<Fitted, Failure> {
    let report = trainer.report()?;
    let heads = 0..report.heads.len();
    let intercepts = heads.clone().map(|head| trainer.weights(head).intercept());
    let intercepts = gathered(intercepts)?;
    let head = |(head, duals): (usize, KeptDuals)| TrainedHead {
        weights: folded(job, read, trainer.weights(head), intercepts[head]),
        duals,
    };
    Ok(Fitted {
        heads: gathered(heads.clone().zip(duals).map(head))?,
        slacks: None,
        outcome: TrainerOutcome {
            weights: match heads.is_empty() {
                true => 0,
                false => trainer.weights(0).len() as u64,
            },
            intercepts,
            duals: 0,
            log: trainer.log()?,
            metrics: None,
            report,
        },
    })
}
