//! Rows that hold a short form in the place of some of their entries, which are made when they are visited. 200 letters of four kinds
//! with their runs of up to 8 take 104 bytes in place of 12,600.
//!
//! A part of the entries, those whose sparse ids are p, p + S, p + 2 S, …, may be kept as
//!
//! | form | holds |
//! |---|---|
//! | [`PartForm::String`] | the letters of a string, whose runs at their places they are ([`pgsvm_expand::degree`]) |
//! | [`PartForm::Counts`] | how often each of some words is there, as values of length 1 say it: the spectrum of a string |
//!
//! What stands where other rows have entries, an even number of words:
//!
//! | word | holds |
//! |---|---|
//! | 0 | entries of the row when it is visited |
//! | 1 | entries that are kept as they are, of parts without a form and where a form would not do |
//! | 2 | how many parts have a form |
//! | 3 | 0 |
//! | 4 .. | the entries that are kept: sparse id, value |
//! | .. | for each part its form |
//!
//! A part's form begins with three words: of a string how many letters there are and in bits 8 to 15 those of the longest run, of counts 0;
//! S, and p from bit 16 on; and how many letters or counts there are. The letters follow from the lowest bits on, each with as many bits as the
//! largest needs. Counts are bytes, whose number stands in front of them in a word: by ascending number what lies between it and the one
//! before, twice, and one more where a count of more than one follows, both in units of seven bits, the lowest first, with the eighth bit set in all but the last.
//!
//! So a row says itself how it is made, and rows of all kinds may lie side by side. What is made lies in a few places that each
//! thread has, and uses in turns; [`make_room`] takes their memory before rows are visited.

use std::cell::RefCell;

use pgsvm_base::memory::{OutOfMemory, Room};
use pgsvm_expand::Runs;
use serde::{Deserialize, Serialize};

use crate::row::{begin_visited, row_words, Row};

/// Rows that a thread may have in hand at once: those of a tile and the one that is asked for ahead of them, and as many again.
const IN_HAND: usize = 10;
/// The latest of them, which may be asked for once more.
const LATEST: usize = 3;
/// Longer rows are stored as their entries: a thread's places take as many megabytes.
const MOST_ENTRIES: usize = 1 << 14;
/// Parts that may have a form.
pub const MOST_PARTS: usize = 4;
/// Words in front of what is kept, and in front of a part's letters or counts.
const HEAD: usize = 4;
const PART_HEAD: usize = 3;
const WORD_BITS: usize = 32;
/// The largest count that the smallest value of a part is taken for.
const MOST_LEAST: u32 = 8;

/// What the strings of a training are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StringForm {
    /// How many letters there are.
    pub letters: u8,
    /// Letters of the longest run.
    pub longest: u8,
}

/// How the entries of a part are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartForm {
    String(StringForm),
    Counts,
}

/// How rows are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactForm {
    /// The step of sparse ids within a part: S.
    pub parts: u16,
    /// Parts that have a form: p, from 0.
    pub kept: [Option<(u16, PartForm)>; MOST_PARTS],
}

impl CompactForm {
    fn kept(&self) -> impl Iterator<Item = (u16, PartForm)> + '_ {
        self.kept.iter().flatten().copied()
    }
}

/// Bits of a letter.
fn letter_bits(letters: u8) -> usize {
    letters.next_power_of_two().ilog2() as usize
}

/// Numbers of runs, ready for making entries.
#[derive(Debug)]
struct Maker {
    form: StringForm,
    runs: Runs,
    bits: usize,
    /// For strings of this length, the bits of the values by length of a run.
    length: usize,
    values: [u32; 32],
}

impl Maker {
    /// None where there are no such runs.
    fn new(form: StringForm) -> Option<Self> {
        Some(Self {
            form,
            runs: Runs::new(usize::from(form.letters), u32::from(form.longest))?,
            bits: letter_bits(form.letters),
            length: 0,
            values: [0; 32],
        })
    }

    fn suit(&mut self, length: usize) {
        if self.length != length {
            for (value, known) in self.values.iter_mut().zip(self.runs.values(length)) {
                *value = (known as f32).to_bits();
            }
            self.length = length;
        }
    }

