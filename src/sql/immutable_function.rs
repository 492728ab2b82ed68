//! Functions that hold a model: IMMUTABLE, so that indexes and generated columns may be made of them. They are
//! in a language of the extension's own (`predict::language`), whose body is the model's text (`model::text`): a
//! plan shows the call alone, a call costs what a prediction does, and the version may be dropped.

use super::function::{of_another_role, place, FunctionKind, FunctionProblem, FLOAT, OTHER_OWNER};
use crate::base::errors::{Code, Failure};
use crate::combinations::models;
use crate::features::{FeaturePart, ReadAs, ReadColumn};
use crate::model::{text, Model};
use crate::pg::kept_statement::read_one;
use crate::pg::select;
use crate::pg::types::{type_kind, TypeKind};
use crate::request::source::quote;
use crate::targets::labels::qualified_type_name;
use pgrx::prelude::*;
use pgrx::spi::{quote_literal, SpiError};
use pgsvm_core::memory::{OutOfMemory, Room};

/// Most columns that are arguments of their own; PostgreSQL takes 100 arguments.
const MOST_COLUMNS: usize = 90;
/// Longest text of a model that a function holds.
const MOST_BYTES: usize = 16 << 20;

/// Creates the function, or replaces one that this has created and that nothing is made of.
pub fn create(
    model: &Model,
    kind: FunctionKind,
    name: &str,
) -> Result<pg_sys::Oid, FunctionProblem> {
    let (schema, name) = place(name)?;
    let full_name = format!("{}.{}", quote(&schema), quote(&name));
    let parameters = parameters(model)?;
    let types: Vec<_> = parameters.iter().map(|(_, kind)| kind.as_str()).collect();
    let signature = format!("{full_name}({})", types.join(", "));
    check_free(&signature)?;
    select::execute(&statement(model, kind, &full_name, &parameters)?);
    Spi::run(&format!(
        "COMMENT ON FUNCTION {signature} IS {}",
        quote_literal(format!(
            "the {} of model {}, which it holds",
            kind.noun(),
            model.name
        ))
    ))?;
    let oid = read_one::<pg_sys::Oid>(
        "SELECT pg_catalog.to_regprocedure($1)::pg_catalog.oid",
        &[signature.into()],
    )?;
    Ok(oid.expect("the function was just created"))
}

/// CREATE FUNCTION, with the model in it.
fn statement(
    model: &Model,
    kind: FunctionKind,
    full_name: &str,
    parameters: &[(String, String)],
) -> Result<Vec<u8>, FunctionProblem> {
    let declared = parameters.iter();
    let declared: Vec<_> = declared
        .map(|(name, kind)| format!("{} {kind}", quote(name)))
        .collect();
    let written = text::write(model, None).map_err(FunctionProblem::Ours)?;
    check_length(model, &written)?;
    let (result, answer) = match kind {
        FunctionKind::Class => (result_type(model), "class"),
        FunctionKind::Decision => (FLOAT, "decision"),
        FunctionKind::Probability => (FLOAT, "probability"),
    };
    let before = format!(
        "CREATE OR REPLACE FUNCTION {full_name}({}) RETURNS {result}
         LANGUAGE pgsvm IMMUTABLE PARALLEL SAFE COST 50 AS ",
        declared.join(", ")
    );
    with_literal(&before, (answer, &written)).map_err(|error| FunctionProblem::Ours(error.into()))
}

/// A statement with a function's body behind it as a literal, and a zero byte behind that.
fn with_literal(before: &str, (answer, model): (&str, &str)) -> Result<Vec<u8>, OutOfMemory> {
    let mut sql = Vec::new();
    let special = |byte: &u8| matches!(byte, b'\'' | b'\\');
    let doubled = model.bytes().filter(special).count();
    let bytes = before.len() + answer.len() + model.len() + doubled;
    sql.room(bytes + 8)?.extend_from_slice(before.as_bytes());
    sql.extend_from_slice(b"E'");
    sql.extend_from_slice(answer.as_bytes());
    sql.extend_from_slice(b"\\n");
    for byte in model.bytes() {
        sql.push(byte);
        if special(&byte) {
            sql.push(byte);
        }
    }
    sql.extend_from_slice(b"'\0");
    Ok(sql)
}

