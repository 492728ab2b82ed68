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

use crate::base::errors::Failure;
use crate::pg::statement;
use pgrx::pg_sys;
use std::rc::Rc;

/// The model called `name`, or `name@3`, for a function of the extension that was called with `fcinfo`: in its schema, whatever
/// the search path.
pub fn of_call(fcinfo: pg_sys::FunctionCallInfo, name: &str) -> Result<Rc<Model>, Failure> {
    // SAFETY: every caller passes the argument that PostgreSQL called it with.
    find(unsafe { statement::schema_of_call(fcinfo) }, name)
}

/// The extension's schema, quoted: that of the function that was called, whatever the search path.
pub fn schema_of_call(fcinfo: pg_sys::FunctionCallInfo) -> String {
    // SAFETY: every caller passes the argument that PostgreSQL called it with.
    let schema = unsafe { statement::schema_of_call(fcinfo) };
    statement::quoted_schema(schema).unwrap_or_default()
}
