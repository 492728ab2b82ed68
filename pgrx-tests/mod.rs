//! Tests that run inside a server process, compiled in by the feature `in_backend_tests` only.
//!
//! `scripts/backend-tests` creates the two functions below in a scratch schema and calls each test in a
//! transaction and a connection of its own, which it rolls back. A test fails by panicking or by raising an
//! error. A new file needs its `mod` line and its line in `SUITES` here.

use pgrx::prelude::*;

/// Lists the tests of one file under their function names.
macro_rules! tests {
    ($($test:ident),+ $(,)?) => {
        pub(super) const TESTS: &[super::Test] = &[$((stringify!($test), $test)),+];
    };
}

pub mod allocation;
mod features;
mod following;
mod model;
mod runtime;
mod vector;

/// Runs `body` under a snapshot that sees what this test has written so far; the test itself runs under
/// the one of the statement that called it.
fn with_new_snapshot<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: inside a transaction; what is pushed is popped, or dropped by the abort.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let result = body();
        pg_sys::PopActiveSnapshot();
        result
    }
}

type Test = (&'static str, fn());

const SUITES: &[(&str, &[Test])] = &[
    ("features", features::TESTS),
    ("following", following::TESTS),
    ("model", model::TESTS),
    ("runtime", runtime::TESTS),
    ("vector", vector::TESTS),
];

fn all() -> impl Iterator<Item = (String, fn())> {
    SUITES.iter().flat_map(|(suite, tests)| {
        tests
            .iter()
            .map(move |(name, test)| (format!("{suite}::{name}"), *test))
    })
}

#[pg_extern(sql = false)]
fn in_backend_tests() -> Vec<String> {
    all().map(|(name, _)| name).collect()
}

#[pg_extern(sql = false)]
fn run_in_backend_test(name: &str) {
    match all().find(|(known, _)| known == name) {
        Some((_, test)) => test(),
        None => error!("no in-backend test \"{name}\""),
    }
}
