//! pgsvm: support vector machines trained inside PostgreSQL.

pgrx::pg_module_magic!();

mod errors;
mod features;
mod labels;
mod pg;
mod settings;
mod source;

#[pgrx::prelude::pg_guard]
extern "C-unwind" fn _PG_init() {
    settings::register();
}

#[cfg(feature = "in_backend_tests")]
#[path = "../pgrx-tests/mod.rs"]
mod in_backend_tests;
