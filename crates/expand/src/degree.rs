//! The weighted degree features of a string over a small alphabet: each run of one to d letters at each place is a feature of
//! its own. The product of two strings' features is the weighted degree kernel (Rätsch and Sonnenburg 2004), which counts the
//! runs that both have at the same places; runs of k letters weigh 2 (d - k + 1) / (d (d + 1)).
//!
//! With a letters there are B = a + a² + … + a^d runs at a place. A run of k letters, read as a number c in base a, at place p
//! from 0 has the number p B + (a + … + a^(k-1)) + c.

use crate::base::interrupts;

/// Most runs at one place.
const MOST_RUNS: u64 = 1 << 31;
/// Letters of the longest run, for as many numbers: of two letters.
const LONGEST_RUN: usize = 30;
/// Places between two looks for interrupts.
const PLACES_A_LOOK: usize = 1 << 12;

/// Which numbers and weights runs have, whatever the letters are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Runs {
    letters: u64,
    longest: usize,
    /// By length from 1, the number of the first run of that length at a place; and behind them B.
    offsets: [u64; LONGEST_RUN + 1],
    /// By length from 1, the root of what runs weigh.
    roots: [f64; LONGEST_RUN],
}

/// How strings are read.
#[derive(Debug, Clone, PartialEq)]
pub struct Degree {
    /// By byte, the letter's number + 1; 0 where it is none.
    letters: [u8; 256],
    alphabet: Vec<u8>,
    runs: Runs,
}

/// What is no letter of the alphabet, and its place from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoLetter {
    pub place: usize,
    pub byte: u8,
}

impl Runs {
    /// Of up to `most` of so many letters; None where there are more runs than numbers.
    pub fn new(letters: usize, most: u32) -> Option<Self> {
        if letters < 2 || most == 0 {
            return None;
        }
        let longest = usize::try_from(most).ok()?;
        if longest > LONGEST_RUN {
            return None;
        }
        let (mut offsets, mut runs, mut all) = ([0; LONGEST_RUN + 1], 1u64, 0u64);
        for offset in &mut offsets[1..=longest] {
            runs = runs.checked_mul(letters as u64)?;
            all = all.checked_add(runs).filter(|all| *all < MOST_RUNS)?;
            *offset = all;
        }
        let d = f64::from(most);
        let mut roots = [0.0; LONGEST_RUN];
        for (k, root) in (1..=most).zip(&mut roots) {
            *root = (2.0 * (d - f64::from(k) + 1.0) / (d * (d + 1.0))).sqrt();
        }
        Some(Self {
            letters: letters as u64,
            longest,
            offsets,
            roots,
        })
    }

    pub fn letters(&self) -> usize {
        self.letters as usize
    }

    /// Letters of the longest run.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Runs that there are at one place: B.
    pub fn at_a_place(&self) -> u64 {
        self.offsets[self.longest]
    }

    /// By length from 1, the number of the first run of that length at a place.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets[..self.longest()]
    }

    /// Runs of a string of so many letters.
    pub fn count(&self, length: usize) -> usize {
        let longest = self.longest().min(length);
        longest * length - longest * longest.saturating_sub(1) / 2
    }

    /// What the roots are multiplied by, so that the squares of a string's values add up to 1.
    fn scale(&self, length: usize) -> f64 {
        let squares: f64 = (1..=self.longest().min(length))
            .map(|k| (length - k + 1) as f64 * self.roots[k - 1] * self.roots[k - 1])
            .sum();
        1.0 / squares.sqrt()
    }

    /// By length from 1, the value of the runs of a string of so many letters.
    pub fn values(&self, length: usize) -> impl Iterator<Item = f64> + '_ {
        let scale = self.scale(length);
        let roots = self.roots[..self.longest].iter();
        roots.map(move |root| root * scale)
    }
}

impl Degree {
    /// The alphabet where none is named.
    pub const USUAL: &'static str = "ACGT";

    /// For runs of up to `most` letters; None where the letters are none, or not ASCII, or twice, or there are more runs than
    /// numbers.
    pub fn new(alphabet: &str, most: u32) -> Option<Self> {
        let bytes = alphabet.as_bytes();
        let mut letters = [0; 256];
        for (number, byte) in bytes.iter().enumerate() {
            let letter = &mut letters[usize::from(*byte)];
            if !byte.is_ascii() || *letter != 0 {
                return None;
            }
            *letter = number as u8 + 1;
        }
        Some(Self {
            letters,
            alphabet: bytes.to_vec(),
            runs: Runs::new(bytes.len(), most)?,
        })
    }

