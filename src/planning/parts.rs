//! The partitions of a table, where some are foreign tables: each server sums up its own rows, all at the same time.
//!
//! PostgreSQL ships an aggregate over one foreign table to its server, but none over a table whose partitions are foreign. So a scan has
//! one aggregate for each partition.

use crate::base::errors::Failure;
use crate::pg::select::{connected, Parameter, PreparedSelect};
use crate::request::source::GivenSource;
use core::ffi::CStr;
use pgrx::pg_sys;
use pgsvm_core::memory::Room;

/// The partitions of a table that have none themselves.
const LEAVES: &CStr = c"SELECT relid::oid::int8 FROM pg_catalog.pg_partition_tree($1::oid::pg_catalog.regclass) WHERE isleaf ORDER BY 1";

/// SELECTs of these expressions from the partitions that have rows; none where no partition is foreign, or where reading them by
/// themselves is not what reading the table is: because of a policy of the table, or a right that the user has on it alone.
pub fn selects(source: &GivenSource, list: &[String]) -> Result<Vec<String>, Failure> {
    let GivenSource::Relation(table) = source else {
        return Ok(Vec::new());
    };
    let leaves = leaves(*table)?;
    let is_foreign = |leaf: &pg_sys::Oid| kind(*leaf) == pg_sys::RELKIND_FOREIGN_TABLE;
    if !leaves.iter().any(is_foreign) || is_guarded(*table) {
        return Ok(Vec::new());
    }
    if !leaves
        .iter()
        .all(|leaf| may_read(*leaf) && !is_guarded(*leaf))
    {
        return Ok(Vec::new());
    }
    let mut selects = Vec::new();
    for leaf in leaves {
        selects
            .room(1)?
            .push(GivenSource::Relation(leaf).select(list)?);
    }
    Ok(selects)
}

/// The partitions that have rows themselves; none of a table that is not partitioned.
fn leaves(table: pg_sys::Oid) -> Result<Vec<pg_sys::Oid>, Failure> {
    if kind(table) != pg_sys::RELKIND_PARTITIONED_TABLE {
        return Ok(Vec::new());
    }
    let mut leaves = Vec::new();
    let mut memory = Ok(());
    connected(|| {
        let select = PreparedSelect::once(LEAVES, &[pg_sys::INT8OID]);
        select.for_each(&[Parameter::Int8(table.to_u32().into())], |row| {
            let leaf = row.int8(1).map(|oid| pg_sys::Oid::from(oid as u32));
            memory = leaves.room(1).map(|leaves| leaves.extend(leaf));
            memory.is_ok()
        });
    });
    memory?;
    Ok(leaves)
}

fn kind(relation: pg_sys::Oid) -> u8 {
    // SAFETY: a catalog look-up inside a transaction.
    unsafe { pg_sys::get_rel_relkind(relation) as u8 }
}

/// Whether policies say who sees which rows.
fn is_guarded(relation: pg_sys::Oid) -> bool {
    // SAFETY: a catalog look-up inside a transaction; nobody is told what it says.
    unsafe {
        pg_sys::check_enable_rls(relation, pg_sys::InvalidOid, true)
            != pg_sys::CheckEnableRlsResult::RLS_NONE as i32
    }
}

fn may_read(relation: pg_sys::Oid) -> bool {
    // SAFETY: a catalog look-up inside a transaction.
    unsafe {
        let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
        pg_sys::pg_class_aclcheck(relation, pg_sys::GetUserId(), select)
            == pg_sys::AclResult::ACLCHECK_OK
    }
}
