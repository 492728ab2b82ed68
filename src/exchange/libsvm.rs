//! LIBSVM data files: a line an example, the label and then `index:value` pairs in ascending order; what
//! follows a `#` is a comment. Lines are read one at a time from a text or a file of any length.

use crate::base::errors::{shortened, Code, Failure};
use crate::features::{parse_libsvm, FeatureError};
use std::io::{BufRead, BufReader};

/// Longest line of a file.
const MOST_LINE_BYTES: usize = 1 << 29;
/// Bytes read from a file at a time.
const READ_BYTES: usize = 1 << 18;
/// Longest piece of a line that an error quotes.
const QUOTED_CHARACTERS: usize = 40;

/// One line's content, reused from line to line.
#[derive(Default)]
pub struct LibsvmExample {
    pub label: f64,
    pub indices: Vec<i32>,
    pub values: Vec<f32>,
}

/// Reads examples.
pub struct LibsvmReader<R> {
    lines: R,
    line: Vec<u8>,
    /// Of the line read last, counted from 1.
    number: u64,
}

impl<R: BufRead> LibsvmReader<R> {
    /// Reads `lines` from where they stand.
    pub fn new(lines: R) -> Self {
        Self {
            lines,
            line: Vec::new(),
            number: 0,
        }
    }

    /// Reads the next example into `out`; false at the end. Blank lines and comments are passed over,
    /// `between` is called for each line.
    pub fn next(&mut self, out: &mut LibsvmExample, between: impl Fn()) -> Result<bool, Failure> {
        while self.read_line()? {
            between();
            let line = self
                .line
                .split(|byte| *byte == b'#')
                .next()
                .unwrap_or_default();
            let line = line.trim_ascii();
            if !line.is_empty() {
                parse(line, out).map_err(|failure| self.in_line(failure))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a line without its end; false where there is none. Memory is asked for fallibly.
    fn read_line(&mut self) -> Result<bool, Failure> {
        self.line.clear();
        self.number += 1;
        let mut any = false;
        loop {
            let piece = match self.lines.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(&error)),
            };
            if piece.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = &piece[..end.unwrap_or(piece.len())];
            let room = self.line.len() + taken.len() <= MOST_LINE_BYTES
                && self.line.try_reserve(taken.len()).is_ok();
            if !room {
                return Err(long_line(self.number));
            }
            self.line.extend_from_slice(taken);
            let used = taken.len() + usize::from(end.is_some());
            self.lines.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn in_line(&self, failure: Failure) -> Failure {
        Failure {
            message: format!("line {}: {}", self.number, failure.message),
            ..failure
        }
    }
}

/// Bytes that no path has, as the kernel takes them.
const MOST_PATH_BYTES: usize = 4096;

/// A file, opened for reading.
pub fn open(path: &str) -> Result<BufReader<std::fs::File>, Failure> {
    let failure = |error: std::io::Error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => Code::ERRCODE_UNDEFINED_FILE,
            std::io::ErrorKind::PermissionDenied => Code::ERRCODE_INSUFFICIENT_PRIVILEGE,
            _ => Code::ERRCODE_IO_ERROR,
        };
        Failure::new(code, format!(
            "could not open file \"{}\" for reading: {}",
            shortened(path),
            reason(&error)
        ))
            .hint("The server reads the file itself; one of the client's comes as text: content => :'content'")
    };
    if path.len() >= MOST_PATH_BYTES {
        return Err(failure(std::io::ErrorKind::InvalidFilename.into()));
    }
    // before it is opened: to open a pipe waits for somebody who writes
    if !std::fs::metadata(path).map_err(failure)?.is_file() {
        return Err(Failure::new(
            Code::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a regular file", shortened(path)),
        ));
    }
    let file = std::fs::File::open(path).map_err(failure)?;
    Ok(BufReader::with_capacity(READ_BYTES, file))
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(
        Code::ERRCODE_IO_ERROR,
        format!("could not read from the file: {}", reason(error)),
    )
}

/// An error of the system without Rust's number behind it.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn long_line(number: u64) -> Failure {
    Failure::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!("line {number} is too long"),
    )
    .detail(format!(
        "A line of LIBSVM notation has at most {MOST_LINE_BYTES} bytes."
    ))
}

/// Reads a line with something on it.
fn parse(line: &[u8], out: &mut LibsvmExample) -> Result<(), Failure> {
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    let (label, pairs) = line.split_at(end);
    out.label = parse_label(label)?;
    out.indices.clear();
    out.values.clear();
    parse_libsvm(pairs, |index, value| {
        let (number, single) = checked_pair(index, value)?;
        if out.indices.last().is_some_and(|last| *last == number) {
            return Err(FeatureError::DuplicateIndex {
                part: "it".to_owned(),
                index: number as u32,
            });
        }
        out.indices.push(number);
        out.values.push(single);
        Ok(())
    })?;
    match out.indices.windows(2).find(|two| two[0] > two[1]) {
        None => Ok(()),
        Some(two) => Err(Failure::new(
            Code::ERRCODE_DATA_EXCEPTION,
            format!("index {} follows {}", two[1], two[0]),
        )
        .hint("The indices of a line must ascend.")),
    }
}

fn parse_label(label: &[u8]) -> Result<f64, Failure> {
    let text = String::from_utf8_lossy(label);
    match text.parse::<f64>() {
        Ok(label) if label.is_finite() => Ok(label),
        _ => Err(Failure::new(
            Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("{} is no label", quoted(&text)),
        )
        .hint("A line is a number, the label, and index:value pairs: '1 3:0.5 17:1'.")),
    }
}

/// A pair in the types of the result's columns.
fn checked_pair(index: i64, value: f64) -> Result<(i32, f32), FeatureError> {
    let number = i32::try_from(index).ok().filter(|index| *index >= 0);
    let single = value as f32;
    match number {
        None => Err(FeatureError::Index {
            part: "it".to_owned(),
            index: index as f64,
        }),
        Some(_) if !single.is_finite() => Err(FeatureError::NotFinite {
            column: "it".to_owned(),
            element: Some(index as u64),
            value,
        }),
        Some(number) => Ok((number, single)),
    }
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARACTERS) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}
