//! `options => '{"watch": "relation"}'`: how good the weights that a training had on its way are on the rows of another relation, from
//! which nothing is learned. In the leader, after the training.

use crate::base::errors::{Code, Failure};
use crate::features::{Decoder, FeatureBuffer, KernelForm, Nulls};
use crate::model::{GatheredRows, KernelMachine};
use crate::pg::check_for_interrupts;
use crate::pg::executor::{each_row, DeformedRow};
use crate::pg::query;
use crate::planning::job::{Job, ReaderOutcome};
use crate::planning::watched::wanted;
use crate::request::source::GivenSource;
use crate::targets::groups::Groups;
use crate::training::outcome::{Collected, Machine, Tested};
use crate::training::weights::{hyperplane, with_room, StoredWeights, WeightFolding};
use pgrx::pg_sys;
use pgsvm_core::evaluation::{auc, predicted_class};
use pgsvm_core::kernels::{LowRank, Rows as LandmarkRows};
use pgsvm_core::memory::{filled, gathered, OutOfMemory, Room};
use pgsvm_core::{quantiles, ExactOutcome, Pairs, Scaling, Snapshot, TargetScale};
use std::rc::Rc;

/// Rows that may be watched: the decisions of all weights about all of them are in memory at the same time.
const MOST_ROWS: usize = 1 << 17;

/// Weights at moments of a training, for rows as they are decoded.
pub struct WatchedWay {
    /// Those over the same landmarks, or of hyperplanes, in order of time.
    parts: Vec<WatchedPart>,
    /// Whether heads are pairs of classes.
    in_pairs: bool,
}

/// Weights at moments that decide about rows together.
struct WatchedPart {
    /// By moment.
    seconds: Vec<f64>,
    /// By moment and head.
    decides: Decides,
    /// By row, moment and head.
    decisions: Vec<f32>,
}

enum Decides {
    Hyperplanes(Vec<DenseWeights>),
    Kernel(Box<KernelMachine>, Box<GatheredRows>, Vec<f64>),
}

/// Rows that a kernel machine decides about together.
const ROWS_AT_ONCE: usize = 240;

impl WatchedWay {
    pub fn new(in_pairs: bool) -> Self {
        Self {
            parts: Vec::new(),
            in_pairs,
        }
    }

    /// Adds what was kept of a training on rows as they are, or of one on what its machine's map makes of them; of so many heads.
    pub fn add(
        &mut self,
        job: &Job,
        read: &Collected,
        (snapshots, heads): (&[&Snapshot], usize),
    ) -> Result<(), Failure> {
        match (&read.machine, &read.outcome.features.kernel) {
            (Some(Machine::LowRank(map)), Some(form)) => {
                self.add_mapped(&read.outcome, (form, map), (snapshots, heads))
            }
            (Some(Machine::InteriorPoint(found)), Some(form)) => {
                self.add_mapped(&read.outcome, (form, &found.map), (snapshots, heads))
            }
            (Some(Machine::InteriorPoint(found)), None) => {
                let fold = |weights: &[f32], intercept| {
                    let weights = weights.iter().map(|weight| f64::from(*weight));
                    let factors = found.map.fold(weights)?;
                    let landmarks = found.map.landmarks().rows();
                    Ok(hyperplane(
                        job,
                        &read.outcome,
                        landmarks,
                        (&factors, intercept),
                    ))
                };
                self.add_hyperplanes((snapshots, heads), fold)
            }
            _ => self.add_hyperplanes((snapshots, heads), |scaled, intercept| {
                let mut folding = WeightFolding::of(job, &read.outcome, intercept);
                scaled.iter().for_each(|it| folding.push(f64::from(*it)));
                Ok(folding.finish())
            }),
        }
    }

    fn add_hyperplanes(
        &mut self,
        (snapshots, heads): (&[&Snapshot], usize),
        fold: impl Fn(&[f32], f64) -> Result<StoredWeights, OutOfMemory>,
    ) -> Result<(), Failure> {
        let mut all = with_room(heads * snapshots.len());
        for (weights, intercept) in of_heads(snapshots, heads) {
            check_for_interrupts();
            all.push(DenseWeights::of(&fold(weights, intercept)?)?);
        }
        self.push(snapshots, Decides::Hyperplanes(all))
    }

