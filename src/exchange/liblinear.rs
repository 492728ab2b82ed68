//! LIBLINEAR's model format (README of LIBLINEAR, "linear.cpp", `save_model` and `load_model`): a header
//! of keys and values, the line `w`, and then a line a feature, with a weight for each class, or of two
//! classes the weight that speaks for the first label. Where `bias` is not negative, a line more holds the
//! weights of a feature that every row has with that value. Pure.

use crate::base::errors::{Code, Failure};
use crate::targets::labels::MOST_CLASSES;
use core::ops::Range;

/// Longest piece of a file that an error quotes.
const QUOTED_CHARACTERS: usize = 40;

/// The solvers of classification, and the loss each minimizes as `svm_version` names it.
const SOLVERS: [(&str, &str); 8] = [
    // the first of a loss is what a model trained here is written as
    ("L2R_L1LOSS_SVC_DUAL", "hinge"),
    ("L2R_L2LOSS_SVC_DUAL", "squared_hinge"),
    ("L2R_L2LOSS_SVC", "squared_hinge"),
    ("L1R_L2LOSS_SVC", "squared_hinge"),
    ("L2R_LR", "logistic"),
    ("L2R_LR_DUAL", "logistic"),
    ("L1R_LR", "logistic"),
    ("MCSVM_CS", CRAMMER_SINGER),
];
/// The same of regressions, whose files have no labels and one weight a line.
const REGRESSIONS: [(&str, &str); 3] = [
    ("L2R_L2LOSS_SVR", "squared_epsilon_insensitive"),
    ("L2R_L2LOSS_SVR_DUAL", "squared_epsilon_insensitive"),
    ("L2R_L1LOSS_SVR_DUAL", "epsilon_insensitive"),
];
/// The same of one class, whose files have what is taken off a decision besides.
pub const ONE_CLASS: (&str, &str) = ("ONECLASS_SVM", "hinge");
/// Keys of the header.
pub const KEYS: [&str; 6] = [
    "solver_type",
    "nr_class",
    "label",
    "nr_feature",
    "bias",
    "rho",
];
/// The loss of the solver that has weights for each class also where there are two.
const CRAMMER_SINGER: &str = "crammer_singer";

/// What stands before the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct LiblinearHeader {
    pub solver: String,
    /// In the order of the weights.
    pub labels: Vec<i32>,
    pub features: u64,
    /// The value of the feature that every row has; negative: there is none.
    pub bias: f64,
    /// Of one class, what is taken off a decision.
    pub rho: Option<f64>,
}

/// The solver that stands for a loss: of Huber's, which no solver of LIBLINEAR minimizes, that of squares.
pub fn solver_of(loss: &str) -> &'static str {
    let loss = match loss {
        "huber" => "squared_epsilon_insensitive",
        other => other,
    };
    let mut all = SOLVERS.iter().chain(&REGRESSIONS);
    all.find(|(_, known)| *known == loss)
        .map_or(SOLVERS[0].0, |(solver, _)| solver)
}

impl LiblinearHeader {
    /// The loss that the solver minimizes; None for a solver of something else than classes and numbers.
    pub fn loss(&self) -> Option<&'static str> {
        let mut all = SOLVERS.iter().chain(&REGRESSIONS).chain([&ONE_CLASS]);
        let known = all.find(|(solver, _)| *solver == self.solver);
        known.map(|(_, loss)| *loss)
    }

    /// Whether it predicts a number.
    pub fn regresses(&self) -> bool {
        REGRESSIONS.iter().any(|(solver, _)| *solver == self.solver)
    }

    /// Whether it is of one class.
    pub fn is_of_one_class(&self) -> bool {
        self.solver == ONE_CLASS.0
    }

    /// Weights a line.
    pub fn columns(&self) -> usize {
        match self.labels.len() {
            _ if self.regresses() || self.is_of_one_class() => 1,
            2 if self.loss() != Some(CRAMMER_SINGER) => 1,
            many => many,
        }
    }

    /// Lines of weights.
    pub fn lines(&self) -> u64 {
        self.features + u64::from(self.bias >= 0.0)
    }

    /// The header as text, the line `w` included.
    pub fn write(&self) -> String {
        let labels = self.labels.iter().map(|label| format!(" {label}"));
        let (classes, labels) = match self.regresses() || self.is_of_one_class() {
            true => (2, String::new()),
            false => (
                self.labels.len(),
                format!("label{}\n", labels.collect::<String>()),
            ),
        };
        let mut text = format!(
            "solver_type {}\nnr_class {classes}\n{labels}nr_feature {}\nbias ",
            self.solver, self.features
        );
        write_number(&mut text, self.bias);
        if let Some(rho) = self.rho {
            text.push_str("\nrho ");
            write_number(&mut text, rho);
        }
        text.push_str("\nw\n");
        text
    }
}

