//! Columns that give the label away, as far as the catalog says what a column is made of: the label under another name, what is
//! made of it, and what a model says of a row.

use crate::base::errors::Failure;
use crate::catalog::spi_failure;
use crate::pg::base_column::BaseColumn;
use crate::pg::kept_statement::{read_one, KeptStatement};
use crate::pg::lineage::Lineage;
use crate::pg::query::Column;
use crate::pg::types::{type_kind, TypeKind};
use pgrx::pg_sys;
use pgrx::spi::SpiError;
use pgsvm_core::memory::gathered;
use std::collections::HashSet;

const THE_LABEL: &str = "the label";
/// Said of a column that is the label before it was turned into that.
pub const LABEL_IS_MADE_OF_IT: &str = "the label is made of it";

/// Whether function $1 asks a model: one of the extension's or of its language, or one that calls such a one, in a body that PostgreSQL
/// has parsed or by a name in its text. Functions with oids below $2 are PostgreSQL's own.
const ASKS_A_MODEL: &str = "
WITH RECURSIVE own (function) AS (
    SELECT member.objid FROM pg_catalog.pg_depend AS member
    JOIN pg_catalog.pg_extension AS extension ON extension.oid OPERATOR(pg_catalog.=) member.refobjid
    WHERE member.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
        AND member.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
        AND member.deptype::pg_catalog.text OPERATOR(pg_catalog.=) 'e' AND extension.extname OPERATOR(pg_catalog.=) 'pgsvm'
), called (function) AS (
    SELECT $1
    UNION
    SELECT next.function FROM called CROSS JOIN LATERAL (
        SELECT depend.refobjid FROM pg_catalog.pg_depend AS depend
        WHERE depend.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
            AND depend.objid OPERATOR(pg_catalog.=) called.function
            AND depend.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
        UNION ALL
        SELECT named.oid FROM pg_catalog.pg_proc AS caller
        JOIN pg_catalog.pg_language AS language ON language.oid OPERATOR(pg_catalog.=) caller.prolang
            AND language.lanname::pg_catalog.text OPERATOR(pg_catalog.<>) ALL ('{internal,c}')
        JOIN pg_catalog.pg_proc AS named ON named.oid OPERATOR(pg_catalog.>=) $2
            AND pg_catalog.strpos(pg_catalog.lower(caller.prosrc), pg_catalog.lower(named.proname::pg_catalog.text))
                OPERATOR(pg_catalog.>) 0
        WHERE caller.oid OPERATOR(pg_catalog.=) called.function
    ) AS next (function)
)
SELECT EXISTS (
    SELECT FROM called JOIN pg_catalog.pg_proc AS function ON function.oid OPERATOR(pg_catalog.=) called.function
    JOIN pg_catalog.pg_language AS language ON language.oid OPERATOR(pg_catalog.=) function.prolang
    WHERE language.lanname OPERATOR(pg_catalog.=) 'pgsvm' OR function.oid OPERATOR(pg_catalog.=) ANY (SELECT own.function FROM own)
)";

/// Why each column of a source gives the label away, where it does.
pub fn reasons(
    columns: &[Column],
    lineages: &[Lineage],
    label: &str,
) -> Result<Vec<Option<String>>, Failure> {
    let named = columns.iter().zip(lineages);
    let known = Label::of(
        named
            .clone()
            .find(|(column, _)| column.name == label)
            .map(|it| it.1),
    );
    let mut reasons = Vec::with_capacity(columns.len());
    for (column, lineage) in named {
        let reason = match known.reason(lineage) {
            _ if column.name == label => None,
            Some(THE_LABEL) => Some(THE_LABEL),
            // a model that is given a row is given its label too
            _ if asks_a_model(lineage).map_err(spi_failure)? => Some("made by a model"),
            found => found,
        };
        reasons.push(reason.map(str::to_owned));
    }
    Ok(reasons)
}

/// What the catalog says of the label.
struct Label<'a> {
    /// The columns that it is.
    is: HashSet<&'a BaseColumn>,
    /// The one column that it is made of, row by row, where that is no number: who asks whether a number is large learns from it.
    made_of: Option<BaseColumn>,
}

impl<'a> Label<'a> {
    fn of(lineage: Option<&'a Lineage>) -> Self {
        let Some(lineage) = lineage else {
            return Self {
                is: HashSet::new(),
                made_of: None,
            };
        };
        let mut others = lineage.reads.difference(&lineage.same_as);
        let made_of = match (others.next(), others.next(), lineage.of_more_rows) {
            (Some(only), None, false) => Some(*only).filter(|it| !is_number(*it)),
            _ => None,
        };
        Self {
            is: lineage.same_as.iter().collect(),
            made_of,
        }
    }

    fn reason(&self, lineage: &Lineage) -> Option<&'static str> {
        let is_label = |column| self.is.contains(column);
        if lineage.same_as.iter().any(is_label) {
            return Some(THE_LABEL);
        }
        if lineage.reads.iter().any(is_label) {
            return Some("made of the label");
        }
        let made_of = self.made_of?;
        match (
            lineage.same_as.contains(&made_of),
            lineage.reads.contains(&made_of),
        ) {
            (true, _) => Some(LABEL_IS_MADE_OF_IT),
            (false, true) => Some("made of what the label is made of"),
            (false, false) => None,
        }
    }
}

fn is_number(column: BaseColumn) -> bool {
    matches!(type_kind(column.type_oid()), TypeKind::Number(_))
}

fn asks_a_model(lineage: &Lineage) -> Result<bool, SpiError> {
    let others = lineage.calls.iter();
    let others = gathered(others.filter(|it| it.to_u32() >= pg_sys::FirstNormalObjectId));
    let first = pg_sys::Oid::from(pg_sys::FirstNormalObjectId);
    for function in others.unwrap_or_default() {
        let asks = read_one::<bool>(
            KeptStatement(ASKS_A_MODEL),
            &[(*function).into(), first.into()],
        )?;
        if asks == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}
