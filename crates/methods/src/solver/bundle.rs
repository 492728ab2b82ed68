//! The hinge by a bundle: rows near the margin are held and solved exactly, all others are known by cutting planes alone.
//!
//! primal    P(w) = 1/2 |w|^2 + C sum c max(0, 1 - y <w, x>)
//! dual      D(a, b) = sum a + sum b_j B_j - 1/2 |sum a y x + sum b_j F_j|^2,
//!           0 <= a <= C c for rows that are held, b_j >= 0, sum b_j <= 1 for the planes of the others:
//!           F_j = C sum c y x, B_j = C sum c over those of the others that are within the margin at w_j
//!
//! A plane is the others at a = C c or a = 0, and so is what planes make together with weights b: D is a dual of the whole problem.
//!
//! | symbol | is | place |
//! |---|---|---|
//! | w_b, w_t | the best weights, and the newest | `head` |
//! | w_j, theta_j | the weights at which rows were sorted in pass j, and how near the margin those are that came then | `pass` |
//! | a, b | dual variables of rows that are held, and of planes | `master` |
//!
//! Update, one pass over all rows a round: the primal along w_b to w_t, which gives the next w_b; of the rows that are not held
//! yet those within theta of the margin, at w_b + t (w_t - w_b) with the t of the round before, and one plane of the rest. Then
//! the dual over all that is known: w_t and D; by an augmented Lagrangian method, or where features are many by passes of coordinate
//! descent over the rows that are held and after each the small quadratic program of the planes.
//! Stop: (P(w_b) - D) / P(w_b) is within the tolerance.
//!
//! A free intercept is in no norm, and then sum a y + sum b_j F_j = 0 in its column ([`balance`]). A truncated loss is solved in rounds, in each
//! of which outliers are a constant ([`rounds`]).
//!
//! With no row held it is OCAS (Franc and Sonnenburg, ICML 2008), with all of them dual coordinate descent. That rows within the
//! margin are solved exactly beside what others sum up to: Wang, Yang, Chen, Liu, JMLR 20, 2019, without a certificate.

mod augmented;
mod balance;
pub(in crate::solver) mod classes;
mod descent;
pub mod head;
mod kinks;
mod known;
mod master;
pub mod pass;
mod planes;
mod rounds;
