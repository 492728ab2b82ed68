//! An interior point over rows that somebody else holds: PSVM's method; its machines are the processes that scan.
//!
//! primal     P(w, b) = 1/2 |w|^2 + C sum c L(y (<w, h> + b)), b not in the norm
//! dual       D(a) = sum p a - 1/2 d a^2, less 1/2 |sum a y h|^2, 0 <= a <= U, sum y a = 0: p, d and U are the loss's
//! conditions g = y (<w, h> + nu) - p + d a = xi - lambda, a xi = mu, (U - a) lambda = mu, w = sum a y h, sum y a = 0
//!
//! | symbol | is |
//! |---|---|
//! | h | a row, as the map of a kernel machine makes it, or as it is |
//! | a, xi, lambda | variables of a row, kept by nobody: they follow from the steps so far, which each pass tells |
//! | D | xi / a + lambda / (U - a) + d, by row |
//! | M | sum h h' / D |
//! | z | -g + mu (1 / a - 1 / (U - a)), by row, linear in mu |
//! | u | (I + M)^-1 sum y (z - y d nu) h / D, of the step |
//! | eta | sum a xi + (U - a) lambda, the surrogate gap |
//!
//! Update, two passes a step. The first sums up M, sum y z h / D, sum h / D and numbers beside them, from which u and d nu follow for every mu: of
//! a row d a = (z - y d nu - y <u, h>) / D, and of the weights d w = u. The second tries some mu at once: how far each may go before a
//! variable meets its bound, and what of eta would be left there. The one that leaves least is taken.
//! Stop: P at (w, nu), less D at a scaled down on its heavier side until sum y a = 0, is within the tolerance of P.
//!
//! What follows of a row alone is shared with the interior point over a factor: [`crate::objective::central_path`]. What differs does for a reason.
//! Corrections aim at products of each row that the step before has found, which nobody keeps here, so that some mu are tried in one scan
//! instead. For the same reason no entry of a is put at a bound at the end, and rounds of truncated losses are not for scans.
//!
//! So a row costs a product with each step so far, and p^2 / 2 for M; a row never leaves the process that scans it, and nothing is kept
//! there.
//!
//! Chang, Zhu, Wang, Bai, Li, Qiu, Cui, NIPS 2007, equations 6 to 12; there each machine keeps the variables of its rows.

pub mod head;
pub mod pass;
