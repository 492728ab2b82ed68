//! Warnings about features that may give the label away, or that only count rows. Runs in the calling backend.

use crate::base::errors::{Code, Failure};
use crate::base::text::listed;
use crate::catalog::identifiers::is_named_as_key;
use crate::features::{excluding, naming, FeaturePart, ReadAs, TextPart};
use crate::planning::source_columns::LeftOutColumns;
use crate::request::Request;
use crate::training::fit::OnTrainingRows;
use crate::training::outcome::Trained;
use pgrx::spi::{quote_identifier, quote_literal};

/// Features that a hint names at most.
const MOST_NAMED: usize = 20;

/// Features that a training may be better without.
pub struct Giveaways<'a> {
    request: &'a Request,
    /// Made of the label or by a model, as far as the catalog knows, and named all the same; with why.
    named_though: &'a [(String, String)],
    /// Tell the classes apart alone, or the number to predict; with how well.
    telling: &'a [(String, f64)],
    /// Only count rows, as far as nobody means them.
    counting: Vec<&'a str>,
    /// Numbers that look like keys.
    keys: Vec<&'a str>,
    /// Categories that do.
    distinct: Vec<&'a str>,
    /// What features are made of.
    parts: &'a [FeaturePart],
    /// Of those that tell the classes apart, whole numbers that are codes: how high they are says little.
    codes: Vec<&'a FeaturePart>,
}

impl<'a> Giveaways<'a> {
    pub fn of(request: &'a Request, trained: &'a Trained, left_out: &'a LeftOutColumns) -> Self {
        let telltales = &trained.reader.telltales;
        // who names what counts up may mean it, unless it is called as keys are
        let is_meant = |name: &&str| request.columns.features.is_some() && !is_named_as_key(name);
        let counting = telltales.counting.iter().map(String::as_str);
        Self {
            request,
            named_though: &left_out.named_though,
            telling: &telltales.telling,
            counting: counting.filter(|name| !is_meant(name)).collect(),
            keys: telltales.keys.iter().map(String::as_str).collect(),
            distinct: telltales.distinct.iter().map(String::as_str).collect(),
            parts: &trained.reader.features.parts,
            codes: codes(trained),
        }
    }

    /// The features with codes that tell the classes apart as categories, which a linear model then does too; None where there are none.
    pub fn as_code(&self) -> Option<String> {
        let is_code = |part: &FeaturePart| self.codes.iter().any(|code| code.same_as(part));
        if self.codes.is_empty() || self.parts.len() > MOST_NAMED {
            return None;
        }
        let entries = self.parts.iter().map(|part| match is_code(part) {
            true => part.as_category(),
            false => part.entry(),
        });
        let entries: Vec<_> = entries.collect();
        Some(naming(entries.iter().map(String::as_str)))
    }

