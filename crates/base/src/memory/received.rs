//! Values that are read from bytes or JSON which somebody else may have written: texts and lists for which memory is asked with a
//! way to fail. serde's own ones end the process where there is none, so no field has them (`scripts/received` looks after that).
//!
//! | field | is read by |
//! |---|---|
//! | `String` | `#[serde(deserialize_with = "text")]` |
//! | `Vec<T>` of what is derived | `#[serde(deserialize_with = "list")]` |
//! | `Vec<u32>` of many words | `#[serde(with = "words")]` |
//! | `Option<String>`, `Vec<String>`, `Vec<(String, f64)>`, `Vec<Vec<f32>>`, … | `#[serde(deserialize_with = "received")]` |

use super::{owned, Room};
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::Deserialize;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

/// Bytes that a list takes on faith in the length that is told before its items, where these are larger than a number.
const TRUSTED_BYTES: usize = 1 << 16;
/// Bytes of a number: of so small items there may be as many as the message has bytes.
const NUMBER_BYTES: usize = 8;

/// What asks for memory with a way to fail while it is read.
pub trait Received<'de>: Sized {
    fn receive<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

/// Reads what asks for memory with a way to fail.
pub fn received<'de, D: Deserializer<'de>, T: Received<'de>>(from: D) -> Result<T, D::Error> {
    T::receive(from)
}

/// Types that are read as they derive it, and take memory only as their fields say.
#[macro_export]
macro_rules! received_as_derived {
    ($($type:ty),* $(,)?) => {
        $(
            impl<'de> $crate::memory::Received<'de> for $type {
                #[inline(always)]
                fn receive<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    <$type as serde::Deserialize>::deserialize(from)
                }
            }
        )*
    };
}

received_as_derived!(bool, u8, u16, u32, u64, usize, i8, i16, i32, i64, f32, f64);

/// What reads one by [`Received`] where serde asks for a seed.
struct By<T>(PhantomData<T>);

impl<'de, T: Received<'de>> DeserializeSeed<'de> for By<T> {
    type Value = T;

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::receive(from)
    }
}

/// What reads one as serde does.
struct Derived<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Derived<T> {
    type Value = T;

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::deserialize(from)
    }
}

/// Items of a list, each by a seed.
struct SeededItems<S>(fn() -> S);

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for SeededItems<S> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    #[inline(always)]
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<S::Value>, A::Error> {
        let most = match size_of::<S::Value>() {
            ..=NUMBER_BYTES => usize::MAX,
            larger => TRUSTED_BYTES / larger,
        };
        let mut all = Vec::new();
        all.room(items.size_hint().unwrap_or(0).min(most))
            .map_err(A::Error::custom)?;
        while let Some(item) = items.next_element_seed(self.0())? {
            all.room(1).map_err(A::Error::custom)?.push(item);
        }
        Ok(all)
    }
}

/// Reads a list.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(SeededItems(|| Derived(PhantomData::<T>)))
}

impl<'de, T: Received<'de>> Received<'de> for Vec<T> {
    fn receive<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(SeededItems(|| By(PhantomData::<T>)))
    }
}

/// Reads a text.
pub fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::receive(from)
}

struct Text;

impl Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        owned(text).map_err(E::custom)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<String, E> {
        Ok(text)
    }
}

impl<'de> Received<'de> for String {
    fn receive<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Text)
    }
}

impl<'de> Received<'de> for Rc<str> {
    fn receive<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::receive(from)?;
        // the counters and a copy have no way to fail: so there is room for them first
        String::new()
            .room(text.len() + 2 * size_of::<usize>())
            .map_err(D::Error::custom)?;
        Ok(text.into())
    }
}

impl<'de, T: Received<'de>> Received<'de> for Option<T> {
    fn receive<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Perhaps<T>(PhantomData<T>);

        impl<'de, T: Received<'de>> Visitor<'de> for Perhaps<T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or none")
            }

            fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
                T::receive(from).map(Some)
            }
        }
        from.deserialize_option(Perhaps(PhantomData))
    }
}

impl<'de, A: Received<'de>, B: Received<'de>> Received<'de> for (A, B) {
    fn receive<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Both<A, B>(PhantomData<(A, B)>);

        impl<'de, A: Received<'de>, B: Received<'de>> Visitor<'de> for Both<A, B> {
            type Value = (A, B);

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two values")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<(A, B), S::Error> {
                let missing = |at| S::Error::invalid_length(at, &"two values");
                let first = items.next_element_seed(By(PhantomData))?;
                let first = first.ok_or_else(|| missing(0))?;
                let second = items.next_element_seed(By(PhantomData))?;
                Ok((first, second.ok_or_else(|| missing(1))?))
            }
        }
        from.deserialize_tuple(2, Both(PhantomData))
    }
}

/// Lists of words, written as their bytes in little endian order, a piece at a time.
pub mod words {
    use super::{fmt, Room};
    use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
    use serde::ser::SerializeSeq;
    use serde::{Deserializer, Serialize, Serializer};

    /// Words of a piece.
    const WORDS: usize = 1024;
    const WIDTH: usize = size_of::<u32>();

    struct Piece<'a>(&'a [u8]);

    impl Serialize for Piece<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_bytes(self.0)
        }
    }

    /// Writes a list.
    pub fn serialize<S: Serializer>(words: &[u32], to: S) -> Result<S::Ok, S::Error> {
        let mut pieces = to.serialize_seq(Some(words.len().div_ceil(WORDS)))?;
        let mut bytes = [0; WORDS * WIDTH];
        for piece in words.chunks(WORDS) {
            for (bytes, word) in bytes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(piece) {
                *bytes = word.to_le_bytes();
            }
            pieces.serialize_element(&Piece(&bytes[..piece.len() * WIDTH]))?;
        }
        pieces.end()
    }

    /// Reads a list.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
        struct Pieces;
        impl<'de> Visitor<'de> for Pieces {
            type Value = Vec<u32>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("words")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pieces: A) -> Result<Vec<u32>, A::Error> {
                let mut words = Vec::new();
                while pieces.next_element_seed(Behind(&mut words))?.is_some() {}
                Ok(words)
            }
        }
        from.deserialize_seq(Pieces)
    }

    /// Reads a piece to the end of a list.
    struct Behind<'a>(&'a mut Vec<u32>);

    impl<'de> DeserializeSeed<'de> for Behind<'_> {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
            from.deserialize_bytes(self)
        }
    }

    impl Visitor<'_> for Behind<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes of words")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<(), E> {
            let (words, _) = bytes.as_chunks::<WIDTH>();
            let room = self.0.room(words.len()).map_err(E::custom)?;
            room.extend(words.iter().map(|word| u32::from_le_bytes(*word)));
            Ok(())
        }
    }
}