/// Appends a number as C's `%.17g` prints it: 17 digits, which give the same number back.
pub fn write_number(out: &mut String, value: f64) {
    if value == 0.0 {
        out.push('0');
        return;
    }
    let text = format!("{value:.16e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let (whole, fraction) = around_point(digits.trim_end_matches('0'), exponent);
    if value < 0.0 {
        out.push('-');
    }
    out.push_str(&whole);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(&fraction);
    }
    if !WITHOUT_EXPONENT.contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("e{sign}{:02}", exponent.abs()));
    }
}

/// Exponents of numbers that are written without one.
const WITHOUT_EXPONENT: Range<i32> = -4..17;

/// What stands in front of the point and behind it, of these digits, where the first of them has that exponent.
fn around_point(digits: &str, exponent: i32) -> (String, String) {
    if !WITHOUT_EXPONENT.contains(&exponent) {
        return (digits[..1].to_owned(), digits[1..].to_owned());
    }
    if exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        return ("0".to_owned(), zeros + digits);
    }
    let places = exponent as usize + 1;
    let (whole, fraction) = digits.split_at(places.min(digits.len()));
    (format!("{whole:0<places$}"), fraction.to_owned())
}

/// Reads a model, line by line.
pub struct LiblinearReader<'a> {
    lines: core::iter::Enumerate<core::str::Lines<'a>>,
}

/// A header in the making.
#[derive(Default)]
struct HeaderKeys {
    solver: Option<(String, usize)>,
    classes: Option<usize>,
    labels: Option<Vec<i32>>,
    features: Option<u64>,
    bias: Option<f64>,
    rho: Option<f64>,
    /// Keys that have come.
    met: Vec<&'static str>,
}

impl<'a> LiblinearReader<'a> {
    /// For a whole file.
    pub fn new(text: &'a str) -> Self {
        Self {
            lines: text.lines().enumerate(),
        }
    }

    /// Reads up to the line `w`.
    pub fn header(&mut self) -> Result<LiblinearHeader, Failure> {
        let mut keys = HeaderKeys::default();
        for (at, line) in self.lines.by_ref() {
            let (key, value) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            if key == "w" && value.is_empty() {
                return keys.finish();
            }
            keys.set(key, value.trim(), at + 1)?;
        }
        Err(malformed("the text ends before the line \"w\"".to_owned()))
    }

    /// Reads the next line of weights into `out`: `columns` finite numbers. `left` more are expected.
    pub fn weights(
        &mut self,
        columns: usize,
        left: u64,
        out: &mut Vec<f64>,
    ) -> Result<(), Failure> {
        out.clear();
        let Some((at, line)) = self.lines.next() else {
            return Err(malformed(format!(
                "the text ends where {left} more lines of weights are expected"
            )));
        };
        for token in line.split_ascii_whitespace() {
            match token.parse::<f64>() {
                Ok(value) if value.is_finite() => out.push(value),
                _ => {
                    return Err(malformed_line(
                        at + 1,
                        &format!("{} is no weight", quoted(token)),
                    ))
                }
            }
        }
        match out.len() == columns {
            true => Ok(()),
            false => Err(malformed_line(
                at + 1,
                &format!("{} weights, expected {columns}", out.len()),
            )),
        }
    }

