//! A SELECT, parsed, analyzed and planned: what its columns are, how large it may be, and which
//! processes may run it.

use super::base_column::BaseColumn;
use super::citus::{self, ShardSpread};
use super::lineage::{self, Lineage};
use super::long_errors::cut_off;
use super::pages::{self, Table};
use super::table_scans::branches;
use super::{acting::owner_of, list, whole_rows};
use crate::base::errors::OrRaise;
use crate::base::text::terminated;
use core::ffi::CStr;
use pgrx::pg_sys;
use pgsvm_core::memory::{gathered, owned, OutOfMemory};

/// A column of a query's result.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub type_oid: pg_sys::Oid,
    pub typmod: i32,
    /// The column of a relation whose values it has.
    pub base: Option<BaseColumn>,
}

/// Which processes may run a query (PostgreSQL's parallel hazard, and what planning alone sees).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParallelHazard {
    /// In any worker.
    Anywhere,
    /// In the leader, while workers run beside it: temporary or foreign tables, parallel-restricted functions.
    InLeader,
    /// In the leader, and not in parallel mode: parallel-unsafe functions.
    Alone,
}

/// Why a text is not one SELECT.
#[derive(Debug, PartialEq, Eq)]
pub enum NotOneSelect {
    Empty,
    SeveralStatements(usize),
    NotASelect,
}

/// A planned SELECT; valid while the memory context in which it was planned is. It may be run any number of times.
pub struct Planned {
    pub(super) plan: *mut pg_sys::PlannedStmt,
    /// In the same memory context, as what runs may outlive this value.
    pub(super) text: *const core::ffi::c_char,
    pub columns: Vec<Column>,
    pub runs: ParallelHazard,
    /// The planner's estimates.
    pub rows: f64,
    pub width_bytes: f64,
    /// Bytes on disk, out-of-line values included, of the relations in the plan.
    pub relation_bytes: f64,
    /// The tables that it scans from beginning to end, one after the other, if it does nothing else.
    pub tables: Option<Vec<Table>>,
    /// Whether it only hands over columns of every row of such tables as they lie there.
    pub is_plain: bool,
    /// Whether it gives the same rows each time with the same snapshot, as far as its functions tell; and changes nothing.
    pub repeats: bool,
    /// How far the rows of its tables are spread, where the extension Citus has some of them.
    pub spread: ShardSpread,
    /// Whether it reads foreign tables, all of them of postgres_fdw, and all else of it runs in any process: then a worker may run it too,
    /// by connections of its own.
    pub is_foreign: bool,
}

impl Planned {
    /// The role to which all tables belong whose rows it hands over straight from their scans; None where that is not one role.
    pub fn owner_of_tables(&self) -> Option<pg_sys::Oid> {
        // SAFETY: the plan is PostgreSQL's, and valid as long as `self`.
        let scans = unsafe { branches(self.plan) };
        let mut owners = scans.iter().flatten().map(|scan| owner_of(scan.table));
        let first = owners.next()??;
        owners.all(|owner| owner == Some(first)).then_some(first)
    }
}

/// The one statement in `text` without the semicolon that may follow it; raises PostgreSQL's own
/// error where the text does not parse.
pub fn single_select(text: &str) -> Result<String, NotOneSelect> {
    let source = terminated(text).or_raise();
    // SAFETY: a terminated string; the list and its nodes are PostgreSQL's and only read.
    unsafe {
        let list = pg_sys::pg_parse_query(source.as_ptr());
        let mut statements = list::elements::<pg_sys::RawStmt>(list);
        let raw = match (statements.next(), statements.len()) {
            (None, _) => return Err(NotOneSelect::Empty),
            (Some(statement), 0) => statement,
            (_, more) => return Err(NotOneSelect::SeveralStatements(1 + more)),
        };
        if (*(*raw).stmt).type_ != pg_sys::NodeTag::T_SelectStmt
            || !(*(*raw).stmt.cast::<pg_sys::SelectStmt>())
                .intoClause
                .is_null()
        {
            return Err(NotOneSelect::NotASelect);
        }
        let start = (*raw).stmt_location.max(0) as usize;
        let end = match (*raw).stmt_len {
            0 => text.len(),
            length => start + length as usize,
        };
        Ok(owned(text[start..end].trim()).or_raise())
    }
}

/// Plans `text`, which `single_select` accepted or we wrote ourselves. Takes the locks that the
/// query needs and raises PostgreSQL's own errors (missing table or column, and so on).
pub fn plan(text: &str) -> Planned {
    cut_off(|| plan_one(text))
}

