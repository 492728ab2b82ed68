//! Warnings about labels that are classes although hardly anybody means them to be: values that stand for a missing one, and values that
//! differ only in case or blanks. Runs in the calling backend.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::text::listed;
use crate::sql::column_notes::alike;
use crate::targets::labels::{classed_by, LabelValue};
use pgrx::spi::quote_literal;
use pgsvm_expand::reading::is_marker;

/// Marks of missing values that are labels of their own right.
const LABELS: [&str; 6] = ["-", "*", "#", ".", "none", "unknown"];
/// Labels that a WARNING names.
const MOST_NAMED: usize = 6;

/// A WARNING about them, one for both kinds; `classed`: what trains on classes made of the column.
pub(super) fn doubtful_labels(
    (column, classed): (&str, &str),
    classes: &[LabelValue],
) -> Option<Failure> {
    let texts = classes.iter().filter(|class| class.is_text());
    let texts: Vec<&str> = texts.map(|class| class.text.as_str()).collect();
    let is_label = |text: &str| LABELS.iter().any(|it| text.trim().eq_ignore_ascii_case(it));
    let missing = texts.iter().copied();
    let missing: Vec<_> = missing
        .filter(|it| is_marker(it) && !is_label(it))
        .collect();
    let alike = alike(&texts);
    let kinds = [
        (&missing, "look like missing values"),
        (&alike, "differ only in case or blanks"),
    ];
    let kinds = kinds.into_iter().filter(|(labels, _)| !labels.is_empty());
    let kinds = kinds.map(|(labels, look)| format!("{look}: {}", shown(labels)));
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() {
        return None;
    }
    let message = format!(
        "labels of column \"{column}\", each of which is a class, {}",
        kinds.join("; and ")
    );
    let quoted: Vec<_> = missing.iter().map(quote_literal).collect();
    let quoted = quoted.join(", ");
    let hint = classed_by(classed, |label| {
        let one = match alike.is_empty() {
            true => label.to_owned(),
            false => format!("lower(trim({label}))"),
        };
        match missing.is_empty() {
            true => one,
            false => format!("CASE WHEN {label} NOT IN ({quoted}) THEN {one} END"),
        }
    });
    Some(Failure {
        hint,
        ..Failure::new(Code::ERRCODE_WARNING, message)
    })
}

/// Some of these labels, as a message has them.
fn shown(labels: &[&str]) -> String {
    let shown = labels.iter().take(MOST_NAMED);
    let shown: Vec<_> = shown.map(|it| format!("\"{}\"", shortened(it))).collect();
    listed(&shown)
}
