//! Which bytes of a text are of words, eight at a time where they are ASCII, and where runs of such bytes begin and end. One
//! buffer for all texts.

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::letters::is_of_word;

const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * EACH;
/// Bytes of a text between two looks for interrupts.
const BYTES_A_LOOK: usize = 1 << 16;

/// The first bytes, up to eight, in the order of their places from the lowest on; 0 in the place of what is not there.
#[inline(always)]
fn eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => {
            let place = |sum, byte: &u8| sum << 8 | u64::from(*byte);
            bytes.iter().rev().fold(0, place)
        }
    }
}

/// How many ASCII bytes come first.
pub fn ascii_length(bytes: &[u8]) -> usize {
    for (number, chunk) in bytes.chunks(8).enumerate() {
        let others = eight(chunk) & HIGH;
        if others != 0 {
            return 8 * number + others.trailing_zeros() as usize / 8;
        }
    }
    bytes.len()
}

/// Of eight ASCII bytes a bit for each that is of words: no capital letters.
#[inline(always)]
fn small_of_words(eight: u64) -> u64 {
    // the high bit of a byte from `least` on
    let from = |least: u8| eight + u64::from(0x80 - least) * EACH;
    let within = |least: u8, greatest: u8| from(least) & !from(greatest + 1);
    let found = (within(b'a', b'z') | within(b'0', b'9') | within(b'_', b'_')) & HIGH;
    // one bit a byte, brought together: no two of the products meet in a bit
    (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// A bit for each byte of a text.
#[derive(Debug, Default)]
pub struct Marks(Vec<u64>);

impl Marks {
    /// Marks the bytes of a text that are of words; what is ASCII is in lower case.
    pub fn make(&mut self, text: &str) -> Result<(), OutOfMemory> {
        let bytes = text.as_bytes();
        // one word more, for the end of the last run
        let words = bytes.len() / 64 + 2;
        self.0.clear();
        self.0.room(words)?.resize(words, 0);
        let (mut at, mut look) = (0, 0);
        while at < bytes.len() {
            if at >= look {
                interrupts::check();
                look = at + BYTES_A_LOOK;
            }
            let next = eight(&bytes[at..]);
            if next & HIGH == 0 {
                self.put(at, small_of_words(next));
                at += 8;
            } else {
                at = self.put_characters(text, at);
            }
        }
        Ok(())
    }

    /// Takes the marks of up to eight bytes from this one on.
    #[inline(always)]
    fn put(&mut self, at: usize, marks: u64) {
        let (word, bit) = (at / 64, at % 64);
        self.0[word] |= marks << bit;
        if bit > 56 {
            self.0[word + 1] |= marks >> (64 - bit);
        }
    }

    /// Reads characters one by one until behind the first that is not ASCII; gives the place behind it.
    fn put_characters(&mut self, text: &str, mut at: usize) -> usize {
        for character in text[at..].chars() {
            let length = character.len_utf8();
            if is_of_word(character) {
                self.put(at, (1 << length) - 1);
            }
            at += length;
            if length > 1 {
                break;
            }
        }
        at
    }

    /// Visits the runs, each from its first byte to behind its last.
    #[inline(always)]
    pub fn each_run(
        &self,
        mut visit: impl FnMut(usize, usize) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let (mut last, mut begin) = (0, None);
        for (word, marks) in self.0.iter().enumerate() {
            if word.is_multiple_of(BYTES_A_LOOK / 64) {
                interrupts::check();
            }
            // where a bit differs from the one before
            let mut edges = marks ^ (marks << 1 | last);
            last = marks >> 63;
            while edges != 0 {
                let at = 64 * word + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                match begin.take() {
                    None => begin = Some(at),
                    Some(begin) => visit(begin, at)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::letters::is_ascii_of_word;

    fn runs(text: &str) -> Vec<&str> {
        let (mut marks, mut found) = (Marks::default(), Vec::new());
        marks.make("what was there before").unwrap();
        marks.make(text).unwrap();
        let take = |begin, end| {
            found.push(&text[begin..end]);
            Ok(())
        };
        marks.each_run(take).unwrap();
        found
    }

    #[test]
    fn each_ascii_byte_is_marked_as_the_table_says() {
        for byte in (0..0x80u8).filter(|byte| !byte.is_ascii_uppercase()) {
            for place in 0..8 {
                let marks = small_of_words(u64::from(byte) << (8 * place));
                let wanted = u64::from(is_ascii_of_word(byte)) << place;
                assert_eq!(marks, wanted, "{byte:x} at {place}");
            }
        }
        assert_eq!(
            small_of_words(u64::from_le_bytes(*b"ab c_9-z")),
            0b1011_1011
        );
    }

    #[test]
    fn runs_are_those_of_characters_one_by_one() {
        let pieces = [
            "ab",
            " ",
            "é",
            "中文",
            "-",
            "x_1 y2",
            "€",
            "𝔸b",
            "a long one without end ",
        ];
        for length in 0..200 {
            let text: String = (0..length)
                .map(|at| pieces[(at * at + length) % 9])
                .collect();
            let split = text.split(|it| !is_of_word(it));
            let wanted: Vec<_> = split.filter(|run| !run.is_empty()).collect();
            assert_eq!(runs(&text), wanted, "{text}");
        }
    }

    #[test]
    fn the_first_byte_that_is_not_ascii_is_found() {
        for length in 0..40 {
            let ascii = "x".repeat(length);
            assert_eq!(ascii_length(ascii.as_bytes()), length);
            assert_eq!(ascii_length(format!("{ascii}é more").as_bytes()), length);
        }
    }
}
