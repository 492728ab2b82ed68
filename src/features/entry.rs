//! Entries of `features` as they are written. Pure.

/// An entry that is more than a column's name.
pub struct EntryForm {
    /// What stands in front of the parentheses.
    pub word: String,
    /// What stands between them; nothing where these are no names.
    pub names: Vec<String>,
    /// The bits, where it is hashed.
    pub bits: Option<String>,
}

/// What an entry asks for; None where it has no parentheses.
pub fn parse_form(entry: &str) -> Option<EntryForm> {
    let (word, rest) = entry.trim().split_once('(')?;
    let inside = rest.strip_suffix(')')?;
    let word = word.trim().to_ascii_lowercase();
    if let ("hash", Some((inner, bits))) = (word.as_str(), inside.rsplit_once(',')) {
        if let Some(inner @ EntryForm { bits: None, .. }) = parse_form(inner) {
            let bits = Some(bits.trim().to_owned());
            return Some(EntryForm { bits, ..inner });
        }
    }
    let names = parse_names(inside).unwrap_or_default();
    let bits = None;
    Some(EntryForm { word, names, bits })
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

/// A name as the forms take it: in double quotes where it would not be read as it is.
pub fn quoted(name: &str) -> String {
    let plain = name.trim() == name && !name.contains(['"', ',', '(', ')']);
    match plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
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
