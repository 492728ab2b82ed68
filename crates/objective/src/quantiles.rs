//! Quantiles of targets, each predicted by a head of its own.

/// Most quantiles that are predicted together.
pub const MOST_QUANTILES: usize = 32;
/// The least quantile that there may be, and how far below 1 the largest: beyond, few rows would say anything.
pub const LEAST_QUANTILE: f64 = 1e-6;
/// What stands for all.
pub const MEDIAN: f64 = 0.5;

/// What a prediction of a quantile loses that is so far below the target: the pinball loss (Koenker and Bassett, *Regression Quantiles*,
/// Econometrica 46, 1978).
pub fn pinball(tau: f64, below: f64) -> f64 {
    tau * below.max(0.0) + (1.0 - tau) * (-below).max(0.0)
}

/// How far above the target the prediction is that stands for all, and the mean loss of all, where they are so far above it as they come:
/// predictions are sorted, which loses no more (Chernozhukov, Fernández-Val and Galichon, *Quantile and Probability Curves Without
/// Crossing*, Econometrica 78, 2010). Without quantiles there is one, and no loss.
pub fn sorted(quantiles: &[f64], above: impl Iterator<Item = f64>) -> (f64, f64) {
    let quantiles = &quantiles[..quantiles.len().min(MOST_QUANTILES)];
    let mut room = [0.0; MOST_QUANTILES];
    let all = &mut room[..quantiles.len().max(1)];
    all.iter_mut().zip(above).for_each(|(own, it)| *own = it);
    all.sort_unstable_by(f64::total_cmp);
    let each = quantiles.iter().zip(all.iter());
    let lost: f64 = each.map(|(tau, above)| pinball(*tau, -above)).sum();
    (all[middle(quantiles)], lost / all.len() as f64)
}

/// The place of the one that stands for all: the nearest to the median, of equals the first.
pub fn middle(quantiles: &[f64]) -> usize {
    nearest(quantiles, MEDIAN)
}

/// The place of the nearest to this one, of equals the first.
pub fn nearest(quantiles: &[f64], tau: f64) -> usize {
    let away = |at: &usize| (quantiles[*at] - tau).abs();
    let nearest = (0..quantiles.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
    nearest.unwrap_or(0)
}

/// The median of these numbers, which are put in another order; of two in the middle their mean. None where there are none.
pub fn median(numbers: &mut [f32]) -> Option<f64> {
    let half = numbers.len().checked_sub(1)? / 2;
    let is_even = numbers.len().is_multiple_of(2);
    let (_, lower, above) = numbers.select_nth_unstable_by(half, f32::total_cmp);
    let next = above.iter().copied().min_by(f32::total_cmp);
    let upper = next.filter(|_| is_even).unwrap_or(*lower);
    Some(0.5 * (f64::from(*lower) + f64::from(upper)))
}

/// Whether they are some that can be predicted together: ascending, each where there may be one.
pub fn are_sound(quantiles: &[f64]) -> bool {
    let range = LEAST_QUANTILE..=1.0 - LEAST_QUANTILE;
    quantiles.len() <= MOST_QUANTILES
        && quantiles.iter().all(|tau| range.contains(tau))
        && quantiles.windows(2).all(|two| two[0] < two[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_that_cross_are_sorted() {
        let crossed = [2.0, -1.0, 1.0].into_iter();
        let (above, lost) = sorted(&[0.1, 0.5, 0.9], crossed.clone());
        assert_eq!(above, 1.0);
        assert!((lost - (0.1 + 0.5 + 0.2) / 3.0).abs() < 1e-12);
        assert_eq!(sorted(&[], crossed), (2.0, 0.0));
    }

    #[test]
    fn the_middle_is_the_nearest_to_the_median() {
        assert_eq!(middle(&[0.1, 0.4, 0.7]), 1);
        assert_eq!(middle(&[0.25, 0.75]), 0);
        assert_eq!(middle(&[]), 0);
        assert_eq!(nearest(&[0.1, 0.5, 0.9], 0.8), 2);
    }

    #[test]
    fn of_an_even_count_the_median_lies_between_two() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 9.0, 3.0]), Some(3.5));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn quantiles_ascend_between_0_and_1() {
        assert!(are_sound(&[]) && are_sound(&[0.05, 0.5, 0.95]));
        for wrong in [&[0.0][..], &[1.0], &[f64::NAN], &[0.5, 0.5], &[0.5, 0.1]] {
            assert!(!are_sound(wrong), "{wrong:?}");
        }
    }
}
