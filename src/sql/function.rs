//! `svm_create_function`: a function of the caller's that predicts with one model, whose result has
//! the type of the labels, and which other roles may be allowed to call without any right on the model.
//!
//! It is a SECURITY DEFINER function in SQL: whoever may execute it predicts with its owner's rights,
//! and with nothing but the one model. PUBLIC may not, until the owner grants it. An immutable one holds
//! the model itself: see `immutable_function`.

use crate::base::errors::{notice, Code, Failure, OrRaise};
use crate::catalog::spi_failure;
use crate::catalog::trained_by::training;
use crate::catalog::{identifiers, rights};
use crate::combinations::models;
use crate::model::{self, Model};
use crate::pg::call::Call;
use crate::pg::kept_statement::{read_one, read_two};
use crate::pg::memory_ends::prepared;
use crate::request::source::quote;
use crate::sql::immutable_function;
use crate::targets::labels::{self, qualified_type_name};
use pgrx::prelude::*;
use pgrx::spi::{quote_literal, SpiError};

/// `svm_create_function(model, name, kind, immutable) -> regprocedure`: see sql/prediction.sql.
#[pg_extern(sql = false)]
fn svm_create_function(
    model: Option<&str>,
    name: Option<&str>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Oid {
    let _prepared = prepared();
    let Some(model) = model else {
        Failure::new(Code::ERRCODE_NULL_VALUE_NOT_ALLOWED, "the model is NULL")
            .hint("Name one: SELECT svm_create_function('…'). The models you can use: SELECT name FROM svm_models.")
            .raise()
    };
    rights::check_writable("svm_create_function()").or_raise();
    let found = model::of_call(fcinfo, model).or_raise();
    let extension = model::schema_of_call(fcinfo);
    // SAFETY: PostgreSQL's own call; the arguments are of these types where the declaration has them.
    let (kind, immutable) = unsafe {
        let call = Call::of(fcinfo);
        (call.text("kind"), call.get::<bool>("immutable"))
    };
    let kind = FunctionKind::of(kind.as_deref(), &found).or_raise();
    name.map_or(Ok(()), identifiers::check_length).or_raise();
    let name = name.map_or_else(
        || quote(&format!("{}_{}", kind.verb(), found.base_name())),
        str::to_owned,
    );
    let created = match immutable.unwrap_or(false) {
        true => immutable_function::create(&found, kind, &name),
        false => create(&extension, model, &found, kind, &name),
    };
    let created = created
        .map_err(|error| match error {
            FunctionProblem::Ours(failure) => failure,
            FunctionProblem::Spi(error) => Failure::new(
                Code::ERRCODE_INTERNAL_ERROR,
                format!("could not create the function: {error}"),
            ),
        })
        .or_raise();
    check_name(&name, created).or_raise();
    created
}

/// Refuses the name of a function of PostgreSQL's own: calls of that name would be ambiguous from then on, for everybody.
fn check_name(name: &str, created: pg_sys::Oid) -> Result<(), Failure> {
    let is_taken = read_one::<bool>(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc AS own
             JOIN pg_catalog.pg_proc AS its ON its.proname OPERATOR(pg_catalog.=) own.proname
                 AND its.pronamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace
             WHERE own.oid OPERATOR(pg_catalog.=) $1)",
        &[created.into()],
    );
    match is_taken.map_err(spi_failure)? {
        Some(true) => Err(Failure::new(
            Code::ERRCODE_RESERVED_NAME,
            format!("PostgreSQL has a function {name} of its own"),
        )
        .hint(
            "Take a name that says what the function predicts, or none: svm_create_function(model)",
        )),
        _ => Ok(()),
    }
}

/// What a function says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionKind {
    Class,
    Decision,
    Probability,
}

impl FunctionKind {
    /// The kind of that name, which the model must be able to say.
    fn of(word: Option<&str>, model: &Model) -> Result<Self, Failure> {
        let kind = match word {
            None | Some("class") => Self::Class,
            Some("decision") => Self::Decision,
            Some("probability") => Self::Probability,
            Some(other) => {
                return Err(Failure::new(
                    Code::ERRCODE_INVALID_PARAMETER_VALUE,
                    format!("unknown kind '{other}'"),
                )
                .hint("kind => 'class' or 'decision' or 'probability'"))
            }
        };
        if kind == Self::Probability {
            model.check_classes()?;
        }
        if kind != Self::Class && model.heads.len() != 1 && !model.regresses {
            let classes = model.labels.len();
            return Err(models::function_classes(&model.name, classes, kind.noun()));
        }
        if kind == Self::Probability && model.heads[0].calibration.is_none() {
            model.check_labels()?;
            let again = training(&model.name, "probability => true");
            return Err(models::function_probability(&model.name, again));
        }
        Ok(kind)
    }

