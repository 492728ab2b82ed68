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
use crate::planning;
use crate::planning::job::{Job, Role};
use crate::planning::prepare::{prepare, Continuing, Prepared};
use crate::planning::source_columns::LeftOut;
use crate::reading::vocabularies;
use crate::request::no_effect::Machine;
use crate::request::numbers::{Argument, Numbers, C, GAMMA};
use crate::request::source::Source;
use crate::request::{
    scans, Arguments, ChoiceArguments, ColumnArguments, KernelArguments, Request, RowTerms,
    SolvingArguments,
};
use crate::sql::announcement::{warn_of_lost_digits, Announcement};
use crate::sql::follow;
use crate::sql::giveaways::Giveaways;
use crate::storing::predecessor::{self, Inherited, TakenOver};
use crate::storing::version_row::Labelled;
use crate::storing::{deployment, provenance, versions};
use crate::targets::labels;
use crate::training::by_scans::{self, Outcome};
use crate::training::leader;
use crate::training::outcome::Trained;
use crate::training::strings;
use crate::training::validation::{self, Validated};
use crate::warm_start::following::Following;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgsvm_core::{Scale, StopReason};
use std::time::Instant;

/// `svm_train(relation, label, …)`: see sql/ for names and defaults. Returns the model's name.
#[pg_extern(sql = false)]
fn svm_train(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call.get("relation").map(Source::Relation),
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
                .map(|text| Source::of_query(text).or_raise()),
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
    ),
