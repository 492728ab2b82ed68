//! Whose values a column of a query has: that of a table, found through views.

use super::list;
use pgrx::pg_sys;

/// A column of a relation: the relation, and the column's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseColumn {
    pub relation: pg_sys::Oid,
    pub number: i16,
}

/// Views within views that are looked through.
const MOST_VIEWS: usize = 100;

/// What stands behind a column.
enum Behind {
    /// It is a table's own.
    Table,
    /// A column that a view selects.
    Column(BaseColumn),
    /// What a view computes.
    Expression,
}

impl BaseColumn {
    /// What a target of an analyzed query says of itself.
    pub fn of(target: &pg_sys::TargetEntry) -> Option<Self> {
        let named = target.resorigtbl != pg_sys::InvalidOid && target.resorigcol > 0;
        named.then_some(Self {
            relation: target.resorigtbl,
            number: target.resorigcol,
        })
    }

    /// The column of a table that stands behind all views; None where a view computes it.
    pub fn behind_views(self) -> Option<Self> {
        let mut column = self;
        for _ in 0..MOST_VIEWS {
            match column.behind() {
                Behind::Table => return Some(column),
                Behind::Column(next) => column = next,
                Behind::Expression => break,
            }
        }
        None
    }

    fn behind(self) -> Behind {
        // SAFETY: a catalog look-up, and a relation that is open while its rules are read, which are those of a view: one
        // SELECT with a target list.
        unsafe {
            let kind = pg_sys::get_rel_relkind(self.relation) as u8;
            if kind != pg_sys::RELKIND_VIEW && kind != pg_sys::RELKIND_MATVIEW {
                return Behind::Table;
            }
            let view = pg_sys::try_relation_open(self.relation, pg_sys::AccessShareLock as _);
            if view.is_null() {
                return Behind::Expression;
            }
            let target = selected(view, self.number).and_then(|target| Self::of(&*target));
            pg_sys::relation_close(view, pg_sys::AccessShareLock as _);
            target.map_or(Behind::Expression, Behind::Column)
        }
    }
}

/// What a view selects as its column of this number.
///
/// # Safety
/// `view` is an open view or materialized view.
unsafe fn selected(view: pg_sys::Relation, number: i16) -> Option<*mut pg_sys::TargetEntry> {
    // SAFETY: as the caller promises; the rule that makes it a view is the one for SELECT.
    unsafe {
        let rules = (*view).rd_rules.as_ref()?;
        let rules = (0..rules.numLocks as usize).map(|at| *rules.rules.add(at));
        let select = rules
            .into_iter()
            .find(|rule| (**rule).event == pg_sys::CmdType::CMD_SELECT)?;
        let query = list::nth::<pg_sys::Query>((*select).actions, 0)?;
        list::elements::<pg_sys::TargetEntry>((*query).targetList)
            .find(|target| (**target).resno == number)
    }
}
