//! How firmly rows are held at a bound, in grades: what is kept of more rows than there is room for.
//!
//! Grade 0 is a row that some head has between its bounds, or that will move. The others are at a bound, in the order of
//! |gradient|, their distance from the margin. Grades are steps of half a power of two, so the best rows are found by a
//! count of words for each grade, without sorting.

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