    /// The same of weights of what this map makes of rows.
    pub fn add_mapped(
        &mut self,
        reader: &ReaderOutcome,
        (form, map): (&Rc<KernelForm>, &LowRank),
        (snapshots, heads): (&[&Snapshot], usize),
    ) -> Result<(), Failure> {
        let (mut factors, mut intercepts) = (Vec::new(), Vec::new());
        for (weights, intercept) in of_heads(snapshots, heads) {
            check_for_interrupts();
            let folded = map.fold(weights.iter().map(|weight| f64::from(*weight)))?;
            factors.room(folded.len())?.extend(folded);
            intercepts.room(1)?.push(intercept);
        }
        let landmarks = map.landmarks().rows().copied()?;
        let all = (landmarks, factors, intercepts);
        self.add_machines(reader, form, all, snapshots)
    }

    /// Adds an exact machine where it has ended.
    pub fn add_exact(
        &mut self,
        read: &Collected,
        found: &ExactOutcome,
        seconds: f64,
    ) -> Result<(), Failure> {
        let Some(form) = &read.outcome.features.kernel else {
            return Ok(());
        };
        let ended = Snapshot {
            seconds,
            weights: Vec::new(),
        };
        self.add_machines(&read.outcome, form, found.machines()?, &[&ended])
    }

    fn add_machines(
        &mut self,
        reader: &ReaderOutcome,
        form: &Rc<KernelForm>,
        (landmarks, factors, intercepts): (LandmarkRows, Vec<f64>, Vec<f64>),
        snapshots: &[&Snapshot],
    ) -> Result<(), Failure> {
        if snapshots.is_empty() {
            return Ok(());
        }
        let bytes = landmarks.bytes() as u64;
        let dense = reader.report.dense_features as usize;
        let machine = KernelMachine::new(form.clone(), dense, landmarks, factors, intercepts);
        match machine.map_err(|_| OutOfMemory { bytes })? {
            None => Ok(()),
            Some(machine) => {
                let room = Box::new(GatheredRows::default());
                self.push(
                    snapshots,
                    Decides::Kernel(Box::new(machine), room, Vec::new()),
                )
            }
        }
    }

    fn push(&mut self, snapshots: &[&Snapshot], decides: Decides) -> Result<(), Failure> {
        let seconds = gathered(snapshots.iter().map(|it| it.seconds))?;
        self.parts.room(1)?.push(WatchedPart {
            seconds,
            decides,
            decisions: Vec::new(),
        });
        Ok(())
    }

    /// Decides about the rows of `relation` at all moments.
    pub fn test(
        self,
        job: &Job,
        relation: pg_sys::Oid,
        reader: &ReaderOutcome,
    ) -> Result<Vec<Tested>, Failure> {
        let mut watched = Watched {
            parts: self.parts,
            unit_rows: reader.features.unit_rows.clone(),
            classes: Vec::new(),
            targets: reader.report.targets.map(|scale| WatchedTargets {
                scale,
                quantiles: &job.plan.quantiles,
                of_rows: Vec::new(),
            }),
        };
        watched.read(job, relation, reader)?;
        watched.end()?;
        let classes = reader.classes.len();
        if self.in_pairs && classes > 2 {
            watched.score(&Pairs::all(classes)?)?;
        }
        watched.tested()
    }
}

/// By moment and head its weights and its intercept.
fn of_heads<'a>(
    snapshots: &'a [&'a Snapshot],
    heads: usize,
) -> impl Iterator<Item = (&'a [f32], f64)> {
    let of = move |snapshot: &&'a Snapshot| {
        let length = snapshot.weights.len() / heads.max(1);
        snapshot.weights.chunks_exact(length.max(1))
    };
    let all = snapshots.iter().flat_map(of);
    all.filter_map(|head| {
        let (intercept, weights) = head.split_last()?;
        Some((weights, f64::from(*intercept)))
    })
}

/// Weights of all features.
struct DenseWeights {
    weights: Vec<f64>,
    intercept: f64,
}

impl DenseWeights {
    fn of(stored: &StoredWeights) -> Result<Self, OutOfMemory> {
        let mut weights = filled(0.0, stored.features as usize)?;
        for chunk in &stored.chunks {
            let first = chunk.first_feature as usize;
            for (at, weight) in chunk.weights.iter().enumerate() {
                let offset = chunk.offsets.as_ref().map_or(at, |all| all[at] as usize);
                weights[first + offset] = *weight;
            }
        }
        Ok(Self {
            weights,
            intercept: stored.intercept,
        })
    }

