//! LIBSVM notation: `3:0.5 17:1`, index and value of each feature that is not zero. Pure; called for
//! each row of a `libsvm(column)` part and for each string given to a prediction.

use super::error::FeatureError;

/// Longest piece of the input that an error quotes.
const QUOTED_CHARACTERS: usize = 40;

/// Calls `visit` with each index and value in the order of the text. Blanks may stand before, between
/// and after the pairs; values may be any floating-point number, also one that is not finite.
pub fn parse(
    text: &[u8],
    mut visit: impl FnMut(i64, f64) -> Result<(), FeatureError>,
) -> Result<(), FeatureError> {
    let tokens = text
        .split(u8::is_ascii_whitespace)
        .filter(|token| !token.is_empty());
    for (at, token) in tokens.enumerate() {
        match pair(token) {
            Some((index, value)) => visit(index, value)?,
            None => return Err(syntax_error(token, at == 0)),
        }
    }
    Ok(())
}

fn pair(token: &[u8]) -> Option<(i64, f64)> {
    let colon = token.iter().position(|byte| *byte == b':')?;
    let index = integer(&token[..colon])?;
    let value = &token[colon + 1..];
    match short_decimal(value) {
        Some(value) => Some((index, value)),
        None => Some((index, core::str::from_utf8(value).ok()?.parse().ok()?)),
    }
}

/// The value of a decimal of up to 15 digits, point or not, which is what data sets are full of: both
/// digits and power of ten are exact as floating-point numbers, so one division rounds as it should.
fn short_decimal(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        all => (1.0, all),
    };
    let (mut digits, mut number, mut behind_point) = (0, 0u64, None);
    for byte in text {
        match byte {
            b'0'..=b'9' => {
                number = number * 10 + u64::from(byte - b'0');
                digits += 1;
            }
            b'.' if behind_point.is_none() => behind_point = Some(digits),
            _ => return None,
        }
        if digits > 15 {
            return None;
        }
    }
    if digits == 0 {
        return None;
    }
    let places = behind_point.map_or(0, |point| digits - point);
    Some(sign * (number as f64 / POWERS[places]))
}

/// A decimal integer with an optional sign; indices have few digits, so nothing can overflow.
fn integer(digits: &[u8]) -> Option<i64> {
    let (negative, digits) = match digits {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits
        .iter()
        .fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some(if negative { -magnitude } else { magnitude })
}

fn syntax_error(token: &[u8], first: bool) -> FeatureError {
    let token = String::from_utf8_lossy(token);
    if first && token.parse::<f64>().is_ok() {
        return FeatureError::LibsvmLabel {
            token: quoted(&token),
        };
    }
    FeatureError::LibsvmSyntax {
        token: quoted(&token),
    }
}

fn quoted(token: &str) -> String {
    match token.char_indices().nth(QUOTED_CHARACTERS) {
        Some((end, _)) => format!("{}…", &token[..end]),
        None => token.to_owned(),
    }
}
