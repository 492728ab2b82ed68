//! Means of a sample as landmarks: Lloyd's algorithm (k-means), for models whose landmarks must be nobody's row.
//!
//! ```text
//! minimized  sum_i |x_i - m_c(i)|² over the means m and the assignment c
//! round      c(i) = the nearest mean, by |m|² - 2 x'm; each mean becomes that of its rows, or stays where it has none
//! stop       after so many rounds, or when no row changes its mean
//! ```
//!
//! The means begin at rows of the sample that lie evenly in it, so a sample in random order begins at random ones. Of dense
//! values only: means of sparse rows are not sparse.

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory};
use crate::error::KernelError;
use crate::rows::Rows;
use crate::simd::panels::{pack, packed_len, Lines, Multiply};
use crate::simd::Level;

/// Rounds at most; later ones hardly move the means.
const ROUNDS: usize = 10;
/// Rows that are assigned together.
const AT_ONCE: usize = 256;

/// So many means of the sample; fewer where rows are fewer.
pub fn centres(sample: &Rows, count: usize) -> Result<Rows, KernelError> {
    let (rows, width) = (sample.len(), sample.width());
    if !sample.all_sparse().is_empty() || width == 0 {
        return Err(KernelError::SparseCentres);
    }
    let count = count.min(rows);
    let mut means = filled(0.0f32, count * width)?;
    for (number, mean) in means.chunks_exact_mut(width).enumerate() {
        mean.copy_from_slice(sample.dense(number * rows / count));
    }
    let mut nearest = filled(u32::MAX, rows)?;
    let mut sums = filled(0.0f64, count * width)?;
    let mut members = filled(0u64, count)?;
    let mut products = filled(0.0f32, AT_ONCE * count)?;
    let mut packed = filled(0.0f32, packed_len(count, width))?;
    for _ in 0..ROUNDS {
        let all = Lines::close(&means[..], width, count);
        pack(all, width, &mut packed, |number| number);
        if !assign(sample, (&means, &packed), &mut products, &mut nearest)? {
            break;
        }
        sums.fill(0.0);
        members.fill(0);
        for (row, mean) in nearest.iter().enumerate() {
            let mean = *mean as usize;
            members[mean] += 1;
            let sums = &mut sums[mean * width..(mean + 1) * width];
            for (sum, value) in sums.iter_mut().zip(sample.dense(row)) {
                *sum += f64::from(*value);
            }
            interrupts::worked(width);
        }
        let all = means.chunks_exact_mut(width).zip(sums.chunks_exact(width));
        for ((mean, sums), members) in all.zip(&members) {
            if *members > 0 {
                for (mean, sum) in mean.iter_mut().zip(sums) {
                    *mean = (sum / *members as f64) as f32;
                }
            }
        }
    }
    let mut found = Rows::new(width);
    for mean in means.chunks_exact(width) {
        found.push(mean, &[])?;
    }
    Ok(found)
}

/// Finds the nearest mean of each row, of the means as they are and packed; says whether any has changed.
fn assign(
    sample: &Rows,
    (means, packed): (&[f32], &[f32]),
    products: &mut [f32],
    nearest: &mut [u32],
) -> Result<bool, OutOfMemory> {
    let width = sample.width();
    let count = means.len() / width;
    let square = |mean: &[f32]| mean.iter().map(|x| x * x).sum::<f32>();
    let squares = gathered(means.chunks_exact(width).map(square))?;
    let mut changed = false;
    let dense = sample.all_dense().chunks(AT_ONCE * width);
    for (rows, nearest) in dense.zip(nearest.chunks_mut(AT_ONCE)) {
        let products = &mut products[..nearest.len() * count];
        Level::best().run(Multiply {
            rows: Lines::close(rows, width, nearest.len()),
            width,
            packed,
            others: count,
            out: Lines::close(&mut *products, count, nearest.len()),
            subtract: false,
        });
        for (products, nearest) in products.chunks_exact(count).zip(nearest) {
            let (mut best, mut least) = (0, f32::INFINITY);
            for (number, (product, square)) in products.iter().zip(&squares).enumerate() {
                let distance = square - 2.0 * product;
                if distance < least {
                    (best, least) = (number as u32, distance);
                }
            }
            changed |= *nearest != best;
            *nearest = best;
        }
        interrupts::worked(products.len() * (width / 4 + 1));
    }
    Ok(changed)
}
