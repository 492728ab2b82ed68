//! A pass over rows that somebody else holds, for a head that is solved by a bundle: what it is to sum up, and the sums over a part
//! of the rows. Both travel as bytes.
//!
//! Who scans knows no row from the pass before: which rows are held already follows from the weights and distances by which all
//! passes so far have sorted. A row that comes brings along in which planes it is.

use serde::{Deserialize, Serialize};

use crate::base::memory::{list, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::rows::row::Row;
use crate::simd::Isa;
use crate::solver::bundle::kinks::Kinks;
use crate::solver::still::{add, add_row, Numbers, Visited};

/// Passes that may sort: a row that comes has a bit for each.
pub(super) const MOST_CENTRES: usize = 64;

/// What a pass is to sum up.
#[derive(Serialize, Deserialize)]
pub(crate) struct BundlePass {
    pub(super) visited: Visited,
    /// w_b and w_t.
    pub(super) best: Numbers,
    pub(super) newest: Numbers,
    /// By what passes sort, this one last.
    #[serde(deserialize_with = "list")]
    pub(super) centres: Vec<Centre>,
    /// Words that rows may take which come.
    pub(super) room: u64,
    /// Whether rows are sorted, or only the line is looked along.
    pub(super) sorts: bool,
}

/// By what a pass sorts rows: those this near the margin, at these weights, come.
#[derive(Serialize, Deserialize)]
pub(super) struct Centre {
    pub(super) w: Numbers,
    /// Below 0 where none comes.
    pub(super) theta: f64,
}

/// Sums over a part of the rows.
#[derive(Serialize, Deserialize)]
pub(crate) struct BundleSums {
    pub(super) kinks: Kinks,
    /// The plane of the rows that are not held, and how many are in it.
    pub(super) f: Numbers,
    pub(super) b: f64,
    pub(super) in_plane: u64,
    /// Rows that take part.
    pub(super) rows: u64,
    /// Rows that come, and by row a bit for each pass at whose weights it was within the margin.
    #[serde(deserialize_with = "list")]
    pub(super) words: Vec<u32>,
    #[serde(deserialize_with = "list")]
    pub(super) within: Vec<u64>,
    /// Whether more came than there is room for: what came, and the plane, are nothing then.
    pub(super) overflows: bool,
}

/// Where a row belongs.
enum Sorted {
    /// It was near the margin in a pass before.
    Held,
    Comes(u64),
    InPlane,
    Beyond,
}

impl BundlePass {
    /// Whether it fits rows with so many features and groups: what came from elsewhere may not.
    pub(crate) fn fits(&self, features: usize, groups: usize) -> bool {
        let fits = |weights: &Numbers| weights.0.len() == features + 1;
        let centres = self.centres.iter().all(|centre| fits(&centre.w));
        centres
            && (1..=MOST_CENTRES).contains(&self.centres.len())
            && fits(&self.best)
            && fits(&self.newest)
            && self.visited.signs.len() >= groups
    }

    /// Sums over no rows as yet.
    pub(crate) fn begin(&self) -> Result<BundleSums, OutOfMemory> {
        Ok(BundleSums {
            kinks: Kinks::new()?,
            f: Numbers(zeros(self.best.0.len())?),
            b: 0.0,
            in_plane: 0,
            rows: 0,
            words: Vec::new(),
            within: Vec::new(),
            overflows: false,
        })
    }

    /// Adds a row.
    #[inline(always)]
    pub(crate) fn visit<K: Isa>(&self, all: &mut BundleSums, row: &Row<'_>) {
        let visited = &self.visited;
        let (y, cost) = visited.side(row);
        if y == 0.0 {
            return;
        }
        all.rows += 1;
        let at = y * visited.score::<K>(row, &self.best.0);
        let to = y * visited.score::<K>(row, &self.newest.0);
        all.kinks.add(cost, at, to - at);
        if !self.sorts {
            return;
        }
        match self.sort::<K>(row, y) {
            Sorted::Held | Sorted::Beyond => {}
            Sorted::Comes(within) => all.keep(row, within, self.room),
            Sorted::InPlane => {
                let by = visited.c * cost;
                all.in_plane += 1;
                all.b += by;
                add_row::<K>(&mut all.f.0, by * y, row, visited.intercept);
            }
        }
    }

    #[inline(always)]
    fn sort<K: Isa>(&self, row: &Row<'_>, y: f64) -> Sorted {
        let mut within = 0;
        let (mut comes, mut is_within) = (false, false);
        for (place, centre) in self.centres.iter().enumerate() {
            let margin = y * self.visited.score::<K>(row, &centre.w.0);
            let is_near = (margin - 1.0).abs() <= centre.theta;
            if is_near && place + 1 < self.centres.len() {
                return Sorted::Held;
            }
            (comes, is_within) = (is_near, margin < 1.0);
            within |= u64::from(is_within) << place;
        }
        match (comes, is_within) {
            (true, _) => Sorted::Comes(within),
            (false, true) => Sorted::InPlane,
            (false, false) => Sorted::Beyond,
        }
    }
}

impl BundleSums {
    /// Keeps a row that comes.
    fn keep(&mut self, row: &Row<'_>, within: u64, room: u64) {
        let fits = (self.words.len() + row.values()) as u64 <= room;
        let kept = fits && !self.overflows && self.push(row, within).is_ok();
        if !kept {
            self.overflows = true;
            (self.words, self.within) = (Vec::new(), Vec::new());
        }
    }

    fn push(&mut self, row: &Row<'_>, within: u64) -> Result<(), OutOfMemory> {
        self.within.room(1)?.push(within);
        let words = self.words.room(row.values())?;
        words.extend_from_slice(row.words());
        Ok(())
    }

    /// Adds those over other rows.
    pub(crate) fn join(&mut self, more: &Self) {
        self.kinks.join(&more.kinks);
        add(&mut self.f.0, &more.f.0);
        self.b += more.b;
        self.in_plane += more.in_plane;
        self.rows += more.rows;
        let joined = self.join_rows(more);
        if self.overflows || more.overflows || joined.is_err() {
            self.overflows = true;
            (self.words, self.within) = (Vec::new(), Vec::new());
        }
    }

    fn join_rows(&mut self, more: &Self) -> Result<(), OutOfMemory> {
        let words = self.words.room(more.words.len())?;
        words.extend_from_slice(&more.words);
        let within = self.within.room(more.within.len())?;
        within.extend_from_slice(&more.within);
        Ok(())
    }
}