    fn decision(&self, row: &FeatureBuffer) -> f32 {
        let (dense, sparse) = self.weights.split_at(row.dense.len());
        let products = dense.iter().zip(&row.dense).map(|(w, x)| w * x);
        let entries = row.sparse_index.iter().zip(&row.sparse_value);
        let known = entries.filter_map(|(j, x)| Some(sparse.get(*j as usize)? * f64::from(*x)));
        (self.intercept + products.sum::<f64>() + known.sum::<f64>()) as f32
    }
}

impl WatchedPart {
    fn take(&mut self, row: &FeatureBuffer) -> Result<(), OutOfMemory> {
        match &mut self.decides {
            Decides::Hyperplanes(all) => {
                let room = self.decisions.room(all.len())?;
                room.extend(all.iter().map(|it| it.decision(row)));
            }
            Decides::Kernel(machine, gathered, _) => {
                machine.gather(row, gathered)?;
                if gathered.len() == ROWS_AT_ONCE {
                    self.decide()?;
                }
            }
        }
        Ok(())
    }

    /// Decides about rows that have been gathered.
    fn decide(&mut self) -> Result<(), OutOfMemory> {
        if let Decides::Kernel(machine, gathered, values) = &mut self.decides {
            machine.decide_gathered(gathered, values)?;
            let room = self.decisions.room(values.len())?;
            room.extend(values.iter().map(|value| *value as f32));
        }
        Ok(())
    }
}

/// The numbers that a regression is to predict.
struct WatchedTargets<'a> {
    scale: TargetScale,
    quantiles: &'a [f64],
    /// By row.
    of_rows: Vec<f64>,
}

impl WatchedTargets<'_> {
    /// How far predictions are off, in the units of the label: the root of the mean squared error, or of quantiles their mean loss.
    /// `decisions`: by row those of all heads.
    fn error<'b>(&self, decisions: impl Iterator<Item = &'b [f32]>) -> f64 {
        let (mut squares, mut lost) = (0.0, 0.0);
        for (target, heads) in self.of_rows.iter().zip(decisions) {
            let above = heads.iter().map(|it| f64::from(*it) - target);
            let (above, of_quantiles) = quantiles::sorted(self.quantiles, above);
            squares += above * above;
            lost += of_quantiles;
        }
        let rows = self.of_rows.len() as f64;
        self.scale.unit()
            * match self.quantiles.is_empty() {
                true => (squares / rows).sqrt(),
                false => lost / rows,
            }
    }
}

/// What is known of the rows.
struct Watched<'a> {
    parts: Vec<WatchedPart>,
    /// How rows are scaled before they are divided by their length, where they are.
    unit_rows: Option<Rc<Scaling>>,
    /// By row, its class; of a regression none.
    classes: Vec<u32>,
    targets: Option<WatchedTargets<'a>>,
}

