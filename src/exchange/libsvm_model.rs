//! LIBSVM's model format ("svm.cpp", `svm_save_model` and `svm_load_model`): a header of keys and values, the line `SV`, and
//! then a line for each support vector, class after class: its factors, and its entries as in LIBSVM's data files.
//!
//! There is a machine for each pair of classes: (0, 1), (0, 2), …, (1, 2), …, in the order of the labels. Its decision, the sum of
//! factor * k(support vector, row) - rho, speaks for the first of the two. The support vectors are those of both classes; each has a
//! factor for each other class, in their order. Pure.

use super::liblinear::{self, quoted, write_number};
use crate::base::errors::{Code, Failure};
use crate::features::MOST_LANDMARKS;
use crate::targets::labels::MOST_CLASSES;
use core::iter::once;
use pgsvm_core::kernels::{Kernel, KernelKind, KernelSpec};
use pgsvm_core::memory::{copied, gathered, OutOfMemory, Room};
use pgsvm_core::Pairs;

/// The kernels that both know, by LIBSVM's words.
const KERNELS: [(&str, KernelKind); 4] = [
    ("linear", KernelKind::Linear),
    ("polynomial", KernelKind::Polynomial),
    ("rbf", KernelKind::Rbf),
    ("sigmoid", KernelKind::Sigmoid),
];

/// The kernel of LIBSVM's whose support vectors are numbers of rows.
const PRECOMPUTED: &str = "precomputed";

/// LIBSVM's machines that classify; its others are one machine, without labels.
const TYPES: [&str; 2] = ["c_svc", "nu_svc"];
pub const ONE_CLASS: &str = "one_class";
pub const REGRESSIONS: [&str; 2] = ["epsilon_svr", "nu_svr"];

/// What stands before the support vectors.
pub struct LibsvmHeader {
    pub svm_type: String,
    pub kernel: Kernel,
    /// One a machine.
    pub rho: Vec<f64>,
    /// One a class, in the order of the file; none of one machine without labels.
    pub labels: Vec<i32>,
    /// Slope and offset of the probability of the first class of each machine; empty where there are none.
    pub sigmoids: Vec<(f64, f64)>,
    /// Support vectors of each class, or of the one machine.
    pub counts: Vec<usize>,
}

impl LibsvmHeader {
    /// The header as text, the line `SV` included.
    pub fn write(&self) -> Result<String, OutOfMemory> {
        let mut text = String::new();
        put(&mut text, "svm_type", once(self.svm_type.clone()))?;
        let (word, gamma, degree, coef0) = match self.kernel {
            Kernel::Linear => ("linear", None, None, None),
            Kernel::Rbf { gamma } => ("rbf", Some(gamma), None, None),
            Kernel::Polynomial {
                gamma,
                degree,
                coef0,
            } => ("polynomial", Some(gamma), Some(degree), Some(coef0)),
            Kernel::Sigmoid { gamma, coef0 } => ("sigmoid", Some(gamma), None, Some(coef0)),
        };
        put(&mut text, "kernel_type", once(word.to_owned()))?;
        if let Some(degree) = degree {
            put(&mut text, "degree", once(degree.to_string()))?;
        }
        let numbers = [("gamma", gamma), ("coef0", coef0)];
        for (key, number) in numbers.iter().filter_map(|(key, it)| Some((key, (*it)?))) {
            put(&mut text, key, once(number_words(number)))?;
        }
        let total: usize = self.counts.iter().sum();
        let has_labels = !self.labels.is_empty();
        let classes = self.labels.len().max(2);
        put(&mut text, "nr_class", once(classes.to_string()))?;
        put(&mut text, "total_sv", once(total.to_string()))?;
        put(&mut text, "rho", self.rho.iter().copied().map(number_words))?;
        if has_labels {
            put(&mut text, "label", self.labels.iter().map(i32::to_string))?;
        }
        if !self.sigmoids.is_empty() {
            let (slopes, offsets) = (self.sigmoids.iter(), self.sigmoids.iter());
            put(&mut text, "probA", slopes.map(|it| number_words(it.0)))?;
            put(&mut text, "probB", offsets.map(|it| number_words(it.1)))?;
        }
        if has_labels {
            put(&mut text, "nr_sv", self.counts.iter().map(usize::to_string))?;
        }
        put(&mut text, "SV", core::iter::empty())?;
        Ok(text)
    }
}

/// Appends a line of the header.
fn put(
    text: &mut String,
    key: &str,
    words: impl Iterator<Item = String>,
) -> Result<(), OutOfMemory> {
    text.room(key.len())?.push_str(key);
    for word in words {
        let room = text.room(1 + word.len())?;
        room.push(' ');
        room.push_str(&word);
    }
    text.room(1)?.push('\n');
    Ok(())
}