/// Names and types of the parameters: the model's columns or, where they are too many, one array.
fn parameters(model: &Model) -> Result<Vec<(String, String)>, FunctionProblem> {
    let mut parameters: Vec<(String, String)> = Vec::new();
    let parts = &model.features.parts;
    for column in parts.iter().flat_map(|part| part.reads()) {
        let kind = parameter_type(column);
        match parameters
            .iter_mut()
            .find(|(known, _)| *known == column.name)
        {
            None => parameters.push((column.name.to_owned(), kind)),
            // a number that is a category too comes as what the category is
            Some((_, known)) if *known == FLOAT => *known = kind,
            Some(_) => {}
        }
    }
    if parameters.len() <= MOST_COLUMNS {
        return Ok(parameters);
    }
    let is_number = |part: &FeaturePart| part.is_number() && part.reading().is_none();
    match parts.iter().find(|part| !is_number(part)) {
        None => Ok(vec![("features".to_owned(), format!("{FLOAT}[]"))]),
        Some(part) => Err(FunctionProblem::Ours(models::many_columns(
            &model.name,
            parameters.len(),
            MOST_COLUMNS,
            part.name(),
        ))),
    }
}

/// The type of a column's parameter: PostgreSQL's own, to which no cast runs code of anybody's.
fn parameter_type(column: ReadColumn<'_>) -> String {
    let type_name = column.type_name;
    match column.by {
        ReadAs::Number | ReadAs::Factor => number_type(type_name, false).to_owned(),
        ReadAs::Time => number_type(type_name, true).to_owned(),
        ReadAs::Category => category_type(type_name),
        ReadAs::Numbers | ReadAs::Indices => array_type(type_name),
        ReadAs::Sparsevec => text_or(vector_type(type_name)),
        ReadAs::Written | ReadAs::Libsvm | ReadAs::Text => text_or(None),
        ReadAs::Vector => "pg_catalog.tsvector".to_owned(),
        ReadAs::Words => "pg_catalog.text[]".to_owned(),
    }
}

fn text_or(known: Option<String>) -> String {
    known.unwrap_or_else(|| "pg_catalog.text".to_owned())
}

fn number_type(type_name: &str, time: bool) -> &str {
    let bare = type_name.split('(').next().unwrap_or_default();
    match (time, bare) {
        (true, "date") => "pg_catalog.date",
        (true, "timestamp") if type_name.ends_with("without time zone") => "timestamp",
        (true, "timestamp without time zone") => "timestamp",
        (true, _) => "timestamp with time zone",
        (false, "numeric" | "boolean" | "interval") => bare,
        // how money becomes a number hangs on a setting
        (false, "money") => "numeric",
        (false, _) if type_name.starts_with("time") => {
            match type_name.ends_with("with time zone") {
                true => "time with time zone",
                false => "time without time zone",
            }
        }
        (false, _) => FLOAT,
    }
}

fn category_type(type_name: &str) -> String {
    match type_name {
        "boolean" => "boolean".to_owned(),
        "smallint" | "integer" | "bigint" => "bigint".to_owned(),
        _ => text_or(enum_type(type_name)),
    }
}

/// An array's type as in training, or what all arrays of numbers become.
fn array_type(type_name: &str) -> String {
    match type_name {
        "smallint[]" | "integer[]" | "bigint[]" | "real[]" | "numeric[]" => type_name.to_owned(),
        _ => vector_type(type_name).unwrap_or_else(|| format!("{FLOAT}[]")),
    }
}

