//! SQL face of training: `svm_train`, `svm_train_query` and `svm_cross_validate`; `follow` has more. Checks the arguments,
//! looks at the source, lets the leader train, stores the model and says what was decided. Runs in the
//! calling backend.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::catalog::rights;
use crate::features::SUPPORT_VECTORS;
use crate::keys::chunks::KeyKind;
use crate::model;
use crate::pg::call::Call;
use crate::pg::long_errors::cut_off;
use crate::pg::memory_ends::prepared;
use crate::pg::snapshot::with_latest;
use crate::planning::job::Job;
use crate::planning::prepare::Prepared;
use crate::reading::vocabularies;
use crate::request::no_effect::MachineFacts;
use crate::request::numbers::{Argument, Numbers, C, EPSILON, GAMMA, NU};
use crate::request::source::GivenSource;
use crate::request::{
    regression, Arguments, ChoiceArguments, ColumnArguments, KernelArguments, Request, RowTerms,
    SolvingArguments,
};
use crate::sql::announcement::{warn_of_lost_digits, Announcement};
use crate::sql::follow;
use crate::sql::giveaways::Giveaways;
use crate::storing::predecessor::{self, Inherited, TakenOver};
use crate::storing::version_row::Labelled;
use crate::storing::{deployment, provenance, versions};
use crate::targets::labels;
use crate::training::entrance;
use crate::training::outcome::Trained;
use crate::training::strings;
use crate::training::validation::{self, Validated};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgsvm_core::Scale;
use std::time::Instant;

/// `svm_train(relation, label, …)`: see sql/ for names and defaults. Returns the model's name.
#[pg_extern(sql = false)]
fn svm_train(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call.get("relation").map(GivenSource::Relation),
            ..arguments(&call)
        }
    };
    cut_off(|| train("svm_train()", arguments, fcinfo)).or_raise()
}

/// `svm_train_query(query, label, …)`: the same for the rows of a SELECT.
#[pg_extern(sql = false)]
fn svm_train_query(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call
                .long_text("query")
                .map(|text| GivenSource::of_query(text).or_raise()),
            ..arguments(&call)
        }
    };
    cut_off(|| train("svm_train_query()", arguments, fcinfo)).or_raise()
}

/// `svm_cross_validate(relation, label, …)`: a row for each gamma, C and fold.
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
        name!(gamma, Option<f64>),
        name!(truncation, Option<f64>),
        name!(epsilon, Option<f64>),
    ),
> {
    let _prepared = prepared();
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call.get("relation").map(GivenSource::Relation),
            ..arguments(&call)
        }
    };
    let rows = cut_off(|| cross_validate(arguments)).or_raise();
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
            gamma,
            truncation,
            epsilon,
            ..
        } = row;
        (
            c, fold, rows, accuracy, auc, objective, score, overall, best, gamma, truncation,
            epsilon,
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
            columns: ColumnArguments {
                label: call.text("label"),
                features: call.texts("features"),
                exclude: call.texts("exclude"),
                weight: call.text("weight"),
                key: call.text("key"),
            },
            choice: ChoiceArguments {
                c: numbers(call, C).map_or(Numbers::Auto, Numbers::or_default),
                folds: call.get("folds"),
                fold_column: call.text("fold_column"),
                fold_order: call.text("fold_order"),
                metric: call.text("metric"),
            },
            model: call.text("model"),
            loss: call.text("loss"),
            intercept: call.get("intercept"),
            scale: call.text("scale"),
            nulls: call.text("nulls"),
            bad_rows: call.text("bad_rows"),
            solving: SolvingArguments {
                tolerance: call.get("tolerance"),
                max_passes: call.get("max_passes"),
                solver: call.text("solver"),
                seed: call.get("seed"),
            },
            class_weight: call.long_text("class_weight"),
            probability: call.get("probability"),
            options: call.get("options"),
            task: call.text("task"),
            epsilon: numbers(call, EPSILON).unwrap_or_default(),
            nu: numbers(call, NU).unwrap_or_default(),
            kernel: KernelArguments {
                kind: call.text("kernel"),
                gamma: numbers(call, GAMMA).unwrap_or_default(),
                degree: call.get("degree"),
                coef0: call.get("coef0"),
                rank: call.get("rank"),
            },
            ..Arguments::default()
        }
    }
}

