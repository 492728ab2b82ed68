//! A request becomes a job: looks at the columns of its source, makes the SELECT and plans it, once.

use crate::base::errors::{Code, Failure};
use crate::base::settings;
use crate::catalog::trained_by::training;
use crate::features::{CategoryLimits, FeatureSet, Nulls};
use crate::index::stored::{self, Believed, StoredIndex};
use crate::keys::chunks::KeyKind;
use crate::keys::column::check_kind;
use crate::pg::acting;
use crate::pg::query::{self, Planned};
use crate::planning::columns::{differing, WantedColumns};
use crate::planning::job::{Job, Looks, Resources, Role, Statement};
use crate::planning::parts;
use crate::planning::pieces::Cut;
use crate::planning::roles;
use crate::planning::source_columns::{self, CheckedColumns, LeftOutColumns};
use crate::planning::watched::watched;
use crate::request::kernel::KernelTerms;
use crate::request::multiclass::pairs_with_room;
use crate::request::reads::Reads;
use crate::request::source::{qualified_relation, GivenSource};
use crate::request::{Request, RowTerms};
use crate::targets::labels;
use pgrx::pg_sys;
use pgsvm_core::{Folds, Plan, Purpose, Scale};
use std::cell::RefCell;
use std::mem::take;
use std::rc::Rc;

/// A training that can start, and what is said about it.
pub struct Prepared {
    pub job: Job,
    /// The plan of the job's SELECT, by which this process reads.
    pub planned: Planned,
    pub label_type: pg_sys::Oid,
    pub left_out: LeftOutColumns,
    /// Whether rows have shown what text columns hold.
    pub guessed: bool,
    /// Of a training whose model is stored: what a refresh must find as it was.
    pub reads: Option<Reads>,
}

impl Prepared {
    /// What the keys of its rows are, where they have some.
    pub fn key(&self) -> Option<KeyKind> {
        self.job.statement.columns.key.as_ref().map(|key| key.kind)
    }

    /// Whether features are scaled by what all rows are like.
    pub fn scales(&self) -> bool {
        self.job.scale != Scale::None
    }

    /// Has `train` run the same training for most rows to be screened: by this process, which alone knows which those are, and
    /// to this share of the tolerance.
    pub fn screening<T>(&mut self, share: f64, train: impl FnOnce(&Self) -> T) -> T {
        let (roles, cut) = (take(&mut self.job.roles), self.job.statement.cut.take());
        let tolerance = self.job.terms.parameters.stopping.tolerance;
        self.job.terms.parameters.stopping.tolerance *= share;
        let trained = train(self);
        self.job.terms.parameters.stopping.tolerance = tolerance;
        (self.job.roles, self.job.statement.cut) = (roles, cut);
        trained
    }
}

/// What a training that continues a version takes over.
pub struct Continuing {
    /// With the categories that it knows.
    pub features: FeatureSet,
    pub label_type: String,
    /// None of a version without a key.
    pub key: Option<KeyKind>,
    /// Whether there are to be rows besides those of the source.
    pub adds: bool,
}

/// Looks at the source and plans the training.
pub fn prepare(request: &Request, continuing: Option<&Continuing>) -> Result<Prepared, Failure> {
    settings::check_ceilings()?;
    let mut checked = source_columns::check(request, &request.source)?;
    if let Some(continuing) = continuing {
        continuing.check(request, &checked)?;
        continuing.check_features(request, &checked)?;
        checked.features = continuing.features.copied()?;
        checked.left_out = LeftOutColumns::default();
    }
    let adds = continuing.is_some_and(|continuing| continuing.adds);
    let (list, columns) = wanted(request, &checked, adds.then_some(false)).list();
    let select = request.source.select(&list)?;
    // places in an order are those among all rows
    let parts = match request.terms.scans() && request.columns.fold_order.is_none() {
        true => parts::selects(&request.source, &list)?,
        false => Vec::new(),
    };
    let planned = query::plan(&select);
    let mut roles = roles::assign(&planned, &checked.features);
    let led = request.warm_start.is_some() || request.kernel.is_some() || request.watch.is_some();
    if continuing.is_some() || led {
        roles.retain(|role| *role == Role::Helper);
    }
    // scans read none
    let index_read = request.index.as_ref().filter(|_| !request.terms.scans());
    if index_read.is_some() {
        // this process has the index
        roles.retain(|role| *role == Role::Trainer);
    }
    if request.terms.scans() {
        roles.clear();
    }
    let statement = Statement {
        select,
        in_table: request.source.is_table(),
        parts,
        columns,
        cut: Cut::of(&planned).filter(|_| roles.contains(&Role::Helper)),
        expected_rows: planned.rows as u64,
    };
    let named = continuing.is_some() || request.columns.features.is_some();
    let mut job = job(request, statement, checked.features, named, roles);
    job.looks.telltales = continuing.is_none();
    if let Some(name) = &request.watch {
        job.watch = Some(watched(name, &job, &planned)?);
    }
    if let Some(name) = index_read {
        job.index = Some(index(name, &request.source, &planned)?);
    }
    Ok(Prepared {
        job,
        planned,
        label_type: checked.label_type,
        left_out: checked.left_out,
        guessed: false,
        reads: match is_read_again(request) {
            true => Some(Reads::of(&request.source)?),
            false => None,
        },
    })
}

