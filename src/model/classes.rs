//! Classes by name: what a user calls a class, and what to answer when there is none of that name.

use super::version::Model;
use crate::base::errors::{shortened, Code, Failure};

/// A number as it is written, whatever zeros and exponent it is written with: exact, as the labels may differ where double
/// precision has one number for them.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    /// Without zeros at either end.
    digits: Vec<u8>,
    /// The power of ten of the last digit; 0 where there is none.
    exponent: i64,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
        let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(behind.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let start = digits.iter().position(|digit| *digit != b'0');
        let Some((start, end)) = start.zip(digits.iter().rposition(|digit| *digit != b'0')) else {
            return Some(Self {
                negative: false,
                digits: Vec::new(),
                exponent: 0,
            });
        };
        Some(Self {
            negative,
            digits: digits[start..=end].to_vec(),
            exponent: i64::from(exponent) - behind.len() as i64 + (digits.len() - 1 - end) as i64,
        })
    }
}

/// Whether a label's type, as SQL writes it, is one of numbers.
pub(super) fn is_number(label_type: &str) -> bool {
    let bare = label_type.split('(').next().unwrap_or_default();
    matches!(
        bare,
        "smallint" | "integer" | "bigint" | "real" | "double precision" | "numeric"
    )
}

/// Most classes that a hint lists.
const HINTED_CLASSES: usize = 10;

impl Model {
    /// The class of this name, or where labels are numbers of this value: 1.0 is 1. Of a model of quantiles the place of the one of this value.
    pub fn class_named(&self, name: &str) -> Option<usize> {
        if !self.quantiles.is_empty() {
            let named: f64 = name.trim().parse().ok()?;
            return self.quantiles.iter().position(|tau| *tau == named);
        }
        let exact = self.labels.iter().position(|label| label == name);
        exact.or_else(|| match Decimal::read(name) {
            Some(value) if is_number(&self.label_type) => {
                let same = |label: &String| Decimal::read(label).as_ref() == Some(&value);
                self.labels.iter().position(same)
            }
            // a boolean, or infinity
            _ => {
                let value: f64 = name.parse().ok()?;
                let numbers = self.numbers.as_ref()?;
                numbers.iter().position(|number| *number == value)
            }
        })
    }

    /// Whether the labels' type is one of numbers.
    pub fn labels_are_numbers(&self) -> bool {
        is_number(&self.label_type)
    }

    /// There is no class of this name.
    pub fn unknown_class(&self, name: &str) -> Failure {
        let name = &shortened(name);
        if !self.quantiles.is_empty() {
            let all: Vec<_> = self.quantiles.iter().map(f64::to_string).collect();
            let message = format!("model \"{}\" predicts no quantile {name}", self.name);
            return Failure::new(Code::ERRCODE_INVALID_PARAMETER_VALUE, message)
                .hint(format!("Its quantiles: {}.", all.join(", ")));
        }
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
