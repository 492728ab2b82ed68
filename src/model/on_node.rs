//! Models on a node of Citus: the coordinator keeps those that were distributed in `svm_node_model`, a reference table, whose rows Citus
//! changes on every node in the transaction that changes them there. A row holds the deployed version, whole. On the coordinator, and
//! without Citus, there are none.

use super::load::{VersionKey, VersionRow};
use super::text;
use super::version::Model;
use crate::base::errors::{Code, Failure};
use crate::pg::select::{Parameter, PreparedSelect};
use crate::pg::{citus, query, statement};
use pgrx::pg_sys;

/// The table that has them here, with its schema as SQL writes it.
pub(super) struct OnNode {
    table: pg_sys::Oid,
    name: String,
}

impl OnNode {
    pub fn here() -> Option<Self> {
        let (table, name) = citus::part_here(statement::internal_schema(), c"svm_node_model")?;
        Some(Self { table, name })
    }

    /// The deployed version of a model that the caller may use. SPI is connected.
    pub fn look_up(&self, model: &str) -> Option<VersionRow> {
        let mut found = None;
        self.select("n.version_id, n.xmin, n.version")
            .for_each_at_once(&[Parameter::Text(model)], |row| {
                let key = row.int8(1).zip(row.datum(2));
                found = key
                    .zip(row.int4(3))
                    .map(|((id, xmin), version)| VersionRow {
                        key: VersionKey {
                            models: self.table,
                            version: id,
                            xmin: xmin.value() as u32,
                        },
                        version,
                    });
            });
        found
    }

    /// Reads it. SPI is connected.
    pub fn load(&self, model: &str, row: &VersionRow) -> Result<Model, Failure> {
        let mut content = None;
        self.select("n.content")
            .for_each_at_once(&[Parameter::Text(model)], |row| content = row.text(1));
        let (read, _) = text::read(&content.unwrap_or_default())?;
        Ok(Model {
            // it may have been renamed since it was written
            name: format!("{model}@{}", row.version),
            ..read
        })
    }

    fn select(&self, columns: &str) -> PreparedSelect {
        let select = format!(
            "SELECT {columns} FROM {} AS n WHERE n.name OPERATOR(pg_catalog.=) $1",
            self.name
        );
        PreparedSelect::kept(&select, &[pg_sys::TEXTOID])
    }
}

/// A version that is not the deployed one.
pub(super) fn not_deployed(model: &str, version: i32, deployed: i32) -> Failure {
    let node = citus::node_name().unwrap_or_default();
    Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("version {version} of model \"{model}\" is not on node {node} of Citus"),
    )
    .detail(format!(
        "Nodes have the version that is deployed, here {deployed}. What a transaction changes they may not see before it commits."
    ))
    .hint(format!(
        "On the coordinator: SELECT svm_deploy('{}', {version})",
        model.replace('\'', "''")
    ))
}

/// A model that is not there, or that the caller may not use.
pub(super) fn missing(model: &str, node: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("no such model on node {node} of Citus, or none that you may use: \"{model}\""),
    )
    .hint(format!(
        "On the coordinator its owner brings it to the nodes: SELECT svm_distribute_models('{model}'); and lets you use it: SELECT svm_grant('{model}', '{}')",
        statement::current_role().replace('\'', "''"),
        model = model.replace('\'', "''"),
    ))
}

/// What a FROM item of rows on nodes is joined with, once each, so that the whole query runs where this transaction's changes of models are
/// seen: Citus changes a reference table by one connection a node, and reads it by the same one.
pub fn beside() -> &'static str {
    match query::spread_of("SELECT FROM svm_internal.svm_node_model").is_citus {
        true => {
            " LEFT JOIN svm_internal.svm_node_model AS \"pgsvm nodes\" ON \"pgsvm nodes\".version OPERATOR(pg_catalog.=) 0"
        }
        false => "",
    }
}