    /// What the function returns.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Class => "prediction",
            Self::Decision => "decision",
            Self::Probability => "probability",
        }
    }

    /// How the function's name begins where the call gives none.
    fn verb(self) -> &'static str {
        match self {
            Self::Class => "predict",
            Self::Decision => "decision",
            Self::Probability => "probability",
        }
    }
}

pub(super) enum FunctionProblem {
    Ours(Failure),
    Spi(SpiError),
}

impl From<SpiError> for FunctionProblem {
    fn from(error: SpiError) -> Self {
        Self::Spi(error)
    }
}

/// What decisions and probabilities are.
pub(super) const FLOAT: &str = "double precision";

/// Creates the function, or replaces one that this has created.
fn create(
    extension: &str,
    model: &str,
    found: &Model,
    kind: FunctionKind,
    name: &str,
) -> Result<pg_sys::Oid, FunctionProblem> {
    let (schema, name) = place(name)?;
    let full_name = format!("{}.{}", quote(&schema), quote(&name));
    let (result, function, more) = match kind {
        FunctionKind::Class => match returns(found)? {
            Returns::Type(name) => {
                let more = format!(", NULL::{name}");
                (name, "svm_predict", more)
            }
            Returns::Text => ("pg_catalog.text".to_owned(), "svm_classify", String::new()),
        },
        FunctionKind::Decision => (FLOAT.to_owned(), "svm_decision", String::new()),
        FunctionKind::Probability => (FLOAT.to_owned(), "svm_probability", String::new()),
    };
    let body = format!(
        "SELECT svm_internal.{function}({}, $1{more})",
        quote_literal(model)
    );
    let known = existing(&schema, &name, extension)?;
    let verb = match known {
        Some(Existing::OfCaller) => "CREATE OR REPLACE",
        None => "CREATE",
        Some(Existing::OfAnother(owner)) => {
            return Err(FunctionProblem::Ours(
                of_another_role(&format!("{full_name}(anyelement)"), &owner).hint(format!(
                    "Give another name: svm_create_function({}, 'another_name').",
                    quote_literal(model)
                )),
            ))
        }
        Some(Existing::Foreign) => {
            return Err(FunctionProblem::Ours(
                Failure::new(
                    Code::ERRCODE_DUPLICATE_FUNCTION,
                    format!(
                        "function {full_name}(anyelement) exists and does not predict with a model"
                    ),
                )
                .hint(format!(
                    "Give another name: svm_create_function({}, 'another_name').",
                    quote_literal(model)
                )),
            ))
        }
    };
    Spi::run(&format!(
        "{verb} FUNCTION {full_name}(features anyelement) RETURNS {result}
         LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         AS {}",
        quote_literal(&body)
    ))?;
    if known.is_none() {
        Spi::run(&format!(
            "REVOKE ALL ON FUNCTION {full_name}(anyelement) FROM PUBLIC;
             COMMENT ON FUNCTION {full_name}(anyelement) IS {}",
            quote_literal(format!("the {} of model {model}", kind.noun()))
        ))?;
    }
    let oid = read_one::<pg_sys::Oid>(
        "SELECT pg_catalog.to_regprocedure($1)::pg_catalog.oid",
        &[format!("{full_name}(anyelement)").into()],
    )?;
    Ok(oid.expect("the function was just created"))
}

/// Schema and name of the function; the schema in which the caller creates things where `name` has none.
pub(super) fn place(name: &str) -> Result<(String, String), FunctionProblem> {
    let parts = read_one::<Vec<String>>("SELECT pg_catalog.parse_ident($1)", &[name.into()])?;
    let mut parts = parts.unwrap_or_default();
    let wrong = |code, message: String| FunctionProblem::Ours(Failure::new(code, message));
    match (parts.pop(), parts.pop(), parts.len()) {
        (Some(name), Some(schema), 0) => Ok((schema, name)),
        (Some(name), None, 0) => {
            match read_one::<String>("SELECT pg_catalog.current_schema()::text", &[])? {
                Some(schema) => Ok((schema, name)),
                None => Err(wrong(
                    Code::ERRCODE_INVALID_SCHEMA_NAME,
                    "no schema has been selected to create in".to_owned(),
                )),
            }
        }
        _ => Err(wrong(
            Code::ERRCODE_SYNTAX_ERROR,
            format!("{name} is no name of a function"),
        )),
    }
}

/// What the function returns.
enum Returns {
    /// A value of this type, as SQL writes it.
    Type(String),
    Text,
}

