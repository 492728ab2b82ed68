//! `svm_load_libsvm`: a LIBSVM file becomes a table of sparse arrays, which train and predict without
//! parsing text again.

use super::libsvm::{self, LibsvmExample, LibsvmReader};
use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::catalog::spi_failure;
use crate::catalog::{identifiers, rights};
use crate::pg::check_for_interrupts;
use crate::pg::insert::Insert;
use crate::pg::kept_statement::read_one;
use crate::pg::long_errors::cut_off;
use crate::pg::memory_ends::prepared;
use crate::request::required;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::io::BufRead;

/// `svm_load_libsvm(relation, path, content) -> bigint`: the number of rows.
#[pg_extern(sql = false)]
fn svm_load_libsvm(relation: Option<&str>, path: Option<&str>, content: Option<&str>) -> i64 {
    let _prepared = prepared();
    let load = || {
        rights::check_writable("svm_load_libsvm()")?;
        let relation = required(relation, "relation")?;
        match (path, content) {
            (Some(path), None) => {
                check_may_read_files(path)?;
                fill(relation, LibsvmReader::new(libsvm::open(path)?))
            }
            (None, Some(content)) => fill(relation, LibsvmReader::new(content.as_bytes())),
            _ => Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "either path or content must be given",
            )
            .hint("path => '/file/of/the/server' or content => '1 3:0.5 17:1'")),
        }
    };
    cut_off(load).or_raise()
}

/// The server's files are for those who may COPY from them.
fn check_may_read_files(path: &str) -> Result<(), Failure> {
    let may = read_one::<bool>(
        "SELECT pg_catalog.pg_has_role(current_user, 'pg_read_server_files', 'USAGE')",
        &[],
    );
    match may.map_err(spi_failure)? {
        Some(true) => Ok(()),
        _ => Err(Failure::new(
            Code::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!(
                "permission denied to read the server's file \"{}\"",
                shortened(path)
            ),
        )
        .detail("That takes the rights of role pg_read_server_files.")
        .hint("Pass what it holds as text: content => :'content'")),
    }
}

/// Makes the table and puts the examples in.
fn fill(relation: &str, mut reader: LibsvmReader<impl BufRead>) -> Result<i64, Failure> {
    identifiers::check_length(relation)?;
    let name = quoted_name(relation)?;
    let create = format!(
        "CREATE TABLE {name} (
             label pg_catalog.float8 NOT NULL, idx pg_catalog.int4[] NOT NULL, val pg_catalog.float4[] NOT NULL
         )"
    );
    Spi::run(&create).map_err(spi_failure)?;
    let types = [
        pg_sys::FLOAT8OID,
        pg_sys::INT4ARRAYOID,
        pg_sys::FLOAT4ARRAYOID,
    ];
    let mut insert = Insert::begin(&format!("INSERT INTO {name} VALUES ($1, $2, $3)"), types);
    let mut example = LibsvmExample::default();
    let mut rows = 0;
    while reader.next(&mut example, check_for_interrupts)? {
        insert.put(|values| {
            [
                values.float8(example.label),
                values.array(&example.indices, pg_sys::INT4OID),
                values.array(&example.values, pg_sys::FLOAT4OID),
            ]
        });
        rows += 1;
    }
    insert.finish();
    Ok(rows)
}

/// A table's name as the user writes it, quoted part by part; without a schema in it, in the schema where the caller
/// creates things, since a temporary table of that name would be found first later. Where there is no such schema, it
/// stays as it is, and its creation is an error.
fn quoted_name(relation: &str) -> Result<String, Failure> {
    let name = read_one::<String>(
        "SELECT pg_catalog.concat_ws('.',
             CASE WHEN pg_catalog.array_length(parts, 1) OPERATOR(pg_catalog.=) 1
                 THEN pg_catalog.quote_ident(pg_catalog.current_schema()::pg_catalog.text) END,
             (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(part), '.' ORDER BY place)
              FROM pg_catalog.unnest(parts) WITH ORDINALITY AS named (part, place)))
         FROM pg_catalog.parse_ident($1) AS parts",
        &[relation.into()],
    );
    Ok(name.map_err(spi_failure)?.unwrap_or_default())
}
