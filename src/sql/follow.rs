//! Models that follow their table: `svm_refresh`, `svm_update`, `svm_forget`, and the option `warm_start`. SQL face; runs
//! in the calling backend, and the training too: it begins from what the leader has read.
//!
//! A version with a key remembers which rows it was trained on, a digest of each, and their dual variables. A training
//! that continues it reads all rows again, since its certificate is over all of them; it finds each row's dual variable
//! by the key, and begins with them and with the version's weights, or, where so much has changed that this would take longer,
//! from nothing. Then it goes on as any other training does.
//!
//! A kernel machine is trained anew on the rows that this leaves, with the terms of the version: its landmarks are rows, chosen of
//! those that there are.
//!
//! Of a version without a key only `svm_refresh` is known to mean: all rows of the source are trained on, beginning at the version's weights
//! where the solver can.
//!
//! What a version remembers of its rows is in `warm_start`, and which of them are screened too.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::text::written;
use crate::catalog::rights;
use crate::catalog::trained_by::{self, training};
use crate::combinations::{following, no_effect};
use crate::features::{FeaturePart, FeatureSet};
use crate::keys::chunks::KeyKind;
use crate::keys::column::{check_kind, null_key};
use crate::model::{self, Model};
use crate::pg::acting::ActingAs;
use crate::pg::call::Call;
use crate::pg::executor::Continue;
use crate::pg::json::JsonText;
use crate::pg::kept_rows::KeptTuples;
use crate::pg::long_errors::cut_off;
use crate::pg::memory_ends::prepared;
use crate::pg::query::{self, Planned};
use crate::pg::snapshot::with_latest;
use crate::pg::subtransaction::attempt;
use crate::pg::{check_for_interrupts, statement};
use crate::planning::prepare::{prepare_added, Continuing, Prepared};
use crate::planning::source_columns;
use crate::request::reads::Reads;
use crate::request::source::{free_name, qualified_relation, quote, relation_name, GivenSource};
use crate::request::{regression, KernelMethod, Request};
use crate::sql::life::OwnedModel;
use crate::sql::train;
use crate::storing::deployment;
use crate::storing::predecessor::Inherited;
use crate::training::entrance;
use crate::training::outcome::Trained;
use crate::training::Covers;
use crate::warm_start::following::{CheaperStart, FollowedRows, Following};
use crate::warm_start::memory::VersionMemory;
use crate::warm_start::stored::{self, StoredVersion};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use pgsvm_core::kernels::KernelKind;
use pgsvm_core::{Cuts, SolverChoice, StopRule};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

/// Keys read before interrupts are looked for.
const KEYS_AT_A_TIME: u64 = 10_000;

/// What is to be done with a model.
enum Change {
    Refresh,
    Update(GivenSource),
    Forget(GivenSource),
}

/// `svm_refresh(model, options)`: trains on the source as it is now.
#[pg_extern(sql = false)]
fn svm_refresh(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    cut_off(|| follow("svm_refresh()", fcinfo, |_| Ok(Change::Refresh))).or_raise()
}

/// `svm_update(model, relation | query, options)`: adds rows.
#[pg_extern(sql = false)]
fn svm_update(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let update = |call: &Call| Ok(Change::Update(given(call)?));
    cut_off(|| follow("svm_update()", fcinfo, update)).or_raise()
}

/// `svm_forget(model, relation | query, options)`: removes rows.
#[pg_extern(sql = false)]
fn svm_forget(fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let forget = |call: &Call| Ok(Change::Forget(given(call)?));
    cut_off(|| follow("svm_forget()", fcinfo, forget)).or_raise()
}

/// The rows that the call names.
fn given(call: &Call) -> Result<GivenSource, Failure> {
    // SAFETY: the arguments have the types that sql/ gives them.
    unsafe { GivenSource::of_call(call) }
}

