//! LIBSVM's model format ("svm.cpp", `svm_save_model` and `svm_load_model`): a header of keys and values, the line `SV`, and
//! then a line for each support vector: its factor, and its entries as in LIBSVM's data files. Of two classes the decision
//! sum of factor * k(support vector, row) - rho speaks for the first label. Pure.

use super::liblinear::{quoted, write_number};
use crate::base::errors::{Code, Failure};
use crate::features::MOST_LANDMARKS;
use pgsvm_core::kernels::{Kernel, KernelKind, KernelSpec};
use pgsvm_core::memory::{OutOfMemory, Room};

/// The kernels that both know, by LIBSVM's words.
const KERNELS: [(&str, KernelKind); 4] = [
    ("linear", KernelKind::Linear),
    ("polynomial", KernelKind::Polynomial),
    ("rbf", KernelKind::Rbf),
    ("sigmoid", KernelKind::Sigmoid),
];

/// What stands before the support vectors, of a machine of two classes.
pub struct LibsvmHeader {
    pub svm_type: String,
    pub kernel: Kernel,
    pub rho: f64,
    /// In the order of the file.
    pub labels: [i32; 2],
    /// Slope and offset of the probability of the first label.
    pub sigmoid: Option<(f64, f64)>,
    /// Support vectors of each label.
    pub counts: [usize; 2],
}

impl LibsvmHeader {
    /// The header as text, the line `SV` included.
    pub fn write(&self) -> String {
        let mut text = String::new();
        let mut put = |key: &str, words: &str| text += &format!("{key} {words}\n");
        put("svm_type", &self.svm_type);
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
        put("kernel_type", word);
        if let Some(degree) = degree {
            put("degree", &degree.to_string());
        }
        let numbers = [("gamma", gamma), ("coef0", coef0)];
        for (key, number) in numbers.iter().filter_map(|(key, it)| Some((key, (*it)?))) {
            put(key, &number_words(number));
        }
        put("nr_class", "2");
        put("total_sv", &(self.counts[0] + self.counts[1]).to_string());
        put("rho", &number_words(self.rho));
        put("label", &format!("{} {}", self.labels[0], self.labels[1]));
        if let Some((slope, offset)) = self.sigmoid {
            put("probA", &number_words(slope));
            put("probB", &number_words(offset));
        }
        put("nr_sv", &format!("{} {}", self.counts[0], self.counts[1]));
        text + "SV\n"
    }
}

fn number_words(number: f64) -> String {
    let mut words = String::new();
    write_number(&mut words, number);
    words
}

/// Whether a text is a model of LIBSVM's.
pub fn is_one(text: &str) -> bool {
    text.trim_start().starts_with("svm_type")
}

/// Support vectors, one after the other.
#[derive(Default)]
pub struct SupportVectors {
    pub factors: Vec<f64>,
    /// Pairs of index, from 1, and value bits, and where those of each end.
    entries: Vec<[u32; 2]>,
    ends: Vec<usize>,
}

impl SupportVectors {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

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
pub struct LibsvmReader<'a> {
    lines: core::iter::Enumerate<core::str::Lines<'a>>,
}

/// A header in the making: the words behind each key.
#[derive(Default)]
struct Keys<'a> {
    found: Vec<(&'static str, usize, &'a str)>,
}

/// Keys of a machine that classifies; one of another purpose has others too.
const KEYS: [&str; 12] = [
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
];

impl<'a> LibsvmReader<'a> {
    /// For a whole file.
    pub fn new(text: &'a str) -> Self {
        Self {
            lines: text.lines().enumerate(),
        }
    }