fn number_words(number: f64) -> String {
    let mut words = String::new();
    write_number(&mut words, number);
    words
}

/// Whether a text is a model of LIBSVM's: a line of its header has a key that LIBLINEAR's does not know.
pub fn is_one(text: &str) -> bool {
    let lines = text.trim_start().lines().take(KEYS.len());
    let mut keys = lines.map(|line| key_and_words(line).0);
    keys.any(|key| KEYS.contains(&key) && !liblinear::KEYS.contains(&key))
}

/// The key of a line in the header, and what stands behind it.
fn key_and_words(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(' ').unwrap_or((line, ""))
}

/// Support vectors, one after the other.
#[derive(Default)]
pub struct SupportVectors {
    /// Factors of each.
    columns: usize,
    factors: Vec<f64>,
    /// Pairs of index, from 1, and value bits, and where those of each end.
    entries: Vec<[u32; 2]>,
    ends: Vec<usize>,
}

impl SupportVectors {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn factor(&self, at: usize, column: usize) -> f64 {
        self.factors[at * self.columns + column]
    }

    /// The entries of one.
    pub fn of(&self, at: usize) -> &[[u32; 2]] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entries[start..self.ends[at]]
    }

    /// The largest index; 0 where there is none.
    pub fn largest_index(&self) -> u32 {
        let indices = self.entries.iter().map(|[index, _]| *index);
        indices.max().unwrap_or(0)
    }

    pub fn entries(&self) -> usize {
        self.entries.len()
    }
}

/// Reads a model, line by line.
pub struct LibsvmModelReader<'a> {
    lines: core::iter::Enumerate<core::str::Lines<'a>>,
}

/// A header in the making: the words behind each key.
#[derive(Default)]
struct HeaderKeys<'a> {
    found: Vec<(&'static str, usize, &'a str)>,
}

/// Keys of a header. Marks are of probabilities that a row is of one class, which are not read.
const KEYS: [&str; 13] = [
    "svm_type",
    "kernel_type",
    "degree",
    "gamma",
    "coef0",
    "nr_class",
    "total_sv",
    "rho",
    "label",
    "probA",
    "probB",
    "nr_sv",
    "prob_density_marks",
];

impl<'a> LibsvmModelReader<'a> {
    /// For a whole file.
    pub fn new(text: &'a str) -> Self {
        Self {
            lines: text.lines().enumerate(),
        }
    }

    /// Reads up to the line `SV`.
    pub fn header(&mut self) -> Result<LibsvmHeader, Failure> {
        let mut keys = HeaderKeys::default();
        for (at, line) in self.lines.by_ref() {
            let (key, words) = key_and_words(line);
            if key == "SV" && words.is_empty() {
                return keys.finish();
            }
            keys.take(at + 1, key, words)?;
        }
        Err(malformed("the text ends before the line \"SV\"".to_owned()))
    }

    /// Reads the support vectors, as many as the header says and nothing behind them; `between` is called for each.
    pub fn support_vectors(
        &mut self,
        header: &LibsvmHeader,
        mut between: impl FnMut(),
    ) -> Result<SupportVectors, Failure> {
        let count = header.counts.iter().sum();
        let mut found = SupportVectors {
            columns: header.labels.len().max(2) - 1,
            ..SupportVectors::default()
        };
        for left in (1..=count).rev() {
            between();
            let Some((at, line)) = self.lines.next() else {
                return Err(malformed(format!(
                    "the text ends where {left} more support vectors are expected"
                )));
            };
            read_line(line, &mut found).map_err(|bad| bad.of_line(at + 1))?;
        }
        match self.lines.find(|(_, line)| !line.trim().is_empty()) {
            None => Ok(found),
            Some((at, line)) => {
                let what = format!("{} behind the last support vector", quoted(line));
                Err(malformed_line(at + 1, &what))
            }
        }
    }
}

/// Why a line is refused.
enum BadLine {
    Memory(OutOfMemory),
    Words(String),
}

