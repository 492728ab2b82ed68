//! Texts, vectors of lexemes and arrays of words: a feature for each word, or run of characters.

pub mod form;
pub mod reader;

use super::kind::{FeatureKind, Operands, ReadAs, ReadColumn};
use crate::features::by_name::{type_of, ByName};
use crate::features::entry::quoted;
use crate::features::error::FeatureError;
use crate::features::part::{check_words, find_configuration, Part, TextKind};
use crate::features::stored::{given, StoredPart};
use crate::pg::query::Column;
use crate::pg::types::{words_kind, WordsKind};
use form::{TextForm, TextUnit, MOST_CHARACTERS};
use pgsvm_core::{PartForm, StringForm};
use pgsvm_expand::{Degree, Vocabulary, MOST_RUN};
use serde::Serialize;
use std::rc::Rc;

/// The words of a text: a feature each, with its tf-idf weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    #[serde(flatten)]
    pub form: TextForm,
    #[serde(flatten)]
    pub vocabulary: Rc<Vocabulary>,
}

impl TextPart {
    fn of(column: &Column, form: TextForm) -> Self {
        Self {
            name: column.name.clone(),
            type_name: type_of(column),
            form,
            vocabulary: Rc::default(),
        }
    }

    /// Words of a text: `text(column)`, `text(column, configuration)`, and with a number behind runs of so many words.
    pub fn of_words(
        entry: &str,
        arguments: &[String],
        columns: &ByName<'_>,
    ) -> Result<Self, FeatureError> {
        let column = columns.find(&arguments[0])?;
        check_words(column, true)?;
        let (mut configuration, mut runs) = (None, 1);
        for argument in &arguments[1..] {
            match argument.parse::<i64>() {
                Ok(number) => {
                    let known = u32::try_from(number).ok();
                    let known = known.filter(|runs| (1..=MOST_RUN).contains(runs));
                    runs = known.ok_or_else(|| FeatureError::Runs {
                        entry: entry.to_owned(),
                        given: number,
                    })?;
                }
                Err(_) => configuration = Some(find_configuration(argument)?.name),
            }
        }
        let form = TextForm {
            configuration,
            runs,
            asked: true,
            ..TextForm::default()
        };
        Ok(Self::of(column, form))
    }

    /// Runs of characters: `ngrams(column, least, most)`, `spectrum(column, length)`, `weighted_degree(column, most, letters)`.
    pub fn of_characters(
        entry: &str,
        unit: TextUnit,
        arguments: &[String],
        columns: &ByName<'_>,
    ) -> Result<Self, FeatureError> {
        let column = columns.find(&arguments[0])?;
        check_words(column, true)?;
        let refused = || FeatureError::Characters {
            entry: entry.to_owned(),
        };
        let number = |at: usize| -> Result<u32, FeatureError> {
            let number = arguments[at].parse().map_err(|_| refused())?;
            match (1..=MOST_CHARACTERS).contains(&number) {
                true => Ok(number),
                false => Err(refused()),
            }
        };
        let (least, runs) = match unit {
            TextUnit::Ngrams => (number(1)?, number(2)?),
            TextUnit::Spectrum => (number(1)?, number(1)?),
            _ => (1, number(1)?),
        };
        let form = TextForm {
            unit,
            least,
            runs,
            alphabet: arguments
                .get(2)
                .filter(|letters| unit == TextUnit::Degree && *letters != Degree::USUAL)
                .cloned(),
            asked: true,
            ..TextForm::default()
        };
        if least > runs || (unit == TextUnit::Degree && form.degree().is_none()) {
            return Err(refused());
        }
        Ok(Self::of(column, form))
    }

    /// Whether nothing is known of its texts yet.
    pub fn is_unlearned(&self) -> bool {
        self.form.unit != TextUnit::Degree && !self.vocabulary.is_learned()
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        if !(1..=MOST_CHARACTERS).contains(&part.runs) || !(1..=part.runs).contains(&part.least) {
            return Err("a part of a feature set has runs of no words".to_owned());
        }
        let vocabulary = Vocabulary::stored(part.words, part.texts, part.all_texts);
        Ok(Self {
            name: given(part.name)?,
            type_name: given(part.type_name)?,
            form: TextForm {
                unit: part.unit,
                least: part.least,
                alphabet: part.alphabet,
                configuration: part.configuration,
                runs: part.runs,
                sublinear: part.sublinear,
                asked: part.asked,
            },
            vocabulary: Rc::new(vocabulary?.with_collisions(part.collisions)),
        })
    }
}

