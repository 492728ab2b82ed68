//! Values as bytes, on their way between processes of one and the same release: orders and findings of scans, and messages between a
//! leader and its workers. Any process; stored nowhere.
//!
//! A reader does not know who wrote: anybody may hand bytes to an aggregate. So no length is believed before its bytes are there,
//! what a value takes is counted while it is made and stays within [`MOST_FOR_ONE`] times its bytes, values lie within each other
//! [`MOST_DEPTH`] deep at most, and all bytes belong to the value. Texts and lists ask for memory with a way to fail: their types do
//! so, or their fields ([`crate::memory`]); `scripts/received` looks after that.
//!
//! | value | bytes |
//! |---|---|
//! | whole number | below 251 one byte; else 251, 252 or 253 and two, four or eight, little endian; below 0 zigzag |
//! | of one byte, boolean | that byte |
//! | float | four or eight bytes, little endian |
//! | text, bytes, list, map | how many, then these |
//! | None; Some | 0; 1 and the value |
//! | enum | which of its cases, and what that holds |
//! | struct, tuple | its fields |

use crate::memory::{OutOfMemory, Room};
use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use serde::ser::{self, Serializer};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Write};

/// Bytes of memory that a byte of a message may become.
pub const MOST_FOR_ONE: usize = 32;
/// And beside them so many.
const ALWAYS: usize = 4096;
/// Values within each other.
pub const MOST_DEPTH: u32 = 64;

/// The numbers that say how many bytes follow.
const TWO: u8 = 251;
const FOUR: u8 = 252;
const EIGHT: u8 = 253;

/// Why bytes are no value, or a value does not become bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageError {
    OutOfMemory(OutOfMemory),
    /// They are not what such a value is written as.
    Damaged,
}

impl MessageError {
    /// What went wrong, by its words.
    fn said(words: impl Display) -> Self {
        let mut beginning = Beginning { matched: 0 };
        // it ends with an error where these are other words
        let _ = write!(beginning, "{words}");
        match beginning.matched == OutOfMemory::WORDS.len() {
            true => Self::OutOfMemory(OutOfMemory { bytes: 0 }),
            false => Self::Damaged,
        }
    }
}

/// How far a text begins with the words of [`OutOfMemory`].
struct Beginning {
    matched: usize,
}

impl Write for Beginning {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let rest = &OutOfMemory::WORDS.as_bytes()[self.matched..];
        let count = rest.len().min(piece.len());
        if rest[..count] != piece.as_bytes()[..count] {
            return Err(fmt::Error);
        }
        self.matched += count;
        Ok(())
    }
}

impl Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory(error) => error.fmt(f),
            Self::Damaged => f.write_str("a message is damaged"),
        }
    }
}

impl std::error::Error for MessageError {}

impl From<OutOfMemory> for MessageError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl de::Error for MessageError {
    fn custom<T: Display>(words: T) -> Self {
        Self::said(words)
    }
}

impl ser::Error for MessageError {
    fn custom<T: Display>(words: T) -> Self {
        Self::said(words)
    }
}

/// The bytes of a value.
///
/// # Errors
/// There is no memory for them.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, OutOfMemory> {
    let mut bytes = Vec::new();
    encode_into(value, &mut bytes)?;
    Ok(bytes)
}

/// Appends the bytes of a value to others.
///
/// # Errors
/// There is no memory for them.
pub fn encode_into<T: Serialize + ?Sized>(
    value: &T,
    bytes: &mut Vec<u8>,
) -> Result<(), OutOfMemory> {
    value
        .serialize(&mut Writer(bytes))
        .map_err(|error| match error {
            MessageError::OutOfMemory(error) => error,
            // nothing else can go wrong with values of ours
            MessageError::Damaged => OutOfMemory { bytes: 0 },
        })
}

/// The value that these bytes are, all of them.
///
/// # Errors
/// They are none, or there is no memory for it.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, MessageError> {
    let mut message = Message::of(bytes);
    let value = message.next()?;
    message.end()?;
    Ok(value)
}

/// Bytes that are read value by value.
pub struct Message<'a> {
    rest: &'a [u8],
    /// Bytes of memory that values may still take.
    budget: usize,
    depth: u32,
}

