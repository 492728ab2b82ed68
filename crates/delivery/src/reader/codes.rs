//! Whole numbers that are codes, as zip codes and weekdays are: which classes rows have depends on the number, and not on how large
//! it is.
//!
//! By value v with n_v rows, m_v is the share of a class. Ages, years and counts have shares that rise, fall or bend with the value; so
//! what values explain beyond a curve is the sum of squares between them less that of the best of three fits: a polynomial of
//! degree 3, and shares that only rise or only fall (isotonic regression). What neighbours differ by says whether a finer bend does
//! it too. Both less what they come to by chance (lack-of-fit test, and von Neumann's ratio of successive differences).

use pgsvm_base::memory::{gathered, OutOfMemory};

/// Fewest rows of a value that says something, and the share of all rows that such values are to have.
const LEAST_ROWS: usize = 5;
const LEAST_SHARE: f64 = 0.8;
/// Most of the rows that may have one value: what is nearly always 0 is a count or an amount.
const LARGEST: f64 = 0.5;
/// Fewest values and most.
const LEAST_VALUES: usize = 5;
const MOST_VALUES: usize = 1000;
/// Degree of the polynomial.
const DEGREE: i32 = 3;
/// What values are to explain of the classes' variance beyond a curve, and by how many of its standard deviations that is to be more
/// than chance.
const LEAST_GAIN: f64 = 0.02;
/// And of what they explain at all: a sharp bend of few values leaves a curve less than this, weekends among weekdays leave it more.
const LEAST_PART: f64 = 0.125;
const LEAST_DEVIATIONS: f64 = 5.0;
/// Half the squared differences of neighbours, to the variance between values: 1 of codes on the average, with a deviation of one by the
/// square root of their number, and 0 of what bends smoothly. So many deviations it may be less, and so small at most.
const DEVIATIONS_BELOW: f64 = 3.0;
const LEAST_RATIO: f64 = 0.5;

/// Whether numbers are codes: pairs of a value and a class, ascending by value.
pub fn are_codes(column: &[(f32, u32)]) -> Result<bool, OutOfMemory> {
    if column.iter().any(|(value, _)| !value.is_finite()) {
        // of rows without a value nothing is known
        let known = gathered(column.iter().copied().filter(|it| it.0.is_finite()))?;
        return Ok(known.len() * 2 > column.len() && are_codes(&known)?);
    }
    let classes = column
        .iter()
        .map(|(_, class)| *class as usize + 1)
        .max()
        .unwrap_or(0);
    let of_value = |a: &(f32, u32), b: &(f32, u32)| a.0 == b.0;
    let values = column.chunk_by(of_value).count();
    let often = |value: &&[(f32, u32)]| value.len() >= LEAST_ROWS;
    let usual = gathered(column.chunk_by(of_value).filter(often))?;
    let rows: usize = usual.iter().map(|value| value.len()).sum();
    let largest = usual.iter().map(|value| value.len()).max().unwrap_or(0);
    let all = column.len() as f64;
    if values > MOST_VALUES
        || usual.len() < LEAST_VALUES
        || (rows as f64) < LEAST_SHARE * all
        || largest as f64 > LARGEST * all
    {
        return Ok(false);
    }
    let found = (0..classes as u32).fold(Explained::default(), |sum, class| {
        sum.with(&usual, rows, class)
    });
    Ok(found.by_codes(usual.len()))
}

/// Sums over the classes.
#[derive(Default)]
struct Explained {
    /// The variance of a row, times the rows.
    total: f64,
    /// Of one row, which is what each value explains by chance.
    noise: f64,
    between: f64,
    curve: f64,
    neighbours: f64,
    spread: f64,
}

impl Explained {
    fn with(mut self, values: &[&[(f32, u32)]], rows: usize, class: u32) -> Self {
        let rows = rows as f64;
        let shares: Vec<(f64, f64, f64)> = values
            .iter()
            .map(|value| {
                let own = value.iter().filter(|it| it.1 == class).count() as f64;
                (
                    f64::from(value[0].0),
                    value.len() as f64,
                    own / value.len() as f64,
                )
            })
            .collect();
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| shares.iter().map(of).sum::<f64>();
        let share = sum(&|(_, n, m)| n * m) / rows;
        let noise = share * (1.0 - share);
        self.noise += noise;
        self.total += rows * noise;
        self.between += sum(&|(_, n, m)| n * (m - share) * (m - share));
        self.curve += by_polynomial(&shares)
            .max(by_order(&mut shares.iter(), share))
            .max(by_order(&mut shares.iter().rev(), share));
        let count = shares.len() as f64;
        let middle = sum(&|(_, _, m)| *m) / count;
        self.spread += sum(&|(_, n, m)| (m - middle) * (m - middle) - noise / n) / (count - 1.0);
        let pairs = shares.windows(2).map(|pair| {
            let away = pair[1].2 - pair[0].2;
            0.5 * (away * away - noise / pair[0].1 - noise / pair[1].1)
        });
        self.neighbours += pairs.sum::<f64>() / (count - 1.0);
        self
    }

