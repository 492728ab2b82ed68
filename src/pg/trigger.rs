//! A trigger function's call: what fired it. Whichever backend changes the table.

use core::ffi::CStr;
use pgrx::pg_sys;

/// What fired the trigger.
pub struct Fired(*mut pg_sys::TriggerData);

impl Fired {
    /// None where the function was not called as a trigger.
    ///
    /// # Safety
    /// `fcinfo` is PostgreSQL's, and what comes of it is used during the call only.
    pub unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Option<Self> {
        // SAFETY: as the caller promises; only in a trigger call the context is a TriggerData.
        unsafe {
            let context = (*fcinfo).context;
            let fired = !context.is_null() && (*context).type_ == pg_sys::NodeTag::T_TriggerData;
            fired.then(|| Self(context.cast()))
        }
    }

    /// The schema of the table.
    pub fn schema(&self) -> pg_sys::Oid {
        // SAFETY: the table is open during the call.
        unsafe { (*(*(*self.0).tg_relation).rd_rel).relnamespace }
    }

    /// The trigger's name.
    pub fn name(&self) -> String {
        // SAFETY: PostgreSQL describes the trigger during the call.
        unsafe { text((*(*self.0).tg_trigger).tgname) }
    }

    /// Whether it fires where replication applies changes too: ENABLE ALWAYS.
    pub fn is_always_enabled(&self) -> bool {
        // SAFETY: as above.
        unsafe { fires_always(&*(*self.0).tg_trigger) }
    }

    /// The arguments that CREATE TRIGGER gave.
    pub fn arguments(&self) -> Vec<String> {
        // SAFETY: as above; there are so many, each terminated.
        unsafe {
            let trigger = (*self.0).tg_trigger;
            let count = usize::try_from((*trigger).tgnargs).unwrap_or(0);
            (0..count)
                .map(|at| text(*(*trigger).tgargs.add(at)))
                .collect()
        }
    }

    /// A column of the row that was there, or is inserted: a `bigint`. None where it fired for a statement, or there is none.
    pub fn bigint(&self, column: &CStr) -> Option<i64> {
        // SAFETY: the row is the table's, or there is none.
        unsafe { self.datum((*self.0).tg_trigtuple, column) }.map(|datum| datum.value() as i64)
    }

    /// A column of the row that takes its place: a `name`.
    pub fn new_name(&self, column: &CStr) -> Option<String> {
        // SAFETY: as above; a name is terminated.
        unsafe {
            let datum = self.datum((*self.0).tg_newtuple, column)?;
            Some(text(datum.cast_mut_ptr()))
        }
    }

    /// # Safety
    /// The row is the table's, or null.
    unsafe fn datum(&self, row: pg_sys::HeapTuple, column: &CStr) -> Option<pg_sys::Datum> {
        // SAFETY: as the caller promises; the table is open during the call.
        unsafe {
            let columns = (*(*self.0).tg_relation).rd_att;
            if row.is_null() {
                return None;
            }
            let number = pg_sys::SPI_fnumber(columns, column.as_ptr());
            if number <= 0 {
                return None;
            }
            let mut is_null = false;
            let datum = pg_sys::SPI_getbinval(row, columns, number, &mut is_null);
            (!is_null).then_some(datum)
        }
    }
}

/// Whether the table's trigger of that name fires where replication applies changes too; true where there is none. Inside a
/// transaction; locks the table as a SELECT does.
pub fn is_always_enabled(table: pg_sys::Oid, name: &CStr) -> bool {
    // SAFETY: a table that is gone is an error; while it is open, its triggers are described.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock as _);
        let described = (*relation).trigdesc;
        let mut always = true;
        if !described.is_null() {
            let count = usize::try_from((*described).numtriggers).unwrap_or(0);
            for at in 0..count {
                let trigger = &*(*described).triggers.add(at);
                if CStr::from_ptr(trigger.tgname) == name {
                    always = fires_always(trigger);
                }
            }
        }
        pg_sys::table_close(relation, pg_sys::NoLock as _);
        always
    }
}

fn fires_always(trigger: &pg_sys::Trigger) -> bool {
    trigger.tgenabled as u8 == pg_sys::TRIGGER_FIRES_ALWAYS
}

/// # Safety
/// The text is terminated.
unsafe fn text(of: *const core::ffi::c_char) -> String {
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(of).to_string_lossy().into_owned() }
}
