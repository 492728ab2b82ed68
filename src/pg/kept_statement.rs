//! Statements of ours that a backend runs again and again through pgrx's SPI: parsed and planned once. PostgreSQL plans one anew
//! when a table, the role or the search path changes.

use pgrx::datum::DatumWithOid;
use pgrx::datum::{FromDatum, IntoDatum};
use pgrx::pg_sys::{self, PgOid};
use pgrx::spi::{OwnedPreparedStatement, Query, SpiClient, SpiCursor, SpiResult, SpiTupleTable};
use pgrx::Spi;
use std::cell::RefCell;
use std::collections::HashMap;

/// Kept at most: far more than the extension has statements of this kind, each in as few forms as it has schemas.
const MOST_KEPT: usize = 1000;

thread_local! {
    static KEPT: RefCell<HashMap<String, &'static OwnedPreparedStatement>> =
        RefCell::new(HashMap::new());
}

/// The first column of the first row of a SELECT. It takes no number for the transaction, as pgrx's `Spi::get_one` does, which a
/// standby has not.
pub fn read_one<A: FromDatum + IntoDatum>(
    select: impl for<'conn> Query<'conn>,
    arguments: &[DatumWithOid<'_>],
) -> SpiResult<Option<A>> {
    Spi::connect(|client| client.select(select, Some(1), arguments)?.first().get_one())
}

/// The same of two columns.
pub fn read_two<A: FromDatum + IntoDatum, B: FromDatum + IntoDatum>(
    select: impl for<'conn> Query<'conn>,
    arguments: &[DatumWithOid<'_>],
) -> SpiResult<(Option<A>, Option<B>)> {
    Spi::connect(|client| client.select(select, Some(1), arguments)?.first().get_two())
}

/// The text of a statement to be kept. The types of its parameters follow from the text.
#[derive(Clone, Copy)]
pub struct KeptStatement<'a>(pub &'a str);

impl<'conn> Query<'conn> for KeptStatement<'_> {
    fn execute<'mcx>(
        self,
        client: &SpiClient<'conn>,
        limit: Option<core::ffi::c_long>,
        arguments: &[DatumWithOid<'mcx>],
    ) -> SpiResult<SpiTupleTable<'conn>> {
        let statement = self.statement(client, arguments)?;
        let _generic = GenericPlans::start();
        statement.execute(client, limit, arguments)
    }

    fn try_open_cursor<'mcx>(
        self,
        client: &SpiClient<'conn>,
        arguments: &[DatumWithOid<'mcx>],
    ) -> SpiResult<SpiCursor<'conn>> {
        let statement = self.statement(client, arguments)?;
        let _generic = GenericPlans::start();
        statement.try_open_cursor(client, arguments)
    }
}

/// While it lives, kept statements are planned for any values of their parameters, and so once: our statements look rows up by
/// keys, for which no value wants a plan of its own. Holds back the setting plan_cache_mode, also when an error unwinds.
struct GenericPlans {
    before: core::ffi::c_int,
}

impl GenericPlans {
    fn start() -> Self {
        // SAFETY: a plain setting of this process.
        unsafe {
            let before = pg_sys::plan_cache_mode;
            pg_sys::plan_cache_mode =
                pg_sys::PlanCacheMode::PLAN_CACHE_MODE_FORCE_GENERIC_PLAN as _;
            Self { before }
        }
    }
}

impl Drop for GenericPlans {
    fn drop(&mut self) {
        // SAFETY: a plain setting of this process.
        unsafe { pg_sys::plan_cache_mode = self.before };
    }
}

impl KeptStatement<'_> {
    /// Runs it for what it does.
    pub fn run(self, arguments: &[DatumWithOid<'_>]) -> SpiResult<()> {
        Spi::connect_mut(|client| client.update(self, None, arguments).map(|_| ()))
    }

    /// The same, and the first column of the first row that it returns.
    pub fn run_returning<A: FromDatum + IntoDatum>(
        self,
        arguments: &[DatumWithOid<'_>],
    ) -> SpiResult<Option<A>> {
        Spi::connect_mut(|client| client.update(self, Some(1), arguments)?.first().get_one())
    }

    fn statement(
        self,
        client: &SpiClient<'_>,
        arguments: &[DatumWithOid<'_>],
    ) -> SpiResult<&'static OwnedPreparedStatement> {
        if let Some(known) = KEPT.with_borrow(|kept| kept.get(self.0).copied()) {
            return Ok(known);
        }
        let types: Vec<_> = arguments.iter().map(|it| PgOid::from(it.oid())).collect();
        let statement = client.prepare(self.0, &types)?.keep();
        // it lives as long as the backend
        let statement: &'static _ = Box::leak(Box::new(statement));
        KEPT.with_borrow_mut(|kept| {
            if kept.len() < MOST_KEPT {
                kept.insert(self.0.to_owned(), statement);
            }
        });
        Ok(statement)
    }
}
