//! What must hold before a model is made or changed, so that the error comes before the work: the
//! transaction may write, the name can be one, the model is the caller's. Runs in the calling backend.
//!
//! None of it is what keeps models safe; that is the policies of sql/rights.sql, under which every
//! statement of ours runs with the caller's rights.

use crate::base::errors::{Code, Failure};
use crate::pg::statement::{self, ReadOnly};
use crate::storing::versions::spi_failure;
use pgrx::spi::SpiError;
use pgrx::Spi;

/// Longest model name, so that names fit a PostgreSQL identifier (`name` type) everywhere.
const MODEL_NAME_BYTES: usize = 63;

/// Refuses to go on where nothing can be written: in a read-only transaction or on a standby.
/// `function` is what the user called, with its parentheses.
pub fn check_writable(function: &str) -> Result<(), Failure> {
    let hint = match statement::read_only() {
        None => return Ok(()),
        Some(ReadOnly::Standby) => {
            "This server is a standby: call it on the primary, and models arrive here by replication."
        }
        Some(ReadOnly::Transaction) => "BEGIN READ WRITE",
    };
    Err(Failure::new(
        Code::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        format!("cannot execute {function} in a read-only transaction"),
    )
    .hint(hint))
}

/// Refuses a text that cannot be the name of a model.
pub fn check_name(name: &str) -> Result<(), Failure> {
    if !name.is_empty() && name.len() <= MODEL_NAME_BYTES && !name.contains('@') {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_INVALID_NAME,
        format!("\"{name}\" cannot be a model name"),
    )
    .detail(format!(
        "A model name has 1 to {MODEL_NAME_BYTES} bytes and no @, which separates name and version in name@3."
    )))
}

/// Refuses the name of a model that the caller may not change, with that hint; a name that no model has
/// is free. `schema` is the extension's, quoted.
pub fn check_owner(schema: &str, name: &str, hint: &str) -> Result<(), Failure> {
    check_updated(schema)?;
    let found = Spi::get_two_with_args::<String, bool>(
        &format!(
            "SELECT {schema}.svm_model_owner($1)::pg_catalog.text,
                 EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.oid OPERATOR(pg_catalog.=) owner)
             FROM {schema}.svm_model_owner_oid($1) AS owner
             WHERE pg_catalog.row_security_active($2) AND NOT pg_catalog.pg_has_role(owner, 'USAGE')"
        ),
        &[name.into(), format!("{schema}.svm_model").into()],
    );
    let failure = |message| Failure::new(Code::ERRCODE_INSUFFICIENT_PRIVILEGE, message);
    match found {
        Ok((Some(owner), Some(true))) => Err(failure(format!(
            "model \"{name}\" belongs to role \"{owner}\""
        ))
        .hint(hint)),
        Ok((Some(owner), _)) => Err(failure(format!(
            "model \"{name}\" belongs to a role that is gone and was called \"{owner}\""
        ))
        .hint("A superuser can give it to another one: UPDATE svm_model SET owner = '…' WHERE name = '…'")),
        Ok(_) | Err(SpiError::InvalidPosition) => Ok(()),
        Err(error) => Err(spi_failure(error)),
    }
}

/// Refuses the tables of an older version, which the library may find between its installation and the update.
fn check_updated(schema: &str) -> Result<(), Failure> {
    let updated = Spi::get_one_with_args::<bool>(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute
         WHERE attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)
             AND attname OPERATOR(pg_catalog.=) 'owner_oid')",
        &[format!("{schema}.svm_model").into()],
    );
    if updated.map_err(spi_failure)? == Some(true) {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "extension pgsvm has the tables of an older version than its library",
    )
    .hint("ALTER EXTENSION pgsvm UPDATE"))
}
