//! Kernel functions, by inner products and squared norms.
//!
//! | kind | k(x, z) |
//! |---|---|
//! | linear | x'z |
//! | rbf | exp(-gamma \|x - z\|²), with \|x - z\|² = \|x\|² + \|z\|² - 2 x'z in 32 bits, unless rows lie far from 0 |
//! | polynomial | (gamma x'z + coef0)^degree |
//! | sigmoid | tanh(gamma x'z + coef0), which is no inner product for most gamma and coef0 |
//!
//! gamma, degree and coef0 mean what they mean in LIBSVM and scikit-learn; where gamma is not given it is scikit-learn's
//! 'scale', 1 / (d v) with v the variance of all values of all d features of the scaled rows, and 1 where that is 0.

use serde::{Deserialize, Serialize};

use crate::error::KernelError;
use crate::simd::{Isa, Level, Work};

/// Degrees above it overflow or vanish in 32 bits for all but a few rows.
pub const MOST_DEGREE: u32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelKind {
    Linear,
    Rbf,
    Polynomial,
    Sigmoid,
}

/// What is asked for, checked: gamma may be left to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KernelSpec {
    kind: KernelKind,
    gamma: Option<f64>,
    degree: u32,
    coef0: f64,
}

impl KernelSpec {
    /// All parameters are checked, whether this kind uses them or not.
    pub fn new(
        kind: KernelKind,
        gamma: Option<f64>,
        degree: i64,
        coef0: f64,
    ) -> Result<Self, KernelError> {
        if let Some(gamma) = gamma.filter(|gamma| !is_gamma(*gamma)) {
            return Err(KernelError::Gamma { gamma });
        }
        if !(1..=i64::from(MOST_DEGREE)).contains(&degree) {
            let most = MOST_DEGREE;
            return Err(KernelError::Degree { degree, most });
        }
        if !(coef0 as f32).is_finite() {
            return Err(KernelError::Constant { coef0 });
        }
        let degree = degree as u32;
        Ok(Self {
            kind,
            gamma,
            degree,
            coef0,
        })
    }

    pub fn kind(&self) -> KernelKind {
        self.kind
    }

    /// Whether such a function is this one but for its gamma.
    pub fn is_kind_of(&self, kernel: &Kernel) -> bool {
        match *kernel {
            Kernel::Linear => self.kind == KernelKind::Linear,
            Kernel::Rbf { .. } => self.kind == KernelKind::Rbf,
            Kernel::Polynomial { degree, coef0, .. } => {
                (self.kind, self.degree, self.coef0) == (KernelKind::Polynomial, degree, coef0)
            }
            Kernel::Sigmoid { coef0, .. } => {
                (self.kind, self.coef0) == (KernelKind::Sigmoid, coef0)
            }
        }
    }

    /// gamma as it was given.
    pub fn gamma(&self) -> Option<f64> {
        self.gamma
    }

    /// The same with this gamma.
    pub fn with_gamma(self, gamma: f64) -> Self {
        Self {
            gamma: Some(gamma),
            ..self
        }
    }

    /// Whether the rows must say what gamma is.
    pub fn needs_gamma(&self) -> bool {
        self.gamma.is_none() && self.kind != KernelKind::Linear
    }

    /// The function, with this gamma where none was given.
    pub fn kernel(&self, scale: f64) -> Result<Kernel, KernelError> {
        let gamma = self.gamma.unwrap_or(scale);
        if self.kind != KernelKind::Linear && !is_gamma(gamma) {
            return Err(KernelError::Gamma { gamma });
        }
        let (degree, coef0) = (self.degree, self.coef0);
        Ok(match self.kind {
            KernelKind::Linear => Kernel::Linear,
            KernelKind::Rbf => Kernel::Rbf { gamma },
            KernelKind::Polynomial => Kernel::Polynomial {
                gamma,
                degree,
                coef0,
            },
            KernelKind::Sigmoid => Kernel::Sigmoid { gamma, coef0 },
        })
    }
}

/// Positive and finite in 32 bits too, in which values are computed.
fn is_gamma(gamma: f64) -> bool {
    gamma as f32 > 0.0 && (gamma as f32).is_finite()
}

/// scikit-learn's gamma 'scale' of rows with so many values in all, zeros counted, their sum and the sum of their squares.
pub fn scale_gamma(features: usize, values: f64, sum: f64, squares: f64) -> f64 {
    let mean = sum / values.max(1.0);
    let variance = squares / values.max(1.0) - mean * mean;
    // what rounding leaves of a variance is none
    match variance > 1e-12 * (squares / values.max(1.0)) {
        true => 1.0 / (features.max(1) as f64 * variance),
        false => 1.0,
    }
}

/// A kernel function; made by [`KernelSpec::kernel`], which has checked it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Kernel {
    Linear,
    Rbf { gamma: f64 },
    Polynomial { gamma: f64, degree: u32, coef0: f64 },
    Sigmoid { gamma: f64, coef0: f64 },
}

impl Kernel {
    /// Whether [`KernelSpec::kernel`] makes such a one; one that came as bytes may be another.
    pub fn is_sound(&self) -> bool {
        let (kind, gamma, degree, coef0) = match *self {
            Self::Linear => (KernelKind::Linear, None, 1, 0.0),
            Self::Rbf { gamma } => (KernelKind::Rbf, Some(gamma), 1, 0.0),
            Self::Polynomial {
                gamma,
                degree,
                coef0,
            } => (KernelKind::Polynomial, Some(gamma), degree, coef0),
            Self::Sigmoid { gamma, coef0 } => (KernelKind::Sigmoid, Some(gamma), 1, coef0),
        };
        KernelSpec::new(kind, gamma, i64::from(degree), coef0).is_ok()
    }

