//! What a query's columns are made of: columns of tables and functions, found through subqueries, views and generated columns.
//! The catalog and the analyzed query say it; nothing is planned or run.

use super::base_column::{with_view, BaseColumn};
use super::list;
use core::ffi::{c_void, CStr};
use pgrx::pg_sys::NodeTag;
use pgrx::{pg_guard, pg_sys};
use pgsvm_core::memory::{gathered, OutOfMemory};
use std::collections::HashSet;
use std::mem::replace;

/// What a column is made of.
#[derive(Debug, Default)]
pub struct Lineage {
    /// The columns of tables whose values it has as they are: one, of a UNION one for each part.
    pub same_as: HashSet<BaseColumn>,
    /// All columns of tables that it reads, and those that they are generated from.
    pub reads: HashSet<BaseColumn>,
    /// The functions that it calls.
    pub calls: HashSet<pg_sys::Oid>,
    /// Whether it is made of other rows too: by an aggregate, a window function or a subquery in an expression.
    pub of_more_rows: bool,
}

/// Queries within queries that are looked into.
const MOST_DEPTH: usize = 200;

/// What the column numbers of an expression are about.
#[derive(Clone, Copy)]
enum Frame {
    Query(*mut pg_sys::Query),
    /// Of an expression that generates a column.
    Table(pg_sys::Oid),
}

/// A look at one column.
struct ColumnWalk {
    /// The queries around an expression, the innermost last.
    frames: Vec<Frame>,
    /// Columns of range table entries, and whether they are taken as they are, that were met.
    met: HashSet<(usize, i16, bool)>,
    /// The column that is taken of the row that a variable stands for.
    field: Option<i16>,
    depth: usize,
    found: Lineage,
}

/// By column of an analyzed SELECT.
///
/// # Safety
/// `query` is one, with all that it holds, and stays as it is.
pub unsafe fn of_query(query: *mut pg_sys::Query) -> Result<Vec<Lineage>, OutOfMemory> {
    // SAFETY: as the caller promises.
    let targets = unsafe { list::elements::<pg_sys::TargetEntry>((*query).targetList) };
    let columns = targets.filter(|target| unsafe { !(**target).resjunk });
    let of = |target: *mut pg_sys::TargetEntry| {
        let mut walk = ColumnWalk {
            frames: vec![Frame::Query(query)],
            met: HashSet::new(),
            field: None,
            depth: 0,
            found: Lineage::default(),
        };
        // SAFETY: as the caller promises.
        unsafe { walk.targets(query, Some((*target).resno), true) };
        walk.found
    };
    gathered(columns.map(of))
}

/// Looks at a node below one that is looked at.
///
/// # Safety
/// PostgreSQL calls it with a node of a tree that is walked, and the walk.
#[pg_guard]
unsafe extern "C-unwind" fn visit(node: *mut pg_sys::Node, walk: *mut c_void) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*walk.cast::<ColumnWalk>()).node(node) };
    false
}

impl ColumnWalk {
    /// Looks at the column of this number that a query selects, or at all of them.
    ///
    /// # Safety
    /// The query is analyzed, and the innermost frame.
    unsafe fn targets(&mut self, query: *mut pg_sys::Query, number: Option<i16>, as_is: bool) {
        // SAFETY: as the caller promises.
        unsafe {
            if !(*query).setOperations.is_null() {
                for entry in list::elements::<pg_sys::RangeTblEntry>((*query).rtable) {
                    if (*entry).rtekind == pg_sys::RTEKind::RTE_SUBQUERY {
                        let subquery = (*entry).subquery;
                        self.within(subquery, |walk| walk.targets(subquery, number, as_is));
                    }
                }
                return;
            }
            for target in list::elements::<pg_sys::TargetEntry>((*query).targetList) {
                let wanted = number.is_none_or(|number| (*target).resno == number);
                if wanted && !(*target).resjunk {
                    self.expression((*target).expr.cast(), as_is);
                }
            }
        }
    }

    /// Looks into a query inside the innermost one.
    fn within(&mut self, query: *mut pg_sys::Query, look: impl FnOnce(&mut Self)) {
        if self.depth < MOST_DEPTH {
            self.depth += 1;
            self.frames.push(Frame::Query(query));
            look(self);
            self.frames.pop();
            self.depth -= 1;
        }
    }

    /// Looks with other frames around what is looked at.
    fn around(&mut self, frames: Vec<Frame>, look: impl FnOnce(&mut Self)) {
        if self.depth < MOST_DEPTH {
            self.depth += 1;
            let before = replace(&mut self.frames, frames);
            look(self);
            self.frames = before;
            self.depth -= 1;
        }
    }

