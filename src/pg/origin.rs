//! Which version of a row of a table it is that a query hands over. A row with the same origin as one met before, in this
//! cluster, has the same values: nothing that they depend on can have changed in between. Runs where the query runs.
//!
//! An origin is a number of 64 bits that hashes
//!
//! - the versions of this library and of the server, the cluster, its timeline and the database,
//! - the table, the file that its rows are in, and the version of its row in pg_class,
//! - for each column of the result that counts, how it comes from the row ([`Derivation`]), with the version of every row of
//!   a catalog that says so,
//! - the row's place in the file and the transaction that inserted it.
//!
//! PostgreSQL changes no row of a user's table in place, so a place in a file is filled again only by a later row, and whose
//! transaction inserted it tells the two apart, because only rows have an origin whose transaction had ended when the query's
//! snapshot was taken ([`EndedTransactions`]): none of these can insert into the place later on, be it that their number has come round,
//! or that the table was emptied and filled again in the transaction that made its file. Rows of a catalog, of which pg_class
//! has some that are changed in place, though not in what counts here, are told apart likewise.
//!
//! Rows have no origin where that is not all that their values depend on: those of tables that are not PostgreSQL's own kind
//! or are its catalogs, of queries that do more than scan tables, and where a column is computed by anything but PostgreSQL's
//! own functions from numbers to a number; docs/solver.md goes through what that leaves out and why. A stored hash must never
//! be compared with one of another form: change [`FORM`] with any of this.

use super::deform::heap_tuple;
use super::table_scans::{branches, TableScan};
use super::transactions::EndedTransactions;
use super::{compat, list};
use core::ffi::CStr;
use core::ops::Range;
use pgrx::pg_sys;
use pgsvm_core::memory::Room;
use twox_hash::XxHash3_64;

/// The form of what is hashed.
const FORM: u64 = 2;

/// What stands for no origin.
pub const NONE: u64 = 0;

/// The language of functions that are part of the server.
const INTERNAL_LANGUAGE: u32 = 12;

/// The types that are numbers.
const NUMBERS: [pg_sys::Oid; 7] = [
    pg_sys::BOOLOID,
    pg_sys::INT2OID,
    pg_sys::INT4OID,
    pg_sys::INT8OID,
    pg_sys::FLOAT4OID,
    pg_sys::FLOAT8OID,
    pg_sys::NUMERICOID,
];

/// The same apart for the table and for each column, by which values are known that were kept before, whatever the other columns
/// of a query are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedOrigin {
    pub table: u64,
    /// None for one whose values depend on more than the row.
    pub columns: Vec<Option<u64>>,
}

/// None where the rows of the scan have no origin whatever its columns are.
///
/// # Safety
/// As for [`seed`].
unsafe fn derived(
    scan: &TableScan,
    columns: &Range<usize>,
    ended: &EndedTransactions,
) -> Option<DerivedOrigin> {
    // SAFETY: as the caller promises.
    unsafe {
        let mut derivation = Derivation::of(scan, ended)?;
        let table = derivation.take();
        let mut found = Vec::new();
        found.room(columns.len()).ok()?;
        for target in targets(scan, columns) {
            let derived = derivation.expression((*target).expr);
            let hash = derivation.take();
            found.push(derived.map(|()| hash));
        }
        Some(DerivedOrigin {
            table,
            columns: found,
        })
    }
}

/// What the rows of one table in one query have in common.
struct Derivation<'a> {
    table: pg_sys::Oid,
    /// The table's number in the query.
    scanned: pg_sys::Index,
    ended: &'a EndedTransactions,
    /// What is hashed.
    words: Vec<[u8; 8]>,
}

/// What the rows of a scan have in common as one number; None where they have no origin.
///
/// # Safety
/// The scan is one of a statement of PostgreSQL's, planned just now and not started; its relations are locked.
unsafe fn seed(scan: &TableScan, columns: &Range<usize>, ended: &EndedTransactions) -> Option<u64> {
    // SAFETY: as the caller promises.
    unsafe {
        let mut derivation = Derivation::of(scan, ended)?;
        for target in targets(scan, columns) {
            derivation.expression((*target).expr)?;
        }
        Some(derivation.take())
    }
}

/// The expressions of these columns of a scan.
///
/// # Safety
/// As for [`seed`].
unsafe fn targets<'a>(
    scan: &'a TableScan,
    columns: &Range<usize>,
) -> impl Iterator<Item = *mut pg_sys::TargetEntry> + 'a {
    // SAFETY: as the caller promises.
    let all = unsafe { list::elements::<pg_sys::TargetEntry>((*scan.node).plan.targetlist) };
    all.skip(columns.start).take(columns.len())
}

