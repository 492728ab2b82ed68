//! What is said of labels that are classes though hardly anybody means them to be: those that stand for a missing value, and those
//! that are one but for case and blanks. Runs in the calling backend.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::text::listed;
use crate::planning::feature_hints::labelled_by;
use crate::request::source::quote;
use crate::request::Request;
use crate::sql::columns_told::alike;
use crate::targets::labels::LabelValue;
use pgrx::spi::quote_literal;
use pgsvm_expand::reading::is_marker;

/// Marks of missing values that are labels of their own right.
const LABELS: [&str; 6] = ["-", "*", "#", ".", "none", "unknown"];
/// Labels that a WARNING names.
const MOST_NAMED: usize = 6;

/// A WARNING for each kind of them.
pub(super) fn doubtful_labels(request: &Request, classes: &[LabelValue]) -> Vec<Failure> {
    let texts = classes.iter().filter(|class| class.is_text());
    let texts: Vec<&str> = texts.map(|class| class.text.as_str()).collect();
    let is_label = |text: &str| LABELS.iter().any(|it| text.trim().eq_ignore_ascii_case(it));
    let missing = texts.iter().copied();
    let missing: Vec<_> = missing
        .filter(|it| is_marker(it) && !is_label(it))
        .collect();
    let column = quote(&request.label);
    let quoted: Vec<_> = missing.iter().map(quote_literal).collect();
    let named = format!(
        "CASE WHEN {column} NOT IN ({}) THEN {column} END",
        quoted.join(", ")
    );
    let alike = alike(&texts);
    [
        warning(request, &missing, "look like missing values", &named),
        warning(
            request,
            &alike,
            "differ only in case or blanks",
            &format!("lower(trim({column}))"),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// That these labels look so, and the training with a label made by `expression`.
fn warning(request: &Request, labels: &[&str], look: &str, expression: &str) -> Option<Failure> {
    if labels.is_empty() {
        return None;
    }
    let shown = labels.iter().take(MOST_NAMED);
    let shown: Vec<_> = shown.map(|it| format!("\"{}\"", shortened(it))).collect();
    let message = format!(
        "labels of column \"{}\" {look}, and are classes of their own: {}",
        request.label,
        listed(&shown)
    );
    let warning = Failure::new(Code::ERRCODE_WARNING, message);
    let columns = request.source.columns().unwrap_or_default();
    Some(
        match labelled_by(request, &request.source, &columns, expression) {
            Some(hint) => warning.hint(hint),
            None => warning,
        },
    )
}
