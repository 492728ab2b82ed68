//! LIBSVM notation: `3:0.5 17:1`, index and value of each feature that is not zero. Pure; called for
//! each row of a `libsvm(column)` part and for each string given to a prediction.

use super::FeatureError;

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
    let value = core::str::from_utf8(&token[colon + 1..]).ok()?;
    Some((index, value.parse().ok()?))
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
