//! Tables of the extension Citus: what is a table here has no rows, its shards have them, as tables on the nodes. Catalog
//! look-ups; nothing of Citus is linked or needed.

use super::select::{connected, for_each_at_once, Parameter, PreparedSelect};
use super::statement;
use crate::base::errors::OrRaise;
use crate::base::text::{joined, terminated};
use core::ffi::CStr;
use pgrx::pg_sys;

/// How far rows are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShardSpread {
    /// Whether some of the tables are Citus's.
    pub is_citus: bool,
    /// Shards of distributed tables among them, and nodes that those are on. Reference tables and tables that Citus only knows
    /// have their rows here too, and do not count.
    pub shards: u32,
    pub nodes: u32,
}

/// Whether the extension is in this database.
pub fn is_there() -> bool {
    // SAFETY: a catalog look-up inside a transaction. Only superusers put tables into that schema.
    let table = unsafe {
        let schema = pg_sys::PG_CATALOG_NAMESPACE.into();
        pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), schema)
    };
    table != pg_sys::InvalidOid
}

/// How far the rows of these tables are spread, where the extension is there.
pub fn spread(tables: &[pg_sys::Oid]) -> ShardSpread {
    if tables.is_empty() {
        return ShardSpread::default();
    }
    let oids: Vec<_> = tables.iter().map(|it| it.to_u32().to_string()).collect();
    let oids = joined(&oids, ", ").or_raise();
    let query = format!(
        "SELECT pg_catalog.count(DISTINCT part.logicalrelid), pg_catalog.count(DISTINCT shard.shardid), pg_catalog.count(DISTINCT place.groupid)
         FROM pg_catalog.pg_dist_partition AS part
             LEFT JOIN pg_catalog.pg_dist_shard AS shard ON shard.logicalrelid OPERATOR(pg_catalog.=) part.logicalrelid
                 AND (part.partmethod OPERATOR(pg_catalog.<>) 'n'
                     OR (part.repmodel OPERATOR(pg_catalog.<>) 't' AND part.colocationid OPERATOR(pg_catalog.<>) 0))
             LEFT JOIN pg_catalog.pg_dist_placement AS place ON place.shardid OPERATOR(pg_catalog.=) shard.shardid
         WHERE part.logicalrelid::pg_catalog.oid OPERATOR(pg_catalog.=) ANY ('{{{oids}}}'::pg_catalog.oid[])"
    );
    let query = terminated(&query).or_raise();
    let mut spread = ShardSpread::default();
    connected(|| {
        for_each_at_once(&query, |row| {
            let count = |number| row.int8(number).unwrap_or_default() as u32;
            spread = ShardSpread {
                is_citus: count(1) > 0,
                shards: count(2),
                nodes: count(3),
            };
        });
    });
    spread
}

/// This database's name among the nodes of Citus, host:port; None on the coordinator, and where that extension is not there.
pub fn node_name() -> Option<String> {
    const NAME: &str = "SELECT pg_catalog.concat(n.nodename, ':', n.nodeport) FROM pg_catalog.pg_dist_local_group AS l
        LEFT JOIN pg_catalog.pg_dist_node AS n ON n.groupid OPERATOR(pg_catalog.=) l.groupid
            AND n.noderole OPERATOR(pg_catalog.=) 'primary'::pg_catalog.noderole
        WHERE l.groupid OPERATOR(pg_catalog.>) 0";
    if !is_there() {
        return None;
    }
    let mut name = None;
    connected(|| {
        PreparedSelect::kept(NAME, &[]).for_each_at_once(&[], |row| name = row.text(1));
    });
    name
}

/// The table in which this node has the rows of a reference table, with its schema as SQL writes it, where other nodes of Citus have
/// them too; None on the coordinator. Statements that Citus has sent here may read no distributed table but by its parts.
pub fn part_here(schema: pg_sys::Oid, table: &CStr) -> Option<(pg_sys::Oid, String)> {
    const SHARD: &str =
        "SELECT s.shardid FROM pg_catalog.pg_dist_shard AS s, pg_catalog.pg_dist_local_group AS l
        WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1::pg_catalog.oid::pg_catalog.regclass
            AND l.groupid OPERATOR(pg_catalog.>) 0";
    if !is_there() {
        return None;
    }
    // SAFETY: a catalog look-up inside a transaction.
    let oid = unsafe { pg_sys::get_relname_relid(table.as_ptr(), schema) };
    let mut shard = None;
    connected(|| {
        let select = PreparedSelect::kept(SHARD, &[pg_sys::INT8OID]);
        let parameters = [Parameter::Int8(oid.to_u32().into())];
        select.for_each_at_once(&parameters, |row| shard = row.int8(1));
    });
    let name = format!("{}_{}", table.to_str().ok()?, shard?);
    let schema_name = statement::quoted_schema(schema)?;
    // SAFETY: the same.
    let part = unsafe { pg_sys::get_relname_relid(terminated(&name).ok()?.as_ptr(), schema) };
    (part != pg_sys::InvalidOid).then(|| (part, format!("{schema_name}.{name}")))
}
