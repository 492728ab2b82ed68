//! The kinds of features. A new one is a file, which holds what models store of it, decodes it and answers what others ask, and a
//! line of `kinds!`.

mod array;
pub mod category;
mod kind;
mod libsvm;
pub mod made;
pub mod number;
pub mod pairs;
mod products;
mod sparse;
mod sparsevec;
pub mod text;

pub use array::ArrayPart;
pub use category::CategoryPart;
pub use kind::{identifier, FeatureKind, Operand, ReadAs, ReadColumn};
pub use libsvm::{parse, LibsvmPart};
pub use number::NumberPart;
pub use products::ProductsPart;
pub use sparse::SparsePart;
pub use sparsevec::SparsevecPart;
pub use text::TextPart;

use super::by_name::ByName;
use super::entry::quoted;
use super::error::FeatureError;
use super::part::Part;
use super::read_text::ReadText;
use super::row::RowValues;
use super::stored::StoredPart;
use crate::base::text::listed;
use crate::pg::query::Column;
use category::dictionary::Dictionary;
use core::ops::{Deref, DerefMut};
use made::{MadeFeature, MadeReader};
use pairs::SparseScratch;
use pgrx::spi::quote_literal;
use pgsvm_expand::Vocabulary;
use serde::{Deserialize, Serialize};

/// The part of a feature set that is of one kind, among parts of all kinds.
pub trait OneKind: Sized {
    fn of(part: &FeaturePart) -> Option<&Self>;
    fn of_mut(part: &mut FeaturePart) -> Option<&mut Self>;
}

/// The kinds, by the words that models store. What a column is by its type alone is for the first of them that takes it.
macro_rules! kinds {
    ($($kind:ident($part:ty) = $word:literal,)*) => {
        /// One source of features, as the model remembers it. Types are those of the training, by SQL name.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", try_from = "StoredPart")]
        pub enum FeaturePart {
            $(#[serde(rename = $word)] $kind($part),)*
        }

        impl Deref for FeaturePart {
            type Target = dyn FeatureKind;

            #[inline]
            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$kind(part) => part,)*
                }
            }
        }

        impl DerefMut for FeaturePart {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$kind(part) => part,)*
                }
            }
        }

        impl TryFrom<StoredPart> for FeaturePart {
            type Error = String;

            fn try_from(part: StoredPart) -> Result<Self, String> {
                match part.kind.as_str() {
                    $($word => <$part>::stored(part).map(Self::$kind),)*
                    _ => Err("a part of a feature set is of no kind".to_owned()),
                }
            }
        }

        impl FeaturePart {
            /// What a column is by its type alone.
            pub fn of_column(column: &Column) -> Option<Self> {
                None$(.or_else(|| <$part>::of_column(column).map(Self::$kind)))*
            }
        }

        $(
            impl From<$part> for FeaturePart {
                fn from(part: $part) -> Self {
                    Self::$kind(part)
                }
            }

            impl OneKind for $part {
                #[inline]
                fn of(part: &FeaturePart) -> Option<&Self> {
                    match part {
                        FeaturePart::$kind(part) => Some(part),
                        _ => None,
                    }
                }

                #[inline]
                fn of_mut(part: &mut FeaturePart) -> Option<&mut Self> {
                    match part {
                        FeaturePart::$kind(part) => Some(part),
                        _ => None,
                    }
                }
            }
        )*
    };
}

kinds! {
    Column(NumberPart) = "column",
    Array(ArrayPart) = "array",
    Sparse(SparsePart) = "sparse",
    Libsvm(LibsvmPart) = "libsvm",
    Sparsevec(SparsevecPart) = "sparsevec",
    Products(ProductsPart) = "products",
    Category(CategoryPart) = "category",
    Text(TextPart) = "text",
}

impl FeaturePart {
    /// The part as one of this kind, where it is one.
    #[inline]
    pub fn as_one<Part: OneKind>(&self) -> Option<&Part> {
        Part::of(self)
    }

    #[inline]
    pub fn as_one_mut<Part: OneKind>(&mut self) -> Option<&mut Part> {
        Part::of_mut(self)
    }

    /// The same of a part for which a decoder has a place of that kind.
    #[inline]
    pub(super) fn placed<Part: OneKind>(&mut self) -> &mut Part {
        Part::of_mut(self).unwrap_or_else(|| {
            unreachable!("the parts of a decoder stand in the order of its features")
        })
    }