    /// How many letters there are, and those of the longest run.
    pub fn form(&self) -> (usize, usize) {
        (self.alphabet.len(), self.runs.longest())
    }

    /// Visits numbers and weights of a string's features in ascending order; their squares add up to 1.
    pub fn each<E: From<NoLetter>>(
        &self,
        text: &[u8],
        mut visit: impl FnMut(u64, f64) -> Result<(), E>,
    ) -> Result<(), E> {
        let Runs {
            offsets,
            roots,
            longest,
            ..
        } = &self.runs;
        let (longest, scale) = (*longest, self.runs.scale(text.len()));
        for place in 0..text.len() {
            if place.is_multiple_of(PLACES_A_LOOK) {
                interrupts::check();
            }
            let first = place as u64 * self.runs.at_a_place();
            let mut code = 0;
            for (length, byte) in text[place..].iter().take(longest).enumerate() {
                let letter = self.letters[usize::from(*byte)];
                if letter == 0 {
                    let place = place + length;
                    return Err(NoLetter { place, byte: *byte }.into());
                }
                code = code * self.alphabet.len() as u64 + u64::from(letter - 1);
                visit(first + offsets[length] + code, roots[length] * scale)?;
            }
        }
        Ok(())
    }

    /// The place from 0 and the letters of the feature with this number.
    pub fn run(&self, number: u64) -> (u64, String) {
        let runs = self.runs.at_a_place();
        let (place, mut rest) = (number / runs, number % runs);
        let offsets = &self.runs.offsets[..=self.runs.longest];
        let behind = offsets.partition_point(|offset| *offset <= rest);
        rest -= offsets[behind - 1];
        let mut letters = vec![0; behind];
        for letter in letters.iter_mut().rev() {
            *letter = self.alphabet[(rest % self.alphabet.len() as u64) as usize];
            rest /= self.alphabet.len() as u64;
        }
        (place, letters.into_iter().map(char::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(degree: &Degree, text: &str) -> Vec<(u64, f64)> {
        let mut all = Vec::new();
        degree
            .each(text.as_bytes(), |number, weight| {
                all.push((number, weight));
                Ok::<_, NoLetter>(())
            })
            .unwrap();
        all
    }

    /// The kernel by its definition.
    fn kernel(one: &str, other: &str, d: usize) -> f64 {
        let mut sum = 0.0;
        for k in 1..=d {
            let weight = 2.0 * (d - k + 1) as f64 / (d * (d + 1)) as f64;
            let same = (0..=one.len() - k).filter(|at| one[*at..at + k] == other[*at..at + k]);
            sum += weight * same.count() as f64;
        }
        sum
    }

    #[test]
    fn products_are_the_kernel() {
        let degree = Degree::new("ACGT", 3).unwrap();
        let (one, other) = ("ACGTACGGT", "ACGAACGCT");
        let (a, b) = (features(&degree, one), features(&degree, other));
        let product: f64 = a
            .iter()
            .filter_map(|(number, x)| b.iter().find(|it| it.0 == *number).map(|it| x * it.1))
            .sum();
        let length = (kernel(one, one, 3) * kernel(other, other, 3)).sqrt();
        assert!((product - kernel(one, other, 3) / length).abs() < 1e-12);
        assert!(a.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn the_papers_strings_have_so_many_features() {
        let degree = Degree::new("ACGT", 8).unwrap();
        assert_eq!(degree.runs.at_a_place() * 200, 17_476_000);
    }

    #[test]
    fn numbers_tell_place_and_letters() {
        let degree = Degree::new("ACGT", 4).unwrap();
        let text = "GATTACA";
        let names: Vec<_> = features(&degree, text)
            .iter()
            .map(|it| degree.run(it.0))
            .collect();
        for (place, letters) in &names {
            assert!(text[*place as usize..].starts_with(letters.as_str()));
        }
        assert_eq!(names.len(), 4 * 4 + 3 + 2 + 1);
    }

    #[test]
    fn what_is_no_letter_is_told_with_its_place() {
        let degree = Degree::new("ACGT", 2).unwrap();
        let found = degree.each(b"ACNT", |_, _| Ok::<_, NoLetter>(()));
        assert_eq!(
            found,
            Err(NoLetter {
                place: 2,
                byte: b'N'
            })
        );
    }

    #[test]
    fn alphabets_and_degrees_that_cannot_be_are_refused() {
        for (alphabet, most) in [
            ("", 2),
            ("A", 2),
            ("AA", 2),
            ("Aä", 2),
            ("ACGT", 0),
            ("ACGT", 16),
        ] {
            assert_eq!(Degree::new(alphabet, most), None, "{alphabet} {most}");
        }
    }
}
