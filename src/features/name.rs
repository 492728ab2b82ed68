//! Features by name: what a feature id stands for. For listings, messages and explanations.

use super::error::FeatureError;
use super::kinds::category::dictionary::Category;
use super::kinds::{ArrayPart, FeaturePart};
use super::set::FeatureSet;
use core::fmt;

/// What a feature is, in the words of the table it was trained on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Feature<'a> {
    /// A column with a number.
    Column(&'a str),
    /// An element of an array, from 1.
    Element(&'a str, u64),
    /// What is made of numbers, from 0.
    Made(&'a FeaturePart, u64),
    /// An index of a sparse part.
    Index(&'a FeaturePart, u64),
    /// A value of a category column.
    Category(&'a str, &'a str),
    /// NULL in a category column, where it is a category of its own.
    Null(&'a str),
    /// What the values of a category column share that have this hash.
    Hashed(&'a str, u32),
    /// Two values together of columns that are crossed.
    Pair(&'a FeaturePart, Category<'a>),
    /// A word of a text.
    Word(&'a FeaturePart, &'a str),
    /// What the words of a text share that have this hash.
    HashedWord(&'a FeaturePart, u64),
    /// A run of letters at its place in a string.
    Run(&'a FeaturePart, u64),
    /// None of the model's features.
    Unknown(u64),
}

impl fmt::Display for Feature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => write!(f, "{column}"),
            Self::Element(column, element) => write!(f, "{column}[{element}]"),
            Self::Made(part, at) => match part.made() {
                Some(made) => write!(f, "{}[{}]", part.name(), made.label(*at)),
                None => write!(f, "{}[{at}]", part.name()),
            },
            Self::Index(part, index) => write!(f, "{}[{index}]", part.name()),
            Self::Category(column, value) => write!(f, "{column}={value}"),
            Self::Null(column) => write!(f, "{column} IS NULL"),
            Self::Hashed(column, bucket) => write!(f, "{column}#{bucket}"),
            Self::Pair(part, Category::Value(value)) => write!(f, "{}={value}", part.name()),
            Self::Pair(part, Category::Null) => write!(f, "{} IS NULL", part.name()),
            Self::Pair(part, Category::Hashed(bucket)) => write!(f, "{}#{bucket}", part.name()),
            Self::Word(part, word) => write!(f, "{}[{word}]", part.name()),
            Self::HashedWord(part, bucket) => write!(f, "{}#{bucket}", part.name()),
            Self::Run(part, number) => match part.run(*number) {
                Some((place, letters)) => write!(f, "{}[{}:{letters}]", part.name(), place + 1),
                None => write!(f, "{}[{number}]", part.name()),
            },
            Self::Unknown(id) => write!(f, "feature {id}"),
        }
    }
}

impl Feature<'_> {
    /// Whether it is one of a part's.
    pub fn is_of(&self, part: &FeaturePart) -> bool {
        let named = |wanted: &str| part.column() == wanted;
        match self {
            Self::Column(column) => part.is_column() && named(column),
            Self::Element(column, _) => {
                let array = part.as_one::<ArrayPart>();
                array.is_some_and(|array| array.made.is_none()) && named(column)
            }
            Self::Made(of, _)
            | Self::Index(of, _)
            | Self::Pair(of, _)
            | Self::Word(of, _)
            | Self::HashedWord(of, _)
            | Self::Run(of, _) => part.same_as(of),
            Self::Category(column, _) | Self::Null(column) | Self::Hashed(column, _) => {
                part.dictionary().is_some() && part.crossed().is_none() && named(column)
            }
            Self::Unknown(_) => false,
        }
    }

    /// The number by which it is one of many of a kind: an array's element, a sparse index.
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::Element(_, number) | Self::Index(_, number) => Some(*number),
            _ => None,
        }
    }
}

impl FeatureSet {
    /// The feature with this id. Ids as weights have them: dense ids, then sparse ids from the number
    /// of dense features on.
    pub fn feature(&self, id: u64) -> Feature<'_> {
        let mut rest = id;
        for part in &self.parts {
            match rest.checked_sub(u64::from(part.width().unwrap_or(0))) {
                Some(behind) => rest = behind,
                None if part.is_one_value() => return Feature::Column(part.column()),
                None if part.made().is_some() => return Feature::Made(part, rest),
                None => return Feature::Element(part.column(), rest + 1),
            }
        }
        self.sparse_feature(rest).unwrap_or(Feature::Unknown(id))
    }

    /// The feature's name for messages and listings: `age`, `x[3]`, `sparse(idx, val)[17]`,
    /// `workclass=Private`, `workclass IS NULL`, `city#1234`, `text(body)[free]`.
    pub fn feature_name(&self, id: u64) -> String {
        self.feature(id).to_string()
    }

    /// The part that a sparse id is a category of.
    pub fn category_part(&self, sparse: u32) -> Option<usize> {
        let count = self.sparse_parts().max(1) as u32;
        if ((sparse % count) as usize) < self.lone_sparse_parts().count() {
            return None;
        }
        let code = sparse / count;
        let has = |part: &FeaturePart| {
            part.dictionary()
                .is_some_and(|it| it.category(code).is_some())
        };
        self.parts.iter().position(has)
    }

    /// What is wrong with a row that has this sparse id twice.
    #[cold]
    pub(super) fn duplicate(&self, id: u32) -> FeatureError {
        let part = match self.sparse_feature(u64::from(id)) {
            Some(Feature::Index(part, _)) => part.name(),
            other => other.map(|feature| feature.to_string()).unwrap_or_default(),
        };
        FeatureError::DuplicateIndex {
            part,
            index: id / self.sparse_parts() as u32,
        }
    }

    /// The feature with this sparse id.
    fn sparse_feature(&self, id: u64) -> Option<Feature<'_>> {
        let count = self.sparse_parts().max(1) as u64;
        let (index, place) = (id / count, id % count);
        if let Some(part) = self.lone_sparse_parts().nth(place as usize) {
            return match part.vocabulary() {
                None => Some(Feature::Index(part, index)),
                Some(_) if part.run(0).is_some() => Some(Feature::Run(part, index)),
                Some(known) => match known.word(index) {
                    Some(word) => Some(Feature::Word(part, word)),
                    None => Some(Feature::HashedWord(part, known.bucket(index)?)),
                },
            };
        }
        let code = u32::try_from(index).ok()?;
        self.parts.iter().find_map(|part| {
            let column = part.column();
            Some(match part.dictionary()?.category(code)? {
                found if part.crossed().is_some() => Feature::Pair(part, found),
                Category::Value(value) => Feature::Category(column, value),
                Category::Null => Feature::Null(column),
                Category::Hashed(bucket) => Feature::Hashed(column, bucket),
            })
        })
    }
}
