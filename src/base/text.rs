//! Texts of any length, made with memory that can fail. `format!`, `join` and `CString` cannot fail softly.

use pgsvm_core::memory::{OutOfMemory, Room};
use std::ffi::CString;
use std::fmt::{self, Write};

/// `format!` with a way to fail: `written(format_args!("…"))`.
pub fn written(text: fmt::Arguments<'_>) -> Result<String, OutOfMemory> {
    let mut all = Growing::default();
    all.add(text)?;
    Ok(all.text)
}

/// The items one after the other with `between` between them.
pub fn joined<T: fmt::Display>(
    items: impl IntoIterator<Item = T>,
    between: &str,
) -> Result<String, OutOfMemory> {
    let mut all = Growing::default();
    for (at, item) in items.into_iter().enumerate() {
        match at {
            0 => all.add(format_args!("{item}"))?,
            _ => all.add(format_args!("{between}{item}"))?,
        }
    }
    Ok(all.text)
}

/// Names that a message lists.
const MOST_LISTED: usize = 100;

/// Names one after the other; of very many the first ones, and how many more there are.
pub fn listed<T: fmt::Display>(names: &[T]) -> String {
    listed_by(names, ", ")
}

/// The same of what has commas of its own.
pub fn listed_by<T: fmt::Display>(names: &[T], between: &str) -> String {
    let shown = &names[..names.len().min(MOST_LISTED)];
    let shown: Vec<String> = shown.iter().map(T::to_string).collect();
    match names.len() - shown.len() {
        0 => shown.join(between),
        more => format!("{} and {more} more", shown.join(between)),
    }
}

/// So many of them; the plural by s, or es behind an s.
pub fn counted(count: u64, noun: &str) -> String {
    match (count, noun.ends_with('s')) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{count} {noun}es"),
        (_, false) => format!("{count} {noun}s"),
    }
}

/// So many seconds in the unit that a person would say, to one digit or two.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} seconds"),
        ..5400.0 => format!("{:.0} minutes", seconds / 60.0),
        ..129_600.0 => format!("{:.0} hours", seconds / 3600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// Bytes of an array that a message has; a longer one ends with "…".
const LONGEST_ARRAY: usize = 10_000;

/// Texts as a message has an array of them in SQL.
pub fn array_literal<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for item in items {
        if !all.is_empty() {
            all.push(',');
        }
        if all.len() + item.len() > LONGEST_ARRAY {
            all.push('…');
            break;
        }
        all.push_str(&array_element(item));
    }
    format!("'{{{}}}'", all.replace('\'', "''"))
}

/// A text as an element of an array literal.
pub fn array_element(item: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_()".contains(c);
    match !item.is_empty() && !item.eq_ignore_ascii_case("null") && item.chars().all(is_plain) {
        true => item.to_owned(),
        false => format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// A text as C has it; up to a zero byte, which no text of PostgreSQL's holds.
pub fn terminated(text: &str) -> Result<CString, OutOfMemory> {
    let end = text.bytes().position(|byte| byte == 0);
    let text = &text.as_bytes()[..end.unwrap_or(text.len())];
    let mut bytes = Vec::new();
    bytes.room(text.len() + 1)?.extend_from_slice(text);
    bytes.push(0);
    // the one zero byte is the last
    Ok(CString::from_vec_with_nul(bytes).unwrap_or_default())
}

/// What text is written to, as far as there is memory.
#[derive(Default)]
struct Growing {
    text: String,
    refused: Option<OutOfMemory>,
}

impl Growing {
    fn add(&mut self, text: fmt::Arguments<'_>) -> Result<(), OutOfMemory> {
        // what is written may refuse too, of which there is none here
        match (self.write_fmt(text), self.refused) {
            (Ok(()), _) => Ok(()),
            (Err(_), refused) => Err(refused.unwrap_or(OutOfMemory { bytes: 0 })),
        }
    }
}

impl Write for Growing {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        match self.text.room(piece.len()) {
            Ok(room) => room.push_str(piece),
            Err(refused) => {
                self.refused = Some(refused);
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}
