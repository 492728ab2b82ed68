//! The classes of a label column: which types can be labels, how a value becomes a class id while rows are read, and the order of the
//! values.
//!
//! The reader role uses the ids, which follow the order of first appearance. The leader uses the order of the values: numbers as numbers,
//! false before true, text bytewise, an enum as it was declared. Of two classes the positive one is the larger value: 1 of -1/1, true,
//! 'yes' of 'no'/'yes'.

use super::amounts::{are_doubtful, are_mostly_alone, classes_hint};
use crate::base::errors::{Code, Failure};
use crate::features::{utf8, LONGEST_VALUE_BYTES};
use crate::pg::numeric;
use crate::pg::varlena::{with_text, Varlena};
use pgrx::spi::{quote_identifier, quote_literal};
use pgrx::{pg_sys, AnyNumeric, FromDatum};
use pgsvm_core::memory::{copied, list, owned, text, OutOfMemory, Room};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Most classes a label may have: each is a head, with a dual variable for every row.
pub const MOST_CLASSES: usize = 1000;
/// Up to this many classes a value is compared with all, and looked up beyond.
const COMPARED: usize = 8;
/// Up to this many distinct values are no key, as for features.
const LIKE_A_KEY: usize = 100;
/// Values that a message lists.
const LISTED: usize = 3;

/// What the two sides of a regression are called where classes have names.
pub const SIDES: [&str; 2] = ["below", "above"];
/// And what rows without labels may turn out to be.
pub const NOVEL_AND_USUAL: [&str; 2] = ["novel", "usual"];

/// What a label column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelKind {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    Double,
    Numeric,
    Text,
    Enum,
    /// There is no label: all rows are usual.
    OneClass,
}

/// One label value: how it compares, and how it reads in SQL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelValue {
    key: LabelKey,
    /// Up to [`LONGEST_VALUE_BYTES`].
    #[serde(deserialize_with = "text")]
    pub text: String,
}

impl LabelValue {
    /// The nearest double to a number; None of what is none.
    pub fn number(&self) -> Option<f64> {
        self.key.number()
    }

    /// Whether it is a text, and no number, boolean or value of an enum.
    pub fn is_text(&self) -> bool {
        matches!(self.key, LabelKey::Text(_))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum LabelKey {
    Integer(i64),
    Number(f64),
    /// The nearest double, and what tells it from others near it.
    Numeric(f64, #[serde(deserialize_with = "list")] Vec<u8>),
    /// Oid of an enum value and its place among the values of its type.
    Enum(u32, f32),
    Text(#[serde(deserialize_with = "list")] Vec<u8>),
}

/// A value of fixed width, as it lies in a row.
#[derive(Clone, Copy)]
enum Fixed {
    Integer(i64),
    Number(f64),
    Enum(u32),
}

/// The label column of a training.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelColumn {
    #[serde(deserialize_with = "text")]
    pub name: String,
    pub kind: LabelKind,
    /// Its place in the row; text-like ones are cast to text.
    pub at: usize,
    /// What trains on classes that are made of the values, with the column between two [`MADE_OF`] where these are made;
    /// nothing where it is not for whoever trains to see.
    #[serde(deserialize_with = "text")]
    pub classed: String,
}

/// Stands on both sides of the column that classes are made of.
pub const MADE_OF: char = '\u{1}';

/// What trains on classes that `make` makes of the column, as [`LabelColumn::classed`] has it.
pub fn classed_by(classed: &str, make: impl Fn(&str) -> String) -> Option<String> {
    let mut pieces = classed.splitn(3, MADE_OF);
    let (before, column, behind) = (pieces.next()?, pieces.next()?, pieces.next()?);
    // both stand within a text of SQL
    let made = make(&column.replace("''", "'")).replace('\'', "''");
    Some(format!("{before}{made}{behind}"))
}

/// The label column of a training, and the classes seen so far.
pub struct Labels {
    column: String,
    kind: LabelKind,
    /// As of [`LabelColumn`].
    classed: String,
    classes: Vec<LabelValue>,
    /// By class, what tells values of fixed width apart.
    bits: Vec<u64>,
    /// Class ids by value, in use beyond `COMPARED` classes.
    numbers: HashMap<u64, u32>,
    texts: HashMap<Vec<u8>, u32>,
    /// What tells a numeric from others; kept from row to row.
    digits: Vec<u8>,
    /// NULL labels met so far.
    pub nulls: u64,
    /// Of a regression, whether any label was met.
    of_sides: Option<bool>,
}

/// Squares of differences of labels are to be numbers.
const LARGEST_NUMBER: f64 = 1e100;

impl LabelKind {
    /// Whether its values are numbers.
    pub fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Boolean | Self::Text | Self::Enum | Self::OneClass
        )
    }

    /// The kind for a column of type `oid`.
    ///
    /// # Errors
    /// When the type cannot be a label.
    pub fn of_type(column: &str, oid: pg_sys::Oid) -> Result<Self, Failure> {
        // SAFETY: catalog look-ups inside a transaction.
        let oid = unsafe { pg_sys::getBaseType(oid) };
        Ok(match oid {
            pg_sys::BOOLOID => Self::Boolean,
            pg_sys::INT2OID => Self::SmallInt,
            pg_sys::INT4OID => Self::Integer,
            pg_sys::INT8OID => Self::BigInt,
            pg_sys::FLOAT4OID => Self::Real,
            pg_sys::FLOAT8OID => Self::Double,
            pg_sys::NUMERICOID => Self::Numeric,
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID | pg_sys::NAMEOID => {
                Self::Text
            }
            // SAFETY: as above.
            _ if unsafe { pg_sys::type_is_enum(oid) } => Self::Enum,
            _ => {
                let name = type_name(oid);
                return Err(Failure::new(
                    Code::ERRCODE_DATATYPE_MISMATCH,
                    format!("label column \"{column}\" has type {name}, which cannot be a label"),
                )
                .hint("Labels are boolean, integer, float, numeric, text or enum"));
            }
        })
    }
}

impl Labels {
    pub fn new(label: &LabelColumn) -> Self {
        Self {
            column: label.name.clone(),
            kind: label.kind,
            classed: label.classed.clone(),
            classes: Vec::with_capacity(2),
            bits: Vec::with_capacity(2),
            numbers: HashMap::new(),
            texts: HashMap::new(),
            digits: Vec::new(),
            nulls: 0,
            of_sides: None,
        }
    }

