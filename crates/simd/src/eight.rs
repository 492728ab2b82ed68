//! Eight 32-bit numbers, one for each head of a block, in the vectors of the build that runs.
//!
//! A condition is a number too: all bits set where it holds, none where not.

use super::lanes::{Lanes, LANES};

pub trait Eight: Copy {
    fn load(from: &Lanes) -> Self;
    fn store(self, to: &mut Lanes);
    fn splat(value: f32) -> Self;
    /// A condition that holds in the lanes whose bit is set.
    fn where_set(bits: u8) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    /// The smaller one; `other` where either is NaN.
    fn least(self, other: Self) -> Self;
    /// The larger one; `other` where either is NaN.
    fn most(self, other: Self) -> Self;
    /// self <= other
    fn at_most(self, other: Self) -> Self;
    /// self < other
    fn below(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// `yes` where this condition holds, else `no`.
    fn pick(self, yes: Self, no: Self) -> Self;
    /// A bit for each lane in which this condition holds.
    fn bits(self) -> u8;
    /// Adds 1 where this condition holds.
    fn count_in(self, sums: &mut [u32; LANES]);
    /// Adds to 64-bit sums.
    fn add_to(self, sums: &mut [f64; LANES]);
    /// Adds self - other, taken in 64 bits.
    fn add_difference_to(self, other: Self, sums: &mut [f64; LANES]);
}

fn mask(condition: bool) -> f32 {
    f32::from_bits(if condition { u32::MAX } else { 0 })
}

fn each(a: Lanes, b: Lanes, of: impl Fn(f32, f32) -> f32) -> Lanes {
    std::array::from_fn(|k| of(a[k], b[k]))
}

impl Eight for Lanes {
    #[inline(always)]
    fn load(from: &Lanes) -> Self {
        *from
    }

    #[inline(always)]
    fn store(self, to: &mut Lanes) {
        *to = self;
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        [value; LANES]
    }

    #[inline(always)]
    fn where_set(bits: u8) -> Self {
        std::array::from_fn(|k| mask(bits >> k & 1 != 0))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        each(self, other, |a, b| a + b)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        each(self, other, |a, b| a - b)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        each(self, other, |a, b| a * b)
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        each(self, other, |a, b| a / b)
    }

    #[inline(always)]
    fn least(self, other: Self) -> Self {
        each(self, other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn most(self, other: Self) -> Self {
        each(self, other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> Self {
        each(self, other, |a, b| mask(a <= b))
    }

    #[inline(always)]
    fn below(self, other: Self) -> Self {
        each(self, other, |a, b| mask(a < b))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        each(self, other, |a, b| {
            f32::from_bits(a.to_bits() & b.to_bits())
        })
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        each(self, other, |a, b| {
            f32::from_bits(a.to_bits() | b.to_bits())
        })
    }

    #[inline(always)]
    fn pick(self, yes: Self, no: Self) -> Self {
        std::array::from_fn(|k| {
            if self[k].to_bits() != 0 {
                yes[k]
            } else {
                no[k]
            }
        })
    }

    #[inline(always)]
    fn bits(self) -> u8 {
        let bit = |(k, lane): (usize, &f32)| u8::from(lane.to_bits() != 0) << k;
        self.iter().enumerate().map(bit).sum()
    }

    #[inline(always)]
    fn count_in(self, sums: &mut [u32; LANES]) {
        for (sum, lane) in sums.iter_mut().zip(self) {
            *sum += u32::from(lane.to_bits() != 0);
        }
    }

    #[inline(always)]
    fn add_to(self, sums: &mut [f64; LANES]) {
        for (sum, lane) in sums.iter_mut().zip(self) {
            *sum += f64::from(lane);
        }
    }

    #[inline(always)]
    fn add_difference_to(self, other: Self, sums: &mut [f64; LANES]) {
        for (sum, (a, b)) in sums.iter_mut().zip(self.into_iter().zip(other)) {
            *sum += f64::from(a) - f64::from(b);
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::*;

    use super::{Eight, Lanes, LANES};

    /// One vector of AVX2. Only code of a build for AVX2 may use it.
    #[derive(Clone, Copy)]
    pub struct EightFloats(__m256);

    macro_rules! with_avx2 {
        ($body:expr) => {
            // SAFETY: a EightFloats is used only by a build that runs on a processor that was seen to have AVX2; loads and
            // stores go through references to eight numbers.
            unsafe { $body }
        };
    }

    #[inline(always)]
    fn halves(vector: __m256) -> [__m256d; 2] {
        with_avx2!([
            _mm256_cvtps_pd(_mm256_castps256_ps128(vector)),
            _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(vector)),
        ])
    }

    #[inline(always)]
    fn add_halves(values: [__m256d; 2], sums: &mut [f64; LANES]) {
        for (half, value) in values.into_iter().enumerate() {
            with_avx2!({
                let at = sums.as_mut_ptr().add(4 * half);
                _mm256_storeu_pd(at, _mm256_add_pd(_mm256_loadu_pd(at), value));
            });
        }
    }

    impl Eight for EightFloats {
        #[inline(always)]
        fn load(from: &Lanes) -> Self {
            Self(with_avx2!(_mm256_loadu_ps(from.as_ptr())))
        }

        #[inline(always)]
        fn store(self, to: &mut Lanes) {
            with_avx2!(_mm256_storeu_ps(to.as_mut_ptr(), self.0))
        }

        #[inline(always)]
        fn splat(value: f32) -> Self {
            Self(with_avx2!(_mm256_set1_ps(value)))
        }

        #[inline(always)]
        fn where_set(bits: u8) -> Self {
            Self(with_avx2!({
                let own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                let set = _mm256_and_si256(_mm256_set1_epi32(bits.into()), own);
                _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, own))
            }))
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_add_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn minus(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_sub_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn times(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_mul_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn over(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_div_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn least(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_min_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn most(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_max_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn at_most(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, other.0)))
        }

        #[inline(always)]
        fn below(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0)))
        }

        #[inline(always)]
        fn and(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_and_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn or(self, other: Self) -> Self {
            Self(with_avx2!(_mm256_or_ps(self.0, other.0)))
        }

        #[inline(always)]
        fn pick(self, yes: Self, no: Self) -> Self {
            Self(with_avx2!(_mm256_blendv_ps(no.0, yes.0, self.0)))
        }

        #[inline(always)]
        fn bits(self) -> u8 {
            with_avx2!(_mm256_movemask_ps(self.0)) as u8
        }

        #[inline(always)]
        fn count_in(self, sums: &mut [u32; LANES]) {
            with_avx2!({
                // a condition that holds is the integer -1
                let at: *mut __m256i = sums.as_mut_ptr().cast();
                let sum = _mm256_sub_epi32(_mm256_loadu_si256(at), _mm256_castps_si256(self.0));
                _mm256_storeu_si256(at, sum);
            })
        }

        #[inline(always)]
        fn add_to(self, sums: &mut [f64; LANES]) {
            add_halves(halves(self.0), sums);
        }

        #[inline(always)]
        fn add_difference_to(self, other: Self, sums: &mut [f64; LANES]) {
            let ([a, b], [c, d]) = (halves(self.0), halves(other.0));
            add_halves(with_avx2!([_mm256_sub_pd(a, c), _mm256_sub_pd(b, d)]), sums);
        }
    }
}