fn plan_one(text: &str) -> Planned {
    let source = terminated(text).or_raise();
    // SAFETY: parse, analyze and plan as PostgreSQL does for a client's statement; all results
    // live in the current memory context. `query` is read before the planner scribbles on it.
    unsafe {
        let query = rewrite(&source);
        let columns = columns((*query).targetList);
        let is_stable = !pg_sys::contain_volatile_functions(query.cast());
        let changes = (*query).hasModifyingCTE || !(*query).rowMarks.is_null();
        let spread = match citus::is_there() {
            true => citus::spread(&relations_of(query)),
            false => ShardSpread::default(),
        };
        let hazard = match changes || spread.is_citus {
            // Citus reads its tables in the session that asks, outside parallel mode
            true => ParallelHazard::Alone,
            false => hazard(pg_sys::max_parallel_hazard(query)),
        };
        let plan = pg_sys::pg_plan_query(query, source.as_ptr(), 0, core::ptr::null_mut());
        let runs = match hazard {
            ParallelHazard::Anywhere if relations((*plan).rtable).any(leader_only) => {
                ParallelHazard::InLeader
            }
            other => other,
        };
        let mut kept_here = relations((*plan).rtable).filter(|entry| leader_only(entry));
        let is_foreign = hazard == ParallelHazard::Anywhere
            && runs == ParallelHazard::InLeader
            && kept_here.all(is_of_postgres_fdw);
        let top = (*plan).planTree;
        Planned {
            plan,
            text: pg_sys::pstrdup(source.as_ptr()),
            columns,
            runs,
            rows: (*top).plan_rows,
            width_bytes: f64::from((*top).plan_width),
            relation_bytes: relations((*plan).rtable).map(disk_bytes).sum(),
            tables: pages::tables(plan),
            is_plain: whole_rows::is_plain(plan),
            // those of queries inside it too
            repeats: is_stable && !changes && (*plan).rowMarks.is_null(),
            spread,
            is_foreign,
        }
    }
}

/// The columns of a SELECT's result. Looks names up, and plans and runs nothing.
pub fn columns_of(text: &str) -> Vec<Column> {
    let source = terminated(text).or_raise();
    // SAFETY: the query is analyzed, and only read.
    unsafe { columns((*cut_off(|| analyze(&source))).targetList) }
}

/// What the columns of a SELECT's result are made of. Looks names up, and plans and runs nothing.
pub fn lineages_of(text: &str) -> Result<Vec<Lineage>, OutOfMemory> {
    let source = terminated(text).or_raise();
    // SAFETY: the query is analyzed, and only read.
    unsafe { lineage::of_query(cut_off(|| analyze(&source))) }
}

/// Parses and analyzes the text of a SELECT as PostgreSQL does for a client's statement, and locks what it names.
///
/// # Safety
/// Inside a transaction; the result is valid while the current memory context and the text are.
unsafe fn analyze(source: &CStr) -> *mut pg_sys::Query {
    // SAFETY: as the caller promises.
    unsafe {
        let raw = list::nth(pg_sys::pg_parse_query(source.as_ptr()), 0)
            .expect("a SELECT is one statement, and stays one");
        pg_sys::parse_analyze_fixedparams(
            raw,
            source.as_ptr(),
            core::ptr::null(),
            0,
            core::ptr::null_mut(),
        )
    }
}

/// The relations that the text of a SELECT names, views as such; each once, in the order of their oids. Looks names up and
/// runs nothing.
pub fn relations_named(text: &str) -> Vec<pg_sys::Oid> {
    let source = terminated(text).or_raise();
    // SAFETY: the query is analyzed.
    unsafe { relations_of(cut_off(|| analyze(&source))) }
}

/// How far the rows are spread that a SELECT reads, of tables behind views too. Looks names up and runs nothing.
pub fn spread_of(text: &str) -> ShardSpread {
    if !citus::is_there() {
        return ShardSpread::default();
    }
    let source = terminated(text).or_raise();
    // SAFETY: as above.
    citus::spread(&unsafe { relations_of(cut_off(|| rewrite(&source))) })
}

/// The relations in an analyzed query; each once, in the order of their oids.
///
/// # Safety
/// It is one, with all that it holds.
unsafe fn relations_of(query: *mut pg_sys::Query) -> Vec<pg_sys::Oid> {
    // SAFETY: as the caller promises; a list of one query takes what PostgreSQL makes of it.
    unsafe {
        let (mut oids, mut others) = (core::ptr::null_mut(), core::ptr::null_mut());
        let mut row_security = false;
        pg_sys::extract_query_dependencies(query.cast(), &mut oids, &mut others, &mut row_security);
        let mut oids = gathered(list::oids(oids)).or_raise();
        oids.sort_by_key(|oid| oid.to_u32());
        oids.dedup();
        oids
    }
}

