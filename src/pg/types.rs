//! What kind of value a PostgreSQL type holds, as far as features are concerned. Called once per
//! statement, not per row.

use super::numeric;
use super::varlena::Varlena;
use super::vector::{vector_kind, VectorKind};
use core::ffi::CStr;
use pgrx::pg_sys;

/// A type that is one number, or a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberKind {
    Boolean,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    /// Days, from 2000 on.
    Date,
    /// Microseconds, from 2000 on; with or without time zone.
    Timestamp,
    /// An amount of money, in units of which 10 to the power of this are one.
    Money(u8),
    /// Read as seconds, as EXTRACT(EPOCH FROM …) has them.
    Interval,
    /// A time of the day: seconds since midnight.
    Clock,
    /// The same with a time zone, in UTC.
    ZonedClock,
}

impl NumberKind {
    /// Whether it is a point in time, read as seconds since 1970-01-01 00:00 UTC.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Date | Self::Timestamp)
    }

    /// Whether arrays of it are arrays of numbers.
    fn has_arrays(self) -> bool {
        use NumberKind::{Float4, Float8, Int2, Int4, Int8, Numeric};
        matches!(self, Int2 | Int4 | Int8 | Float4 | Float8 | Numeric)
    }
}

/// A type whose values are categories, by how a value's text is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CategoryKind {
    Boolean,
    Integer(NumberKind),
    /// Text and varchar.
    Text,
    /// `char(n)`: blanks at the end do not count.
    Padded,
    Name,
    /// `"char"`.
    Char,
    Enum,
}

/// What a column of some type can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    Number(NumberKind),
    /// An array of numbers.
    Array(NumberKind),
    /// Text, varchar, char and other string types of variable length.
    Text,
    /// An enum, `name` or `"char"`: categories that are not text.
    Category,
    /// A type of pgvector.
    Vector(VectorKind),
    /// A named row type or `record`.
    Row,
    /// `jsonb`, or `json`, which is text.
    Json {
        is_text: bool,
    },
    Other,
}

/// The kind of a type; a domain counts as its base type.
pub fn type_kind(type_oid: pg_sys::Oid) -> TypeKind {
    if type_oid == pg_sys::InvalidOid {
        return TypeKind::Other;
    }
    // SAFETY: catalog look-ups of an oid, inside a transaction.
    let base = unsafe { pg_sys::getBaseType(type_oid) };
    if let Some(number) = number_kind(base) {
        return TypeKind::Number(number);
    }
    // SAFETY: as above.
    let element = unsafe { pg_sys::get_element_type(base) };
    if let Some(number) = number_kind(element).filter(|number| number.has_arrays()) {
        return TypeKind::Array(number);
    }
    // SAFETY: as above.
    let (category, kind, length) = unsafe {
        (
            pg_sys::TypeCategory(base) as u8,
            pg_sys::get_typtype(base) as u8,
            pg_sys::get_typlen(base),
        )
    };
    match (category, kind) {
        (pg_sys::TYPCATEGORY_STRING, _) if length == -1 => TypeKind::Text,
        (pg_sys::TYPCATEGORY_STRING, _) | (_, pg_sys::TYPTYPE_ENUM) => TypeKind::Category,
        _ if base == pg_sys::CHAROID => TypeKind::Category,
        (_, pg_sys::TYPTYPE_COMPOSITE) => TypeKind::Row,
        _ if base == pg_sys::RECORDOID => TypeKind::Row,
        _ if base == pg_sys::JSONBOID => TypeKind::Json { is_text: false },
        _ if base == pg_sys::JSONOID => TypeKind::Json { is_text: true },
        _ => vector_kind(base).map_or(TypeKind::Other, TypeKind::Vector),
    }
}