fn follow(
    function: &str,
    fcinfo: pg_sys::FunctionCallInfo,
    change: impl FnOnce(&Call) -> Result<Change, Failure>,
) -> Result<String, Failure> {
    let started = Instant::now();
    // SAFETY: PostgreSQL calls the functions above by their SQL declarations.
    let call = unsafe { Call::of(fcinfo) };
    // SAFETY: the arguments have these types.
    let (name, options) = unsafe { (call.text("model"), call.get::<JsonText>("options")) };
    // from here on nobody else changes the model, and what is read is what others had committed before
    let owned = OwnedModel::lock(function, name.as_deref(), fcinfo)?;
    let change = change(&call)?;
    statement::with_fresh_snapshot(|| {
        let deployed = DeployedVersion::load(fcinfo, &owned, &change, options.as_ref())?;
        let continuing = deployed.continuing()?;
        // whoever calls: the source is planned and read with the rights of the model's owner, and nothing else is
        let acting = owned.acting(deployed.stored.source.search_path.as_deref())?;
        let (request, mut prepared) = acting.run(|| deployed.prepare(&continuing, options))?;
        deployment::check(&owned.schema, &owned.name, &request.deploy)?;
        let mut request = request;
        let planned = deployed.plan_given(&request, &continuing, &prepared)?;
        let trained = match deployed.key {
            None => {
                let following = deployed.begin_without_key(&request);
                deployed.say_without_key(&request, &following);
                let following = Some(following);
                acting.run(|| {
                    entrance::train(&mut request, &mut prepared, Some(&continuing), following)
                })
            }
            Some(_) => with_latest(|| {
                let given = planned.map(|it| Rc::new(RefCell::new(KeptTuples::of(&it))));
                let may_screen = deployed.may_screen(&prepared);
                run(&acting, &mut prepared, may_screen, |screen| {
                    deployed.begin(&request, given.as_ref(), screen)
                })
            }),
        }?;
        deployed.warn_of_nothing(&trained);
        let inherited = Inherited::Everything;
        train::store(
            &owned.schema,
            request,
            &prepared,
            inherited,
            trained,
            started,
        )
    })
}

/// The deployed version of a model, which a training is to continue.
struct DeployedVersion<'a> {
    owned: &'a OwnedModel,
    change: &'a Change,
    known: Rc<Model>,
    stored: StoredVersion,
    /// The column of its key, and of what kind that is; None of a version without one, which can only be refreshed.
    key: Option<(String, KeyKind)>,
    keeps_scaling: bool,
    /// Keys that were given to be forgotten, and those of them that are not known.
    unknown: Cell<(u64, u64)>,
}

impl<'a> DeployedVersion<'a> {
    fn load(
        fcinfo: pg_sys::FunctionCallInfo,
        owned: &'a OwnedModel,
        change: &'a Change,
        options: Option<&JsonText>,
    ) -> Result<Self, Failure> {
        let version = owned.current_version;
        let stored = StoredVersion::load(&owned.schema, &owned.name, version)?;
        let key = stored.key().map(|(column, kind)| (column.to_owned(), kind));
        if key.is_none() && !matches!(change, Change::Refresh) {
            let how = how_to_key(owned, &stored);
            return Err(following::follow_without_key(&owned.name, how));
        }
        if key.is_none() && stored.source.reads.is_none() {
            return Err(unsaid(&owned.name, version));
        }
        let known = model::of_call(fcinfo, &format!("{}@{version}", owned.name))?;
        stored.check_source(&known)?;
        Ok(Self {
            owned,
            change,
            known,
            key,
            keeps_scaling: stored::keeps_scaling(options)?,
            stored,
            unknown: Cell::default(),
        })
    }

    fn continuing(&self) -> Result<Continuing, Failure> {
        Ok(Continuing {
            features: self.known.features.without_data()?,
            label_type: self.stored.label.kind.clone(),
            key: self.key.as_ref().map(|(_, kind)| *kind),
            adds: matches!(self.change, Change::Update(_)),
        })
    }

