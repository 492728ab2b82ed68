//! Memory that is asked for with a way to fail. Where a vector cannot grow Rust ends the process, and a server's process
//! takes all sessions with it; so what grows with data asks for room first. Any role.
//!
//! | | |
//! |---|---|
//! | [`Room`] | room in a vector, text, map or set, to be filled at once |
//! | [`gathered`], [`copied`], [`filled`], [`owned`] | new ones |
//! | [`list`], [`text`] | the same for what comes out of a message or JSON: `#[serde(deserialize_with = "…")]` |

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::collections::{HashMap, HashSet, TryReserveError};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

/// There is not enough memory; about how much was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    pub bytes: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory while asking for {} bytes", self.bytes)
    }
}

impl std::error::Error for OutOfMemory {}

/// What grows.
pub trait Room {
    /// Itself, with room for so many items more.
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory>;
}

#[cold]
fn no_room(_: TryReserveError, items: usize, size: usize) -> OutOfMemory {
    OutOfMemory {
        bytes: items.saturating_mul(size) as u64,
    }
}

impl<T> Room for Vec<T> {
    #[inline(always)]
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory> {
        match self.try_reserve(more) {
            Ok(()) => Ok(self),
            Err(error) => Err(no_room(error, self.len().saturating_add(more), size_of::<T>())),
        }
    }
}

impl Room for String {
    #[inline(always)]
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory> {
        match self.try_reserve(more) {
            Ok(()) => Ok(self),
            Err(error) => Err(no_room(error, self.len().saturating_add(more), 1)),
        }
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> Room for HashMap<K, V, S> {
    #[inline(always)]
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory> {
        match self.try_reserve(more) {
            Ok(()) => Ok(self),
            Err(error) => Err(no_room(error, self.len().saturating_add(more), size_of::<(K, V)>())),
        }
    }
}

impl<T: Eq + Hash, S: BuildHasher> Room for HashSet<T, S> {
    #[inline(always)]
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory> {
        match self.try_reserve(more) {
            Ok(()) => Ok(self),
            Err(error) => Err(no_room(error, self.len().saturating_add(more), size_of::<T>())),
        }
    }
}

/// All of the items.
pub fn gathered<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let items = items.into_iter();
    let mut all = Vec::new();
    all.room(items.size_hint().0)?;
    for item in items {
        all.room(1)?.push(item);
    }
    Ok(all)
}

/// A copy of the items.
pub fn copied<T: Copy>(items: &[T]) -> Result<Vec<T>, OutOfMemory> {
    let mut all = Vec::new();
    all.room(items.len())?.extend_from_slice(items);
    Ok(all)
}

/// So many times the same.
pub fn filled<T: Clone>(item: T, count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut all = Vec::new();
    all.room(count)?.resize(count, item);
    Ok(all)
}

/// A copy of the text.
pub fn owned(text: &str) -> Result<String, OutOfMemory> {
    let mut copy = String::new();
    copy.room(text.len())?.push_str(text);
    Ok(copy)
}

/// Bytes that a list takes on faith in the length that is told before its items.
const TRUSTED_BYTES: usize = 1 << 16;

/// Reads a list.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    struct Items<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let most = TRUSTED_BYTES / size_of::<T>().max(1);
            let mut all = Vec::new();
            all.room(items.size_hint().unwrap_or(0).min(most))
                .map_err(A::Error::custom)?;
            while let Some(item) = items.next_element()? {
                all.room(1).map_err(A::Error::custom)?.push(item);
            }
            Ok(all)
        }
    }
    from.deserialize_seq(Items(PhantomData))
}

/// Reads a text.
pub fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
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
    from.deserialize_str(Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than an address space holds.
    const MOST: usize = isize::MAX as usize;

    #[test]
    fn what_cannot_be_had_is_an_error_with_its_bytes() {
        let mut words = vec![1u64, 2];
        let refused = words.room(MOST / 8).err();
        assert_eq!(refused.map(|it| it.bytes), Some((MOST / 8 + 2) as u64 * 8));
        assert!(String::new().room(MOST).is_err());
        assert!(HashMap::<u64, u64>::new().room(MOST / 16).is_err());
        assert!(HashSet::<u64>::new().room(MOST / 8).is_err());
        assert!(filled(0u8, MOST).is_err());
        assert!(gathered((0..MOST).map(|n| n as u64)).is_err());
    }

    #[test]
    fn what_can_be_had_is_filled() {
        assert_eq!(gathered([1, 2, 3].iter()).unwrap(), [&1, &2, &3]);
        assert_eq!(gathered((0..9).filter(|n| n % 2 == 0)).unwrap(), [0, 2, 4, 6, 8]);
        assert_eq!(copied(&[1, 2]).unwrap(), [1, 2]);
        assert_eq!(filled(7, 2).unwrap(), [7, 7]);
        assert_eq!(owned("ab").unwrap(), "ab");
        let mut text = "a".to_owned();
        text.room(1).unwrap().push('b');
        assert_eq!(text, "ab");
    }
}
