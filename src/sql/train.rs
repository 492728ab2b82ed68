//! SQL face of training: `svm_train`, `svm_train_query` and `svm_cross_validate`; `follow` has more. Checks the arguments,
//! looks at the source, lets the leader train, stores the model and says what was decided. Runs in the
//! calling backend.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::{near, settings};
use crate::catalog::{identifiers, rights};
use crate::features::{self, CategoryLimits, FeatureError, FeatureSet};
use crate::keys::chunks::KeyKind;
use crate::model;
use crate::pg::call::Call;
use crate::pg::query::{self, Column, Planned};
use crate::pg::snapshot::with_latest;
use crate::pg::types::{type_kind, type_name, TypeKind};
use crate::planning::job::{Job, Role};
use crate::planning::pieces::Cut;
use crate::request::reads::Reads;
use crate::request::source::{Selected, Source};
use crate::request::{self, Arguments, ClassWeight, Request};
use crate::sql::announcement::Announcement;
use crate::sql::follow;
use crate::storing::predecessor::{self, TakenOver};
use crate::storing::versions::{self, Labelled};
use crate::storing::{deployment, provenance};
use crate::targets::labels::{self, LabelKind};
use crate::training::leader::{self, Trained};
use crate::training::passed_over;
use crate::training::validation::{self, Validated};
use crate::warm_start::admission::{Following, KeyColumn};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgsvm_core::memory::{gathered, Room};
use pgsvm_core::{Folds, Scale};
use std::collections::HashSet;
use std::iter::repeat;
use std::mem::take;
use std::rc::Rc;
use std::time::Instant;

/// `svm_train(relation, label, …)`: see sql/ for names and defaults. Returns the model's name.
#[pg_extern(sql = false)]
fn svm_train(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call.get("relation").map(Source::Relation),
            ..costed(&call)
        }
    };
    train(arguments, fcinfo).or_raise()
}

/// `svm_train_query(query, label, …)`: the same for the rows of a SELECT.
#[pg_extern(sql = false)]
fn svm_train_query(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call.get("query").map(Source::Query),
            ..costed(&call)
        }
    };
    train(arguments, fcinfo).or_raise()
}

/// `svm_cross_validate(relation, label, …)`: a row for each C and fold.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn svm_cross_validate(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(c, f64),
        name!(fold, String),
        name!(rows, i64),
        name!(accuracy, Option<f64>),
        name!(auc, Option<f64>),
        name!(objective, f64),
        name!(score, Option<f64>),
        name!(overall, Option<f64>),
        name!(best, bool),
    ),
> {
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call.get("relation").map(Source::Relation),
            c: call.get("c"),
            folds: call.get("folds"),
            fold_column: call.get("fold_column"),
            fold_order: call.get("fold_order"),
            ..arguments(&call)
        }
    };
    let rows = cross_validate(arguments).or_raise();
    TableIterator::new(rows.into_iter().map(|row| {
        let Validated {
            c,
            fold,
            rows,
            accuracy,
            auc,
            objective,
            score,
            overall,
            best,
            ..
        } = row;
        (
            c, fold, rows, accuracy, auc, objective, score, overall, best,
        )
    }))
}

fn call(fcinfo: pg_sys::FunctionCallInfo) -> Call {
    // SAFETY: PostgreSQL calls the functions above by their SQL declarations.
    unsafe { Call::of(fcinfo) }
}

/// The arguments that all trainings share; those that a declaration lacks are as if left out.
///
/// # Safety
/// The arguments have the types that sql/ gives them.
pub unsafe fn arguments(call: &Call) -> Arguments {
    // SAFETY: as the caller promises.
    unsafe {
        Arguments {
            label: call.get("label"),
            features: call.get("features"),
            model: call.get("model"),
            loss: call.get("loss"),
            intercept: call.get("intercept"),
            scale: call.get("scale"),
            nulls: call.get("nulls"),
            tolerance: call.get("tolerance"),
            max_passes: call.get("max_passes"),
            solver: call.get("solver"),
            seed: call.get("seed"),
            class_weight: call.get("class_weight"),
            weight: call.get("weight"),
            probability: call.get("probability"),
            key: call.get("key"),
            options: call.get("options"),
            exclude: call.get("exclude"),
            metric: call.get("metric"),
            ..Arguments::default()
        }
    }
}

/// The same with C, as a training has one.
///
/// # Safety
/// As above.
unsafe fn costed(call: &Call) -> Arguments {
    // SAFETY: as the caller promises.
    let (c, others) = unsafe { (call.get::<f64>("c"), arguments(call)) };
    Arguments {
        c: request::cost(c),
        c_given: !c.is_some_and(f64::is_nan),
        ..others
    }
}

