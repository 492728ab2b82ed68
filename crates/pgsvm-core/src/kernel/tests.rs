use super::*;

struct Dots<'a, T>(&'a [f32], &'a [T], &'a [T]);
impl<T: Real> Work for Dots<'_, T> {
    type Output = (f64, (f64, f64), (f64, f64), Vec<T>);
    #[inline(always)]
    fn run<K: Kernel>(self) -> Self::Output {
        let mut sum = self.2.to_vec();
        T::add_dense::<K>(&mut sum, 0.25, self.0);
        (
            T::dot_dense::<K>(self.0, self.1),
            T::dot2_dense::<K>(self.0, self.1, self.2),
            T::dot_damped_dense::<K>(self.0, self.2, self.1),
            sum,
        )
    }
}

fn agree<T: Real>(relative: f64) {
    for length in (0..70).chain([500, 781]) {
        let x: Vec<f32> = (0..length)
            .map(|k| ((k * 37 % 101) as f32 - 50.0) / 7.0)
            .collect();
        let u: Vec<T> = (0..length)
            .map(|k| T::of(((k * 53 % 97) as f64 - 48.0) / 9.0))
            .collect();
        let w: Vec<T> = (0..length)
            .map(|k| T::of(((k * 29 % 89) as f64 - 44.0) / 5.0))
            .collect();
        let exact = |u: &[T]| {
            x.iter()
                .zip(u)
                .map(|(x, u)| f64::from(*x) * u.to())
                .sum::<f64>()
        };
        let bound = relative
            * (1.0
                + x.iter()
                    .zip(&u)
                    .map(|(x, u)| (f64::from(*x) * u.to()).abs())
                    .sum::<f64>());
        for level in [Level::PLAIN, Level::best()] {
            let (one, (two_u, two_w), (damped, norm), sum) = level.run(Dots(&x, &u, &w));
            assert!((one - exact(&u)).abs() <= bound, "{level:?} {length}");
            assert!((two_u - exact(&u)).abs() <= bound);
            let twice: Vec<T> = u
                .iter()
                .zip(&w)
                .map(|(u, w)| T::of(u.to() * w.to()))
                .collect();
            assert!((damped - exact(&twice)).abs() <= 50.0 * bound);
            let squares: Vec<T> = x
                .iter()
                .zip(&w)
                .map(|(x, w)| T::of(f64::from(*x) * w.to()))
                .collect();
            assert!((norm - exact(&squares)).abs() <= 50.0 * bound);
            assert!((two_w - exact(&w)).abs() <= 4.0 * bound);
            for ((s, w), x) in sum.iter().zip(&w).zip(&x) {
                assert!((s.to() - w.to() - 0.25 * f64::from(*x)).abs() <= relative * 20.0);
            }
        }
    }
}

#[test]
fn vector_code_equals_the_scalar_reference() {
    agree::<f64>(1e-14);
    agree::<f32>(1e-5);
}

#[test]
fn sparse_loops_equal_the_scalar_reference() {
    struct Sparse<'a>(&'a [[u32; 2]], &'a mut [f64]);
    impl Work for Sparse<'_> {
        type Output = f64;
        #[inline(always)]
        fn run<K: Kernel>(self) -> f64 {
            f64::add_sparse::<K>(self.1, 2.0, self.0);
            f64::dot_sparse::<K>(self.0, self.1)
        }
    }
    for length in 0..20u32 {
        let x: Vec<[u32; 2]> = (0..length)
            .map(|k| [3 * k, (k as f32 / 3.0).to_bits()])
            .collect();
        for level in [Level::PLAIN, Level::best()] {
            let mut u = vec![1.0; 64];
            let dot = level.run(Sparse(&x, &mut u));
            let exact: f64 = x
                .iter()
                .map(|e| f64::from(f32::from_bits(e[1])))
                .map(|v| v * (1.0 + 2.0 * v))
                .sum();
            assert!((dot - exact).abs() <= 1e-12 * (1.0 + exact.abs()));
        }
    }
}

/// What the loops for many heads make of a row: scores in two matrices, squares, the first matrix after two additions.
struct ManyHeads<'a> {
    x: &'a [[u32; 2]],
    matrices: [&'a [f32]; 2],
    stride: usize,
    from: usize,
}