    /// What the version was trained by, and its source as it is now.
    fn prepare(
        &self,
        continuing: &Continuing,
        options: Option<JsonText>,
    ) -> Result<(Request, Prepared), Failure> {
        let name = &self.owned.name;
        let mut request = self.stored.request(name, &self.known.features, options)?;
        request.plan.nu_from = self
            .known
            .finds_novelties
            .then_some(self.stored.minimized.c);
        if self.key.is_some() && request.terms.scans() {
            let scans = request.terms.solver_word();
            // what goes on from dual variables has rows that are kept
            let parameters = &mut request.terms.parameters;
            parameters.solver = parameters.solver.without_scans();
            if parameters.stopping.rule == StopRule::MeanLoss {
                // of planes alone
                parameters.stopping.rule = StopRule::Gap;
            }
            if let Some(kernel) = &mut request.kernel {
                // scans know no other kernel machine
                kernel.method = match kernel.method {
                    KernelMethod::Auto => KernelMethod::LowRank,
                    method => method,
                };
            }
            request.call.stays_with = Some(scans);
            let keeps = request.terms.solver_word();
            Failure::new(
                Code::ERRCODE_SUCCESSFUL_COMPLETION,
                format!("model \"{name}\" was trained by scans, which keep no rows: solver '{keeps}' goes on from what it knows of them"),
            )
            .detail("Its rows are in memory meanwhile, or in a temporary file where they do not fit pgsvm.cache_size. The model stays with its solver and options; without a key its refresh is by scans.")
            .notice();
        }
        check_reads(&self.stored, &request, self.owned)?;
        regression::keep(&mut request, self.known.regresses);
        let prepared = entrance::plan(&mut request, Some(continuing))?;
        Ok((request, prepared))
    }

    /// What a training of a version without a key begins from: its weights, where the solver can begin there.
    fn begin_without_key(&self, request: &Request) -> Following {
        let memory = VersionMemory::of_weights(self.known.clone());
        let mut following = Following::new(self.owned.name.clone(), memory, FollowedRows::All);
        if request.kernel.is_some()
            || request.terms.solver().descends()
            || is_ocas_of_numbers(request)
        {
            following.begin_from_nothing();
        }
        following
    }

    /// Says that all is done again, why, and what to type for less.
    fn say_without_key(&self, request: &Request, following: &Following) {
        let (name, version) = (&self.owned.name, &self.known.name);
        let begins = match following.followed().from_nothing {
            true => "from nothing".to_owned(),
            false => format!("beginning at the weights of {version}"),
        };
        let message = format!(
            "model \"{name}\" has no key: it is trained again on all rows of its source, {begins}"
        );
        let said = Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message)
            .detail("Which of its rows have changed cannot be known.");
        // a kernel machine is trained anew with a key too, and classes that are told apart together have no key
        let has_none = request.terms.together();
        match self.known.features.kernel.is_some() || has_none {
            true => said.notice(),
            false => said.hint(how_to_key(self.owned, &self.stored)).notice(),
        }
        if self.keeps_scaling {
            no_effect::keep_scaling(name).notice();
        }
    }

    /// Plans the query for the rows that the call gives.
    fn plan_given(
        &self,
        request: &Request,
        continuing: &Continuing,
        prepared: &Prepared,
    ) -> Result<Option<Planned>, Failure> {
        match (self.change, &self.key) {
            (Change::Refresh, _) | (Change::Forget(_), None) => Ok(None),
            (Change::Update(source), _) => {
                prepare_added(request, continuing, prepared, source).map(Some)
            }
            (Change::Forget(source), Some((column, kind))) => {
                plan_keys(&self.owned.name, source, column, *kind).map(Some)
            }
        }
    }

    /// A WARNING where rows to forget are not known, or no row was added.
    fn warn_of_nothing(&self, trained: &Trained) {
        let name = &self.owned.name;
        let followed = trained.followed.as_ref();
        let rows = followed.and_then(|followed| followed.rows);
        let warning = match (self.change, self.unknown.get(), rows) {
            (Change::Forget(_), (keys, unknown @ 1..), _) => {
                let matches = if unknown == 1 { "matches" } else { "match" };
                Failure::new(
                    Code::ERRCODE_WARNING,
                    format!("{unknown} of {keys} keys to forget {matches} no row that model \"{name}\" was trained on"),
                )
                .detail("A row that has been forgotten is none of them, and a key that comes twice matches once.")
            }
            (Change::Update(_), _, Some(rows)) if rows.added == 0 => Failure::new(
                Code::ERRCODE_WARNING,
                format!("no row was added to model \"{name}\""),
            )
            .detail("The rows to add are none, or none that can be trained on."),
            _ => return,
        };
        warning.warn();
    }

    fn may_screen(&self, prepared: &Prepared) -> bool {
        prepared.job.looks.slacks && (self.keeps_scaling || !prepared.scales())
    }

    /// What the training begins from. `given`: the rows of the call; `screen`: whether rows may be screened.
    fn begin(
        &self,
        request: &Request,
        given: Option<&Rc<RefCell<KeptTuples>>>,
        screen: bool,
    ) -> Result<Following, Failure> {
        let Some((column, kind)) = &self.key else {
            return Ok(self.begin_without_key(request));
        };
        let (schema, name, id) = (&self.owned.schema, &self.owned.name, self.stored.id);
        let tolerance = request.terms.stopping().tolerance;
        let mut memory = VersionMemory::load(schema, self.known.clone(), id, *kind)?;
        if let (Change::Forget(_), Some(keys)) = (self.change, given) {
            let keys = &mut keys.borrow_mut();
            let unknown = forget(&mut memory, name, keys, column, *kind)?;
            self.unknown.set(unknown);
        }
        let (rows, added) = match self.change {
            Change::Refresh => (FollowedRows::All, None),
            Change::Update(_) => (FollowedRows::Known, given.cloned()),
            Change::Forget(_) => (FollowedRows::Known, None),
        };
        let mut following = Following::new(name.clone(), memory, rows);
        following.added = added;
        following.choice = Some(CheaperStart {
            tolerance,
            carries_on: request.terms.solver().descends(),
        });
        if request.kernel.is_some() {
            // landmarks are chosen of the rows as they are, so that of those that went there is nothing left
            following.begin_from_nothing();
        }
        if screen {
            following.plan_screening(schema, id, tolerance)?;
        }
        Ok(following)
    }
}