/// Losses times C times weights, or features times weights, are more than a number can hold.
pub fn out_of_range() -> Failure {
    Failure::new(
        Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        "the training is out of range: its weights or its certificate are not finite",
    )
    .hint("Scale the features, or take a smaller c or smaller weights of rows and classes: scale => 'standard', c => 1")
}

fn train(arguments: Arguments, fcinfo: pg_sys::FunctionCallInfo) -> Result<String, Failure> {
    let started = Instant::now();
    rights::check_writable("svm_train()")?;
    let schema = model::schema_of_call(fcinfo);
    let mut arguments = arguments;
    let mut completed = arguments.copied()?;
    let taken_over = predecessor::take_over(&schema, &mut completed)?;
    let explain = |failure| TakenOver::explain(&taken_over, failure);
    let request = match completed.check() {
        Ok(request) => request,
        // what is wrong without it is not because of what was taken over
        Err(failure) => return Err(arguments.check().err().unwrap_or_else(|| explain(failure))),
    };
    rights::check_owner(
        &schema,
        &request.model,
        "Choose another name: model => 'name'",
    )?;
    provenance::check(&schema, &request)?;
    deployment::check(&schema, &request.model, &request.deploy)?;
    let mut prepared = prepare(&request, None).map_err(explain)?;
    let (features, key) = (&prepared.features, prepared.key);
    let begins = follow::warm_start(fcinfo, &schema, &request, features, key)?;
    let following = begins.map(|(following, features)| {
        prepared.job.features = Rc::new(features.to_json().or_raise());
        following
    });
    let trained = with_latest(|| run(&prepared, following));
    prepared.taken_over = taken_over.map(Rc::new);
    store(&schema, request, &prepared, trained, started)
}

/// Trains, with the active snapshot.
pub fn run(prepared: &Prepared, following: Option<Following>) -> Trained {
    leader::train(&prepared.job, following)
}

/// Stores what was trained, and announces it; returns the model's name. `schema` is the extension's, quoted.
pub fn store(
    schema: &str,
    request: Request,
    prepared: &Prepared,
    mut trained: Trained,
    started: Instant,
) -> Result<String, Failure> {
    if !trained.is_finite() {
        return Err(out_of_range());
    }
    let values = trained.order_classes();
    let labelled = Labelled {
        label_type: &labels::qualified_type_name(prepared.label_type),
        values: &values,
        scale: scale_word(prepared.job.scale),
        key_type: prepared.key.map(KeyKind::word),
        reads: prepared.reads.as_ref(),
        cache_bytes: prepared.job.cache_bytes,
        seconds: started.elapsed().as_secs_f64(),
    };
    let (version, deployment) = versions::store(schema, &request, &mut trained, &labelled)?;
    warn_of_lost_digits(&trained);
    let told = Announcement {
        request: &request,
        trained: &trained,
        labelled: &labelled,
        version,
        left_out: &prepared.left_out,
        trainers: prepared.job.trainers,
        taken_over: prepared.taken_over.as_deref(),
    };
    told.make();
    deployment.say(&request.model, version);
    Ok(request.model)
}

fn cross_validate(arguments: Arguments) -> Result<Vec<Validated>, Failure> {
    let request = arguments.check_validation()?;
    let prepared = prepare(&request, None)?;
    let trained = with_latest(|| leader::train(&prepared.job, None));
    warn_of_lost_digits(&trained);
    Ok(validation::rows(&trained, request.plan.scoring)?)
}

/// A training that can start, and what is said about it.
pub struct Prepared {
    job: Job,
    /// Those of the job's query.
    columns: Vec<Column>,
    features: FeatureSet,
    key: Option<KeyKind>,
    label_type: pg_sys::Oid,
    left_out: LeftOut,
    /// Of a training with a key.
    reads: Option<Reads>,
    /// Settings that are those of the version before.
    taken_over: Option<Rc<TakenOver>>,
}

impl Prepared {
    /// Whether rows are to get leeways.
    pub fn keeps_leeways(&self) -> bool {
        self.job.leeways
    }

    /// Whether features are scaled by what all rows are like.
    pub fn scales(&self) -> bool {
        self.job.scale != Scale::None
    }

    /// Has `train` run the same training for most rows to be passed over: by this process, which alone knows which those are,
    /// and to this share of the tolerance.
    pub fn passing_over<T>(&mut self, share: f64, train: impl FnOnce(&Self) -> T) -> T {
        let (roles, cut) = (take(&mut self.job.roles), self.job.cut.take());
        let tolerance = self.job.terms.tolerance;
        self.job.terms.tolerance *= share;
        let trained = train(self);
        self.job.terms.tolerance = tolerance;
        (self.job.roles, self.job.cut) = (roles, cut);
        trained
    }
}

