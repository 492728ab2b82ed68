//! Reading JSON that anybody may have written. serde_json cannot fail softly when it asks for memory for texts with escapes, or for all
//! that a value holds. So texts and values are small. Lists that are read into types of ours may have any number of items, since these ask
//! for memory with a way to fail (`scripts/received` checks it).

use crate::base::text::array_literal;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::{list, OutOfMemory, Received, Room, Written};
use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::Serialize;
use serde_json::de::{Deserializer, StrRead};
use serde_json::{Error, Value};

/// Bytes of a text within JSON, or items of a list, that need no way to fail.
pub const SMALL_BYTES: usize = 16 << 10;
/// Most commas: what there may be of items.
const MOST_COMMAS: usize = 1000;
/// Most lists and objects within each other.
const MOST_DEPTH: usize = 128;

/// What is said of JSON with longer texts, or with more in each other.
const TOO_LONG: &str = "it holds a text of more than 16 kB, or lists within lists";
/// What is said of JSON that is not small.
pub const TOO_LARGE: &str = "it holds a text of more than 16 kB, or more than 1000 items";

/// Why JSON is not read.
#[derive(Debug)]
pub enum JsonError {
    OutOfMemory(OutOfMemory),
    /// It is none, not of the type asked for, or too large: in words.
    Refused(String),
}

impl From<Error> for JsonError {
    fn from(error: Error) -> Self {
        let words = error.to_string();
        match words.starts_with(OutOfMemory::WORDS) {
            true => Self::OutOfMemory(OutOfMemory { bytes: 0 }),
            false => Self::Refused(words),
        }
    }
}

/// What a text holds, whose own texts are small.
pub fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, JsonError> {
    read_by(json, |from| T::deserialize(from))
}

/// The same of texts, or lists of them.
pub fn read_received<'a, T: Received<'a>>(json: &'a str) -> Result<T, JsonError> {
    read_by(json, |from| T::receive(from))
}

/// The same of a list.
pub fn read_list<'a, T: Deserialize<'a>>(json: &'a str) -> Result<Vec<T>, JsonError> {
    read_by(json, |from| list(from))
}

/// What a text holds that is small itself.
pub fn read_value(json: &str) -> Result<Value, JsonError> {
    match is_small(json) {
        true => Ok(serde_json::from_str(json)?),
        false => Err(JsonError::Refused(TOO_LARGE.to_owned())),
    }
}

/// A value as a call in SQL has it.
pub fn typed(value: &Value) -> String {
    match value {
        Value::String(text) => quote_literal(text),
        Value::Array(all) if all.iter().all(Value::is_string) && !all.is_empty() => {
            array_literal(all.iter().filter_map(Value::as_str))
        }
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(Value::to_string).collect();
            quote_literal(format!("{{{}}}", all.join(",")))
        }
        Value::Object(_) => quote_literal(value.to_string()),
        other => other.to_string(),
    }
}

/// What a value holds.
pub fn of_value<T: DeserializeOwned>(value: Value) -> Result<T, JsonError> {
    Ok(serde_json::from_value(value)?)
}

fn read_by<'a, T>(
    json: &'a str,
    read: impl FnOnce(&mut Deserializer<StrRead<'a>>) -> Result<T, Error>,
) -> Result<T, JsonError> {
    if !has_small_texts(json) {
        return Err(JsonError::Refused(TOO_LONG.to_owned()));
    }
    let mut from = Deserializer::from_str(json);
    let found = read(&mut from)?;
    from.end()?;
    Ok(found)
}

/// The same JSON with its numbers as 64 bits hold them, so that whoever reads it finds them in range.
pub fn again(json: &str) -> Result<String, JsonError> {
    if !has_small_texts(json) {
        return Err(JsonError::Refused(TOO_LONG.to_owned()));
    }
    let mut written = Written::default();
    let mut from = Deserializer::from_str(json);
    Again(&mut written).deserialize(&mut from)?;
    from.end()?;
    // serde_json writes nothing else
    Ok(String::from_utf8(written.0).unwrap_or_default())
}

/// Writes what it reads.
struct Again<'a>(&'a mut Written);

impl Again<'_> {
    fn value<E: serde::de::Error>(self, value: impl Serialize) -> Result<(), E> {
        serde_json::to_writer(self.0, &value).map_err(E::custom)
    }

    fn sign<E: serde::de::Error>(&mut self, sign: u8) -> Result<(), E> {
        self.0 .0.room(1).map_err(E::custom)?.push(sign);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Again<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Again<'_> {
    type Value = ();

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.value(())
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.value(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.value(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.value(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.value(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.value(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let mut sign = b'[';
        loop {
            let begun = BehindSign {
                sign,
                to: &mut *self.0,
            };
            if items.next_element_seed(begun)?.is_none() {
                break;
            }
            sign = b',';
        }
        if sign == b'[' {
            self.sign(sign)?;
        }
        self.sign(b']')
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let mut sign = b'{';
        loop {
            let begun = BehindSign {
                sign,
                to: &mut *self.0,
            };
            if items.next_key_seed(begun)?.is_none() {
                break;
            }
            let begun = BehindSign {
                sign: b':',
                to: &mut *self.0,
            };
            items.next_value_seed(begun)?;
            sign = b',';
        }
        if sign == b'{' {
            self.sign(sign)?;
        }
        self.sign(b'}')
    }
}

/// Writes what it reads behind a sign.
struct BehindSign<'a> {
    sign: u8,
    to: &'a mut Written,
}

impl<'de> DeserializeSeed<'de> for BehindSign<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let mut again = Again(self.to);
        again.sign(self.sign)?;
        again.deserialize(from)
    }
}

/// Whether a text holds the character 0, which no text of PostgreSQL's has.
pub fn has_zero(json: &str) -> bool {
    let mut found = json.match_indices(ZERO);
    found.any(|(at, _)| {
        let before = json[..at].bytes().rev();
        // a backslash that another one stands before begins nothing
        before.take_while(|byte| *byte == b'\\').count() % 2 == 0
    })
}

const ZERO: &str = "\\u0000";

/// Whether each of its texts is small; there may be any number of them.
pub fn has_small_texts(json: &str) -> bool {
    let found = look(json);
    found.longest <= SMALL_BYTES && found.depth <= MOST_DEPTH
}

/// Whether all that is read of it stays small: texts and numbers of them.
pub fn is_small(json: &str) -> bool {
    let found = look(json);
    found.longest <= SMALL_BYTES && found.commas <= MOST_COMMAS
}

/// The longest text, quotes aside; the commas outside texts; how many lists and objects are within each other.
struct Extent {
    longest: usize,
    commas: usize,
    depth: usize,
}

fn look(json: &str) -> Extent {
    let (mut longest, mut commas) = (0, 0);
    let (mut open, mut depth) = (0usize, 0);
    let mut begun = None;
    let mut bytes = json.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (byte, begun) {
            (b'"', None) => begun = Some(at + 1),
            (b'"', Some(start)) => {
                longest = longest.max(at - start);
                begun = None;
            }
            // what follows it ends no text
            (b'\\', Some(_)) => {
                bytes.next();
            }
            (b',', None) => commas += 1,
            (b'[' | b'{', None) => {
                open += 1;
                depth = depth.max(open);
            }
            (b']' | b'}', None) => open = open.saturating_sub(1),
            _ => {}
        }
    }
    Extent {
        longest,
        commas,
        depth,
    }
}
