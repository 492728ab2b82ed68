//! Numbers made of numbers: logarithms, polynomials, buckets, splines, parts of a time, products.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, gathered, OutOfMemory, Room};
use crate::base::random::{Random, Stream};
use crate::hash::of_number;

/// What is made of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// sign(x) ln(1 + |x|), of each number.
    Log,
    /// All products of one to so many of them.
    Polynomial,
    /// In which of so many ranges of equal counts a number is: 1 there, 0 elsewhere.
    Bucket,
    /// The number, and how far it is above each of so many knots.
    Spline,
    /// Hour, weekday and month of a time in UTC as circles.
    Parts,
    /// The product of all of them.
    Product,
}

/// Most features that are made of the numbers of a row.
pub const MOST_MADE: usize = 10_000;
/// Most products of a row that are hashed.
pub const MOST_HASHED: usize = 1 << 20;
/// Highest degree of a polynomial.
pub const MOST_DEGREE: u32 = 8;
/// Most buckets, and knots.
pub const MOST_KNOTS: u32 = 1000;

const DAY: f64 = 86_400.0;

/// How many features are made of so many numbers; None where there are too many.
pub fn count(how: How, numbers: usize, number: u32, knots: &[f64]) -> Option<usize> {
    let count = match how {
        How::Log => numbers,
        How::Product => 1,
        How::Parts => 6,
        How::Bucket | How::Spline => knots.len() + 1,
        How::Polynomial => products_of(numbers, number)?,
    };
    (count <= MOST_MADE).then_some(count)
}

/// Products of one to so many of the numbers: binomial(n + d, d) - 1.
fn products_of(numbers: usize, degree: u32) -> Option<usize> {
    let mut count = 1usize;
    for k in 1..=degree as usize {
        count = count.checked_mul(numbers + k)? / k;
    }
    Some(count - 1)
}

/// Visits the products of one to `degree` of the numbers, as far as they are not 0, each with a hash of which numbers they are of: h, 0
/// for none, becomes MurmurHash3's finalizer of h xor the next number's place from 1. None, and nothing is visited, where there
/// are more than [`MOST_HASHED`].
pub fn hashed_products<E>(
    numbers: &[f64],
    degree: u32,
    mut visit: impl FnMut(u64, f64) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let others = numbers.iter().filter(|x| **x != 0.0).count();
    products_of(others, degree).filter(|count| *count <= MOST_HASHED)?;
    let first = (0, degree, 0, 1.0);
    Some(hashed_from(numbers, first, &mut visit))
}

/// The same of those that begin with this product, of numbers from this place on, and have so many more.
fn hashed_from<E>(
    numbers: &[f64],
    (from, more, hash, product): (usize, u32, u64, f64),
    visit: &mut impl FnMut(u64, f64) -> Result<(), E>,
) -> Result<(), E> {
    for (at, x) in numbers.iter().enumerate().skip(from) {
        if *x == 0.0 {
            continue;
        }
        let (hash, product) = (of_number(hash ^ (at as u64 + 1)), product * x);
        visit(hash, product)?;
        if more > 1 {
            hashed_from(numbers, (at, more - 1, hash, product), visit)?;
        }
    }
    Ok(())
}

/// Appends what is made of the numbers.
pub fn make(
    how: How,
    numbers: &[f64],
    number: u32,
    knots: &[f64],
    out: &mut Vec<f64>,
) -> Result<(), OutOfMemory> {
    out.room(count(how, numbers.len(), number, knots).unwrap_or(0))?;
    let first = numbers.first().copied().unwrap_or(0.0);
    match how {
        How::Log => out.extend(numbers.iter().map(|x| x.signum() * x.abs().ln_1p())),
        How::Product => out.push(numbers.iter().product()),
        How::Bucket => {
            let bucket = knots.partition_point(|knot| *knot <= first);
            out.extend((0..=knots.len()).map(|at| f64::from(u8::from(at == bucket))));
        }
        How::Spline => {
            out.push(first);
            out.extend(knots.iter().map(|knot| (first - knot).max(0.0)));
        }
        How::Parts => {
            for turn in parts(first) {
                out.push((TAU * turn).sin());
                out.push((TAU * turn).cos());
            }
        }
        // as scikit-learn's PolynomialFeatures has them
        How::Polynomial => {
            for degree in 1..=number {
                products(numbers, degree, 1.0, out);
            }
        }
    }
    Ok(())
}

