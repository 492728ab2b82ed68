//! Texts that are numbers or points in time, as people write them: amounts of money, per cents, numbers with thousands
//! separators, dates in several orders. How a column is written is decided once, by [`Reading::of`]; then each value is
//! read in that way, wherever and by whatever settings.

use serde::{Deserialize, Serialize};

/// How texts of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// `-1,234.50`, `$ 12`, `45 %`, `(3.20)`, `1e-3`.
    Number,
    /// The same with a decimal comma: `1.234,50`.
    CommaNumber,
    /// Seconds since 1970-01-01 00:00 UTC of `2024-01-31`, `31 Jan 2024 12:30`.
    Ymd,
    /// The same of `31.01.2024`.
    Dmy,
    /// The same of `01/31/2024`.
    Mdy,
    /// Seconds since midnight of `09:30`, `1:05 PM`.
    Clock,
}

/// A text that is a number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TextNumber {
    value: f64,
    /// Whether it is written as amounts are, and codes are not: with a fraction, a currency, a per cent sign, separators.
    is_amount: bool,
    /// Whether it begins with a 0 that a number does not need.
    is_padded: bool,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Read {
    pub reading: Reading,
    /// Whether all of them are whole numbers written as codes are too.
    pub may_be_codes: bool,
}

/// Longest text that is read.
pub const LONGEST: usize = 64;

/// Distinct whole numbers of a column up to which they are categories as well.
const FEW_WHOLE: usize = 20;
/// Distinct texts that are neither numbers nor usual words for a missing value, and one in how many values may be one.
const MOST_OTHERS: usize = 3;
const ONE_IN: u64 = 10;

/// What stands where there is no value.
const MARKERS: [&str; 24] = [
    "",
    "?",
    "-",
    "--",
    "---",
    ".",
    "..",
    "*",
    "#",
    "na",
    "n/a",
    "n.a.",
    "#n/a",
    "nan",
    "null",
    "nil",
    "none",
    "missing",
    "unknown",
    "unk",
    "tbd",
    "not available",
    "\u{2013}",
    "\u{2014}",
];

const CURRENCIES: [&str; 42] = [
    "US$", "R$", "A$", "C$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₴", "₪", "₫", "₦", "₱", "฿",
    "¢", "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK",
    "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "RUB", "TRY", "KRW", "SGD",
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl Reading {
    /// How the distinct texts of a column are read, each with the number of its rows; None where they are neither numbers nor times.
    /// Of dates that are written alike in two orders, `preferred` is taken.
    pub fn of<'a>(
        values: impl Iterator<Item = (&'a str, u64)> + Clone,
        preferred: Self,
    ) -> Option<Read> {
        let reading = Self::most_of(values.clone(), preferred, |_| true)?;
        let read = reading.rows_of(values.clone());
        let is_other = |text: &str| reading.read(text).is_none() && !is_marker(text);
        let (mut others, mut other_rows) = (0, 0);
        for (_, rows) in values.clone().filter(|(text, _)| is_other(text)) {
            (others, other_rows) = (others + 1, other_rows + rows);
        }
        if others > MOST_OTHERS || other_rows * ONE_IN > read + other_rows {
            return None;
        }
        if reading.is_time() || reading == Self::Clock {
            return Some(Read {
                reading,
                may_be_codes: false,
            });
        }
        let numbers = values.filter_map(|(text, _)| number(text, reading == Self::CommaNumber));
        let (mut distinct, mut amounts, mut padded) = (0, false, false);
        for number in numbers {
            distinct += 1;
            amounts |= number.is_amount;
            padded |= number.is_padded;
        }
        let is_number = amounts || (!padded && distinct > FEW_WHOLE);
        is_number.then_some(Read {
            reading,
            may_be_codes: !amounts,
        })
    }

    /// The one of those that `may` be by which most rows are read, however few these are; None where none is.
    pub fn most_of<'a>(
        values: impl Iterator<Item = (&'a str, u64)> + Clone,
        preferred: Self,
        may: impl Fn(Self) -> bool,
    ) -> Option<Self> {
        let all = [
            preferred,
            Self::Number,
            Self::CommaNumber,
            Self::Ymd,
            Self::Dmy,
            Self::Mdy,
            Self::Clock,
        ];
        let mut best = None;
        let mut most = 0;
        for reading in all.into_iter().filter(|reading| may(*reading)) {
            let rows = reading.rows_of(values.clone());
            if rows > most {
                (most, best) = (rows, Some(reading));
            }
        }
        best
    }

    /// The rows that are read.
    fn rows_of<'a>(self, values: impl Iterator<Item = (&'a str, u64)>) -> u64 {
        let read = values.filter(|(text, _)| self.read(text).is_some());
        read.map(|(_, rows)| rows).sum()
    }

    /// Whether values are points in time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Ymd | Self::Dmy | Self::Mdy)
    }

    /// What a text says; None where it says nothing.
    pub fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Number => number(text, false).map(|it| it.value),
            Self::CommaNumber => number(text, true).map(|it| it.value),
            Self::Ymd | Self::Dmy | Self::Mdy => time(text, self),
            Self::Clock => of_the_day(text.trim()),
        }
    }
}