    /// Takes the letters of a string.
    fn unpack(
        &self,
        string: &[u32],
        length: usize,
        letters: &mut Vec<u8>,
    ) -> Result<(), OutOfMemory> {
        let mask = (1 << self.bits) - 1;
        let each = WORD_BITS / self.bits;
        letters.clear();
        letters.room(length + each)?;
        // a letter may lie across two words where its bits do not divide them
        if WORD_BITS.is_multiple_of(self.bits) {
            for word in string {
                let taken = (0..each).map(|at| (word >> (at * self.bits) & mask) as u8);
                letters.extend(taken);
            }
        } else {
            letters.extend((0..length).map(|at| {
                let (word, bit) = (at * self.bits / WORD_BITS, at * self.bits % WORD_BITS);
                let next = string.get(word + 1).copied().unwrap_or(0);
                let two = u64::from(string[word]) | u64::from(next) << WORD_BITS;
                (two >> bit) as u8 & mask as u8
            }));
        }
        letters.truncate(length);
        Ok(())
    }

    /// Writes numbers and values of the runs of the letters.
    fn make(&mut self, letters: &[u8], out: &mut [[u32; 2]]) {
        self.suit(letters.len());
        let (longest, bits) = (self.runs.longest(), self.bits as u32);
        let base_of_codes = self.runs.letters() as u32;
        let shifts_do = base_of_codes.is_power_of_two() && longest * self.bits <= 32;
        let at_a_place = self.runs.at_a_place() as u32;
        let of_length = || self.runs.offsets().iter().zip(&self.values);
        let (mut base, mut rest) = (0u32, out);
        let whole = (letters.len() + 1).saturating_sub(longest);
        for place in 0..letters.len() {
            let here = longest.min(letters.len() - place);
            let (entries, behind) = rest.split_at_mut(here);
            let letters = &letters[place..place + here];
            if shifts_do && place < whole {
                let window = letters
                    .iter()
                    .fold(0u32, |sum, it| sum << bits | u32::from(*it));
                let mut shift = bits * longest as u32;
                for (entry, (offset, value)) in entries.iter_mut().zip(of_length()) {
                    shift -= bits;
                    *entry = [base + *offset as u32 + (window >> shift), *value];
                }
            } else {
                let mut code = 0;
                let of_length = of_length();
                for ((entry, letter), (offset, value)) in
                    entries.iter_mut().zip(letters).zip(of_length)
                {
                    code = code * base_of_codes + u32::from(*letter);
                    *entry = [base + *offset as u32 + code, *value];
                }
            }
            base = base.wrapping_add(at_a_place);
            rest = behind;
        }
    }
}

/// Numbers in units of seven bits.
struct Units<'a> {
    words: &'a [u32],
    at: usize,
}

impl Units<'_> {
    #[inline(always)]
    fn next(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.words[self.at / 4] >> (8 * (self.at % 4)) & 0xff;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return number;
            }
        }
    }
}

/// Adds a number to bytes in units of seven bits.
fn put_units(mut number: u64, out: &mut Vec<u8>) -> Result<(), OutOfMemory> {
    out.room(10)?;
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    Ok(())
}

/// Writes numbers and values of counts; the values are of length 1.
fn make_counts(counts: &[u32], out: &mut [[u32; 2]]) {
    let mut units = Units {
        words: counts,
        at: 0,
    };
    let (mut next, mut squares) = (0u64, 0u64);
    for entry in out.iter_mut() {
        let begin = units.next();
        let number = next + (begin >> 1);
        let count = if begin & 1 == 0 { 1 } else { units.next() };
        *entry = [number as u32, count as u32];
        squares += count * count;
        next = number + 1;
    }
    let length = (squares as f64).sqrt();
    for [_, count] in out {
        *count = counted(*count, length);
    }
}

/// The bits of the value of a count.
#[inline(always)]
fn counted(count: u32, length: f64) -> u32 {
    ((f64::from(count) / length) as f32).to_bits()
}

/// One part of a row in its form.
struct KeptPart<'a> {
    /// None for counts.
    string: Option<StringForm>,
    step: u32,
    part: u32,
    /// Letters, or counts.
    length: usize,
    body: &'a [u32],
}

/// The parts of a row that have a form.
struct KeptParts<'a> {
    left: u32,
    rest: &'a [u32],
}

impl<'a> Iterator for KeptParts<'a> {
    type Item = KeptPart<'a>;

