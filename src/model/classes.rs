//! Classes by name: what a user calls a class, and what to answer when there is none of that name.

use super::Model;
use crate::base::errors::{Code, Failure};

/// Most classes that a hint lists.
const HINTED_CLASSES: usize = 10;

impl Model {
    /// The class of this name, or where labels are numbers of this value: 1.0 is 1.
    pub fn class_named(&self, name: &str) -> Option<usize> {
        let exact = self.labels.iter().position(|label| label == name);
        exact.or_else(|| {
            let value: f64 = name.parse().ok()?;
            let numbers = self.numbers.as_ref()?;
            numbers.iter().position(|number| *number == value)
        })
    }

    /// There is no class of this name.
    pub fn unknown_class(&self, name: &str) -> Failure {
        let mut labels: Vec<&str> = self.labels.iter().map(String::as_str).collect();
        labels.sort_by_cached_key(|label| {
            crate::pg::check_for_interrupts();
            distance(label, name)
        });
        let mut listed: Vec<String> = labels
            .iter()
            .take(HINTED_CLASSES)
            .map(|label| format!("'{}'", label.replace('\'', "''")))
            .collect();
        if labels.len() > HINTED_CLASSES {
            listed.push(format!("and {} more", labels.len() - HINTED_CLASSES));
        }
        Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("model \"{}\" has no class \"{name}\"", self.name),
        )
        .hint(format!("Its classes: {}.", listed.join(", ")))
    }

    /// A question about two classes was asked of a model that has more: what it has one of for each
    /// class, and how a call goes on up to the class.
    pub fn too_many_classes(&self, what: &str, function: &str, arguments: &str) -> Failure {
        let model = self.base_name().replace('\'', "''");
        Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "model \"{}\" has {} classes, and {what} for each",
                self.name,
                self.labels.len()
            ),
        )
        .hint(format!(
            "Name one: {function}('{model}'{arguments}, '{}'). All decisions: SELECT * FROM svm_predict_set('{model}', …).",
            self.labels[0].replace('\'', "''")
        ))
    }
}

/// Letters to insert, delete or exchange, whatever their case, to come from one name to the other;
/// of long names the beginning counts.
fn distance(from: &str, to: &str) -> usize {
    let letters = |name: &str| -> Vec<char> { name.to_lowercase().chars().take(64).collect() };
    let (from, to) = (letters(from), letters(to));
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
