//! Which version of a row of a table it is that a query hands over: where it lies, which transaction put it there, and of
//! which table it is taken how. PostgreSQL changes no row in place: a row with the same origin as one met before has the
//! same values. Runs where the query runs.
//!
//! An origin is a number of 64 bits that hashes
//!
//! - the cluster, its timeline, the database, the table and the file that its rows are in,
//! - for each column of the result that counts how it comes from the row ([`expression`]),
//! - the row's place in the file and the transaction that inserted it.
//!
//! Rows have none where that is not all that their values depend on: those of tables that are not PostgreSQL's own kind, of
//! queries that do more than scan tables, and where a column is computed by anything but PostgreSQL's own immutable casts and
//! functions. A stored hash must never be compared with one of another form: change [`FORM`] with any of this.

use super::deform::heap_tuple;
use super::table_scans::{branches, TableScan};
use super::{compat, list};
use core::ops::Range;
use pgrx::pg_sys;
use twox_hash::XxHash3_64;

/// The form of what is hashed.
const FORM: u64 = 1;

/// The first transaction that is one; which one inserted a row that a server before 9.4 froze is not known any more.
const FIRST_TRANSACTION: u32 = 3;

/// What stands for no origin.
pub const NONE: u64 = 0;

/// By branch of a plan ([`branches`]) what its rows have in common; None where they have no origin. Of the result these
/// columns count.
///
/// # Safety
/// The statement is PostgreSQL's, planned just now and not started; its relations are locked.
pub unsafe fn seeds(
    statement: *mut pg_sys::PlannedStmt,
    columns: &Range<usize>,
) -> Vec<Option<u64>> {
    // SAFETY: as the caller promises.
    unsafe {
        let scans = branches(statement).into_iter();
        scans.map(|scan| seed(&scan?, columns)).collect()
    }
}

/// # Safety
/// As for `seeds`, of a scan of the statement.
unsafe fn seed(scan: &TableScan, columns: &Range<usize>) -> Option<u64> {
    // SAFETY: as the caller promises.
    unsafe {
        let mut words = vec![FORM];
        words.extend(table(scan.table)?);
        let node = &*scan.node;
        let targets = list::elements::<pg_sys::TargetEntry>(node.plan.targetlist);
        for target in targets.skip(columns.start).take(columns.len()) {
            expression((*target).expr, node.scanrelid, &mut words)?;
        }
        let words: Vec<[u8; 8]> = words.into_iter().map(u64::to_le_bytes).collect();
        Some(XxHash3_64::oneshot(words.as_flattened()))
    }
}

/// What says where a table's rows are; None for one that is not of PostgreSQL's own kind.
///
/// # Safety
/// The relation is locked.
unsafe fn table(oid: pg_sys::Oid) -> Option<[u64; 5]> {
    // SAFETY: as the caller promises. Nothing is trained while the server recovers, so it has a timeline that it writes.
    unsafe {
        let relation = pg_sys::relation_open(oid, pg_sys::NoLock as _);
        let file = compat::file_number(relation);
        let is_heap = super::pages::is_heap(relation);
        pg_sys::relation_close(relation, pg_sys::NoLock as _);
        if !is_heap || pg_sys::RecoveryInProgress() {
            return None;
        }
        Some([
            pg_sys::GetSystemIdentifier(),
            u64::from(pg_sys::GetWALInsertionTimeLine()),
            u64::from(pg_sys::MyDatabaseId.to_u32()),
            u64::from(oid.to_u32()),
            u64::from(file),
        ])
    }
}

