//! The precision weights are kept in, and the loops of one row and one head.

use super::float::Float;
use super::level::Isa;
use super::products::{Beside, Deferred, Products};
use super::request::Next;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512, gather};
use pgsvm_base::zeros::Zero;

/// The precision weights are kept in.
pub trait Real: Float + Zero + Send + Sync + 'static {
    /// sum x u
    fn dot_dense<K: Isa>(x: &[f32], u: &[Self]) -> f64;
    /// sum d u x and sum d x^2
    fn dot_damped_dense<K: Isa>(x: &[f32], d: &[Self], u: &[Self]) -> (f64, f64);
    /// Takes the steps, then the products of one row or two; asks for each `next` meanwhile
    fn products_dense<K: Isa, const ROWS: usize>(
        steps: &Deferred<'_>,
        x: [&[f32]; ROWS],
        u: &mut [Self],
        beside: Beside<'_, Self>,
        next: [Next<'_>; ROWS],
    ) -> Products<ROWS>;
    /// u += scale x
    fn add_dense<K: Isa>(u: &mut [Self], scale: f64, x: &[f32]);
    /// sum x u over pairs of feature id and value bits
    fn dot_sparse<K: Isa>(x: &[[u32; 2]], u: &[Self]) -> f64;
    /// sum x u and sum x w
    fn dot2_sparse<K: Isa>(x: &[[u32; 2]], u: &[Self], w: &[Self]) -> (f64, f64);
    /// sum d u x and sum d x^2
    fn dot_damped_sparse<K: Isa>(x: &[[u32; 2]], d: &[Self], u: &[Self]) -> (f64, f64);
    /// u += scale x
    fn add_sparse<K: Isa>(u: &mut [Self], scale: f64, x: &[[u32; 2]]);
}

impl Deferred<'_> {
    /// Takes them.
    #[inline(always)]
    pub fn take<K: Isa, T: Real>(self, u: &mut [T]) {
        for step in self.all() {
            T::add_dense::<K>(u, step.scale, step.x);
        }
    }
}

/// A loop of [`super::dense`] over so many numbers by the widest vectors that suit, in a build for AVX2.
#[cfg(target_arch = "x86_64")]
macro_rules! widest {
    ($length:expr, $loop:ident::<$vector:ident $(, $rows:ident)?>($($argument:expr),*)) => {
        // SAFETY: such a build runs only on a processor that was seen to have AVX2 and FMA; the wider vectors are looked
        // for.
        unsafe {
            match avx512::suits($length) {
                true => avx512::$loop::<avx512::$vector $(, $rows)?>($($argument),*),
                false => avx2::$loop::<avx2::$vector $(, $rows)?>($($argument),*),
            }
        }
    };
}