> {
    let _prepared = prepared();
    let call = call(fcinfo);
    // SAFETY: the arguments have the types that sql/ gives them.
    let arguments = unsafe {
        Arguments {
            source: call.get("relation").map(Source::Relation),
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
            ..
        } = row;
        (
            c, fold, rows, accuracy, auc, objective, score, overall, best, gamma, truncation,
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
    rights::check_owner(
        &schema,
        &request.model,
        "Choose another name: model => 'name'",
    )?;
    provenance::check(&schema, &request)?;
    deployment::check(&schema, &request.model, &request.deploy)?;
    let mut prepared = plan(&mut request, None).map_err(explain)?;
    if request.warm_start.is_some() {
        with_latest(|| vocabularies::guess(&mut prepared, &request))?;
    }
    let begins = follow::warm_start(fcinfo, &schema, &request, &prepared)?;
    let following = begins.map(|(following, features)| {
        prepared.job.features = features;
        following
    });
    provenance::say_what_differs(&schema, &request)?;
    request.without_effect().for_each(Failure::notice);
    say_how_many(&request, &prepared);
    let trained = fit(&mut request, &mut prepared, None, following)?;
    let inherited = Inherited::Settings(taken_over.as_ref());
    store(&schema, request, &prepared, inherited, trained, started)
}

/// Looks at the source and plans the training, by scans where that may be and pays; `continuing`: the version that it continues.
pub fn plan(request: &mut Request, continuing: Option<&Continuing>) -> Result<Prepared, Failure> {
    scans::choose(request)?;
    let prepared = prepare(request, continuing)?;
    if scans::may_choose(request) && planning::scans::pays(&prepared) {
        request.terms.parameters.solver = request.terms.solver().by_scans();
        return prepare(request, continuing);
    }
    Ok(prepared)
}

/// Trains what is planned, with the latest snapshot.
pub fn fit(
    request: &mut Request,
    prepared: &mut Prepared,
    continuing: Option<&Continuing>,
    following: Option<Following>,
) -> Result<Trained, Failure> {
    with_latest(|| {
        vocabularies::learn(prepared, request)?;
        match prepared.job.terms.scans() {
            true => scan(request, prepared, continuing, following.as_ref()),
            false => {
                let trained = run(prepared, following);
                let may = scans::may_choose(request);
                match may && may_finish(prepared, &trained) {
                    true => scan_after(request, prepared, continuing, trained),
                    false => Ok(trained),
                }
            }
        }
    })
}

/// Trains by scans, and where that gives way goes on with rows that stream.
fn scan(
    request: &mut Request,
    prepared: &mut Prepared,
    continuing: Option<&Continuing>,
    following: Option<&Following>,
) -> Result<Trained, Failure> {
    let standing = match by_scans::train(&prepared.job, &prepared.planned, true, following)? {
        Outcome::Trained(trained) => return Ok(*trained),
        Outcome::GaveWay(standing) => standing,
    };
    request.terms.parameters.solver = request.terms.solver().without_scans();
    let anew = prepare(request, continuing)?;
    let before = std::mem::replace(prepared, anew);
    if following.is_some() {
        // with the categories that the model knows, whose weights these are
        prepared.job.features = before.job.features;
        prepared.guessed = before.guessed;
    }
    prepared.job.roles.retain(|role| *role == Role::Helper);
    vocabularies::learn(prepared, request)?;
    let scans = standing.scans;
    let trained = leader::go_on(&prepared.job, &prepared.planned, standing);
    Ok(Trained {
        gave_way: Some(scans),
        followed: following.map(Following::followed),
        ..trained
    })
}

/// Whether scans may come to the tolerance that rows that stream have missed: their dual variables have 64 bits, which columns far from 1 in
/// size take. Only where the rows are few.
fn may_finish(prepared: &Prepared, trained: &Trained) -> bool {
    let job = &prepared.job;
    let stop = trained.trainer.report.summary().stop;
    !stop.is_some_and(StopReason::arrived)
        && trained.reader.report.resident
        && !job.terms.loss().is_smooth()
        && job.terms.truncation().is_none()
        && job.scale == Scale::None
        && job.kernel.is_none()
        && !job.plan.holds_out()
        && prepared.planned.repeats
}

/// Trains by scans what rows that stream have left unfinished, and takes what is nearer to the tolerance.
fn scan_after(
    request: &mut Request,
    prepared: &mut Prepared,
    continuing: Option<&Continuing>,
    trained: Trained,
) -> Result<Trained, Failure> {
    let report = &trained.trainer.report;
    let (streamed, gap) = (Some(report.passes), report.summary().gap);
    let before = *request.terms.solver();
    request.terms.parameters.solver = before.by_scans();
    let mut anew = prepare(request, continuing)?;
    vocabularies::learn(&mut anew, request)?;
    match by_scans::train(&anew.job, &anew.planned, true, None)? {
        Outcome::Trained(found) if found.trainer.report.summary().gap < gap => {
            *prepared = anew;
            Ok(Trained { streamed, ..*found })
        }
        Outcome::Trained(_) | Outcome::GaveWay(_) => {
            request.terms.parameters.solver = before;
            Ok(Trained {
                streamed,
                ..trained
            })
        }
    }
}

/// Trains, with the active snapshot.
pub fn run(prepared: &Prepared, following: Option<Following>) -> Trained {
    leader::train(&prepared.job, &prepared.planned, following)
}

/// Prepares and trains what begins from nothing, for nothing that is stored; with the columns that are no features.
pub fn prepare_and_run(request: &Request) -> Result<(Trained, LeftOut), Failure> {
    let mut prepared = prepare(request, None)?;
    let trained = run_for_nothing(request, &mut prepared)?;
    Ok((trained, prepared.left_out))
}

fn run_for_nothing(request: &Request, prepared: &mut Prepared) -> Result<Trained, Failure> {
    with_latest(|| {
        vocabularies::learn(prepared, request)?;
        Ok(run(prepared, None))
    })
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
    let told = Announcement {
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
    told.make();
    deployment.say(&request.model, version);
    Ok(request.model)
}

fn cross_validate(mut arguments: Arguments) -> Result<Vec<Validated>, Failure> {
    if let Some(source) = arguments.source.clone() {
        let told = arguments.settle_places(|names| has_any(&source, names))?;
        told.into_iter().for_each(Failure::notice);
    }
    let request = arguments.check_validation()?;
    request.without_effect().for_each(Failure::notice);
    let mut prepared = prepare(&request, None)?;
    say_how_many(&request, &prepared);
    let trained = run_for_nothing(&request, &mut prepared)?;
    warn_of_lost_digits(&trained);
    let inherited = Inherited::Settings(None);
    say_without_effect(&request, &trained, &prepared.job, inherited);
    Giveaways::of(&request, &trained, &prepared.left_out).warn();
    Ok(validation::rows(&trained, request.plan.scoring)?)
}

/// Whether a source has a column of one of these names.
fn has_any(source: &Source, names: &[String]) -> Result<bool, Failure> {
    let columns = source.columns()?;
    Ok(columns.iter().any(|column| names.contains(&column.name)))
}

/// Says before a choice that may take long how many machines it trains.
fn say_how_many(request: &Request, prepared: &Prepared) {
    if let Some(told) = request.said_of_choice(prepared.planned.rows) {
        told.notice();
    }
}

/// Says what was given and had no effect, as only the training has told: threads, and what is about other machines or columns. What was
/// inherited was told of when it was given.
fn say_without_effect(request: &Request, trained: &Trained, job: &Job, inherited: Inherited<'_>) {
    let resident = trained.trainer.report.resident;
    let features = &trained.reader.features;
    let kernel = features.kernel.as_ref();
    let machine = Machine {
        is_exact: kernel.is_some_and(|kernel| kernel.chosen == SUPPORT_VECTORS),
        classes: trained.reader.classes.len(),
        fits: trained.reader.report.resident,
    };
    let is_given = |name: &str| !inherited.has(name);
    let told = request.without_effect_on(&machine, features, is_given);
    let threads = request.without_trainers(job.resources.trainers, resident);
    let stored = strings::without_effect(job).filter(|_| is_given("expansion"));
    let first = threads.into_iter().chain(stored);
    first.chain(told).for_each(Failure::notice);
}

fn scale_word(scale: Scale) -> &'static str {
    match scale {
        Scale::None => "none",
        Scale::Standard => "standard",
        Scale::MaxAbs => "maxabs",
        Scale::MinMax => "minmax",
    }
}