/// What a training that continues a version takes over.
pub struct Continuing {
    /// With the categories that it knows.
    pub features: FeatureSet,
    pub label_type: String,
    pub key: KeyKind,
    /// Whether there are to be rows besides those of the source.
    pub adds: bool,
}

/// Looks at the source and plans the training.
pub fn prepare(request: &Request, continuing: Option<&Continuing>) -> Result<Prepared, Failure> {
    let mut checked = check_source(request, &request.source)?;
    if let Some(continuing) = continuing {
        continuing.check(request, &checked)?;
        continuing.check_features(request, &checked)?;
        checked.features = continuing.features.copied()?;
        checked.left_out = LeftOut::default();
    }
    let adds = continuing.is_some_and(|continuing| continuing.adds);
    let (mut job, columns) = plan_job(request, &checked, adds, continuing.is_some())?;
    if continuing.is_some() || request.warm_start.is_some() {
        job.roles.retain(|role| *role == Role::Helper);
        job.schedule = leader::schedule(&job.roles);
    }
    Ok(Prepared {
        job,
        columns,
        features: checked.features,
        key: checked.key,
        label_type: checked.label_type,
        left_out: checked.left_out,
        reads: match &request.key {
            Some(_) => Some(Reads::of(&request.source)?),
            None => None,
        },
        taken_over: None,
    })
}

/// Looks at rows to be added to those of the source of such a training, and plans the query for them.
pub fn prepare_added(
    request: &Request,
    continuing: &Continuing,
    prepared: &Prepared,
    source: &Source,
) -> Result<Planned, Failure> {
    let found = check_source(request, source)?;
    continuing.check(request, &found)?;
    let checked = Checked {
        features: prepared.features.copied()?,
        ..found
    };
    let selected = selected(request, &checked, Some(true));
    let planned = query::plan(&source.select(&selected)?);
    let columns = planned.columns.iter().zip(&prepared.columns);
    for ((now, before), name) in columns.skip(1).zip(&selected.features) {
        if now.type_oid != before.type_oid {
            let types = [now, before].map(|column| type_name(column.type_oid, column.typmod));
            return Err(changed(request, "feature", name, types));
        }
    }
    Ok(planned)
}

/// What the columns of a source turned out to be.
struct Checked {
    label_type: pg_sys::Oid,
    label_kind: LabelKind,
    key: Option<KeyKind>,
    features: FeatureSet,
    left_out: LeftOut,
}

fn check_source(request: &Request, source: &Source) -> Result<Checked, Failure> {
    let columns = source.columns()?;
    let (names, mut complaints) = (&columns, Vec::new());
    let mut check = |found: Result<(), Failure>| complaints.extend(found.err());
    check(column("label", &request.label, names).map(|_| ()));
    if let Some(name) = &request.key {
        check(
            column("key", name, names)
                .and_then(KeyKind::of_column)
                .map(|_| ()),
        );
    }
    if let Some(name) = &request.weight_column {
        check(column("weight", name, names).and_then(check_weight));
    }
    if let Some(name) = &request.fold_column {
        check(column("fold", name, names).map(|_| ()));
    }
    if let Some(name) = &request.fold_order {
        check(column("fold order", name, names).map(|_| ()));
    }
    let resolved = resolve_features(request, names);
    let resolved = resolved.map_err(|failure| complaints.push(failure));
    if let Some(failure) = Failure::join(complaints) {
        return Err(failure);
    }
    let label = column("label", &request.label, names)?;
    let key = match &request.key {
        Some(name) => Some(KeyKind::of_column(column("key", name, names)?)?),
        None => None,
    };
    let (features, left_out) = resolved.unwrap_or_default();
    Ok(Checked {
        label_type: label.type_oid,
        label_kind: LabelKind::of_type(&label.name, label.type_oid)?,
        key,
        features,
        left_out,
    })
}

impl Continuing {
    /// Refuses a label or key that has become something else.
    fn check(&self, request: &Request, found: &Checked) -> Result<(), Failure> {
        let label_type = labels::qualified_type_name(found.label_type);
        if label_type != self.label_type {
            let types = [label_type, self.label_type.clone()];
            return Err(changed(request, "label", &request.label, types));
        }
        match (found.key, &request.key) {
            (Some(kind), Some(name)) => follow::check_kind(&request.model, name, kind, self.key),
            _ => Ok(()),
        }
    }

