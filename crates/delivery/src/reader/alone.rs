//! Features that tell the classes apart alone, or the number to predict, and numbers that only count the rows: what a column does that was
//! made of the label, or that is none. Looked for in a sample of the rows, as they were packed and before they are scaled.
//!
//! | measure | of |
//! |---|---|
//! | concordance: of pairs of rows of different classes the share that a feature ranks as their classes are ranked by its means; equal values count half. Of two classes the area under the ROC curve | numbers |
//! | agreement: the share of rows whose class is that of most other rows with the same value | numbers of few values, category columns |
//! | correlation: the absolute value of Pearson's coefficient with the label, where that is a number to predict | numbers of each row |
//!
//! Few rows are told apart by some feature just by chance: the classes must be so large that a feature which knows nothing would do it in
//! one of 2^[`LEAST_BITS`] samples.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::codes::are_codes;
use crate::base::interrupts;
use crate::base::memory::{filled, list, OutOfMemory, Room};
use crate::rows::batch::Batch;
use crate::rows::row::Row;

/// Rows that are looked at, at most, and words of theirs.
const MOST_ROWS: usize = 1 << 13;
pub(super) const MOST_WORDS: usize = 1 << 18;
/// From this measure on a feature tells the classes apart, or the number.
const NEARLY_ALL: f64 = 0.999;
const LEAST_BITS: f64 = 40.0;
/// Fewer rows are not said to be counted.
const LEAST_COUNTED: usize = 20;
/// Rows by which most features are found out.
const FIRST_ROWS: usize = 64;
/// Of those a value is to have so many, and of all rows, on the average: rows that come several times say nothing of others.
const FIRST_OF_VALUE: usize = 3;
const OF_VALUE: usize = 10;
/// Of the first rows a feature may have so many wrong.
const FIRST_WRONG: f64 = 2.0;
/// Features of whole numbers that are looked at.
const MOST_WHOLE: usize = 100;
/// Features that are named in a message.
const MOST_TOLD: usize = 5;
/// One in how many rows may have the value of another where values are said to differ: 32 bits do not tell all large numbers apart.
const SAME_ONE_IN: usize = 100;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Alone {
    /// Features that tell the classes apart, or the number to predict, by id, or category columns.
    #[serde(deserialize_with = "list")]
    pub telling: Vec<Telling>,
    /// Dense features, by id, whose values are whole numbers that rise from row to row.
    #[serde(deserialize_with = "list")]
    pub counting: Vec<u64>,
    /// Dense features, by id, whose values are whole numbers, and codes rather than amounts.
    #[serde(deserialize_with = "list")]
    pub codes: Vec<u64>,
    /// Dense features, by id, whose values are whole numbers, nearly all different.
    #[serde(deserialize_with = "list")]
    pub different: Vec<u64>,
}

/// What tells the classes apart, or the number to predict, and how well.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Telling {
    pub what: TellingColumn,
    pub measure: f64,
}

/// A feature by id, or a category column by the number that the source has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TellingColumn {
    Feature(u64),
    Part(u32),
}

/// The rows that are looked at.
struct Looked<'a> {
    rows: Vec<Row<'a>>,
    /// By row.
    classes: Vec<u32>,
    dense: usize,
    /// Rows by class.
    sizes: Vec<usize>,
    /// Places among the rows, those of other classes side by side as far as there are such.
    first: Vec<usize>,
    /// Whether rows have labels that are numbers; each is looked at on one of its sides.
    has_numbers: bool,
}

impl Alone {
    /// The same again.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        let mut out = Self::default();
        out.telling
            .room(self.telling.len())?
            .extend_from_slice(&self.telling);
        out.counting
            .room(self.counting.len())?
            .extend_from_slice(&self.counting);
        out.codes
            .room(self.codes.len())?
            .extend_from_slice(&self.codes);
        out.different
            .room(self.different.len())?
            .extend_from_slice(&self.different);
        Ok(out)
    }

    /// Of packed rows with so many dense values and groups a class; `column_of`: the category column that a sparse feature belongs to.
    pub(super) fn of(
        words: &[u32],
        dense: usize,
        stride: u32,
        column_of: &dyn Fn(u32) -> Option<u32>,
    ) -> Result<Self, OutOfMemory> {
        let mut found = Self::default();
        let Some(looked) = Looked::at(words, dense, stride)? else {
            return Ok(found);
        };
        found.counting = looked.counting()?;
        let mut values = Vec::new();
        if looked.has_numbers {
            looked.correlated(&mut found.telling)?;
            looked.whole(&mut values, &mut found)?;
        } else if looked.says_something() {
            looked.numbers(&mut values, &mut found.telling)?;
            looked.categories(column_of, &mut values, &mut found.telling)?;
            looked.sparse(column_of, &mut values, &mut found.telling)?;
            looked.whole(&mut values, &mut found)?;
        }
        Ok(found)
    }
}

