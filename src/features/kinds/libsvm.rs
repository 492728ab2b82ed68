//! Texts in LIBSVM notation: `3:0.5 17:1`, index and value of each feature that is not zero.

use super::kind::{FeatureKind, Operands, ReadAs, ReadColumn, SPARSE};
use super::pairs::SparseScratch;
use crate::features::by_name::{type_of, wrong_type, ByName};
use crate::features::entry::quoted;
use crate::features::error::FeatureError;
use crate::features::part::Part;
use crate::features::row::RowValues;
use crate::features::stored::{given, StoredPart};
use crate::pg::types::{type_kind, TypeKind};
use crate::pg::varlena::Varlena;
use serde::Serialize;

/// Longest piece of the input that an error quotes.
const QUOTED_CHARACTERS: usize = 40;

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
        let part = Self {
            name: column.name.clone(),
            type_name: type_of(column),
        };
        part.place(columns).map(|_| part)
    }

    /// The column of this name, of texts.
    pub fn text(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            type_name: "text".to_owned(),
        }
    }

    /// Reads the pairs of a row. None where the text is NULL.
    ///
    /// # Safety
    /// As for `Decoder::decode`; column `at` is text.
    #[inline]
    pub unsafe fn read(
        row: &RowValues<'_>,
        at: usize,
        to: &mut SparseScratch,
    ) -> Result<Option<[bool; 2]>, FeatureError> {
        if row.nulls[at] {
            return Ok(None);
        }
        // SAFETY: as the caller promises; the value stays in place during the call.
        let value = unsafe { Varlena::open(row.values[at]) };
        to.clear();
        parse(value.payload(), |index, value| {
            Ok(to.take(index as f64, value)?)
        })?;
        Ok(Some([false; 2]))
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
        match type_kind(column.type_oid) {
            TypeKind::Text => Ok(Part::Libsvm { at }),
            _ => Err(wrong_type(column, "text in LIBSVM notation")),
        }
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

/// Calls `visit` with each index and value in the order of the text. Blanks may stand before, between
/// and after the pairs; values may be any floating-point number, also one that is not finite.
pub fn parse(
    text: &[u8],
    mut visit: impl FnMut(i64, f64) -> Result<(), FeatureError>,
) -> Result<(), FeatureError> {
    let tokens = text
        .split(u8::is_ascii_whitespace)
        .filter(|token| !token.is_empty());
    for (at, token) in tokens.enumerate() {
        match pair(token) {
            Some((index, value)) => visit(index, value)?,
            None => return Err(syntax_error(token, at == 0)),
        }
    }
    Ok(())
}

fn pair(token: &[u8]) -> Option<(i64, f64)> {
    let colon = token.iter().position(|byte| *byte == b':')?;
    let index = integer(&token[..colon])?;
    let value = &token[colon + 1..];
    match short_decimal(value) {
        Some(value) => Some((index, value)),
        None => Some((index, core::str::from_utf8(value).ok()?.parse().ok()?)),
    }
}

/// The value of a decimal of up to 15 digits, point or not, which is what data sets are full of: both
/// digits and power of ten are exact as floating-point numbers, so one division rounds as it should.
fn short_decimal(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        all => (1.0, all),
    };
    let (mut digits, mut number, mut behind_point) = (0, 0u64, None);
    for byte in text {
        match byte {
            b'0'..=b'9' => {
                number = number * 10 + u64::from(byte - b'0');
                digits += 1;
            }
            b'.' if behind_point.is_none() => behind_point = Some(digits),
            _ => return None,
        }
        if digits > 15 {
            return None;
        }
    }
    if digits == 0 {
        return None;
    }
    let places = behind_point.map_or(0, |point| digits - point);
    Some(sign * (number as f64 / POWERS[places]))
}

/// A decimal integer with an optional sign; indices have few digits, so nothing can overflow.
fn integer(digits: &[u8]) -> Option<i64> {
    let (negative, digits) = match digits {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits
        .iter()
        .fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some(if negative { -magnitude } else { magnitude })
}

fn syntax_error(token: &[u8], first: bool) -> FeatureError {
    let token = String::from_utf8_lossy(token);
    if first && token.parse::<f64>().is_ok() {
        return FeatureError::LibsvmLabel {
            token: shortened(&token),
        };
    }
    FeatureError::LibsvmSyntax {
        token: shortened(&token),
    }
}

fn shortened(token: &str) -> String {
    match token.char_indices().nth(QUOTED_CHARACTERS) {
        Some((end, _)) => format!("{}…", &token[..end]),
        None => token.to_owned(),
    }
}
