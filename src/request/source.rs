//! Where a training's rows come from: a relation or a query, which one SELECT of wanted columns reads.
//!
//! The executor runs that SELECT, so rights, row-level security, views and partitions are
//! PostgreSQL's own.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::text::{joined, written};
use crate::catalog::spi_failure;
use crate::model::NOVELTY;
use crate::pg::call::Call;
use crate::pg::kept_statement::read_one;
use crate::pg::lineage::Lineage;
use crate::pg::positions;
use crate::pg::query::{self, Column, NotOneSelect};
use crate::pg::statement;
use crate::request::words::required;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use std::ffi::CStr;
use std::rc::Rc;

/// The relation of this name; None where there is none, or where that is no name.
pub fn relation_named(text: &str) -> Result<Option<pg_sys::Oid>, Failure> {
    // of what is no name to_regclass() says so in words of its own, up to PostgreSQL 15
    if !is_name(text) {
        return Ok(None);
    }
    read_one::<pg_sys::Oid>(
        "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid",
        &[text.into()],
    )
    .map_err(spi_failure)
}

/// Whether a text is identifiers with points between them, quoted or not, as PostgreSQL splits names.
fn is_name(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        rest = match rest.strip_prefix('"') {
            Some(quoted) => match end_of_quoted(quoted) {
                Some(end @ 1..) => &quoted[end + 1..],
                _ => return false,
            },
            None => {
                let ends = |c: char| c == '.' || c.is_ascii_whitespace();
                match rest.find(ends).unwrap_or(rest.len()) {
                    0 => return false,
                    end => &rest[end..],
                }
            }
        };
        rest = rest.trim_ascii_start();
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None => return rest.is_empty(),
        }
    }
}

/// Where the quote is that ends an identifier; two of them are one in it.
fn end_of_quoted(quoted: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + quoted[from..].find('"')?;
        match quoted[end + 1..].starts_with('"') {
            true => from = end + 2,
            false => return Some(end),
        }
    }
}

/// What the user named as the source of rows.
#[derive(Debug, Clone)]
pub enum GivenSource {
    Relation(pg_sys::Oid),
    Query(Rc<String>),
}

impl GivenSource {
    /// A query's text.
    pub fn query(text: String) -> Self {
        Self::Query(Rc::new(text))
    }

    /// What a call gives as `relation`, as `query`, or as `source`, which is either.
    ///
    /// # Safety
    /// The arguments of these names are of the types regclass, text and text.
    pub unsafe fn of_call(call: &Call) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        let (relation, query, either) = unsafe {
            let (query, either) = (call.long_text("query"), call.long_text("source"));
            (call.get("relation"), query, either)
        };
        let either = either.map(Self::of_text).transpose()?;
        let named = relation.map(Self::Relation).or(either);
        let query = query.map(Self::of_query).transpose()?;
        required(named.or(query), "relation")
    }

    /// A query; not the name of a relation, which has functions of its own.
    pub fn of_query(text: String) -> Result<Self, Failure> {
        let name = text.trim();
        match !is_begin(name) && is_name(name) {
            true => Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("{} is a name, not a query", quote_literal(shortened(name))),
            )
            .hint(format!(
                "Train on a table or a view by svm_train({}, …), or give a query: 'SELECT * FROM {}'",
                quote_literal(shortened(name)),
                shortened(name).replace('\'', "''")
            ))),
            false => Ok(Self::query(text)),
        }
    }

    /// A query, or the name of a relation.
    pub fn of_text(text: String) -> Result<Self, Failure> {
        if is_query(&text) {
            return Ok(Self::query(text));
        }
        if let Ok(oid) = text.trim().parse::<u32>() {
            return Ok(Self::Relation(oid.into()));
        }
        let unknown = || {
            let name = shortened(text.trim());
            let message = format!("relation \"{name}\" does not exist");
            Failure::new(Code::ERRCODE_UNDEFINED_TABLE, message)
                .hint("Give the name of a table or a view, or a query: 'SELECT … FROM …'")
        };
        relation_named(&text)?
            .map(Self::Relation)
            .ok_or_else(unknown)
    }

    /// What messages call it.
    pub fn named(&self) -> Result<String, Failure> {
        match self {
            Self::Relation(_) => self.table_expression(),
            Self::Query(_) => Ok("the query".to_owned()),
        }
    }

    /// Whether it is a table, or one with partitions.
    pub fn is_table(&self) -> bool {
        let Self::Relation(oid) = self else {
            return false;
        };
        // SAFETY: a catalog look-up inside a transaction.
        let kind = unsafe { pg_sys::get_rel_relkind(*oid) } as u8;
        let tables = [
            pg_sys::RELKIND_RELATION,
            pg_sys::RELKIND_PARTITIONED_TABLE,
            pg_sys::RELKIND_MATVIEW,
        ];
        tables.contains(&kind)
    }

    /// The FROM item that yields the source's rows, every name in it quoted and qualified.
    pub fn table_expression(&self) -> Result<String, Failure> {
        match self {
            Self::Relation(oid) => qualified_relation(*oid).ok_or_else(|| missing(*oid)),
            Self::Query(text) => {
                let select = positions::in_text(text, || query::single_select(text))
                    .map_err(not_one_select)?;
                // the line break ends a comment that the user's query may end with
                Ok(written(format_args!("({select}\n) AS pgsvm_source"))?)
            }
        }
    }

    /// The columns that the source offers. What PostgreSQL finds wrong in a query it says here, with the place.
    pub fn columns(&self) -> Result<Vec<Column>, Failure> {
        let select = self.listing()?;
        Ok(positions::in_text(&select, || query::columns_of(&select)))
    }

    /// What they are made of.
    pub fn lineages(&self) -> Result<Vec<Lineage>, Failure> {
        let select = self.listing()?;
        Ok(positions::in_text(&select, || query::lineages_of(&select))?)
    }

    /// The SELECT of all that it offers.
    fn listing(&self) -> Result<String, Failure> {
        Ok(match self {
            Self::Relation(oid) => {
                check_relation_kind(*oid)?;
                format!("SELECT * FROM {}", self.table_expression()?)
            }
            Self::Query(text) => {
                positions::in_text(text, || query::single_select(text)).map_err(not_one_select)?
            }
        })
    }

    /// The SELECT of these expressions.
    pub fn select(&self, list: &[String]) -> Result<String, Failure> {
        let list = joined(list, ", ")?;
        let source = self.table_expression()?;
        Ok(written(format_args!("SELECT {list} FROM {source}"))?)
    }

    /// The name a model gets when the user gives none: relation_label.
    pub fn default_model_name(&self, label: &str) -> Result<String, Failure> {
        match self {
            Self::Relation(oid) => relation_name(*oid)
                .map(|name| format!("{name}_{label}"))
                .ok_or_else(|| missing(*oid)),
            Self::Query(_) => Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "a model trained from a query needs a name",
            )
            .hint(match label {
                NOVELTY => "svm_train_query('SELECT …', model => '…')".to_owned(),
                label => format!(
                    "svm_train_query('SELECT …', {}, model => '…')",
                    quote_literal(label)
                ),
            })),
        }
    }
}

