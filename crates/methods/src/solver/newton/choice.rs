//! Which trainings Newton's method solves, or begins.
//!
//! The cost of Newton's method and of coordinate descent is estimated in values gone through, from what is known when the last row has been
//! read: rows, features, values of a row, |x|^2, heads and C. The tests have the measured times. The estimate cannot see everything: over
//! columns with long tails coordinate descent may still take long.

use crate::objective::heads::HeadSpec;
use crate::objective::problem::{Problem, Proximal};
use crate::objective::solver_choice::{Indexed, Policy, SolverChoice};
use crate::rows::facts::Facts;
use crate::solver::newton::head::{Newton, MOST_PASSES};
use crate::solver::newton::pace::Costs;
use crate::solver::newton::sums::meet;
use crate::solver::visit::visitor::between_sides;

/// Visits of a row that coordinate descent is taken to make, and how many more with each power of ten of C |x|^2.
const VISITS: f64 = 6.0;
const VISITS_PER_DECADE: f64 = 1.5;
/// The same where |x|^2 is more than so many times the values of a row: columns that large are as they came.
const LARGE: f64 = 10.0;
const VISITS_OF_LARGE: f64 = 100.0;
/// What a visit costs beside the words of its row, and a row in a pass of Newton's method.
const BESIDE_VISIT: f64 = 70.0;
const BESIDE_PASS: f64 = 16.0;
/// Heads side by side take this part of what each takes by itself.
const SIDE_BY_SIDE: f64 = 0.7;
/// Rows for each feature: with fewer a Hessian says too little; with as many as these a part of them says enough.
const LEAST_ROWS: f64 = 20.0;
const MANY_ROWS: f64 = 1000.0;
/// Passes of Newton's method, where rows are many and else; and Hessians, where rows have labels and where they have numbers to predict.
const PASSES_OF_MANY: f64 = 6.0;
const PASSES: f64 = 10.0;
const FACTORS: f64 = 4.0;
const FACTORS_OF_NUMBERS: f64 = 2.0;
/// Where P is a quadratic: one Hessian, of all rows, whose products take half as long as those of a part, and a pass that says what the
/// step behind it has found. With few rows for a feature, coordinate descent makes more visits of each.
const PASSES_OF_QUADRATIC: f64 = 2.0;
const FACTORS_OF_QUADRATIC: f64 = 0.5;
const VISITS_OF_FEW: f64 = 1.8;

/// Whether Newton's method is to solve these heads over these rows, of which so many are trained with one another.
pub fn by_newton(problem: &Problem, facts: &Facts, specs: &[HeadSpec], together: usize) -> bool {
    // rows that are all in the cache are one block, unless more are asked for
    let one_block =
        together >= facts.rows && problem.block_newton() && problem.block_count().unwrap_or(1) == 1;
    let can = problem.loss().is_parabola()
        && (problem.policy() == Policy::Cached || one_block)
        && !specs.is_empty();
    can && match problem.solver() {
        _ if one_block => true,
        SolverChoice::Auto => {
            let all_c = specs.iter().map(|spec| spec.c);
            (together >= facts.rows || as_they_came(facts, &Costs::new(facts)))
                && problem.truncation().is_none()
                && leaves_open(problem, specs)
                && pays(facts, problem.trainers(), all_c)
        }
        SolverChoice::Newton | SolverChoice::Indexed(Indexed::Newton) => true,
        _ => false,
    }
}

/// Whether nothing speaks of coordinate descent: a word on the shift, fewer passes than Newton's method may need, or heads
/// that are to judge a C, which coordinate descent trains roughly and side by side.
fn leaves_open(problem: &Problem, specs: &[HeadSpec]) -> bool {
    problem.proximal() == Proximal::Auto
        && problem.max_passes() >= MOST_PASSES
        && specs.iter().all(|spec| spec.tolerance.is_none())
}

/// Whether it is asked for what it cannot do: it minimizes losses that are parabolas all the way down alone.
pub fn refuses(problem: &Problem) -> bool {
    let newton = matches!(
        problem.solver(),
        SolverChoice::Newton | SolverChoice::Indexed(Indexed::Newton)
    );
    (newton || problem.block_newton()) && !problem.loss().is_parabola()
}

