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