impl Work for ManyHeads<'_> {
    type Output = ([[lanes::Lanes; 2]; 2], lanes::Lanes, Vec<f32>);
    #[inline(always)]
    fn run<K: Kernel>(self) -> Self::Output {
        let (x, base, [m, d]) = (self.x, 3, self.matrices);
        let mut sum = m.to_vec();
        let scales = std::array::from_fn(|k| k as f32 - 2.0);
        lanes::add::<K>(x, base, &mut sum, self.stride, self.from, &scales);
        lanes::add_damped::<K>(x, base, (&mut sum, d), self.stride, self.from, &scales);
        (
            lanes::scores::<K, 2, 2>(x, base, self.matrices, self.stride, self.from),
            lanes::squares::<K>(x, base, d, self.stride, self.from),
            sum,
        )
    }
}

#[test]
fn loops_for_many_heads_equal_the_scalar_reference() {
    let (stride, from, features) = (24, 8, 40);
    let numbers = |step: usize| -> Vec<f32> {
        let number = |k| ((k * step % 97) as f32 - 48.0) / 9.0;
        (0..stride * features).map(number).collect()
    };
    let (m, d) = (numbers(53), numbers(29));
    for length in 0..20u32 {
        let x: Vec<[u32; 2]> = (0..length)
            .map(|k| [3 + 2 * k, (k as f32 / 3.0 - 2.0).to_bits()])
            .collect();
        let row = || {
            x.iter()
                .map(|e| (e[0] as usize - 3, f64::from(f32::from_bits(e[1]))))
        };
        let at = |matrix: &[f32], feature: usize, lane: usize| {
            f64::from(matrix[feature * stride + from + lane])
        };
        for level in [Level::PLAIN, Level::best()] {
            let (scores, squares, sum) = level.run(ManyHeads {
                x: &x,
                matrices: [&m, &d],
                stride,
                from,
            });
            for lane in 0..16 {
                for (matrix, scores) in [&m, &d].into_iter().zip(scores) {
                    let exact: f64 = row().map(|(j, x)| x * at(matrix, j, lane)).sum();
                    let score = f64::from(scores.as_flattened()[lane]);
                    assert!((score - exact).abs() <= 1e-3, "{level:?} {length} {lane}");
                }
            }
            let mut expected: Vec<f64> = m.iter().copied().map(f64::from).collect();
            for lane in 0..8 {
                let exact: f64 = row().map(|(j, x)| x * x * at(&d, j, lane)).sum();
                assert!((f64::from(squares[lane]) - exact).abs() <= 1e-3);
                for (j, x) in row() {
                    let scale = lane as f64 - 2.0;
                    expected[j * stride + from + lane] += scale * x * (1.0 + at(&d, j, lane));
                }
            }
            for (sum, expected) in sum.iter().zip(expected) {
                assert!((f64::from(*sum) - expected).abs() <= 1e-3);
            }
        }
    }
}

#[test]
fn four_products_at_once_equal_the_scalar_reference() {
    struct Four<'a>(&'a [f32], [&'a [f32]; 4]);
    impl Work for Four<'_> {
        type Output = [f32; 4];
        #[inline(always)]
        fn run<K: Kernel>(self) -> [f32; 4] {
            lanes::four_dots::<K>(self.0, self.1)
        }
    }
    for length in (0..40).chain([500, 781]) {
        let numbers = |step: usize| -> Vec<f32> {
            let number = |k| ((k * step % 97) as f32 - 48.0) / 30.0;
            (0..length).map(number).collect()
        };
        let x = numbers(37);
        let u = [53, 29, 11, 7].map(numbers);
        for level in [Level::PLAIN, Level::best()] {
            let dots = level.run(Four(&x, u.each_ref().map(Vec::as_slice)));
            for (dot, u) in dots.into_iter().zip(&u) {
                let products = || x.iter().zip(u).map(|(x, u)| f64::from(*x) * f64::from(*u));
                let bound = 1e-5 * (1.0 + products().map(f64::abs).sum::<f64>());
                assert!((f64::from(dot) - products().sum::<f64>()).abs() <= bound);
            }
        }
    }
}
