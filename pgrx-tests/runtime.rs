//! What the rest of the extension takes for granted about running Rust inside the server.

use pgrx::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

tests![
    a_panic_becomes_an_error_with_its_message,
    values_are_dropped_when_the_server_raises_an_error,
    a_cancel_that_is_pending_waits_until_a_notice_is_out,
    an_aborted_subtransaction_leaves_the_connection_usable,
    spi_sees_rows_written_earlier_in_the_same_transaction,
    every_function_of_the_extension_resolves_in_the_library,
];

fn a_panic_becomes_an_error_with_its_message() {
    let message = PgTryBuilder::new(|| -> String { panic!("the panic's words") })
        .catch_rust_panic(|caught| match caught {
            pg_sys::panic::CaughtError::RustPanic { ereport, .. } => ereport.message().to_owned(),
            other => panic!("caught something else: {other:?}"),
        })
        .execute();
    assert_eq!(message, "the panic's words");
}

static DROPS: AtomicU32 = AtomicU32::new(0);

struct CountsItsDrop;

impl Drop for CountsItsDrop {
    fn drop(&mut self) {
        DROPS.fetch_add(1, Ordering::Relaxed);
    }
}

fn values_are_dropped_when_the_server_raises_an_error() {
    DROPS.store(0, Ordering::Relaxed);
    let raised = PgTryBuilder::new(|| {
        let _guard = CountsItsDrop;
        // SAFETY: a terminated string; the lookup holds nothing when it finds nothing and raises.
        unsafe { pg_sys::get_namespace_oid(c"no such schema".as_ptr(), false) };
        false
    })
    .catch_when(PgSqlErrorCode::ERRCODE_INVALID_SCHEMA_NAME, |_| true)
    .execute();
    assert!(
        raised,
        "looking up a schema that is not there raised nothing"
    );
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
}

fn a_cancel_that_is_pending_waits_until_a_notice_is_out() {
    DROPS.store(0, Ordering::Relaxed);
    let cancelled = PgTryBuilder::new(|| {
        let _guard = CountsItsDrop;
        // SAFETY: the server's own handler of SIGINT only notes that a cancel was asked for.
        unsafe { libc::raise(libc::SIGINT) };
        crate::base::errors::notice("said although a cancel is pending");
        false
    })
    .catch_when(PgSqlErrorCode::ERRCODE_QUERY_CANCELED, |_| true)
    .execute();
    assert!(cancelled, "the cancel was lost");
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
    // SAFETY: a counter of this process.
    assert_eq!(unsafe { pg_sys::InterruptHoldoffCount }, 0);
}

fn an_aborted_subtransaction_leaves_the_connection_usable() {
    Spi::run("CREATE TEMP TABLE kept AS SELECT 1 AS x").expect("create");
    Spi::run("DO $$ BEGIN INSERT INTO kept VALUES (2), (1 / 0); EXCEPTION WHEN division_by_zero THEN NULL; END $$")
        .expect("the block handles its own error");
    let rows = Spi::get_one::<i64>("SELECT count(*) FROM kept").expect("count");
    assert_eq!(rows, Some(1));
}

fn spi_sees_rows_written_earlier_in_the_same_transaction() {
    Spi::run("CREATE TEMP TABLE written (x int)").expect("create");
    Spi::run("INSERT INTO written SELECT generate_series(1, 100)").expect("insert");
    let sum = Spi::get_one::<i64>("SELECT sum(x) FROM written").expect("sum");
    assert_eq!(sum, Some(5050));
}

/// Creating a copy of each function under another name makes the server look its symbol up again.
fn every_function_of_the_extension_resolves_in_the_library() {
    Spi::run(
        "DO $$
         DECLARE definition text; id oid;
         BEGIN
             FOR definition, id IN
                 SELECT pg_get_functiondef(p.oid), p.oid
                 FROM pg_proc p
                 JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                 JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
                 JOIN pg_language l ON l.oid = p.prolang
                 WHERE e.extname = 'pgsvm' AND l.lanname = 'c' AND p.prokind = 'f'
             LOOP
                 EXECUTE regexp_replace(definition, 'FUNCTION [^(]+', 'FUNCTION pg_temp.copied_' || id);
             END LOOP;
         END $$",
    )
    .expect("each symbol is exported");
}
