//! SQL face of what becomes of a stored model: `svm_deploy`, `svm_rename`, `svm_drop`, `svm_grant`,
//! `svm_revoke`. Runs in the calling backend, by SQL with the caller's rights, in its transaction.
//!
//! Each locks the model's row first, as a training does when it stores a version: what is done to one
//! model at a time is done one after the other, and decided by what the one before has committed.

use crate::base::errors::{notice, shortened, Code, Failure, OrRaise};
use crate::base::near;
use crate::base::text::counted;
use crate::catalog::rights;
use crate::catalog::spi_failure;
use crate::catalog::trained_by::{training_beside, OtherTraining};
use crate::model;
use crate::pg::acting::{self, ActingAs};
use crate::pg::kept_statement::read_one;
use crate::pg::memory_ends::prepared;
use crate::request::required;
use crate::request::source::quote;
use crate::storing::versions;
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::spi::SpiError;
use pgrx::{pg_sys, Spi};
use std::ffi::CString;

/// The grantee that stands for every role; PostgreSQL lets no role have this name.
const EVERYBODY: &str = "public";
/// The model in place of one whose landmarks are rows.
const OF_CENTRES: OtherTraining = OtherTraining {
    suffix: "_centres",
    with: ("landmarks", "centres"),
    is_option: true,
    without: &["method"],
};
/// Most names that are compared with one that there is not.
const MOST_COMPARED: u32 = 10_000;

