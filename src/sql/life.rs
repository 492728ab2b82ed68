//! SQL face of what becomes of a stored model: `svm_deploy`, `svm_rename`, `svm_drop`, `svm_grant`,
//! `svm_revoke`. Runs in the calling backend, by SQL with the caller's rights, in its transaction.
//!
//! Each locks the model's row first, as a training does when it stores a version: what is done to one
//! model at a time is done one after the other, and decided by what the one before has committed.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::catalog::rights;
use crate::model;
use crate::request::required;
use crate::storing::versions::spi_failure;
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::{pg_sys, Spi};

/// The grantee that stands for every role; PostgreSQL lets no role have this name.
const EVERYBODY: &str = "public";

/// `svm_deploy(model, version) -> text`: makes a stored version the current one.
#[pg_extern(sql = false)]
fn svm_deploy(
    model: Option<String>,
    version: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let deploy = || {
        let owned = Owned::lock("svm_deploy()", model, fcinfo)?;
        let version = required(version, "version")?;
        owned.check_version(version)?;
        owned.execute(
            "UPDATE {s}.svm_model SET current_version = $2 WHERE id OPERATOR(pg_catalog.=) $1",
            Some(version.into()),
        )?;
        Ok::<_, Failure>(owned.name)
    };
    deploy().or_raise()
}

/// `svm_rename(model, new_name) -> text`: the new name.
#[pg_extern(sql = false)]
fn svm_rename(
    model: Option<String>,
    new_name: Option<String>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let rename = || {
        let owned = Owned::lock("svm_rename()", model, fcinfo)?;
        let new_name = required(new_name, "new_name")?;
        owned.check_new_name(&new_name)?;
        owned.execute(
            "UPDATE {s}.svm_model SET name = $2 WHERE id OPERATOR(pg_catalog.=) $1",
            Some(new_name.as_str().into()),
        )?;
        Ok::<_, Failure>(new_name)
    };
    rename().or_raise()
}

/// `svm_drop(model) -> text`: removes a model and everything of it.
#[pg_extern(sql = false)]
fn svm_drop(model: Option<String>, fcinfo: pg_sys::FunctionCallInfo) -> String {
    let drop = || {
        let owned = Owned::lock("svm_drop()", model, fcinfo)?;
        owned.execute(
            "DELETE FROM {s}.svm_model WHERE id OPERATOR(pg_catalog.=) $1",
            None,
        )?;
        Ok::<_, Failure>(owned.name)
    };
    drop().or_raise()
}

/// `svm_drop(model, version) -> text`: removes a version that is not the current one.
#[pg_extern(sql = false)]
fn svm_drop_version(
    model: Option<String>,
    version: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let drop = || {
        let owned = Owned::lock("svm_drop()", model, fcinfo)?;
        let version = required(version, "version")?;
        owned.check_version(version)?;
        if version == owned.current_version {
            return Err(owned.version_in_use());
        }
        owned.execute(
            "DELETE FROM {s}.svm_version
             WHERE model_id OPERATOR(pg_catalog.=) $1 AND version OPERATOR(pg_catalog.=) $2",
            Some(version.into()),
        )?;
        Ok(owned.name)
    };
    drop().or_raise()
}

/// `svm_grant(model, role) -> text`: lets a role see the model and predict with it.
#[pg_extern(sql = false)]
fn svm_grant(
    model: Option<String>,
    role: Option<String>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let grant = || {
        let owned = Owned::lock("svm_grant()", model, fcinfo)?;
        let role = required(role, "role")?;
        check_role(&role)?;
        owned.execute(
            "INSERT INTO {s}.svm_permission (model_id, owner, grantee)
             SELECT id, owner, $2 FROM {s}.svm_model WHERE id OPERATOR(pg_catalog.=) $1
             ON CONFLICT DO NOTHING",
            Some(role.as_str().into()),
        )?;
        Ok::<_, Failure>(owned.name)
    };
    grant().or_raise()
}

/// `svm_revoke(model, role) -> text`: takes back what `svm_grant` gave; also from a role that is gone.
#[pg_extern(sql = false)]
fn svm_revoke(
    model: Option<String>,
    role: Option<String>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let revoke = || {
        let owned = Owned::lock("svm_revoke()", model, fcinfo)?;
        let role = required(role, "role")?;
        let revoked = owned.execute(
            "DELETE FROM {s}.svm_permission
             WHERE model_id OPERATOR(pg_catalog.=) $1 AND grantee OPERATOR(pg_catalog.=) $2",
            Some(role.as_str().into()),
        )?;
        if revoked == 0 {
            notice!(
                "model \"{}\" was not granted to role \"{role}\"",
                owned.name
            );
        }
        Ok::<_, Failure>(owned.name)
    };
    revoke().or_raise()
}