impl<'a> Derivation<'a> {
    /// Of a scan's rows, whatever its columns are; None where they have no origin.
    ///
    /// # Safety
    /// As for [`seed`].
    unsafe fn of(scan: &TableScan, ended: &'a EndedTransactions) -> Option<Self> {
        // SAFETY: as the caller promises.
        unsafe {
            let mut derivation = Self {
                table: scan.table,
                scanned: (*scan.node).scanrelid,
                ended,
                words: Vec::new(),
            };
            derivation.add([FORM])?;
            derivation.server()?;
            derivation.table()?;
            Some(derivation)
        }
    }

    /// Adds these words; None where there is no memory for them: rows have no origin then.
    fn add<const N: usize>(&mut self, words: [u64; N]) -> Option<()> {
        let room = self.words.room(N).ok()?;
        room.extend(words.map(u64::to_le_bytes));
        Some(())
    }

    /// The hash of what was added; nothing is afterwards.
    fn take(&mut self) -> u64 {
        let hash = XxHash3_64::oneshot(self.words.as_flattened());
        self.words.clear();
        hash
    }

    /// Adds what runs here on what.
    ///
    /// # Safety
    /// None but that it runs inside a transaction.
    unsafe fn server(&mut self) -> Option<()> {
        // SAFETY: the server has this setting for ever, as text. Nothing is trained while it recovers, so it has a timeline
        // that it writes.
        unsafe {
            if pg_sys::RecoveryInProgress() {
                return None;
            }
            let version = pg_sys::GetConfigOption(c"server_version".as_ptr(), false, false);
            let versions = [
                env!("CARGO_PKG_VERSION").as_bytes(),
                CStr::from_ptr(version).to_bytes(),
            ];
            self.add(versions.map(XxHash3_64::oneshot))?;
            self.add([
                pg_sys::GetSystemIdentifier(),
                u64::from(pg_sys::GetWALInsertionTimeLine()),
                u64::from(pg_sys::MyDatabaseId.to_u32()),
            ])?;
            Some(())
        }
    }

    /// Adds what says where the table's rows are; None for one that is not of PostgreSQL's own kind, or is a catalog, whose
    /// rows PostgreSQL may change in place.
    ///
    /// # Safety
    /// The relation is locked.
    unsafe fn table(&mut self) -> Option<()> {
        // SAFETY: as the caller promises.
        unsafe {
            let relation = pg_sys::relation_open(self.table, pg_sys::NoLock as _);
            let file = compat::file_number(relation);
            let is_heap = super::pages::is_heap(relation);
            pg_sys::relation_close(relation, pg_sys::NoLock as _);
            if !is_heap || self.table.to_u32() < pg_sys::FirstNormalObjectId {
                return None;
            }
            self.add([u64::from(file)])?;
            self.catalog_row(pg_sys::SysCacheIdentifier::RELOID, self.table, None, |_| {
                true
            })
        }
    }

    /// Adds what says how a value comes from a row: a column as it is, a constant passed by value, or a number that
    /// PostgreSQL's own functions make of such, as casts are. None for anything else.
    ///
    /// # Safety
    /// `node` is an expression of a planned scan of the table.
    unsafe fn expression(&mut self, node: *mut pg_sys::Expr) -> Option<()> {
        // SAFETY: as the caller promises; a node's tag says what it is.
        unsafe {
            let tag = (*node).type_;
            self.add([tag as u64])?;
            match tag {
                pg_sys::NodeTag::T_Var => self.column(&*node.cast::<pg_sys::Var>()),
                pg_sys::NodeTag::T_Const => {
                    let constant = &*node.cast::<pg_sys::Const>();
                    self.add([
                        u64::from(constant.consttype.to_u32()),
                        constant.constvalue.value() as u64,
                    ])?;
                    (constant.constbyval && !constant.constisnull).then_some(())
                }
                pg_sys::NodeTag::T_RelabelType => {
                    let relabelled = &*node.cast::<pg_sys::RelabelType>();
                    self.type_of_value(relabelled.resulttype)?;
                    self.add([u64::from(relabelled.resultcollid.to_u32())])?;
                    self.expression(relabelled.arg)
                }
                pg_sys::NodeTag::T_FuncExpr => self.call(&*node.cast::<pg_sys::FuncExpr>()),
                _ => None,
            }
        }
    }