    /// Nothing but blank lines may follow the weights.
    pub fn finish(&mut self) -> Result<(), Failure> {
        match self.lines.find(|(_, line)| !line.trim().is_empty()) {
            None => Ok(()),
            Some((at, line)) => Err(malformed_line(
                at + 1,
                &format!("{} behind the last line of weights", quoted(line)),
            )),
        }
    }
}

impl HeaderKeys {
    fn set(&mut self, key: &str, value: &str, line: usize) -> Result<(), Failure> {
        let Some(known) = KEYS.iter().find(|known| **known == key) else {
            let what = format!("{} is no key of LIBLINEAR's model format", quoted(key));
            return Err(malformed_line(line, &what));
        };
        if self.met.contains(known) {
            return Err(malformed_line(line, &format!("{known} comes twice")));
        }
        // there are no more than keys
        self.met.push(known);
        let bad = || malformed_line(line, &format!("{} is no value of {key}", quoted(value)));
        match *known {
            "solver_type" => self.solver = Some((value.to_owned(), line)),
            "nr_class" => self.classes = Some(value.parse().map_err(|_| bad())?),
            "nr_feature" => {
                // LIBLINEAR counts with int
                let count = value
                    .parse::<i32>()
                    .ok()
                    .and_then(|count| u64::try_from(count).ok());
                self.features = Some(count.ok_or_else(bad)?);
            }
            "bias" | "rho" => {
                let number = value.parse().ok().filter(|it: &f64| it.is_finite());
                let number = Some(number.ok_or_else(bad)?);
                match *known {
                    "bias" => self.bias = number,
                    _ => self.rho = number,
                }
            }
            _ => {
                let labels = value.split_ascii_whitespace().map(str::parse);
                self.labels = Some(labels.collect::<Result<_, _>>().map_err(|_| bad())?);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<LiblinearHeader, Failure> {
        let missing = |key| malformed(format!("the line \"{key}\" is missing"));
        let (solver, line) = self.solver.ok_or_else(|| missing("solver_type"))?;
        let mut header = LiblinearHeader {
            solver,
            labels: Vec::new(),
            features: self.features.ok_or_else(|| missing("nr_feature"))?,
            bias: self.bias.ok_or_else(|| missing("bias"))?,
            rho: None,
        };
        let classes = self.classes.ok_or_else(|| missing("nr_class"))?;
        if header.loss().is_none() {
            let named = quoted(&header.solver);
            let unknown = malformed_line(line, &format!("{named} is no solver of LIBLINEAR's"));
            return Err(unknown.hint(format!(
                "Solvers that classify: {}. And of numbers: {}. And of one class: {}.",
                SOLVERS.map(|(solver, _)| solver).join(", "),
                REGRESSIONS.map(|(solver, _)| solver).join(", "),
                ONE_CLASS.0
            )));
        }
        if header.is_of_one_class() {
            header.rho = Some(self.rho.ok_or_else(|| missing("rho"))?);
        } else if !header.regresses() {
            header.labels = self.labels.ok_or_else(|| missing("label"))?;
            check_classes(classes, &header.labels)?;
        }
        Ok(header)
    }
}

/// Refuses a model of so many classes that has not just as many labels.
fn check_classes(classes: usize, labels: &[i32]) -> Result<(), Failure> {
    if !(2..=MOST_CLASSES).contains(&classes) {
        return Err(malformed(format!(
            "the model has {classes} classes, expected 2 to {MOST_CLASSES}"
        )));
    }
    let mut different = labels.to_vec();
    different.sort_unstable();
    different.dedup();
    if labels.len() != classes || different.len() != classes {
        return Err(malformed(format!(
            "the model has {classes} classes and {} different labels",
            different.len()
        )));
    }
    Ok(())
}

fn malformed(what: String) -> Failure {
    Failure::new(Code::ERRCODE_INVALID_TEXT_REPRESENTATION, what)
        .hint("Expected is the text of a model file, as svm_export, LIBLINEAR's train or LIBSVM's svm-train write it.")
}

fn malformed_line(line: usize, what: &str) -> Failure {
    malformed(format!("line {line}: {what}"))
}

pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARACTERS) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}