    /// The columns it reads.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.reads().into_iter().map(|column| column.name)
    }

    /// Whether another part reads the same columns in the same way, whatever rows have taught.
    pub fn same_as(&self, other: &Self) -> bool {
        self.unlearned() == other.unlearned()
    }

    /// The part as it is before the first row.
    fn unlearned(&self) -> Self {
        let mut part = self.clone();
        part.forget();
        part
    }

    /// The entry of `features` that takes its column for categories.
    pub fn as_category(&self) -> String {
        format!("category({})", quoted(self.column()))
    }

    /// The entry that reads its text as a number.
    pub fn as_number(&self) -> String {
        format!("number({})", quoted(self.column()))
    }

    /// Whether it is a column of one dense feature.
    pub fn is_column(&self) -> bool {
        self.as_one::<NumberPart>().is_some()
    }

    /// Whether it is a column that is a number, and no time.
    pub fn is_number(&self) -> bool {
        self.as_one::<NumberPart>().is_some_and(|it| !it.time)
    }

    /// How its texts are read as numbers or times, where they are.
    pub fn reading(&self) -> Option<&ReadText> {
        self.as_one::<NumberPart>()?.reading.as_ref()
    }

    pub fn reading_mut(&mut self) -> Option<&mut ReadText> {
        self.as_one_mut::<NumberPart>()?.reading.as_mut()
    }

    /// Which texts are none that should be numbers or times, where there are such.
    pub fn unread_sentence(&self) -> Option<String> {
        let reading = self.reading().filter(|reading| reading.unread > 0)?;
        let such: Vec<_> = reading.such.iter().map(quote_literal).collect();
        let such = listed(&such);
        Some(format!("In {} {such} counts as NULL.", self.name()))
    }

    /// What it makes of numbers.
    pub fn made(&self) -> Option<&MadeFeature> {
        match self {
            Self::Array(part) => part.made.as_ref(),
            Self::Products(part) => Some(&part.made),
            _ => None,
        }
    }

    pub fn made_mut(&mut self) -> Option<&mut MadeFeature> {
        match self {
            Self::Array(part) => part.made.as_mut(),
            Self::Products(part) => Some(&mut part.made),
            _ => None,
        }
    }

    /// What reads the columns of which it makes something.
    pub(super) fn made_reader(
        &self,
        columns: &ByName<'_>,
    ) -> Result<Option<MadeReader>, FeatureError> {
        let made = self.made();
        made.map(|made| MadeReader::new(made, &self.reads(), columns))
            .transpose()
    }

    /// Reads the pairs of a sparse part that stands at this place in a row; whether one of the indices is NULL, and one of the
    /// values. None where there are no pairs but a NULL.
    ///
    /// # Safety
    /// As for `Decoder::decode`.
    #[inline]
    pub(super) unsafe fn read_pairs(
        &self,
        place: Part,
        row: &RowValues<'_>,
        to: &mut SparseScratch,
    ) -> Result<Option<[bool; 2]>, FeatureError> {
        // SAFETY: as the caller promises.
        unsafe {
            match (self, place) {
                (Self::Sparse(part), Part::Sparse { index, value }) => {
                    part.read(row, index, value, to)
                }
                (Self::Libsvm(_), Part::Libsvm { at }) => LibsvmPart::read(row, at, to),
                (Self::Sparsevec(part), Part::Sparsevec { at }) => part.read(row, at, to),
                _ => unreachable!("a sparse part"),
            }
        }
    }

    /// Has the products that an array part makes of numbers hashed.
    pub fn hash_products(&mut self, hash_bits: u32) {
        let Self::Array(part) = self else { return };
        if let Some(made) = part.made.take() {
            *self = Self::Products(ProductsPart {
                name: core::mem::take(&mut part.name),
                type_name: core::mem::take(&mut part.type_name),
                made,
                hash_bits,
                collisions: None,
            });
        }
    }

    /// The codes of its values, where it is a category column.
    pub fn dictionary(&self) -> Option<&Dictionary> {
        Some(&self.as_one::<CategoryPart>()?.dictionary)
    }

    /// Of a category column the one whose values its own are paired with.
    pub fn crossed(&self) -> Option<&(String, String)> {
        self.as_one::<CategoryPart>()?.crossed.as_ref()
    }

    /// The words of its texts, where it holds such.
    pub fn vocabulary(&self) -> Option<&Vocabulary> {
        Some(&self.as_one::<TextPart>()?.vocabulary)
    }

    /// Of the weighted degree the place from 0, and the letters, of the feature with this number.
    pub fn run(&self, number: u64) -> Option<(u64, String)> {
        let degree = self.as_one::<TextPart>()?.form.degree()?;
        Some(degree.run(number))
    }
}