    /// Adds a column of the table. Its row in pg_attribute has what stands for it in rows from before it was added.
    ///
    /// # Safety
    /// As for `expression`.
    unsafe fn column(&mut self, column: &pg_sys::Var) -> Option<()> {
        // system columns and whole rows have numbers below 1
        if column.varno as pg_sys::Index != self.scanned || column.varattno <= 0 {
            return None;
        }
        self.add([
            column.varattno as u64,
            column.vartypmod as u32 as u64,
            u64::from(column.varcollid.to_u32()),
        ])?;
        let number = pg_sys::Datum::from(column.varattno);
        let attributes = pg_sys::SysCacheIdentifier::ATTNUM;
        // SAFETY: as the caller promises.
        unsafe {
            self.catalog_row(attributes, self.table, Some(number), |_| true)?;
            self.type_of_value(column.vartype)
        }
    }

    /// Adds a type, and what it is a domain or an array of.
    ///
    /// # Safety
    /// There is such a type.
    unsafe fn type_of_value(&mut self, type_oid: pg_sys::Oid) -> Option<()> {
        // SAFETY: as the caller promises.
        unsafe {
            let base = pg_sys::getBaseType(type_oid);
            for it in [type_oid, base, pg_sys::get_element_type(base)] {
                if it != pg_sys::InvalidOid {
                    self.catalog_row(pg_sys::SysCacheIdentifier::TYPEOID, it, None, |_| true)?;
                }
            }
            Some(())
        }
    }

    /// Adds a call of a function that comes with PostgreSQL, written in C, and makes a number of numbers: no setting, no
    /// collation and nothing in the database has a part in these. None for any other.
    ///
    /// # Safety
    /// As for `expression`.
    unsafe fn call(&mut self, call: &pg_sys::FuncExpr) -> Option<()> {
        // SAFETY: as the caller promises; a row of pg_proc begins with the struct.
        unsafe {
            let is_number = |oid: pg_sys::Oid| NUMBERS.contains(&oid);
            let arguments = || list::elements::<pg_sys::Expr>(call.args);
            let of_numbers = arguments().all(|it| is_number(pg_sys::exprType(it.cast())));
            let own = call.funcid.to_u32() < pg_sys::FirstNormalObjectId;
            if !own || !of_numbers || !is_number(call.funcresulttype) {
                return None;
            }
            let functions = pg_sys::SysCacheIdentifier::PROCOID;
            self.catalog_row(functions, call.funcid, None, |tuple| {
                let function = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>();
                (*function).prolang.to_u32() == INTERNAL_LANGUAGE
                    && (*function).provolatile as u8 == pg_sys::PROVOLATILE_IMMUTABLE
            })?;
            self.add([arguments().count() as u64])?;
            arguments().try_for_each(|argument| self.expression(argument))
        }
    }

    /// Adds the object that a catalog's row describes, and the version of that row; None where there is none that will do.
    ///
    /// # Safety
    /// The catalog's rows are found by an oid, and a second key where one is given.
    unsafe fn catalog_row(
        &mut self,
        catalog: pg_sys::SysCacheIdentifier::Type,
        oid: pg_sys::Oid,
        second: Option<pg_sys::Datum>,
        will_do: impl FnOnce(pg_sys::HeapTuple) -> bool,
    ) -> Option<()> {
        // SAFETY: as the caller promises; a row starts with its header.
        unsafe {
            let catalog = catalog as core::ffi::c_int;
            let tuple = match second {
                None => pg_sys::SearchSysCache1(catalog, oid.into()),
                Some(second) => pg_sys::SearchSysCache2(catalog, oid.into(), second),
            };
            if tuple.is_null() {
                return None;
            }
            let shown = (*(*tuple).t_data).t_choice.t_heap.t_xmin.into_inner();
            let will_do = will_do(tuple);
            pg_sys::ReleaseSysCache(tuple);
            let version = self.ended.number_in_catalog(shown).filter(|_| will_do)?;
            self.add([u64::from(oid.to_u32()), version])?;
            Some(())
        }
    }
}

/// Which columns of a query the origins of its rows are about.
#[derive(Debug, Clone, Default)]
pub struct KnownColumns {
    /// Those whose values rows have an origin for.
    pub origins: Option<Range<usize>>,
    /// Those that are derived one by one, of rows known by themselves.
    pub derived: Option<Range<usize>>,
}

/// The scans of a query whose rows have origins.
#[derive(Default)]
pub struct Origins {
    ended: EndedTransactions,
    /// By branch of the plan ([`branches`]) what its rows have in common; None where they have no origin.
    seeds: Vec<Option<u64>>,
    derived: Vec<Option<DerivedOrigin>>,
    scans: Vec<OriginScan>,
}

