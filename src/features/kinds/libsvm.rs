//! Texts in LIBSVM notation.

use super::kind::{FeatureKind, Operands, SPARSE};
use super::reads::{ReadAs, ReadColumn};
use crate::features::by_name::{type_of, ByName};
use crate::features::error::FeatureError;
use crate::features::part::{check_text, Part};
use crate::features::quoted::quoted;
use crate::features::stored_part::{given, StoredPart};
use serde::Serialize;

/// Text in LIBSVM notation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LibsvmPart {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

impl LibsvmPart {
    pub fn named(name: &str, columns: &ByName<'_>) -> Result<Self, FeatureError> {
        let column = columns.find(name)?;
        check_text(column)?;
        Ok(Self {
            name: column.name.clone(),
            type_name: type_of(column),
        })
    }

    /// The column of this name, of texts.
    pub fn text(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            type_name: "text".to_owned(),
        }
    }

    /// What models store.
    pub(super) fn stored(part: StoredPart) -> Result<Self, String> {
        Ok(Self {
            name: given(part.name)?,
            type_name: given(part.type_name)?,
        })
    }
}

impl FeatureKind for LibsvmPart {
    fn reads(&self) -> Vec<ReadColumn<'_>> {
        vec![ReadAs::Libsvm.of(&self.name, &self.type_name)]
    }

    fn name(&self) -> String {
        format!("libsvm({})", self.name)
    }

    fn entry(&self) -> String {
        format!("libsvm({})", quoted(&self.name))
    }

    fn treatment(&self) -> &'static str {
        "libsvm"
    }

    fn place(&self, columns: &ByName<'_>) -> Result<Part, FeatureError> {
        let (at, column) = columns.place_of(&self.name)?;
        check_text(column)?;
        Ok(Part::Libsvm { at })
    }

    fn hashed_entry(&self) -> Option<String> {
        Some("features => ARRAY['hash(sparse(idx, val), 18)'], of indices and values in two columns of arrays".to_owned())
    }

    fn is_list(&self) -> bool {
        true
    }

    fn as_sql(&self) -> Result<Operands<'_>, &'static str> {
        Err(SPARSE)
    }
}