    /// The same of features; their types are compared as the search path of the training writes them.
    fn check_features(&self, request: &Request, found: &Checked) -> Result<(), Failure> {
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
    .hint("Convert it to that type, or train the model anew with svm_train")
}

/// Columns of a source that are no features though nobody said so.
#[derive(Clone, Default)]
pub struct LeftOut {
    /// Because of their types.
    pub by_type: Vec<String>,
    /// Identifiers, with what makes each of them one.
    pub identifiers: Vec<String>,
}

/// The features: those named, or else all columns but what says weight, fold and key, identifiers and those excluded.
fn resolve_features(
    request: &Request,
    columns: &[Column],
) -> Result<(FeatureSet, LeftOut), Failure> {
    let known = request
        .exclude
        .iter()
        .map(|name| column("excluded", name, columns));
    if let Some(failure) = Failure::join(known.filter_map(Result::err).collect()) {
        return Err(failure);
    }
    if request.features.is_some() {
        let (set, _) = features::resolve(request.features.as_deref(), columns, &request.label)
            .map_err(|error| without_identifiers(error, columns))?;
        let mut excluded = set
            .columns()
            .into_iter()
            .filter(|name| request.exclude.iter().any(|it| it == name));
        return match excluded.next() {
            None => Ok((set, LeftOut::default())),
            Some(name) => Err(FeatureError::Excluded {
                column: name.to_owned(),
            }
            .into()),
        };
    }
    let folds = [&request.fold_column, &request.fold_order];
    let aside = [&request.weight_column, &request.key]
        .into_iter()
        .chain(folds);
    let aside = aside.flatten().chain(&request.exclude);
    let aside: HashSet<&str> = aside
        .map(String::as_str)
        .chain([request.label.as_str()])
        .collect();
    let candidates = columns.iter();
    let candidates = candidates.filter(|column| !aside.contains(column.name.as_str()));
    let candidates = gathered(candidates.cloned())?;
    let mut left_out = LeftOut::default();
    let mut usable = Vec::new();
    usable.room(candidates.len())?;
    for (column, reason) in candidates.iter().zip(identifiers::reasons(&candidates)?) {
        match reason {
            Some(reason) => left_out
                .identifiers
                .push(format!("{} ({reason})", column.name)),
            None => usable.push(column.clone()),
        }
    }
    match features::resolve(None, &usable, &request.label) {
        Ok((set, skipped)) => {
            left_out.by_type = skipped.into_iter().map(|column| column.name).collect();
            Ok((set, left_out))
        }
        Err(FeatureError::Nothing)
            if !(left_out.identifiers.is_empty() && request.exclude.is_empty()) =>
        {
            let excluded = request
                .exclude
                .iter()
                .map(|name| format!("{name} (exclude)"));
            let columns = left_out.identifiers.into_iter().chain(excluded).collect();
            Err(FeatureError::AllLeftOut { columns }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The columns that do not just tell the rows of their table apart.
fn but_identifiers(columns: &[Column]) -> Vec<Column> {
    let reasons = identifiers::reasons(columns).unwrap_or_default();
    let reasons = reasons.into_iter().chain(repeat(None));
    let named = columns.iter().zip(reasons);
    let offered = named.filter(|(_, reason)| reason.is_none());
    offered.map(|(column, _)| column.clone()).collect()
}

/// What is wrong with the features, without keys among the names that may have been meant.
fn without_identifiers(error: FeatureError, columns: &[Column]) -> FeatureError {
    match error {
        FeatureError::MissingColumn { column, mut near } => {
            let offered = but_identifiers(columns);
            near.retain(|name| offered.iter().any(|column| column.name == *name));
            FeatureError::MissingColumn { column, near }
        }
        FeatureError::Several(all) => FeatureError::Several(
            all.into_iter()
                .map(|error| without_identifiers(error, columns))
                .collect(),
        ),
        other => other,
    }
}

pub fn column<'a>(role: &str, name: &str, columns: &'a [Column]) -> Result<&'a Column, Failure> {
    columns
        .iter()
        .find(|column| column.name == name)
        .ok_or_else(|| {
            // who looks for a feature or a label is not told of keys
            let offered = match role {
                "key" => columns.to_vec(),
                _ => but_identifiers(columns),
            };
            let known = || offered.iter().map(|column| column.name.as_str());
            let failure = Failure::new(
                Code::ERRCODE_UNDEFINED_COLUMN,
                format!("{role} column \"{name}\" does not exist"),
            );
            match near::hint(&near::names(name, known())) {
                Some(hint) => failure.hint(hint),
                None if offered.is_empty() => failure,
                None => {
                    let known: Vec<_> = known().collect();
                    failure.hint(format!("The source has the columns {}", known.join(", ")))
                }
            }
        })
}

fn check_weight(column: &Column) -> Result<(), Failure> {
    match type_kind(column.type_oid) {
        TypeKind::Number(_) if column.type_oid != pg_sys::BOOLOID => Ok(()),
        _ => Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "weight column \"{}\" has type {}, not a number",
                column.name,
                type_name(column.type_oid, column.typmod)
            ),
        )
        .hint("weight => 'column' names a column that says how much each row counts")),
    }
}

