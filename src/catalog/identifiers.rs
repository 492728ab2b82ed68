//! Which columns of a table tell its rows apart and say nothing about others: keys, and what counts up by itself.

use crate::base::errors::{shortened, Code, Failure};
use crate::catalog::spi_failure;
use crate::pg::base_column::BaseColumn;
use crate::pg::kept_statement::KeptStatement;
use crate::pg::query::Column;
use pgrx::spi::SpiError;
use pgrx::{pg_sys, Spi};
use std::collections::hash_map::Entry;
use std::collections::HashMap;

/// Longest name of an object: schema and name, each of up to 63 bytes, which may all be quoted.
const MOST_NAME_BYTES: usize = 300;

/// Refuses what is longer than any name of an object, and too long for a message.
pub fn check_length(name: &str) -> Result<(), Failure> {
    match name.len() <= MOST_NAME_BYTES {
        true => Ok(()),
        false => Err(Failure::new(
            Code::ERRCODE_NAME_TOO_LONG,
            format!("\"{}\" is too long for a name", shortened(name)),
        )
        .detail("A schema and a name have up to 63 bytes each.")),
    }
}

/// The columns of table $1 that are identifiers, and why. A column of a composite key is none by that; one that is
/// generated from identifiers alone is one.
const IDENTIFIERS: &str = "
WITH own AS (
    SELECT a.attnum, a.attname::pg_catalog.text AS name, CASE
        WHEN EXISTS (
            SELECT FROM pg_catalog.pg_index AS i
            WHERE i.indrelid OPERATOR(pg_catalog.=) a.attrelid AND i.indisprimary
                AND i.indnkeyatts OPERATOR(pg_catalog.=) 1 AND i.indkey[0] OPERATOR(pg_catalog.=) a.attnum
        ) THEN 'primary key'
        WHEN a.attidentity::pg_catalog.text OPERATOR(pg_catalog.<>) '' THEN 'identity'
        WHEN EXISTS (
            SELECT FROM pg_catalog.pg_attrdef AS d
            JOIN pg_catalog.pg_depend AS u ON u.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass
                AND u.objid OPERATOR(pg_catalog.=) d.oid
                AND u.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
            JOIN pg_catalog.pg_class AS s ON s.oid OPERATOR(pg_catalog.=) u.refobjid
            WHERE d.adrelid OPERATOR(pg_catalog.=) a.attrelid AND d.adnum OPERATOR(pg_catalog.=) a.attnum
                AND s.relkind::pg_catalog.text OPERATOR(pg_catalog.=) 'S'
        ) THEN 'serial'
    END AS reason
    FROM pg_catalog.pg_attribute AS a
    WHERE a.attrelid OPERATOR(pg_catalog.=) $1 AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
), generated AS (
    SELECT a.attnum, pg_catalog.string_agg(own.name, ', ' ORDER BY own.attnum) AS names
    FROM pg_catalog.pg_attribute AS a
    JOIN pg_catalog.pg_attrdef AS d ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid AND d.adnum OPERATOR(pg_catalog.=) a.attnum
    JOIN pg_catalog.pg_depend AS u ON u.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass
        AND u.objid OPERATOR(pg_catalog.=) d.oid
        AND u.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
        AND u.refobjid OPERATOR(pg_catalog.=) a.attrelid
        AND u.refobjsubid OPERATOR(pg_catalog.<>) 0 AND u.refobjsubid OPERATOR(pg_catalog.<>) a.attnum
    JOIN own ON own.attnum OPERATOR(pg_catalog.=) u.refobjsubid
    WHERE a.attrelid OPERATOR(pg_catalog.=) $1 AND a.attgenerated::pg_catalog.text OPERATOR(pg_catalog.<>) ''
    GROUP BY a.attnum
    HAVING pg_catalog.bool_and(own.reason IS NOT NULL)
)
SELECT attnum, reason FROM own WHERE reason IS NOT NULL
UNION ALL
SELECT attnum, 'generated from ' OPERATOR(pg_catalog.||) names FROM generated";

/// Why each column of a source is no feature, where its table says so.
pub fn reasons(columns: &[Column]) -> Result<Vec<Option<String>>, Failure> {
    let mut tables: HashMap<pg_sys::Oid, HashMap<i16, String>> = HashMap::new();
    let mut reasons = Vec::with_capacity(columns.len());
    for column in columns {
        let Some(base) = column.base.and_then(BaseColumn::behind_views) else {
            reasons.push(None);
            continue;
        };
        if let Entry::Vacant(unknown) = tables.entry(base.relation) {
            unknown.insert(of_table(base.relation).map_err(spi_failure)?);
        }
        let table = tables.get(&base.relation);
        reasons.push(table.and_then(|table| table.get(&base.number)).cloned());
    }
    Ok(reasons)
}

fn of_table(relation: pg_sys::Oid) -> Result<HashMap<i16, String>, SpiError> {
    Spi::connect(|client| {
        let rows = client.select(KeptStatement(IDENTIFIERS), None, &[relation.into()])?;
        let mut found = HashMap::new();
        for row in rows {
            if let (Some(number), Some(reason)) = (row.get::<i16>(1)?, row.get::<String>(2)?) {
                found.insert(number, reason);
            }
        }
        Ok(found)
    })
}

/// Names of columns that number the rows, or name them.
const OF_ROWS: [&str; 10] = [
    "id",
    "rowid",
    "row_id",
    "rownames",
    "row_names",
    "rownum",
    "row_num",
    "rownumber",
    "row_number",
    "unnamed: 0",
];
/// The same of numbers alone: a text of this name may well be a category.
const OF_NUMBERS: [&str; 2] = ["index", "idx"];
/// Last words of names that keys have.
const OF_KEYS: [&str; 10] = [
    "id", "ids", "key", "no", "nr", "nbr", "num", "number", "uid", "pk",
];

/// Whether a column's name says that it tells rows apart; `is_number`: whether its values are numbers.
pub fn tells_rows_apart(name: &str, is_number: bool) -> bool {
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    OF_ROWS.iter().any(&is) || (is_number && OF_NUMBERS.iter().any(is))
}

/// Whether a column's name ends as those of keys do: `customer_id`, `OrderNo`, `invoice nr`.
pub fn is_named_as_key(name: &str) -> bool {
    let is_key = |word: &str| OF_KEYS.iter().any(|known| word.eq_ignore_ascii_case(known));
    // customerId ends with a word as customer_id does
    let letters = name.chars().rev();
    let small: usize = letters
        .take_while(|letter| letter.is_lowercase())
        .map(char::len_utf8)
        .sum();
    let at = name.len() - small;
    let capital = name[..at]
        .chars()
        .next_back()
        .filter(|it| it.is_uppercase());
    let behind_capital = capital.map(|it| &name[at - it.len_utf8()..]);
    let last = name.rsplit(|letter: char| !letter.is_alphanumeric()).next();
    last.into_iter().chain(behind_capital).any(is_key)
}
