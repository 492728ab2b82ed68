use crate::base::random::{Random, Stream};
use crate::centres::centres;
use crate::kernel::{Kernel, KernelKind, KernelSpec};
use crate::pivots::{Choice, Pivots};
use crate::simd::Level;
use crate::{Expansion, KernelError, Landmarks, LowRank, Room, Rows, ValueRounding};

const KERNELS: [Kernel; 3] = [
    Kernel::Linear,
    Kernel::Rbf { gamma: 0.3 },
    Kernel::Polynomial {
        gamma: 0.5,
        degree: 3,
        coef0: 1.0,
    },
];

/// Rows of random values, some of them 0, of which the features from `width` on are sparse.
fn rows(count: usize, features: usize, width: usize, seed: u64) -> Rows {
    let mut random = Random::new(seed, Stream::Trainer);
    let mut rows = Rows::new(width);
    for _ in 0..count {
        let mut value = || match random.below(3) {
            0 => 0.0,
            _ => random.below(2001) as f32 / 1000.0 - 1.0,
        };
        let dense: Vec<f32> = (0..width).map(|_| value()).collect();
        let sparse: Vec<[u32; 2]> = (width..features)
            .map(|feature| [feature as u32, value().to_bits()])
            .filter(|[_, bits]| f32::from_bits(*bits) != 0.0)
            .collect();
        rows.push(&dense, &sparse).unwrap();
    }
    rows
}

fn full(rows: &Rows, row: usize, features: usize) -> Vec<f64> {
    let mut all: Vec<f64> = rows.dense(row).iter().map(|x| f64::from(*x)).collect();
    all.resize(features, 0.0);
    for [feature, bits] in rows.sparse(row) {
        all[*feature as usize] = f64::from(f32::from_bits(*bits));
    }
    all
}

/// k of two rows by its definition.
fn exact(kernel: &Kernel, x: &[f64], z: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match *kernel {
        Kernel::Rbf { gamma } => {
            let squares = x.iter().zip(z).map(|(x, z)| (x - z) * (x - z));
            (-gamma * squares.sum::<f64>()).exp()
        }
        _ => kernel.value(dot(x, z), dot(x, x), dot(z, z)),
    }
}

fn map(kernel: Kernel, sample: Rows, choice: Choice, rank: usize, tolerance: f64) -> LowRank {
    let mut pivots = Pivots::new(kernel, sample, choice, rank, tolerance).unwrap();
    while !pivots.step().unwrap() {}
    LowRank::new(pivots.finish().unwrap()).unwrap()
}