/// The type of the labels, where that is safe: the function would run whatever checks and casts the type has with its
/// owner's rights. So it is one of PostgreSQL's own, or one that the caller or a superuser has made, in a schema of theirs;
/// of any other the labels are returned as text. What the model says is not written into a statement as it stands: whoever
/// owns the model may have put anything there.
fn returns(model: &Model) -> Result<Returns, FunctionProblem> {
    if let Some(own) = labels::own_type(&model.label_type) {
        return Ok(Returns::Type(own.to_owned()));
    }
    let known = read_two::<pg_sys::Oid, bool>(
        "SELECT t.oid, (owner.rolsuper OR owner.rolname OPERATOR(pg_catalog.=) current_user)
             AND (place.rolsuper OR place.rolname OPERATOR(pg_catalog.=) current_user)
         FROM pg_catalog.pg_type AS t
         JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
         JOIN pg_catalog.pg_roles AS owner ON owner.oid OPERATOR(pg_catalog.=) t.typowner
         JOIN pg_catalog.pg_database AS d ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
         JOIN pg_catalog.pg_roles AS place ON place.oid OPERATOR(pg_catalog.=)
             CASE WHEN n.nspowner OPERATOR(pg_catalog.=) 'pg_database_owner'::pg_catalog.regrole::pg_catalog.oid
                 THEN d.datdba ELSE n.nspowner END
         WHERE t.oid OPERATOR(pg_catalog.=) pg_catalog.to_regtype($1)",
        &[model.label_type.as_str().into()],
    );
    match known {
        Ok((Some(known), Some(true))) => Ok(Returns::Type(qualified_type_name(known))),
        Ok((Some(known), _)) => {
            notice(format!(
                "the function returns text: type {} belongs to another role",
                qualified_type_name(known)
            ));
            Ok(Returns::Text)
        }
        Ok(_) | Err(SpiError::InvalidPosition) => Err(FunctionProblem::Ours(
            Failure::new(
                Code::ERRCODE_UNDEFINED_OBJECT,
                format!("type {} does not exist", model.label_type),
            )
            .detail(format!("The labels of model \"{}\" are of it.", model.name)),
        )),
        Err(error) => Err(error.into()),
    }
}

/// A function that is made again stays its owner's, who may put another body into it later: a superuser's call would run that.
pub(super) fn of_another_role(signature: &str, owner: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("function {signature} belongs to role \"{owner}\""),
    )
    .detail("Made again it would stay that role's, which could change it.")
}

/// The owner of function `p` where that is another role than the caller, as SQL.
pub(super) const OTHER_OWNER: &str =
    "CASE WHEN pg_catalog.pg_get_userbyid(p.proowner) OPERATOR(pg_catalog.<>) current_user
         THEN pg_catalog.pg_get_userbyid(p.proowner)::pg_catalog.text END";

/// A function of the name that is asked for, which takes anything.
enum Existing {
    /// One of ours, the caller's.
    OfCaller,
    /// One of ours, of this other role.
    OfAnother(String),
    /// Not one of ours.
    Foreign,
}

/// Whether there is one, which is one of ours by how its body starts, here or under 0.2.0.
fn existing(
    schema: &str,
    name: &str,
    extension: &str,
) -> Result<Option<Existing>, FunctionProblem> {
    let starts = [
        "svm_predict",
        "svm_classify",
        "svm_decision",
        "svm_probability",
    ]
    .into_iter()
    .flat_map(|function| {
        ["svm_internal", extension].map(|schema| format!("SELECT {schema}.{function}("))
    });
    let found = read_two::<bool, String>(
        &format!(
            "SELECT p.prosecdef AND p.prolang OPERATOR(pg_catalog.=) 14::pg_catalog.oid
             AND (SELECT pg_catalog.bool_or(pg_catalog.starts_with(p.prosrc, start))
                  FROM pg_catalog.unnest($3::pg_catalog.text[]) AS start),
             {OTHER_OWNER}
         FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n
             ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
         WHERE n.nspname OPERATOR(pg_catalog.=) $1::pg_catalog.name
             AND p.proname OPERATOR(pg_catalog.=) $2::pg_catalog.name
             AND p.proargtypes OPERATOR(pg_catalog.=) '2283'::pg_catalog.oidvector"
        ),
        &[
            schema.into(),
            name.into(),
            starts.collect::<Vec<_>>().into(),
        ],
    );
    match found {
        Err(SpiError::InvalidPosition) => Ok(None),
        found => Ok(Some(match found? {
            (Some(true), None) => Existing::OfCaller,
            (Some(true), Some(owner)) => Existing::OfAnother(owner),
            _ => Existing::Foreign,
        })),
    }
}