/// Refuses a source that reads something else than when the version was trained.
fn check_reads(
    stored: &StoredVersion,
    request: &Request,
    owned: &OwnedModel,
) -> Result<(), Failure> {
    match &stored.source.reads {
        Some(before) => Reads::of(&request.source)?.check(before, &owned.name, &owned.owner_name()),
        None => Ok(()),
    }
}

/// Refuses to read a source again of which nobody knows that whoever chose it had the rights of the model's owner.
fn unsaid(name: &str, version: i32) -> Failure {
    Failure::new(
        Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("model \"{name}@{version}\" does not say what its source read"),
    )
    .detail("It was imported, or trained without a key under a version of pgsvm before 0.3.0 or by a role with BYPASSRLS. A refresh reads the source with the rights of the model's owner.")
    .hint(format!("Train it again: {}", training(name, "")))
}

/// Trains, and screens rows where that may and does do; `begin` reads what the training begins from,
/// and whether rows may be screened.
fn run(
    acting: &ActingAs,
    prepared: &mut Prepared,
    may_screen: bool,
    begin: impl Fn(bool) -> Result<Following, Failure>,
) -> Result<Trained, Failure> {
    let train = |prepared: &Prepared, following| acting.run(|| entrance::run(prepared, following));
    // the shares of the tolerance to which rows are screened: where the first is too much, one that should do
    let mut share = may_screen.then_some(1.0);
    loop {
        let following = begin(share.is_some())?;
        let (Some(tried), Some(_)) = (share, &following.screening) else {
            return Ok(train(prepared, Some(following)));
        };
        let trained = prepared.screening(tried, |prepared| train(prepared, Some(following)));
        // what stands for a NULL is a mean of all rows
        if prepared.job.rows.nulls_by_rows && trained.reader.features.has_nulls() {
            share = None;
            continue;
        }
        share = match trained.covers {
            Covers::AllRows => return Ok(trained),
            Covers::WithAWiderGap(smaller) if tried == 1.0 => Some(smaller),
            Covers::WithAWiderGap(_) | Covers::NotAll => None,
        };
    }
}

/// Plans the query for the keys in `source`.
fn plan_keys(
    model: &str,
    source: &GivenSource,
    column: &str,
    kind: KeyKind,
) -> Result<Planned, Failure> {
    let columns = source.columns().map_err(|failure| match source {
        // a key where the rows to forget are a relation's
        GivenSource::Relation(oid) if relation_name(*oid).is_none() => failure.hint(format!(
            "Rows are told by their keys in a relation or a query: SELECT svm_forget({}, 'SELECT {} AS {}')",
            quote_literal(model),
            oid.to_u32(),
            quote(column).replace('\'', "''")
        )),
        _ => failure,
    })?;
    let key = source_columns::named("key", column, &columns)?;
    check_kind(model, column, KeyKind::of_column(key)?, kind)?;
    let (name, cast, source) = (quote(column), kind.cast(), source.table_expression()?);
    let select = written(format_args!("SELECT {name}::{cast} FROM {source}"))?;
    Ok(query::plan(&select))
}

