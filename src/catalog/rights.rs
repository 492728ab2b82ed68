//! What must hold before a model is made or changed, so that the error comes before the work: the
//! transaction may write, the name can be one, the model is the caller's. Runs in the calling backend.
//!
//! None of it is what keeps models safe; that is the policies of sql/rights.sql, under which every
//! statement of ours runs with the caller's rights, and for roles that no policy binds a trigger on sources.

use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::catalog::spi_failure;
use crate::pg::kept_statement::{read_one, read_two, KeptStatement};
use crate::pg::statement::{self, ReadOnly};
use crate::pg::trigger::Fired;
use crate::pg::{acting, c_function};
use pgrx::spi::SpiError;
use pgrx::{pg_sys, Spi};

c_function!(
    svm_source_rights_wrapper,
    pg_finfo_svm_source_rights_wrapper,
    svm_source_rights
);

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
        format!("\"{}\" cannot be a model name", shortened(name)),
    )
    .detail(format!(
        "A model name has 1 to {MODEL_NAME_BYTES} bytes and no @, which separates name and version in name@3."
    )))
}

/// Refuses the name of a model that the caller may not change, with that hint; a name that no model has
/// is free. `schema` is the extension's, quoted.
pub fn check_owner(schema: &str, name: &str, hint: &str) -> Result<(), Failure> {
    check_updated(schema)?;
    let sql = format!(
        "SELECT svm_internal.svm_role_name(model.owner_oid, model.owner)::pg_catalog.text,
                 EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.oid OPERATOR(pg_catalog.=) model.owner_oid)
             FROM svm_internal.svm_is_taken($1) AS is_taken
             LEFT JOIN {schema}.svm_model AS model ON model.name OPERATOR(pg_catalog.=) $1
             WHERE pg_catalog.row_security_active($2) AND is_taken
                 AND (model.id IS NULL OR NOT pg_catalog.pg_has_role(coalesce(model.owner_oid, 0), 'USAGE'))"
    );
    let arguments = [name.into(), format!("{schema}.svm_model").into()];
    let found = read_two::<String, bool>(KeptStatement(&sql), &arguments);
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
        Ok((None, _)) => Err(failure(format!("model \"{name}\" belongs to another role"))
            .detail("Which one is told to who may see the model.")
            .hint(hint)),
        Err(SpiError::InvalidPosition) => Ok(()),
        Err(error) => Err(spi_failure(error)),
    }
}

/// Refuses the tables of an older version, which the library may find between its installation and the update.
pub fn check_updated(schema: &str) -> Result<(), Failure> {
    let ask = KeptStatement(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute
         WHERE attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)
             AND attname OPERATOR(pg_catalog.=) 'owner_oid')",
    );
    let updated = read_one::<bool>(ask, &[format!("{schema}.svm_model").into()]);
    if updated.map_err(spi_failure)? == Some(true) {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "extension pgsvm has the tables of an older version than its library",
    )
    .hint("ALTER EXTENSION pgsvm UPDATE"))
}

/// The trigger on versions whose source may be read again, on their queries, and on models that get another owner: the source of such a version is
/// read with the owner's rights, so it comes from who has them. Superusers may do all of it, and so restore what a dump holds,
/// in any order.
///
/// # Safety
/// `fcinfo` is PostgreSQL's.
unsafe fn svm_source_rights(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    let fired = unsafe { Fired::of(fcinfo) };
    if let Some(fired) = fired.filter(|_| !acting::is_superuser()) {
        check_source(&fired).or_raise();
    }
    pg_sys::Datum::from(0)
}

/// Refuses a source that would be read with the rights of a role that the current user has not got.
fn check_source(fired: &Fired) -> Result<(), Failure> {
    let (id, belongs, alone) = belonging(fired);
    let schema = statement::quoted_schema(fired.schema()).unwrap_or_default();
    let found = model_read_again(&schema, belongs, id).map_err(spi_failure)?;
    let failure = |message| Failure::new(Code::ERRCODE_INSUFFICIENT_PRIVILEGE, message);
    match (found, alone) {
        // where it does not say what its source read nobody reads it again
        (Some((None, ..)), _) | (None, None) => Ok(()),
        (Some((_, _, Some(owner))), _) if acting::has_rights_of(owner) => Ok(()),
        (Some((Some(name), owner, _)), _) => {
            let owner = owner.unwrap_or_default();
            Err(failure(format!("model \"{name}\" belongs to role \"{owner}\""))
                .detail("It has a source, which is read with the rights of that role.")
                .hint("Who has the rights of that role may do it, or train without a key: then the source is not read again."))
        }
        (None, Some(message)) => Err(failure(message.to_owned())
            .detail("The source is read with the rights of the model's owner.")
            .hint("A superuser can restore versions before their models.")),
    }
}

/// The model or version that the row belongs to, the column which that is the value of, and what is refused where it is not
/// there.
fn belonging(fired: &Fired) -> (Option<i64>, &'static str, Option<&'static str>) {
    let column = fired.arguments().into_iter().next().unwrap_or_default();
    match column.as_str() {
        "version_id" => (
            fired.bigint(c"version_id"),
            "version.id",
            Some("a query needs the version that was trained on it"),
        ),
        "model_id" => (
            fired.bigint(c"model_id"),
            "model.id",
            Some("a version with a source needs its model"),
        ),
        _ => (fired.bigint(c"id"), "model.id", None),
    }
}

/// A model's name, None where the source of none of its versions in question is read again, and its owner.
type ReadAgain = (Option<String>, Option<String>, Option<pg_sys::Oid>);

/// The model or version `id`, whichever `belongs` says; None where there is none.
fn model_read_again(
    schema: &str,
    belongs: &str,
    id: Option<i64>,
) -> Result<Option<ReadAgain>, SpiError> {
    Spi::connect_mut(|client| {
        let rows = client.update(
            &format!(
                "SELECT CASE WHEN again.so THEN model.name END, model.owner::pg_catalog.text, model.owner_oid
                 FROM {schema}.svm_model AS model JOIN {schema}.svm_version AS version
                     ON version.model_id OPERATOR(pg_catalog.=) model.id
                 CROSS JOIN LATERAL (SELECT version.key_column IS NOT NULL OR version.source_reads IS NOT NULL) AS again (so)
                 WHERE {belongs} OPERATOR(pg_catalog.=) $1 ORDER BY again.so DESC LIMIT 1"
            ),
            None,
            &[id.into()],
        )?;
        match rows.is_empty() {
            true => Ok(None),
            false => rows.first().get_three().map(Some),
        }
    })
}
