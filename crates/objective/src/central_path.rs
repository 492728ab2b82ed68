//! Points on the central path: where the product of each dual variable, or of what is left of it to its bound, with the multiplier of that
//! bound is the same mu. An interior point begins there that begins near weights that are known.

/// The surrogate gap where it does, as a part of the weights' primal. Less, and rows whose margins are others by little take too many
/// steps back from a bound: sets of a hundredth of other rows took up to three times the steps from .03, and from 1 never more than from
/// nothing.
pub const NEAR: f64 = 1.0;

/// The part of a bound that a begins away from it at least: nearer, rounding would tell too little of the distance, or nothing.
const LEAST: f64 = 1e-9;

/// The a between 0 and `bound` of mu / a - mu / (bound - a) = `slope`, which is y f - 1 of its row, at least [`LEAST`] of the bound away from
/// either end.
pub fn central(slope: f64, bound: f64, mu: f64) -> f64 {
    let steep = slope.abs() * bound;
    let nearer = 2.0 * mu * bound / (2.0 * mu + steep + (2.0 * mu).hypot(steep));
    let nearer = nearer.max(LEAST * bound);
    match slope >= 0.0 {
        true => nearer,
        false => bound - nearer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_a_point_on_the_path_are_mu() {
        for slope in [-30.0, -1.0, -1e-3, 0.0, 1e-9, 0.5, 1e4] {
            for bound in [1e-3, 1.0, 1e3] {
                for mu in [1e-8, 1e-3, 10.0] {
                    let a = central(slope, bound, mu);
                    let found = mu / a - mu / (bound - a);
                    let scale = slope.abs() + mu / a + mu / (bound - a);
                    assert!(a > 0.0 && a < bound, "{slope} {bound} {mu}: {a}");
                    let off = a.min(bound - a) / bound;
                    if (off / LEAST - 1.0).abs() < 1e-6 {
                        // the path is nearer to the bound
                        assert!(mu / (LEAST * bound) <= slope.abs() + mu / bound);
                        continue;
                    }
                    assert!(
                        off > LEAST && (found - slope).abs() <= 1e-6 * scale,
                        "{slope} {bound} {mu}: {found}"
                    );
                }
            }
        }
    }
}