    /// Of a column all of whose values are known: a value that is none of these becomes another class.
    pub fn known(label: &LabelColumn, classes: &[LabelValue]) -> Result<Self, OutOfMemory> {
        let mut this = Self::new(label);
        for (class, value) in (0..).zip(classes) {
            match value.key.bits() {
                None => {
                    let bytes = copied(value.key.bytes().unwrap_or_default())?;
                    this.texts.room(1)?.insert(bytes, class);
                }
                Some(bits) => {
                    this.bits.room(1)?.push(bits);
                    this.numbers.room(1)?.insert(bits, class);
                }
            }
            this.classes.room(1)?.push(value.clone());
        }
        Ok(this)
    }

    /// Has the classes of a regression: rows that are to score no more than their label, and rows that are to score no less.
    pub fn with_sides(mut self) -> Result<Self, OutOfMemory> {
        self.of_sides = Some(false);
        for (class, text) in (0..).zip(SIDES) {
            self.bits.room(1)?.push(class);
            self.numbers.room(1)?.insert(class, class as u32);
            self.classes.room(1)?.push(LabelValue {
                key: LabelKey::Integer(class as i64),
                text: text.to_owned(),
            });
        }
        Ok(self)
    }

    /// Has the two classes of rows without a label, of which all are the second one.
    pub fn with_one_class(mut self) -> Result<Self, OutOfMemory> {
        for text in NOVEL_AND_USUAL {
            self.classes.room(1)?.push(LabelValue {
                key: LabelKey::Text(copied(text.as_bytes())?),
                text: owned(text)?,
            });
        }
        Ok(self)
    }

    /// A label as a number, None (and counted) when it is NULL.
    ///
    /// # Errors
    /// One that is not finite.
    pub fn number(&mut self, datum: pg_sys::Datum, null: bool) -> Result<Option<f64>, Failure> {
        if null {
            self.nulls += 1;
            return Ok(None);
        }
        let number = match self.kind {
            LabelKind::Numeric => self.read_numeric(datum, &mut Vec::new())?,
            _ => match self.fixed(datum)? {
                Fixed::Integer(value) => value as f64,
                Fixed::Number(value) => value,
                Fixed::Enum(_) => f64::NAN,
            },
        };
        if number.abs() <= LARGEST_NUMBER {
            self.of_sides = self.of_sides.map(|_| true);
            return Ok(Some(number));
        }
        let (what, hint) = match number.is_finite() {
            true => (
                "a number beyond 1e100, which no regression predicts",
                Some("Divide the label in a query, or take its logarithm"),
            ),
            false => ("a number that is not finite", None),
        };
        let message = format!("label column \"{}\" contains {what}", self.column);
        let failure = Failure::new(Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, message);
        Err(match hint {
            Some(hint) => failure.hint(hint).about_bad_row(),
            None => failure.about_bad_row(),
        })
    }