struct OriginScan {
    /// In which the query hands over what it makes of a row.
    handed: *mut pg_sys::TupleTableSlot,
    /// In which the row itself is meanwhile.
    scanned: *mut pg_sys::TupleTableSlot,
    seed: Option<u64>,
    table: Option<u64>,
}

impl Origins {
    /// Of a statement that will run with this snapshot.
    ///
    /// # Safety
    /// The statement is PostgreSQL's, planned just now and not started; its relations are locked.
    pub unsafe fn of_statement(
        statement: *mut pg_sys::PlannedStmt,
        known: &KnownColumns,
        snapshot: pg_sys::Snapshot,
    ) -> Self {
        if known.origins.is_none() && known.derived.is_none() {
            return Self::default();
        }
        // SAFETY: as the caller promises.
        unsafe {
            let ended = EndedTransactions::before(snapshot);
            let scans = branches(statement);
            let seeds = scans.iter().map(|scan| {
                let columns = known.origins.as_ref()?;
                seed(scan.as_ref()?, columns, &ended)
            });
            let derived = scans.iter().map(|scan| {
                let columns = known.derived.as_ref()?;
                derived(scan.as_ref()?, columns, &ended)
            });
            Self {
                seeds: seeds.collect(),
                derived: derived.collect(),
                ended,
                scans: Vec::new(),
            }
        }
    }

    /// Whether rows have no origin because the transaction at hand, or one that ended after the snapshot, has made or altered
    /// what they are read by.
    pub fn is_unsettled(&self) -> bool {
        self.ended.is_unsettled()
    }

    /// How columns are derived, by branch.
    pub fn derived(&self) -> &[Option<DerivedOrigin>] {
        &self.derived
    }

    /// Has rows of other tables than these be known by nothing.
    pub fn keep_tables(&mut self, kept: impl Fn(u64) -> bool) {
        for scan in &mut self.scans {
            scan.table = scan.table.filter(|table| kept(*table));
        }
    }

    /// The branches of the statement now that it is started.
    ///
    /// # Safety
    /// The query outlives `self`.
    pub unsafe fn expect(&mut self, states: &[Option<*mut pg_sys::PlanState>]) {
        let known = self.seeds.iter().zip(&self.derived);
        for (state, (seed, derived)) in states.iter().zip(known) {
            let table = derived.as_ref().map(|derived| derived.table);
            if let (Some(state), true) = (state, seed.is_some() || table.is_some()) {
                // SAFETY: as the caller promises; only table scans have seeds. One that projects nothing hands over the row
                // as it is.
                let (handed, scanned) = unsafe {
                    let scan = state.cast::<pg_sys::ScanState>();
                    let scanned = (*scan).ss_ScanTupleSlot;
                    match (*scan).ps.ps_ProjInfo.is_null() {
                        true => (scanned, scanned),
                        false => ((*scan).ps.ps_ResultTupleSlot, scanned),
                    }
                };
                self.scans.push(OriginScan {
                    handed,
                    scanned,
                    seed: *seed,
                    table,
                });
            }
        }
    }

    /// The origin of the row handed over in `slot`, and what it is known by whatever its columns; or [`NONE`].
    ///
    /// # Safety
    /// The query has just handed it over.
    #[inline]
    pub unsafe fn of(&self, slot: *mut pg_sys::TupleTableSlot) -> (u64, u64) {
        let is_it = |scan: &&OriginScan| core::ptr::eq(scan.handed, slot);
        match self.scans.iter().find(is_it) {
            // SAFETY: as the caller promises.
            Some(scan) => unsafe { scan.origins(&self.ended) }.unwrap_or((NONE, NONE)),
            None => (NONE, NONE),
        }
    }
}

impl OriginScan {
    /// # Safety
    /// As for [`Origins::of`].
    #[inline]
    unsafe fn origins(&self, ended: &EndedTransactions) -> Option<(u64, u64)> {
        // SAFETY: as the caller promises; a row starts with its header.
        let (shown, place) = unsafe {
            let tuple = heap_tuple(self.scanned)?;
            let shown = (*tuple.t_data).t_choice.t_heap.t_xmin;
            (shown.into_inner(), tuple.t_self)
        };
        let block = place.ip_blkid;
        let place =
            u64::from(block.bi_hi) << 32 | u64::from(block.bi_lo) << 16 | u64::from(place.ip_posid);
        let words = [ended.number(shown)?, place].map(u64::to_le_bytes);
        let hash = |seed: Option<u64>| match seed {
            Some(seed) => XxHash3_64::oneshot_with_seed(seed, words.as_flattened()).max(NONE + 1),
            None => NONE,
        };
        Some((hash(self.seed), hash(self.table)))
    }
}