/// Adds what says how a value comes from a row: a column as it is, a constant passed by value, or one of PostgreSQL's own
/// immutable functions of such, as casts are. None for anything else.
///
/// # Safety
/// `node` is an expression of a planned scan of relation number `scanned`.
unsafe fn expression(
    node: *mut pg_sys::Expr,
    scanned: pg_sys::Index,
    words: &mut Vec<u64>,
) -> Option<()> {
    // SAFETY: as the caller promises; a node's tag says what it is.
    unsafe {
        let tag = (*node).type_;
        words.push(tag as u64);
        match tag {
            pg_sys::NodeTag::T_Var => {
                let column = &*node.cast::<pg_sys::Var>();
                // system columns and whole rows have numbers below 1
                let is_column = column.varno as pg_sys::Index == scanned && column.varattno > 0;
                words.extend([
                    column.varattno as u64,
                    u64::from(column.vartype.to_u32()),
                    column.vartypmod as u32 as u64,
                ]);
                is_column.then_some(())
            }
            pg_sys::NodeTag::T_Const => {
                let constant = &*node.cast::<pg_sys::Const>();
                words.extend([
                    u64::from(constant.consttype.to_u32()),
                    constant.constvalue.value() as u64,
                ]);
                (constant.constbyval && !constant.constisnull).then_some(())
            }
            pg_sys::NodeTag::T_RelabelType => {
                let relabelled = &*node.cast::<pg_sys::RelabelType>();
                words.push(u64::from(relabelled.resulttype.to_u32()));
                expression(relabelled.arg, scanned, words)
            }
            pg_sys::NodeTag::T_FuncExpr => {
                let call = &*node.cast::<pg_sys::FuncExpr>();
                let is_own = call.funcid.to_u32() < pg_sys::FirstNormalObjectId;
                if !is_own
                    || pg_sys::func_volatile(call.funcid) as u8 != pg_sys::PROVOLATILE_IMMUTABLE
                {
                    return None;
                }
                let arguments = list::elements::<pg_sys::Expr>(call.args);
                words.extend([u64::from(call.funcid.to_u32()), arguments.len() as u64]);
                for argument in arguments {
                    expression(argument, scanned, words)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

/// The scans of a query whose rows have origins.
#[derive(Default)]
pub struct Origins {
    scans: Vec<Scan>,
}

struct Scan {
    /// In which the query hands over what it makes of a row.
    handed: *mut pg_sys::TupleTableSlot,
    /// In which the row itself is meanwhile.
    scanned: *mut pg_sys::TupleTableSlot,
    seed: u64,
}

impl Origins {
    /// Rows that this scan hands over have origins with this seed.
    ///
    /// # Safety
    /// The scan is one of a started query that outlives `self`.
    pub unsafe fn expect(&mut self, scan: *mut pg_sys::ScanState, seed: u64) {
        // SAFETY: as the caller promises. A scan that projects nothing hands over the row as it is.
        unsafe {
            let scanned = (*scan).ss_ScanTupleSlot;
            let handed = match (*scan).ps.ps_ProjInfo.is_null() {
                true => scanned,
                false => (*scan).ps.ps_ResultTupleSlot,
            };
            self.scans.push(Scan {
                handed,
                scanned,
                seed,
            });
        }
    }

    /// The origin of the row handed over in `slot`, or [`NONE`].
    ///
    /// # Safety
    /// The query has just handed it over.
    #[inline]
    pub unsafe fn of(&self, slot: *mut pg_sys::TupleTableSlot) -> u64 {
        let is_it = |scan: &&Scan| core::ptr::eq(scan.handed, slot);
        match self.scans.iter().find(is_it) {
            // SAFETY: as the caller promises.
            Some(scan) => unsafe { scan.origin() },
            None => NONE,
        }
    }
}

impl Scan {
    /// # Safety
    /// As for [`Origins::of`].
    #[inline]
    unsafe fn origin(&self) -> u64 {
        // SAFETY: as the caller promises; a row starts with its header.
        unsafe {
            let Some(tuple) = heap_tuple(self.scanned) else {
                return NONE;
            };
            let inserted_by = (*tuple.t_data).t_choice.t_heap.t_xmin;
            if inserted_by.into_inner() < FIRST_TRANSACTION {
                return NONE;
            }
            let block = tuple.t_self.ip_blkid;
            let place = [block.bi_hi, block.bi_lo, tuple.t_self.ip_posid];
            let mut bytes = [0; 10];
            bytes[..4].copy_from_slice(&inserted_by.into_inner().to_le_bytes());
            for (out, word) in bytes[4..].chunks_exact_mut(2).zip(place) {
                out.copy_from_slice(&word.to_le_bytes());
            }
            XxHash3_64::oneshot_with_seed(self.seed, &bytes).max(NONE + 1)
        }
    }
}