/// Of numbers whose points may all be decimal ones or all part thousands, as in `2.919`, the least text that is two numbers, and these;
/// None where one of the texts is read in one way alone.
pub fn of_thousands<'a>(texts: impl Iterator<Item = &'a str>) -> Option<(&'a str, [f64; 2])> {
    let mut found: Option<(&str, [f64; 2])> = None;
    for text in texts {
        // what is no number at all says nothing of points
        let both = [false, true].map(|comma| number(text, comma).map(|it| it.value));
        match both {
            [None, None] => {}
            [Some(point), Some(comma)] if point == comma => {}
            [Some(point), Some(comma)]
                if text.contains('.') && found.is_none_or(|(least, _)| text < least) =>
            {
                found = Some((text, [point, comma]));
            }
            [Some(_), Some(_)] if text.contains('.') => {}
            _ => return None,
        }
    }
    found
}

/// Whether a text stands for a missing value.
pub fn is_marker(text: &str) -> bool {
    let text = text.trim();
    MARKERS
        .iter()
        .any(|marker| text.eq_ignore_ascii_case(marker))
}

/// A number; `comma`: whether its fraction stands behind a comma.
fn number(text: &str, comma: bool) -> Option<TextNumber> {
    if text.len() > LONGEST {
        return None;
    }
    let mut rest = text.trim();
    let mut negative = false;
    let mut is_amount = false;
    if let Some(inside) = rest.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
        (rest, negative, is_amount) = (inside.trim(), true, true);
    }
    let mut signed = negative;
    let mut has_currency = false;
    // a sign may stand before a currency, or behind it
    for _ in 0..3 {
        if let Some(behind) = rest
            .strip_prefix(['-', '+', '\u{2212}'])
            .filter(|_| !signed)
        {
            negative = !rest.starts_with('+');
            signed = true;
            rest = behind.trim_start();
        } else if let Some(behind) =
            without_currency(rest, |rest, it| rest.strip_prefix(it)).filter(|_| !has_currency)
        {
            has_currency = true;
            rest = behind.trim_start();
        }
    }
    if let Some(before) = rest.strip_suffix('%') {
        is_amount = true;
        rest = before.trim_end();
    } else if let Some(before) =
        without_currency(rest, |rest, it| rest.strip_suffix(it)).filter(|_| !has_currency)
    {
        has_currency = true;
        rest = before.trim_end();
    }
    let (plain, fraction) = digits(rest, comma)?;
    let value: f64 = plain.parse().ok().filter(|value: &f64| value.is_finite())?;
    let is_padded =
        plain.len() > 1 && plain.starts_with('0') && plain.as_bytes()[1].is_ascii_digit();
    Some(TextNumber {
        value: if negative { -value } else { value },
        is_amount: is_amount || has_currency || fraction,
        is_padded,
    })
}

fn without_currency<'a>(
    rest: &'a str,
    strip: impl Fn(&'a str, &str) -> Option<&'a str>,
) -> Option<&'a str> {
    CURRENCIES.iter().find_map(|currency| strip(rest, currency))
}

