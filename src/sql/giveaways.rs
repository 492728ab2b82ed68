//! What is said of features that may give the label away, or that only count rows. Runs in the calling backend.

use crate::base::errors::{Code, Failure};
use crate::base::text::listed;
use crate::features::{excluding, naming};
use crate::planning::source_columns::LeftOut;
use crate::request::Request;
use crate::training::outcome::Trained;

/// Features that a hint names at most.
const MOST_NAMED: usize = 20;

/// Features that a training may be better without.
pub struct Giveaways<'a> {
    request: &'a Request,
    /// Made of the label or by a model, as far as the catalog knows, and named all the same; with why.
    named_though: &'a [(String, String)],
    /// Tell the classes apart alone; with how well.
    telling: &'a [(String, f64)],
    /// Only count rows, and nobody named them.
    counting: Vec<&'a str>,
    /// The same of those that look like keys.
    keys: Vec<&'a str>,
    /// Columns that features are made of.
    columns: usize,
}

impl<'a> Giveaways<'a> {
    pub fn of(request: &'a Request, trained: &'a Trained, left_out: &'a LeftOut) -> Self {
        let telltales = &trained.reader.telltales;
        let unnamed = |found: &'a Vec<String>| -> Vec<&'a str> {
            let found = found.iter().map(String::as_str);
            found.filter(|_| request.features.is_none()).collect()
        };
        Self {
            request,
            named_though: &left_out.named_though,
            telling: &telltales.telling,
            counting: unnamed(&telltales.counting),
            keys: unnamed(&telltales.keys),
            columns: trained.reader.features.parts.len(),
        }
    }

    /// A WARNING for each kind.
    pub fn warn(&self) {
        let failures = [
            self.named_though(),
            self.telling(),
            self.counting(),
            self.keys(),
        ];
        failures.into_iter().flatten().for_each(Failure::warn);
    }

    /// Whether a WARNING wants a column, or an entry of `features`, left out.
    pub fn has(&self, name: &str) -> bool {
        let named_though = self.named_though.iter().map(|(name, _)| name.as_str());
        let telling = self.telling.iter().map(|(name, _)| whole(name));
        let mut all = named_though.chain(telling).chain(self.of_rows());
        all.any(|it| it == name)
    }

    /// What only tells rows apart.
    fn of_rows(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.counting.iter().chain(&self.keys).copied()
    }

    fn named_though(&self) -> Option<Failure> {
        let columns = self.named_though.iter();
        let columns: Vec<_> = columns
            .map(|(name, reason)| format!("{name} ({reason})"))
            .collect();
        (!columns.is_empty()).then(|| {
            let message = format!("features that give the label away: {}", listed(&columns));
            Failure::new(Code::ERRCODE_WARNING, message)
                .detail("They were named, and are used.")
                .hint("Leave out what is not known before the label is: features => NULL does so.")
        })
    }

    fn telling(&self) -> Option<Failure> {
        let names: Vec<_> = self.telling.iter().map(|(name, _)| name.as_str()).collect();
        let measures: Vec<_> = self
            .telling
            .iter()
            .map(|it| format!("{:.4}", it.1))
            .collect();
        let (tells, it, is) = match names.len() {
            0 => return None,
            1 => ("alone tells", "it", "is"),
            _ => ("each tell", "them", "are"),
        };
        let who = names.join(", ");
        let message = format!(
            "{who} {tells} the classes apart ({}): other features add next to nothing",
            measures.join(", ")
        );
        let how = match &self.request.features {
            Some(features) => self.without(features),
            // an element of an array goes with the array
            None if names.iter().any(|name| whole(name) != *name) => String::new(),
            // nothing would be left
            None if names.len() + self.of_rows().count() >= self.columns => String::new(),
            // what only tells rows apart goes all the more
            None => {
                let all = names.iter().copied().chain(self.of_rows());
                format!(": {}", excluding(all, &self.request.exclude))
            }
        };
        Some(
            Failure::new(Code::ERRCODE_WARNING, message)
                .detail("On a sample of the rows: the area under the ROC curve, or the share of rows that equal values put into their class.")
                .hint(format!(
                    "If {who} {is} made of the label, or known only after it, leave {it} out{how}"
                )),
        )
    }

    /// How what tells the classes apart, and what else is not to be there, is left out of the features that are named.
    fn without(&self, features: &[String]) -> String {
        let all = features.iter().map(String::as_str);
        let others: Vec<_> = all.filter(|it| !self.has(it)).collect();
        let is_entry = |(name, _): &(String, f64)| features.contains(name);
        let are_entries = self.telling.iter().all(is_entry);
        match are_entries && (1..=MOST_NAMED).contains(&others.len()) {
            true => format!(": {}", naming(others)),
            false => " of features".to_owned(),
        }
    }

    fn counting(&self) -> Option<Failure> {
        let message = match self.counting.len() {
            0 => return None,
            1 => "looks like a number of the row: a whole number that rises from row to row",
            _ => "look like numbers of the row: whole numbers that rise from row to row",
        };
        let message = format!("{} {message}", self.counting.join(", "));
        let (it, numbers) = match self.counting.len() {
            1 => ("it", "numbers"),
            _ => ("they", "number"),
        };
        let hint = format!("If {it} only {numbers} the rows, {}", self.leave_out());
        Some(Failure::new(Code::ERRCODE_WARNING, message).hint(hint))
    }

    fn keys(&self) -> Option<Failure> {
        let (looks, it, tells) = match self.keys.len() {
            0 => return None,
            1 => ("looks like a key", "it", "tells"),
            _ => ("look like keys", "they", "tell"),
        };
        let message = format!(
            "{} {looks}: another whole number in nearly every row",
            self.keys.join(", ")
        );
        let hint = format!("If {it} only {tells} rows apart, {}", self.leave_out());
        Some(Failure::new(Code::ERRCODE_WARNING, message).hint(hint))
    }

    /// How all that only tells rows apart is left out.
    fn leave_out(&self) -> String {
        let how = excluding(self.of_rows(), &self.request.exclude);
        format!("leave out: {how}; or name the features")
    }
}

/// The column of a feature that may be an element of it, as `x[3]` is.
fn whole(feature: &str) -> &str {
    match feature.strip_suffix(']') {
        Some(inside) => inside.rsplit_once('[').map_or(feature, |(name, _)| name),
        None => feature,
    }
}