    /// A WARNING for each kind.
    pub fn warn(&self) {
        let failures = [
            self.named_though(),
            self.telling(),
            self.counting(),
            self.keys(&self.keys, "whole number"),
            self.keys(&self.distinct, "value"),
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
        let keys = self.keys.iter().chain(&self.distinct);
        self.counting.iter().chain(keys).copied()
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
        let (tells, it, is, does) = match names.len() {
            0 => return None,
            1 => ("alone tells", "it", "is", "it does so"),
            _ => ("each tell", "them", "are", "each does so"),
        };
        let (what, measure) = match self.request.terms.targets {
            None => ("the classes apart", format!("how well {does} on a sample of the rows, as the area under its ROC curve or as the share of rows whose class its value tells")),
            Some(_) => (self.request.columns.label.as_str(), "the correlation with the label on a sample of the rows, without its sign".to_owned()),
        };
        let who = names.join(", ");
        let message = format!(
            "{who} {tells} {what} ({}): other features add next to nothing",
            measures.join(", ")
        );
        let how = match &self.request.columns.features {
            Some(features) => self.without(features),
            // an element of an array goes with the array
            None if names.iter().any(|name| whole(name) != *name) => String::new(),
            // nothing would be left
            None if names.len() + self.of_rows().count() >= self.parts.len() => String::new(),
            // what only tells rows apart goes all the more
            None => {
                let all = names.iter().copied().chain(self.of_rows());
                format!(": {}", excluding(all, &self.request.columns.exclude))
            }
        };
        Some(
            Failure::new(Code::ERRCODE_WARNING, message)
                .detail(format!("In parentheses: {measure}."))
                .hint(format!(
                    "If {who} {is} made of the label, or known only after it, leave {it} out{how}{}{}",
                    self.without_words(),
                    self.as_code().map_or_else(String::new, |how| format!(
                        ". Else take its numbers as codes, each with a feature of its own: {how}"
                    ))
                )),
        )
    }

    /// How words that tell the classes apart are taken out of their texts; nothing where there are none.
    fn without_words(&self) -> String {
        let mut list = String::new();
        for part in self.parts {
            let Some(text) = part.as_one::<TextPart>() else {
                continue;
            };
            let (name, form) = (&text.name, &text.form);
            let begins = format!("{}[", part.name());
            let word = |(name, _): &'a (String, f64)| name.strip_prefix(&begins)?.strip_suffix(']');
            let is_plain = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || c == ' ');
            let words: Vec<_> = self
                .telling
                .iter()
                .filter_map(word)
                .filter(is_plain)
                .collect();
            let is_text = part.reads().iter().all(|column| column.by == ReadAs::Text);
            if !is_text || !part.is_list() || words.is_empty() {
                continue;
            }
            // a stem is the beginning of words
            let end = if form.configuration.is_some() {
                r"\w*"
            } else {
                r"\M"
            };
            let pattern = format!(r"\m({}){end}", words.join("|"));
            list += &format!(
                "; words are taken out of a text in svm_train_query: regexp_replace({}, {}, ' ', 'gi') AS other_words",
                quote_identifier(name),
                quote_literal(pattern)
            );
        }
        list
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
        let hint = format!(
            "If {it} only {numbers} the rows, {}",
            self.leave_out(self.counting.len())
        );
        Some(Failure::new(Code::ERRCODE_WARNING, message).hint(hint))
    }

    /// Of `columns` that have another value, a `what`, in nearly every row.
    fn keys(&self, columns: &[&str], what: &str) -> Option<Failure> {
        let (looks, it, tells) = match columns.len() {
            0 => return None,
            1 => ("looks like a key", "it", "tells"),
            _ => ("look like keys", "they", "tell"),
        };
        let message = format!(
            "{} {looks}: another {what} in nearly every row",
            columns.join(", ")
        );
        let how = self.leave_out(columns.len());
        let hint = format!("If {it} only {tells} rows apart, {how}");
        Some(Failure::new(Code::ERRCODE_WARNING, message).hint(hint))
    }

    /// How all that only tells rows apart is left out, where `count` columns are spoken of.
    fn leave_out(&self, count: usize) -> String {
        match &self.request.columns.features {
            None => {
                let how = excluding(self.of_rows(), &self.request.columns.exclude);
                format!("leave out: {how}; or name the features")
            }
            Some(features) => {
                let all = features.iter().map(String::as_str);
                let others: Vec<_> = all.filter(|it| !self.has(it)).collect();
                let it = if count == 1 { "it" } else { "them" };
                match (1..features.len().min(MOST_NAMED)).contains(&others.len()) {
                    true => format!("leave {it} out: {}", naming(others)),
                    false => format!("leave {it} out of features"),
                }
            }
        }
    }
}

/// Columns of whole numbers that tell the classes apart, but not by how large they are.
fn codes(trained: &Trained) -> Vec<&FeaturePart> {
    /// What a model is worse by than such a column alone, if it goes by how large its numbers are.
    const WORSE: f64 = 0.05;
    let telltales = &trained.reader.telltales;
    let accuracy = OnTrainingRows::of(trained).accuracy;
    let is_precise = trained.reader.report.imprecise.is_empty();
    let parts = &trained.reader.features.parts;
    let found = telltales.telling.iter().filter_map(|(name, measure)| {
        let is_it = |part: &&FeaturePart| part.is_number() && part.name() == *name;
        let part = parts.iter().find(is_it)?;
        let is_whole = matches!(part.type_name(), "smallint" | "integer" | "bigint");
        let is_worse = is_precise && accuracy.is_some_and(|it| it + WORSE < *measure);
        (is_whole && (telltales.codes.contains(name) || is_worse)).then_some(part)
    });
    found.collect()
}

/// The column of a feature that may be an element of it, as `x[3]` is.
fn whole(feature: &str) -> &str {
    match feature.strip_suffix(']') {
        Some(inside) => inside.rsplit_once('[').map_or(feature, |(name, _)| name),
        None => feature,
    }
}
