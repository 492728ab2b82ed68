//! How much a row's loss counts: its weight times that of its class. Used by the process that reads. Balanced classes are not weighted
//! here, since their sizes are known only after the last row; the core's reader does it.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::near;
use crate::pg::deform::DeformedRow;
use crate::targets::labels::LabelValue;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::{text, OutOfMemory, Room};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// The costs of a training's rows.
pub struct RowCosts {
    column: Option<WeightColumn>,
    by_label: HashMap<String, f64>,
    /// By class id, as far as classes were met.
    by_class: Vec<f64>,
}

/// The column that says how much each row counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightColumn {
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Its place in the row, as float8.
    pub at: usize,
}

/// The one of two booleans that is meant by another word for it.
fn same_truth(word: &str, known: &HashSet<&str>) -> Option<String> {
    const WORDS: [(&str, [&str; 6]); 2] = [
        ("true", ["t", "yes", "y", "on", "1", "+1"]),
        ("false", ["f", "no", "n", "off", "0", "-1"]),
    ];
    let is_word = |words: &[&str]| words.iter().any(|it| word.eq_ignore_ascii_case(it));
    let found = WORDS.iter().find(|(_, words)| is_word(words));
    let found = found.filter(|(truth, _)| known.contains(truth));
    found.map(|(truth, _)| (*truth).to_owned())
}

impl RowCosts {
    /// For rows with such a column, if any, and these weights of classes by label.
    pub fn new(
        column: Option<&WeightColumn>,
        class_weights: &[(String, f64)],
    ) -> Result<Self, OutOfMemory> {
        let mut by_label = HashMap::new();
        let weights = class_weights.iter().cloned();
        by_label.room(weights.len())?.extend(weights);
        Ok(Self {
            column: column.cloned(),
            by_label,
            by_class: Vec::new(),
        })
    }

    /// A row's own weight; 0 leaves the row out.
    ///
    /// # Errors
    /// A weight that is NULL, negative or not finite.
    pub fn weight(&self, row: &DeformedRow<'_>, number: u64) -> Result<f64, Failure> {
        let Some(column) = &self.column else {
            return Ok(1.0);
        };
        let place = || format!("It is in row {number} of the source.");
        if row.nulls[column.at] {
            return Err(Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("weight column \"{}\" contains NULL", column.name),
            )
            .detail(place())
            .about_row()
            .hint("A weight of 0 leaves a row out"));
        }
        let weight = f64::from_bits(row.values[column.at].value() as u64);
        if weight >= 0.0 && weight <= f64::from(f32::MAX) {
            return Ok(weight);
        }
        Err(Failure::new(
            Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("weight column \"{}\" holds {weight}", column.name),
        )
        .detail(place())
        .about_bad_row()
        .hint("Weights are 0 (the row is left out) or positive"))
    }

    /// What a row of `weight` counts that is of class `class` of `classes`.
    ///
    /// # Errors
    /// When the product is no positive number of 32 bits.
    pub fn of(&mut self, weight: f64, class: u32, classes: &[LabelValue]) -> Result<f32, Failure> {
        for value in &classes[self.by_class.len()..] {
            let given = self.by_label.get(&value.text);
            self.by_class.push(given.copied().unwrap_or(1.0));
        }
        let cost = (weight * self.by_class[class as usize]) as f32;
        if cost > 0.0 && cost.is_finite() {
            return Ok(cost);
        }
        Err(Failure::new(
            Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("a row of weight {weight:e} is out of range for training"),
        )
        .hint("Row weight times class weight must be a 32-bit number: 1e-38 to 3e38"))
    }

    /// The argument with the weight of `label` for another one in its place, as SQL writes it; of very many only this one.
    fn weights_with(&self, other: &str, label: &str) -> String {
        const MOST_SHOWN: usize = 20;
        let weight_of = |it: &str| self.by_label.get(it).copied().unwrap_or(1.0);
        let others = self.by_label.keys().map(String::as_str);
        let others = others.filter(|it| *it != label && *it != other);
        let mut all: Vec<_> = others.map(|it| (it, weight_of(it))).collect();
        all.sort_by_key(|it| it.0);
        all.truncate(MOST_SHOWN);
        all.push((other, weight_of(label)));
        let all = all.iter().map(|(label, weight)| {
            let label = serde_json::Value::from(shortened(label));
            format!("{label}: {weight}")
        });
        let all: Vec<_> = all.collect();
        quote_literal(format!("{{{}}}", all.join(", ")))
    }

    /// Refuses a class weight whose label did not occur.
    ///
    /// # Errors
    /// Names the label and the classes there are.
    pub fn check_complete(&self, classes: &[LabelValue]) -> Result<(), Failure> {
        let known: HashSet<&str> = classes.iter().map(|class| class.text.as_str()).collect();
        let unknown = self
            .by_label
            .keys()
            .filter(|label| !known.contains(label.as_str()));
        match unknown.min() {
            None => Ok(()),
            Some(label) => {
                let all = classes.iter().take(20).map(|class| class.text.as_str());
                let near = near::names(label, classes.iter().map(|class| class.text.as_str()));
                let failure = Failure::new(
                    Code::ERRCODE_INVALID_PARAMETER_VALUE,
                    format!("class_weight names \"{label}\", which is no label of the source"),
                )
                .detail(format!("Labels: {}.", all.collect::<Vec<_>>().join(", ")));
                let weights = match near.first().or(same_truth(label, &known).as_ref()) {
                    Some(near) => {
                        let weights = self.weights_with(near, label);
                        format!("Perhaps \"{near}\" is meant: class_weight => {weights}")
                    }
                    None => {
                        let mut others = classes.iter().map(|class| class.text.as_str());
                        let other = others.find(|it| !self.by_label.contains_key(*it));
                        let Some(other) = other else {
                            return Err(failure);
                        };
                        let weights = self.weights_with(other, label);
                        format!("Weights are by label: class_weight => {weights}")
                    }
                };
                Err(failure.hint(weights))
            }
        }
    }
}
