//! Grades of rows, which say which rows stay if there are more than there is room for.
//!
//! Grade 0 is a row whose dual variable is between its bounds in some head, or will move. The other rows are at a bound; their grade grows
//! with |gradient|, the distance from the margin. A grade is half a power of two wide. So the rows to keep are found by counting words for
//! each grade, without sorting.

/// Steps of grades, with gradients from [`LEAST`] up by [`STEP`] each: to about 40.
pub(in crate::training) const GRADES: usize = 36;
const LEAST: f64 = 2e-4;
const STEP: f64 = std::f64::consts::SQRT_2;

/// The largest gradient of each grade but the last, ascending.
pub(in crate::training) fn margins() -> [f64; GRADES] {
    std::array::from_fn(|step| LEAST * STEP.powi(step as i32))
}

/// Words of rows by grade.
pub(in crate::training) type Words = [usize; GRADES + 1];

/// The grade below which all rows fit into so many words, and the words then left for those of the grade itself.
pub(in crate::training) fn limit(words: &Words, room: usize) -> (usize, usize) {
    let (mut limit, mut left) = (0, room);
    while limit < words.len() && words[limit] <= left {
        left -= words[limit];
        limit += 1;
    }
    (limit, left)
}
