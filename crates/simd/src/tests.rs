use super::eight::Eight;
use super::float::Float as _;
use super::*;

/// Shorter and longer than most of the rows.
const NEXT: Next<'static> = Next {
    near: &[0; 40],
    far: &[0; 900],
};

/// What the loops over dense rows make of these rows and weights, beside nothing, other weights, and factors.
#[derive(Clone, Copy)]
struct Dense<'a, T> {
    rows: [&'a [f32]; 2],
    u: &'a [T],
    w: &'a [T],
    steps: &'a [DenseStep<'a>],
}

/// The products of the first row and of both, and the weights afterwards.
struct Made<T> {
    one: [Products<1>; 3],
    two: [Products<2>; 3],
    after: Vec<Vec<T>>,
}

impl<T: Real> Work for Dense<'_, T> {
    type Output = Made<T>;
    #[inline(always)]
    fn run<K: Isa>(self) -> Made<T> {
        let mut deferred = Deferred::NONE;
        self.steps.iter().for_each(|step| deferred.push(*step));
        let besides = [
            Beside::Nothing,
            Beside::Weights(self.w),
            Beside::Damping(self.w),
        ];
        let mut after = vec![self.u.to_vec(); 7];
        let [taken, rest @ ..] = &mut after[..] else {
            unreachable!()
        };
        deferred.take::<K, T>(taken);
        let (ones, twos) = rest.split_at_mut(3);
        let [first, _] = self.rows;
        Made {
            one: std::array::from_fn(|n| {
                T::products_dense::<K, 1>(&deferred, [first], &mut ones[n], besides[n], [NEXT])
            }),
            two: std::array::from_fn(|n| {
                T::products_dense::<K, 2>(&deferred, self.rows, &mut twos[n], besides[n], [NEXT; 2])
            }),
            after,
        }
    }
}

/// The products of a row alone, without a step.
struct Alone<'a, T>(&'a [f32], &'a [T], &'a [T]);

impl<T: Real> Work for Alone<'_, T> {
    type Output = (f64, (f64, f64));
    #[inline(always)]
    fn run<K: Isa>(self) -> Self::Output {
        let Alone(x, u, w) = self;
        (T::dot_dense::<K>(x, u), T::dot_damped_dense::<K>(x, w, u))
    }
}

fn agree<T: Real + std::fmt::Debug>(relative: f64) {
    for length in (0..70).chain([127, 128, 129, 143, 144, 500, 781]) {
        let numbers = |step: usize, modulus: usize, unit: f64| {
            let half = modulus as f64 / 2.0;
            (0..length).map(move |k| ((k * step % modulus) as f64 - half) / unit)
        };
        let values = |step, modulus, unit| -> Vec<f32> {
            let numbers = numbers(step, modulus, unit);
            numbers.map(|value| value as f32).collect()
        };
        let weights =
            |step, modulus, unit| -> Vec<T> { numbers(step, modulus, unit).map(T::of).collect() };
        let (x, z) = (values(37, 101, 70.0), values(41, 103, 60.0));
        let (p, q) = (values(43, 107, 50.0), values(47, 109, 40.0));
        let (u, w) = (weights(53, 97, 90.0), weights(29, 89, 80.0));
        let steps = [
            DenseStep { scale: 0.25, x: &p },
            DenseStep { scale: -0.5, x: &q },
        ];
        for level in [Level::PLAIN, Level::best()] {
            for count in 0..3 {
                let dense = Dense {
                    rows: [&x, &z],
                    u: &u,
                    w: &w,
                    steps: &steps[..count],
                };
                dense.agrees(level, relative);
            }
        }
    }
}

impl<T: Real + std::fmt::Debug> Dense<'_, T> {
    /// The loops of that level make of the rows what sums one by one make of them.
    fn agrees(self, level: Level, relative: f64) {
        let Self { rows, u, w, steps } = self;
        let length = u.len();
        let after: Vec<f64> = (0..length)
            .map(|j| {
                let step = |step: &DenseStep<'_>| step.scale * f64::from(step.x[j]);
                u[j].to() + steps.iter().map(step).sum::<f64>()
            })
            .collect();
        let made = level.run(self);
        let all = made.after.iter().flat_map(|made| made.iter().zip(&after));
        for (made, after) in all {
            let close = (made.to() - after).abs() <= 4.0 * relative;
            assert!(close, "{level:?} {length}");
        }
        // a step taken on the way is the step taken before, bit for bit
        let taken = &made.after[0];
        let bits = |weights: &Vec<T>| -> Vec<u64> {
            weights.iter().map(|weight| weight.to().to_bits()).collect()
        };
        let same = made.after.iter().all(|after| bits(after) == bits(taken));
        assert!(same, "{level:?} {length}");
        made.agrees(rows, w, &after, relative);
        if steps.is_empty() {
            let (dot, (damped, norm)) = level.run(Alone(rows[0], u, w));
            assert_eq!(dot, made.one[0].each[0][0]);
            assert_eq!([damped, norm], made.one[2].each[0]);
        }
    }
}