    /// Looks at an expression; `as_is`: whether the column is what this is.
    ///
    /// # Safety
    /// It is null or an expression inside the innermost frame.
    unsafe fn expression(&mut self, node: *mut pg_sys::Node, as_is: bool) {
        // SAFETY: as the caller promises; the tag says what a node is.
        unsafe {
            match node.as_ref().map(|node| node.type_) {
                Some(NodeTag::T_Var) => self.variable(node.cast(), as_is),
                _ => self.node(node),
            }
        }
    }

    /// Looks at a node and at what is below it.
    ///
    /// # Safety
    /// As for `expression`.
    unsafe fn node(&mut self, node: *mut pg_sys::Node) {
        // SAFETY: as the caller promises; the tag says what a node is.
        unsafe {
            let Some(tag) = node.as_ref().map(|node| node.type_) else {
                return;
            };
            pg_sys::check_stack_depth();
            if tag != NodeTag::T_Var {
                self.field = None;
            }
            match tag {
                NodeTag::T_Var => return self.variable(node.cast(), false),
                NodeTag::T_FieldSelect => {
                    let select: *mut pg_sys::FieldSelect = node.cast();
                    let of: *mut pg_sys::Node = (*select).arg.cast();
                    if (*of).type_ == NodeTag::T_Var {
                        self.field = Some((*select).fieldnum);
                        self.variable(of.cast(), false);
                        self.field = None;
                        return;
                    }
                }
                NodeTag::T_Query => {
                    let query: *mut pg_sys::Query = node.cast();
                    return self.within(query, |walk| {
                        walk.targets(query, None, false);
                        walk.node((*query).jointree.cast());
                    });
                }
                NodeTag::T_FuncExpr => {
                    let call: *mut pg_sys::FuncExpr = node.cast();
                    self.found.calls.insert((*call).funcid);
                }
                NodeTag::T_WindowFunc => {
                    let call: *mut pg_sys::WindowFunc = node.cast();
                    self.found.of_more_rows = true;
                    if is_of_other_rows((*call).winfnoid) {
                        return;
                    }
                }
                NodeTag::T_Aggref | NodeTag::T_SubLink => self.found.of_more_rows = true,
                _ => {}
            }
            let walk: *mut Self = self;
            pg_sys::expression_tree_walker(node, Some(visit), walk.cast());
        }
    }

    /// # Safety
    /// It is a variable inside the innermost frame.
    unsafe fn variable(&mut self, variable: *mut pg_sys::Var, as_is: bool) {
        // SAFETY: as the caller promises.
        unsafe {
            let (number, level) = ((*variable).varattno, (*variable).varlevelsup as usize);
            let Some(at) = self.frames.len().checked_sub(level + 1) else {
                return;
            };
            let (frame, outer) = (self.frames[at], self.frames[..=at].to_vec());
            match frame {
                Frame::Table(table) => self.column(table, number, false),
                Frame::Query(query) => {
                    let place = ((*variable).varno as usize).wrapping_sub(1);
                    let Some(entry) = list::nth((*query).rtable, place) else {
                        return;
                    };
                    self.around(outer, |walk| walk.entry_column(entry, number, as_is));
                }
            }
        }
    }

    /// Looks at a column of a range table entry of the innermost query; 0: at all of them.
    ///
    /// # Safety
    /// It is one of them.
    unsafe fn entry_column(&mut self, entry: *mut pg_sys::RangeTblEntry, number: i16, as_is: bool) {
        let number = match (number, self.field) {
            (0, Some(field)) => field,
            (number, _) => number,
        };
        if !self.met.insert((entry as usize, number, as_is)) {
            return;
        }
        // SAFETY: as the caller promises.
        unsafe {
            let place = match usize::try_from(i32::from(number) - 1) {
                Ok(place) => place,
                Err(_) if number < 0 => return,
                Err(_) => {
                    let names = list::elements::<pg_sys::Node>((*(*entry).eref).colnames);
                    for number in 1..=names.len().min(i16::MAX as usize) {
                        self.entry_column(entry, number as i16, false);
                    }
                    return;
                }
            };
            match (*entry).rtekind {
                pg_sys::RTEKind::RTE_RELATION => self.column((*entry).relid, number, as_is),
                pg_sys::RTEKind::RTE_SUBQUERY => {
                    let query = (*entry).subquery;
                    self.within(query, |walk| walk.targets(query, Some(number), as_is));
                }
                pg_sys::RTEKind::RTE_JOIN => {
                    if let Some(node) = list::nth((*entry).joinaliasvars, place) {
                        self.expression(node, as_is);
                    }
                }
                pg_sys::RTEKind::RTE_CTE => self.common((entry, number), as_is),
                pg_sys::RTEKind::RTE_VALUES => {
                    for row in list::elements::<pg_sys::List>((*entry).values_lists) {
                        if let Some(node) = list::nth(row, place) {
                            self.expression(node, false);
                        }
                    }
                }
                pg_sys::RTEKind::RTE_FUNCTION => {
                    self.found.of_more_rows = true;
                    for call in list::elements::<pg_sys::RangeTblFunction>((*entry).functions) {
                        self.node((*call).funcexpr);
                    }
                }
                #[cfg(feature = "pg18")]
                pg_sys::RTEKind::RTE_GROUP => {
                    if let Some(node) = list::nth((*entry).groupexprs, place) {
                        self.expression(node, as_is);
                    }
                }
                _ => {}
            }
        }
    }