impl From<OutOfMemory> for BadLine {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

impl BadLine {
    fn of_line(self, line: usize) -> Failure {
        match self {
            Self::Memory(error) => error.into(),
            Self::Words(what) => malformed_line(line, &what),
        }
    }
}

/// Reads the factors and the entries behind them.
fn read_line(line: &str, found: &mut SupportVectors) -> Result<(), BadLine> {
    let mut tokens = line.split_ascii_whitespace();
    for _ in 0..found.columns {
        let factor = tokens.next().unwrap_or_default();
        let number = factor.parse::<f64>().ok().filter(|it| it.is_finite());
        let no_factor = || BadLine::Words(format!("{} is no factor", quoted(factor)));
        found.factors.room(1)?.push(number.ok_or_else(no_factor)?);
    }
    let mut before = 0;
    for token in tokens {
        let no_entry = || BadLine::Words(format!("{} is no index:value", quoted(token)));
        let (index, value) = entry(token).ok_or_else(no_entry)?;
        if index <= before {
            return Err(BadLine::Words(format!("index {index} does not ascend")));
        }
        before = index;
        found.entries.room(1)?.push([index, value.to_bits()]);
    }
    found.ends.room(1)?.push(found.entries.len());
    Ok(())
}

/// An index, from 1, and a value that is finite in 32 bits.
fn entry(token: &str) -> Option<(u32, f32)> {
    let (index, value) = token.split_once(':')?;
    // LIBSVM counts with int
    let index = u32::try_from(index.parse::<i32>().ok()?).ok()?;
    let value = value.parse::<f64>().ok()? as f32;
    (index > 0 && value.is_finite()).then_some((index, value))
}

impl<'a> HeaderKeys<'a> {
    fn take(&mut self, line: usize, key: &str, words: &'a str) -> Result<(), Failure> {
        let Some(known) = KEYS.iter().find(|known| **known == key) else {
            let what = format!("{} is no key of LIBSVM's model format", quoted(key));
            return Err(malformed_line(line, &what));
        };
        if self.found.iter().any(|(before, ..)| before == known) {
            return Err(malformed_line(line, &format!("{known} comes twice")));
        }
        // there are no more than keys
        self.found.push((known, line, words.trim()));
        Ok(())
    }

    /// The words behind a key, and its line.
    fn words(&self, key: &str) -> Option<(usize, &'a str)> {
        let mut found = self.found.iter();
        let (_, line, words) = found.find(|(known, ..)| *known == key)?;
        Some((*line, words))
    }

    /// The same of a key that every model has.
    fn needed(&self, key: &str) -> Result<(usize, &'a str), Failure> {
        let missing = || malformed(format!("the line \"{key}\" is missing"));
        self.words(key).ok_or_else(missing)
    }

    /// As many numbers behind a key as there must be.
    fn numbers<T: core::str::FromStr>(
        &self,
        key: &str,
        count: usize,
        is_sound: fn(&T) -> bool,
    ) -> Result<Vec<T>, Failure> {
        let (line, words) = self.needed(key)?;
        let found = words.split_ascii_whitespace().count();
        if found != count {
            let what = format!("{found} values of {key}, expected {count}");
            return Err(malformed_line(line, &what));
        }
        let mut numbers = Vec::new();
        numbers.room(count)?;
        for word in words.split_ascii_whitespace() {
            let number = word.parse().ok().filter(is_sound);
            let no_value =
                || malformed_line(line, &format!("{} is no value of {key}", quoted(word)));
            numbers.push(number.ok_or_else(no_value)?);
        }
        Ok(numbers)
    }

    fn one<T: core::str::FromStr + Copy>(
        &self,
        key: &str,
        is_sound: fn(&T) -> bool,
    ) -> Result<T, Failure> {
        self.numbers(key, 1, is_sound).map(|numbers| numbers[0])
    }

    fn number(&self, key: &str) -> Result<f64, Failure> {
        self.one(key, |it: &f64| it.is_finite())
    }

    fn finish(self) -> Result<LibsvmHeader, Failure> {
        let svm_type = self.svm_type()?;
        let classes = self.one::<u32>("nr_class", |_| true)? as usize;
        if !(2..=MOST_CLASSES).contains(&classes) {
            return Err(malformed(format!(
                "the model has {classes} classes, expected 2 to {MOST_CLASSES}"
            )));
        }
        if !TYPES.contains(&svm_type) {
            if let Some(key) = ["label", "nr_sv"]
                .iter()
                .find(|key| self.words(key).is_some())
            {
                return Err(malformed(format!(
                    "a machine of type {svm_type} has no {key}"
                )));
            }
            return Ok(LibsvmHeader {
                svm_type: svm_type.to_owned(),
                kernel: self.kernel()?,
                labels: Vec::new(),
                rho: self.numbers("rho", 1, |it: &f64| it.is_finite())?,
                sigmoids: Vec::new(),
                counts: vec![self.total()? as usize],
            });
        }
        Ok(LibsvmHeader {
            svm_type: svm_type.to_owned(),
            kernel: self.kernel()?,
            labels: self.labels(classes)?,
            rho: self.numbers("rho", Pairs::count(classes), |it: &f64| it.is_finite())?,
            sigmoids: self.sigmoids(Pairs::count(classes))?,
            counts: self.counts(classes)?,
        })
    }