/// Parses, analyzes and rewrites the text of a SELECT, views becoming what they are made of.
///
/// # Safety
/// Inside a transaction; the result is valid while the current memory context and the text are.
unsafe fn rewrite(source: &CStr) -> *mut pg_sys::Query {
    let one = "a SELECT is one statement, and stays one";
    // SAFETY: as the caller promises.
    unsafe {
        let raw = list::nth(pg_sys::pg_parse_query(source.as_ptr()), 0).expect(one);
        let rewritten = pg_sys::pg_analyze_and_rewrite_fixedparams(
            raw,
            source.as_ptr(),
            core::ptr::null(),
            0,
            core::ptr::null_mut(),
        );
        list::nth::<pg_sys::Query>(rewritten, 0).expect(one)
    }
}

fn hazard(code: core::ffi::c_char) -> ParallelHazard {
    match code as u8 {
        pg_sys::PROPARALLEL_SAFE => ParallelHazard::Anywhere,
        pg_sys::PROPARALLEL_RESTRICTED => ParallelHazard::InLeader,
        _ => ParallelHazard::Alone,
    }
}

/// # Safety
/// `targets` is a target list of PostgreSQL.
unsafe fn columns(targets: *mut pg_sys::List) -> Vec<Column> {
    // SAFETY: every element of a target list is a TargetEntry with an expression.
    let columns = unsafe { list::elements::<pg_sys::TargetEntry>(targets) }
        .map(|target| unsafe { &*target })
        .filter(|target| !target.resjunk)
        .map(|target| {
            let expression = target.expr.cast::<pg_sys::Node>();
            // SAFETY: expressions of an analyzed query have a type and a typmod.
            let (type_oid, typmod) =
                unsafe { (pg_sys::exprType(expression), pg_sys::exprTypmod(expression)) };
            let name = match target.resname.is_null() {
                true => String::new(),
                // SAFETY: a terminated string of PostgreSQL.
                false => unsafe { CStr::from_ptr(target.resname) }
                    .to_string_lossy()
                    .into_owned(),
            };
            Column {
                name,
                type_oid,
                typmod,
                base: BaseColumn::of(target),
            }
        });
    gathered(columns).or_raise()
}

/// The base relations of a range table.
///
/// # Safety
/// `range_table` is the range table of a planned statement, which outlives the iterator.
unsafe fn relations<'a>(
    range_table: *mut pg_sys::List,
) -> impl Iterator<Item = &'a pg_sys::RangeTblEntry> {
    // SAFETY: every element of a range table is a RangeTblEntry.
    unsafe { list::elements::<pg_sys::RangeTblEntry>(range_table) }
        .map(|entry| unsafe { &*entry })
        .filter(|entry| entry.rtekind == pg_sys::RTEKind::RTE_RELATION)
}

fn leader_only(entry: &pg_sys::RangeTblEntry) -> bool {
    entry.relkind as u8 == pg_sys::RELKIND_FOREIGN_TABLE
        // SAFETY: the relation is locked by the analysis of the query.
        || unsafe { pg_sys::get_rel_persistence(entry.relid) } as u8 == pg_sys::RELPERSISTENCE_TEMP
}

/// Whether it is a foreign table of postgres_fdw.
fn is_of_postgres_fdw(entry: &pg_sys::RangeTblEntry) -> bool {
    entry.relkind as u8 == pg_sys::RELKIND_FOREIGN_TABLE
        // SAFETY: catalog look-ups of a table that is locked; each raises an error where there is nothing.
        && unsafe {
            let server = pg_sys::GetForeignServer((*pg_sys::GetForeignTable(entry.relid)).serverid);
            let wrapper = pg_sys::GetForeignDataWrapper((*server).fdwid);
            CStr::from_ptr((*wrapper).fdwname) == c"postgres_fdw"
        }
}

fn disk_bytes(entry: &pg_sys::RangeTblEntry) -> f64 {
    if !matches!(
        entry.relkind as u8,
        pg_sys::RELKIND_RELATION | pg_sys::RELKIND_MATVIEW
    ) {
        return 0.0;
    }
    // SAFETY: pg_table_size takes one oid and returns int8 or null.
    let bytes = unsafe {
        pgrx::direct_function_call::<i64>(pg_sys::pg_table_size, &[Some(entry.relid.into())])
    };
    bytes.unwrap_or(0) as f64
}