/// Whether Newton's method is expected to be faster than coordinate descent for heads with these C.
fn pays(facts: &Facts, trainers: usize, all_c: impl ExactSizeIterator<Item = f64>) -> bool {
    let costs = Costs::new(facts);
    if costs.by_products {
        return false;
    }
    let (stored, length) = (costs.rows.max(1.0), costs.length as f64);
    // a row with a number to predict is stored on both of its sides, which coordinate descent visits each
    let between = between_sides(facts);
    let sides = if between.is_some() { 2.0 } else { 1.0 };
    let (rows, words) = (stored / sides, costs.pass / stored);
    let heads = all_c.len();
    let visits = all_c.map(|c| visits(facts, &costs, c)).sum::<f64>() / heads.max(1) as f64;
    let faster = match heads {
        1 => trainers.max(1) as f64,
        _ => SIDE_BY_SIDE.recip(),
    };
    let descent = sides * visits * (words + BESIDE_VISIT) / faster;
    let is_quadratic = between.is_some_and(meet);
    let (passes, share) = match rows >= MANY_ROWS * length {
        _ if is_quadratic => (PASSES_OF_QUADRATIC, 1.0),
        true => (PASSES_OF_MANY, f64::from(costs.first_share())),
        false => (PASSES, 1.0),
    };
    let factors = match between {
        _ if is_quadratic => FACTORS_OF_QUADRATIC,
        Some(_) => FACTORS_OF_NUMBERS,
        None => FACTORS,
    };
    let hessian = costs.row / share + costs.factor / rows;
    let newton = passes * (words + BESIDE_PASS) + factors * hessian;
    match rows >= LEAST_ROWS * length {
        true => newton <= descent,
        false => is_quadratic && newton <= VISITS_OF_FEW * descent,
    }
}

/// Whether values are so large that columns are as they came. Of rows that stream, which a pass of Newton's method reads
/// again, only these are worth it: the dual cached loops take more passes over them, and else fewer.
fn as_they_came(facts: &Facts, costs: &Costs) -> bool {
    facts.mean_q > LARGE * costs.values
}

/// Visits of a row that coordinate descent is expected to make.
fn visits(facts: &Facts, costs: &Costs, c: f64) -> f64 {
    match as_they_came(facts, costs) {
        true => VISITS_OF_LARGE,
        false => VISITS + VISITS_PER_DECADE * (1.0 + c * facts.mean_q).log10(),
    }
}