    fn next(&mut self) -> Option<KeptPart<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (head, rest) = self.rest.split_at(PART_HEAD);
        let (letters, length) = (head[0] as u8, head[2] as usize);
        let (string, begin, words) = match letters {
            0 => (None, 1, (rest[0] as usize).div_ceil(4)),
            _ => {
                let longest = (head[0] >> 8) as u8;
                let words = (letter_bits(letters) * length).div_ceil(WORD_BITS);
                (Some(StringForm { letters, longest }), 0, words)
            }
        };
        let (body, rest) = rest[begin..].split_at(words);
        self.rest = rest;
        Some(KeptPart {
            string,
            step: head[1] & 0xffff,
            part: head[1] >> 16,
            length,
            body,
        })
    }
}

/// What a row's short form says, taken apart.
struct ShortForm<'a> {
    entries: usize,
    kept: &'a [[u32; 2]],
    parts: KeptParts<'a>,
}

impl<'a> ShortForm<'a> {
    fn of(words: &'a [u32]) -> Self {
        let (kept, rest) = words[HEAD..].split_at(2 * words[1] as usize);
        Self {
            entries: words[0] as usize,
            kept: kept.as_chunks().0,
            parts: KeptParts {
                left: words[2],
                rest,
            },
        }
    }
}

/// What makes entries, with room that is kept from row to row.
#[derive(Debug, Default)]
struct Making {
    makers: [Option<Maker>; MOST_PARTS],
    letters: Vec<u8>,
    /// Entries so far, those of a part, and both together.
    so_far: Vec<[u32; 2]>,
    part: Vec<[u32; 2]>,
    both: Vec<[u32; 2]>,
}

impl Making {
    /// The maker of the strings of a form; one of another form goes where there are too many.
    fn maker(&mut self, form: StringForm) -> &mut Maker {
        let known = |maker: &Option<Maker>| maker.as_ref().is_none_or(|it| it.form == form);
        let place = self.makers.iter().position(known).unwrap_or(0);
        let maker = &mut self.makers[place];
        if maker.as_ref().is_none_or(|it| it.form != form) {
            *maker = Maker::new(form);
        }
        let Some(maker) = maker else {
            unreachable!("the string is of a form that there is");
        };
        maker
    }

    /// Entries of a part.
    fn count(&mut self, part: &KeptPart<'_>) -> usize {
        match part.string {
            Some(form) => self.maker(form).runs.count(part.length),
            None => part.length,
        }
    }

    /// Writes the entries of a part, with `dense` added to their ids.
    fn make_part(
        &mut self,
        part: &KeptPart<'_>,
        dense: u32,
        out: &mut [[u32; 2]],
    ) -> Result<(), OutOfMemory> {
        match part.string {
            Some(form) => {
                let mut letters = core::mem::take(&mut self.letters);
                let maker = self.maker(form);
                maker.unpack(part.body, part.length, &mut letters)?;
                maker.make(&letters, out);
                self.letters = letters;
            }
            None => make_counts(part.body, out),
        }
        let (step, first) = (part.step, part.part + dense);
        if step != 1 || first != 0 {
            for [id, _] in out {
                *id = *id * step + first;
            }
        }
        Ok(())
    }

    /// Writes all entries of a row with so many dense values.
    fn make(
        &mut self,
        short: ShortForm<'_>,
        dense: u32,
        out: &mut [[u32; 2]],
    ) -> Result<(), OutOfMemory> {
        let ShortForm { kept, parts, .. } = short;
        if kept.is_empty() && parts.left == 1 {
            for part in parts {
                self.make_part(&part, dense, out)?;
            }
            return Ok(());
        }
        self.so_far.clear();
        self.so_far.room(out.len())?;
        let kept = kept.iter().map(|[id, value]| [id + dense, *value]);
        self.so_far.extend(kept);
        for part in parts {
            let mut entries = core::mem::take(&mut self.part);
            let count = self.count(&part);
            entries.clear();
            entries.room(count)?.resize(count, [0; 2]);
            self.make_part(&part, dense, &mut entries)?;
            self.part = entries;
            self.both.clear();
            self.both.room(self.so_far.len() + count)?;
            merge(&self.so_far, &self.part, &mut self.both);
            core::mem::swap(&mut self.so_far, &mut self.both);
        }
        out.copy_from_slice(&self.so_far);
        Ok(())
    }

    /// Takes the memory for rows of so many entries.
    fn make_room(&mut self, entries: usize) -> Result<(), OutOfMemory> {
        for list in [&mut self.so_far, &mut self.part, &mut self.both] {
            room_for(list, entries)?;
        }
        room_for(&mut self.letters, entries + WORD_BITS)
    }
}