impl<'a> Message<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            budget: bytes
                .len()
                .saturating_mul(MOST_FOR_ONE)
                .saturating_add(ALWAYS),
            depth: 0,
        }
    }

    /// The next value.
    ///
    /// # Errors
    /// As for [`decode`].
    #[allow(clippy::should_implement_trait)]
    pub fn next<T: Deserialize<'a>>(&mut self) -> Result<T, MessageError> {
        T::deserialize(self)
    }

    /// Says that nothing is to come.
    ///
    /// # Errors
    /// Something does.
    pub fn end(self) -> Result<(), MessageError> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(MessageError::Damaged),
        }
    }

    #[inline(always)]
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], MessageError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(MessageError::Damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (taken, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(MessageError::Damaged)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, MessageError> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline(always)]
    fn whole(&mut self) -> Result<u64, MessageError> {
        match self.byte()? {
            TWO => self.array().map(|it| u64::from(u16::from_le_bytes(it))),
            FOUR => self.array().map(|it| u64::from(u32::from_le_bytes(it))),
            EIGHT => self.array().map(u64::from_le_bytes),
            byte if byte < TWO => Ok(u64::from(byte)),
            _ => Err(MessageError::Damaged),
        }
    }

    #[inline(always)]
    fn signed(&mut self) -> Result<i64, MessageError> {
        let whole = self.whole()?;
        Ok((whole >> 1) as i64 ^ -((whole & 1) as i64))
    }

    /// How many items or bytes follow, each of which takes a byte at least.
    #[inline(always)]
    fn count(&mut self) -> Result<usize, MessageError> {
        let count = usize::try_from(self.whole()?).map_err(|_| MessageError::Damaged)?;
        match count <= self.rest.len() {
            true => Ok(count),
            false => Err(MessageError::Damaged),
        }
    }

    #[inline(always)]
    fn text(&mut self) -> Result<&'a str, MessageError> {
        let count = self.count()?;
        std::str::from_utf8(self.bytes(count)?).map_err(|_| MessageError::Damaged)
    }

    /// Counts what an item of a list takes.
    #[inline(always)]
    fn take<T>(&mut self) -> Result<(), MessageError> {
        self.budget = self
            .budget
            .checked_sub(size_of::<T>().max(1))
            .ok_or(MessageError::Damaged)?;
        Ok(())
    }

    /// Reads what lies within a value.
    #[inline(always)]
    fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, MessageError>,
    ) -> Result<T, MessageError> {
        if self.depth == MOST_DEPTH {
            return Err(MessageError::Damaged);
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }
}