impl<T: Real> Made<T> {
    /// The products are those of the rows with the weights `after`, beside nothing, `w` as weights and as factors.
    fn agrees(&self, rows: [&[f32]; 2], w: &[T], after: &[f64], relative: f64) {
        let length = after.len();
        let sum = |term: &dyn Fn(usize) -> f64| (0..length).map(term).sum::<f64>();
        let close = |made: f64, exact: f64| {
            let bound = relative * (1.0 + length as f64);
            assert!((made - exact).abs() <= bound, "{length}");
        };
        for n in 0..3 {
            let factor = |j: usize| if n == 2 { w[j].to() } else { 1.0 };
            for (row, x) in rows.into_iter().enumerate() {
                let x = |j: usize| f64::from(x[j]);
                let at_u = sum(&|j| factor(j) * x(j) * after[j]);
                let second = match n {
                    0 => 0.0,
                    1 => sum(&|j| x(j) * w[j].to()),
                    _ => sum(&|j| x(j) * x(j) * w[j].to()),
                };
                let first = (row == 0).then(|| self.one[n].each[0]);
                for [made_u, made_second] in [self.two[n].each[row]].into_iter().chain(first) {
                    close(made_u, at_u);
                    close(made_second, second);
                }
            }
            let [x, z] = rows;
            let cross = sum(&|j| factor(j) * f64::from(x[j]) * f64::from(z[j]));
            close(self.two[n].cross, cross);
            assert_eq!(self.one[n].cross, 0.0);
        }
    }
}

#[test]
fn vector_code_equals_the_scalar_reference() {
    agree::<f64>(1e-15);
    agree::<f32>(1e-6);
}

/// A processor may have wider vectors than those that it is seen to have here.
#[cfg(target_arch = "x86_64")]
#[test]
fn each_width_of_vectors_makes_the_same_of_dense_rows() {
    fn products<V: dense::Vector>() -> Vec<f64> {
        (0..70)
            .flat_map(|length| {
                let x: Vec<f32> = (0..length).map(|k| ((k * 37 % 101) as f32).sin()).collect();
                let u = vec![V::Number::of(0.5); length];
                let mut after = u.clone();
                let mut deferred = Deferred::NONE;
                deferred.push(DenseStep { scale: 2.0, x: &x });
                let besides = [Beside::Weights(&u[..]), Beside::Damping(&u[..])];
                let [a, b] = besides.map(|beside| {
                    after.copy_from_slice(&u);
                    dense::products::<V, 2>(&deferred, [&x, &x], &mut after, beside, [NEXT; 2])
                });
                let more = dense::product::<V>(&x, &u, Beside::Damping(&u));
                dense::add::<V>(&mut after, -2.0, &x);
                let left = after.iter().zip(&u).map(|(a, u)| (a.to() - u.to()).abs());
                let left = left.fold(0.0, f64::max);
                let all = a.each.as_flattened().iter().chain(b.each.as_flattened());
                all.chain(&[a.cross, b.cross, left])
                    .chain(&more)
                    .copied()
                    .collect::<Vec<_>>()
            })
            .collect()
    }
    let close = |a: Vec<f64>, b: Vec<f64>, bound: f64| {
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= bound) && a.len() == b.len());
    };
    if Level::best() != Level::PLAIN {
        let wide = products::<avx2::Wide>();
        close(products::<avx2::Narrow>(), wide.clone(), 1e-4);
        if avx512::suits(usize::MAX) {
            close(products::<avx512::Wide>(), wide.clone(), 1e-12);
            close(products::<avx512::Narrow>(), wide, 1e-4);
        }
    }
}

/// What the loops of a sparse row make of it: the products with two vectors, and the first after an addition.
struct Sparse<'a, T>(&'a [[u32; 2]], &'a [T], &'a [T]);

impl<T: Real> Work for Sparse<'_, T> {
    type Output = (f64, (f64, f64), (f64, f64), f64);
    #[inline(always)]
    fn run<K: Isa>(self) -> Self::Output {
        let Sparse(x, u, w) = self;
        let mut sum = u.to_vec();
        T::add_sparse::<K>(&mut sum, 2.0, x);
        (
            T::dot_sparse::<K>(x, u),
            T::dot2_sparse::<K>(x, u, w),
            T::dot_damped_sparse::<K>(x, w, u),
            T::dot_sparse::<K>(x, &sum),
        )
    }
}

