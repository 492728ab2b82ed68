//! `svm_create_function`: a function of the caller's that predicts with one model, whose result has
//! the type of the labels, and which other roles may be allowed to call without any right on the model.
//!
//! It is a SECURITY DEFINER function in SQL: whoever may execute it predicts with its owner's rights,
//! and with nothing but the one model. PUBLIC may not, until the owner grants it.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::catalog::rights;
use crate::model::{self, Model};
use crate::pg::statement;
use crate::request::source::quote;
use crate::targets::labels::qualified_type_name;
use pgrx::prelude::*;
use pgrx::spi::{quote_literal, SpiError};

/// `svm_create_function(model, name) -> regprocedure`: see sql/prediction.sql.
#[pg_extern(sql = false)]
fn svm_create_function(
    model: Option<&str>,
    name: Option<&str>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> pg_sys::Oid {
    let Some(model) = model else {
        Failure::new(Code::ERRCODE_NULL_VALUE_NOT_ALLOWED, "the model is NULL")
            .hint("Name one: SELECT svm_create_function('my_model').")
            .raise()
    };
    rights::check_writable("svm_create_function()").or_raise();
    // SAFETY: PostgreSQL's own call.
    let schema = unsafe { statement::schema_of_call(fcinfo) };
    let found = model::find(schema, model).or_raise();
    let extension = model::schema_of_call(fcinfo);
    check_schema(&extension).or_raise();
    let name = name.map_or_else(
        || quote(&format!("predict_{}", found.base_name())),
        str::to_owned,
    );
    create(&extension, model, &found, &name)
        .map_err(|error| match error {
            Problem::Ours(failure) => failure,
            Problem::Spi(error) => Failure::new(
                Code::ERRCODE_INTERNAL_ERROR,
                format!("could not create the function: {error}"),
            ),
        })
        .or_raise()
}

enum Problem {
    Ours(Failure),
    Spi(SpiError),
}

impl From<SpiError> for Problem {
    fn from(error: SpiError) -> Self {
        Self::Spi(error)
    }
}

/// Where everybody may create functions in the extension's schema, everybody could put one there that
/// the new function would call with its owner's rights.
fn check_schema(extension: &str) -> Result<(), Failure> {
    let open = Spi::get_one_with_args::<bool>(
        "SELECT pg_catalog.has_schema_privilege('public', $1::pg_catalog.regnamespace, 'CREATE')",
        &[extension.into()],
    );
    match open {
        Ok(Some(false)) => Ok(()),
        _ => Err(Failure::new(
            Code::ERRCODE_INVALID_SCHEMA_DEFINITION,
            format!("every role may create objects in schema {extension}"),
        )
        .detail("A function that predicts with its owner's rights would not be safe there.")
        .hint(format!("REVOKE CREATE ON SCHEMA {extension} FROM PUBLIC;"))),
    }
}

/// Creates the function, or replaces one that this has created.
fn create(extension: &str, model: &str, found: &Model, name: &str) -> Result<pg_sys::Oid, Problem> {
    let (schema, name) = place(name)?;
    let full_name = format!("{}.{}", quote(&schema), quote(&name));
    let label_type = label_type(found)?;
    let start = format!("SELECT {extension}.svm_predict(");
    let body = format!("{start}{}, $1, NULL::{label_type})", quote_literal(model));
    let known = existing(&schema, &name, &start)?;
    let verb = match known {
        Some(true) => "CREATE OR REPLACE",
        None => "CREATE",
        Some(false) => {
            return Err(Problem::Ours(
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
        "{verb} FUNCTION {full_name}(features anyelement) RETURNS {label_type}
         LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         AS {}",
        quote_literal(&body)
    ))?;
    if known.is_none() {
        Spi::run(&format!(
            "REVOKE ALL ON FUNCTION {full_name}(anyelement) FROM PUBLIC;
             COMMENT ON FUNCTION {full_name}(anyelement) IS {}",
            quote_literal(format!("the prediction of model {model}"))
        ))?;
    }
    let oid = Spi::get_one_with_args::<pg_sys::Oid>(
        "SELECT pg_catalog.to_regprocedure($1)::pg_catalog.oid",
        &[format!("{full_name}(anyelement)").into()],
    )?;
    Ok(oid.expect("the function was just created"))
}

/// Schema and name of the function; the schema in which the caller creates things where `name` has none.
fn place(name: &str) -> Result<(String, String), Problem> {
    let parts =
        Spi::get_one_with_args::<Vec<String>>("SELECT pg_catalog.parse_ident($1)", &[name.into()])?;
    let mut parts = parts.unwrap_or_default();
    let wrong = |code, message: String| Problem::Ours(Failure::new(code, message));
    match (parts.pop(), parts.pop(), parts.len()) {
        (Some(name), Some(schema), 0) => Ok((schema, name)),
        (Some(name), None, 0) => {
            match Spi::get_one::<String>("SELECT pg_catalog.current_schema()::text")? {
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

/// The type of the labels as SQL writes it. What the model says is not written into a statement as it
/// stands: whoever owns the model may have put anything there.
fn label_type(model: &Model) -> Result<String, Problem> {
    let known = Spi::get_one_with_args::<pg_sys::Oid>(
        "SELECT pg_catalog.to_regtype($1)::pg_catalog.oid",
        &[model.label_type.as_str().into()],
    )?;
    match known {
        Some(known) => Ok(qualified_type_name(known)),
        None => Err(Problem::Ours(
            Failure::new(
                Code::ERRCODE_UNDEFINED_OBJECT,
                format!("type {} does not exist", model.label_type),
            )
            .detail(format!("The labels of model \"{}\" are of it.", model.name)),
        )),
    }
}

/// Whether a function of this name that takes anything is one of ours, whose body starts with `start`;
/// None when there is no function.
fn existing(schema: &str, name: &str, start: &str) -> Result<Option<bool>, Problem> {
    let found = Spi::get_one_with_args::<bool>(
        "SELECT p.prosecdef AND p.prolang OPERATOR(pg_catalog.=) 14::pg_catalog.oid
             AND pg_catalog.starts_with(p.prosrc, $3)
         FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n
             ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
         WHERE n.nspname OPERATOR(pg_catalog.=) $1::pg_catalog.name
             AND p.proname OPERATOR(pg_catalog.=) $2::pg_catalog.name
             AND p.proargtypes OPERATOR(pg_catalog.=) '2283'::pg_catalog.oidvector",
        &[schema.into(), name.into(), start.into()],
    );
    match found {
        Err(SpiError::InvalidPosition) => Ok(None),
        found => Ok(found?),
    }
}