/// A type of pgvector's.
fn vector_type(type_name: &str) -> Option<String> {
    existing(type_name)
        .filter(|oid| matches!(type_kind(*oid), TypeKind::Vector(_)))
        .map(qualified_type_name)
}

/// An enum, whose values are labels and nothing that is run.
fn enum_type(type_name: &str) -> Option<String> {
    // SAFETY: a catalog look-up of an oid, inside a transaction.
    existing(type_name)
        .filter(|oid| unsafe { pg_sys::type_is_enum(*oid) })
        .map(qualified_type_name)
}

fn existing(type_name: &str) -> Option<pg_sys::Oid> {
    let found = read_one::<pg_sys::Oid>(
        "SELECT pg_catalog.to_regtype($1)::pg_catalog.oid",
        &[type_name.into()],
    );
    found.ok().flatten()
}

/// The type of the labels where text becomes it by PostgreSQL's own immutable casts, else text.
fn result_type(model: &Model) -> &str {
    match model.label_type.as_str() {
        name @ ("boolean" | "smallint" | "integer" | "bigint" | "real" | "double precision"
        | "numeric") => name,
        _ => "pg_catalog.text",
    }
}

fn check_length(model: &Model, written: &str) -> Result<(), FunctionProblem> {
    match written.len() > MOST_BYTES {
        false => Ok(()),
        true => Err(FunctionProblem::Ours(
            Failure::new(
                Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "model \"{}\" takes {} bytes, too many for a function to hold",
                    model.name,
                    written.len()
                ),
            )
            .detail(format!("At most {MOST_BYTES} can be held.")),
        )),
    }
}

/// Refuses a signature that belongs to a function which is not of this kind, or another role's, or which others are made of: an
/// index would go on with what the function said before.
fn check_free(signature: &str) -> Result<(), FunctionProblem> {
    let failure = match function_before(signature)? {
        None => return Ok(()),
        Some(FunctionBefore { is_ours: false, .. }) => Failure::new(
            Code::ERRCODE_DUPLICATE_FUNCTION,
            format!("function {signature} exists and does not hold a model"),
        ),
        Some(FunctionBefore {
            other: Some(owner), ..
        }) => of_another_role(signature, &owner),
        Some(FunctionBefore {
            used: Some(used), ..
        }) => Failure::new(
            Code::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
            format!("function {signature} is in use"),
        )
        .detail(format!(
            "It would go on with what the function said before: {used}."
        )),
        Some(FunctionBefore { .. }) => return Ok(()),
    };
    Err(FunctionProblem::Ours(failure.hint(
        "Give another name: svm_create_function(…, 'another_name', immutable => true).",
    )))
}

/// A function that there is.
struct FunctionBefore {
    /// Whether it holds a model.
    is_ours: bool,
    /// Whose it is, where it is another role's.
    other: Option<String>,
    /// What is made of it.
    used: Option<String>,
}

/// The function of that signature; None where there is none.
fn function_before(signature: &str) -> Result<Option<FunctionBefore>, SpiError> {
    let query = format!(
        "SELECT EXISTS (
                 SELECT FROM pg_catalog.pg_language AS l
                 WHERE l.oid OPERATOR(pg_catalog.=) p.prolang AND l.lanname OPERATOR(pg_catalog.=) 'pgsvm'),
             (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid), ', ')
              FROM pg_catalog.pg_depend AS d
              WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
                  AND d.refobjid OPERATOR(pg_catalog.=) p.oid),
             {OTHER_OWNER}
         FROM pg_catalog.pg_proc AS p WHERE p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure($1)::pg_catalog.oid"
    );
    Spi::connect(|client| {
        let rows = client.select(&query, Some(1), &[signature.into()])?;
        if rows.is_empty() {
            return Ok(None);
        }
        let row = rows.first();
        Ok(Some(FunctionBefore {
            is_ours: row.get::<bool>(1)?.unwrap_or(false),
            used: row.get(2)?,
            other: row.get(3)?,
        }))
    })
}