impl Watched<'_> {
    /// Rows read.
    fn rows(&self) -> usize {
        let targets = self.targets.as_ref().map(|it| it.of_rows.len());
        targets.unwrap_or(self.classes.len())
    }

    /// Reads the rows and has all weights decide about each.
    fn read(
        &mut self,
        job: &Job,
        relation: pg_sys::Oid,
        reader: &ReaderOutcome,
    ) -> Result<(), Failure> {
        let (list, columns) =
            wanted(&job.statement.columns.label, reader.features.columns()).list();
        let planned = query::plan(&GivenSource::Relation(relation).select(&list)?);
        let features = &planned.columns[..columns.features.end];
        let nulls = job.settled_nulls(&reader.features);
        let rows = (nulls, job.rows.skips_bad_rows);
        let mut decoder = Decoder::new(&reader.features, features, nulls)?;
        let mut groups = Groups::known(&columns.label, &reader.classes, &job.plan)?;
        let mut buffer = FeatureBuffer::default();
        each_row(&planned, u64::MAX, |row, _| {
            let by = (&mut decoder, &mut groups);
            self.take(row, rows, by, &mut buffer)
        })
    }

    fn take(
        &mut self,
        row: &DeformedRow<'_>,
        (nulls, skips_bad_rows): (Nulls, bool),
        (decoder, groups): (&mut Decoder, &mut Groups),
        buffer: &mut FeatureBuffer,
    ) -> Result<(), Failure> {
        let label = match &self.targets {
            None => groups.of(row).map(|it| it.map(|(class, _)| (class, 0.0))),
            Some(targets) => {
                let label = groups.sides_of(row);
                label.map(|it| it.map(|(label, _)| (0, targets.scale.target(label))))
            }
        };
        let (class, target) = match label {
            Ok(Some(label)) => label,
            Ok(None) => return Ok(()),
            Err(failure) if skips_bad_rows && failure.is_of_bad_row() => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let number = self.rows() as u64 + 1;
        // SAFETY: the executor's row has the columns of the plan from which the decoder was made.
        let decoded = unsafe { decoder.decode(row.values, row.nulls, buffer) };
        if let Err(failure) = decoded.map_err(|error| Failure::from(error.in_row(number))) {
            return match skips_bad_rows && failure.is_of_bad_row() {
                true => Ok(()),
                false => Err(failure),
            };
        }
        if skips_bad_rows && buffer.out_of_range().is_some() {
            return Ok(());
        }
        if !buffer.null_parts.is_empty() && !matches!(nulls, Nulls::Zero | Nulls::Mean) {
            return Ok(());
        }
        if self.rows() == MOST_ROWS {
            return Err(too_many());
        }
        if let Some(scaling) = &self.unit_rows {
            scaling.scale_to_unit(
                &mut buffer.dense,
                &buffer.sparse_index,
                &mut buffer.sparse_value,
            );
        }
        match &mut self.targets {
            None => self.classes.room(1)?.push(class),
            Some(targets) => targets.of_rows.room(1)?.push(target),
        }
        for part in &mut self.parts {
            part.take(buffer)?;
        }
        Ok(())
    }

    /// The last row has come.
    fn end(&mut self) -> Result<(), OutOfMemory> {
        self.parts.iter_mut().try_for_each(WatchedPart::decide)
    }

    /// Has the decisions of pairs be how much they speak for each class.
    fn score(&mut self, pairs: &Pairs) -> Result<(), OutOfMemory> {
        let mut room = pairs.room()?;
        for part in &mut self.parts {
            let decided = std::mem::take(&mut part.decisions);
            part.decisions
                .room(decided.len() / pairs.len() * pairs.classes())?;
            for heads in decided.chunks_exact(pairs.len()) {
                let scores = pairs.scores(|head| f64::from(heads[head]), &mut room);
                let scores = scores.iter().map(|score| *score as f32);
                part.decisions.extend(scores);
            }
        }
        Ok(())
    }

    fn tested(&self) -> Result<Vec<Tested>, Failure> {
        let mut tested = Vec::new();
        for part in self.parts.iter().filter(|_| self.rows() > 0) {
            for (at, seconds) in part.seconds.iter().enumerate() {
                check_for_interrupts();
                tested.room(1)?.push(Tested {
                    seconds: *seconds,
                    error: self.error(part, at),
                    auc: self.area(part, at)?,
                });
            }
        }
        Ok(tested)
    }

    fn error(&self, part: &WatchedPart, moment: usize) -> f64 {
        let of = |row| part.of(row, moment, self.rows());
        if let Some(targets) = &self.targets {
            return targets.error((0..self.rows()).map(of));
        }
        let rows = self.classes.iter().enumerate();
        let wrong = rows.filter(|(row, class)| predicted_class(of(*row)) != **class as usize);
        wrong.count() as f64 / self.classes.len() as f64
    }

    fn area(&self, part: &WatchedPart, moment: usize) -> Result<Option<f64>, Failure> {
        if self.targets.is_some() {
            return Ok(None);
        }
        let of = |row| part.of(row, moment, self.classes.len());
        let heads = of(0).len();
        let mut sum = Some(0.0);
        for head in 0..heads {
            let positive = if heads == 1 { 1 } else { head as u32 };
            let rows = self.classes.iter().enumerate();
            let rows = rows.map(|(row, class)| (of(row)[head], *class == positive));
            let area = auc(rows).map_err(|_| OutOfMemory {
                bytes: 8 * self.classes.len() as u64,
            })?;
            sum = sum.zip(area).map(|(sum, area)| sum + area);
        }
        Ok(sum.map(|sum| sum / heads as f64))
    }
}

impl WatchedPart {
    /// What the heads decide at a moment about one of so many rows, or of pairs how much they speak for each class.
    fn of(&self, row: usize, moment: usize, rows: usize) -> &[f32] {
        let each = self.decisions.len() / rows.max(1);
        let heads = each / self.seconds.len().max(1);
        &self.decisions[row * each + moment * heads..][..heads]
    }
}

fn too_many() -> Failure {
    Failure::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!("\"watch\" looks at {MOST_ROWS} rows at most"),
    )
    .hint("CREATE VIEW watched AS SELECT * FROM … LIMIT 100000, and options => '{\"watch\": \"watched\"}'")
}
