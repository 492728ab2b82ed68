//! The words of a text as scikit-learn takes them by default: lower case, runs of two or more characters of words, and of
//! those runs of up to so many words with blanks between them. One buffer for all texts.

use std::ops::RangeInclusive;

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::marks::{ascii_length, Marks};
use crate::words::Word;

/// Most words of a run.
pub const MOST_RUN: u32 = 5;
/// Words between two looks for interrupts.
const WORDS_A_LOOK: usize = 1 << 12;
/// Bytes of a text made ready between two looks.
const BYTES_A_LOOK: usize = 1 << 16;
/// Most words that are visited at once.
pub const GROUP: usize = 16;
/// Characters on each side of a capital sigma that decide which small one it becomes.
const AROUND_SIGMA: usize = 16;

/// The words of one text.
#[derive(Debug, Default)]
pub struct Tokens {
    /// What they stand in.
    text: String,
    /// Where each begins and ends.
    places: Vec<(u32, u32)>,
    run: String,
    marks: Marks,
}

impl Tokens {
    /// Forgets the words.
    pub fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
    }

    /// Takes the words of a text in place of those before.
    pub fn split(&mut self, text: &str) -> Result<(), OutOfMemory> {
        self.clear();
        match text.is_ascii() {
            true => self.lower_ascii(text)?,
            false => self.lower(text)?,
        }
        self.find()
    }

    /// Takes the characters of a text in place of what was there before: in lower case, and one blank for several, as
    /// scikit-learn's analyzer of characters has them, or as they are.
    pub fn split_characters(&mut self, text: &str, as_they_are: bool) -> Result<(), OutOfMemory> {
        self.clear();
        match as_they_are {
            true => self.text.room(text.len())?.push_str(text),
            false => {
                self.lower(text)?;
                self.join_blanks()?;
            }
        }
        let characters = self.text.char_indices().enumerate();
        self.places.room(self.text.len())?;
        self.places.extend(characters.map(|(count, (at, it))| {
            if count.is_multiple_of(BYTES_A_LOOK) {
                interrupts::check();
            }
            (at as u32, (at + it.len_utf8()) as u32)
        }));
        Ok(())
    }

    /// Visits all runs of so many characters, up to [`GROUP`] at once.
    pub fn each_gram<E: From<OutOfMemory>>(
        &self,
        lengths: RangeInclusive<u32>,
        mut visit: impl FnMut(&[Word<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        for length in lengths {
            let last = length as usize - 1;
            let begins = self.places.iter();
            let ends = self.places.iter().skip(last);
            self.groups(
                begins.zip(ends).map(|(begin, end)| (begin.0, end.1)),
                &mut visit,
            )?;
        }
        Ok(())
    }

    /// Visits what is at these places, so many at once.
    #[inline(always)]
    fn groups<E>(
        &self,
        places: impl Iterator<Item = (u32, u32)>,
        visit: &mut impl FnMut(&[Word<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut group, mut count, mut look) = ([Word::default(); GROUP], 0, 0);
        for (begin, end) in places {
            group[count] = Word::within(&self.text, begin as usize, end as usize);
            count += 1;
            if count == GROUP {
                visit(&group)?;
                (count, look) = (0, look + GROUP);
                if look >= WORDS_A_LOOK {
                    interrupts::check();
                    look = 0;
                }
            }
        }
        match count {
            0 => Ok(()),
            _ => visit(&group[..count]),
        }
    }

    /// Puts one blank in the place of several, whatever they are.
    fn join_blanks(&mut self) -> Result<(), OutOfMemory> {
        let is_blank = |it: char| it.is_whitespace() || ('\x1c'..='\x1f').contains(&it);
        self.run.clear();
        self.run.room(self.text.len())?;
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find(is_blank) {
            interrupts::check();
            let blanks = rest[at..]
                .find(|it| !is_blank(it))
                .unwrap_or(rest.len() - at);
            let several = rest[at..at + blanks].chars().nth(1).is_some();
            self.run.push_str(&rest[..at]);
            match several {
                true => self.run.push(' '),
                false => self.run.push_str(&rest[at..at + blanks]),
            }
            rest = &rest[at + blanks..];
        }
        self.run.push_str(rest);
        core::mem::swap(&mut self.text, &mut self.run);
        Ok(())
    }

    /// Adds one word as it is.
    pub fn add(&mut self, word: &str) -> Result<(), OutOfMemory> {
        let begin = self.text.len() as u32;
        self.text.room(word.len())?.push_str(word);
        let end = self.text.len() as u32;
        self.places.room(1)?.push((begin, end));
        if self.places.len().is_multiple_of(WORDS_A_LOOK) {
            interrupts::check();
        }
        Ok(())
    }

    /// How many words there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// The words in the order of the text.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let places = self.places.iter();
        places.map(|(begin, end)| &self.text[*begin as usize..*end as usize])
    }

    /// Visits all words, and then all runs of up to `longest` words; up to [`GROUP`] at once.
    pub fn each<E: From<OutOfMemory>>(
        &mut self,
        longest: u32,
        mut visit: impl FnMut(&[Word<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.groups(self.places.iter().copied(), &mut visit)?;
        for length in 2..=longest as usize {
            for (at, places) in self.places.windows(length).enumerate() {
                if at.is_multiple_of(WORDS_A_LOOK) {
                    interrupts::check();
                }
                self.run.clear();
                for (begin, end) in places {
                    let word = &self.text[*begin as usize..*end as usize];
                    self.run.room(word.len() + 1)?.push_str(word);
                    self.run.push(' ');
                }
                visit(&[Word::new(self.run.trim_end_matches(' '))])?;
            }
        }
        Ok(())
    }

    fn lower_ascii(&mut self, text: &str) -> Result<(), OutOfMemory> {
        self.text.room(text.len())?;
        // pieces of ASCII end where characters do
        for from in (0..text.len()).step_by(BYTES_A_LOOK) {
            interrupts::check();
            let piece = &text[from..text.len().min(from + BYTES_A_LOOK)];
            self.text.push_str(piece);
            self.text[from..].make_ascii_lowercase();
        }
        Ok(())
    }

    /// Unicode's lower case, whatever the locale.
    fn lower(&mut self, text: &str) -> Result<(), OutOfMemory> {
        self.text.room(text.len())?;
        let mut at = 0;
        while at < text.len() {
            interrupts::check();
            // short pieces of ASCII and what stands between them
            let end = text.len().min(at + BYTES_A_LOOK);
            let ascii = ascii_length(&text.as_bytes()[at..end]);
            let begin = self.text.room(ascii)?.len();
            self.text.push_str(&text[at..at + ascii]);
            self.text[begin..].make_ascii_lowercase();
            at += ascii;
            for character in text[at..].chars().take_while(|it| !it.is_ascii()) {
                self.lower_other(text, at, character)?;
                at += character.len_utf8();
            }
        }
        Ok(())
    }

    /// Takes a character that is not ASCII, at this place of the text.
    #[inline(always)]
    fn lower_other(&mut self, text: &str, at: usize, character: char) -> Result<(), OutOfMemory> {
        match character {
            'Σ' => {
                self.text.room(2)?.push(small_sigma(text, at));
            }
            other => {
                for small in other.to_lowercase() {
                    self.text.room(small.len_utf8())?.push(small);
                }
            }
        }
        Ok(())
    }

    /// Finds the words of the text in lower case.
    fn find(&mut self) -> Result<(), OutOfMemory> {
        self.marks.make(&self.text)?;
        let (text, places) = (self.text.as_bytes(), &mut self.places);
        self.marks.each_run(|begin, end| {
            // two characters at least: one may take four bytes, its first says how many
            let one = match end - begin {
                1 => true,
                length @ 2..=4 => text[begin].leading_ones() as usize == length,
                _ => false,
            };
            if !one {
                places.room(1)?.push((begin as u32, end as u32));
            }
            Ok(())
        })
    }
}

/// The small letter of the capital sigma at this place, which is another one where a word ends.
fn small_sigma(text: &str, at: usize) -> char {
    let before = text[..at].char_indices().rev().take(AROUND_SIGMA).last();
    let begin = before.map_or(at, |(begin, _)| begin);
    let after = text[at..].char_indices().nth(AROUND_SIGMA);
    let end = after.map_or(text.len(), |(end, _)| at + end);
    // a few characters, for which a string may ask without a way to fail
    let place = text[begin..at].to_lowercase().chars().count();
    let lower = text[begin..end].to_lowercase();
    lower.chars().nth(place).unwrap_or('σ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut tokens = Tokens::default();
        tokens.split("what was there before").unwrap();
        tokens.split(text).unwrap();
        tokens.words().map(str::to_owned).collect()
    }

    #[test]
    fn words_are_runs_of_two_or_more_characters_in_lower_case() {
        assert_eq!(
            words("Free entry: win £1,000 NOW!! a b_c x2"),
            ["free", "entry", "win", "000", "now", "b_c", "x2"]
        );
        assert_eq!(words("it's a dog's life"), ["it", "dog", "life"]);
        assert!(words("").is_empty() && words("a . b").is_empty());
        assert_eq!(words("ab"), ["ab"]);
    }

    #[test]
    fn other_scripts_have_words_too() {
        assert_eq!(
            words("Übermäßig GROẞE Straße"),
            ["übermäßig", "große", "straße"]
        );
        assert_eq!(words("ПРИВЕТ, мир"), ["привет", "мир"]);
        assert_eq!(words("中文 字"), ["中文"]);
        assert_eq!(words("ΟΔΟΣ ΣΟΦΟΣ·ΑΣΑ"), ["οδος", "σοφοσ", "ασα"]);
        // a dot above that stands apart ends a word
        assert_eq!(words("İSTANBUL"), ["stanbul"]);
    }

    #[test]
    fn long_texts_are_taken_in_pieces() {
        let text = "ab CD ".repeat(1 << 15);
        assert_eq!(words(&text).len(), 1 << 16);
        assert!(words(&text).iter().all(|word| word == "ab" || word == "cd"));
        let text = "äb ".repeat(1 << 15);
        assert_eq!(words(&text).len(), 1 << 15);
    }

    #[test]
    fn characters_come_in_runs() {
        let grams = |text: &str, lengths, as_they_are| {
            let mut tokens = Tokens::default();
            tokens.split_characters(text, as_they_are).unwrap();
            let mut all = Vec::new();
            let visit = |grams: &[Word<'_>]| {
                all.extend(grams.iter().map(|gram| gram.text().to_owned()));
                Ok::<_, OutOfMemory>(())
            };
            tokens.each_gram(lengths, visit).unwrap();
            all
        };
        assert_eq!(
            grams("Aé \t\nB\t", 1..=2, false),
            ["a", "é", " ", "b", "\t", "aé", "é ", " b", "b\t"]
        );
        assert_eq!(grams("ACa", 2..=2, true), ["AC", "Ca"]);
        assert!(grams("ab", 3..=4, false).is_empty());
    }

    #[test]
    fn runs_of_words_come_behind_the_words() {
        let mut tokens = Tokens::default();
        tokens.split("One two three").unwrap();
        let mut all = Vec::new();
        let visit = |words: &[Word<'_>]| {
            all.extend(words.iter().map(|word| word.text().to_owned()));
            Ok::<_, OutOfMemory>(())
        };
        tokens.each(3, visit).unwrap();
        assert_eq!(
            all,
            [
                "one",
                "two",
                "three",
                "one two",
                "two three",
                "one two three"
            ]
        );
    }
}