/// Products of `degree` of the numbers and a factor, in the order of the numbers that are multiplied.
fn products(numbers: &[f64], degree: u32, factor: f64, out: &mut Vec<f64>) {
    match degree {
        0 => {}
        1 => out.extend(numbers.iter().map(|x| factor * x)),
        _ => {
            for (at, x) in numbers.iter().enumerate() {
                products(&numbers[at..], degree - 1, factor * x, out);
            }
        }
    }
}

/// Hour, weekday from Sunday, and month, each as a part of its circle.
fn parts(seconds: f64) -> [f64; 3] {
    let days = (seconds / DAY).floor();
    let (_, month) = civil(days as i64);
    [
        (seconds - days * DAY) / DAY,
        (days as i64 + 4).rem_euclid(7) as f64 / 7.0,
        (month - 1) as f64 / 12.0,
    ]
}

/// Year and month of a day counted from 1970-01-01, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64) {
    // years from March on, in eras of 400 years
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (month, next) = match month {
        0..10 => (month + 3, 0),
        _ => (month - 9, 1),
    };
    (era * 400 + year + next, month)
}

/// What a made feature is called, by its number from 0; numbers that it is made of are called by `names`, or x1, x2, …
pub fn label(how: How, at: usize, (numbers, number): (usize, u32), knots: &[f64]) -> String {
    match how {
        How::Log => (at + 1).to_string(),
        How::Product => "product".to_owned(),
        How::Bucket => {
            let from = at.checked_sub(1).and_then(|at| knots.get(at));
            match (from, knots.get(at)) {
                (Some(from), Some(to)) => format!("{from} to {to}"),
                (None, Some(to)) => format!("below {to}"),
                (Some(from), None) => format!("from {from}"),
                (None, None) => "any".to_owned(),
            }
        }
        How::Spline => match at.checked_sub(1).and_then(|at| knots.get(at)) {
            Some(knot) => format!("above {knot}"),
            None => "all".to_owned(),
        },
        How::Parts => {
            let what = ["hour", "weekday", "month"][(at / 2).min(2)];
            format!("{what} {}", ["sin", "cos"][at % 2])
        }
        How::Polynomial => product(numbers, number, at),
    }
}

/// Which numbers a product of a polynomial is made of.
fn product(numbers: usize, degree: u32, at: usize) -> String {
    let mut rest = at;
    let mut factors = vec![];
    let of_degree = |d: u32, from: usize| {
        // products of d of the numbers from there on
        let n = numbers - from;
        (1..=d as usize).fold(1usize, |count, k| count * (n + k - 1) / k)
    };
    for d in 1..=degree {
        if rest < of_degree(d, 0) {
            let mut from = 0;
            for left in (0..d).rev() {
                while from < numbers && rest >= of_degree(left, from) {
                    rest -= of_degree(left, from);
                    from += 1;
                }
                factors.push(format!("x{}", from + 1));
            }
            return factors.join(" ");
        }
        rest -= of_degree(d, 0);
    }
    at.to_string()
}

/// Values of which some are kept, by which quantiles are found.
pub struct Quantiles {
    kept: Vec<KeptValue>,
    bar: f64,
    random: Random,
}

struct KeptValue {
    /// The number drawn for it.
    drawn: f64,
    value: f64,
    /// How many rows have it.
    rows: f64,
}

/// Values that are kept.
const MOST_KEPT: usize = 1 << 16;

