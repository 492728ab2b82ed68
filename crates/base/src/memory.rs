//! Memory that is asked for with a way to fail. Where a vector cannot grow Rust ends the process, and with a server's process all sessions.
//! So what grows with data asks for room first. Used by all roles.
//!
//! | | |
//! |---|---|
//! | [`Room`] | room in a vector, text, map or set, to be filled at once |
//! | [`gathered`], [`all_of`], [`copied`], [`filled`], [`owned`], [`lossy`] | new ones |
//! | [`Written`] | what something writes |
//! | [`reserve`] | memory kept for when there is no more |
//! | [`list`], [`text`], [`received()`], [`words`] | what comes out of a message or JSON |

mod received;
pub mod reserve;

pub use received::{list, received, text, words, Received};

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet, TryReserveError};
use std::fmt;
use std::hash::{BuildHasher, Hash};

/// There is not enough memory; about how much was asked for, 0 where that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfMemory {
    pub bytes: u64,
}

impl OutOfMemory {
    /// How what it says begins, also where serde passes it on.
    pub const WORDS: &'static str = "out of memory";
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            0 => f.write_str(Self::WORDS),
            bytes => write!(f, "{} while asking for {bytes} bytes", Self::WORDS),
        }
    }
}

impl std::error::Error for OutOfMemory {}

impl From<TryReserveError> for OutOfMemory {
    fn from(_: TryReserveError) -> Self {
        Self { bytes: 0 }
    }
}

/// What grows.
pub trait Room {
    /// Itself, with room for so many items more.
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory>;
}

#[cold]
fn no_room(_: TryReserveError, items: usize, size: usize) -> OutOfMemory {
    // for what is told of it
    reserve::let_go();
    OutOfMemory {
        bytes: items.saturating_mul(size) as u64,
    }
}

impl<T> Room for Vec<T> {
    #[inline(always)]
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory> {
        match self.try_reserve(more) {
            Ok(()) => Ok(self),
            Err(error) => Err(no_room(
                error,
                self.len().saturating_add(more),
                size_of::<T>(),
            )),
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
            Err(error) => Err(no_room(
                error,
                self.len().saturating_add(more),
                size_of::<(K, V)>(),
            )),
        }
    }
}

impl<T: Eq + Hash, S: BuildHasher> Room for HashSet<T, S> {
    #[inline(always)]
    fn room(&mut self, more: usize) -> Result<&mut Self, OutOfMemory> {
        match self.try_reserve(more) {
            Ok(()) => Ok(self),
            Err(error) => Err(no_room(
                error,
                self.len().saturating_add(more),
                size_of::<T>(),
            )),
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

/// All of the items, unless one of them has failed.
pub fn all_of<T, E: From<OutOfMemory>>(
    items: impl IntoIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let items = items.into_iter();
    let mut all = Vec::new();
    all.room(items.size_hint().0)?;
    for item in items {
        all.room(1)?.push(item?);
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

/// A copy of the bytes as text, with signs in place of what is no UTF-8.
pub fn lossy(bytes: &[u8]) -> Result<String, OutOfMemory> {
    let mut copy = String::new();
    copy.room(bytes.len())?;
    for chunk in bytes.utf8_chunks() {
        copy.room(chunk.valid().len())?.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            copy.room(3)?.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Ok(copy)
}

/// What writes go to, as far as there is memory.
#[derive(Debug, Default)]
pub struct Written(pub Vec<u8>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.room(bytes.len()) {
            Ok(room) => room.extend_from_slice(bytes),
            Err(_) => return Err(std::io::ErrorKind::OutOfMemory.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
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
        assert_eq!(
            gathered((0..9).filter(|n| n % 2 == 0)).unwrap(),
            [0, 2, 4, 6, 8]
        );
        let failing = |n: i32| {
            if n < 3 {
                Ok(n)
            } else {
                Err(OutOfMemory { bytes: 7 })
            }
        };
        assert_eq!(all_of((0..3).map(failing)), Ok(vec![0, 1, 2]));
        assert_eq!(all_of((0..4).map(failing)), Err(OutOfMemory { bytes: 7 }));
        assert_eq!(copied(&[1, 2]).unwrap(), [1, 2]);
        assert_eq!(filled(7, 2).unwrap(), [7, 7]);
        assert_eq!(owned("ab").unwrap(), "ab");
        assert_eq!(lossy(b"a\xffb").unwrap(), "a\u{fffd}b");
        let mut text = "a".to_owned();
        text.room(1).unwrap().push('b');
        assert_eq!(text, "ab");
    }
}