/// `svm_deploy(model, version) -> text`: makes a stored version the current one.
#[pg_extern(sql = false)]
fn svm_deploy(
    model: Option<&str>,
    version: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let _prepared = prepared();
    let deploy = || {
        let owned = OwnedModel::lock("svm_deploy()", model, fcinfo)?;
        let version = required(version, "version").map_err(|it| it.hint(owned.versions_hint()))?;
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
    model: Option<&str>,
    new_name: Option<&str>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let _prepared = prepared();
    let rename = || {
        let owned = OwnedModel::lock("svm_rename()", model, fcinfo)?;
        let new_name = required(new_name, "new_name")?;
        owned.check_new_name(new_name)?;
        owned.execute(
            "UPDATE {s}.svm_model SET name = $2 WHERE id OPERATOR(pg_catalog.=) $1",
            Some(new_name.into()),
        )?;
        Ok::<_, Failure>(new_name.to_owned())
    };
    rename().or_raise()
}

/// `svm_drop(model) -> text`: removes a model and everything of it.
#[pg_extern(sql = false)]
fn svm_drop(model: Option<&str>, fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let drop = || {
        let owned = OwnedModel::lock("svm_drop()", model, fcinfo)?;
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
    model: Option<&str>,
    version: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let _prepared = prepared();
    let drop = || {
        let owned = OwnedModel::lock("svm_drop()", model, fcinfo)?;
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

/// `svm_prune(model, keep) -> bigint`: removes old versions, and says how many.
#[pg_extern(sql = false)]
fn svm_prune(model: Option<&str>, keep: Option<i32>, fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    let _prepared = prepared();
    let prune = || {
        let owned = OwnedModel::lock("svm_prune()", model, fcinfo)?;
        let keep = required(keep, "keep")?;
        if keep < 1 {
            return Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("keep must be positive, not {keep}"),
            )
            .hint(format!(
                "SELECT svm_prune({}, keep => 10)",
                literal(&owned.name)
            )));
        }
        let removed = versions::prune(&owned.schema, owned.id, keep)?;
        if removed > 0 {
            let versions = counted(removed as u64, "version");
            notice(format!("removed {versions} of model \"{}\"", owned.name));
        }
        Ok(removed)
    };
    prune().or_raise()
}

/// `svm_grant(model, role) -> text`: lets a role see the model and predict with it.
#[pg_extern(sql = false)]
fn svm_grant(model: Option<&str>, role: Option<&str>, fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let grant = || {
        let owned = OwnedModel::lock("svm_grant()", model, fcinfo)?;
        let role = found_role(required(role, "role")?)?;
        owned.follow_grantees(role)?;
        owned.execute(
            "INSERT INTO {s}.svm_permission (model_id, owner, grantee)
             SELECT id, owner, $2 FROM {s}.svm_model WHERE id OPERATOR(pg_catalog.=) $1
             ON CONFLICT DO NOTHING",
            Some(role.into()),
        )?;
        owned.say_whose_rows_landmarks_are()?;
        Ok::<_, Failure>(owned.name)
    };
    grant().or_raise()
}

/// `svm_revoke(model, role) -> text`: takes back what `svm_grant` gave; also from a role that is gone.
#[pg_extern(sql = false)]
fn svm_revoke(model: Option<&str>, role: Option<&str>, fcinfo: pg_sys::FunctionCallInfo) -> String {
    let _prepared = prepared();
    let revoke = || {
        let owned = OwnedModel::lock("svm_revoke()", model, fcinfo)?;
        let role = required(role, "role")?;
        // one that is gone is revoked by its name
        let role = found_role(role).unwrap_or(role);
        let revoked = owned.execute(
            "DELETE FROM {s}.svm_permission
             WHERE model_id OPERATOR(pg_catalog.=) $1 AND
                 CASE WHEN svm_internal.svm_role_oid($2::pg_catalog.name) IS NULL THEN grantee OPERATOR(pg_catalog.=) $2::pg_catalog.name
                 ELSE grantee_oid OPERATOR(pg_catalog.=) svm_internal.svm_role_oid($2::pg_catalog.name) END",
            Some(role.into()),
        )?;
        if revoked == 0 {
            notice(format!(
                "model \"{}\" was not granted to role \"{}\"",
                owned.name,
                shortened(role)
            ));
        }
        Ok::<_, Failure>(owned.name)
    };
    revoke().or_raise()
}

/// A model that the caller may change, its row locked until the transaction ends.
pub struct OwnedModel {
    /// The extension's schema, quoted.
    pub schema: String,
    id: i64,
    pub name: String,
    pub current_version: i32,
    /// None where no such role was there when the model was loaded.
    owner: Option<pg_sys::Oid>,
}

/// A model's id, its deployed version and its owner.
type ModelRow = (Option<i64>, Option<i32>, Option<pg_sys::Oid>);

/// Locks the row of a model; None where there is none.
fn lock_row(schema: &str, name: &str) -> Result<Option<ModelRow>, SpiError> {
    Spi::connect_mut(|client| {
        let rows = client.update(
            &format!(
                "SELECT id, current_version, owner_oid FROM {schema}.svm_model
                 WHERE name OPERATOR(pg_catalog.=) $1 FOR UPDATE"
            ),
            None,
            &[name.into()],
        )?;
        match rows.is_empty() {
            true => Ok(None),
            false => rows.first().get_three().map(Some),
        }
    })
}

impl OwnedModel {
    /// Locks the model that the first argument of `function` names; waits for whoever has it locked.
    pub fn lock(
        function: &str,
        model: Option<&str>,
        fcinfo: pg_sys::FunctionCallInfo,
    ) -> Result<Self, Failure> {
        rights::check_writable(function)?;
        let name = required(model, "model")?;
        model::check_length(name)?;
        let schema = model::schema_of_call(fcinfo);
        rights::check_owner(&schema, name, "Only its owner may change it.")?;
        let name = name.to_owned();
        match lock_row(&schema, &name).map_err(spi_failure)? {
            Some((Some(id), Some(current_version), owner)) => {
                let owned = Self {
                    schema,
                    id,
                    name,
                    current_version,
                    owner,
                };
                owned.follow_owner()?;
                Ok(owned)
            }
            _ => Err(missing(&schema, &name, function)),
        }
    }

    /// Writes down what its owner is called now, so that a dump finds the role again: it has been renamed since.
    fn follow_owner(&self) -> Result<(), Failure> {
        let Some(name) = self.owner.and_then(acting::role_name) else {
            return Ok(());
        };
        self.execute(
            "UPDATE {s}.svm_model SET owner = $2
             WHERE id OPERATOR(pg_catalog.=) $1 AND owner OPERATOR(pg_catalog.<>) $2::pg_catalog.name",
            Some(name.as_str().into()),
        )?;
        Ok(())
    }

    /// Makes room for a grantee of this name: grants to roles that are called otherwise by now get that name, those to
    /// roles that are gone go. All are taken away before one is put back, so that names may have been exchanged.
    fn follow_grantees(&self, name: &str) -> Result<(), Failure> {
        self.execute(
            "WITH outdated AS (
                 DELETE FROM {s}.svm_permission WHERE model_id OPERATOR(pg_catalog.=) $1
                     AND coalesce(grantee_oid, 0) OPERATOR(pg_catalog.<>) coalesce(svm_internal.svm_role_oid(grantee), 0)
                     AND (grantee_oid IS NOT NULL OR grantee OPERATOR(pg_catalog.=) $2::pg_catalog.name)
                 RETURNING model_id, owner, grantee_oid)
             INSERT INTO {s}.svm_permission (model_id, owner, grantee)
             SELECT outdated.model_id, outdated.owner, role.rolname
             FROM outdated JOIN pg_catalog.pg_roles AS role ON role.oid OPERATOR(pg_catalog.=) outdated.grantee_oid
             ORDER BY role.rolname ON CONFLICT DO NOTHING",
            Some(name.into()),
        )?;
        Ok(())
    }

    /// What it takes to read the source of a version of the model with its owner's rights: names are looked up where they
    /// were when it was trained.
    pub fn acting(&self, search_path: Option<&str>) -> Result<ActingAs, Failure> {
        let found = self
            .owner
            .and_then(|role| Some((role, acting::role_name(role)?)));
        let (role, owner) = found.ok_or_else(|| self.without_owner())?;
        if !acting::has_rights_of(role) {
            return Err(Failure::new(
                Code::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("model \"{}\" belongs to role \"{owner}\"", self.name),
            )
            .hint("Who has the rights of that role may have its models follow their tables."));
        }
        if search_path.is_none() && acting::current_user() != role {
            return Err(self.without_search_path(&owner));
        }
        let search_path = search_path.map(|path| match path {
            "" => "pg_temp".to_owned(),
            path => format!("{path}, pg_temp"),
        });
        Ok(ActingAs {
            role,
            search_path: search_path.and_then(|path| CString::new(path).ok()),
        })
    }

    fn without_owner(&self) -> Failure {
        Failure::new(
            Code::ERRCODE_UNDEFINED_OBJECT,
            format!("the role that owns model \"{}\" does not exist", self.name),
        )
        .detail("Its source would be read with the rights of that role.")
        .hint(format!(
            "UPDATE {}.svm_model SET owner = '…' WHERE name = {} gives it to another one.",
            self.schema,
            literal(&self.name)
        ))
    }

    fn without_search_path(&self, owner: &str) -> Failure {
        Failure::new(
            Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "model \"{}@{}\" does not say where the names in its source were looked up",
                self.name, self.current_version
            ),
        )
        .detail(format!(
            "It was trained under a version of pgsvm before 0.3.0, and its source is read with the rights of its owner, role \"{owner}\"."
        ))
        .hint(format!(
            "Call it as that role once, the next version will say so: SET ROLE {};",
            quote(owner)
        ))
    }

    /// What the model's owner is called.
    pub fn owner_name(&self) -> String {
        self.owner.and_then(acting::role_name).unwrap_or_default()
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

    /// Tells who grants a kernel machine that its landmarks are rows of the table it was trained on.
    fn say_whose_rows_landmarks_are(&self) -> Result<(), Failure> {
        let rows = self.execute(
            "SELECT FROM {s}.svm_version WHERE model_id OPERATOR(pg_catalog.=) $1
             AND features OPERATOR(pg_catalog.#>>) '{kernel,chosen}' OPERATOR(pg_catalog.<>) 'centres'",
            None,
        )?;
        if rows > 0 {
            Failure::new(
                Code::ERRCODE_SUCCESSFUL_COMPLETION,
                format!(
                    "model \"{}\" compares rows with landmarks, which whoever may predict with it can read: rows of the table that it was trained on",
                    self.name
                ),
            )
            .hint(format!(
                "A model whose landmarks are means of rows: {}",
                training_beside(&self.name, &OF_CENTRES)
            ))
            .notice();
        }
        Ok(())
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
        .hint(self.versions_hint()))
    }

    fn versions_hint(&self) -> String {
        format!(
            "Its versions: SELECT version FROM {}.svm_versions WHERE name = {}.",
            self.schema,
            literal(&self.name)
        )
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
        let other = read_one::<i32>(
            &format!(
                "SELECT pg_catalog.max(version) FROM {}.svm_version
                 WHERE model_id OPERATOR(pg_catalog.=) $1 AND version OPERATOR(pg_catalog.<>) $2",
                self.schema
            ),
            &[self.id.into(), self.current_version.into()],
        );
        let other = other.ok().flatten();
        Failure::new(
            Code::ERRCODE_OBJECT_IN_USE,
            format!(
                "version {} of model \"{}\" is the current one",
                self.current_version, self.name
            ),
        )
        .hint(match other {
            Some(other) => format!(
                "SELECT svm_deploy({name}, {other}) makes another version the current one, SELECT svm_drop({name}) drops them all."
            ),
            None => format!("It is the only one: SELECT svm_drop({name}) drops the model."),
        })
    }
}

fn missing(schema: &str, name: &str, function: &str) -> Failure {
    let failure = Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("model \"{name}\" does not exist"),
    );
    match name.rsplit_once('@') {
        Some((base, version)) => failure.hint(match function.trim_end_matches("()") {
            function @ ("svm_deploy" | "svm_drop") => format!(
                "The version is an argument of its own: SELECT {function}({}, {version}).",
                literal(base)
            ),
            function => format!(
                "{function} takes the model by its name alone: {}.",
                literal(base)
            ),
        }),
        None => failure.hint(match near_name(schema, name) {
            Some(near) => format!("Perhaps {} is meant.", literal(&near)),
            None => format!("The models you can use: SELECT name FROM {schema}.svm_models."),
        }),
    }
}

/// The name most like this one, of the models that the caller can use.
fn near_name(schema: &str, name: &str) -> Option<String> {
    let names = read_one::<Vec<String>>(
        &format!("SELECT pg_catalog.array_agg(name) FROM (SELECT name FROM {schema}.svm_models ORDER BY name LIMIT {MOST_COMPARED}) AS models"),
        &[],
    );
    let names = names.ok().flatten().unwrap_or_default();
    near::names(name, names.iter().map(String::as_str))
        .into_iter()
        .next()
}

/// The grantee of this name: a role, or everybody, however that is written where no role is called so. Refuses others.
fn found_role(role: &str) -> Result<&str, Failure> {
    let known = role == EVERYBODY
        || read_one::<bool>(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) $1)",
            &[role.into()],
        )
        .map_err(spi_failure)?
            == Some(true);
    if known {
        return Ok(role);
    }
    if role.eq_ignore_ascii_case(EVERYBODY) {
        return Ok(EVERYBODY);
    }
    Err(Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("role \"{}\" does not exist", shortened(role)),
    )
    .hint("CREATE ROLE makes one; 'public' stands for every role."))
}

/// A text as SQL writes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