fn sparse_agree<T: Real>(relative: f64) {
    const FEATURES: u32 = 200;
    let numbers = |step: f64| -> Vec<T> {
        (0..FEATURES)
            .map(|j| T::of((f64::from(j) * step).sin()))
            .collect()
    };
    let (u, w) = (numbers(0.7), numbers(0.3));
    for length in 0..60u32 {
        // the last entry is the last feature
        let x: Vec<[u32; 2]> = (0..length)
            .map(|k| (FEATURES - 1 - 3 * k, (k as f32).cos()))
            .map(|(feature, value)| [feature, value.to_bits()])
            .rev()
            .collect();
        let sum = |term: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
            let terms = x.iter().map(|&[feature, bits]| {
                let (u, w) = (u[feature as usize].to(), w[feature as usize].to());
                term(f64::from(f32::from_bits(bits)), u, w)
            });
            terms.sum()
        };
        let close = |found: f64, exact: f64| {
            assert!((found - exact).abs() <= relative * f64::from(1 + length));
        };
        for level in [Level::PLAIN, Level::best()] {
            let (dot, dot2, damped, after) = level.run(Sparse(&x, &u, &w));
            close(dot, sum(&|x, u, _| x * u));
            close(dot2.0, sum(&|x, u, _| x * u));
            close(dot2.1, sum(&|x, _, w| x * w));
            close(damped.0, sum(&|x, u, w| w * u * x));
            close(damped.1, sum(&|x, _, w| w * x * x));
            close(after, sum(&|x, u, _| x * (u + 2.0 * x)));
        }
    }
}

#[test]
fn sparse_loops_equal_the_scalar_reference() {
    sparse_agree::<f64>(1e-14);
    sparse_agree::<f32>(1e-6);
}

/// The products alone, with one vector or two, which are all that reads weights by gathering.
struct Gathered<'a>(&'a [[u32; 2]], &'a [f32], bool);

impl Work for Gathered<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<K: Isa>(self) -> f64 {
        let Gathered(x, u, two) = self;
        match two {
            true => f32::dot2_sparse::<K>(x, u, u).1,
            false => f32::dot_sparse::<K>(x, u),
        }
    }
}

#[test]
fn a_feature_beyond_the_weights_is_not_read() {
    for (beyond, two) in [(8, false), (8, true), (u32::MAX, false), (u32::MAX, true)] {
        let mut x = [[0, 1.0f32.to_bits()]; 16];
        x[15][0] = beyond;
        let read = std::panic::catch_unwind(|| Level::best().run(Gathered(&x, &[0.0; 8], two)));
        assert!(read.is_err(), "{beyond} {two}");
    }
}

/// What the loops for many heads make of a row: scores in two matrices, squares, the first matrix after two additions.
struct ManyHeads<'a> {
    x: &'a [[u32; 2]],
    matrices: [&'a [f32]; 2],
    place: entries::LanePlace,
}

/// Of the matrices in the test of many heads.
const FEATURES: usize = 40;

impl Work for ManyHeads<'_> {
    type Output = ([[lanes::Lanes; 2]; 2], lanes::Lanes, Vec<f32>);
    #[inline(always)]
    fn run<K: Isa>(self) -> Self::Output {
        let (entries, [m, d]) = (entries::Entries::new(self.x, 3, FEATURES), self.matrices);
        let mut sum = m.to_vec();
        let scales = std::array::from_fn(|k| k as f32 - 2.0);
        entries.add::<K>(&mut sum, self.place, &scales);
        entries.add_damped::<K>((&mut sum, d), self.place, &scales);
        (
            entries.scores::<K, 2, 2>(self.matrices, self.place),
            entries.squares::<K>(d, self.place),
            sum,
        )
    }
}