/// Numbers, each by what reads it.
macro_rules! numbers {
    ($($method:ident $visit:ident $read:ident)*) => {
        $(
            #[inline(always)]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
                // what is out of range is refused by the visitor
                visitor.$visit(self.$read()?)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Message<'de> {
    type Error = MessageError;

    numbers! {
        deserialize_u8 visit_u8 byte
        deserialize_u16 visit_u64 whole
        deserialize_u32 visit_u64 whole
        deserialize_u64 visit_u64 whole
        deserialize_i16 visit_i64 signed
        deserialize_i32 visit_i64 signed
        deserialize_i64 visit_i64 signed
        deserialize_str visit_borrowed_str text
        deserialize_string visit_borrowed_str text
    }

    #[inline(always)]
    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        visitor.visit_i8(self.byte()? as i8)
    }

    #[inline(always)]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        match self.byte()? {
            0 => visitor.visit_bool(false),
            1 => visitor.visit_bool(true),
            _ => Err(MessageError::Damaged),
        }
    }

    #[inline(always)]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        visitor.visit_f32(f32::from_le_bytes(self.array()?))
    }

    #[inline(always)]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        visitor.visit_f64(f64::from_le_bytes(self.array()?))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        let code = u32::try_from(self.whole()?).ok();
        let sign = code.and_then(char::from_u32);
        visitor.visit_char(sign.ok_or(MessageError::Damaged)?)
    }

    #[inline(always)]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        let count = self.count()?;
        visitor.visit_borrowed_bytes(self.bytes(count)?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        self.deserialize_bytes(visitor)
    }

    #[inline(always)]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        match self.byte()? {
            0 => visitor.visit_none(),
            1 => self.within(|message| visitor.visit_some(message)),
            _ => Err(MessageError::Damaged),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        visitor.visit_unit()
    }

    #[inline(always)]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        self.within(|message| visitor.visit_newtype_struct(message))
    }

    #[inline(always)]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, MessageError> {
        let left = self.count()?;
        self.within(|message| visitor.visit_seq(Items { message, left }))
    }

    #[inline(always)]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        self.within(|message| visitor.visit_seq(Fields { message, left }))
    }

    #[inline(always)]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: usize,
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        self.deserialize_tuple(fields, visitor)
    }

    #[inline(always)]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    #[inline(always)]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        self.within(|message| visitor.visit_enum(Case(message)))
    }

    /// Keys would have to be told apart in tables that ask for memory without a way to fail.
    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, MessageError> {
        Err(MessageError::Damaged)
    }

    /// What is not known beforehand is not in such bytes.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, MessageError> {
        Err(MessageError::Damaged)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, MessageError> {
        Err(MessageError::Damaged)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, MessageError> {
        Err(MessageError::Damaged)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Items of a list.
struct Items<'m, 'de> {
    message: &'m mut Message<'de>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_, 'de> {
    type Error = MessageError;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, MessageError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.message.take::<S::Value>()?;
        seed.deserialize(&mut *self.message).map(Some)
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// Fields of a struct or tuple.
struct Fields<'m, 'de> {
    message: &'m mut Message<'de>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Fields<'_, 'de> {
    type Error = MessageError;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, MessageError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.message).map(Some)
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// A case of an enum.
struct Case<'m, 'de>(&'m mut Message<'de>);

impl<'de> de::EnumAccess<'de> for Case<'_, 'de> {
    type Error = MessageError;
    type Variant = Self;

    #[inline(always)]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), MessageError> {
        let case = u32::try_from(self.0.whole()?).map_err(|_| MessageError::Damaged)?;
        let case = seed.deserialize(de::value::U32Deserializer::<MessageError>::new(case))?;
        Ok((case, self))
    }
}

impl<'de> de::VariantAccess<'de> for Case<'_, 'de> {
    type Error = MessageError;

    fn unit_variant(self) -> Result<(), MessageError> {
        Ok(())
    }

    #[inline(always)]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, MessageError> {
        // it may be behind a box
        self.0.take::<S::Value>()?;
        seed.deserialize(self.0)
    }

    #[inline(always)]
    fn tuple_variant<V: Visitor<'de>>(
        self,
        fields: usize,
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        self.0.deserialize_tuple(fields, visitor)
    }

    #[inline(always)]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, MessageError> {
        self.0.deserialize_tuple(fields.len(), visitor)
    }
}

/// Writes values.
struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) -> Result<(), MessageError> {
        self.0.room(bytes.len())?.extend_from_slice(bytes);
        Ok(())
    }

    #[inline(always)]
    fn whole(&mut self, number: u64) -> Result<(), MessageError> {
        if number < u64::from(TWO) {
            return self.put(&[number as u8]);
        }
        if let Ok(number) = u16::try_from(number) {
            let [a, b] = number.to_le_bytes();
            return self.put(&[TWO, a, b]);
        }
        if let Ok(number) = u32::try_from(number) {
            self.put(&[FOUR])?;
            return self.put(&number.to_le_bytes());
        }
        self.put(&[EIGHT])?;
        self.put(&number.to_le_bytes())
    }

    #[inline(always)]
    fn signed(&mut self, number: i64) -> Result<(), MessageError> {
        self.whole(((number << 1) ^ (number >> 63)) as u64)
    }

    /// Begins a list, whose length must be known.
    #[inline(always)]
    fn begin(&mut self, count: Option<usize>) -> Result<(), MessageError> {
        self.whole(count.ok_or(MessageError::Damaged)? as u64)
    }
}

/// Numbers, each by what writes it.
macro_rules! written {
    ($($method:ident $type:ty: $write:ident as $as:ty),*) => {
        $(
            #[inline(always)]
            fn $method(self, value: $type) -> Result<(), MessageError> {
                self.$write(<$as>::from(value))
            }
        )*
    };
}

