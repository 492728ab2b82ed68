//! The hinge by an interior point over rows that somebody else holds: PSVM's method; its machines are the processes that scan.
//!
//! primal     P(w, b) = 1/2 |w|^2 + C sum c max(0, 1 - y (<w, h> + b)), b not in the norm
//! dual       D(a) = sum a - 1/2 |sum a y h|^2, 0 <= a <= C c, sum y a = 0
//! conditions y (<w, h> + nu) - 1 - xi + lambda = 0, a xi = mu, (C c - a) lambda = mu, w = sum a y h, sum y a = 0
//!
//! | symbol | is |
//! |---|---|
//! | h | a row, as the map of a kernel machine makes it, or as it is |
//! | a, xi, lambda | variables of a row, kept by nobody: they follow from the steps so far, which each pass tells |
//! | D | xi / a + lambda / (C c - a), by row |
//! | M | sum h h' / D |
//! | z | 1 - y (<w, h> + nu) + mu (1 / a - 1 / (C c - a)), by row, linear in mu |
//! | u | (I + M)^-1 sum y (z - y d nu) h / D, of the step |
//! | eta | sum a xi + (C c - a) lambda, the surrogate gap |
//!
//! Update, two passes a step. The first sums up M, sum y z h / D, sum h / D and numbers beside them, from which u and d nu follow for every mu: of
//! a row d a = (z - y d nu - y <u, h>) / D, and of the weights d w = u. The second tries some mu at once: how far each may go before a
//! variable meets its bound, and what of eta would be left there. The one that leaves least is taken.
//! Stop: P at (w, nu), less D at a scaled down on its heavier side until sum y a = 0, is within the tolerance of P.
//!
//! So a row costs a product with each step so far, and p^2 / 2 for M; a row never leaves the process that scans it, and nothing is kept
//! there.
//!
//! Chang, Zhu, Wang, Bai, Li, Qiu, Cui, NIPS 2007, equations 6 to 12; there each machine keeps the variables of its rows.

pub mod head;
pub mod pass;