    /// Its gamma; the linear one has none.
    pub fn gamma(&self) -> Option<f64> {
        match *self {
            Self::Linear => None,
            Self::Rbf { gamma } | Self::Polynomial { gamma, .. } | Self::Sigmoid { gamma, .. } => {
                Some(gamma)
            }
        }
    }

    /// k(x, z) of x'z, |x|² and |z|², in 64 bits.
    pub fn value(&self, product: f64, x_square: f64, z_square: f64) -> f64 {
        match *self {
            Self::Linear => product,
            Self::Rbf { gamma } => (-gamma * (x_square + z_square - 2.0 * product).max(0.0)).exp(),
            Self::Polynomial {
                gamma,
                degree,
                coef0,
            } => (gamma * product + coef0).powi(degree as i32),
            Self::Sigmoid { gamma, coef0 } => (gamma * product + coef0).tanh(),
        }
    }

    /// k(x, x) of |x|².
    pub fn own_value(&self, square: f64) -> f64 {
        self.value(square, square, square)
    }

    /// Values in place of the products of rows with others: as many products a row as there are `squares` of the others.
    pub fn values(&self, level: Level, products: &mut [f32], own: &[f32], squares: &[f32]) {
        if squares.is_empty() || *self == Self::Linear {
            return;
        }
        level.run(KernelValues {
            kernel: *self,
            products,
            own,
            squares,
        });
    }

    /// Values in place of squared distances.
    pub(crate) fn values_of_distances(&self, level: Level, numbers: &mut [f32]) {
        if let Self::Rbf { gamma } = *self {
            let gamma = gamma as f32;
            level.run(RbfOfDistances { gamma, numbers });
        }
    }
}

/// Of distances: exp(-gamma d) in place of each d.
struct RbfOfDistances<'a> {
    gamma: f32,
    numbers: &'a mut [f32],
}

impl Work for RbfOfDistances<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for number in self.numbers {
            *number = exp(-self.gamma * number.max(0.0));
        }
    }
}

struct KernelValues<'a> {
    kernel: Kernel,
    products: &'a mut [f32],
    own: &'a [f32],
    squares: &'a [f32],
}

impl Work for KernelValues<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let rows = self.products.chunks_exact_mut(self.squares.len());
        for (row, own) in rows.zip(self.own) {
            match self.kernel {
                Kernel::Linear => {}
                Kernel::Rbf { gamma } => {
                    let gamma = gamma as f32;
                    for (product, square) in row.iter_mut().zip(self.squares) {
                        let distance = (own + square - 2.0 * *product).max(0.0);
                        *product = exp(-gamma * distance);
                    }
                }
                Kernel::Polynomial {
                    gamma,
                    degree,
                    coef0,
                } => {
                    let (gamma, coef0) = (gamma as f32, coef0 as f32);
                    for product in row {
                        *product = power(gamma * *product + coef0, degree);
                    }
                }
                Kernel::Sigmoid { gamma, coef0 } => {
                    let (gamma, coef0) = (gamma as f32, coef0 as f32);
                    for product in row {
                        *product = (gamma * *product + coef0).tanh();
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn power(base: f32, degree: u32) -> f32 {
    let (mut result, mut square, mut left) = (1.0, base, degree);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

/// e to a power of at most 0, to the last bit but one, by operations that the compiler makes vector code of: 2^n e^r with
/// the power n ln 2 + r, and e^r by its series.
#[inline(always)]
fn exp(power: f32) -> f32 {
    /// Adding it leaves the nearest whole number in the last bits.
    const WHOLE: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // below it the result is 0 in 32 bits, or nearly
    let x = power.max(-87.0);
    let shifted = x * std::f32::consts::LOG2_E + WHOLE;
    let whole = shifted - WHOLE;
    let rest = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    let mut series = 1.0 / 5040.0;
    for factor in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        series = series * rest + factor;
    }
    let exponent = (shifted.to_bits() as i32).wrapping_sub(WHOLE.to_bits() as i32);
    series * f32::from_bits(((exponent + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_the_last_bits() {
        for step in 0..200_000 {
            let x = -(step as f32) * 4.3e-4;
            let (found, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!(
                (found - right).abs() <= 2.5e-7 * right,
                "{x}: {found} {right}"
            );
        }
        assert!(exp(-1e30) < 1e-37);
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let rbf = |gamma| KernelSpec::new(KernelKind::Rbf, Some(gamma), 3, 0.0);
        for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-60, 1e60] {
            let refused = rbf(gamma).err();
            assert!(
                matches!(refused, Some(KernelError::Gamma { .. })),
                "{gamma}"
            );
        }
        let polynomial = |degree| KernelSpec::new(KernelKind::Polynomial, None, degree, 1.0);
        for degree in [i64::MIN, -1, 0, 33, i64::MAX] {
            let refused = polynomial(degree).err();
            assert_eq!(refused, Some(KernelError::Degree { degree, most: 32 }));
        }
        assert!(polynomial(32).unwrap().kernel(0.5).is_ok());
        assert!(polynomial(2).unwrap().kernel(f64::NAN).is_err());
        assert!(matches!(
            KernelSpec::new(KernelKind::Sigmoid, None, 3, f64::NAN),
            Err(KernelError::Constant { .. })
        ));
    }

    #[test]
    fn gamma_follows_the_variance_of_all_values() {
        // 0, 0, 2, 2: mean 1, variance 1, two features
        assert_eq!(scale_gamma(2, 4.0, 4.0, 8.0), 0.5);
        assert_eq!(scale_gamma(3, 9.0, 9.0, 9.0), 1.0);
        assert_eq!(scale_gamma(0, 0.0, 0.0, 0.0), 1.0);
    }
}
