//! A metric forest (Yen, Chang, Lin, Lin and Lin, Indexed block minimization, KDD 2013, section 4.1): which chunks have the rows near the
//! decision boundary.
//!
//! Rows are dealt into trees as they come. A node has K pivots, and below each of them the rows that are nearest to it by the angle in the
//! embedding of degree 2 (section 3.2), V(x) = [x_i x_j] of x at unit length:
//!
//!   d(x, p) = arccos <V(x), V(p)>,    <V(x), V(p)> = (<x, p> / |x| |p|)^2
//!
//! A leaf's rows are a chunk of the spool. Pivots are rows of a pool, which is drawn from all rows in the first pass, so that trees are
//! known before their rows come, and are numbers of rows of the pool.
//!
//! A query at weights w looks for rows near the hyperplane: those whose V(x) is nearest to -V(w), where <V(w), V(x)> is least. A leaf is as near as
//! its pivot. The paper ranks bins by how far the boundary between their pivot and the nearest one is, (<V(w), V(k)> - <V(w), V(q)>) / |V(k) - V(q)|, the farthest of those
//! above a leaf; but -V(w) is no row's direction, and two pivots that are close to one another may have their boundary anywhere. By the pivots alone
//! a query finds up to twice the rows in as many that it reads (bench case `forest`). Trees are asked in a random order, each for
//! its nearest leaf, then each for its second, and so on.

use crate::base::memory::{copied, filled, gathered, OutOfMemory, Room};
use crate::base::random::Random;
use crate::base::zeros::zeros;
use crate::objective::solver_choice::ForestShape;
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::filing::{ENDS_TREE, MOST_FILES, UNITS};
use crate::rows::row::Row;
use crate::simd::{Isa, Level, Real, Work};
use crate::solver::visit::visitor::score;
use crate::training::schedule::survey::Sample;

/// Rows of the pool, and their words: 4 MB.
const POOL_ROWS: usize = 2048;
const POOL_WORDS: usize = 1 << 20;
/// A leaf is not parted that is to have so few rows, or has so few of the pool.
const LEAF_ROWS: usize = 64;
const LEAF_POOL_ROWS: usize = 2;

/// Rows drawn from all of them.
struct Pool {
    words: Vec<u32>,
    starts: Vec<u32>,
    /// |x|^2 of each, intercept counted in.
    squares: Vec<f32>,
    dense: usize,
    intercept: f64,
}

impl Pool {
    fn row(&self, number: u16) -> Row<'_> {
        Row::new(
            &self.words[self.starts[usize::from(number)] as usize..],
            self.dense,
        )
    }

    fn len(&self) -> usize {
        self.starts.len()
    }

    /// <x, p>^2 / |p|^2 of row p of the pool, for x laid out.
    #[inline(always)]
    fn along<K: Isa, T: Real>(&self, number: u16, laid: &[T]) -> f32 {
        let square = self.squares[usize::from(number)];
        let product = score::<K, T>(&self.row(number), laid, self.dense, self.intercept);
        match square > 0.0 {
            true => (product * product) as f32 / square,
            false => 0.0,
        }
    }
}

/// What lies below a pivot.
#[derive(Clone, Copy)]
enum Below {
    Node(u32),
    Leaf(u32),
}

#[derive(Clone, Copy)]
struct Bin {
    pivot: u16,
    below: Below,
}

struct Tree {
    /// None where it is one leaf.
    root: Option<u32>,
    /// Its leaves are numbered from here on, up to those of the next tree.
    leaves: u32,
}

/// The tree whose rows come.
#[derive(Default)]
struct Filling {
    rows: usize,
    words: usize,
}

pub(in crate::training) struct Forest {
    shape: ForestShape,
    random: Random,
    level: Level,
    pool: Pool,
    trees: Vec<Tree>,
    /// By node, the first of its bins, and how many it has.
    nodes: Vec<(u32, u16)>,
    bins: Vec<Bin>,
    /// The pivot of each leaf; none of a tree that is one leaf.
    leaves: Vec<Option<u16>>,
    filling: Filling,
    /// Of a tree: rows, words and leaves at most.
    most_rows: usize,
    most_words: usize,
    most_leaves: usize,
    /// The leaf of each chunk.
    of_unit: Vec<u32>,
    /// A row laid out, and zeros between rows.
    laid: Vec<f32>,
}

/// Rows of a leaf to be, by numbers of the pool, and the bin that leads to it.
struct Portion {
    rows: Vec<u16>,
    bin: Option<usize>,
    whole: bool,
}

/// The rows nearest to each of some pivots, by numbers of the pool.
type Parts = Vec<(u16, Vec<u16>)>;