/// Takes the memory for so many in all.
fn room_for<T>(list: &mut Vec<T>, most: usize) -> Result<(), OutOfMemory> {
    list.room(most.saturating_sub(list.len())).map(|_| ())
}

/// Adds both to `out`, for which there is room, by ascending id.
fn merge(one: &[[u32; 2]], other: &[[u32; 2]], out: &mut Vec<[u32; 2]>) {
    let (mut one, mut other) = (one, other);
    while let (Some((a, behind_a)), Some((b, behind_b))) = (one.split_first(), other.split_first())
    {
        match a[0] < b[0] {
            true => {
                out.push(*a);
                one = behind_a;
            }
            false => {
                out.push(*b);
                other = behind_b;
            }
        }
    }
    out.extend_from_slice(one);
    out.extend_from_slice(other);
}

/// Finds the short forms of rows by their entries.
#[derive(Debug)]
pub struct Compactor {
    form: CompactForm,
    making: Making,
    /// By part with a form, its entries by number.
    parts: [Vec<[u32; 2]>; MOST_PARTS],
    has_form: [bool; MOST_PARTS],
    forms: Vec<u32>,
    bytes: Vec<u8>,
    counts: Vec<u32>,
    made: Vec<[u32; 2]>,
    /// The short form that was found last.
    words: Vec<u32>,
}

impl Compactor {
    /// None where there are no such runs, or no parts.
    pub fn new(form: CompactForm) -> Option<Self> {
        let is_there = |(part, kept): (u16, PartForm)| {
            let made = match kept {
                PartForm::String(string) => Maker::new(string).is_some(),
                PartForm::Counts => true,
            };
            made && part < form.parts
        };
        let sound = form.kept().next().is_some() && form.kept().all(is_there);
        sound.then(|| Self {
            form,
            making: Making::default(),
            parts: Default::default(),
            has_form: [false; MOST_PARTS],
            forms: Vec::new(),
            bytes: Vec::new(),
            counts: Vec::new(),
            made: Vec::new(),
            words: Vec::new(),
        })
    }

    /// Looks for the short form of a row with these entries.
    pub fn take(&mut self, index: &[u32], value: &[f32]) -> Result<Option<&[u32]>, OutOfMemory> {
        self.words.clear();
        if index.len() <= MOST_ENTRIES {
            self.look(index, value)?;
        }
        Ok(self.found())
    }

    /// The short form that was found last; None where the entries are none that have one, or it would not be shorter.
    pub fn found(&self) -> Option<&[u32]> {
        (!self.words.is_empty()).then_some(&self.words)
    }

    /// Writes the entries of the short form that was found last to a place of its own, as a visit does.
    pub fn make_again(&mut self) -> Result<(), OutOfMemory> {
        if self.words.is_empty() {
            return Ok(());
        }
        let short = ShortForm::of(&self.words);
        let mut made = core::mem::take(&mut self.made);
        let entries = short.entries;
        made.clear();
        made.room(entries)?.resize(entries, [0; 2]);
        self.making.make(short, 0, &mut made)?;
        self.made = made;
        Ok(())
    }

    fn look(&mut self, index: &[u32], value: &[f32]) -> Result<(), OutOfMemory> {
        self.divide(index, value)?;
        self.forms.clear();
        let (mut forms, mut others) = (0, index.len());
        let form = self.form;
        for (place, (part, kept)) in form.kept().enumerate() {
            let begin = self.forms.len();
            let entries = core::mem::take(&mut self.parts[place]);
            let found = !entries.is_empty()
                && match kept {
                    PartForm::String(string) => self.put_string(string, part, &entries)?,
                    PartForm::Counts => self.put_counts(part, &entries)?,
                };
            let shorter = self.forms.len() - begin < 2 * entries.len();
            self.has_form[place] = found && shorter;
            match self.has_form[place] {
                true => (forms, others) = (forms + 1, others - entries.len()),
                false => self.forms.truncate(begin),
            }
            self.parts[place] = entries;
        }
        let words = (HEAD + 2 * others + self.forms.len()).next_multiple_of(2);
        if forms == 0 || words >= 2 * index.len() {
            return Ok(());
        }
        let mut all = core::mem::take(&mut self.words);
        all.room(words)?;
        all.extend([index.len() as u32, others as u32, forms, 0]);
        if others > 0 {
            let is_kept = |index: u32| self.place(index).is_none_or(|it| !self.has_form[it]);
            let kept = index.iter().zip(value).filter(|it| is_kept(*it.0));
            all.extend(kept.flat_map(|(index, value)| [*index, value.to_bits()]));
        }
        all.extend_from_slice(&self.forms);
        all.resize(words, 0);
        self.words = all;
        Ok(())
    }