/// Whether a refresh may read the source again, with the rights of the model's owner. Who is bound by no policy may train without a key what
/// belongs to others: of that nothing is read again.
fn is_read_again(request: &Request) -> bool {
    let is_stored = request.plan.purpose == Purpose::Train;
    is_stored && (request.columns.key.is_some() || !acting::bypasses_policies())
}

/// Settles once more what hangs on the features, which have been told apart by rows.
pub fn settle(prepared: &mut Prepared, request: &Request) {
    let job = &mut prepared.job;
    job.scale = request.scale.resolve(job.features.dense_parts() > 0);
    job.looks.slacks = measures_slacks(request, &job.features);
}

/// The index of this name, which may be one of the source.
fn index(name: &str, source: &GivenSource, planned: &Planned) -> Result<Rc<StoredIndex>, Failure> {
    let (relation, owner) = match source {
        GivenSource::Relation(oid) => (Some(*oid), acting::owner_of(*oid)),
        GivenSource::Query(_) => (None, planned.owner_of_tables()),
    };
    let index = stored::find(name, Believed::Owner(owner))?;
    let named = relation.and_then(|oid| Some((oid, qualified_relation(oid)?)));
    index.check_relation(named.as_ref().map(|(oid, name)| (*oid, name.as_str())))?;
    Ok(Rc::new(index))
}

/// Looks at rows to be added to those of the source of such a training, and plans the query for them.
pub fn prepare_added(
    request: &Request,
    continuing: &Continuing,
    prepared: &Prepared,
    source: &GivenSource,
) -> Result<Planned, Failure> {
    let found = source_columns::check(request, source)?;
    continuing.check(request, &found)?;
    let checked = CheckedColumns {
        features: prepared.job.features.copied()?,
        ..found
    };
    let (list, places) = wanted(request, &checked, Some(true)).list();
    let planned = query::plan(&source.select(&list)?);
    let features = places.features.zip(checked.features.columns());
    match differing(features, [&planned, &prepared.planned]) {
        Some((name, types)) => Err(changed(request, "feature", name, types)),
        None => Ok(planned),
    }
}

impl Continuing {
    /// Refuses a label or key that has become something else.
    fn check(&self, request: &Request, found: &CheckedColumns) -> Result<(), Failure> {
        let label_type = labels::qualified_type_name(found.label_type);
        if label_type != self.label_type {
            let types = [label_type, self.label_type.clone()];
            return Err(changed(request, "label", &request.columns.label, types));
        }
        match (found.key, &request.columns.key, self.key) {
            (Some(kind), Some(name), Some(known)) => check_kind(&request.model, name, kind, known),
            _ => Ok(()),
        }
    }

    /// The same of features; their types are compared as the search path of the training writes them.
    fn check_features(&self, request: &Request, found: &CheckedColumns) -> Result<(), Failure> {
        let mut parts = self.features.parts.iter().zip(&found.features.parts);
        match parts.find(|(before, now)| !before.same_as(now)) {
            None => Ok(()),
            Some((before, now)) => {
                let types = [now, before].map(|part| part.type_name().to_owned());
                Err(changed(request, "feature", &before.name(), types))
            }
        }
    }
}

/// A column that has this type now and had that one.
fn changed(request: &Request, what: &str, name: &str, [now, before]: [String; 2]) -> Failure {
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "{what} column \"{name}\" has type {now}, model \"{}\" was trained on {before}",
            request.model
        ),
    )
    .hint(format!(
        "Convert it to that type, or train the model anew: {}",
        training(&request.model, "")
    ))
}