impl<'w> Serializer for &mut Writer<'w> {
    type Ok = ();
    type Error = MessageError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = ser::Impossible<(), MessageError>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    written! {
        serialize_u16 u16: whole as u64,
        serialize_u32 u32: whole as u64,
        serialize_u64 u64: whole as u64,
        serialize_i16 i16: signed as i64,
        serialize_i32 i32: signed as i64,
        serialize_i64 i64: signed as i64
    }

    #[inline(always)]
    fn serialize_bool(self, value: bool) -> Result<(), MessageError> {
        self.put(&[u8::from(value)])
    }

    #[inline(always)]
    fn serialize_i8(self, value: i8) -> Result<(), MessageError> {
        self.put(&value.to_le_bytes())
    }

    #[inline(always)]
    fn serialize_u8(self, value: u8) -> Result<(), MessageError> {
        self.put(&[value])
    }

    #[inline(always)]
    fn serialize_f32(self, value: f32) -> Result<(), MessageError> {
        self.put(&value.to_le_bytes())
    }

    #[inline(always)]
    fn serialize_f64(self, value: f64) -> Result<(), MessageError> {
        self.put(&value.to_le_bytes())
    }

    fn serialize_char(self, value: char) -> Result<(), MessageError> {
        self.whole(u64::from(u32::from(value)))
    }

    #[inline(always)]
    fn serialize_str(self, value: &str) -> Result<(), MessageError> {
        self.serialize_bytes(value.as_bytes())
    }

    #[inline(always)]
    fn serialize_bytes(self, value: &[u8]) -> Result<(), MessageError> {
        self.whole(value.len() as u64)?;
        self.put(value)
    }

