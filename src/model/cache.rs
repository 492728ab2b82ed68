//! Finds a model by name for the role that asks, and keeps those last used.
//!
//! The name is looked up in the tables each time, under the statement's snapshot, so rights and
//! versions are always right; only what hangs on a version, which never changes, is kept.

use super::changes;
use super::load::{self, Plans, VersionKey, VersionRow};
use super::on_node::{self, OnNode};
use super::version::Model;
use crate::base::errors::{shortened, Code, Failure};
use crate::catalog::whole;
use crate::pg::{citus, select, statement};
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::Room;
use pgsvm_core::OutOfMemory;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Models in memory take at most this, beyond the one last used.
const CACHE_BYTES: usize = 256 << 20;

/// Longer than any name of a model with its version.
const LONGEST_NAME_BYTES: usize = 1000;

thread_local! {
    static CACHE: RefCell<KeptModels> = RefCell::new(KeptModels::default());
    /// What `changes::weight_changes` said when they were read.
    static WEIGHT_CHANGES: Cell<u64> = const { Cell::new(0) };
}

/// The model called `name`, or `name@3`, of the extension in `schema`, as the current snapshot and
/// user see it.
///
/// # Errors
/// When there is none, or what is stored makes no sense.
pub fn find(schema: pg_sys::Oid, name: &str) -> Result<Rc<Model>, Failure> {
    check_length(name)?;
    let (base, version) = split_name(name);
    // SAFETY: catalog look-ups.
    let [models, key, weights] = [c"svm_model", changes::MODELS_KEY, c"svm_weight"]
        .map(|table| unsafe { pg_sys::get_relname_relid(table.as_ptr(), schema) });
    changes::watch(models, key, weights);
    changes::look_at_triggers(schema);
    forget_when_weights_changed();
    select::connected(|| {
        if let Some(model) = find_on_node(base, version)? {
            return Ok(model);
        }
        let plans = Plans::of(schema)?;
        let Some(row) = load::look_up(&plans, models, base, version) else {
            return Err(missing(&plans, base, version));
        };
        kept_or(base, &row, || load::load(&plans, base, &row))
    })
}

/// The model as the coordinator of Citus has put it here; None where it has not, and where this is no node. SPI is connected.
fn find_on_node(name: &str, version: Option<i32>) -> Result<Option<Rc<Model>>, Failure> {
    let Some(on_node) = OnNode::here() else {
        return Ok(None);
    };
    let Some(row) = on_node.look_up(name) else {
        return Ok(None);
    };
    match version {
        Some(version) if version != row.version => {
            Err(on_node::not_deployed(name, version, row.version))
        }
        _ => kept_or(name, &row, || on_node.load(name, &row)).map(Some),
    }
}

/// The id of the version that a name stands for; nothing else of it is read.
pub fn find_id(schema: pg_sys::Oid, name: &str) -> Result<i64, Failure> {
    check_length(name)?;
    let (base, version) = split_name(name);
    // SAFETY: a catalog look-up.
    let models = unsafe { pg_sys::get_relname_relid(c"svm_model".as_ptr(), schema) };
    select::connected(|| {
        let plans = Plans::of(schema)?;
        match load::look_up(&plans, models, base, version) {
            Some(row) => Ok(row.key.version),
            None => Err(missing(&plans, base, version)),
        }
    })
}

/// Refuses what is longer than any model's name, and too long for a message.
pub fn check_length(name: &str) -> Result<(), Failure> {
    if name.len() <= LONGEST_NAME_BYTES {
        return Ok(());
    }
    let beginning: String = name.chars().take(40).collect();
    Err(Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("model \"{beginning}…\" does not exist"),
    )
    .detail(format!("Its name has {} bytes.", name.len())))
}

/// `name@3` is version 3 of `name`; names themselves hold no `@`.
fn split_name(name: &str) -> (&str, Option<i32>) {
    match name.rsplit_once('@') {
        Some((base, version)) => match version.parse() {
            Ok(version) => (base, Some(version)),
            Err(_) => (name, None),
        },
        None => (name, None),
    }
}