macro_rules! real {
    ($type:ty, $lanes:literal, $vector:ident $(, $sparse:ident)?) => {
        impl Real for $type {
            #[inline(always)]
            fn dot_dense<K: Isa>(x: &[f32], u: &[Self]) -> f64 {
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return widest!(x.len(), product::<$vector>(x, u, Beside::Nothing))[0];
                }
                let (x_wide, x) = x.as_chunks::<$lanes>();
                let (u_wide, u) = u.as_chunks::<$lanes>();
                let mut sum = [0.0 as Self; $lanes];
                for (x, u) in x_wide.iter().zip(u_wide) {
                    for k in 0..$lanes {
                        sum[k] = fuse!(K, x[k] as Self, u[k], sum[k]);
                    }
                }
                let mut narrow = [0.0 as Self; 4];
                let (x_four, x) = x.as_chunks::<4>();
                let (u_four, u) = u.as_chunks::<4>();
                for (x, u) in x_four.iter().zip(u_four) {
                    for k in 0..4 {
                        narrow[k] = fuse!(K, x[k] as Self, u[k], narrow[k]);
                    }
                }
                let mut last = 0.0 as Self;
                for (x, u) in x.iter().zip(u) {
                    last = fuse!(K, *x as Self, *u, last);
                }
                fold(&sum) + fold(&narrow) + Self::to(last)
            }

            #[inline(always)]
            fn dot_damped_dense<K: Isa>(x: &[f32], d: &[Self], u: &[Self]) -> (f64, f64) {
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return widest!(x.len(), product::<$vector>(x, u, Beside::Damping(d))).into();
                }
                const HALF: usize = $lanes / 2;
                let (x_wide, x) = x.as_chunks::<HALF>();
                let (d_wide, d) = d.as_chunks::<HALF>();
                let (u_wide, u) = u.as_chunks::<HALF>();
                let mut sum_u = [0.0 as Self; HALF];
                let mut sum_x = [0.0 as Self; HALF];
                for ((x, d), u) in x_wide.iter().zip(d_wide).zip(u_wide) {
                    for k in 0..HALF {
                        let damped = x[k] as Self * d[k];
                        sum_u[k] = fuse!(K, damped, u[k], sum_u[k]);
                        sum_x[k] = fuse!(K, damped, x[k] as Self, sum_x[k]);
                    }
                }
                let (mut last_u, mut last_x) = (0.0 as Self, 0.0 as Self);
                for ((x, d), u) in x.iter().zip(d).zip(u) {
                    let damped = *x as Self * *d;
                    last_u = fuse!(K, damped, *u, last_u);
                    last_x = fuse!(K, damped, *x as Self, last_x);
                }
                (
                    fold(&sum_u) + Self::to(last_u),
                    fold(&sum_x) + Self::to(last_x),
                )
            }

            #[inline(always)]
            fn products_dense<K: Isa, const ROWS: usize>(
                steps: &Deferred<'_>,
                x: [&[f32]; ROWS],
                u: &mut [Self],
                beside: Beside<'_, Self>,
                next: [Next<'_>; ROWS],
            ) -> Products<ROWS> {
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    let length = x[0].len();
                    return widest!(length, products::<$vector, ROWS>(steps, x, u, beside, next));
                }
                next.iter().for_each(|next| next.ask_from(0));
                steps.take::<K, Self>(u);
                Products {
                    each: x.map(|x| match beside {
                        Beside::Nothing => [Self::dot_dense::<K>(x, u), 0.0],
                        Beside::Weights(w) => {
                            [Self::dot_dense::<K>(x, u), Self::dot_dense::<K>(x, w)]
                        }
                        Beside::Damping(d) => Self::dot_damped_dense::<K>(x, d, u).into(),
                    }),
                    cross: match (ROWS, beside) {
                        (1, _) => 0.0,
                        (_, Beside::Damping(d)) => cross(x[0], x[ROWS - 1], |j| d[j].to()),
                        _ => cross(x[0], x[ROWS - 1], |_| 1.0),
                    },
                }
            }

            #[inline(always)]
            fn add_dense<K: Isa>(u: &mut [Self], scale: f64, x: &[f32]) {
                #[cfg(target_arch = "x86_64")]
                if K::AVX2 {
                    return widest!(x.len(), add::<$vector>(u, scale, x));
                }
                let scale = scale as Self;
                for (u, x) in u.iter_mut().zip(x) {
                    *u = fuse!(K, *x as Self, scale, *u);
                }
            }

            #[inline(always)]
            fn dot_sparse<K: Isa>(x: &[[u32; 2]], u: &[Self]) -> f64 {
                $(
                    // SAFETY: such a build runs only on a processor that was seen to have both features.
                    #[cfg(target_arch = "x86_64")]
                    if K::AVX2 && x.len() >= $sparse::WIDTH {
                        return unsafe { $sparse::dot(x, u) };
                    }
                )?
                let (wide, rest) = x.as_chunks::<4>();
                let mut sum = [0.0 as Self; 4];
                for entries in wide {
                    for k in 0..4 {
                        let [index, bits] = entries[k];
                        sum[k] = fuse!(K, value::<Self>(bits), u[index as usize], sum[k]);
                    }
                }
                let mut last = 0.0 as Self;
                for &[index, bits] in rest {
                    last = fuse!(K, value::<Self>(bits), u[index as usize], last);
                }
                ((sum[0] + sum[2]) + (sum[1] + sum[3]) + last).to()
            }

            #[inline(always)]
            fn dot2_sparse<K: Isa>(x: &[[u32; 2]], u: &[Self], w: &[Self]) -> (f64, f64) {
                $(
                    // SAFETY: such a build runs only on a processor that was seen to have both features.
                    #[cfg(target_arch = "x86_64")]
                    if K::AVX2 && x.len() >= $sparse::WIDTH {
                        return unsafe { $sparse::dot2(x, u, w) };
                    }
                )?
                let (wide, rest) = x.as_chunks::<2>();
                let mut sum = [[0.0 as Self; 2]; 2];
                for entries in wide {
                    for k in 0..2 {
                        let [index, bits] = entries[k];
                        let x = value::<Self>(bits);
                        sum[k][0] = fuse!(K, x, u[index as usize], sum[k][0]);
                        sum[k][1] = fuse!(K, x, w[index as usize], sum[k][1]);
                    }
                }
                for &[index, bits] in rest {
                    let x = value::<Self>(bits);
                    sum[0][0] = fuse!(K, x, u[index as usize], sum[0][0]);
                    sum[0][1] = fuse!(K, x, w[index as usize], sum[0][1]);
                }
                ((sum[0][0] + sum[1][0]).to(), (sum[0][1] + sum[1][1]).to())
            }

            #[inline(always)]
            fn dot_damped_sparse<K: Isa>(x: &[[u32; 2]], d: &[Self], u: &[Self]) -> (f64, f64) {
                let (wide, rest) = x.as_chunks::<2>();
                let mut sum = [[0.0 as Self; 2]; 2];
                for entries in wide {
                    for k in 0..2 {
                        let [index, bits] = entries[k];
                        let x = value::<Self>(bits);
                        let damped = x * d[index as usize];
                        sum[k][0] = fuse!(K, damped, u[index as usize], sum[k][0]);
                        sum[k][1] = fuse!(K, damped, x, sum[k][1]);
                    }
                }
                for &[index, bits] in rest {
                    let x = value::<Self>(bits);
                    let damped = x * d[index as usize];
                    sum[0][0] = fuse!(K, damped, u[index as usize], sum[0][0]);
                    sum[0][1] = fuse!(K, damped, x, sum[0][1]);
                }
                ((sum[0][0] + sum[1][0]).to(), (sum[0][1] + sum[1][1]).to())
            }

            #[inline(always)]
            fn add_sparse<K: Isa>(u: &mut [Self], scale: f64, x: &[[u32; 2]]) {
                let scale = scale as Self;
                for &[index, bits] in x {
                    let place = &mut u[index as usize];
                    *place = fuse!(K, value::<Self>(bits), scale, *place);
                }
            }
        }
    };
}

real!(f64, 16, Wide);
real!(f32, 32, Narrow, gather);

/// sum d x z
#[inline(always)]
fn cross(x: &[f32], z: &[f32], d: impl Fn(usize) -> f64) -> f64 {
    let products = x.iter().zip(z).enumerate();
    products
        .map(|(j, (x, z))| d(j) * f64::from(*x) * f64::from(*z))
        .sum()
}

/// The value of an entry, from its bits.
#[inline(always)]
fn value<T: From<f32>>(bits: u32) -> T {
    T::from(f32::from_bits(bits))
}

/// Sums lanes pairwise, halving: the order is part of the result.
#[inline(always)]
fn fold<T: Real, const N: usize>(lanes: &[T; N]) -> f64 {
    let mut sums = lanes.map(T::to);
    let mut width = N;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            sums[k] += sums[k + width];
        }
    }
    sums[0]
}