    /// Reads up to the line `SV`.
    pub fn header(&mut self) -> Result<LibsvmHeader, Failure> {
        let mut keys = Keys::default();
        for (at, line) in self.lines.by_ref() {
            let line = line.trim();
            let (key, words) = line.split_once(' ').unwrap_or((line, ""));
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
        let count = header.counts[0] + header.counts[1];
        let mut found = SupportVectors::default();
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
enum Bad {
    Memory(OutOfMemory),
    Words(String),
}

impl From<OutOfMemory> for Bad {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

impl Bad {
    fn of_line(self, line: usize) -> Failure {
        match self {
            Self::Memory(error) => error.into(),
            Self::Words(what) => malformed_line(line, &what),
        }
    }
}

/// Reads a factor and the entries behind it.
fn read_line(line: &str, found: &mut SupportVectors) -> Result<(), Bad> {
    let mut tokens = line.split_ascii_whitespace();
    let factor = tokens.next().unwrap_or_default();
    let number = factor.parse::<f64>().ok().filter(|it| it.is_finite());
    let no_factor = || Bad::Words(format!("{} is no factor", quoted(factor)));
    found.factors.room(1)?.push(number.ok_or_else(no_factor)?);
    let mut before = 0;
    for token in tokens {
        let no_entry = || Bad::Words(format!("{} is no index:value", quoted(token)));
        let (index, value) = entry(token).ok_or_else(no_entry)?;
        if index <= before {
            return Err(Bad::Words(format!("index {index} does not ascend")));
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

impl<'a> Keys<'a> {
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

    /// As many numbers behind a key as there must be.
    fn numbers<T: core::str::FromStr + Copy, const COUNT: usize>(
        &self,
        key: &str,
        is_sound: fn(&T) -> bool,
    ) -> Result<[T; COUNT], Failure> {
        let (line, words) = self
            .words(key)
            .ok_or_else(|| malformed(format!("\"SV\" comes before \"{key}\"")))?;
        let mut tokens = words.split_ascii_whitespace();
        let mut next = || tokens.next()?.parse().ok().filter(is_sound);
        let numbers: [Option<T>; COUNT] = core::array::from_fn(|_| next());
        if tokens.next().is_none() && numbers.iter().all(Option::is_some) {
            let mut numbers = numbers.into_iter().flatten();
            if let Some(first) = numbers.next() {
                let mut all = [first; COUNT];
                all[1..]
                    .iter_mut()
                    .zip(numbers)
                    .for_each(|(place, it)| *place = it);
                return Ok(all);
            }
        }
        let what = format!("{} is no value of {key}", quoted(words));
        Err(malformed_line(line, &what))
    }

    fn number(&self, key: &str) -> Result<f64, Failure> {
        let [number] = self.numbers::<f64, 1>(key, |it| it.is_finite())?;
        Ok(number)
    }

    /// A number that a file may lack.
    fn optional(&self, key: &str) -> Result<Option<f64>, Failure> {
        match self.words(key) {
            None => Ok(None),
            Some(_) => self.number(key).map(Some),
        }
    }

    fn finish(self) -> Result<LibsvmHeader, Failure> {
        let svm_type = self.svm_type()?;
        let [classes] = self.numbers::<u32, 1>("nr_class", |_| true)?;
        if classes != 2 {
            return Err(several_classes(classes));
        }
        let labels: [i32; 2] = self.numbers("label", |_| true)?;
        if labels[0] == labels[1] {
            return Err(malformed(format!("both labels are {}", labels[0])));
        }
        Ok(LibsvmHeader {
            svm_type: svm_type.to_owned(),
            kernel: self.kernel()?,
            rho: self.number("rho")?,
            labels,
            sigmoid: self.sigmoid()?,
            counts: self.counts()?,
        })
    }

    fn svm_type(&self) -> Result<&'a str, Failure> {
        let word = self.words("svm_type").map_or("", |(_, words)| words);
        match word {
            "c_svc" | "nu_svc" => Ok(word),
            _ => Err(unsupported(format!(
                "a machine of type {} does not classify",
                quoted(word)
            ))
            .hint("Types that do: c_svc and nu_svc.")),
        }
    }

    /// Support vectors of each class.
    fn counts(&self) -> Result<[usize; 2], Failure> {
        let [total] = self.numbers::<u32, 1>("total_sv", |_| true)?;
        let counts: [u32; 2] = self.numbers("nr_sv", |_| true)?;
        let counts = counts.map(|count| count as usize);
        let sum = counts[0].saturating_add(counts[1]);
        if sum == total as usize && (1..=MOST_LANDMARKS).contains(&sum) {
            return Ok(counts);
        }
        Err(malformed(format!(
            "the model has {total} support vectors, of its classes {} and {}, expected 1 to {MOST_LANDMARKS}",
            counts[0], counts[1]
        )))
    }

    fn sigmoid(&self) -> Result<Option<(f64, f64)>, Failure> {
        match (self.optional("probA")?, self.optional("probB")?) {
            (Some(slope), Some(offset)) => Ok(Some((slope, offset))),
            (None, None) => Ok(None),
            _ => Err(malformed("of probA and probB one is missing".to_owned())),
        }
    }

    fn kernel(&self) -> Result<Kernel, Failure> {
        let word = self.words("kernel_type").map_or("", |(_, words)| words);
        let Some((_, kind)) = KERNELS.iter().find(|(known, _)| *known == word) else {
            return Err(
                unsupported(format!("unknown kernel {}", quoted(word))).hint(format!(
                    "Kernels: {}.",
                    KERNELS.map(|(word, _)| word).join(", ")
                )),
            );
        };
        let gamma = match kind {
            KernelKind::Linear => None,
            _ => Some(self.number("gamma")?),
        };
        let degree = match kind {
            KernelKind::Polynomial => self.numbers::<i32, 1>("degree", |_| true)?[0],
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

fn several_classes(classes: u32) -> Failure {
    unsupported(format!(
        "the model has {classes} classes, expected 2"
    ))
    .detail("Of several classes LIBSVM has a machine for each pair of them, here there is one for each class against the rest.")
    .hint("Train it here: svm_train(…, kernel => 'rbf')")
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