    fn serialize_none(self) -> Result<(), MessageError> {
        self.put(&[0])
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), MessageError> {
        self.put(&[1])?;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), MessageError> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), MessageError> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        case: u32,
        _: &'static str,
    ) -> Result<(), MessageError> {
        self.whole(u64::from(case))
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), MessageError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        case: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), MessageError> {
        self.whole(u64::from(case))?;
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_seq(self, count: Option<usize>) -> Result<Self, MessageError> {
        self.begin(count)?;
        Ok(self)
    }

    #[inline(always)]
    fn serialize_tuple(self, _: usize) -> Result<Self, MessageError> {
        Ok(self)
    }

    #[inline(always)]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, MessageError> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        case: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, MessageError> {
        self.whole(u64::from(case))?;
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, MessageError> {
        Err(MessageError::Damaged)
    }

    #[inline(always)]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, MessageError> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        case: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, MessageError> {
        self.whole(u64::from(case))?;
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What lies one behind the other.
macro_rules! in_order {
    ($($name:ident $method:ident $($key:ident)?),*) => {
        $(
            impl ser::$name for &mut Writer<'_> {
                type Ok = ();
                type Error = MessageError;

                #[inline(always)]
                fn $method<T: Serialize + ?Sized>(
                    &mut self,
                    $($key: &'static str,)?
                    value: &T,
                ) -> Result<(), MessageError> {
                    $(let _ = $key;)?
                    value.serialize(&mut **self)
                }

                fn end(self) -> Result<(), MessageError> {
                    Ok(())
                }
            }
        )*
    };
}

in_order! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
    SerializeStruct serialize_field key,
    SerializeStructVariant serialize_field key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{list, text, words};
    use crate::random::{Random, Stream};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Unit,
        Number(i64),
        Pair(u8, i8),
        Named { a: Option<u16>, b: bool },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        kind: Kind,
        small: (u8, i16, i32),
        float: (f32, f64),
        sign: char,
        #[serde(deserialize_with = "text")]
        text: String,
        #[serde(deserialize_with = "list")]
        list: Vec<u64>,
        #[serde(with = "words")]
        words: Vec<u32>,
        #[serde(deserialize_with = "list")]
        kinds: Vec<Kind>,
    }

    fn all() -> All {
        All {
            kind: Kind::Named {
                a: Some(300),
                b: true,
            },
            small: (7, -300, i32::MIN),
            float: (0.5, -1e300),
            sign: 'ß',
            text: "text".to_owned(),
            list: vec![0, 250, 251, 65_535, 65_536, 1 << 32, u64::MAX],
            words: vec![1, u32::MAX, 3],
            kinds: vec![Kind::Unit, Kind::Number(-1), Kind::Pair(1, -1)],
        }
    }

    #[test]
    fn a_value_comes_back() {
        let bytes = encode(&all()).unwrap();
        assert_eq!(decode::<All>(&bytes), Ok(all()));
        for number in [0, -1, 1, 125, -126, i64::MAX, i64::MIN] {
            assert_eq!(decode::<i64>(&encode(&number).unwrap()), Ok(number));
        }
    }

    #[test]
    fn values_are_read_one_behind_the_other() {
        let mut bytes = encode("mark").unwrap();
        encode_into(&3u64, &mut bytes).unwrap();
        let mut message = Message::of(&bytes);
        assert_eq!(message.next::<&str>(), Ok("mark"));
        assert_eq!(message.next::<u64>(), Ok(3));
        assert_eq!(message.end(), Ok(()));
    }

    #[test]
    fn what_is_short_or_long_is_refused() {
        let bytes = encode(&all()).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(decode::<All>(&bytes[..end]), Err(MessageError::Damaged));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(decode::<All>(&longer), Err(MessageError::Damaged));
    }

    #[test]
    fn changed_bytes_are_a_value_or_refused() {
        let original = encode(&all()).unwrap();
        let mut random = Random::new(5, Stream::Sample);
        for _ in 0..100_000 {
            let mut bytes = original.clone();
            for _ in 0..3 {
                let at = (random.unit() * bytes.len() as f64) as usize;
                bytes[at] = (random.unit() * 256.0) as u8;
            }
            let _ = decode::<All>(&bytes);
        }
    }

    #[test]
    fn a_length_is_not_believed() {
        for claimed in [1u64 << 31, 1 << 40, 1 << 47, u64::MAX] {
            let mut bytes = encode(&claimed).unwrap();
            bytes.resize(bytes.len() + 100, 0);
            assert_eq!(decode::<Vec<u64>>(&bytes), Err(MessageError::Damaged));
            assert_eq!(decode::<Vec<()>>(&bytes), Err(MessageError::Damaged));
            assert_eq!(decode::<String>(&bytes), Err(MessageError::Damaged));
            assert_eq!(decode::<Vec<Vec<u8>>>(&bytes), Err(MessageError::Damaged));
        }
    }

    #[test]
    fn small_bytes_do_not_become_large_values() {
        /// One byte of a message for each, and 800 of memory.
        #[derive(Deserialize)]
        #[allow(dead_code, clippy::large_enum_variant)]
        enum Wide {
            Nothing,
            Much([f64; 32], [f64; 32], [f64; 32]),
        }
        let mut bytes = encode(&100_000u64).unwrap();
        bytes.resize(bytes.len() + 100_000, 0);
        assert!(matches!(
            decode::<Vec<Wide>>(&bytes),
            Err(MessageError::Damaged)
        ));
        assert!(decode::<Vec<u64>>(&bytes).is_ok());
    }

    #[test]
    fn depth_has_an_end() {
        #[derive(Deserialize)]
        #[allow(dead_code)]
        struct Deep(Option<Box<Deep>>);
        assert!(decode::<Deep>(&[1, 1, 0]).is_ok());
        assert!(decode::<Deep>(&[1; 100_000]).is_err());
    }

    #[test]
    fn a_lack_of_memory_is_told_from_damage() {
        fn said(words: impl Display) -> MessageError {
            de::Error::custom(words)
        }
        assert_eq!(said(OutOfMemory { bytes: 7 }), error_without_bytes());
        assert_eq!(said(OutOfMemory { bytes: 0 }), error_without_bytes());
        assert_eq!(said(error_without_bytes()), error_without_bytes());
        assert_eq!(said("out of"), MessageError::Damaged);
        assert_eq!(said("no matrix"), MessageError::Damaged);
    }

    fn error_without_bytes() -> MessageError {
        MessageError::OutOfMemory(OutOfMemory { bytes: 0 })
    }
}