/// What is read of a source whose columns turned out to be these.
fn selected<'a>(request: &'a Request, checked: &'a Checked, added: Option<bool>) -> Selected<'a> {
    let key = request.key.as_deref().zip(checked.key);
    Selected {
        label: &request.label,
        label_kind: checked.label_kind,
        features: checked.features.columns(),
        weight: request.weight_column.as_deref(),
        fold: request.fold_column.as_deref(),
        order: match (&request.fold_order, request.plan.folds) {
            (Some(name), Some(Folds::Forward(pieces))) => Some((name, pieces)),
            _ => None,
        },
        key: key.map(|(name, kind)| (name, kind.cast())),
        added,
    }
}

/// `adds`: whether rows are to be added to those of the source, which is therefore to mark them.
fn plan_job(
    request: &Request,
    checked: &Checked,
    adds: bool,
    named: bool,
) -> Result<(Job, Vec<Column>), Failure> {
    let features = &checked.features;
    let key = request.key.as_deref().zip(checked.key);
    let selected = selected(request, checked, adds.then_some(false));
    let select = request.source.select(&selected)?;
    let planned = query::plan(&select);
    let roles = leader::assign_roles(&planned, features);
    let job = Job {
        select: Rc::new(select),
        label: request.label.clone(),
        label_kind: checked.label_kind,
        features: Rc::new(features.to_json()?),
        nulls: request.nulls,
        categories: CategoryLimits {
            named: named || request.features.is_some(),
            ..request.categories
        },
        scale: request.scale.resolve(features.dense_parts() > 0),
        unit_rows: request.unit_rows,
        terms: request.terms.clone(),
        plan: request.plan.clone(),
        fold_column: request.fold_column.clone(),
        fold_order: request.fold_order.clone(),
        weight_column: request.weight_column.clone(),
        key: key.map(|(name, kind)| KeyColumn {
            name: name.to_owned(),
            kind,
            marks_added: adds,
        }),
        leeways: passed_over::possible(request, features),
        balance: request.class_weight.balance(),
        class_weights: match &request.class_weight {
            ClassWeight::ByLabel(weights) => weights.clone(),
            _ => Vec::new(),
        },
        schedule: leader::schedule(&roles),
        cut: Cut::of(&planned).filter(|_| roles.contains(&Role::Helper)),
        trainers: settings::trainers(),
        roles,
        cache_bytes: settings::cache_bytes(),
        spool_rate: settings::spool_rate(),
    };
    Ok((job, planned.columns))
}

fn scale_word(scale: Scale) -> &'static str {
    match scale {
        Scale::None => "none",
        Scale::Standard => "standard",
        Scale::MaxAbs => "maxabs",
        Scale::MinMax => "minmax",
    }
}

/// A WARNING where what was trained on is not what the table holds.
fn warn_of_lost_digits(trained: &Trained) {
    let report = &trained.reader.report;
    if report.imprecise.is_empty() {
        return;
    }
    let features = FeatureSet::from_json(&trained.reader.features)
        .or_raise()
        .unwrap_or_default();
    let named = report.imprecise.iter();
    let named: Vec<_> = named.map(|id| features.feature_name(*id)).collect();
    let mut named = named.join(", ");
    let more = report.imprecise_features - report.imprecise.len() as u64;
    if more > 0 {
        named += &format!(" and {more} more");
    }
    let what = format!(
        "the values of {named} differ by less than 32-bit numbers of their size can tell apart"
    );
    Failure::new(Code::ERRCODE_WARNING, what)
        .detail("Rows are kept in 32 bits, here with an error of more than a millionth of a column's standard deviation; the certificate is about the rows as kept.")
        .hint(match report.imprecise.iter().any(|id| *id < report.dense_features) {
            true => "Subtract what all values have in common, as scale => 'standard' does with the first row's value: svm_train_query('SELECT x - 1e6 AS x, …')",
            false => "Subtract what all values have in common, or give such features in columns of their own, where scale => 'standard' does that.",
        })
        .warn();
}
