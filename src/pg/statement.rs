//! What tells one statement from the next, cheaply enough to ask for each row, and who calls us.

use super::kept_statement::KeptStatement;
use super::list;
use core::ffi::CStr;
use pgrx::pg_sys;

// Declared again, without the guard that pgrx puts around each call: none of the three can raise an
// error, and at 25 ns each the guards would cost more than a prediction.
#[allow(clashing_extern_declarations)]
unsafe extern "C-unwind" {
    fn ActiveSnapshotSet() -> bool;
    fn GetActiveSnapshot() -> pg_sys::Snapshot;
    fn GetUserId() -> pg_sys::Oid;
}

/// Two equal stamps in one session: same user, and the two snapshots see the same transactions.
///
/// Among snapshots with the same upper bound, a later one has fewer transactions in progress if any
/// has ended in between, because those that begin later lie above the bound (on a standby, those in
/// progress stand in the second list).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    upper_bound: pg_sys::TransactionId,
    in_progress: (u32, i32),
    user: pg_sys::Oid,
}

impl Stamp {
    /// The stamp of the statement that runs now.
    #[inline]
    pub fn now() -> Self {
        // SAFETY: plain reads of this process's state; the active snapshot is there when asked for.
        unsafe {
            let (upper_bound, in_progress) = match ActiveSnapshotSet() {
                true => {
                    let snapshot = &*GetActiveSnapshot();
                    (snapshot.xmax, (snapshot.xcnt, snapshot.subxcnt))
                }
                false => (pg_sys::InvalidTransactionId, (0, 0)),
            };
            Self {
                upper_bound,
                in_progress,
                user: GetUserId(),
            }
        }
    }
}

impl Stamp {
    /// Whether both are of one user.
    pub fn same_user(&self, other: &Self) -> bool {
        self.user == other.user
    }
}

/// Why the current transaction may not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnly {
    /// The server is a standby.
    Standby,
    /// The transaction was begun, or is by default, READ ONLY.
    Transaction,
}

/// Why the current transaction may not write; None where it may.
pub fn read_only() -> Option<ReadOnly> {
    // SAFETY: plain reads of this process's state.
    unsafe {
        match (pg_sys::XactReadOnly, pg_sys::RecoveryInProgress()) {
            (false, _) => None,
            (true, false) => Some(ReadOnly::Transaction),
            (true, true) => Some(ReadOnly::Standby),
        }
    }
}

/// The extension's schema, for functions that are not in it themselves: those of `svm_internal`.
pub fn extension_schema() -> pg_sys::Oid {
    let found = pgrx::Spi::connect(|client| {
        // only reads: on standbys and in parallel workers too
        client
            .select(
                "SELECT extnamespace FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'pgsvm'",
                Some(1),
                &[],
            )?
            .first()
            .get_one::<pg_sys::Oid>()
    });
    found.ok().flatten().unwrap_or(pg_sys::InvalidOid)
}

/// The schema of what nobody calls by name, which is a superuser's.
pub fn internal_schema() -> pg_sys::Oid {
    // SAFETY: a catalog look-up inside a transaction.
    unsafe { pg_sys::get_namespace_oid(c"svm_internal".as_ptr(), true) }
}

/// The extension's schema, whatever the search path: that of a function that people call.
///
/// # Safety
/// `fcinfo` is the argument of a function called through PostgreSQL's function manager.
pub unsafe fn schema_of_call(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Oid {
    // SAFETY: as the caller promises; a catalog look-up.
    let schema = unsafe { pg_sys::get_func_namespace((*(*fcinfo).flinfo).fn_oid) };
    match schema == internal_schema() {
        true => extension_schema(),
        false => schema,
    }
}

/// A function's name. None when it has been dropped.
pub fn function_name(function: pg_sys::Oid) -> Option<String> {
    // SAFETY: a catalog look-up; the result is a terminated string or null.
    unsafe {
        let name = pg_sys::get_func_name(function);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// How many arguments a function is declared with; 0 for one that there is not.
pub fn argument_count(function: pg_sys::Oid) -> usize {
    match function_name(function) {
        // SAFETY: a catalog look-up of a function that exists.
        Some(_) => usize::try_from(unsafe { pg_sys::get_func_nargs(function) }).unwrap_or(0),
        None => 0,
    }
}

/// Whether argument `number` (from 0) stands in the query as a constant. A parameter is none, as the
/// variables of PL/pgSQL are parameters too, which change while the call site stays.
///
/// # Safety
/// `info` is that of a function called through PostgreSQL's function manager.
pub unsafe fn argument_is_constant(info: *const pg_sys::FmgrInfo, number: usize) -> bool {
    // SAFETY: as the caller promises; a call's node says what it is, and lists its arguments.
    unsafe {
        let call = (*info).fn_expr;
        if call.is_null() || (*call).type_ != pg_sys::NodeTag::T_FuncExpr {
            return false;
        }
        let arguments = (*call.cast::<pg_sys::FuncExpr>()).args;
        list::nth::<pg_sys::Node>(arguments, number)
            .is_some_and(|argument| (*argument).type_ == pg_sys::NodeTag::T_Const)
    }
}

/// The name of the database.
pub fn database_name() -> String {
    // SAFETY: a catalog look-up; the result is a terminated string or null.
    let name = unsafe { pg_sys::get_database_name(pg_sys::MyDatabaseId) };
    if name.is_null() {
        return String::new();
    }
    // SAFETY: as said.
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

/// A schema's name, quoted where SQL needs it. None when it has been dropped.
pub fn quoted_schema(schema: pg_sys::Oid) -> Option<String> {
    // SAFETY: a catalog look-up; both results are terminated strings or null.
    unsafe {
        let name = pg_sys::get_namespace_name(schema);
        if name.is_null() {
            return None;
        }
        let quoted = CStr::from_ptr(pg_sys::quote_identifier(name));
        Some(quoted.to_string_lossy().into_owned())
    }
}

/// The same of a schema that keeps its name until the transaction ends: whoever owns it might rename it and put another one in its
/// place while a statement with the old name runs, as a superuser where a trigger is SECURITY DEFINER. Locks the schema's row in the catalog,
/// which takes a superuser.
pub fn held_schema(schema: pg_sys::Oid) -> Option<String> {
    let held = KeptStatement(
        "SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_namespace WHERE oid OPERATOR(pg_catalog.=) $1 FOR KEY SHARE",
    );
    held.run_returning(&[schema.into()]).ok().flatten()
}

/// Runs `body` under a snapshot that is taken now, where the isolation level takes one for each statement.
pub fn with_fresh_snapshot<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: inside a transaction; the snapshot is popped here, or by the abort if the body raises an error.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let result = body();
        pg_sys::PopActiveSnapshot();
        result
    }
}

/// Whether no row of a table can be hidden from the current user by its policies.
pub fn sees_all_rows(table: pg_sys::Oid) -> bool {
    // SAFETY: catalog look-ups inside a transaction.
    unsafe {
        pg_sys::check_enable_rls(table, pg_sys::InvalidOid, true)
            != pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
    }
}

/// Whether the current role is the one that the session has taken: not so in a function that runs with its owner's rights.
pub fn is_callers_own() -> bool {
    // SAFETY: both only read who that is.
    unsafe { pg_sys::GetUserId() == pg_sys::GetOuterUserId() }
}

/// The current user's name.
pub fn current_role() -> String {
    // SAFETY: a catalog look-up; the result is a terminated string or null.
    unsafe {
        let name = pg_sys::GetUserNameFromId(pg_sys::GetUserId(), true);
        match name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(name).to_string_lossy().into_owned(),
        }
    }
}
