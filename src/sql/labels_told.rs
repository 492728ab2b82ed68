//! What is said of labels that are classes though hardly anybody means them to be: those that stand for a missing value, and those
//! that are one but for case and blanks. Runs in the calling backend.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::text::listed;
use crate::sql::columns_told::alike;
use crate::targets::labels::{classed_by, LabelValue};
use pgrx::spi::quote_literal;
use pgsvm_expand::reading::is_marker;

/// Marks of missing values that are labels of their own right.
const LABELS: [&str; 6] = ["-", "*", "#", ".", "none", "unknown"];
/// Labels that a WARNING names.
const MOST_NAMED: usize = 6;

/// A WARNING for each kind of them; `classed`: what trains on classes made of the column.
pub(super) fn doubtful_labels(
    (column, classed): (&str, &str),
    classes: &[LabelValue],
) -> Vec<Failure> {
    let texts = classes.iter().filter(|class| class.is_text());
    let texts: Vec<&str> = texts.map(|class| class.text.as_str()).collect();
    let is_label = |text: &str| LABELS.iter().any(|it| text.trim().eq_ignore_ascii_case(it));
    let missing = texts.iter().copied();
    let missing: Vec<_> = missing
        .filter(|it| is_marker(it) && !is_label(it))
        .collect();
    let alike = alike(&texts);
    let mut warnings = Vec::new();
    if !missing.is_empty() {
        let quoted: Vec<_> = missing.iter().map(quote_literal).collect();
        let quoted = quoted.join(", ");
        let known = |label: &str| format!("CASE WHEN {label} NOT IN ({quoted}) THEN {label} END");
        let hint = classed_by(classed, known);
        warnings.push(warning(column, &missing, "look like missing values", hint));
    }
    if !alike.is_empty() {
        let hint = classed_by(classed, |label| format!("lower(trim({label}))"));
        warnings.push(warning(
            column,
            &alike,
            "differ only in case or blanks",
            hint,
        ));
    }
    warnings
}

/// That these labels look so, and the training with others.
fn warning(column: &str, labels: &[&str], look: &str, hint: Option<String>) -> Failure {
    let shown = labels.iter().take(MOST_NAMED);
    let shown: Vec<_> = shown.map(|it| format!("\"{}\"", shortened(it))).collect();
    let message = format!(
        "labels of column \"{column}\" {look}, and are classes of their own: {}",
        listed(&shown)
    );
    Failure {
        hint,
        ..Failure::new(Code::ERRCODE_WARNING, message)
    }
}