impl Default for Quantiles {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            bar: 1.0,
            random: Random::new(0, Stream::Sample),
        }
    }
}

impl Quantiles {
    /// Takes a value in, of a row that counts as so many.
    pub fn take(&mut self, value: f64, rows: f64) -> Result<(), OutOfMemory> {
        let drawn = self.random.unit();
        if drawn >= self.bar {
            return Ok(());
        }
        self.kept.room(1)?.push(KeptValue { drawn, value, rows });
        if self.kept.len() > MOST_KEPT {
            self.bar *= 0.5;
            let bar = self.bar;
            self.kept.retain(|it| it.drawn < bar);
        }
        Ok(())
    }

    /// Different values that cut them into `pieces` of equal counts.
    pub fn cuts(mut self, pieces: u32) -> Result<Vec<f64>, OutOfMemory> {
        self.kept
            .sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
        let mut cuts = Vec::new();
        let Some(least) = self.kept.first().map(|it| it.value) else {
            return Ok(cuts);
        };
        let mut end = 0.0;
        let ends = gathered(self.kept.iter().map(|it| {
            end += it.rows;
            end
        }))?;
        // the value of a row, counted from 0
        let of = |row: f64| {
            let place = ends.partition_point(|end| *end <= row);
            self.kept[place.min(ends.len() - 1)].value
        };
        let last = (end - 1.0).max(0.0);
        for piece in 1..pieces {
            let at = last * f64::from(piece) / f64::from(pieces);
            let (below, above) = (of(at.floor()), of(at.floor() + 1.0));
            let cut = below + at.fract() * (above - below);
            if cuts.last() != Some(&cut) && cut > least {
                cuts.room(1)?.push(cut);
            }
        }
        copied(&cuts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(how: How, numbers: &[f64], number: u32, knots: &[f64]) -> Vec<f64> {
        let mut out = vec![7.0];
        make(how, numbers, number, knots, &mut out).unwrap();
        assert_eq!(
            Some(out.len() - 1),
            count(how, numbers.len(), number, knots)
        );
        out.remove(0);
        out
    }

    #[test]
    fn products_come_as_scikit_learn_has_them() {
        let (a, b, c) = (2.0, 3.0, 5.0);
        let expected = [a, b, c, a * a, a * b, a * c, b * b, b * c, c * c];
        assert_eq!(made(How::Polynomial, &[a, b, c], 2, &[]), expected);
        let expected = [
            a,
            b,
            a * a,
            a * b,
            b * b,
            a * a * a,
            a * a * b,
            a * b * b,
            b * b * b,
        ];
        assert_eq!(made(How::Polynomial, &[a, b], 3, &[]), expected);
        assert_eq!(made(How::Polynomial, &[a], 3, &[]), [2.0, 4.0, 8.0]);
    }

    #[test]
    fn products_are_called_by_their_factors() {
        for (numbers, degree) in [(3, 2), (2, 3), (1, 4), (4, 4)] {
            let primes = [2.0, 3.0, 5.0, 7.0];
            let values = made(How::Polynomial, &primes[..numbers], degree, &[]);
            for (at, value) in values.iter().enumerate() {
                let name = label(How::Polynomial, at, (numbers, degree), &[]);
                let factors = name.split(' ').map(|it| it[1..].parse::<usize>().unwrap());
                assert_eq!(
                    factors.map(|it| primes[it - 1]).product::<f64>(),
                    *value,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn hashed_products_are_the_same_but_for_zeros() {
        let numbers = [2.0, 0.0, 3.0, 5.0];
        let (mut hashes, mut values) = (Vec::new(), Vec::new());
        let visit = |hash, value| {
            hashes.push(hash);
            values.push(value);
            Ok::<_, OutOfMemory>(())
        };
        hashed_products(&numbers, 3, visit).unwrap().unwrap();
        let mut expected = made(How::Polynomial, &numbers, 3, &[]);
        expected.retain(|value| *value != 0.0);
        expected.sort_by(f64::total_cmp);
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, expected);
        // the first of all, its square, and the square's product with the third
        let first = of_number(1);
        let known = [
            first,
            of_number(first ^ 1),
            of_number(of_number(first ^ 1) ^ 1),
        ];
        assert_eq!(
            (&hashes[..3], &values[..3]),
            (&known[..], &[2.0, 4.0, 8.0][..])
        );
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
        let many = vec![1.0; 1500];
        assert!(hashed_products(&many, 2, |_, _| Err(())).is_none());
    }

    #[test]
    fn a_logarithm_is_there_for_every_number() {
        let found = made(How::Log, &[0.0, 1.0, -1.0], 0, &[]);
        assert_eq!(found, [0.0, 2f64.ln(), -2f64.ln()]);
    }

    #[test]
    fn ranges_and_knots() {
        assert_eq!(made(How::Bucket, &[2.0], 3, &[1.0, 2.0]), [0.0, 0.0, 1.0]);
        assert_eq!(made(How::Bucket, &[0.0], 3, &[1.0, 2.0]), [1.0, 0.0, 0.0]);
        assert_eq!(made(How::Spline, &[1.5], 2, &[1.0, 2.0]), [1.5, 0.5, 0.0]);
        assert_eq!(label(How::Bucket, 1, (1, 3), &[1.0, 2.0]), "1 to 2");
        assert_eq!(label(How::Spline, 2, (1, 2), &[1.0, 2.0]), "above 2");
    }

    #[test]
    fn times_are_circles() {
        // 2024-02-29 06:00 UTC, a Thursday
        let found = made(How::Parts, &[1_709_186_400.0], 0, &[]);
        let expected = [0.25, 4.0 / 7.0, 1.0 / 12.0].map(|turn| TAU * turn);
        for (at, angle) in expected.into_iter().enumerate() {
            assert!((found[2 * at] - angle.sin()).abs() < 1e-12);
            assert!((found[2 * at + 1] - angle.cos()).abs() < 1e-12);
        }
        assert_eq!(civil(0), (1970, 1));
        assert_eq!(civil(-1), (1969, 12));
        assert_eq!(civil(11_016), (2000, 2));
        assert_eq!(civil(11_017), (2000, 3));
    }

    #[test]
    fn quantiles_cut_into_equal_counts() {
        let mut values = Quantiles::default();
        (0..=100).for_each(|x| values.take(f64::from(x), 1.0).unwrap());
        assert_eq!(values.cuts(4).unwrap(), [25.0, 50.0, 75.0]);
        let mut same = Quantiles::default();
        [1.0, 1.0, 1.0, 2.0]
            .iter()
            .for_each(|x| same.take(*x, 1.0).unwrap());
        assert!(same.cuts(2).unwrap().is_empty());
        let mut many = Quantiles::default();
        (0..500_000).for_each(|x| many.take(f64::from(x), 1.0).unwrap());
        let cuts = many.cuts(2).unwrap();
        assert!((cuts[0] - 250_000.0).abs() < 5_000.0, "{cuts:?}");
        assert!(Quantiles::default().cuts(3).unwrap().is_empty());
    }

    #[test]
    fn a_row_of_weight_3_is_three_rows() {
        let (mut weighed, mut repeated) = (Quantiles::default(), Quantiles::default());
        for (at, value) in [3.0, 1.0, 7.5, 2.0, 9.0, 4.25].into_iter().enumerate() {
            let rows = 1 + at % 3;
            weighed.take(value, rows as f64).unwrap();
            (0..rows).for_each(|_| repeated.take(value, 1.0).unwrap());
        }
        assert_eq!(weighed.cuts(5).unwrap(), repeated.cuts(5).unwrap());
    }

    #[test]
    fn too_many_products_are_refused() {
        assert_eq!(count(How::Polynomial, 200, 2, &[]), None);
        assert_eq!(count(How::Polynomial, 100, 2, &[]), Some(5150));
    }
}
