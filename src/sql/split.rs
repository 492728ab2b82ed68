//! `svm_split(key, share, seed)`: which rows are trained on and which are kept to evaluate with, by their keys alone. The
//! same for the same key for ever, on every platform and server. Any process.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::pg::memory_ends::prepared;
use crate::pg::statement::argument_is_constant;
use crate::pg::types::CategoryKind;
use crate::pg::value::printed;
use crate::pg::word::with_text;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use twox_hash::XxHash3_64;

/// Whether the key is among about this share of all keys.
#[pg_extern(sql = false)]
fn svm_split(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    let _prepared = prepared();
    // SAFETY: sql/ declares it STRICT, with a value of any type, a float8 and an int; PostgreSQL knows the type in each call.
    unsafe {
        let arguments = (*fcinfo).args.as_slice(3);
        let share = f64::from_datum(arguments[1].value, false).unwrap_or_default();
        let seed = i32::from_datum(arguments[2].value, false).unwrap_or_default();
        check(share).or_raise();
        let key = arguments[0].value;
        match pg_sys::get_fn_expr_argtype((*fcinfo).flinfo, 0) {
            pg_sys::TEXTOID => {
                if argument_is_constant((*fcinfo).flinfo, 0) {
                    same_for_all_rows(&printed(key, pg_sys::TEXTOID));
                }
                with_text(key, CategoryKind::Text, |key| is_among(key, share, seed))
            }
            other => is_among(printed(key, other).as_bytes(), share, seed),
        }
    }
}

/// A WARNING where the key is a text in the query: as a rule the name of a column, which was to stand without quotes.
fn same_for_all_rows(text: &str) {
    let literal = quote_literal(text);
    Failure::new(
        Code::ERRCODE_WARNING,
        format!("svm_split({literal}) is the same for all rows, as its key is a text in the query"),
    )
    .hint(format!(
        "A column stands without quotes: svm_split({})",
        quote_identifier(text)
    ))
    .warn();
}

fn is_among(key: &[u8], share: f64, seed: i32) -> bool {
    let hash = XxHash3_64::oneshot_with_seed(u64::from(seed as u32), key);
    // 53 bits, as many as a number from 0 to 1 has
    ((hash >> 11) as f64) < share * (1u64 << 53) as f64
}

fn check(share: f64) -> Result<(), Failure> {
    match (0.0..=1.0).contains(&share) {
        true => Ok(()),
        false => Err(Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("share must lie between 0 and 1, not {share}"),
        )
        .hint("0.8 is true for about four keys in five: svm_split(…, 0.8)")),
    }
}