    /// Labels that differ.
    fn labels(&self, classes: usize) -> Result<Vec<i32>, Failure> {
        let labels: Vec<i32> = self.numbers("label", classes, |_| true)?;
        let mut ascending = copied(&labels)?;
        ascending.sort_unstable();
        match ascending.windows(2).find(|two| two[0] == two[1]) {
            None => Ok(labels),
            Some(twice) => Err(malformed(format!("label {} comes twice", twice[0]))),
        }
    }

    fn svm_type(&self) -> Result<&'a str, Failure> {
        let (line, word) = self.needed("svm_type")?;
        let mut known = TYPES.iter().chain(&REGRESSIONS).chain([&ONE_CLASS]);
        if known.any(|known| *known == word) {
            return Ok(word);
        }
        let unknown = malformed_line(line, &format!("{} is no type of LIBSVM's", quoted(word)));
        Err(unknown.hint("Types: c_svc, nu_svc, epsilon_svr, nu_svr and one_class."))
    }

    /// Support vectors of one machine.
    fn total(&self) -> Result<u32, Failure> {
        let total = self.one::<u32>("total_sv", |_| true)?;
        match (1..=MOST_LANDMARKS as u64).contains(&u64::from(total)) {
            true => Ok(total),
            false => Err(malformed(format!(
                "total_sv is {total}, expected a number from 1 to {MOST_LANDMARKS}"
            ))),
        }
    }

    /// Support vectors of each class.
    fn counts(&self, classes: usize) -> Result<Vec<usize>, Failure> {
        let total = self.one::<u32>("total_sv", |_| true)?;
        let counts: Vec<u32> = self.numbers("nr_sv", classes, |_| true)?;
        let sum: u64 = counts.iter().copied().map(u64::from).sum();
        if sum == u64::from(total) && (1..=MOST_LANDMARKS as u64).contains(&sum) {
            return gathered(counts.iter().map(|count| *count as usize)).map_err(Failure::from);
        }
        Err(malformed(format!(
            "total_sv is {total} and the sum of nr_sv is {sum}, expected one number from 1 to {MOST_LANDMARKS}"
        )))
    }

    /// Slope and offset of each machine; none where the file has none.
    fn sigmoids(&self, machines: usize) -> Result<Vec<(f64, f64)>, Failure> {
        let numbers = |key| self.numbers(key, machines, |it: &f64| it.is_finite());
        match ["probA", "probB"].map(|key| self.words(key).is_some()) {
            [false, false] => Ok(Vec::new()),
            [true, true] => {
                let pairs = numbers("probA")?.into_iter().zip(numbers("probB")?);
                gathered(pairs).map_err(Failure::from)
            }
            _ => Err(malformed("of probA and probB one is missing".to_owned())),
        }
    }

    fn kernel(&self) -> Result<Kernel, Failure> {
        let (line, word) = self.needed("kernel_type")?;
        let Some((_, kind)) = KERNELS.iter().find(|(known, _)| *known == word) else {
            let unknown = match word {
                PRECOMPUTED => unsupported(format!("a model of kernel {word} has no rows")),
                _ => malformed_line(line, &format!("unknown kernel {}", quoted(word))),
            };
            return Err(unknown.hint(format!(
                "Kernels: {}.",
                KERNELS.map(|(word, _)| word).join(", ")
            )));
        };
        let gamma = match kind {
            KernelKind::Linear => None,
            _ => Some(self.number("gamma")?),
        };
        let degree = match kind {
            KernelKind::Polynomial => self.one::<i32>("degree", |_| true)?,
            _ => 1,
        };
        let coef0 = match kind {
            KernelKind::Polynomial | KernelKind::Sigmoid => self.number("coef0")?,
            _ => 0.0,
        };
        let kernel = KernelSpec::new(*kind, gamma, i64::from(degree), coef0);
        let kernel = kernel.and_then(|spec| spec.kernel(f64::NAN));
        kernel.map_err(|error| malformed(error.to_string()))
    }
}

fn unsupported(what: String) -> Failure {
    Failure::new(Code::ERRCODE_FEATURE_NOT_SUPPORTED, what)
}

fn malformed(what: String) -> Failure {
    Failure::new(Code::ERRCODE_INVALID_TEXT_REPRESENTATION, what)
        .hint("Expected is the text of a model file that LIBSVM's svm-train has written.")
}

fn malformed_line(line: usize, what: &str) -> Failure {
    malformed(format!("line {line}: {what}"))
}