    /// Of a regression, whether any label was met.
    pub fn of_sides(&self) -> Option<bool> {
        self.of_sides
    }

    /// Whether rows have no label.
    pub fn is_one_class(&self) -> bool {
        self.kind == LabelKind::OneClass
    }

    /// Name of the label column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The classes in order of first appearance: class id = index.
    pub fn classes(&self) -> &[LabelValue] {
        &self.classes
    }

    /// The class id of a label, None (and counted) when it is NULL.
    ///
    /// # Errors
    /// More than `MOST_CLASSES` distinct values, or NaN.
    pub fn class_of(&mut self, datum: pg_sys::Datum, null: bool) -> Result<Option<u32>, Failure> {
        if self.kind == LabelKind::OneClass {
            return Ok(Some(1));
        }
        if null {
            self.nulls += 1;
            return Ok(None);
        }
        let known = match self.kind {
            LabelKind::Text => with_text(datum, |bytes| self.find_bytes(bytes)),
            LabelKind::Numeric => {
                let mut digits = core::mem::take(&mut self.digits);
                self.read_numeric(datum, &mut digits)?;
                self.digits = digits;
                self.find_bytes(&self.digits)
            }
            _ => self.find_number(self.fixed(datum)?.bits()),
        };
        match known {
            Some(class) => Ok(Some(class)),
            None => self.learn(datum).map(Some),
        }
    }

    /// The class of a text, or of a numeric by its digits.
    fn find_bytes(&self, bytes: &[u8]) -> Option<u32> {
        match self.classes.len() {
            0..=COMPARED => {
                let is = |class: &LabelValue| class.key.bytes() == Some(bytes);
                self.classes.iter().position(is).map(|class| class as u32)
            }
            _ => self.texts.get(bytes).copied(),
        }
    }

    #[inline]
    fn find_number(&self, bits: u64) -> Option<u32> {
        match self.bits.len() {
            0..=COMPARED => {
                let found = self.bits.iter().position(|class| *class == bits);
                found.map(|class| class as u32)
            }
            _ => self.numbers.get(&bits).copied(),
        }
    }

    /// A value that is neither text nor a numeric.
    #[inline]
    fn fixed(&self, datum: pg_sys::Datum) -> Result<Fixed, Failure> {
        let number = match self.kind {
            LabelKind::Boolean => return Ok(Fixed::Integer((datum.value() as u8 != 0).into())),
            LabelKind::SmallInt => return Ok(Fixed::Integer((datum.value() as i16).into())),
            LabelKind::Integer => return Ok(Fixed::Integer((datum.value() as i32).into())),
            LabelKind::Enum => return Ok(Fixed::Enum(datum.value() as u32)),
            LabelKind::Real => f64::from(f32::from_bits(datum.value() as u32)),
            LabelKind::Double => f64::from_bits(datum.value() as u64),
            _ => return Ok(Fixed::Integer(datum.value() as i64)),
        };
        match number.is_nan() {
            true => Err(self.not_a_number()),
            false => Ok(Fixed::Number(number)),
        }
    }

    fn key(&self, datum: pg_sys::Datum) -> Result<LabelKey, Failure> {
        Ok(match self.kind {
            LabelKind::Numeric => {
                let mut digits = Vec::new();
                LabelKey::Numeric(self.read_numeric(datum, &mut digits)?, digits)
            }
            LabelKind::Text => with_text(datum, |bytes| {
                check_length("label", &self.column, bytes.len())?;
                Ok::<_, Failure>(LabelKey::Text(bytes.to_vec()))
            })?,
            _ => match self.fixed(datum)? {
                Fixed::Integer(value) => LabelKey::Integer(value),
                Fixed::Number(value) => LabelKey::Number(value),
                Fixed::Enum(oid) => LabelKey::Enum(oid, 0.0),
            },
        })
    }

    #[cold]
    fn not_a_number(&self) -> Failure {
        Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("label column \"{}\" contains NaN", self.column),
        )
        .about_bad_row()
    }