/// How values of a type are categories, None where they are none; a domain counts as its base type.
pub fn category_kind(type_oid: pg_sys::Oid) -> Option<CategoryKind> {
    match type_kind(type_oid) {
        TypeKind::Number(NumberKind::Boolean) => Some(CategoryKind::Boolean),
        TypeKind::Number(kind @ (NumberKind::Int2 | NumberKind::Int4 | NumberKind::Int8)) => {
            Some(CategoryKind::Integer(kind))
        }
        // SAFETY: a catalog look-up of an oid, inside a transaction.
        TypeKind::Text | TypeKind::Category => match unsafe { pg_sys::getBaseType(type_oid) } {
            pg_sys::BPCHAROID => Some(CategoryKind::Padded),
            pg_sys::NAMEOID => Some(CategoryKind::Name),
            pg_sys::CHAROID => Some(CategoryKind::Char),
            // SAFETY: as above.
            base if unsafe { pg_sys::type_is_enum(base) } => Some(CategoryKind::Enum),
            base => (type_kind(base) == TypeKind::Text).then_some(CategoryKind::Text),
        },
        _ => None,
    }
}

/// A type whose values are words, or made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordsKind {
    Text,
    /// `char(n)`.
    Padded,
    /// `tsvector`.
    Vector,
    /// An array of texts.
    Array,
}

/// How words come out of values of a type, None where none do; a domain counts as its base type.
pub fn words_kind(type_oid: pg_sys::Oid) -> Option<WordsKind> {
    match category_kind(type_oid) {
        Some(CategoryKind::Text) => return Some(WordsKind::Text),
        Some(CategoryKind::Padded) => return Some(WordsKind::Padded),
        Some(_) => return None,
        None => {}
    }
    // SAFETY: catalog look-ups of an oid, inside a transaction.
    let (base, element) = unsafe {
        let base = pg_sys::getBaseType(type_oid);
        (base, pg_sys::get_element_type(base))
    };
    match element {
        _ if base == pg_sys::TSVECTOROID => Some(WordsKind::Vector),
        pg_sys::TEXTOID | pg_sys::VARCHAROID => Some(WordsKind::Array),
        _ => None,
    }
}

/// Digits behind the point of an amount of money, as `lc_monetary` says.
fn digits_of_money() -> u8 {
    // SAFETY: PostgreSQL's own cast of its smallest amount, whose result is a numeric.
    unsafe {
        let least = pgrx::direct_function_call_as_datum(pg_sys::cash_numeric, &[Some(1i64.into())]);
        let least = least.map(|least| numeric::to_f64(Varlena::open(least).payload()));
        let least = least.flatten().unwrap_or(0.01);
        (-least.log10()).round().clamp(0.0, 15.0) as u8
    }
}

fn number_kind(type_oid: pg_sys::Oid) -> Option<NumberKind> {
    Some(match type_oid {
        pg_sys::BOOLOID => NumberKind::Boolean,
        pg_sys::INT2OID => NumberKind::Int2,
        pg_sys::INT4OID => NumberKind::Int4,
        pg_sys::INT8OID => NumberKind::Int8,
        pg_sys::FLOAT4OID => NumberKind::Float4,
        pg_sys::FLOAT8OID => NumberKind::Float8,
        pg_sys::NUMERICOID => NumberKind::Numeric,
        pg_sys::DATEOID => NumberKind::Date,
        pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => NumberKind::Timestamp,
        pg_sys::MONEYOID => NumberKind::Money(digits_of_money()),
        pg_sys::INTERVALOID => NumberKind::Interval,
        pg_sys::TIMEOID => NumberKind::Clock,
        pg_sys::TIMETZOID => NumberKind::ZonedClock,
        _ => return None,
    })
}

/// The type's name as SQL writes it, `numeric(10,2)` for one.
pub fn type_name(type_oid: pg_sys::Oid, typmod: i32) -> String {
    // SAFETY: catalog look-up; the result is a terminated string in the current memory context.
    unsafe {
        let name = pg_sys::format_type_extended(
            type_oid,
            typmod,
            (pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN | pg_sys::FORMAT_TYPE_ALLOW_INVALID) as _,
        );
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}
