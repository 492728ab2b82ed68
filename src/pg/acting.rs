//! Acting as another role for a while, as PostgreSQL does when it refreshes a materialized view. The calling backend;
//! parallel workers that it starts meanwhile act as it does.

use pgrx::pg_sys;
use std::ffi::CString;

/// What says as whom, and where names are looked up.
pub struct ActingAs {
    pub role: pg_sys::Oid,
    /// As the setting search_path wants it; None for the session's.
    pub search_path: Option<CString>,
}

impl ActingAs {
    /// Runs `body` with that role's rights and no others: in a security-restricted operation, which cannot change the role
    /// nor leave anything behind that would run later with the caller's rights. Settings that are changed meanwhile are what
    /// they were afterwards. After an error the abort of the transaction, or of its part, puts all of it back.
    pub fn run<T>(&self, body: impl FnOnce() -> T) -> T {
        let (mut user, mut context) = (pg_sys::InvalidOid, 0);
        let restricted = pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
        // SAFETY: inside a transaction and not in parallel mode; user, context and settings are put back below, or by the
        // abort if the body raises an error.
        unsafe {
            pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
            pg_sys::SetUserIdAndSecContext(self.role, context | restricted);
            let level = pg_sys::NewGUCNestLevel();
            if let Some(path) = &self.search_path {
                pg_sys::set_config_option(
                    c"search_path".as_ptr(),
                    path.as_ptr(),
                    pg_sys::GucContext::PGC_USERSET,
                    pg_sys::GucSource::PGC_S_SESSION,
                    pg_sys::GucAction::GUC_ACTION_SAVE,
                    true,
                    0,
                    false,
                );
            }
            let result = body();
            pg_sys::AtEOXact_GUC(false, level);
            pg_sys::SetUserIdAndSecContext(user, context);
            result
        }
    }
}

/// The current user.
pub fn current_user() -> pg_sys::Oid {
    // SAFETY: a plain read of this process's state.
    unsafe { pg_sys::GetUserId() }
}

/// A role's name; None where it is gone.
pub fn role_name(role: pg_sys::Oid) -> Option<String> {
    // SAFETY: a catalog look-up inside a transaction; the result is a terminated string or null.
    unsafe {
        let name = pg_sys::GetUserNameFromId(role, true);
        (!name.is_null()).then(|| {
            core::ffi::CStr::from_ptr(name)
                .to_string_lossy()
                .into_owned()
        })
    }
}

/// The role that a relation belongs to; None where it is gone.
pub fn owner_of(relation: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let catalog = pg_sys::SysCacheIdentifier::RELOID as core::ffi::c_int;
    // SAFETY: a catalog look-up inside a transaction; a row of pg_class begins with the struct.
    unsafe {
        let row = pg_sys::SearchSysCache1(catalog, relation.into());
        if row.is_null() {
            return None;
        }
        let owner = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_class>()).relowner;
        pg_sys::ReleaseSysCache(row);
        Some(owner)
    }
}

/// Whether the current user has all rights of a role: it is the role, inherits its rights, or is a superuser.
pub fn has_rights_of(role: pg_sys::Oid) -> bool {
    // SAFETY: catalog look-ups inside a transaction.
    unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), role) }
}

/// Whether policies of row security do not bind the current user, who is no superuser.
pub fn bypasses_policies() -> bool {
    // SAFETY: catalog look-ups inside a transaction.
    unsafe { !pg_sys::superuser() && pg_sys::has_bypassrls_privilege(pg_sys::GetUserId()) }
}

/// Whether the current user is a superuser.
pub fn is_superuser() -> bool {
    // SAFETY: a catalog look-up inside a transaction.
    unsafe { pg_sys::superuser() }
}