    /// Which of the parts with a form this id is of.
    #[inline(always)]
    fn place(&self, index: u32) -> Option<usize> {
        let part = match self.form.parts {
            1 => 0,
            parts => index % u32::from(parts),
        };
        self.form
            .kept()
            .position(|(kept, _)| u32::from(kept) == part)
    }

    /// Has each part with a form hold its entries.
    fn divide(&mut self, index: &[u32], value: &[f32]) -> Result<(), OutOfMemory> {
        for part in &mut self.parts {
            part.clear();
        }
        let step = u32::from(self.form.parts);
        for (index, value) in index.iter().zip(value) {
            if let Some(place) = self.place(*index) {
                let entry = [*index / step, value.to_bits()];
                self.parts[place].room(1)?.push(entry);
            }
        }
        Ok(())
    }

    fn put_head(&mut self, first: u32, part: u16, length: usize) -> Result<(), OutOfMemory> {
        let step = u32::from(self.form.parts);
        let head = [first, step | u32::from(part) << 16, length as u32];
        self.forms.room(PART_HEAD)?.extend(head);
        Ok(())
    }

    /// Adds the string whose runs these are; false, with anything behind what was there, where they are not.
    fn put_string(
        &mut self,
        form: StringForm,
        part: u16,
        entries: &[[u32; 2]],
    ) -> Result<bool, OutOfMemory> {
        let mut letters = core::mem::take(&mut self.making.letters);
        let maker = self.making.maker(form);
        let found = find_letters(&maker.runs, entries, &mut letters)?;
        if found {
            self.made.clear();
            self.made.room(entries.len())?.resize(entries.len(), [0; 2]);
            maker.make(&letters, &mut self.made);
        }
        let same = found && self.made == entries;
        if same {
            let bits = maker.bits;
            self.put_head(
                u32::from(form.letters) | u32::from(form.longest) << 8,
                part,
                letters.len(),
            )?;
            let begin = self.forms.len();
            let words = (bits * letters.len()).div_ceil(WORD_BITS);
            self.forms.room(words)?.resize(begin + words, 0);
            let string = &mut self.forms[begin..];
            for (at, letter) in letters.iter().enumerate() {
                let (word, bit) = (at * bits / WORD_BITS, at * bits % WORD_BITS);
                let two = u64::from(*letter) << bit;
                string[word] |= two as u32;
                if two >> WORD_BITS != 0 {
                    string[word + 1] |= (two >> WORD_BITS) as u32;
                }
            }
        }
        self.making.letters = letters;
        Ok(same)
    }

    /// The same of the counts whose values these are.
    fn put_counts(&mut self, part: u16, entries: &[[u32; 2]]) -> Result<bool, OutOfMemory> {
        if !find_counts(entries, &mut self.counts)? {
            return Ok(false);
        }
        self.bytes.clear();
        let mut next = 0;
        for ([number, _], count) in entries.iter().zip(&self.counts) {
            let several = *count > 1;
            let between = u64::from(*number) - next;
            put_units(between << 1 | u64::from(several), &mut self.bytes)?;
            if several {
                put_units(u64::from(*count), &mut self.bytes)?;
            }
            next = u64::from(*number) + 1;
        }
        self.put_head(0, part, entries.len())?;
        let words = self.bytes.len().div_ceil(4);
        self.forms.room(1 + words)?.push(self.bytes.len() as u32);
        self.forms.extend(self.bytes.chunks(4).map(|bytes| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(word)
        }));
        Ok(true)
    }
}