impl FeatureKind for TextPart {
    fn of_column(column: &Column) -> Option<Self> {
        words_kind(column.type_oid).map(|_| Self::of(column, TextForm::default()))
    }

    fn reads(&self) -> Vec<ReadColumn<'_>> {
        let by = match (self.form.asked, self.type_name.as_str()) {
            (true, _) => ReadAs::Text,
            (false, "tsvector") => ReadAs::Vector,
            (false, _) => ReadAs::Words,
        };
        vec![by.of(&self.name, &self.type_name)]
    }

    /// A text as `features` asks for it: a vector or an array of words by its column alone.
    fn name(&self) -> String {
        let (form, name) = (&self.form, quoted(&self.name));
        match (form.unit, &form.alphabet) {
            (TextUnit::Words, _) => {}
            (TextUnit::Ngrams, _) => {
                return format!("ngrams({name}, {}, {})", form.least, form.runs)
            }
            (TextUnit::Spectrum, _) => return format!("spectrum({name}, {})", form.runs),
            (TextUnit::Degree, None) => return format!("weighted_degree({name}, {})", form.runs),
            (TextUnit::Degree, Some(letters)) => {
                return format!(
                    "weighted_degree({name}, {}, {})",
                    form.runs,
                    quoted(letters)
                )
            }
        }
        let configuration = form.configuration.iter().map(|it| quoted(it));
        let runs = (form.runs > 1).then(|| form.runs.to_string());
        let more: Vec<_> = configuration.chain(runs).collect();
        match (form.asked, more.is_empty()) {
            (false, _) => self.name.clone(),
            (true, true) => format!("text({name})"),
            (true, false) => format!("text({name}, {})", more.join(", ")),
        }
    }

    fn treatment(&self) -> &'static str {
        match (self.form.degree(), self.vocabulary.is_hashed()) {
            (Some(_), _) => "weighted degree",
            (None, true) => "hashed text",
            (None, false) => "text",
        }
    }

    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError> {
        let (at, column) = columns.place_of(&self.name)?;
        let kind = check_words(column, self.form.asked)?;
        let padded = kind == WordsKind::Padded;
        let as_they_are = self.form.unit == TextUnit::Spectrum;
        let kind = match &self.form.configuration {
            _ if self.form.unit == TextUnit::Degree => TextKind::Places { padded },
            _ if self.form.unit != TextUnit::Words => TextKind::Characters {
                padded,
                as_they_are,
            },
            None => TextKind::Words(kind),
            Some(configuration) => TextKind::Lexemes(find_configuration(configuration)?.oid),
        };
        Ok(Part::Text { at, kind })
    }

    fn forget(&mut self) {
        self.vocabulary = Rc::default();
    }

    /// Of the weighted degree as many as the longest string has.
    fn count(&self) -> Option<u64> {
        let count = self.vocabulary.len() as u64;
        self.form.degree().is_none().then_some(count)
    }

    fn known_values(&self) -> Option<u64> {
        let words = self.vocabulary.words().len() as u64;
        self.form.degree().is_none().then_some(words)
    }

    fn collisions(&self) -> Option<f64> {
        self.vocabulary.collisions()
    }

    fn is_list(&self) -> bool {
        self.form.unit == TextUnit::Words
    }

    fn compact_form(&self) -> Option<PartForm> {
        if let Some(degree) = self.form.degree() {
            let (letters, longest) = degree.form();
            return Some(PartForm::String(StringForm {
                letters: u8::try_from(letters).ok()?,
                longest: u8::try_from(longest).ok()?,
            }));
        }
        let counts = self.form.unit == TextUnit::Spectrum && !self.form.sublinear;
        counts.then_some(PartForm::Counts)
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        Err("SQL has no short form for the words of a text.")
    }
}
