pgrx::pg_module_magic!();

#[cfg(feature = "in_backend_tests")]
#[path = "../pgrx-tests/mod.rs"]
mod in_backend_tests;