/// A model that the caller may change, its row locked until the transaction ends.
pub struct Owned {
    /// The extension's schema, quoted.
    pub schema: String,
    id: i64,
    pub name: String,
    pub current_version: i32,
}

impl Owned {
    /// Locks the model that the first argument of `function` names; waits for whoever has it locked.
    pub fn lock(
        function: &str,
        model: Option<String>,
        fcinfo: pg_sys::FunctionCallInfo,
    ) -> Result<Self, Failure> {
        rights::check_writable(function)?;
        let name = required(model, "model")?;
        let schema = model::schema_of_call(fcinfo);
        rights::check_owner(&schema, &name, "Only its owner may change it.")?;
        let found = Spi::connect_mut(|client| {
            let rows = client.update(
                &format!(
                    "SELECT id, current_version FROM {schema}.svm_model
                     WHERE name OPERATOR(pg_catalog.=) $1 FOR UPDATE"
                ),
                None,
                &[name.as_str().into()],
            )?;
            match rows.is_empty() {
                true => Ok(None),
                false => rows.first().get_two::<i64, i32>().map(Some),
            }
        });
        match found.map_err(spi_failure)? {
            Some((Some(id), Some(current_version))) => Ok(Self {
                schema,
                id,
                name,
                current_version,
            }),
            _ => Err(missing(&schema, &name)),
        }
    }

    /// Runs a statement in which `{s}` is the extension's schema, `$1` the model's id and `$2` the
    /// argument; returns the number of rows it touched.
    ///
    /// It has a snapshot of its own, taken after the lock was, so it sees what was committed before.
    fn execute(&self, sql: &str, argument: Option<DatumWithOid<'_>>) -> Result<usize, Failure> {
        let sql = sql.replace("{s}", &self.schema);
        let arguments: Vec<_> = [Some(self.id.into()), argument]
            .into_iter()
            .flatten()
            .collect();
        Spi::connect_mut(|client| {
            client
                .update(&sql, None, &arguments)
                .map(|touched| touched.len())
        })
        .map_err(spi_failure)
    }

    fn check_version(&self, version: i32) -> Result<(), Failure> {
        let found = self.execute(
            "SELECT FROM {s}.svm_version
             WHERE model_id OPERATOR(pg_catalog.=) $1 AND version OPERATOR(pg_catalog.=) $2",
            Some(version.into()),
        )?;
        if found > 0 {
            return Ok(());
        }
        Err(Failure::new(
            Code::ERRCODE_UNDEFINED_OBJECT,
            format!("model \"{}\" has no version {version}", self.name),
        )
        .hint(format!(
            "Its versions: SELECT version FROM {}.svm_versions WHERE name = {}.",
            self.schema,
            literal(&self.name)
        )))
    }

    /// Refuses what cannot be a name, and the name of another model.
    fn check_new_name(&self, new_name: &str) -> Result<(), Failure> {
        const HINT: &str = "Choose another name.";
        rights::check_name(new_name)?;
        rights::check_owner(&self.schema, new_name, HINT)?;
        let taken = self.execute(
            "SELECT FROM {s}.svm_model
             WHERE name OPERATOR(pg_catalog.=) $2 AND id OPERATOR(pg_catalog.<>) $1",
            Some(new_name.into()),
        )?;
        if taken == 0 {
            return Ok(());
        }
        Err(Failure::new(
            Code::ERRCODE_DUPLICATE_OBJECT,
            format!("model \"{new_name}\" already exists"),
        )
        .hint(HINT))
    }

    fn version_in_use(&self) -> Failure {
        let name = literal(&self.name);
        Failure::new(
            Code::ERRCODE_OBJECT_IN_USE,
            format!(
                "version {} of model \"{}\" is the current one",
                self.current_version, self.name
            ),
        )
        .hint(format!(
            "SELECT svm_deploy({name}, …) makes another version the current one, SELECT svm_drop({name}) drops them all."
        ))
    }
}

fn missing(schema: &str, name: &str) -> Failure {
    let failure = Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("model \"{name}\" does not exist"),
    );
    match name.rsplit_once('@') {
        Some((base, version)) => failure.hint(format!(
            "The version is an argument of its own: {}, {version}.",
            literal(base)
        )),
        None => failure.hint(format!(
            "The models you can use: SELECT name FROM {schema}.svm_models."
        )),
    }
}

/// Refuses a grantee that is neither a role nor everybody.
fn check_role(role: &str) -> Result<(), Failure> {
    let known = role == EVERYBODY
        || Spi::get_one_with_args::<bool>(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) $1)",
            &[role.into()],
        )
        .map_err(spi_failure)?
            == Some(true);
    if known {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("role \"{role}\" does not exist"),
    )
    .hint("CREATE ROLE makes one; 'public' stands for every role."))
}

/// A text as SQL writes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