/// A sample that a forest's pool is made of: as many rows as there is room for.
pub(in crate::training) fn pool_sample(facts: &Facts) -> Sample {
    Sample::of(facts, POOL_ROWS, POOL_WORDS)
}

impl Forest {
    /// Of rows drawn from all. A tree has no more than so many words.
    pub(in crate::training) fn new(
        shape: ForestShape,
        sample: Sample,
        (facts, intercept): (&Facts, bool),
        most_words: usize,
        random: Random,
    ) -> Result<Self, OutOfMemory> {
        let intercept = if intercept { 1.0 } else { 0.0 };
        let words = sample.into_words();
        let (mut starts, mut squares, mut start) = (Vec::new(), Vec::new(), 0);
        for row in Batch::new(&words, facts.dense).take(usize::from(u16::MAX)) {
            starts.room(1)?.push(start as u32);
            squares.room(1)?.push(row.q() + intercept as f32);
            start += row.words().len();
        }
        let rows = (most_words / facts.stored_row_words.max(1)).max(1);
        let most_rows = (shape.tree_size as usize).clamp(1, rows);
        let trees = facts.rows.div_ceil(most_rows).max(1);
        Ok(Self {
            shape,
            random,
            level: Level::best(),
            pool: Pool {
                words,
                starts,
                squares,
                dense: facts.dense,
                intercept,
            },
            trees: Vec::new(),
            nodes: Vec::new(),
            bins: Vec::new(),
            leaves: Vec::new(),
            filling: Filling::default(),
            most_rows,
            most_words,
            // half of the chunks that there may be: leaves with many words have several
            most_leaves: (UNITS / 2 / trees).clamp(1, MOST_FILES),
            of_unit: Vec::new(),
            laid: zeros(facts.features + 1)?,
        })
    }

    /// The file of a row within its tree, and whether the tree ends with it.
    pub(in crate::training) fn answer(&mut self, row: &Row<'_>) -> Result<u16, OutOfMemory> {
        if self.filling.rows == 0 {
            self.grow()?;
        }
        let Some(tree) = self.trees.last() else {
            return Ok(0);
        };
        let (root, first) = (tree.root, tree.leaves);
        let leaf = match root {
            Some(root) => self.leaf_of(row, root),
            None => first,
        };
        self.filling.rows += 1;
        self.filling.words += row.words().len();
        let is_full = self.filling.rows >= self.most_rows || self.filling.words >= self.most_words;
        if is_full {
            self.filling = Filling::default();
        }
        let ends = if is_full { ENDS_TREE } else { 0 };
        Ok((leaf - first) as u16 | ends)
    }

    /// The chunk into which the row came whose answer this was.
    pub(in crate::training) fn note_unit(
        &mut self,
        unit: usize,
        answer: u16,
    ) -> Result<(), OutOfMemory> {
        let first = self.trees.last().map_or(0, |tree| tree.leaves);
        let more = (unit + 1).saturating_sub(self.of_unit.len());
        self.of_unit.room(more)?;
        self.of_unit.resize(self.of_unit.len() + more, 0);
        self.of_unit[unit] = first + u32::from(answer & !ENDS_TREE);
        Ok(())
    }

    /// Which leaf of the tree with this root a row belongs to.
    fn leaf_of(&mut self, row: &Row<'_>, root: u32) -> u32 {
        lay_out(&mut self.laid, row, self.pool.intercept);
        let mut node = root;
        let leaf = loop {
            let (first, count) = self.nodes[node as usize];
            let bins = &self.bins[first as usize..][..usize::from(count)];
            let nearest = self.level.run(Nearest {
                pool: &self.pool,
                laid: &self.laid,
                pivots: bins.iter().map(|bin| bin.pivot),
            });
            match bins[nearest].below {
                Below::Node(next) => node = next,
                Below::Leaf(leaf) => break leaf,
            }
        };
        clear(&mut self.laid, row);
        leaf
    }

