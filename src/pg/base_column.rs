//! From which column of a table a column of a query has its values; found through views.

use super::list;
use pgrx::pg_sys;

/// A column of a relation: the relation, and the column's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BaseColumn {
    pub relation: pg_sys::Oid,
    pub number: i16,
}

/// Views within views that are looked through.
const MOST_VIEWS: usize = 100;

/// What stands behind a column.
enum ColumnOrigin {
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
                ColumnOrigin::Table => return Some(column),
                ColumnOrigin::Column(next) => column = next,
                ColumnOrigin::Expression => break,
            }
        }
        None
    }

    fn behind(self) -> ColumnOrigin {
        if !self.is_of_view() {
            return ColumnOrigin::Table;
        }
        // SAFETY: it is a view's.
        let target = unsafe {
            with_view(self.relation, |query| {
                let mut targets = list::elements::<pg_sys::TargetEntry>((*query).targetList);
                let target = targets.find(|target| (**target).resno == self.number)?;
                Self::of(&*target)
            })
        };
        target
            .flatten()
            .map_or(ColumnOrigin::Expression, ColumnOrigin::Column)
    }

    /// Its type; invalid where it is gone.
    pub fn type_oid(self) -> pg_sys::Oid {
        // SAFETY: a catalog look-up.
        unsafe { pg_sys::get_atttype(self.relation, self.number) }
    }

    /// Whether it is one of a view or materialized view.
    pub fn is_of_view(self) -> bool {
        // SAFETY: a catalog look-up.
        let kind = unsafe { pg_sys::get_rel_relkind(self.relation) } as u8;
        kind == pg_sys::RELKIND_VIEW || kind == pg_sys::RELKIND_MATVIEW
    }
}

/// Looks at what a view selects; None where there is no such view any more.
///
/// # Safety
/// It is a view or materialized view; what is looked at is there as long as the look lasts.
pub unsafe fn with_view<T>(
    view: pg_sys::Oid,
    look: impl FnOnce(*mut pg_sys::Query) -> T,
) -> Option<T> {
    // SAFETY: as the caller promises; its rules are read while it is open, and the one that makes it a view is that for SELECT.
    unsafe {
        let lock = pg_sys::AccessShareLock as _;
        let relation = pg_sys::try_relation_open(view, lock);
        let rules = relation.as_ref()?.rd_rules.as_ref();
        let query = rules.and_then(|rules| {
            let mut all = (0..rules.numLocks as usize).map(|at| *rules.rules.add(at));
            let select = all.find(|rule| (**rule).event == pg_sys::CmdType::CMD_SELECT)?;
            list::nth::<pg_sys::Query>((*select).actions, 0)
        });
        let found = query.map(look);
        pg_sys::relation_close(relation, lock);
        found
    }
}