/// A number, a list of numbers or a word; None where that is NULL. 0.2.0 declared one C, or a list.
///
/// # Safety
/// As above.
unsafe fn numbers(call: &Call, argument: Argument) -> Option<Numbers> {
    let name = argument.name;
    // SAFETY: as the caller promises.
    unsafe {
        match call.declared(name) {
            Some(pg_sys::FLOAT8OID) => call.get(name).map(Numbers::of),
            Some(pg_sys::FLOAT8ARRAYOID) => call.numbers(name).map(Numbers::Are),
            _ => {
                let text = call.long_text(name);
                text.map(|text| argument.read(&text).or_raise())
            }
        }
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

fn train(
    function: &str,
    arguments: Arguments,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Result<String, Failure> {
    let started = Instant::now();
    rights::check_writable(function)?;
    let schema = model::schema_of_call(fcinfo);
    let mut arguments = arguments;
    arguments.settle_options()?;
    let mut completed = arguments.copied()?;
    let taken_over = predecessor::take_over(&schema, &mut completed)?;
    let explain = |failure| TakenOver::explain(&taken_over, failure);
    let request = match completed.check() {
        Ok(request) => request,
        // what is wrong without it is not because of what was taken over
        Err(failure) => return Err(arguments.check().err().unwrap_or_else(|| explain(failure))),
    };
    let mut request = request;
    if let Some(before) = &taken_over {
        regression::follow(&mut request, before.regresses)?;
    }
    rights::check_owner(
        &schema,
        &request.model,
        "Choose another name: model => 'name'",
    )?;
    provenance::check(&schema, &request)?;
    deployment::check(&schema, &request.model, &request.deploy)?;
    let mut prepared = entrance::plan(&mut request, None).map_err(explain)?;
    if request.warm_start.is_some() {
        with_latest(|| vocabularies::guess(&mut prepared, &request))?;
    }
    let following = follow::warm_start(fcinfo, &schema, &request, &mut prepared)?;
    provenance::say_what_differs(&schema, &request)?;
    request.without_effect().for_each(Failure::notice);
    say_how_many(&request, &prepared);
    let trained = entrance::train(&mut request, &mut prepared, None, following)?;
    let inherited = Inherited::Settings(taken_over.as_ref());
    store(&schema, request, &prepared, inherited, trained, started)
}

/// Stores what was trained, and announces it; returns the model's name. `schema` is the extension's, quoted; `inherited`: what is that of
/// the version before.
pub fn store(
    schema: &str,
    request: Request,
    prepared: &Prepared,
    inherited: Inherited<'_>,
    mut trained: Trained,
    started: Instant,
) -> Result<String, Failure> {
    if !trained.is_finite() {
        return Err(out_of_range());
    }
    let request = Request {
        rows: RowTerms {
            nulls: prepared.job.settled_nulls(&trained.reader.features),
            ..request.rows
        },
        ..request
    };
    trained.in_label_units(request.plan.scoring)?;
    let values = trained.order_classes();
    let labelled = Labelled {
        label_type: &labels::qualified_type_name(prepared.label_type),
        values: &values,
        scale: scale_word(prepared.job.scale),
        key_type: prepared.key().map(KeyKind::word),
        reads: prepared.reads.as_ref(),
        cache_bytes: prepared.job.resources.cache_bytes,
        seconds: started.elapsed().as_secs_f64(),
    };
    let (version, deployment) = versions::store(schema, &request, &mut trained, &labelled)?;
    warn_of_lost_digits(&trained);
    say_without_effect(&request, &trained, &prepared.job, inherited);
    let giveaways = Giveaways::of(&request, &trained, &prepared.left_out);
    giveaways.warn();
    let announcement = Announcement {
        request: &request,
        trained: &trained,
        labelled: &labelled,
        classed: &prepared.job.statement.columns.label.classed,
        version,
        left_out: &prepared.left_out,
        giveaways: &giveaways,
        trainers: prepared.job.resources.trainers,
        taken_over: inherited.settings(),
        is_for_nodes: trained.processes.is_on_nodes()
            && !versions::is_on_nodes(schema, &request.model)?,
    };
    announcement.make();
    deployment.say(&request.model, version);
    Ok(request.model)
}

fn cross_validate(mut arguments: Arguments) -> Result<Vec<Validated>, Failure> {
    if let Some(source) = arguments.source.clone() {
        let notice = arguments.settle_places(|names| has_any(&source, names))?;
        notice.into_iter().for_each(Failure::notice);
    }
    let mut request = arguments.check_validation()?;
    request.without_effect().for_each(Failure::notice);
    let mut prepared = entrance::prepare_as_labelled(&mut request, None)?;
    regression::said(&request)
        .into_iter()
        .for_each(Failure::notice);
    say_how_many(&request, &prepared);
    let mut trained = entrance::train_as_planned(&mut request, &mut prepared)?;
    trained.in_label_units(request.plan.scoring)?;
    warn_of_lost_digits(&trained);
    let inherited = Inherited::Settings(None);
    say_without_effect(&request, &trained, &prepared.job, inherited);
    Giveaways::of(&request, &trained, &prepared.left_out).warn();
    Ok(validation::rows(&trained, request.plan.scoring)?)
}

/// Whether a source has a column of one of these names.
fn has_any(source: &GivenSource, names: &[String]) -> Result<bool, Failure> {
    let columns = source.columns()?;
    Ok(columns.iter().any(|column| names.contains(&column.name)))
}

/// Says before a choice that may take long how many machines it trains.
fn say_how_many(request: &Request, prepared: &Prepared) {
    if let Some(notice) = request.said_of_choice(prepared.planned.rows) {
        notice.notice();
    }
}

/// Says what was given and had no effect, as only the training has told: threads, and what is about other machines or columns. What was
/// inherited was told of when it was given.
fn say_without_effect(request: &Request, trained: &Trained, job: &Job, inherited: Inherited<'_>) {
    let resident = trained.trainer.report.resident;
    let features = &trained.reader.features;
    let kernel = features.kernel.as_ref();
    let machine = MachineFacts {
        is_exact: kernel.is_some_and(|kernel| kernel.chosen == SUPPORT_VECTORS),
        classes: trained.reader.classes.len(),
        fits: trained.reader.report.resident,
    };
    let is_given = |name: &str| !inherited.has(name);
    let on_machine = request.without_effect_on(&machine, features, is_given);
    let threads = request.without_trainers(job.resources.trainers, resident);
    let stored = strings::without_effect(job).filter(|_| is_given("expansion"));
    let first = threads.into_iter().chain(stored);
    first.chain(on_machine).for_each(Failure::notice);
}

fn scale_word(scale: Scale) -> &'static str {
    match scale {
        Scale::None => "none",
        Scale::Standard => "standard",
        Scale::MaxAbs => "maxabs",
        Scale::MinMax => "minmax",
    }
}
