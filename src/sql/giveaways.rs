//! What is said of features that may give the label away, or that only count rows. Runs in the calling backend.

use crate::base::errors::{Code, Failure};
use crate::base::text::listed;
use crate::planning::source_columns::LeftOut;
use crate::training::outcome::Trained;
use pgrx::spi::quote_literal;

/// Features that a hint names at most.
const MOST_NAMED: usize = 20;

/// WARNINGs about the features of a training; `features` are those that somebody named.
pub fn warn(trained: &Trained, left_out: &LeftOut, features: Option<&[String]>) {
    let telltales = &trained.reader.telltales;
    let failures = [
        named_though(&left_out.named_though),
        telling(&telltales.telling, features),
        counting(&telltales.counting).filter(|_| features.is_none()),
    ];
    failures.into_iter().flatten().for_each(|it| it.warn());
}

/// Of what the catalog says is made of the label or by a model, and somebody named all the same.
fn named_though(columns: &[String]) -> Option<Failure> {
    (!columns.is_empty()).then(|| {
        let message = format!("features that give the label away: {}", listed(columns));
        Failure::new(Code::ERRCODE_WARNING, message)
            .detail("They were named, and are used.")
            .hint("Leave out what is not known before the label is: features => NULL does so.")
    })
}

/// Of what tells the classes apart alone.
fn telling(columns: &[(String, f64)], features: Option<&[String]>) -> Option<Failure> {
    let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let measures: Vec<_> = columns.iter().map(|it| format!("{:.4}", it.1)).collect();
    let (tells, it, is) = match columns.len() {
        0 => return None,
        1 => ("alone tells", "it", "is"),
        _ => ("each tell", "them", "are"),
    };
    let who = names.join(", ");
    let message = format!(
        "{who} {tells} the classes apart ({}): other features add next to nothing",
        measures.join(", ")
    );
    // an element of an array goes with the array
    let whole = !names.iter().any(|name| name.ends_with([']', ')']));
    let how = match (whole, features) {
        (true, None) => format!(": {}", excluding(&names)),
        (false, None) => String::new(),
        (_, Some(features)) => without(features, &names),
    };
    Some(
        Failure::new(Code::ERRCODE_WARNING, message)
            .detail("On a sample of the rows: the area under the ROC curve, or the share of rows that equal values put into their class.")
            .hint(format!(
                "If {who} {is} made of the label, or known only after it, leave {it} out{how}"
            )),
    )
}

/// How columns are left out of the features that are named.
fn without(features: &[String], names: &[&str]) -> String {
    let others = features.iter().map(String::as_str);
    let others: Vec<_> = others.filter(|it| !names.contains(it)).collect();
    let are_entries = others.len() + names.len() == features.len();
    match are_entries && (1..=MOST_NAMED).contains(&others.len()) {
        true => format!(": features => {}", list_of(&others)),
        false => " of features".to_owned(),
    }
}

/// Of whole numbers that rise from row to row.
fn counting(columns: &[String]) -> Option<Failure> {
    (!columns.is_empty()).then(|| {
        let names: Vec<_> = columns.iter().map(String::as_str).collect();
        let message = match columns.len() {
            1 => "looks like a number of the row: a whole number that rises from row to row",
            _ => "look like numbers of the row: whole numbers that rise from row to row",
        };
        let message = format!("{} {message}", names.join(", "));
        let hint = format!(
            "Leave out what says nothing of other rows: {}; or name the features",
            excluding(&names)
        );
        Failure::new(Code::ERRCODE_WARNING, message).hint(hint)
    })
}

/// The argument that leaves columns out.
fn excluding(names: &[&str]) -> String {
    format!("exclude => {}", list_of(names))
}

/// Names as SQL writes an array of them.
fn list_of(names: &[&str]) -> String {
    let quoted = |name: &&str| match name
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    {
        true => (*name).to_owned(),
        false => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    let names: Vec<_> = names.iter().map(quoted).collect();
    quote_literal(format!("{{{}}}", names.join(",")))
}
