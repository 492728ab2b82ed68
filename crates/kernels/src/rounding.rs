//! What 64 bits lose of f(x) = sum of a_j k(z_j, x), computed as in [`crate::wide`].

use crate::expansion::roundings_of_dot;
use crate::kernel::Kernel;
use crate::rows::Rows;
use crate::wide::NEAR;

/// By how much decisions may be off at most: of rows x by sum of |a_j| l(z_j) times l(x) times what a value loses. l(x) is sqrt(k(x, x)), with
/// |coef0| in place of coef0; tanh loses what its argument does, so there it is sqrt(gamma |x|² + |coef0| + 1).
#[derive(Debug, Clone, Copy)]
pub struct ValueRounding {
    kernel: Kernel,
    /// What is added to each kernel value.
    constant: f64,
    /// Whether values are those of which decisions are made.
    of_decisions: bool,
    /// How many z there are, and of them the most numbers of a row, and the largest squares: of a row, and of a sparse part.
    count: usize,
    terms: usize,
    most_square: f64,
    square: f64,
    /// Sum of |a_j| l(z_j).
    pub reach: f64,
}

impl ValueRounding {
    /// What that makes of primal and dual is not counted up to this share of the primal.
    pub const NOT_COUNTED: f64 = 1e-7;

    /// Of no z as yet.
    pub fn new(kernel: Kernel, constant: f64) -> Self {
        Self {
            kernel,
            constant,
            of_decisions: false,
            count: 0,
            terms: 0,
            most_square: 0.0,
            square: 0.0,
            reach: 0.0,
        }
    }

    /// Of values as decisions are made of, whose distances may be made of products.
    pub fn of_decisions(self) -> Self {
        Self {
            of_decisions: true,
            ..self
        }
    }

    /// Whether distances may be made of products.
    pub fn is_of_decisions(&self) -> bool {
        self.of_decisions
    }

    /// Takes a row with this |z|² as one of the z, whose |a| is added by whoever knows it. Gives back its l(z).
    pub fn take(&mut self, (rows, at): (&Rows, usize), square: f64) -> f64 {
        self.count += 1;
        self.terms = self.terms.max(rows.terms(at));
        self.most_square = self.most_square.max(square);
        self.square = self.square.max(rows.wide_sparse_square(at));
        self.length(square)
    }

    /// l(x) of a row with this |x|², the constant included.
    pub fn length(&self, square: f64) -> f64 {
        let own = match self.kernel {
            Kernel::Linear | Kernel::Rbf { .. } => self.kernel.own_value(square),
            Kernel::Polynomial {
                gamma,
                degree,
                coef0,
            } => (gamma * square + coef0.abs()).powi(degree as i32),
            Kernel::Sigmoid { gamma, coef0 } => gamma * square + coef0.abs() + 1.0,
        };
        (own + self.constant).sqrt()
    }

    /// By how much decisions of the z themselves may be off, of one with this length; and sums of decisions, each times a factor, with this
    /// sum of factors times lengths.
    pub fn off(&self, length: f64) -> f64 {
        (self.value_off() + self.dot_off()) * self.reach * length
    }

    /// By how much values of the z may be off, times l(x) l(z).
    pub fn value_off(&self) -> f64 {
        self.value(self.terms, 2.0 * self.square)
    }

    /// By how much a [`dot`](crate::expansion::dot) of as many numbers as there are z may be off, times the sum of their sizes.
    pub fn dot_off(&self) -> f64 {
        summed(roundings_of_dot(self.count))
    }

    /// The same of any row, of this length.
    pub fn off_at(&self, (rows, at): (&Rows, usize), length: f64) -> f64 {
        let (terms, square) = (rows.terms(at), rows.wide_sparse_square(at));
        let value = self.value(self.terms.max(terms), self.square + square);
        (value + self.dot_off()) * self.reach * length
    }

    /// By how much a value may be off, times l(x) l(z): of products or differences of so many numbers, and of distances
    /// between sparse parts with these squares, |x|² + |z|².
    ///
    /// A sum of n products is off by n 2^-53 sum |x_i z_i| at most (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 3.1),
    /// and that sum is no more than |x| |z|. A power multiplies what is off by its degree.
    ///
    /// A distance that is made of products is off by n 2^-53 (|x| + |z|)², and k times gamma as much is off of k = exp(-gamma |x - z|²).
    /// With |x| below 2 |z| that is no more than 9 gamma |z|²; else gamma |x - z|² is at least gamma |x|²/4 = t, and
    /// 9 t e^-t no more than 4. Distances are made so only where gamma |z|² is at most [`NEAR`].
    fn value(&self, terms: usize, squares: f64) -> f64 {
        // the product, the sum, the power or the exponential beside
        let sum = summed(terms + 4);
        match self.kernel {
            Kernel::Linear | Kernel::Sigmoid { .. } => sum,
            Kernel::Rbf { gamma } => {
                let near = (gamma * self.most_square).min(NEAR);
                let of_products = match self.of_decisions {
                    true => 9.0 * near + 4.0,
                    false => 0.0,
                };
                sum * (1.0 + gamma * squares + of_products)
            }
            Kernel::Polynomial { degree, .. } => sum * f64::from(degree),
        }
    }
}

/// By how much a sum of so many numbers, one after the other, may be off, times the sum of their sizes.
pub fn summed(terms: usize) -> f64 {
    0.5 * f64::EPSILON * terms as f64
}
