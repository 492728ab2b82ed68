//! Which relations the source of a version named when it was trained, and where their names were looked up: what a training
//! that continues it, with the rights of the model's owner, must find as it was.

use crate::base::errors::{Code, Failure};
use crate::base::json;
use crate::base::text::written;
use crate::catalog::spi_failure;
use crate::catalog::trained_by::training;
use crate::pg::kept_statement::read_one;
use crate::pg::query;
use crate::request::source::GivenSource;
use pgrx::{pg_sys, Spi};
use pgsvm_core::memory::{text, OutOfMemory};
use serde::{Deserialize, Serialize};

/// A relation that a source names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadRelation {
    /// With its schema, quoted.
    #[serde(deserialize_with = "text")]
    relation: String,
    /// As pg_class has it.
    #[serde(deserialize_with = "text")]
    kind: String,
    #[serde(deserialize_with = "text")]
    owner: String,
}

/// What a source names, and where.
#[derive(Debug, Clone, Default)]
pub struct Reads {
    pub relations: Vec<ReadRelation>,
    /// The schemas in which names are looked up, as the setting search_path has it; without that of temporary relations.
    pub search_path: String,
}

impl Reads {
    /// What the source reads now, with the current user's rights and search path.
    pub fn of(source: &GivenSource) -> Result<Self, Failure> {
        let source = source.table_expression()?;
        let named = query::relations_named(&written(format_args!("SELECT FROM {source}"))?);
        let relations = Spi::connect(|client| {
            let sql = "SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                 'relation', pg_catalog.concat(CASE WHEN c.relpersistence OPERATOR(pg_catalog.=) 't' THEN 'pg_temp'
                     ELSE pg_catalog.quote_ident(n.nspname) END, '.', pg_catalog.quote_ident(c.relname)),
                 'kind', c.relkind, 'owner', pg_catalog.pg_get_userbyid(c.relowner)))::pg_catalog.text
             FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
             WHERE c.oid OPERATOR(pg_catalog.=) ANY ($1)";
            let rows = client.select(sql, Some(1), &[named.into()])?.first();
            Ok(rows.get::<&str>(1)?.map(read))
        });
        let search_path = read_one::<String>("SELECT pg_catalog.string_agg(pg_catalog.quote_ident(name), ', ' ORDER BY place)
             FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY AS path (name, place)
             WHERE NOT pg_catalog.starts_with(name::pg_catalog.text, 'pg_temp_')", &[]);
        Ok(Self {
            relations: relations.map_err(spi_failure)?.unwrap_or(Ok(Vec::new()))?,
            search_path: search_path.map_err(spi_failure)?.unwrap_or_default(),
        })
    }

    /// Refuses a source that reads something else than `before`, when the version of `model` was trained. What belongs to
    /// the model's `owner` need not have belonged to it then.
    pub fn check(&self, before: &[ReadRelation], model: &str, owner: &str) -> Result<(), Failure> {
        for now in &self.relations {
            let known = before.iter().find(|known| known.relation == now.relation);
            let is = |known: &ReadRelation| {
                known.kind == now.kind && (known.owner == now.owner || now.owner == owner)
            };
            if !known.is_some_and(is) {
                let was = known.map_or_else(
                    || "it was not read".to_owned(),
                    |known| format!("it was {}", known.described()),
                );
                return Err(another(
                    model,
                    format!(
                        "relation {} is {} now, when model \"{model}\" was trained {was}",
                        now.relation,
                        now.described()
                    ),
                ));
            }
        }
        let gone = |known: &&ReadRelation| {
            let mut now = self.relations.iter();
            !now.any(|now| now.relation == known.relation)
        };
        match before.iter().find(gone) {
            None => Ok(()),
            Some(known) => Err(another(
                model,
                format!(
                    "the source of model \"{model}\" does not read relation {} any more",
                    known.relation
                ),
            )),
        }
    }
}

/// A list of relations as JSON.
fn read(json: &str) -> Result<Vec<ReadRelation>, OutOfMemory> {
    // our own query wrote it: nothing else can go wrong
    json::read_list(json).map_err(|_| OutOfMemory { bytes: 0 })
}

impl ReadRelation {
    fn described(&self) -> String {
        let kind = match self.kind.bytes().next().unwrap_or_default() {
            pg_sys::RELKIND_PARTITIONED_TABLE => "a partitioned table",
            pg_sys::RELKIND_VIEW => "a view",
            pg_sys::RELKIND_MATVIEW => "a materialized view",
            pg_sys::RELKIND_FOREIGN_TABLE => "a foreign table",
            _ => "a table",
        };
        format!("{kind} of role \"{}\"", self.owner)
    }
}

fn another(model: &str, message: String) -> Failure {
    Failure::new(Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail("The source is read with the rights of the model's owner.")
        .hint(format!(
            "If it is to be trained on what is there now, train the model anew: {}",
            training(model, "")
        ))
}
