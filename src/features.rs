//! Features: which columns a model reads and how a row becomes numbers.
//!
//! Training resolves its `features` argument against the source's columns once (`resolve`), builds a
//! `Decoder` and decodes row after row in the reader, whichever process that is; prediction builds a
//! `Decoder` for the row it is given. The `FeatureSet` is stored with the model as jsonb, so its shape
//! and names are a stored format: fields may be added with a default, never renamed.
//!
//! What differs from kind to kind of feature stands in `kinds`, a file a kind.
//!
//! Feature ids: the dense parts count up from 0 in their order, one id a column and as many as it is
//! long an array. Sparse ids are relative to the space behind the dense ones: with S sparse parts,
//! part p's index i is i * S + p, which is the index itself when there is one. All category columns
//! together are one sparse part, the last one; their indices are the codes of `kinds::category`.

mod buffer;
mod by_name;
mod decode;
mod entry;
mod error;
mod error_words;
mod kept;
mod kernel_form;
mod kinds;
mod leaving_out;
mod lists;
mod name;
mod part;
mod precision;
mod read_text;
mod resolve;
mod row;
mod set;
mod stored;
mod text_guess;
mod usual_lengths;
mod vocabularies;

pub use buffer::{FeatureBuffer, Nulls};
pub use decode::Decoder;
pub use entry::parse_form;
pub use error::{utf8, FeatureError};
pub(crate) use error_words::excluding;
pub use error_words::{naming, spread, without_unit, FORMS, MOST_TYPED};
pub use kept::{
    KeptLists, KeptPairs, KeptPlaces, KeptRow, KeptText, ListKind, ListOfPart, Narrowed,
    WantedParts, WordList,
};
pub use kernel_form::{word_of, KernelForm, KERNELS, LANDMARKS, MOST_LANDMARKS, SUPPORT_VECTORS};
pub use kinds::category::dictionary::{CategoryLimits, Dictionary, LONGEST_VALUE_BYTES};
pub use kinds::{
    identifier, parse as parse_libsvm, ArrayPart, CategoryPart, FeaturePart, LibsvmPart, Operand,
    ReadAs, ReadColumn, SparsevecPart, TextPart,
};
pub use lists::{ListReader, Listed};
pub use name::Feature;
pub use resolve::resolve;
pub use set::FeatureSet;
pub use text_guess::{preferred_order, TextGuess, LOOKED_AT};
pub use usual_lengths::UsualLengths;
pub use vocabularies::{Finished, LengthGuess, VocabularyLearner};