    /// Draws the pivots of the next tree.
    fn grow(&mut self) -> Result<(), OutOfMemory> {
        let all = gathered(0..self.pool.len() as u16)?;
        let mut portions = Vec::new();
        portions.room(1)?.push(Portion {
            rows: all,
            bin: None,
            whole: false,
        });
        let mut root = None;
        while let Some(at) = self.largest(&portions) {
            let Some(parts) = self.part(&portions[at].rows)? else {
                portions[at].whole = true;
                continue;
            };
            let node = self.nodes.len() as u32;
            let parted = portions.swap_remove(at);
            match parted.bin {
                Some(bin) => self.bins[bin].below = Below::Node(node),
                None => root = Some(node),
            }
            let first = self.bins.len();
            for (pivot, rows) in parts {
                let bin = self.bins.len();
                // known when the tree is
                let below = Below::Leaf(0);
                self.bins.room(1)?.push(Bin { pivot, below });
                portions.room(1)?.push(Portion {
                    rows,
                    bin: Some(bin),
                    whole: false,
                });
            }
            let count = (self.bins.len() - first) as u16;
            self.nodes.room(1)?.push((first as u32, count));
        }
        let leaves = self.leaves.len() as u32;
        self.leaves.room(portions.len())?;
        for portion in &portions {
            let number = self.leaves.len() as u32;
            let bin = portion.bin.map(|bin| &mut self.bins[bin]);
            self.leaves.push(bin.as_ref().map(|bin| bin.pivot));
            if let Some(bin) = bin {
                bin.below = Below::Leaf(number);
            }
        }
        self.trees.room(1)?.push(Tree { root, leaves });
        Ok(())
    }

    /// The one of the leaves to be that is to have the most rows, if it is to be parted.
    fn largest(&self, portions: &[Portion]) -> Option<usize> {
        let may = portions.len() + self.shape.tree_width as usize <= self.most_leaves;
        let rows_for_each = self.most_rows as f64 / self.pool.len().max(1) as f64;
        let least = (LEAF_ROWS as f64 / rows_for_each).max(LEAF_POOL_ROWS as f64);
        let parted = portions.iter().enumerate();
        let parted = parted.filter(|(_, it)| may && !it.whole && it.rows.len() as f64 > least);
        parted.max_by_key(|(_, it)| it.rows.len()).map(|it| it.0)
    }

    /// Draws pivots from these rows, and gives each the rows that are nearest to it. None where one gets all.
    fn part(&mut self, rows: &[u16]) -> Result<Option<Parts>, OutOfMemory> {
        let mut drawn = copied(rows)?;
        self.random.shuffle(&mut drawn);
        drawn.truncate(self.shape.tree_width as usize);
        let mut parts = Vec::new();
        for pivot in &drawn {
            parts.room(1)?.push((*pivot, Vec::new()));
        }
        for number in rows {
            let row = self.pool.row(*number);
            lay_out(&mut self.laid, &row, self.pool.intercept);
            let nearest = self.level.run(Nearest {
                pool: &self.pool,
                laid: &self.laid,
                pivots: drawn.iter().copied(),
            });
            clear(&mut self.laid, &row);
            parts[nearest].1.room(1)?.push(*number);
        }
        parts.retain(|(_, rows)| !rows.is_empty());
        Ok((parts.len() > 1).then_some(parts))
    }

    /// The chunks in the order in which a query at these weights asks for them.
    pub(in crate::training) fn ranked<T: Real>(
        &mut self,
        weights: &[T],
    ) -> Result<Vec<u16>, OutOfMemory> {
        let near = self.near(weights)?;
        let mut order = gathered(0..self.trees.len())?;
        self.random.shuffle(&mut order);
        // by leaf: its rank in its tree, and the place of that tree
        let mut keys = filled((0u32, 0u32), self.leaves.len())?;
        for (place, tree) in order.into_iter().zip(0u32..) {
            let first = self.trees[place].leaves as usize;
            let next = self.trees.get(place + 1);
            let next = next.map_or(self.leaves.len(), |tree| tree.leaves as usize);
            let mut leaves = gathered(first..next)?;
            leaves.sort_by(|a, b| near[*a].total_cmp(&near[*b]));
            for (leaf, rank) in leaves.into_iter().zip(0..) {
                keys[leaf] = (rank, tree);
            }
        }
        let mut units = gathered(0..self.of_unit.len() as u16)?;
        units.sort_by_key(|unit| keys[self.of_unit[usize::from(*unit)] as usize]);
        Ok(units)
    }

    /// By leaf, <V(w), V(p)> |w|^2 of its pivot.
    fn near<T: Real>(&self, weights: &[T]) -> Result<Vec<f32>, OutOfMemory> {
        let mut along = zeros::<f32>(self.pool.len())?;
        for (along, number) in along.iter_mut().zip(0..) {
            let pool = &self.pool;
            let laid = weights;
            *along = self.level.run(Along { pool, laid, number });
        }
        let of_pivot = |pivot: Option<u16>| pivot.map_or(0.0, |it| along[usize::from(it)]);
        gathered(self.leaves.iter().map(|pivot| of_pivot(*pivot)))
    }
}