    /// The same of a query that WITH has a name for.
    ///
    /// # Safety
    /// The entry is one of the innermost query.
    unsafe fn common(&mut self, (entry, number): (*mut pg_sys::RangeTblEntry, i16), as_is: bool) {
        // SAFETY: as the caller promises.
        unsafe {
            let level = (*entry).ctelevelsup as usize;
            let Some(at) = self.frames.len().checked_sub(level + 1) else {
                return;
            };
            let Frame::Query(query) = self.frames[at] else {
                return;
            };
            let name = CStr::from_ptr((*entry).ctename);
            let named = list::elements::<pg_sys::CommonTableExpr>((*query).cteList)
                .find(|common| CStr::from_ptr((**common).ctename) == name);
            if let Some(common) = named {
                let query: *mut pg_sys::Query = (*common).ctequery.cast();
                let is_query = (*(*common).ctequery).type_ == NodeTag::T_Query;
                let outer = self.frames[..=at].to_vec();
                self.around(outer, |walk| {
                    if is_query {
                        walk.within(query, |walk| walk.targets(query, Some(number), as_is));
                    }
                });
            }
        }
    }

    /// Looks at a column of a relation.
    ///
    /// # Safety
    /// Inside a transaction.
    unsafe fn column(&mut self, relation: pg_sys::Oid, number: i16, as_is: bool) {
        let column = BaseColumn { relation, number };
        // SAFETY: as the caller promises; what a view selects is there while it is open.
        unsafe {
            if column.is_of_view() {
                with_view(relation, |query| {
                    let frames = vec![Frame::Query(query)];
                    self.around(frames, |walk| walk.targets(query, Some(number), as_is));
                });
                return;
            }
            if as_is {
                self.found.same_as.insert(column);
            }
            if number > 0 && self.found.reads.insert(column) {
                let generated = pg_sys::get_attgenerated(relation, number) != 0;
                if let Some(node) = generated.then(|| generation(column)).flatten() {
                    self.around(vec![Frame::Table(relation)], |walk| walk.node(node));
                }
            }
        }
    }
}

/// Whether a window function takes its value of another row: what was before, or comes next.
fn is_of_other_rows(function: pg_sys::Oid) -> bool {
    // SAFETY: catalog look-ups; the name is PostgreSQL's.
    unsafe {
        let name = pg_sys::get_func_name(function);
        pg_sys::get_func_namespace(function) == pg_sys::Oid::from(pg_sys::PG_CATALOG_NAMESPACE)
            && !name.is_null()
            && [c"lag", c"lead"].contains(&CStr::from_ptr(name))
    }
}

/// The expression that generates a column; in the current memory context.
///
/// # Safety
/// Inside a transaction.
unsafe fn generation(column: BaseColumn) -> Option<*mut pg_sys::Node> {
    // SAFETY: as the caller promises; the text is read while the relation is open.
    unsafe {
        let lock = pg_sys::AccessShareLock as _;
        let relation = pg_sys::try_relation_open(column.relation, lock);
        let constraints = relation.as_ref()?.rd_att.as_ref()?.constr.as_ref();
        let node = constraints.and_then(|all| {
            let all = (0..all.num_defval as usize).map(|at| *all.defval.add(at));
            let own = all.into_iter().find(|it| it.adnum == column.number)?;
            Some(pg_sys::stringToNode(own.adbin).cast())
        });
        pg_sys::relation_close(relation, lock);
        node
    }
}