/// Whether a text is a query, by how it begins: a relation of such a name has nothing behind it but a dot.
fn is_query(text: &str) -> bool {
    let text = without_comments(text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let (word, rest) = text.split_at(text.find(|c| !is_word(c)).unwrap_or(text.len()));
    let begins = is_begin(word);
    text.starts_with('(') || (begins && !rest.trim_start().is_empty() && !rest.starts_with('.'))
}

/// Whether a query begins with this word.
fn is_begin(word: &str) -> bool {
    let begins = ["select", "with", "values", "table"];
    begins.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// What comes behind blanks and comments.
fn without_comments(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        let rest = match text.get(..2) {
            Some("--") => text.split_once('\n').map(|(_, rest)| rest),
            Some("/*") => text.split_once("*/").map(|(_, rest)| rest),
            _ => return text,
        };
        text = rest.unwrap_or_default().trim_start();
    }
}

/// A name that none of the columns has, for what a query of ours calls them by: where one had it, it would be meant.
pub fn free_name(name: &str, columns: &[Column]) -> String {
    let taken = |name: &str| columns.iter().any(|column| column.name == name);
    let mut free = name.to_owned();
    let mut number = 1;
    while taken(&free) {
        number += 1;
        free = format!("{name} {number}");
    }
    free
}

/// An identifier as SQL writes it.
pub fn quote(identifier: &str) -> String {
    pgrx::spi::quote_identifier(identifier)
}

fn missing(oid: pg_sys::Oid) -> Failure {
    Failure::new(
        Code::ERRCODE_UNDEFINED_TABLE,
        format!("relation with OID {} does not exist", oid.to_u32()),
    )
    .hint("Give the name of a table or a view, or a query: 'SELECT … FROM …'")
}

/// A relation's name, quoted and with its schema.
pub fn qualified_relation(oid: pg_sys::Oid) -> Option<String> {
    let name = relation_name(oid)?;
    // SAFETY: a catalog look-up inside a transaction.
    let schema = statement::quoted_schema(unsafe { pg_sys::get_rel_namespace(oid) })?;
    Some(format!("{schema}.{}", quote(&name)))
}

pub fn relation_name(oid: pg_sys::Oid) -> Option<String> {
    // SAFETY: a catalog look-up inside a transaction; the result is a palloc'd string or null.
    unsafe {
        let name = pg_sys::get_rel_name(oid);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

fn check_relation_kind(oid: pg_sys::Oid) -> Result<(), Failure> {
    // SAFETY: a catalog look-up inside a transaction.
    let kind = unsafe { pg_sys::get_rel_relkind(oid) } as u8;
    let readable = [
        pg_sys::RELKIND_RELATION,
        pg_sys::RELKIND_PARTITIONED_TABLE,
        pg_sys::RELKIND_VIEW,
        pg_sys::RELKIND_MATVIEW,
        pg_sys::RELKIND_FOREIGN_TABLE,
    ];
    if kind == 0 || readable.contains(&kind) {
        return Ok(());
    }
    let name = relation_name(oid).unwrap_or_default();
    Err(Failure::new(
        Code::ERRCODE_WRONG_OBJECT_TYPE,
        format!("\"{name}\" is not a table, view, materialized view or foreign table"),
    ))
}

fn not_one_select(reason: NotOneSelect) -> Failure {
    let what = match reason {
        NotOneSelect::Empty => "the query is empty".to_owned(),
        NotOneSelect::SeveralStatements(count) => {
            format!("the query holds {count} statements, expected one SELECT")
        }
        NotOneSelect::NotASelect => "the query is not a SELECT".to_owned(),
    };
    Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, what)
        .hint("Give one SELECT without INTO: svm_train_query('SELECT … FROM …', …)")
}