fn mapped(map: &LowRank, rows: &Rows) -> Vec<Vec<f64>> {
    let mut out = vec![0.0; rows.len() * map.rank()];
    map.map(rows, 0, &mut Room::default(), &mut out).unwrap();
    let rows = out.chunks(map.rank());
    rows.map(|row| row.iter().map(|x| f64::from(*x)).collect())
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn products_of_mapped_landmarks_are_kernel_values() {
    for kernel in KERNELS {
        for (width, features) in [(7, 7), (0, 9), (4, 10)] {
            let sample = rows(150, features, width, 1);
            let low = map(kernel, sample, Choice::Greatest, 40, 0.0);
            let landmarks = low.landmarks().rows();
            let phi = mapped(&low, landmarks);
            for i in 0..landmarks.len() {
                for j in 0..=i {
                    let (x, z) = (full(landmarks, i, features), full(landmarks, j, features));
                    let (found, right) = (dot(&phi[i], &phi[j]), exact(&kernel, &x, &z));
                    let scale = exact(&kernel, &x, &x).max(exact(&kernel, &z, &z)).max(1.0);
                    assert!(
                        (found - right).abs() < 1e-3 * scale,
                        "{kernel:?} {found} {right}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_left_out_of_the_trace_is_what_the_map_leaves_out() {
    for kernel in KERNELS {
        for choice in [
            Choice::Greatest,
            Choice::Drawn { seed: 1 },
            Choice::InOrder { given: 0 },
        ] {
            let low = map(kernel, rows(120, 6, 6, 2), choice, 20, 0.0);
            let sample = rows(120, 6, 6, 2);
            let phi = mapped(&low, &sample);
            let (mut trace, mut left) = (0.0, 0.0);
            for (row, phi) in phi.iter().enumerate() {
                let x = full(&sample, row, 6);
                let own = exact(&kernel, &x, &x);
                trace += own;
                left += own - dot(phi, phi);
                assert!(
                    own - dot(phi, phi) > -1e-3 * own.max(1.0),
                    "psd: {kernel:?}"
                );
            }
            let (found, right) = (low.left_out(), left / trace);
            assert!(
                (found - right).abs() < 1e-4,
                "{kernel:?} {choice:?}: {found} {right}"
            );
        }
    }
}

#[test]
fn pivots_of_the_greatest_residuals_leave_no_row_far_behind() {
    let kernel = Kernel::Rbf { gamma: 0.3 };
    let worst = |choice| {
        let low = map(kernel, rows(400, 5, 5, 3), choice, 48, 0.0);
        assert_eq!(low.rank(), 48);
        let phi = mapped(&low, &rows(400, 5, 5, 3));
        phi.iter()
            .map(|phi| 1.0 - dot(phi, phi))
            .fold(0.0, f64::max)
    };
    let (greatest, uniform) = (worst(Choice::Greatest), worst(Choice::InOrder { given: 0 }));
    assert!(greatest < 0.7 * uniform, "{greatest} {uniform}");
}

#[test]
fn a_kernel_of_small_rank_ends_at_its_rank() {
    let linear = map(
        Kernel::Linear,
        rows(100, 5, 5, 4),
        Choice::Greatest,
        50,
        0.0,
    );
    assert_eq!(linear.rank(), 5);
    assert!(linear.left_out() < 1e-5);
    let uniform = map(
        Kernel::Linear,
        rows(100, 5, 5, 4),
        Choice::InOrder { given: 0 },
        50,
        0.0,
    );
    assert_eq!(uniform.rank(), 5);
}

#[test]
fn it_ends_when_the_trace_is_within_the_tolerance() {
    let rbf = Kernel::Rbf { gamma: 0.1 };
    let low = map(rbf, rows(300, 4, 4, 5), Choice::Greatest, 300, 0.01);
    assert!(low.rank() < 100 && low.left_out() <= 0.01);
    let fewer = low.rank() / 2;
    let less = map(rbf, rows(300, 4, 4, 5), Choice::Greatest, fewer, 0.0);
    assert!(less.left_out() > 0.01, "{}", less.left_out());
}

#[test]
fn a_block_of_rows_is_mapped_as_each_of_them() {
    for (width, features) in [(11, 11), (3, 40)] {
        let low = map(
            KERNELS[1],
            rows(300, features, width, 6),
            Choice::Greatest,
            130,
            0.0,
        );
        let others = rows(300, features, width, 7);
        let all = mapped(&low, &others);
        for row in [0, 1, 255, 256, 299] {
            let mut one = Rows::new(width);
            one.push_from(&others, row).unwrap();
            let single = mapped(&low, &one).remove(0);
            let error = single.iter().zip(&all[row]).map(|(a, b)| (a - b).abs());
            assert!(error.fold(0.0, f64::max) < 1e-4);
            let mut out = vec![0.0; low.rank()];
            low.map(&others, row, &mut Room::default(), &mut out)
                .unwrap();
            assert!(single
                .iter()
                .zip(&out)
                .all(|(a, b)| (a - f64::from(*b)).abs() < 1e-4));
        }
    }
}

#[test]
fn sparse_rows_give_what_dense_ones_give() {
    let (sparse, dense) = (rows(80, 12, 0, 8), {
        let sparse = rows(80, 12, 0, 8);
        let mut dense = Rows::new(12);
        (0..80).for_each(|row| dense.push_from(&sparse, row).unwrap());
        dense
    });
    assert!(dense.all_sparse().is_empty());
    let one = map(
        KERNELS[1],
        rows(80, 12, 0, 8),
        Choice::InOrder { given: 0 },
        30,
        0.0,
    );
    let mut copy = Rows::new(12);
    (0..80).for_each(|row| copy.push_from(&dense, row).unwrap());
    let other = map(KERNELS[1], copy, Choice::InOrder { given: 0 }, 30, 0.0);
    assert_eq!(one.pivots(), other.pivots());
    for (a, b) in mapped(&one, &sparse).iter().zip(mapped(&other, &dense)) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3));
    }
    assert_eq!(Rows::suitable_width(3, 100, 10.0), 100);
    assert_eq!(Rows::suitable_width(3, 1_000_000, 80.0), 3);
    assert_eq!(Rows::suitable_width(3, 3, 0.0), 3);
}

#[test]
fn folded_weights_decide_as_mapped_rows_do() {
    let low = map(KERNELS[1], rows(300, 8, 8, 9), Choice::Greatest, 60, 0.0);
    let others = rows(500, 8, 8, 10);
    let weights =
        |machine: usize| (0..low.rank()).map(move |j| ((j * 7 + machine) % 5) as f64 - 2.0);
    let mut factors = low.fold(weights(0)).unwrap();
    factors.extend(low.fold(weights(1)).unwrap());
    let mut landmarks = Rows::new(8);
    for row in 0..low.rank() {
        landmarks.push_from(low.landmarks().rows(), row).unwrap();
    }
    let machines = Expansion::new(*low.kernel(), landmarks, factors, vec![0.5, -1.0]);
    let machines = machines.unwrap().unwrap();
    let (mut room, mut decisions) = (Room::default(), Vec::new());
    machines.decide(&others, &mut room, &mut decisions).unwrap();
    for (phi, found) in mapped(&low, &others).iter().zip(decisions.chunks(2)) {
        for (machine, intercept) in [(0, 0.5), (1, -1.0)] {
            let weights: Vec<f64> = weights(machine).collect();
            let right = dot(phi, &weights) + intercept;
            assert!(
                (found[machine] - right).abs() < 2e-2 * (1.0 + right.abs()),
                "{found:?} {right}"
            );
        }
    }
    assert!(
        Expansion::new(Kernel::Linear, Rows::new(8), vec![], vec![0.0])
            .unwrap()
            .is_none()
    );
}

#[test]
fn centres_are_means_and_no_rows() {
    let mut sample = Rows::new(2);
    for place in 0..60 {
        let (side, off) = ((place % 3) as f32 * 10.0, (place / 3) as f32 * 0.01);
        sample.push(&[side + off, side - off], &[]).unwrap();
    }
    let means = centres(&sample, 3).unwrap();
    let mut found: Vec<f32> = (0..3).map(|row| means.dense(row)[0]).collect();
    found.sort_by(f32::total_cmp);
    for (found, side) in found.iter().zip([0.0, 10.0, 20.0]) {
        assert!((found - side - 0.095).abs() < 1e-3, "{found}");
    }
    let refused = centres(&rows(10, 9, 4, 11), 3);
    assert_eq!(refused.err(), Some(KernelError::SparseCentres));
    let mut together = Rows::new(2);
    (0..3).for_each(|row| together.push_from(&means, row).unwrap());
    (0..60).for_each(|row| together.push_from(&sample, row).unwrap());
    let low = map(KERNELS[1], together, Choice::InOrder { given: 3 }, 3, 0.0);
    assert_eq!(low.pivots(), [0, 1, 2]);
    assert!(low.left_out() < 0.05);
}

#[test]
fn what_cannot_be_is_told() {
    let new = |kernel, rank| Pivots::new(kernel, rows(40, 4, 4, 12), Choice::Greatest, rank, 0.0);
    let told = |kernel, rank| new(kernel, rank).err();
    assert_eq!(told(Kernel::Linear, 0), Some(KernelError::NoRank));
    let more = KernelError::Rank { rank: 41, rows: 40 };
    assert_eq!(told(Kernel::Linear, 41), Some(more));
    let sigmoid = |gamma, coef0| Kernel::Sigmoid { gamma, coef0 };
    assert!(matches!(
        told(sigmoid(0.1, -1.0), 9),
        Some(KernelError::NotPositive { .. })
    ));
    let mut indefinite = new(sigmoid(2.0, 0.0), 40).unwrap();
    let end = loop {
        match indefinite.step() {
            Ok(false) => {}
            other => break other,
        }
    };
    assert!(matches!(end, Err(KernelError::NotPositive { residual, .. }) if residual < -1e-3));
    let steep = KernelSpec::new(KernelKind::Polynomial, Some(1e6), 32, 0.0).unwrap();
    let refused = told(steep.kernel(1.0).unwrap(), 9);
    assert!(matches!(refused, Some(KernelError::NotFinite { .. })));
    let mut nothing = Rows::new(2);
    nothing.push(&[0.0, 0.0], &[]).unwrap();
    let zero = Pivots::new(Kernel::Linear, nothing, Choice::Greatest, 1, 0.0).err();
    assert_eq!(zero, Some(KernelError::Zero));
}

/// Whole numbers around some day since 1970, and behind them a column that says little.
fn days(count: usize, width: usize) -> Rows {
    let mut random = Random::new(3, Stream::Trainer);
    let mut days = Rows::new(width);
    for _ in 0..count {
        let row: Vec<f32> = (0..width)
            .map(|_| 20_454.0 + random.below(600) as f32)
            .collect();
        days.push(&row, &[]).unwrap();
    }
    days
}

#[test]
fn kernel_values_of_rows_far_from_0_are_right_in_32_bits_and_in_64() {
    for gamma in [1e-6, 1e-4, 1.0] {
        let kernel = Kernel::Rbf { gamma };
        let (landmarks, others) = (days(45, 3), days(30, 3));
        let all = Landmarks::new(landmarks).unwrap();
        let mut narrow = vec![0.0f32; 45 * 30];
        let mut wide = vec![0.0f64; 45 * 30];
        let level = Level::best();
        all.kernel_values(&kernel, level, &others, 0, &mut narrow);
        all.wide_values(&kernel, level, (&others, 0), &mut wide);
        for (at, (narrow, wide)) in narrow.iter().zip(&wide).enumerate() {
            let (x, z) = (full(&others, at / 45, 3), full(all.rows(), at % 45, 3));
            let right = exact(&kernel, &x, &z);
            assert!((wide - right).abs() <= 1e-15, "{wide} {right}");
            assert!(
                (f64::from(*narrow) - right).abs() <= 2e-6,
                "{narrow} {right}"
            );
        }
    }
}

#[test]
fn values_in_64_bits_are_those_of_the_definition() {
    for kernel in KERNELS {
        for width in [0, 3, 20] {
            let (landmarks, others) = (rows(37, 20, width, 1), rows(9, 20, width, 2));
            let all = Landmarks::new(landmarks).unwrap();
            let mut found = vec![0.0; 37 * 9];
            all.wide_values(&kernel, Level::best(), (&others, 0), &mut found);
            for (at, found) in found.iter().enumerate() {
                let (x, z) = (full(&others, at / 37, 20), full(all.rows(), at % 37, 20));
                let right = exact(&kernel, &x, &z);
                let most = 1e-14 * right.abs().max(1.0);
                assert!((found - right).abs() <= most, "{kernel:?} {found} {right}");
            }
        }
    }
}

/// A decision does not hang on which rows are decided with it, whether they are multiplied as matrices or not.
#[test]
fn one_row_is_decided_as_many_are() {
    let kernels = KERNELS.iter().copied().chain([
        Kernel::Rbf { gamma: 0.5 },
        Kernel::Rbf { gamma: 1e3 },
        Kernel::Sigmoid {
            gamma: 0.1,
            coef0: 0.5,
        },
    ]);
    for kernel in kernels {
        for (features, width) in [(20, 20), (20, 3), (300, 300)] {
            let (landmarks, others) =
                (rows(530, features, width, 1), rows(250, features, width, 2));
            let factors = (0..530).map(|at| f64::from(at % 7) - 3.0).collect();
            let machine = Expansion::new(kernel, landmarks, factors, vec![0.25]);
            let machine = machine.unwrap().unwrap();
            let (mut room, mut all, mut one) = (Room::default(), Vec::new(), Vec::new());
            machine.decide(&others, &mut room, &mut all).unwrap();
            for row in [0, 5, 6, 239, 240, 249] {
                let mut own = Rows::new(width);
                own.push_from(&others, row).unwrap();
                machine.decide(&own, &mut room, &mut one).unwrap();
                assert_eq!(
                    one[0].to_bits(),
                    all[row].to_bits(),
                    "{kernel:?} {width} {row}"
                );
            }
        }
    }
}

/// Distances that are made of products lose what is counted at most, up to the largest squares for which they are.
#[test]
fn distances_of_products_are_off_by_what_is_counted_at_most() {
    for times in [0.01, 0.5, 1.0, 1.5, 4.0] {
        let all = rows(60, 12, 12, 3);
        let most = (0..60).map(|row| all.wide_square(row)).fold(0.0, f64::max);
        let kernel = Kernel::Rbf {
            gamma: 16.0 * times / most,
        };
        let mut rounding = ValueRounding::new(kernel, 0.0).of_decisions();
        (0..60).for_each(|row| {
            rounding.take((&all, row), all.wide_square(row));
        });
        let mut others = rows(40, 12, 12, 4);
        others.push(&[100.0; 12], &[]).unwrap();
        (0..20).for_each(|row| others.push_from(&all, row).unwrap());
        // each landmark by itself, as if it were a machine of its own
        let factors = (0..60 * 60)
            .map(|at| f64::from(u8::from(at % 61 == 0)))
            .collect();
        let machine = Expansion::new(kernel, all, factors, vec![0.0; 60]);
        let machine = machine.unwrap().unwrap();
        let mut found = Vec::new();
        machine
            .decide(&others, &mut Room::default(), &mut found)
            .unwrap();
        for (at, found) in found.iter().enumerate() {
            let (x, z) = (
                full(&others, at / 60, 12),
                full(machine.landmarks(), at % 60, 12),
            );
            let off = (found - exact(&kernel, &x, &z)).abs();
            assert!(
                off <= rounding.value_off(),
                "{times}: {off} {}",
                rounding.value_off()
            );
        }
    }
}

#[test]
fn days_since_1970_have_an_inner_product_for_every_gamma() {
    for gamma in [1e-8, 1e-6, 1e-4, 1e-2, 1.0] {
        let low = map(
            Kernel::Rbf { gamma },
            days(200, 2),
            Choice::Greatest,
            60,
            0.0,
        );
        let (lower, rank) = (low.lower(), low.rank());
        let anew = low.span_anew(0.0).unwrap().unwrap().lower;
        for (at, (one, other)) in lower.iter().zip(anew.iter()).enumerate() {
            assert!(
                (one - other).abs() <= 1e-9,
                "{gamma} {at} of {rank}: {one} {other}"
            );
        }
    }
}

#[test]
fn entries_that_no_landmark_has_count_for_the_distance() {
    let mut far = Rows::new(2);
    far.push(&[0.0, 0.0], &[[7, 3.0f32.to_bits()]]).unwrap();
    let all = Landmarks::new(rows(5, 2, 2, 1)).unwrap();
    let kernel = Kernel::Rbf { gamma: 0.1 };
    let (mut narrow, mut wide) = ([0.0f32; 5], [0.0f64; 5]);
    all.kernel_values(&kernel, Level::best(), &far, 0, &mut narrow);
    all.wide_values(&kernel, Level::best(), (&far, 0), &mut wide);
    for (narrow, wide) in narrow.iter().zip(wide) {
        assert!(wide < 0.41 && (f64::from(*narrow) - wide).abs() < 1e-6);
    }
}

/// Whole numbers far from 0, with whole factors: decisions of which hardly a digit is left, beside what they are.
#[test]
fn decisions_are_off_by_what_is_counted_at_most() {
    let kernel = Kernel::Polynomial {
        gamma: 1.0,
        degree: 2,
        coef0: 1.0,
    };
    let mut random = Random::new(11, Stream::Trainer);
    let mut worst = 0.0f64;
    for width in [1, 3, 20] {
        let mut all = Rows::new(width);
        for _ in 0..40 {
            let row: Vec<f32> = (0..width)
                .map(|_| (1_000_000 + random.below(100)) as f32)
                .collect();
            all.push(&row, &[]).unwrap();
        }
        let factors: Vec<i128> = (0..40)
            .map(|j| random.below(1000) as i128 * if j % 2 == 0 { 1 } else { -1 })
            .collect();
        let mut rounding = ValueRounding::new(kernel, 0.0);
        for (j, factor) in factors.iter().enumerate() {
            rounding.reach += rounding.take((&all, j), all.wide_square(j)) * (*factor as f64).abs();
        }
        let wide = factors.iter().map(|factor| *factor as f64).collect();
        let machine = Expansion::new(kernel, all, wide, vec![0.0]);
        let machine = machine.unwrap().unwrap();
        let (all, mut decisions) = (machine.landmarks(), Vec::new());
        machine
            .decide(all, &mut Room::default(), &mut decisions)
            .unwrap();
        for (at, decision) in decisions.iter().enumerate() {
            let whole = |row: usize| all.dense(row).iter().map(|x| *x as i128);
            let value = |j: usize| {
                let product: i128 = whole(at).zip(whole(j)).map(|(x, z)| x * z).sum();
                (product + 1).pow(2)
            };
            let exact: i128 = factors.iter().enumerate().map(|(j, a)| a * value(j)).sum();
            let off = rounding.off_at((all, at), rounding.length(all.wide_square(at)));
            let lost = (decision - exact as f64).abs();
            assert!(lost <= off, "{width}: {decision} and {exact}, {off}");
            worst = worst.max(lost / off);
        }
    }
    assert!(worst > 1e-3, "{worst}");
}