/// Heads solved at a time: as many as their matrices fit, at least one. Of several threads each has one for every head too.
pub fn at_a_time(costs: &Costs, threads: usize) -> usize {
    const BYTES: usize = 24 << 20;
    let matrices = match threads {
        1 => 1,
        threads => 1 + threads,
    };
    (BYTES / (matrices * Newton::bytes(costs))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::loss::Loss;

    /// What was measured of sets: rows, dense features, features, words of a row, |x|^2 and heads; seconds of coordinate descent
    /// over those of Newton's method at C = .01, 1 and 100, to a gap of 1e-3 or until two seconds are over.
    const MEASURED: &str = "
        a9a as it is                  |  32561    0  123   35    13.9  1 |  0.79  0.80  2.43
        a9a standardized              |  32561  123  123  128   123.0  1 |  0.38  0.35  0.37
        adult as it is                |  32561    0  108   32 4.72e10  1 |  1.46  2.46  3.32
        adult standardized            |  32561  108  108  116   108.0  1 |  0.38  0.43  0.51
        cover, 581012 rows            | 581012    0   54   32     4.2  1 |  1.40  1.25  0.86
        cover_2v4 as it is            | 286048   10   10   16 2.39e07  1 |  7.29  7.72  6.36
        cover_2v4 standardized        | 286048   10   10   16    10.0  1 |  2.11  1.69  2.33
        normal, 10000 x 1000          |  10000 1000 1000 1008  1000.0  1 |  0.07  0.06  0.09
        normal, 1000 x 20             |   1000   20   20   28    19.8  1 |  0.95  0.94  1.21
        normal, 20000 x 200           |  20000  200  200  208   200.0  1 |  0.31  0.36  0.39
        normal, 20000 x 50            |  20000   50   50   56    50.1  1 |  0.52  0.49  0.56
        normal, 2000 x 1000           |   2000 1000 1000 1008   999.0  1 |  0.05  0.01  0.02
        normal, 5000 x 100            |   5000  100  100  108    99.8  1 |  0.38  0.41  0.46
        normal, 5000 x 400            |   5000  400  400  408   399.0  1 |  0.14  0.17  0.18
        ijcnn1 as it is               |  49990    0   22   32     1.5  1 |  1.23  1.42  1.47
        ijcnn1 standardized           |  49990   22   22   28    22.0  1 |  1.34  1.16  1.51
        kddcup99 as it is             | 494021    0  118   31 9.78e11  1 |  9.23  5.20  5.91
        kddcup99 standardized         | 494021  116  116  124   116.0  1 |  1.22  1.79  1.77
        mnist as it is                |  60000    0  780  306 5.71e06  1 |  0.47  0.51  0.67
        mnist as it is, 10 heads      |  60000    0  780  306 5.71e06 10 |  1.00  1.00  1.00
        mnist standardized            |  60000  717  717  724   717.0  1 |  0.05  0.17  0.46
        mnist standardized, 10 heads  |  60000  717  717  724   717.0 10 |  0.35  1.00  1.00
        pixels, 4435 x 36             |   4435   36   36   44 5.99e05  1 |  3.23  3.96  6.65
        shuttle as it is              |  43500    9    9   16 5.70e04  1 | 30.34 22.04 21.30
        shuttle as it is, 7 heads     |  43500    9    9   16 5.70e04  7 | 26.98 16.90 17.95
        shuttle standardized          |  43500    9    9   16     9.0  1 |  8.05  3.85  3.92
        shuttle standardized, 7 heads |  43500    9    9   16     9.0  7 |  8.97  4.70  8.69";

    /// The same of numbers to predict, standardized sets all: rows, features and epsilon in standard deviations of the label.
    const NUMBERS: &str = "
        plane                     | 200000   50 0.0 |  2.11  3.99  2.25
        plane                     | 200000   50 0.1 |  1.75  1.90  1.70
        as cover                  | 100000   54 0.0 |  1.65  2.73  3.37
        as cover                  | 100000   54 0.1 |  2.00  2.80  3.28
        cover_2v4, column 1       | 286048    9 0.0 |  7.61  6.76  8.16
        cover_2v4, column 1       | 286048    9 0.1 |  6.07  3.21  4.16
        adult, column 1           |  32561  107 0.0 |  2.34  3.37  9.01
        adult, column 1           |  32561  107 0.1 |  1.00  1.32  1.86
        shuttle, column 1         |  43500    8 0.0 |  5.03 11.80 18.04
        diamonds                  |  53940   26 0.0 |  3.86  3.19 20.45
        diamonds                  |  53940   26 0.1 |  2.90  2.04  6.63
        normal, 10000 x 1000      |  10000 1000 0.0 |  0.56  0.56  0.83
        normal, 10000 x 1000      |  10000 1000 0.1 |  0.40  0.54  0.66
        normal, 1000 x 20         |   1000   20 0.0 |  3.20  4.75  6.52
        normal, 1000 x 20         |   1000   20 0.1 |  2.21  2.45  2.88
        normal, 20000 x 200       |  20000  200 0.0 |  1.23  1.61  2.02
        normal, 20000 x 200       |  20000  200 0.1 |  0.83  0.89  0.88
        normal, 20000 x 50        |  20000   50 0.0 |  2.11  3.24  3.97
        normal, 20000 x 50        |  20000   50 0.1 |  1.67  1.86  1.93
        normal, 2000 x 1000       |   2000 1000 0.0 |  0.97  1.23  1.70
        normal, 2000 x 1000       |   2000 1000 0.1 |  0.15  0.24  0.35
        normal, 5000 x 100        |   5000  100 0.0 |  2.25  2.65  3.82
        normal, 5000 x 100        |   5000  100 0.1 |  1.27  1.75  1.73
        normal, 5000 x 400        |   5000  400 0.0 |  0.82  1.11  1.61
        normal, 5000 x 400        |   5000  400 0.1 |  0.67  0.96  1.04";
    /// Of a label that other columns all but determine Newton's method may not close the gap: coordinate descent goes on from where it stands.
    const NOT_CLOSED: &str = "
        shuttle, column 1         |  43500    8 0.1 |  2.50  1.41  0.64";

    /// The name of a set, the numbers that are known of it, and those behind.
    fn cells(line: &str) -> (&str, Vec<f64>, Vec<f64>) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let numbers = |cell: &str| -> Vec<f64> {
            let numbers = cell.split_whitespace();
            numbers.map(|number| number.parse().unwrap()).collect()
        };
        (cells[0], numbers(cells[1]), numbers(cells[2]))
    }

    /// Its lines: a set's name, what is known of it, its heads, and how many times as fast Newton's method is at each C.
    fn measured() -> impl Iterator<Item = (&'static str, Facts, usize, Vec<f64>)> {
        MEASURED.trim_start().lines().map(|line| {
            let (name, known, faster) = cells(line);
            let [rows, dense, features, words, mean_q, heads] = known[..] else {
                panic!("six numbers: {line}");
            };
            let facts = Facts {
                rows: rows as usize,
                dense: dense as usize,
                features: features as usize,
                mean_row_words: words as usize,
                stored_row_words: words as usize,
                mean_q,
                ..Facts::default()
            };
            (name, facts, heads as usize, faster)
        })
    }

    /// The same of numbers to predict.
    fn measured_of_numbers(
        lines: &'static str,
    ) -> impl Iterator<Item = (&'static str, Facts, usize, Vec<f64>)> {
        lines.trim_start().lines().map(|line| {
            let (name, known, faster) = cells(line);
            let [rows, features, epsilon] = known[..] else {
                panic!("three numbers: {line}");
            };
            // the header, the offset and the padding
            let words = (features as usize + 7).next_multiple_of(4);
            let facts = Facts {
                rows: 2 * rows as usize,
                dense: features as usize,
                features: features as usize,
                mean_row_words: words,
                stored_row_words: words,
                mean_q: features,
                epsilon: Some(epsilon),
                ..Facts::default()
            };
            (name, facts, 1, faster)
        })
    }

    #[test]
    fn it_leads_where_it_was_measured_to_be_faster() {
        assert_eq!(measured().count(), 27);
        assert_eq!(measured_of_numbers(NUMBERS).count(), 25);
        for (name, facts, heads, faster) in measured().chain(measured_of_numbers(NUMBERS)) {
            assert_eq!(faster.len(), 3);
            for (c, faster) in [0.01, 1.0, 100.0].into_iter().zip(faster) {
                let leads = pays(&facts, 1, std::iter::repeat_n(c, heads));
                assert!(
                    leads || faster <= 1.5,
                    "{name} at {c}: {faster} times as fast"
                );
                assert!(
                    !leads || faster >= 0.8,
                    "{name} at {c}: {faster} times as fast"
                );
            }
        }
    }

    #[test]
    fn it_leads_where_it_was_measured_not_to_close_the_gap() {
        for (name, facts, heads, faster) in measured_of_numbers(NOT_CLOSED) {
            let leads = |c| pays(&facts, 1, std::iter::repeat_n(c, heads));
            assert!(
                faster[0] > 1.0 && [0.01, 1.0, 100.0].map(leads) == [true; 3],
                "{name}"
            );
        }
    }

    #[test]
    fn of_rows_that_stream_those_with_columns_as_they_came_are_led() {
        let problem = Problem::new(Loss::SquaredHinge, 1.0, 1e-3).expect("valid");
        for (name, facts, heads, _) in measured() {
            let specs = vec![HeadSpec::binary(1.0); heads];
            let leads = |together| by_newton(&problem, &facts, &specs, together);
            let large = facts.mean_q > LARGE * facts.mean_row_words as f64;
            assert_eq!(leads(facts.rows / 10), large && leads(facts.rows), "{name}");
        }
    }

    #[test]
    fn trainers_side_by_side_count() {
        let facts = Facts {
            rows: 50_000,
            dense: 22,
            features: 22,
            mean_row_words: 28,
            stored_row_words: 28,
            mean_q: 22.0,
            ..Facts::default()
        };
        let leads = |trainers| pays(&facts, trainers, std::iter::once(1.0));
        assert!(leads(1) && !leads(4));
    }
}