    /// The nearest double to a numeric; `digits` tell it from all others, and in their order those of one sign ascend, or
    /// descend where they are negative.
    fn read_numeric(&self, datum: pg_sys::Datum, digits: &mut Vec<u8>) -> Result<f64, Failure> {
        // SAFETY: the column has type numeric, and the value stays where it is during the call.
        let value = unsafe { Varlena::open(datum) };
        digits.clear();
        let found = numeric::digits(value.payload());
        let number = numeric::to_f64(value.payload()).unwrap_or(f64::NAN);
        if let Some(found) = &found {
            digits.push(u8::from(found.negative));
            digits.extend(found.weight.wrapping_sub(i32::MIN).to_be_bytes());
            let words = found.digits.as_chunks().0.iter();
            digits.extend(words.flat_map(|word| u16::from_ne_bytes(*word).to_be_bytes()));
        } else {
            digits.extend(number.to_be_bytes());
        }
        match number {
            number if number.is_nan() => Err(self.not_a_number()),
            number if number.is_infinite() && found.is_some() => Err(Failure::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "label column \"{}\" holds a number out of range",
                    self.column
                ),
            )
            .about_bad_row()),
            number => Ok(number),
        }
    }

    fn learn(&mut self, datum: pg_sys::Datum) -> Result<u32, Failure> {
        let mut key = self.key(datum)?;
        let text = match (&mut key, self.kind) {
            (LabelKey::Integer(value), LabelKind::Boolean) => (*value != 0).to_string(),
            (LabelKey::Integer(value), _) => value.to_string(),
            (LabelKey::Enum(oid, order), _) => {
                let (label, _, place) = pgrx::enum_helper::lookup_enum_by_oid((*oid).into());
                *order = place;
                label
            }
            (LabelKey::Text(bytes), _) => utf8(&self.column, bytes)?.to_owned(),
            (LabelKey::Numeric(..), _) => {
                // SAFETY: the column has type numeric.
                unsafe { AnyNumeric::from_datum(datum, false) }
                    .map(|numeric| numeric.normalize().to_owned())
                    .unwrap_or_default()
            }
            (LabelKey::Number(value), _) => float_text(*value, self.kind),
        };
        check_length("label", &self.column, text.len())?;
        if self.classes.len() == MOST_CLASSES {
            return Err(self.too_many());
        }
        let class = self.classes.len() as u32;
        match &key {
            LabelKey::Text(bytes) | LabelKey::Numeric(_, bytes) => {
                self.texts.room(1)?.insert(bytes.clone(), class)
            }
            _ => {
                let bits = self.fixed(datum)?.bits();
                self.bits.room(1)?.push(bits);
                self.numbers.room(1)?.insert(bits, class)
            }
        };
        self.classes.room(1)?.push(LabelValue { key, text });
        Ok(class)
    }

    fn too_many(&self) -> Failure {
        let first = self.classes.iter().take(LISTED);
        let first: Vec<_> = first.map(|class| format!("\"{}\"", class.text)).collect();
        Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "label column \"{}\" has more than {MOST_CLASSES} values",
                self.column
            ),
        )
        .detail(format!(
            "Each value is a class. The first are {}.",
            first.join(", ")
        ))
        .hint(classes_hint(&self.classed, &self.classes))
    }

    /// Refuses values that are no classes, as most of so many rows have one of their own.
    pub fn check(&self, rows: u64) -> Result<(), Failure> {
        let count = self.classes.len();
        match are_doubtful((&self.column, &self.classed), &self.classes, rows) {
            Some(failure)
                if count as u64 == rows
                    || (count > LIKE_A_KEY && are_mostly_alone(&self.classes, rows)) =>
            {
                Err(Failure {
                    code: Code::ERRCODE_INVALID_PARAMETER_VALUE,
                    ..failure
                })
            }
            _ => Ok(()),
        }
    }
}

impl Fixed {
    /// Tells the values of one column apart.
    #[inline]
    fn bits(self) -> u64 {
        match self {
            Self::Integer(value) => value as u64,
            // 0 and -0 are one value
            Self::Number(value) => (value + 0.0).to_bits(),
            Self::Enum(oid) => u64::from(oid),
        }
    }
}

impl LabelKey {
    /// Tells the values of one column apart that are of fixed width.
    fn bits(&self) -> Option<u64> {
        Some(match self {
            Self::Integer(value) => Fixed::Integer(*value).bits(),
            Self::Number(value) => Fixed::Number(*value).bits(),
            Self::Enum(oid, _) => Fixed::Enum(*oid).bits(),
            Self::Text(_) | Self::Numeric(..) => return None,
        })
    }

