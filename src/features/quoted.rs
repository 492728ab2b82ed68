//! Names as entries of `features` take them.

/// A name as the forms take it: in double quotes where it would not be read as it is.
pub fn quoted(name: &str) -> String {
    let plain = name.trim() == name && !name.contains(['"', ',', '(', ')']);
    match plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