/// An unsigned number as programs write it, and whether it has a fraction or separators; None where it is none.
fn digits(text: &str, comma: bool) -> Option<(String, bool)> {
    let point = if comma { ',' } else { '.' };
    let (number, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = match number.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let are_digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    if let Some(exponent) = exponent {
        let bare = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if bare.is_empty() || bare.len() > 4 || !are_digits(bare) {
            return None;
        }
    }
    if !fraction.is_none_or(are_digits) || (whole.is_empty() && fraction.is_none_or(str::is_empty))
    {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut separated = false;
    match are_digits(whole) {
        true => plain.push_str(whole),
        false => {
            separated = true;
            ungroup(whole, if comma { '.' } else { ',' }, &mut plain)?;
        }
    }
    if let Some(fraction) = fraction {
        plain.push('.');
        plain.push_str(fraction);
    }
    if let Some(exponent) = exponent {
        plain.push('e');
        plain.push_str(exponent);
    }
    Some((plain, separated || fraction.is_some() || exponent.is_some()))
}

/// Takes thousands separators out: the last group has three digits, those before it two or three, and the first is no 0.
fn ungroup(whole: &str, separator: char, out: &mut String) -> Option<()> {
    let others = [' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '\u{2019}'];
    let used = whole.chars().find(|it| !it.is_ascii_digit())?;
    if used != separator && !others.contains(&used) {
        return None;
    }
    let groups: Vec<&str> = whole.split(used).collect();
    for (at, group) in groups.iter().enumerate() {
        let fits = match at {
            0 => (1..=3).contains(&group.len()) && !group.starts_with('0'),
            _ if at + 1 == groups.len() => group.len() == 3,
            _ => (2..=3).contains(&group.len()),
        };
        if !fits || !group.bytes().all(|it| it.is_ascii_digit()) {
            return None;
        }
        out.push_str(group);
    }
    Some(())
}

/// Seconds since midnight of a time of the day, whose minutes have two digits: `16:9` is a ratio.
fn of_the_day(text: &str) -> Option<f64> {
    let (_, minutes) = text.split_once(':')?;
    let two = minutes.bytes().take(2).filter(u8::is_ascii_digit).count() == 2;
    match two && text.len() <= LONGEST && text.is_ascii() {
        true => seconds(text),
        false => None,
    }
}

/// Seconds since 1970-01-01 00:00 UTC.
fn time(text: &str, order: Reading) -> Option<f64> {
    let text = text.trim();
    if text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    let (date, clock) = split_clock(text);
    let days = days(date.trim_end_matches([' ', ',', 'T', 't']), order)?;
    Some(days as f64 * 86_400.0 + clock.map_or(Some(0.0), seconds)?)
}

/// The date, and where there is a time of the day, what begins with it.
fn split_clock(text: &str) -> (&str, Option<&str>) {
    let Some(colon) = text.find(':') else {
        return (text, None);
    };
    let hours = text[..colon]
        .bytes()
        .rev()
        .take_while(u8::is_ascii_digit)
        .count();
    let (date, clock) = text.split_at(colon - hours);
    (date, Some(clock))
}

/// Seconds of `12:30`, `12:30:59.5`, `1:05 PM`, `12:30+02:00`, since midnight in UTC.
fn seconds(clock: &str) -> Option<f64> {
    let end = clock.find(|it: char| !(it.is_ascii_digit() || it == ':' || it == '.'));
    let (clock, rest) = clock.split_at(end.unwrap_or(clock.len()));
    let mut parts = clock.split(':');
    let whole = |part: &str, most: u32| -> Option<f64> {
        let number: u32 = part.parse().ok()?;
        (part.len() <= 2 && number <= most).then_some(f64::from(number))
    };
    let mut hours = whole(parts.next()?, 24)?;
    let minutes = whole(parts.next()?, 59)?;
    let seconds = match parts.next() {
        None => 0.0,
        Some(part) => {
            let number: f64 = part.parse().ok()?;
            Some(number).filter(|it| {
                part.as_bytes().first().is_some_and(u8::is_ascii_digit) && *it < 61.0
            })?
        }
    };
    if parts.next().is_some() {
        return None;
    }
    let mut rest = rest.trim();
    for (word, later) in [("AM", 0.0), ("PM", 12.0)] {
        if rest.len() >= 2 && rest[..2].eq_ignore_ascii_case(word) {
            if !(1.0..=12.0).contains(&hours) {
                return None;
            }
            hours = hours % 12.0 + later;
            rest = rest[2..].trim();
        }
    }
    Some(hours * 3600.0 + minutes * 60.0 + seconds - offset(rest)?)
}

/// Seconds by which a zone is ahead of UTC: `Z`, `UTC`, `+02`, `-05:30`, `+0200`; 0 of none.
fn offset(zone: &str) -> Option<f64> {
    if zone.is_empty()
        || ["z", "utc", "gmt"]
            .iter()
            .any(|it| zone.eq_ignore_ascii_case(it))
    {
        return Some(0.0);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1.0,
        b'-' => -1.0,
        _ => return None,
    };
    let digits: String = zone[1..].chars().filter(|it| *it != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let hours: f64 = digits[..2].parse().ok()?;
    let minutes: f64 = digits.get(2..4).map_or(Some(0.0), |it| it.parse().ok())?;
    (hours < 16.0 && minutes < 60.0).then_some(sign * (hours * 3600.0 + minutes * 60.0))
}

/// Days since 1970-01-01.
fn days(date: &str, order: Reading) -> Option<i64> {
    let mut pieces = date
        .split(['-', '/', '.', ' ', ','])
        .filter(|it| !it.is_empty());
    let three = [pieces.next()?, pieces.next()?, pieces.next()?];
    if pieces.next().is_some() {
        return None;
    }
    let named = three
        .iter()
        .position(|it| it.as_bytes()[0].is_ascii_alphabetic());
    let is_year = |it: &str| it.len() == 4;
    let [year, month, day] = match (named, order) {
        // a month that is named needs no order
        (Some(0), _) => [three[2], three[0], three[1]],
        (Some(1), _) if is_year(three[0]) => three,
        (Some(1), _) => [three[2], three[1], three[0]],
        (Some(_), _) => return None,
        (None, Reading::Ymd) if is_year(three[0]) => three,
        (None, Reading::Dmy) if !is_year(three[0]) => [three[2], three[1], three[0]],
        (None, Reading::Mdy) if !is_year(three[0]) => [three[2], three[0], three[1]],
        _ => return None,
    };
    let number = |text: &str, most: usize| -> Option<i64> {
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
        text.parse().ok().filter(|_| fits)
    };
    let month = match named {
        None => number(month, 2)?,
        Some(_) => {
            let word = month.to_ascii_lowercase();
            let found = MONTHS
                .iter()
                .position(|name| word.len() >= 3 && name.starts_with(&word));
            found? as i64 + 1
        }
    };
    // a version such as 1.10.12 is no date
    if date.contains('.')
        && named.is_none()
        && year.len() == 2
        && (three[0].len(), three[1].len()) != (2, 2)
    {
        return None;
    }
    let day = number(day, 2)?;
    let year = match (year.len(), number(year, 4)?) {
        (4, year) => year,
        // as PostgreSQL reads them
        (2, year) => year + if year < 70 { 2000 } else { 1900 },
        _ => return None,
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => 31,
    };
    let is_one = year >= 1 && (1..=12).contains(&month) && (1..=longest).contains(&day);
    is_one.then(|| days_from_civil(year, month, day))
}

/// Days since 1970-01-01 of a date in the Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_day_are_seconds_since_midnight() {
        let all = [
            ("09:30", 34_200.0),
            ("9:30:15", 34_215.0),
            (" 1:05 PM ", 47_100.0),
        ];
        for (text, value) in all {
            assert_eq!(Reading::Clock.read(text), Some(value), "{text}");
        }
        for text in [
            "16:9",
            "1:2:3",
            "25:00",
            "09:61",
            "930",
            "2024-01-31 09:30",
            "é:00",
        ] {
            assert_eq!(Reading::Clock.read(text), None, "{text}");
        }
        let times = [("09:30", 5), ("17:45", 4), ("", 1)];
        let read = Reading::of(times.into_iter(), Reading::Ymd);
        assert_eq!(read.map(|it| it.reading), Some(Reading::Clock));
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let all = [
            ("12", 12.0),
            (" 12 ", 12.0),
            ("-1,234.50", -1234.5),
            ("$1,234,567", 1234567.0),
            ("-$5", -5.0),
            ("$-5", -5.0),
            ("(3.20)", -3.2),
            ("45%", 45.0),
            ("4.5 %", 4.5),
            ("1e-3", 1e-3),
            ("€ 12.5", 12.5),
            ("12.5 EUR", 12.5),
            ("US$ 7", 7.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("+3", 3.0),
            ("1 234", 1234.0),
            ("12,34,567", 1234567.0),
            ("\u{2212}4", -4.0),
            ("0", 0.0),
        ];
        for (text, value) in all {
            assert_eq!(Reading::Number.read(text), Some(value), "{text}");
        }
        assert_eq!(Reading::CommaNumber.read("1.234,50 €"), Some(1234.5));
        assert_eq!(Reading::CommaNumber.read("0,123"), Some(0.123));
        for text in [
            "", "?", "-", "1,23", "0,123", "1.2.3", "abc", "12 kg", "1e", "--5", "nan", "inf", "$",
            "%", "1-2", "$$5", "12,3456",
        ] {
            assert_eq!(Reading::Number.read(text), None, "{text}");
        }
    }

    #[test]
    fn points_before_three_digits_may_part_thousands() {
        let of = |texts: &[&'static str]| of_thousands(texts.iter().copied());
        assert_eq!(
            of(&["12.500 €", "2.919 EUR", "?", "7"]),
            Some(("12.500 €", [12.5, 12_500.0]))
        );
        for texts in [
            &["2.919", "2.9"][..],
            &["2.919", "0.125"],
            &["2.919", "1,234.500"],
            &["2.919", "1.234,5"],
            &["1,234", "2,345"],
            &["12", "13"],
            &["a", ""],
        ] {
            assert_eq!(of(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn times_are_seconds_since_1970() {
        let day = 86_400.0;
        let all = [
            ("1970-01-02", Reading::Ymd, day),
            ("1970/1/2", Reading::Ymd, day),
            ("02.01.1970", Reading::Dmy, day),
            ("1/2/1970", Reading::Mdy, day),
            ("1/2/70", Reading::Mdy, day),
            ("02.01.70", Reading::Dmy, day),
            ("2 Jan 1970", Reading::Mdy, day),
            ("Jan 2, 1970", Reading::Dmy, day),
            ("2-January-1970 00:30", Reading::Ymd, day + 1800.0),
            ("1970-01-02T01:00:00.5Z", Reading::Ymd, day + 3600.5),
            ("1970-01-02 01:00:00+01:00", Reading::Ymd, day),
            ("1/2/1970 1:05 PM", Reading::Mdy, day + 47_100.0),
            ("1/2/1970 12:00 am", Reading::Mdy, day),
            ("2000-02-29", Reading::Ymd, 11_016.0 * day),
            ("1969-12-31", Reading::Ymd, -day),
        ];
        for (text, reading, value) in all {
            assert_eq!(reading.read(text), Some(value), "{text}");
        }
        for text in [
            "2001-02-29",
            "2001-13-01",
            "2001-1",
            "2001-01-01 25:00",
            "2001-01-01 x",
            "01.02.2001",
            "2001-01-00",
            "",
        ] {
            assert_eq!(Reading::Ymd.read(text), None, "{text}");
        }
    }

    fn of(values: &[&str]) -> Option<Read> {
        Reading::of(values.iter().map(|it| (*it, 1)), Reading::Mdy)
    }

    #[test]
    fn a_column_is_read_in_one_way() {
        let reading = |values: &[&str]| of(values).map(|it| it.reading);
        assert_eq!(reading(&["$1,200", "$3", "n/a"]), Some(Reading::Number));
        assert_eq!(
            reading(&["1.200,5", "3,25", "?"]),
            Some(Reading::CommaNumber)
        );
        assert_eq!(reading(&["1.5", "2.5", "-"]), Some(Reading::Number));
        assert_eq!(reading(&["13/01/2024", "02/01/2024"]), Some(Reading::Dmy));
        assert_eq!(reading(&["01/13/2024", "02/01/2024"]), Some(Reading::Mdy));
        assert_eq!(reading(&["01/02/2024", "02/01/2024"]), Some(Reading::Mdy));
        assert_eq!(reading(&["2024-01-31", "NA"]), Some(Reading::Ymd));
        // codes and words
        assert_eq!(reading(&["1", "2", "3"]), None);
        assert_eq!(reading(&["red", "1.5", "blue"]), None);
        let zips: Vec<String> = (0..50).map(|it| format!("0{}", 1000 + it)).collect();
        assert_eq!(
            reading(&zips.iter().map(String::as_str).collect::<Vec<_>>()),
            None
        );
        let ages: Vec<String> = (17..90).map(|it| it.to_string()).collect();
        let read = of(&ages.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(
            read,
            Read {
                reading: Reading::Number,
                may_be_codes: true
            }
        );
    }
}