    /// Tells the values of one column apart that are texts or numerics.
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(bytes) | Self::Numeric(_, bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The nearest double to a number.
    fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) | Self::Numeric(value, _) => Some(*value),
            Self::Enum(..) | Self::Text(_) => None,
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Numeric(a, of_a), Self::Numeric(b, of_b)) => a.total_cmp(b).then_with(|| {
                let ascending = of_a.cmp(of_b);
                if *a < 0.0 {
                    ascending.reverse()
                } else {
                    ascending
                }
            }),
            (Self::Enum(_, a), Self::Enum(_, b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

/// Refuses a class or a fold whose text is longer than that of a category.
pub fn check_length(role: &str, column: &str, bytes: usize) -> Result<(), Failure> {
    if bytes <= LONGEST_VALUE_BYTES {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_STRING_DATA_RIGHT_TRUNCATION,
        format!("{role} column \"{column}\" holds a text of {bytes} bytes"),
    )
    .detail(format!(
        "A class or a fold has up to {LONGEST_VALUE_BYTES} bytes."
    ))
    .hint(format!(
        "Shorten it: svm_train_query({}, …)",
        quote_literal(format!(
            "SELECT …, left({}, 100) AS {role} FROM …",
            quote_identifier(column)
        ))
    )))
}

/// The type that a model names, as SQL writes it whatever the search path, where it is one of PostgreSQL's own.
pub fn own_type(label_type: &str) -> Option<&'static str> {
    Some(match label_type {
        "boolean" => "pg_catalog.bool",
        "smallint" => "pg_catalog.int2",
        "integer" => "pg_catalog.int4",
        "bigint" => "pg_catalog.int8",
        "real" => "pg_catalog.float4",
        "double precision" => "pg_catalog.float8",
        "numeric" => "pg_catalog.numeric",
        "character" => "pg_catalog.bpchar",
        "character varying" => "pg_catalog.varchar",
        "name" => "pg_catalog.name",
        "text" => "pg_catalog.text",
        _ => return None,
    })
}

/// The type in which labels are compared with the values of a column, as SQL writes it whatever the search path: that of
/// the labels, as a model names it, where it is one of PostgreSQL's own; else what is at the base of the column's type, or
/// text. A type that a model names and PostgreSQL does not bring along is never asked for: its casts and checks would run
/// functions of whoever owns the model.
pub fn compared_type(label_type: &str, column: pg_sys::Oid) -> &'static str {
    if let Some(own) = own_type(label_type) {
        return own;
    }
    // SAFETY: a catalog look-up inside a transaction.
    match unsafe { pg_sys::getBaseType(column) } {
        pg_sys::BOOLOID => "pg_catalog.bool",
        pg_sys::INT2OID => "pg_catalog.int2",
        pg_sys::INT4OID => "pg_catalog.int4",
        pg_sys::INT8OID => "pg_catalog.int8",
        pg_sys::FLOAT4OID => "pg_catalog.float4",
        pg_sys::FLOAT8OID => "pg_catalog.float8",
        pg_sys::NUMERICOID => "pg_catalog.numeric",
        pg_sys::BPCHAROID => "pg_catalog.bpchar",
        _ => "pg_catalog.text",
    }
}

/// The class ids in ascending order of their values.
pub fn ascending(classes: &[LabelValue]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by(|a, b| classes[*a].key.compare(&classes[*b].key));
    order
}

/// A type's name as SQL writes it: for the session's search path, for messages.
fn type_name(oid: pg_sys::Oid) -> String {
    formatted(oid, 0)
}

/// A type's name as SQL writes it whatever the search path is, as models store it.
pub fn qualified_type_name(oid: pg_sys::Oid) -> String {
    match oid.to_u32() < pg_sys::FirstNormalObjectId {
        true => formatted(oid, 0),
        false => formatted(oid, pg_sys::FORMAT_TYPE_FORCE_QUALIFY),
    }
}

fn formatted(oid: pg_sys::Oid, flags: u32) -> String {
    // SAFETY: a catalog look-up inside a transaction; without INVALID_AS_NULL the result is a
    // terminated string.
    unsafe { core::ffi::CStr::from_ptr(pg_sys::format_type_extended(oid, -1, flags as u16)) }
        .to_string_lossy()
        .into_owned()
}

fn float_text(value: f64, kind: LabelKind) -> String {
    match kind {
        LabelKind::Real => (value as f32).to_string(),
        _ => value.to_string(),
    }
}
