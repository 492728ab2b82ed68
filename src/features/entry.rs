//! Entries of `features` as they are written. Pure.

use super::text_form::Unit;
use pgsvm_expand::numbers::How;

/// An entry as written.
pub enum EntryForm {
    Sparse(String, String),
    Libsvm(String),
    Category(String),
    /// A text that is a number or a time.
    Read {
        name: String,
        time: bool,
    },
    /// What stands between its parentheses.
    Text(Vec<String>),
    Made(How, Vec<String>),
    /// Index and value columns, and bits.
    Hashed(String, String, String),
    /// What stands between the parentheses of a polynomial, and bits.
    HashedProducts(Vec<String>, String),
    Characters(Unit, Vec<String>),
    /// No parentheses: a column's name.
    Name,
    /// Parentheses, and nothing that is known in front of or between them.
    Unknown,
}

/// What an entry asks for.
pub fn parse_form(entry: &str) -> EntryForm {
    let entry = entry.trim();
    let Some((word, rest)) = entry.split_once('(') else {
        return EntryForm::Name;
    };
    let Some(inside) = rest.strip_suffix(')') else {
        return EntryForm::Name;
    };
    let word = word.trim().to_ascii_lowercase();
    if let ("hash", Some((inner, bits))) = (word.as_str(), inside.rsplit_once(',')) {
        return match parse_form(inner) {
            EntryForm::Sparse(index, value) => {
                EntryForm::Hashed(index, value, bits.trim().to_owned())
            }
            EntryForm::Made(How::Polynomial, names) => {
                EntryForm::HashedProducts(names, bits.trim().to_owned())
            }
            _ => EntryForm::Unknown,
        };
    }
    let Some(names) = parse_names(inside) else {
        return EntryForm::Unknown;
    };
    match (word.as_str(), names.as_slice()) {
        ("sparse", [index, value]) => EntryForm::Sparse(index.clone(), value.clone()),
        ("libsvm", [name]) => EntryForm::Libsvm(name.clone()),
        ("text", [_] | [_, _] | [_, _, _]) => EntryForm::Text(names),
        ("ngrams", [_, _, _]) => EntryForm::Characters(Unit::Ngrams, names),
        ("spectrum", [_, _]) => EntryForm::Characters(Unit::Spectrum, names),
        ("weighted_degree", [_, _] | [_, _, _]) => EntryForm::Characters(Unit::Degree, names),
        ("log", [_]) => EntryForm::Made(How::Log, names),
        ("polynomial", [_, _, ..]) => EntryForm::Made(How::Polynomial, names),
        ("bucket", [_, _]) => EntryForm::Made(How::Bucket, names),
        ("spline", [_, _]) => EntryForm::Made(How::Spline, names),
        ("parts", [_]) => EntryForm::Made(How::Parts, names),
        ("cross", [_, _, ..]) => EntryForm::Made(How::Product, names),
        ("number" | "time", [name]) => EntryForm::Read {
            name: name.clone(),
            time: word == "time",
        },
        ("category", [name]) => EntryForm::Category(name.clone()),
        _ => EntryForm::Unknown,
    }
}

/// Entries that commas between parentheses have split, together again; None where none was, or what is open stays so.
/// Those that `is_column` stand for themselves.
pub fn rejoined(entries: &[String], is_column: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let mut whole: Vec<String> = Vec::new();
    let mut open = 0;
    for entry in entries {
        match whole.last_mut().filter(|_| open > 0) {
            Some(last) => {
                last.push_str(", ");
                last.push_str(entry.trim());
            }
            None if is_column(entry) => {
                whole.push(entry.clone());
                continue;
            }
            None => whole.push(entry.trim().to_owned()),
        }
        open += depth(entry);
    }
    (open == 0 && whole.len() < entries.len()).then_some(whole)
}

/// Parentheses that an entry opens, less those that it closes, outside quotes.
fn depth(entry: &str) -> i64 {
    let mut quoted = false;
    let mut depth = 0;
    for character in entry.chars() {
        match character {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    depth
}

/// Splits `a, "b,c"` at the commas outside quotes and takes the quotes off. None where a quote is
/// open or a name empty.
fn parse_names(inside: &str) -> Option<Vec<String>> {
    let mut pieces = vec![String::new()];
    let mut quoted = false;
    for character in inside.chars() {
        quoted ^= character == '"';
        match character {
            ',' if !quoted => pieces.push(String::new()),
            _ => pieces.last_mut()?.push(character),
        }
    }
    let names: Vec<String> = pieces.iter().map(|piece| unquoted(piece.trim())).collect();
    (!quoted && names.iter().all(|name| !name.is_empty())).then_some(names)
}

/// A name without its double quotes.
pub fn unquoted(name: &str) -> String {
    match name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(inside) => inside.replace("\"\"", "\""),
        None => name.to_owned(),
    }
}