/// Forgets every model when weights may have arrived for a version that was read without them.
fn forget_when_weights_changed() {
    let changes = changes::weight_changes();
    if WEIGHT_CHANGES.replace(changes) != changes {
        CACHE.take();
    }
}

/// Models used lately.
#[derive(Default)]
struct KeptModels {
    /// With when they were used last.
    models: HashMap<VersionKey, (u64, Rc<Model>)>,
    /// By when they were used last.
    order: BTreeMap<u64, VersionKey>,
    /// Bytes that they take together.
    bytes: usize,
    /// Counts uses.
    now: u64,
}

impl KeptModels {
    /// The version under the name that it has now: messages say it.
    fn get(&mut self, key: &VersionKey, name: &str) -> Option<Rc<Model>> {
        let (used, model) = self.models.get_mut(key)?;
        if model.base_name() != name {
            return None;
        }
        self.now += 1;
        self.order.remove(used);
        self.order.insert(self.now, *key);
        *used = self.now;
        Some(Rc::clone(model))
    }

    /// Keeps a model, and forgets those not used for longest where all together take too much.
    fn put(&mut self, key: VersionKey, model: &Rc<Model>) -> Result<(), OutOfMemory> {
        self.models.room(1)?;
        self.now += 1;
        self.order.insert(self.now, key);
        self.bytes += model.bytes();
        let before = self.models.insert(key, (self.now, Rc::clone(model)));
        if let Some((used, renamed)) = before {
            self.order.remove(&used);
            self.bytes -= renamed.bytes();
        }
        while self.bytes > CACHE_BYTES && self.models.len() > 1 {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            if let Some((_, model)) = self.models.remove(&oldest) {
                self.bytes -= model.bytes();
            }
        }
        Ok(())
    }
}

/// The version if it is in memory, or else what `load` reads, which is kept.
fn kept_or(
    name: &str,
    row: &VersionRow,
    load: impl FnOnce() -> Result<Model, Failure>,
) -> Result<Rc<Model>, Failure> {
    if let Some(model) = CACHE.with_borrow_mut(|cache| cache.get(&row.key, name)) {
        return Ok(model);
    }
    let model = Rc::new(load()?);
    CACHE.with_borrow_mut(|cache| cache.put(row.key, &model))?;
    Ok(model)
}

fn missing(plans: &Plans, name: &str, version: Option<i32>) -> Failure {
    let schema = statement::quoted_schema(plans.schema).unwrap_or_default();
    let list = format!("SELECT name FROM {schema}.svm_models");
    let failure = |message| Failure::new(Code::ERRCODE_UNDEFINED_OBJECT, message);
    if let Some(current) = load::current_version(plans, name) {
        let version = version.unwrap_or(current);
        if version == current {
            return whole::without_version(name, current);
        }
        return failure(format!("model \"{name}\" has no version {version}")).hint(format!(
            "The current version is {current}: use {}.",
            quote_literal(name)
        ));
    }
    if let Some(node) = citus::node_name() {
        return on_node::missing(name, &node);
    }
    if let Some((base, version)) = name.rsplit_once('@') {
        if load::current_version(plans, base).is_some() {
            return failure(format!("model \"{name}\" does not exist")).hint(format!(
                "\"{}\" is no version: versions are whole numbers, as in {}, and {} is the current one.",
                shortened(version),
                quote_literal(format!("{base}@1")),
                quote_literal(base)
            ));
        }
    }
    let near = load::near_names(plans, name);
    let near: Vec<_> = near.iter().map(quote_literal).collect();
    let hint = match near.as_slice() {
        // whether there is one is not for this role to know
        [] if !statement::sees_all_rows(plans.models()) => {
            return failure(format!(
                "no such model, or none that you may use: \"{name}\""
            ))
            .hint(format!(
                "If there is one, its owner lets you use it: SELECT {schema}.svm_grant({}, {}). The models you can use: {list}.",
                quote_literal(name),
                quote_literal(statement::current_role())
            ))
        }
        [] => format!("The models you can use: {list}."),
        [one] => format!("There is a model {one}; all you can use: {list}."),
        _ => format!(
            "The nearest names are {}; all you can use: {list}.",
            near.join(", ")
        ),
    };
    failure(format!("model \"{name}\" does not exist")).hint(hint)
}