/// Lays a row out among zeros, the constant feature behind it.
fn lay_out(laid: &mut [f32], row: &Row<'_>, intercept: f64) {
    let dense = row.dense();
    laid[..dense.len()].copy_from_slice(dense);
    for [feature, value] in row.sparse() {
        laid[*feature as usize] = f32::from_bits(*value);
    }
    if let Some(last) = laid.last_mut() {
        *last = intercept as f32;
    }
}

/// Zeros again where a row was laid out.
fn clear(laid: &mut [f32], row: &Row<'_>) {
    laid[..row.dense().len()].fill(0.0);
    for [feature, _] in row.sparse() {
        laid[*feature as usize] = 0.0;
    }
}

/// Which of some pivots is the nearest to a row laid out.
struct Nearest<'a, P> {
    pool: &'a Pool,
    laid: &'a [f32],
    pivots: P,
}

impl<P: Iterator<Item = u16>> Work for Nearest<'_, P> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let (mut nearest, mut most) = (0, f32::NEG_INFINITY);
        for (place, pivot) in self.pivots.enumerate() {
            let along = self.pool.along::<K, f32>(pivot, self.laid);
            if along > most {
                (nearest, most) = (place, along);
            }
        }
        nearest
    }
}

/// [`Pool::along`].
struct Along<'a, T> {
    pool: &'a Pool,
    laid: &'a [T],
    number: u16,
}

impl<T: Real> Work for Along<'_, T> {
    type Output = f32;

    #[inline(always)]
    fn run<K: Isa>(self) -> f32 {
        self.pool.along::<K, T>(self.number, self.laid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Stream;
    use crate::rows::filing::Filing;
    use crate::rows::row::{parts_mut, row_words, write, RowHead};

    const ROWS: usize = 20_000;

    /// Row `number`, in a direction of its own.
    fn row(number: usize) -> (Vec<u32>, f64) {
        let angle = (number * number % 10_007) as f64;
        let length = 1.0 + (number % 7) as f64;
        let mut words = vec![0; row_words(2, 0)];
        let head = RowHead {
            offset: None,
            ordinal: number as u32,
            group: 0,
            cost: 1.0,
        };
        let dense = write(&mut words, head, 2, std::iter::empty());
        dense.copy_from_slice(&[
            ((length * angle.cos()) as f32).to_bits(),
            ((length * angle.sin()) as f32).to_bits(),
        ]);
        *parts_mut(&mut words, 2).0 = ((length * length) as f32).to_bits();
        (words, angle)
    }

    #[test]
    fn chunks_near_the_hyperplane_come_first_and_all_come() {
        let facts = Facts {
            rows: ROWS,
            features: 2,
            dense: 2,
            stored_row_words: row_words(2, 0),
            ..Facts::default()
        };
        let mut sample = pool_sample(&facts);
        for number in 0..ROWS {
            sample.take(&row(number).0, 2);
        }
        let shape = ForestShape {
            tree_size: 3000,
            ..ForestShape::USUAL
        };
        let random = Random::new(5, Stream::Forest);
        let of = (&facts, false);
        let mut forest = Forest::new(shape, sample, of, 1 << 20, random).unwrap();
        let mut filing = Filing::new(1 << 20);
        // by chunk, how far its rows are from the hyperplane, and how many they are
        let mut distances: Vec<(f64, usize)> = Vec::new();
        for number in 0..ROWS {
            let (words, angle) = row(number);
            let answer = forest.answer(&Row::new(&words, 2)).unwrap();
            let unit = usize::from(filing.file(answer, words.len()).unit);
            forest.note_unit(unit, answer).unwrap();
            distances.resize(distances.len().max(unit + 1), (0.0, 0));
            distances[unit].0 += angle.cos().abs();
            distances[unit].1 += 1;
        }
        assert_eq!(forest.trees.len(), ROWS.div_ceil(3000));
        let ranked = forest.ranked(&[3.0f32, 0.0, 0.0]).unwrap();
        let mut all = ranked.clone();
        all.sort_unstable();
        assert!(all.into_iter().map(usize::from).eq(0..filing.units()));
        let mean = |units: &[u16]| {
            let of = units.iter().map(|unit| distances[usize::from(*unit)]);
            let (sum, rows) = of.fold((0.0, 0), |all, it| (all.0 + it.0, all.1 + it.1));
            sum / rows as f64
        };
        let (near, far) = (
            &ranked[..ranked.len() / 10],
            &ranked[ranked.len() * 9 / 10..],
        );
        assert!(mean(near) < 0.1, "{}", mean(near));
        assert!(mean(far) > 0.95, "{}", mean(far));
    }
}
