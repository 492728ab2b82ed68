//! How a kernel machine compares a row with its landmarks: stored with the feature set, as it says how the numbers of a row
//! become what weights are for. Weights are then factors of kernel values, one a landmark; the landmarks' rows are a table of
//! their own. Pure.

use pgsvm_core::kernels::{Kernel, KernelKind, KernelSpec, Rows};
use pgsvm_core::memory::{list, text};
use pgsvm_core::{LandmarkChoice, Scaling};
use serde::{Deserialize, Serialize};

/// Most landmarks of a stored model.
pub const MOST_LANDMARKS: usize = 1 << 20;

/// The words for `kernel`, first what holds where nothing is given.
pub const KERNELS: [(&str, KernelKind); 4] = [
    ("linear", KernelKind::Linear),
    ("rbf", KernelKind::Rbf),
    ("polynomial", KernelKind::Polynomial),
    ("sigmoid", KernelKind::Sigmoid),
];

/// The words for the option `landmarks`, likewise.
pub const LANDMARKS: [(&str, LandmarkChoice); 4] = [
    ("pivots", LandmarkChoice::Pivots),
    ("drawn", LandmarkChoice::Drawn),
    ("uniform", LandmarkChoice::Uniform),
    ("centres", LandmarkChoice::Centres),
];

/// What landmarks of an exact machine are.
pub const SUPPORT_VECTORS: &str = "support_vectors";

/// The word for what `all` knows by words.
pub fn word_of<T: Copy + PartialEq>(choice: T, all: &[(&'static str, T)]) -> &'static str {
    let mut all = all.iter();
    all.find(|(_, known)| *known == choice)
        .map_or("", |(word, _)| word)
}

/// The kernel of a trained machine.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelForm {
    /// One of [`KERNELS`].
    #[serde(deserialize_with = "text")]
    function: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gamma: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    degree: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coef0: Option<f64>,
    /// How many landmarks there are, and what they are: one of [`LANDMARKS`], or [`SUPPORT_VECTORS`].
    pub landmarks: usize,
    #[serde(deserialize_with = "text")]
    pub chosen: String,
    /// So many features of a landmark are stored one after the other, the others as entries.
    pub width: usize,
    /// The part of the kernel's trace that the landmarks leave out.
    pub left_out: f64,
    /// Where the trace is that of all rows: by how much the dual objective can differ from that of the kernel itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// How rows are scaled before they are compared; None where they are divided by their length too, as the feature set
    /// says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// What dense values are kept relative to in 32 bits before they are scaled; empty for 0.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "list"
    )]
    pub first: Vec<f64>,
}

impl KernelForm {
    /// Of a machine that has been trained: `chosen` says what its landmarks are, `left_out` what of the kernel's trace they
    /// leave out.
    pub fn of(
        kernel: &Kernel,
        landmarks: &Rows,
        (chosen, left_out): (&str, f64),
        scaling: Option<Scaling>,
    ) -> Self {
        let (kind, gamma, degree, coef0) = match *kernel {
            Kernel::Linear => (KernelKind::Linear, None, None, None),
            Kernel::Rbf { gamma } => (KernelKind::Rbf, Some(gamma), None, None),
            Kernel::Polynomial {
                gamma,
                degree,
                coef0,
            } => (
                KernelKind::Polynomial,
                Some(gamma),
                Some(degree),
                Some(coef0),
            ),
            Kernel::Sigmoid { gamma, coef0 } => {
                (KernelKind::Sigmoid, Some(gamma), None, Some(coef0))
            }
        };
        Self {
            function: word_of(kind, &KERNELS).to_owned(),
            gamma,
            degree,
            coef0,
            landmarks: landmarks.len(),
            chosen: chosen.to_owned(),
            width: landmarks.width(),
            left_out,
            bound: None,
            scaling,
            first: Vec::new(),
        }
    }

    /// The same of rows that are kept relative to this one before they are scaled.
    pub fn relative_to(self, first: Vec<f64>) -> Self {
        Self { first, ..self }
    }

    /// The same of a machine whose factor is one of all rows.
    pub fn bounded_by(self, bound: f64) -> Self {
        Self {
            bound: Some(bound),
            ..self
        }
    }

    /// The function's word, gamma, degree and coef0, as arguments give them.
    pub fn arguments(&self) -> (&str, Option<f64>, Option<u32>, Option<f64>) {
        (&self.function, self.gamma, self.degree, self.coef0)
    }

    /// The function; None where what is stored makes none.
    pub fn kernel(&self) -> Option<Kernel> {
        let kind = KERNELS.iter().find(|(word, _)| *word == self.function)?.1;
        let degree = i64::from(self.degree.unwrap_or(1));
        let spec = KernelSpec::new(kind, self.gamma, degree, self.coef0.unwrap_or(0.0)).ok()?;
        // without a gamma there is none but the linear one
        spec.kernel(f64::NAN).ok()
    }

    /// Whether it fits rows of so many dense features.
    pub fn is_sound(&self, dense: usize) -> bool {
        let scales = |scaling: &Scaling| scaling.is_sound() && scaling.dense == dense;
        self.kernel().is_some()
            && (1..=MOST_LANDMARKS).contains(&self.landmarks)
            && self.width >= dense
            && self.width <= dense.max(MOST_WIDTH)
            && self.scaling.as_ref().is_none_or(scales)
            && (self.first.is_empty() || self.first.len() == dense)
            && self.first.iter().all(|value| value.is_finite())
    }

    /// The function as a message names it.
    pub fn words(&self) -> String {
        let mut words = self.function.clone();
        if let Some(gamma) = self.gamma {
            words += &format!(", gamma {gamma:.6}");
        }
        if let Some(degree) = self.degree {
            words += &format!(", degree {degree}");
        }
        if let Some(coef0) = self.coef0 {
            words += &format!(", coef0 {coef0}");
        }
        words
    }

    /// The same as arguments of a training, but for gamma.
    pub fn as_arguments(&self) -> String {
        let mut arguments = format!("kernel => '{}'", self.function);
        if let Some(degree) = self.degree {
            arguments += &format!(", degree => {degree}");
        }
        if let Some(coef0) = self.coef0 {
            arguments += &format!(", coef0 => {coef0}");
        }
        arguments
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let numbers = |scaling: &Scaling| 2 * scaling.dense + scaling.sparse_factor.len();
        let scaling = self.scaling.as_ref().map_or(0, numbers);
        256 + (scaling + self.first.len()) * size_of::<f64>()
    }
}

/// Sparse features that are few are stored as dense ones up to here.
const MOST_WIDTH: usize = 1 << 14;