/// Whether these values, in ascending order, are whole numbers, nearly all different.
fn are_different(column: &[(f32, u32)]) -> bool {
    let distinct = column.chunk_by(|a, b| a.0 == b.0).count();
    column.len() >= LEAST_COUNTED
        && (column.len() - distinct) * SAME_ONE_IN <= column.len()
        && column.iter().all(|(value, _)| value.fract() == 0.0)
}

impl<'a> Looked<'a> {
    /// None where there is nothing to look at.
    fn at(words: &'a [u32], dense: usize, stride: u32) -> Result<Option<Self>, OutOfMemory> {
        let (mut rows, mut classes, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        // a row whose label is a number has a side with class 0 too
        let is_seen = |row: &Row<'a>| !row.has_offset() || row.group() >= stride as usize;
        let all = || Batch::new(words, dense).filter(is_seen);
        let step = all().count().div_ceil(MOST_ROWS).max(1);
        let some = all().step_by(step);
        for row in some.filter(|row| !row.is_compact()) {
            let class = row.group() / stride as usize;
            rows.room(1)?.push(row);
            classes.room(1)?.push(class as u32);
            if class >= sizes.len() {
                sizes.room(class + 1 - sizes.len())?.resize(class + 1, 0);
            }
            sizes[class] += 1;
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let mut looked = Self {
            has_numbers: rows.iter().any(Row::has_offset),
            rows,
            classes,
            dense,
            sizes,
            first: Vec::new(),
        };
        looked.first = looked.spread()?;
        Ok(Some(looked))
    }

    /// Some of the rows, by turns of different classes.
    fn spread(&self) -> Result<Vec<usize>, OutOfMemory> {
        let mut next = filled(0, self.sizes.len())?;
        let mut places = Vec::new();
        places.room(FIRST_ROWS)?;
        while places.len() < FIRST_ROWS {
            let before = places.len();
            for (class, from) in next.iter_mut().enumerate() {
                if places.len() == FIRST_ROWS {
                    break;
                }
                let rest = self.classes.get(*from..).unwrap_or_default();
                let found = rest.iter().position(|it| *it as usize == class);
                match found {
                    Some(at) => {
                        places.push(*from + at);
                        *from += at + 1;
                    }
                    None => *from = self.classes.len(),
                }
            }
            if places.len() == before {
                break;
            }
        }
        Ok(places)
    }

    /// Whether no feature would tell these classes apart by chance: log2 of how many ways there are to choose the rows that are not of
    /// the largest class.
    fn says_something(&self) -> bool {
        let rows = self.rows.len();
        let largest = self.sizes.iter().copied().max().unwrap_or(0);
        let others = (rows - largest).min(largest);
        let mut bits = 0.0;
        for at in 1..=others {
            bits += ((rows - others + at) as f64 / at as f64).log2();
            if bits >= LEAST_BITS {
                return true;
            }
        }
        false
    }

    /// Dense features that count rows.
    fn counting(&self) -> Result<Vec<u64>, OutOfMemory> {
        let mut found = Vec::new();
        if self.rows.len() < LEAST_COUNTED {
            return Ok(found);
        }
        let counts = |feature: usize| {
            let mut pairs = self.rows.windows(2);
            pairs.all(|pair| {
                let (before, now) = (pair[0].dense()[feature], pair[1].dense()[feature]);
                // samples that were joined lie one behind the other
                let rises = match pair[0].ordinal() < pair[1].ordinal() {
                    true => before < now,
                    false => true,
                };
                rises && now.fract() == 0.0 && before.fract() == 0.0
            })
        };
        for feature in (0..self.dense).filter(|feature| counts(*feature)) {
            if found.len() < MOST_TOLD {
                found.room(1)?.push(feature as u64);
            }
        }
        Ok(found)
    }

    /// Dense features that are codes, and those that differ from row to row; of those that are whole numbers in the first rows some
    /// are looked at.
    fn whole(&self, column: &mut Vec<(f32, u32)>, out: &mut Alone) -> Result<(), OutOfMemory> {
        let is_whole = |feature: &usize| {
            let mut first = self.first.iter().map(|at| self.rows[*at].dense()[*feature]);
            first.all(|value| value.is_nan() || value.fract() == 0.0)
        };
        for feature in (0..self.dense).filter(is_whole).take(MOST_WHOLE) {
            interrupts::check();
            let value = |row: &Row<'a>| row.dense()[feature];
            self.fill(0..self.rows.len(), &value, column)?;
            if !self.has_numbers && out.codes.len() < MOST_TOLD && are_codes(column)? {
                out.codes.room(1)?.push(feature as u64);
            }
            if are_different(column) {
                out.different.room(1)?.push(feature as u64);
            }
        }
        Ok(())
    }

    /// Dense features that say the label as a straight line does.
    fn correlated(&self, found: &mut Vec<Telling>) -> Result<(), OutOfMemory> {
        for feature in 0..self.dense {
            interrupts::check();
            let pairs = || {
                let pairs = self.rows.iter();
                let pairs = pairs.map(|row| (f64::from(row.dense()[feature]), row.offset()));
                pairs.filter(|(value, _)| !value.is_nan())
            };
            let present = pairs().count();
            if found.len() == MOST_TOLD || present < LEAST_COUNTED.max(self.rows.len() / 2) {
                continue;
            }
            let measure = correlation(&pairs);
            if measure >= NEARLY_ALL {
                let what = TellingColumn::Feature(feature as u64);
                found.room(1)?.push(Telling { what, measure });
            }
        }
        Ok(())
    }

    /// Dense features that tell the classes apart.
    fn numbers(
        &self,
        column: &mut Vec<(f32, u32)>,
        found: &mut Vec<Telling>,
    ) -> Result<(), OutOfMemory> {
        for feature in 0..self.dense {
            if feature % 64 == 0 {
                interrupts::check();
            }
            let value = |row: &Row<'a>| row.dense()[feature];
            self.number(TellingColumn::Feature(feature as u64), value, column, found)?;
        }
        Ok(())
    }

    /// Looks at one number of each row: at some rows first, and at all where those do not tell.
    fn number(
        &self,
        what: TellingColumn,
        value: impl Fn(&Row<'a>) -> f32,
        column: &mut Vec<(f32, u32)>,
        found: &mut Vec<Telling>,
    ) -> Result<(), OutOfMemory> {
        if found.len() == MOST_TOLD {
            return Ok(());
        }
        let first = self.first.iter().copied();
        self.fill(first, &value, column)?;
        let may = 1.0 - FIRST_WRONG / self.first.len().max(1) as f64;
        let looks = [
            concordance(column, self.sizes.len())?,
            agreement(column, FIRST_OF_VALUE),
        ];
        if looks.iter().all(|measure| *measure < may) {
            return Ok(());
        }
        self.fill(0..self.rows.len(), &value, column)?;
        let measure = concordance(column, self.sizes.len())?.max(agreement(column, OF_VALUE));
        if measure >= NEARLY_ALL {
            found.room(1)?.push(Telling { what, measure });
        }
        Ok(())
    }

    /// Fills a column with the numbers and classes of some rows, in ascending order.
    fn fill(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        value: &impl Fn(&Row<'a>) -> f32,
        column: &mut Vec<(f32, u32)>,
    ) -> Result<(), OutOfMemory> {
        column.clear();
        let column = column.room(rows.len())?;
        // 0 and -0 are one value
        column.extend(rows.map(|at| (value(&self.rows[at]) + 0.0, self.classes[at])));
        column.sort_unstable_by(|a, b| order(a.0, b.0).then(a.1.cmp(&b.1)));
        Ok(())
    }

    /// Category columns that tell the classes apart.
    fn categories(
        &self,
        column_of: &dyn Fn(u32) -> Option<u32>,
        values: &mut Vec<(f32, u32)>,
        found: &mut Vec<Telling>,
    ) -> Result<(), OutOfMemory> {
        let mut entries = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            for (id, _) in self.entries(row) {
                if let Some(column) = column_of(id) {
                    entries.room(1)?.push((column, at, id));
                }
            }
        }
        entries.sort_unstable();
        for own in entries.chunk_by(|a, b| a.0 == b.0) {
            interrupts::check();
            values.clear();
            let values = values.room(self.rows.len())?;
            // a row without a value has one that is missing
            values.extend(self.classes.iter().map(|class| (f32::NAN, *class)));
            for (_, at, id) in own {
                // numbers that differ as the ids do
                values[*at].0 = f32::from_bits(0x80_0000 + (id & 0x3fff_ffff));
            }
            values.sort_unstable_by(|a, b| order(a.0, b.0).then(a.1.cmp(&b.1)));
            let measure = agreement(values, OF_VALUE);
            if measure >= NEARLY_ALL && found.len() < MOST_TOLD {
                let what = TellingColumn::Part(own[0].0);
                found.room(1)?.push(Telling { what, measure });
            }
        }
        Ok(())
    }

    /// Other sparse features that tell the classes apart.
    fn sparse(
        &self,
        column_of: &dyn Fn(u32) -> Option<u32>,
        values: &mut Vec<(f32, u32)>,
        found: &mut Vec<Telling>,
    ) -> Result<(), OutOfMemory> {
        for id in self.usual()? {
            if column_of(id).is_some() {
                continue;
            }
            interrupts::check();
            let value = |row: &Row<'a>| {
                let mut entries = self.entries(row);
                entries.find(|it| it.0 == id).map_or(0.0, |it| it.1)
            };
            let what = TellingColumn::Feature(self.dense as u64 + u64::from(id));
            self.number(what, value, values, found)?;
        }
        Ok(())
    }

    /// The sparse features of a row and their values.
    fn entries(&self, row: &Row<'a>) -> impl Iterator<Item = (u32, f32)> + use<'a> {
        let dense = self.dense as u32;
        let entries = row.sparse().iter();
        entries.map(move |[id, bits]| (id - dense, f32::from_bits(*bits)))
    }

    /// Features that the first rows of some class have all: no other one can tell it from the rest. Of more than two classes one feature
    /// that is there or not cannot.
    fn usual(&self) -> Result<Vec<u32>, OutOfMemory> {
        const FIRST: usize = 4;
        const MOST: usize = 64;
        let mut usual: Vec<u32> = Vec::new();
        if self.sizes.iter().filter(|size| **size > 0).count() > 2 {
            return Ok(usual);
        }
        for class in 0..self.sizes.len() as u32 {
            let own = self.first.iter().filter(|at| self.classes[**at] == class);
            let mut own = own.take(FIRST).map(|at| &self.rows[*at]);
            let Some(row) = own.next() else { continue };
            let rest: Vec<_> = own.collect();
            for (id, _) in self.entries(row) {
                let has = |row: &&Row<'a>| self.entries(row).any(|it| it.0 == id);
                if usual.len() < MOST && !usual.contains(&id) && rest.iter().all(has) {
                    usual.room(1)?.push(id);
                }
            }
        }
        Ok(usual)
    }
}

/// The order of values; those that are missing come last.
fn order(a: f32, b: f32) -> Ordering {
    let missing = a.is_nan().cmp(&b.is_nan());
    missing.then(a.partial_cmp(&b).unwrap_or(Ordering::Equal))
}

fn same(a: f32, b: f32) -> bool {
    order(a, b) == Ordering::Equal
}

/// The absolute value of the correlation of these pairs; 0 where one of the two is constant.
fn correlation<I: Iterator<Item = (f64, f64)>>(pairs: &impl Fn() -> I) -> f64 {
    let (mut count, mut sums) = (0.0, [0.0; 2]);
    for (a, b) in pairs() {
        count += 1.0;
        sums = [sums[0] + a, sums[1] + b];
    }
    let mean = sums.map(|sum| sum / count);
    let mut farthest = [0.0f64; 2];
    for (a, b) in pairs() {
        farthest = [
            farthest[0].max((a - mean[0]).abs()),
            farthest[1].max((b - mean[1]).abs()),
        ];
    }
    let (mut squares, mut products) = ([0.0; 2], 0.0);
    for (a, b) in pairs() {
        // in units of the farthest, so that no square is too small or too large a number
        let (a, b) = ((a - mean[0]) / farthest[0], (b - mean[1]) / farthest[1]);
        squares = [squares[0] + a * a, squares[1] + b * b];
        products += a * b;
    }
    let found = products.abs() / (squares[0].sqrt() * squares[1].sqrt());
    // rounding may take it above 1; what is no number is of constants
    if found.is_nan() {
        0.0
    } else {
        found.min(1.0)
    }
}

/// Of pairs of rows of different classes the share that an ascending column has in the order of their classes' means.
fn concordance(column: &[(f32, u32)], classes: usize) -> Result<f64, OutOfMemory> {
    let mut sums = filled((0.0f64, 0.0f64), classes)?;
    for (at, (_, class)) in column.iter().enumerate() {
        let (places, rows) = &mut sums[*class as usize];
        (*places, *rows) = (*places + at as f64, *rows + 1.0);
    }
    let mean = |class: &usize| sums[*class].0 / sums[*class].1.max(1.0);
    let mut ranked = Vec::new();
    ranked.room(classes)?.extend(0..classes);
    ranked.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let mut rank = filled(0, classes)?;
    for (at, class) in ranked.iter().enumerate() {
        rank[*class] = at;
    }
    // by rank: rows below the run of equal values at hand
    let mut below = filled(0.0, classes)?;
    let (mut right, mut pairs) = (0.0, 0.0);
    for run in column.chunk_by(|a, b| same(a.0, b.0)) {
        for (_, class) in run {
            let own = rank[*class as usize];
            let (lower, all): (f64, f64) = (below[..own].iter().sum(), below.iter().sum());
            right += lower;
            pairs += all - below[own];
        }
        let mut squares = 0.0;
        for alike in run.chunk_by(|a, b| a.1 == b.1) {
            below[rank[alike[0].1 as usize]] += alike.len() as f64;
            squares += (alike.len() as f64).powi(2);
        }
        let equal = 0.5 * ((run.len() as f64).powi(2) - squares);
        right += 0.5 * equal;
        pairs += equal;
    }
    Ok(if pairs > 0.0 { right / pairs } else { 0.0 })
}

/// The share of rows of an ascending column whose class most others with the same value have; 0 where a value has fewer rows than so many
/// on the average.
fn agreement(column: &[(f32, u32)], of_value: usize) -> f64 {
    let (mut right, mut values) = (0, 0);
    for run in column.chunk_by(|a, b| same(a.0, b.0)) {
        values += 1;
        let sizes = || run.chunk_by(|a, b| a.1 == b.1).map(<[_]>::len);
        let largest = sizes().max().unwrap_or(0);
        // less the row itself, and against the largest of the others
        let second = run.len() - largest;
        if largest > 1 && largest - 1 > second {
            right += largest;
        }
    }
    match values * of_value > column.len() {
        true => 0.0,
        false => right as f64 / column.len().max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(values: &[(f32, u32)]) -> Vec<(f32, u32)> {
        let mut column = values.to_vec();
        column.sort_by(|a, b| order(a.0, b.0).then(a.1.cmp(&b.1)));
        column
    }

    #[test]
    fn concordance_of_two_classes_is_the_area_under_the_curve() {
        let column = sorted(&[(1.0, 0), (2.0, 1), (2.0, 0), (3.0, 1), (0.0, 1)]);
        // of six pairs: 2>1, 2=2, 3>1, 3>2, 0<1, 0<2
        assert_eq!(concordance(&column, 2).unwrap(), 3.5 / 6.0);
        let other_way = sorted(&[(1.0, 1), (2.0, 0), (3.0, 0)]);
        assert_eq!(concordance(&other_way, 2).unwrap(), 1.0);
        assert_eq!(concordance(&sorted(&[(1.0, 0), (1.0, 1)]), 2).unwrap(), 0.5);
    }

    #[test]
    fn concordance_of_more_classes_takes_them_in_any_order() {
        let column: Vec<_> = (0..90).map(|at| (at as f32, [2, 0, 1][at / 30])).collect();
        assert_eq!(concordance(&column, 3).unwrap(), 1.0);
        let mixed: Vec<_> = (0..90u32).map(|at| (at as f32, at % 3)).collect();
        assert!(concordance(&mixed, 3).unwrap() < 0.6);
    }

    #[test]
    fn correlation_is_that_of_straight_lines_up_or_down() {
        let of = |label: fn(f64) -> f64| {
            let pairs = move || (0..50).map(move |at| (f64::from(at), label(f64::from(at))));
            correlation(&pairs)
        };
        assert!((of(|x| 7.0 - 3.0 * x) - 1.0).abs() < 1e-12);
        assert!(of(|x| x * x) < NEARLY_ALL);
        assert!(of(|x| (x * 12.9898).sin()) < 0.3);
        assert_eq!((of(|_| 4.0), of(|x| x * 1e308)), (0.0, 0.0));
        // squares of these are too small or too large for a number
        assert!(of(|x| 1e-300 * (x * 12.9898).sin()) < 0.3);
        assert!((of(|x| 1e200 * x) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn agreement_is_of_others_with_the_same_value() {
        let code: Vec<_> = (0..40u32).map(|at| ((at % 4) as f32, at % 2)).collect();
        assert_eq!(agreement(&sorted(&code), 10), 1.0);
        // values that come once say nothing of other rows, and rows that come twice nothing of others
        let twice: Vec<_> = (0..40u32).map(|at| ((at / 2) as f32, at / 2 % 2)).collect();
        assert_eq!(agreement(&twice, 10), 0.0);
        let keys: Vec<_> = (0..40u32).map(|at| (at as f32, at % 2)).collect();
        assert_eq!(agreement(&sorted(&keys), 1), 0.0);
        let missing = [(f32::NAN, 1), (f32::NAN, 1), (1.0, 0), (2.0, 0), (2.0, 0)];
        assert_eq!(agreement(&sorted(&missing), 1), 0.8);
    }
}