#[test]
fn loops_for_many_heads_equal_the_scalar_reference() {
    let (stride, from) = (24, 8);
    let numbers = |step: usize| -> Vec<f32> {
        let number = |k| ((k * step % 97) as f32 - 48.0) / 9.0;
        (0..stride * FEATURES).map(number).collect()
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
                place: entries::LanePlace { stride, from },
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

/// The scores of a row by the weights of so many heads, those of it and three others, and the weights of the first after a
/// step.
struct RowAndTile<'a>(&'a [f32], [&'a [f32]; 6], usize);
impl Work for RowAndTile<'_> {
    type Output = ([f32; 4], [[f32; 6]; 4], Vec<f32>);
    #[inline(always)]
    fn run<K: Isa>(self) -> Self::Output {
        let mut sum = self.1[0].to_vec();
        f32::add_dense::<K>(&mut sum, -0.75, self.0);
        let u = &self.1[..self.2];
        let rows = std::array::from_fn(|n| if n == 0 { self.0 } else { self.1[n] });
        (
            entries::dots::<K>(self.0, &u[..u.len().min(4)], NEXT),
            entries::tile::<K>(rows, u, &[NEXT, NEXT]),
            sum,
        )
    }
}

#[test]
fn dense_loops_for_many_heads_equal_the_scalar_reference() {
    for length in (0..40).chain([127, 128, 129, 143, 144, 500, 781]) {
        let numbers = |step: usize| -> Vec<f32> {
            let number = |k| ((k * step % 97) as f32 - 48.0) / 30.0;
            (0..length).map(number).collect()
        };
        let x = numbers(37);
        let u = [53, 29, 11, 7, 5, 3].map(numbers);
        for level in [Level::PLAIN, Level::best()] {
            for count in 0..=6 {
                let (dots, tile, sum) =
                    level.run(RowAndTile(&x, u.each_ref().map(Vec::as_slice), count));
                for ((sum, x), u) in sum.into_iter().zip(&x).zip(&u[0]) {
                    assert!((sum - (u - 0.75 * x)).abs() <= 1e-6, "{level:?} {length}");
                }
                let rows = [
                    (&dots[..], &x),
                    (&tile[0], &x),
                    (&tile[1], &u[1]),
                    (&tile[2], &u[2]),
                    (&tile[3], &u[3]),
                ];
                for (dots, x) in rows {
                    assert_scores(dots, x, &u[..count]);
                }
            }
        }
    }
}

/// The first are those of the row by each of the weights, the others 0.
fn assert_scores(scores: &[f32], x: &[f32], weights: &[Vec<f32>]) {
    for (&score, u) in scores.iter().zip(weights) {
        let products = || x.iter().zip(u).map(|(x, u)| f64::from(*x) * f64::from(*u));
        let bound = 1e-5 * (1.0 + products().map(f64::abs).sum::<f64>());
        assert!((f64::from(score) - products().sum::<f64>()).abs() <= bound);
    }
    let others = scores.iter().skip(weights.len());
    assert!(others.into_iter().all(|score| *score == 0.0));
}

#[test]
#[should_panic]
fn a_feature_without_weights_is_refused() {
    entries::Entries::new(&[[4, 0], [7, 0]], 4, 3);
}

/// Everything that is done with eight numbers at a time.
struct All<'a>(&'a lanes::Lanes, &'a lanes::Lanes);
impl Work for All<'_> {
    type Output = (Vec<[u32; 8]>, [u8; 3], [u32; 8], [f64; 8]);
    #[inline(always)]
    fn run<K: Isa>(self) -> Self::Output {
        let (a, b) = (K::Eight::load(self.0), K::Eight::load(self.1));
        let numbers = [
            a.plus(b),
            a.minus(b),
            a.times(b),
            a.over(b),
            a.least(b),
            a.most(b),
            a.below(b).pick(a, b),
            a.at_most(b).and(a),
            a.at_most(b).or(b.below(a)),
            K::Eight::splat(2.5),
            K::Eight::where_set(0b1010_0110),
        ];
        let bits = |eight: K::Eight| {
            let mut lanes = [0.0; 8];
            eight.store(&mut lanes);
            lanes.map(f32::to_bits)
        };
        let (mut counts, mut sums) = ([7; 8], [0.5; 8]);
        a.below(b).count_in(&mut counts);
        a.add_to(&mut sums);
        a.add_difference_to(b, &mut sums);
        let conditions = [a.below(b), a.at_most(b), K::Eight::where_set(0x35)];
        let conditions = conditions.map(Eight::bits);
        (numbers.map(bits).to_vec(), conditions, counts, sums)
    }
}

#[test]
fn eight_at_a_time_equal_one_at_a_time() {
    let a = [0.0, 1.0, -2.0, 3.5, f32::INFINITY, 1e-30, 7.0, -0.25];
    let b = [0.0, 2.0, -3.0, 3.5, 1.0, f32::NEG_INFINITY, 0.5, 8.0];
    let work = || All(&a, &b);
    let (best, plain) = (Level::best().run(work()), Level::PLAIN.run(work()));
    assert_eq!(best.0[..3], plain.0[..3]);
    assert_eq!(best.0[4..], plain.0[4..]);
    assert_eq!((best.1, best.2, best.3), (plain.1, plain.2, plain.3));
    assert_eq!(plain.1, [0b1000_0010, 0b1000_1011, 0x35]);
    let quotients = best.0[3].map(f32::from_bits);
    assert!(quotients[0].is_nan() && quotients[1] == 0.5 && quotients[6] == 14.0);
}
