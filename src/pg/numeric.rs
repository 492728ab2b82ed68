//! Reads PostgreSQL's `numeric` from its bytes, without a call into the server for each value.
//!
//! The format (`src/backend/utils/adt/numeric.c`) is the one on disk and the same in 15 to 18: a
//! 16-bit header with sign, scale and, in the short form, the weight; then digits to base 10000,
//! the first of them worth 10000^weight.

const SPECIAL: u16 = 0xc000;
const NEGATIVE: u16 = 0x4000;
const SHORT: u16 = 0x8000;
const SHORT_NEGATIVE: u16 = 0x2000;
const SHORT_WEIGHT_NEGATIVE: u16 = 0x0040;
const SHORT_WEIGHT: u16 = 0x003f;
const POSITIVE_INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// Digits to base 10000 that are read of a number: two neighbouring doubles, and what lies in the middle between them, differ
/// within the first 770 decimal ones.
const MOST_DIGITS: usize = 250;

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The nearest double to a numeric, given its bytes behind the varlena header; NaN, infinities and
/// values beyond the range of a double come out as non-finite. None when the bytes are no numeric.
pub fn to_f64(payload: &[u8]) -> Option<f64> {
    let header = word(payload, 0)?;
    match header {
        POSITIVE_INFINITY => return Some(f64::INFINITY),
        NEGATIVE_INFINITY => return Some(f64::NEG_INFINITY),
        _ if header & SPECIAL == SPECIAL => return Some(f64::NAN),
        _ => {}
    }
    let (negative, weight, digits) = parts(payload, header)?;
    let magnitude = magnitude(digits, weight);
    Some(if negative { -magnitude } else { magnitude })
}

/// Sign, weight and digits behind this header; None where it is that of a special value.
fn parts(payload: &[u8], header: u16) -> Option<(bool, i32, &[u8])> {
    match header & SPECIAL {
        SPECIAL => None,
        SHORT => {
            let magnitude = (header & SHORT_WEIGHT) as i32;
            let weight = if header & SHORT_WEIGHT_NEGATIVE != 0 {
                magnitude - (SHORT_WEIGHT as i32 + 1)
            } else {
                magnitude
            };
            Some((header & SHORT_NEGATIVE != 0, weight, &payload[2..]))
        }
        sign => {
            let weight = i32::from(word(payload, 2)? as i16);
            Some((sign == NEGATIVE, weight, &payload[4..]))
        }
    }
}

/// What numerics are told apart by: two are equal just where these are, 1 and 1.0 for one. In the order of the values: all of
/// one sign, and of negative ones backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits<'a> {
    pub negative: bool,
    /// The power of 10000 that the first digit counts.
    pub weight: i32,
    /// To base 10000, 16 bits each.
    pub digits: &'a [u8],
}

/// The digits of a numeric, given its bytes behind the varlena header; None for NaN and infinities, and when the bytes are
/// no numeric.
pub fn digits(payload: &[u8]) -> Option<Digits<'_>> {
    let (negative, weight, digits) = parts(payload, word(payload, 0)?)?;
    Some(Digits {
        negative,
        weight,
        digits,
    })
}

/// Up to four digits make an integer below 10^16; below 2^53 it is exact, and so is a power of ten
/// up to 10^22: then one multiplication or division rounds correctly.
fn magnitude(digits: &[u8], weight: i32) -> f64 {
    let count = digits.len() / 2;
    let exponent = 4 * (weight + 1 - count as i32);
    if count <= 4 {
        let integer = (0..count).fold(0u64, |sum, at| sum * 10_000 + digit(digits, at));
        if integer < 1 << 53 && exponent.unsigned_abs() <= 22 {
            let power = EXACT_POWERS[exponent.unsigned_abs() as usize];
            return match exponent {
                ..0 => integer as f64 / power,
                _ => integer as f64 * power,
            };
        }
    }
    // those behind a thousand decimal digits count only as being there: to round takes no more
    let read = count.min(MOST_DIGITS);
    let behind = (read..count).any(|at| digit(digits, at) != 0);
    let mut text = String::with_capacity(4 * (read + 1) + 16);
    let mut push = |digit: u64| {
        for power in [1000, 100, 10, 1] {
            text.push(char::from(b'0' + (digit / power % 10) as u8));
        }
    };
    (0..read).for_each(|at| push(digit(digits, at)));
    push(u64::from(behind));
    let exponent = 4 * (weight - read as i32);
    text.push('e');
    text.push_str(&exponent.to_string());
    text.parse().unwrap_or(f64::NAN)
}

fn digit(digits: &[u8], at: usize) -> u64 {
    word(digits, 2 * at).map_or(0, u64::from)
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes([pair[0], pair[1]]))
}