/// What is read of a source whose columns turned out to be these.
fn wanted<'a>(
    request: &'a Request,
    checked: &'a CheckedColumns,
    added: Option<bool>,
) -> WantedColumns<'a> {
    WantedColumns {
        label: &request.columns.label,
        label_kind: checked.label_kind,
        classed: &checked.classed,
        features: checked.features.columns(),
        weight: request.columns.weight.as_deref(),
        fold: request.columns.fold_column.as_deref(),
        order: match (&request.columns.fold_order, request.plan.folds) {
            (Some(name), Some(Folds::Forward(pieces))) => Some((name, pieces)),
            _ => None,
        },
        key: request.columns.key.as_deref().zip(checked.key),
        added,
    }
}

/// `named`: whether somebody named the features.
fn job(
    request: &Request,
    statement: Statement,
    features: FeatureSet,
    named: bool,
    roles: Vec<Role>,
) -> Job {
    let by_scans = request.terms.scans();
    let heads = request.plan.heads_of_pair() * request.plan.quantiles.len().max(1);
    let pairs_up_to = pairs_with_room(request.plan.pairs_up_to, statement.expected_rows, heads);
    let is_grid = request.kernel.as_ref().is_some_and(KernelTerms::is_grid);
    let chooses = by_scans && (request.plan.holds_out() || is_grid);
    let chooses = chooses && request.plan.purpose == Purpose::Train;
    let chooses = chooses.then(|| request.plan.clone());
    Job {
        rows: RowTerms {
            categories: CategoryLimits {
                named,
                ..request.rows.categories
            },
            ..request.rows
        },
        excluded: request.columns.exclude.clone(),
        scale: request.scale.resolve(features.dense_parts() > 0),
        terms: request.terms.clone(),
        plan: match (&chooses, request.plan.costs.as_slice()) {
            (Some(plan), [first, ..]) => Plan {
                // rows come with folds that a column says; of the sample others are drawn
                folds: plan.folds.filter(|it| !matches!(it, Folds::Count(_))),
                quantiles: request.plan.quantiles.clone(),
                ..Plan::train(*first)
            },
            _ => Plan {
                pairs_up_to,
                ..request.plan.clone()
            },
        },
        chooses,
        kernel: match by_scans {
            true => request.kernel.clone().map(KernelTerms::of_low_rank),
            false => request.kernel.clone(),
        },
        looks: Looks {
            slacks: measures_slacks(request, &features),
            doubts: None,
            compares: compares(request, &roles),
            telltales: true,
        },
        features: FeatureSet {
            skips_bad_rows: request.rows.skips_bad_rows,
            ..features
        },
        kept: RefCell::default(),
        watch: None,
        index: None,
        class_weight: request.class_weight.clone(),
        timing: roles::timing(&roles),
        statement,
        roles,
        resources: Resources::set(),
    }
}

/// Whether a training says so where a kernel machine is clearly better: one that chooses C of a linear model, which holds rows out
/// anyway, where this process reads.
fn compares(request: &Request, roles: &[Role]) -> bool {
    request.kernel.is_none()
        && request.terms.targets.is_none()
        && request.plan.costs.len() > 1
        && request.plan.purpose == Purpose::Train
        && !request.rows.unit_rows
        && !roles.contains(&Role::Reader)
}

/// Whether a training measures the margin slack of its rows: it keeps their keys, and neither how they are decoded nor how much they
/// count depends on what the other rows are like.
fn measures_slacks(request: &Request, features: &FeatureSet) -> bool {
    request.columns.key.is_some()
        // where the weights change, c does too
        && request.terms.nu.is_none()
        // which moves by jumps when rows change sides
        && request.terms.truncation().is_none()
        // which no side of a number has on its own
        && request.terms.targets.is_none()
        && request.kernel.is_none()
        && (matches!(request.rows.nulls, Nulls::Error | Nulls::Skip) || request.rows.nulls_by_rows)
        && !request.class_weight.is_balanced()
        && features.categories().next().is_none()
        && request.plan.candidate_count() == 1
        && request.plan.purpose == Purpose::Train
        && request.plan.folds.is_none()
        && !request.plan.probability
        && !request.rows.unit_rows
}