    fn by_codes(&self, values: usize) -> bool {
        let free = values as f64 - 1.0 - f64::from(DEGREE);
        let beyond = self.between - self.curve - free * self.noise;
        let ratio = (1.0 - DEVIATIONS_BELOW / (values as f64).sqrt()).max(LEAST_RATIO);
        self.total > 0.0
            && beyond >= LEAST_GAIN * self.total
            && beyond >= LEAST_PART * self.between
            && beyond >= LEAST_DEVIATIONS * self.noise * (2.0 * free).sqrt()
            && self.neighbours >= ratio * self.spread
    }
}

/// What a polynomial explains of the squares between values: each with its number, its rows and its share.
fn by_polynomial(shares: &[(f64, f64, f64)]) -> f64 {
    let rows: f64 = shares.iter().map(|it| it.1).sum();
    let mean = shares.iter().map(|(x, n, _)| n * x).sum::<f64>() / rows;
    let squares: f64 = shares
        .iter()
        .map(|(x, n, _)| n * (x - mean) * (x - mean))
        .sum();
    let deviation = (squares / rows).sqrt();
    let product = |one: &[f64], other: &[f64]| -> f64 {
        let both = one.iter().zip(other).zip(shares);
        both.map(|((a, b), (_, n, _))| n * a * b).sum()
    };
    let classes: Vec<f64> = shares.iter().map(|it| it.2).collect();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut explained = 0.0;
    for degree in 0..=DEGREE {
        let powers = shares
            .iter()
            .map(|it| ((it.0 - mean) / deviation).powi(degree));
        let mut column: Vec<f64> = powers.collect();
        for known in &basis {
            let along = product(&column, known);
            for (value, known) in column.iter_mut().zip(known) {
                *value -= along * known;
            }
        }
        let length = product(&column, &column).sqrt();
        // as long as the rows are many where it says something new
        if length.is_nan() || length <= 1e-6 * rows.sqrt() {
            break;
        }
        column.iter_mut().for_each(|value| *value /= length);
        if degree > 0 {
            explained += product(&column, &classes).powi(2);
        }
        basis.push(column);
    }
    explained
}

/// What shares that only rise explain of the squares between values in this order, by pooling neighbours that do not; `share`: that of
/// all rows.
fn by_order(shares: &mut dyn Iterator<Item = &(f64, f64, f64)>, share: f64) -> f64 {
    let mut pools: Vec<(f64, f64)> = Vec::new();
    for (_, n, m) in shares {
        let mut pool = (*n, n * m);
        while let Some(before) = pools.pop_if(|it| it.1 * pool.0 >= pool.1 * it.0) {
            pool = (pool.0 + before.0, pool.1 + before.1);
        }
        pools.push(pool);
    }
    let squares = pools.iter().map(|(n, sum)| n * (sum / n - share).powi(2));
    squares.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of so many values, by a class each: whether a draw lies below the share that a value has.
    fn column(values: u32, rows: u32, share: impl Fn(u32) -> f64) -> Vec<(f32, u32)> {
        let mut state = 1u64;
        let mut column: Vec<_> = (0..rows)
            .map(|row| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let draw = (state >> 11) as f64 / (1u64 << 53) as f64;
                let value = row % values;
                (value as f32, u32::from(draw < share(value)))
            })
            .collect();
        column.sort_by(|a, b| a.0.total_cmp(&b.0));
        column
    }

    fn is_of_codes(column: &[(f32, u32)]) -> bool {
        are_codes(column).unwrap()
    }

    #[test]
    fn codes_are_told_from_amounts() {
        let scattered = |value: u32| f64::from(value.wrapping_mul(2_654_435_761) >> 31);
        assert!(is_of_codes(
            &column(97, 5000, |value| 0.1 + 0.8 * scattered(value))
        ));
        assert!(is_of_codes(&column(7, 2000, |day| {
            if matches!(day, 0 | 6) {
                0.9
            } else {
                0.2
            }
        })));
        // lines, bends and nothing at all
        assert!(!is_of_codes(
            &column(97, 5000, |value| f64::from(value) / 97.0)
        ));
        assert!(!is_of_codes(&column(97, 5000, |value| 1.0
            - (f64::from(value) / 48.0 - 1.0).powi(2))));
        assert!(!is_of_codes(&column(97, 5000, |_| 0.3)));
        // few values that bend, that rise by steps, and that matter in a band
        let bend = [0.3, 0.5, 0.7, 0.5, 0.3];
        assert!(!is_of_codes(&column(5, 2000, |value| bend[value as usize])));
        let steps = [0.05, 0.1, 0.1, 0.7, 0.7, 0.95];
        assert!(!is_of_codes(&column(6, 2000, |value| steps[value as usize])));
        assert!(!is_of_codes(&column(61, 5000, |age| match age {
            20..=40 => 0.9,
            _ => 0.1,
        })));
        assert!(!is_of_codes(&column(5000, 5000, scattered)));
        assert!(!is_of_codes(&column(2, 5000, f64::from)));
        assert!(!is_of_codes(&[]));
    }
}