/// Takes the letters of the runs of one letter; false where there are none such.
fn find_letters(
    runs: &Runs,
    entries: &[[u32; 2]],
    letters: &mut Vec<u8>,
) -> Result<bool, OutOfMemory> {
    let longest = runs.longest();
    // runs of a long string, or of one that has not the longest run
    let corner = longest * (longest - 1) / 2;
    let length = match entries.len() >= corner + longest {
        true => (entries.len() + corner) / longest,
        false => (1..longest)
            .find(|it| runs.count(*it) == entries.len())
            .unwrap_or(0),
    };
    if length == 0 || runs.count(length) != entries.len() {
        return Ok(false);
    }
    letters.clear();
    letters.room(length)?;
    let (mut at, mut base) = (0, 0u64);
    for place in 0..length {
        let letter = u64::from(entries[at][0]).checked_sub(base);
        match letter.filter(|it| *it < runs.letters() as u64) {
            Some(letter) => letters.push(letter as u8),
            None => return Ok(false),
        }
        at += longest.min(length - place);
        base += runs.at_a_place();
    }
    Ok(true)
}

/// Finds the counts that such values come of; false where there are none.
fn find_counts(entries: &[[u32; 2]], counts: &mut Vec<u32>) -> Result<bool, OutOfMemory> {
    let values = || {
        entries
            .iter()
            .map(|[_, bits]| f64::from(f32::from_bits(*bits)))
    };
    let least = values().fold(f64::INFINITY, f64::min);
    if !(least > 0.0 && least.is_finite()) {
        return Ok(false);
    }
    for unit in 1..=MOST_LEAST {
        counts.clear();
        counts.room(entries.len())?;
        counts.extend(values().map(|value| (value / least * f64::from(unit)).round() as u32));
        let squares = counts
            .iter()
            .map(|count| u64::from(*count).pow(2))
            .sum::<u64>();
        let length = (squares as f64).sqrt();
        let mut pairs = entries.iter().zip(&*counts);
        if pairs.all(|([_, bits], count)| counted(*count, length) == *bits) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Words of a compact row when it is visited.
pub(crate) fn visited_words(row: &Row<'_>) -> usize {
    row_words(row.dense().len(), row.string()[0] as usize)
}

/// A row that was made, and of which.
#[derive(Debug, Default)]
struct Made {
    stored: Vec<u32>,
    words: Vec<u32>,
}

/// The places of a thread.
#[derive(Debug, Default)]
struct ThreadPlaces {
    made: [Made; IN_HAND],
    /// The place of the row that was made last.
    last: usize,
    making: Making,
}

thread_local! {
    static PLACES: RefCell<ThreadPlaces> = RefCell::default();
}

/// Takes the memory that this thread needs to visit rows of so many words at most, as they are stored and when they are visited.
pub fn make_room(stored: usize, visited: usize) -> Result<(), OutOfMemory> {
    PLACES.with_borrow_mut(|places| {
        for made in &mut places.made {
            room_for(&mut made.stored, stored)?;
            room_for(&mut made.words, visited)?;
        }
        places.making.make_room(visited / 2)
    })
}

/// The row that is visited in the place of a compact one.
#[inline(never)]
pub fn visited(stored: Row<'_>) -> Row<'_> {
    let made = PLACES.with_borrow_mut(|places| {
        let made = places.made(&stored);
        // there is room: `make_room` comes before
        let words = made.unwrap_or_else(|error| unreachable!("{error} of a row's features"));
        core::ptr::slice_from_raw_parts(words.as_ptr(), words.len())
    });
    // SAFETY: the words are the thread's, which uses the same place again only behind IN_HAND - LATEST rows more: whoever visits rows has
    // no more of them in hand, and in this thread.
    Row::new(unsafe { &*made }, stored.dense().len())
}

impl ThreadPlaces {
    fn made(&mut self, stored: &Row<'_>) -> Result<&[u32], OutOfMemory> {
        for back in 0..LATEST {
            let place = (self.last + IN_HAND - back) % IN_HAND;
            if self.made[place].stored == stored.words() {
                return Ok(&self.made[place].words);
            }
        }
        self.last = (self.last + 1) % IN_HAND;
        let made = &mut self.made[self.last];
        made.stored.clear();
        let short = ShortForm::of(stored.string());
        let (dense, entries) = (stored.dense().len(), short.entries);
        let words = row_words(dense, entries);
        if made.words.len() < words {
            let missing = words - made.words.len();
            made.words.room(missing)?.resize(words, 0);
        }
        made.words.truncate(words);
        let out = begin_visited(stored, entries, &mut made.words);
        self.making.make(short, dense as u32, out)?;
        made.stored.room(stored.words().len())?;
        made.stored.extend_from_slice(stored.words());
        Ok(&made.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Identity, RowMap};
    use crate::row::{write_compact, RowHead};
    use pgsvm_expand::{Degree, NoLetter};

    type Entries = (Vec<u32>, Vec<f32>);

    const NONE: Option<(u16, PartForm)> = None;

    /// Of one part that has strings.
    fn of_strings(letters: usize, longest: u32) -> CompactForm {
        let form = StringForm {
            letters: letters as u8,
            longest: longest as u8,
        };
        CompactForm {
            parts: 1,
            kept: [Some((0, PartForm::String(form))), NONE, NONE, NONE],
        }
    }

    fn of_runs(alphabet: &str, longest: u32, text: &str) -> Entries {
        let degree = Degree::new(alphabet, longest).unwrap();
        let (mut index, mut value) = (Vec::new(), Vec::new());
        let take = |number: u64, weight: f64| {
            index.push(number as u32);
            value.push(weight as f32);
            Ok::<_, NoLetter>(())
        };
        degree.each(text.as_bytes(), take).unwrap();
        (index, value)
    }

    fn of_counts(counts: &[(u32, u32)]) -> Entries {
        let squares: f64 = counts.iter().map(|it| f64::from(it.1 * it.1)).sum();
        let value = |it: &(u32, u32)| (f64::from(it.1) / squares.sqrt()) as f32;
        (
            counts.iter().map(|it| it.0).collect(),
            counts.iter().map(value).collect(),
        )
    }

    /// The entries of several parts of a row, by sparse id.
    fn together(parts: &[Entries]) -> Entries {
        let mut all: Vec<_> = parts
            .iter()
            .enumerate()
            .flat_map(|(part, (index, value))| {
                let id = move |number: &u32| number * parts.len() as u32 + part as u32;
                index.iter().map(id).zip(value.iter().copied())
            })
            .collect();
        all.sort_by_key(|it| it.0);
        all.into_iter().unzip()
    }

    /// A text of so many letters.
    fn text(alphabet: &str, length: usize, seed: usize) -> String {
        let letters: Vec<_> = alphabet.chars().collect();
        let pick = |at: usize| letters[(at * at * 7 + at * seed + seed) % letters.len()];
        (0..length).map(pick).collect()
    }

    fn head(ordinal: u32) -> RowHead {
        RowHead {
            offset: None,
            ordinal,
            group: 1,
            cost: 2.0,
        }
    }

    fn stored(short: &[u32], ordinal: u32, dense: &[u32]) -> Vec<u32> {
        let mut words = vec![9; row_words(dense.len(), short.len() / 2)];
        write_compact(&mut words, head(ordinal), dense.len(), short).copy_from_slice(dense);
        words
    }

    /// Whether a row becomes shorter, by how much, and the entries come back.
    fn check(form: CompactForm, (index, value): &Entries) -> Option<usize> {
        let mut compactor = Compactor::new(form).unwrap();
        let short = compactor.take(index, value).unwrap()?.to_vec();
        assert!(short.len() < 2 * index.len());
        let words = stored(&short, 7, &[5, 6]);
        let row = Row::new(&words, 2);
        assert!(row.is_compact() && row.words().len() == words.len());
        let visited = Identity.visited(row);
        assert!(!visited.is_compact());
        assert_eq!(
            (visited.ordinal(), visited.group(), visited.cost()),
            (7, 1, 2.0)
        );
        assert_eq!(visited.dense()[1].to_bits(), 6);
        let wanted: Vec<_> = index
            .iter()
            .zip(value)
            .map(|(j, x)| [j + 2, x.to_bits()])
            .collect();
        assert_eq!(visited.sparse(), wanted);
        assert_eq!(row.visited_values(), visited.values());
        Some(short.len())
    }

    const FORMS: [(&str, u32); 5] = [
        ("ACGT", 8),
        ("ACGT", 3),
        ("01", 5),
        ("abc", 4),
        ("ABCDEFGHIJKLMNOPQRST", 3),
    ];

    #[test]
    fn entries_come_back_from_the_string() {
        for (alphabet, longest) in FORMS {
            let form = of_strings(alphabet.len(), longest);
            for length in [4usize, 7, 8, 20, 33, 200, 500] {
                let entries = of_runs(alphabet, longest, &text(alphabet, length, 3));
                let found = check(form, &entries);
                assert!(
                    found.is_some() || length < 9,
                    "{alphabet} {longest} {length}"
                );
            }
        }
    }

    #[test]
    fn counts_come_back() {
        let form = CompactForm {
            parts: 1,
            kept: [Some((0, PartForm::Counts)), NONE, NONE, NONE],
        };
        let many: Vec<_> = (0..300u32).map(|at| (at * 7, 1 + at % 3)).collect();
        let words = check(form, &of_counts(&many)).unwrap();
        assert!(4 * words < 2 * many.len(), "{words}");
        let far: Vec<_> = (0..40u32)
            .map(|at| (at * 50_000_000, 2 + at * 1000))
            .collect();
        assert!(check(form, &of_counts(&far)).is_some());
        let twice: Vec<_> = (0..40u32).map(|at| (at, 2)).collect();
        assert!(check(form, &of_counts(&twice)).is_some());
        let (index, mut value) = of_counts(&many);
        value[3] *= 1.001;
        assert!(check(form, &(index, value)).is_none());
        assert!(check(form, &(vec![1, 2], vec![-1.0, 0.0])).is_none());
    }

    #[test]
    fn parts_lie_side_by_side() {
        let string = StringForm {
            letters: 4,
            longest: 3,
        };
        let form = CompactForm {
            parts: 4,
            kept: [
                Some((1, PartForm::String(string))),
                Some((2, PartForm::Counts)),
                Some((3, PartForm::Counts)),
                NONE,
            ],
        };
        let runs = of_runs("ACGT", 3, &text("ACGT", 50, 5));
        let counts: Vec<_> = (0..90u32).map(|at| (at * 3, 1 + at % 4 / 3)).collect();
        let counts = of_counts(&counts);
        let others: Entries = ((0..20).map(|at| at * 9).collect(), vec![0.25; 20]);
        let odd: Entries = (vec![4, 8], vec![0.1, 0.7]);
        let nothing = Entries::default();
        for parts in [
            [others.clone(), runs.clone(), counts.clone(), odd],
            [
                nothing.clone(),
                runs.clone(),
                nothing.clone(),
                counts.clone(),
            ],
            [others.clone(), nothing.clone(), nothing.clone(), counts],
            [others.clone(), runs, nothing.clone(), nothing.clone()],
        ] {
            assert!(check(form, &together(&parts)).is_some());
        }
        let parts = [others, nothing.clone(), nothing.clone(), nothing];
        assert!(check(form, &together(&parts)).is_none());
    }

    #[test]
    fn rows_in_hand_stay_as_they_are() {
        make_room(100, 400).unwrap();
        let mut compactor = Compactor::new(of_strings(4, 3)).unwrap();
        let stored: Vec<_> = (0..20)
            .map(|number| {
                let (index, value) = of_runs("ACGT", 3, &text("ACGT", 30 + number, number));
                let short = compactor.take(&index, &value).unwrap().unwrap();
                (stored(short, number as u32, &[]), index)
            })
            .collect();
        for rows in stored.windows(6) {
            // one of them is asked for twice
            let made: Vec<_> = rows
                .iter()
                .chain(&rows[5..])
                .map(|it| Identity.visited(Row::new(&it.0, 0)))
                .collect();
            for (row, (_, index)) in made.iter().zip(rows) {
                assert!(row.sparse().iter().map(|it| &it[0]).eq(index));
            }
            assert_eq!(made[5].words().as_ptr(), made[6].words().as_ptr());
        }
    }

    #[test]
    fn what_is_no_string_stays_as_it_is() {
        let mut compactor = Compactor::new(of_strings(4, 3)).unwrap();
        let (index, value) = of_runs("ACGT", 3, "ACGTACGTACGTACGT");
        assert!(compactor.take(&index, &value).unwrap().is_some());
        for at in 0..index.len() {
            let (mut other, mut weights) = (index.clone(), value.clone());
            other[at] += 1;
            assert!(compactor.take(&other, &value).unwrap().is_none(), "{at}");
            weights[at] *= 1.001;
            assert!(compactor.take(&index, &weights).unwrap().is_none());
        }
        assert!(compactor.take(&[], &[]).unwrap().is_none());
        assert!(Compactor::new(of_strings(200, 200)).is_none());
        let beyond = CompactForm {
            parts: 1,
            kept: [Some((1, PartForm::Counts)), NONE, NONE, NONE],
        };
        assert!(Compactor::new(beyond).is_none());
    }
}