/// Removes the keys given from what is known; returns how many were given, and how many of them are not known.
fn forget(
    memory: &mut VersionMemory,
    model: &str,
    given: &mut KeptTuples,
    column: &str,
    kind: KeyKind,
) -> Result<(u64, u64), Failure> {
    let (keys, found) = forget_keys(memory, given, column, kind)?;
    if found > 0 {
        return Ok((keys, keys - found));
    }
    Err(Failure::new(
        Code::ERRCODE_NO_DATA,
        format!("none of the rows to forget is among those that model \"{model}\" was trained on"),
    )
    .detail(format!("Keys given in column \"{column}\": {keys}."))
    .hint(format!(
        "Keys are values of {} in the model's source, as they were when it was last trained; SELECT svm_refresh({}) takes the source as it is now",
        quote_identifier(column),
        quote_literal(model)
    )))
}

/// The same; returns how many keys were given, and how many of them were known.
fn forget_keys(
    memory: &mut VersionMemory,
    given: &mut KeptTuples,
    column: &str,
    kind: KeyKind,
) -> Result<(u64, u64), Failure> {
    let (mut keys, mut found) = (0, 0);
    let (mut failure, mut more) = (None, true);
    given.rewind();
    while more {
        check_for_interrupts();
        more = given.run(KEYS_AT_A_TIME, &mut |row| {
            keys += 1;
            let forgotten = match row.nulls[0] {
                true => Err(null_key(column, keys)),
                false => memory.rows.forget(kind.known_by(row.values[0])),
            };
            match forgotten {
                Ok(known) => found += u64::from(known),
                Err(reason) => {
                    failure = Some(reason);
                    return Continue::No;
                }
            }
            Continue::Yes
        });
    }
    failure.map_or(Ok((keys, found)), Err)
}

/// How a model without a key gets one: its source, as its owner sees it, may have one.
fn how_to_key(owned: &OwnedModel, stored: &StoredVersion) -> String {
    let model = &owned.name;
    let again = |key: &str| training(model, &format!("key => {}", quote_literal(key)));
    let look = |text| {
        let source = GivenSource::of_text(text).ok()?;
        Some((source.columns().ok()?, source))
    };
    // only with its owner's rights: to look at a query may run functions of theirs; and what it reads may be gone
    let acting = owned.acting(stored.source.search_path.as_deref()).ok();
    let source = trained_by::source(model).zip(acting);
    let found = source.and_then(|(text, acting)| attempt(|| acting.run(|| look(text))).ok()?);
    let key = found
        .as_ref()
        .and_then(|(columns, _)| source_columns::likely_key(columns));
    match (key, &found) {
            (Some(key), _) => format!("Train it again with one: {}", again(&key)),
            (None, Some((columns, source @ GivenSource::Relation(oid)))) if source.is_table() => {
                let (table, key) = (qualified_relation(*oid), free_name("id", columns));
                format!(
                    "Give its rows one: ALTER TABLE {} ADD COLUMN {} bigint GENERATED ALWAYS AS IDENTITY. Then train it again: {}",
                    table.unwrap_or_default(),
                    quote(&key),
                    again(&key)
                )
            }
            (None, _) => "Have its source return a column that tells its rows apart, and train it again with that as key.".to_owned(),
    }
}

