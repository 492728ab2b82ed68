//! A stored model in memory: what predictions read. Loaded once per statement that uses it (`find`)
//! and kept per backend, in any process that may run a SELECT, parallel workers and a standby's
//! backends among them. Nothing here writes.

mod assemble;
mod cache;
mod changes;
mod class_argument;
mod classes;
mod heads;
mod kernel_machine;
mod load;
mod on_node;
pub mod text;
mod version;
pub mod weights;

pub use cache::{check_length, find, find_id};
pub use changes::{relation_changes, Freshness};
pub use class_argument::ClassArgument;
pub use heads::{side, ClassesBy, CLASSES_BY};
pub use kernel_machine::{GatheredRows, KernelMachine};
pub use on_node::beside as beside_nodes;
pub use version::Model;
pub use version::{NOVELTY, REGRESSION};

use crate::base::errors::Failure;
use crate::pg::call::Call;
use crate::pg::statement;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use std::rc::Rc;

/// The model called `name`, or `name@3`, for a function of the extension that was called with `fcinfo`: in its schema, whatever
/// the search path.
pub fn of_call(fcinfo: pg_sys::FunctionCallInfo, name: &str) -> Result<Rc<Model>, Failure> {
    // SAFETY: every caller passes the argument that PostgreSQL called it with.
    find(unsafe { statement::schema_of_call(fcinfo) }, name)
}

/// What is wrong with the argument `source` of a call; where that is a model's name, as model and source were given in each other's place, with
/// the call to type. `name`: what was given as the model.
pub fn or_swapped(fcinfo: pg_sys::FunctionCallInfo, name: &str, failure: Failure) -> Failure {
    // SAFETY: every caller passes the argument that PostgreSQL called it with, and such a `source` is a text.
    let (function, source) = unsafe {
        let function = statement::function_name((*(*fcinfo).flinfo).fn_oid);
        (function, Call::of(fcinfo).long_text("source"))
    };
    let model = source.filter(|source| of_call(fcinfo, source).is_ok());
    match (function, model) {
        (Some(function), Some(model)) => failure.hint(format!(
            "{model} is a model, which comes first: {function}({}, {})",
            quote_literal(&model),
            quote_literal(name)
        )),
        _ => failure,
    }
}

/// The extension's schema, quoted: that of the function that was called, whatever the search path.
pub fn schema_of_call(fcinfo: pg_sys::FunctionCallInfo) -> String {
    // SAFETY: every caller passes the argument that PostgreSQL called it with.
    let schema = unsafe { statement::schema_of_call(fcinfo) };
    statement::quoted_schema(schema).unwrap_or_default()
}