/// What a training begins from whose options say `warm_start`; None where they do not. Tells the plan the categories that are known there,
/// and of novelties their C.
pub fn warm_start(
    fcinfo: pg_sys::FunctionCallInfo,
    schema: &str,
    request: &Request,
    prepared: &mut Prepared,
) -> Result<Option<Following>, Failure> {
    let Some(name) = &request.warm_start else {
        return Ok(None);
    };
    let features = &prepared.job.features;
    let base = name
        .rsplit_once('@')
        .map_or(name.as_str(), |(base, _)| base);
    let known = model::of_call(fcinfo, name)?;
    let plan = &request.plan;
    if (known.regresses, known.finds_novelties)
        != (request.terms.targets.is_some(), plan.nu.is_some())
    {
        return Err(following::warm_start_task(&known.name));
    }
    if is_ocas_of_numbers(request) {
        return Err(following::warm_start_ocas(&known.name));
    }
    check_kernel(&known, request)?;
    let (_, version) = known.name_and_version();
    let stored = StoredVersion::load(schema, base, version.unwrap_or_default())?;
    check_features(&known, request, features)?;
    let mut memory = remembered(schema, base, &stored, &known, prepared.key())?;
    match (plan.nu, plan.costs.as_slice()) {
        (Some(_), _) => prepared.job.plan.nu_from = Some(stored.minimized.c),
        (None, [c]) => memory.scale(c / stored.minimized.c),
        (None, _) => {}
    }
    prepared.job.features = known_parts(&known, request, &prepared.job.features)?;
    let following = Following::new(known.name.clone(), memory, FollowedRows::All);
    Ok(Some(following))
}

/// Whether planes are laid between the newest and the best weights over sides of numbers: from weights that are good already that ends before
/// it has begun.
fn is_ocas_of_numbers(request: &Request) -> bool {
    let solver = request.terms.solver();
    request.terms.targets.is_some() && matches!(solver, SolverChoice::Scan(Cuts::Ocas(_)))
}

/// Refuses a model of another kernel than that of a training that is to begin from it; gamma may be another.
fn check_kernel(known: &Model, request: &Request) -> Result<(), Failure> {
    let asked = request.kernel.as_ref().and_then(|it| it.maps.first());
    let asked = asked
        .map(|map| &map.kernel)
        .filter(|it| it.kind() != KernelKind::Linear);
    let theirs = known.features.kernel.as_ref();
    let same = match (theirs.and_then(|it| it.kernel()), asked) {
        (None, None) => true,
        (Some(theirs), Some(asked)) => asked.is_kind_of(&theirs),
        _ => false,
    };
    if same {
        return Ok(());
    }
    let kernel = match theirs {
        Some(form) => form.as_arguments(),
        None => "kernel => 'linear'".to_owned(),
    };
    Err(following::warm_start_kernel(&known.name, kernel))
}

/// Refuses a model with other features than those of a training that is to begin from it.
fn check_features(known: &Model, request: &Request, features: &FeatureSet) -> Result<(), Failure> {
    let mut same = features.copied()?;
    same.parts.retain(|part| !leaves_out(known, request, part));
    if known.features.same_columns(&same) {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("model \"{}\" has other features", known.name),
    )
    .detail(format!("Its features: {}.", known.features.names()))
    .hint("A training can begin from a model with the same features in the same order: features => '{…}'"))
}

/// Whether a part that nobody has named was left out when the model was trained.
fn leaves_out(known: &Model, request: &Request, part: &FeaturePart) -> bool {
    request.columns.features.is_none() && {
        let name = part.name();
        let left_out = known.features.left_out.iter();
        left_out
            .chain(&known.features.constant)
            .any(|out| *out == name)
    }
}

/// What a version knows; of its rows only where they are found by such a key.
fn remembered(
    schema: &str,
    name: &str,
    stored: &StoredVersion,
    known: &Rc<Model>,
    key: Option<KeyKind>,
) -> Result<VersionMemory, Failure> {
    match (stored.key(), key) {
        (Some((_, theirs)), Some(ours)) if theirs == ours => {
            // dual variables are their owner's to see
            let why = "Only its owner sees which rows it was trained on.";
            rights::check_owner(schema, name, why)?;
            VersionMemory::load(schema, known.clone(), stored.id, ours)
        }
        _ => Ok(VersionMemory::of_weights(known.clone())),
    }
}

/// The features with the categories that the model knows. What nobody named is read again, to be left out again.
fn known_parts(
    known: &Model,
    request: &Request,
    features: &FeatureSet,
) -> Result<FeatureSet, Failure> {
    let mut theirs = known.features.parts.iter();
    let mut begins = features.copied()?;
    for part in &mut begins.parts {
        if !leaves_out(known, request, part) {
            if let Some(known) = theirs.next() {
                part.clone_from(known);
            }
        }
    }
    Ok(begins)
}
