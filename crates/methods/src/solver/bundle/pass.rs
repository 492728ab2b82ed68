//! A pass over rows that somebody else holds, for a head that is solved by a bundle: what it is to sum up, and the sums over a part
//! of the rows. Both travel as bytes.
//!
//! Who scans knows no row from the pass before: which rows are held already follows from the weights and distances by which
//! passes so far have sorted. A row that comes brings along in which planes it is. Where more rows are near than there is room for,
//! the farthest of them go into the plane, and the distance is less from then on.

use serde::{Deserialize, Serialize};

use crate::base::memory::{list, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::loss::NO_LOSS_FROM;
use crate::objective::minimized::{score, Objective};
use crate::rows::row::Row;
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::classes::{add_between, lose, rival, Classes, OwnClass};
use crate::solver::bundle::kinks::{Kinks, Line, Lowest};
use crate::solver::bundle::known::breakpoint;
use crate::solver::fixed_weights::{add, add_row, Numbers};
use crate::solver::held_rows::{Beside, HeldRows};
use crate::solver::sums::tally::Tally;

/// Passes that may sort: a row that comes has a bit for each.
pub(super) const MOST_CENTRES: usize = 64;

/// What a pass is to sum up.
#[derive(Serialize, Deserialize)]
pub struct BundlePass {
    pub(super) objective: Objective,
    /// The classes that are told apart together, where they are: weights are those of all of them.
    pub(super) classes: Option<Classes>,
    /// w_b and w_t.
    pub(super) best: Numbers,
    pub(super) newest: Numbers,
    /// By what passes sort, this one last.
    #[serde(deserialize_with = "list")]
    pub(super) centres: Vec<Centre>,
    /// Words that rows may take which come.
    pub(super) room: u64,
    /// How far w_b has moved to the w_t of the pass before since then, and how far from w_b to w_t rows are sorted.
    pub(super) moved: f64,
    pub(super) along: f64,
    /// Where outputs of rows that are kept begin in those of a row.
    pub(super) place: u32,
    /// Whether the line from w_b to w_t is looked along, and whether rows are sorted.
    pub(super) looks: bool,
    pub(super) sorts: bool,
    /// Dense features of a row.
    pub(super) dense: u32,
}

/// <w_b, x> and <w_t, x> of a row that is kept, in the pass before.
#[derive(Clone, Copy, Default)]
pub struct Outputs {
    best: f64,
    newest: f64,
}

impl Outputs {
    /// By how far from w_b to w_t.
    fn line(&self) -> Line {
        Line {
            at: self.best,
            along: self.newest - self.best,
        }
    }

    /// So far from w_b to w_t.
    #[inline(always)]
    fn along(self, part: f64) -> f64 {
        self.best + part * (self.newest - self.best)
    }
}

/// By what a pass sorts rows: those this near the margin, at these weights, come.
#[derive(Serialize, Deserialize)]
pub(super) struct Centre {
    pub(super) w: Numbers,
    /// Below 0 where none comes, or those that came have been let go.
    pub(super) theta: f64,
}

/// A row that comes, beside its words.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Coming {
    /// A bit for each pass at whose weights it was within the margin.
    pub(super) within: u64,
    /// Its distance from the margin.
    away: f64,
    /// y C c.
    pub(super) by: f64,
    words: u32,
}

/// Sums over a part of the rows.
#[derive(Serialize, Deserialize)]
pub struct BundleSums {
    pub(super) kinks: Kinks,
    /// The plane of the rows that are not held, and how many are in it.
    pub(super) f: Numbers,
    pub(super) b: f64,
    pub(super) in_plane: u64,
    /// What outliers of the round cost at any weights.
    pub(super) out: f64,
    /// Rows that take part.
    pub(super) rows: u64,
    /// Rows that come.
    pub(super) coming: HeldRows<Coming>,
    /// How near the margin they are at most.
    pub(super) theta: f64,
    /// Words that they may take.
    room: u64,
    intercept: f64,
    /// This pass among those that sort.
    place: u32,
    /// Room for the lines of a row, and for its scores, by class.
    #[serde(skip)]
    lines: Vec<Line>,
    #[serde(skip)]
    scores: Vec<f64>,
}

impl BundlePass {
    /// One that looks at rows of so many dense features at these weights, and no more.
    pub(in crate::solver) fn looking(
        objective: &Objective,
        w: &[f64],
        dense: usize,
    ) -> Result<Self, OutOfMemory> {
        let mut centres = Vec::new();
        centres.room(1)?.push(Centre {
            w: Numbers::of(w)?,
            theta: -1.0,
        });
        Ok(Self {
            objective: objective.copied()?,
            classes: None,
            best: Numbers::of(w)?,
            newest: Numbers::of(w)?,
            centres,
            room: 0,
            moved: 0.0,
            along: 1.0,
            place: 0,
            looks: true,
            sorts: false,
            dense: dense as u32,
        })
    }

    /// Whether it fits rows with so many features and groups: what came from elsewhere may not.
    pub fn fits(&self, features: usize, groups: usize) -> bool {
        let length = self.vectors() * (features + 1);
        let fits = |weights: &Numbers| weights.0.len() == length;
        let centres = self.centres.iter().all(|centre| fits(&centre.w));
        centres
            && self.dense as usize <= features
            && (1..=MOST_CENTRES).contains(&self.centres.len())
            && fits(&self.best)
            && fits(&self.newest)
            && match &self.classes {
                Some(classes) => classes.fits(groups),
                None => self.objective.fits(features, groups),
            }
    }

    /// Weights for each feature.
    pub fn vectors(&self) -> usize {
        self.classes.as_ref().map_or(1, Classes::count)
    }

    /// Sums over no rows as yet.
    pub fn begin(&self) -> Result<BundleSums, OutOfMemory> {
        let mut lines = Vec::new();
        lines.room(self.vectors())?;
        Ok(BundleSums {
            lines,
            scores: zeros(self.vectors())?,
            kinks: Kinks::new()?,
            f: Numbers(zeros(self.best.0.len())?),
            b: 0.0,
            in_plane: 0,
            out: 0.0,
            rows: 0,
            coming: HeldRows::new(self.dense),
            theta: self.centres.last().map_or(-1.0, |centre| centre.theta),
            room: self.room,
            intercept: self.objective.intercept,
            place: self.centres.len().saturating_sub(1) as u32,
        })
    }

    /// Adds a row.
    #[inline(always)]
    pub fn visit<K: Isa>(&self, all: &mut BundleSums, row: &Row<'_>) {
        if let Some(classes) = &self.classes {
            return self.tell_apart::<K>(classes, all, row);
        }
        let objective = &self.objective;
        let (y, cost) = objective.side(row);
        if y == 0.0 {
            return;
        }
        all.rows += 1;
        if objective.is_sorted_out::<K>(row, y) {
            return self.add_outlier(all, cost);
        }
        if self.looks {
            let at = y * objective.score::<K>(row, &self.best.0);
            let to = y * objective.score::<K>(row, &self.newest.0);
            all.kinks.add((y, cost), at, to - at);
        }
        if self.sorts {
            self.sort::<K>(all, row, (y, y * objective.c * cost));
        }
    }

    /// Adds an outlier of the round: what it costs at any weights is in the losses along the line, and beside the plane, which may count less than
    /// whole.
    #[inline(always)]
    fn add_outlier(&self, all: &mut BundleSums, cost: f64) {
        let loss = cost * self.objective.most_loss();
        if self.looks {
            all.kinks.add_constant(loss);
        }
        if self.sorts {
            all.out += self.objective.c * loss;
        }
    }

    /// Adds a row whose outputs are kept from pass to pass, where no rows are held: one product for each class a step.
    #[inline(always)]
    pub fn visit_kept<K: Isa>(&self, all: &mut BundleSums, row: &Row<'_>, outputs: &mut [Outputs]) {
        let outputs = &mut outputs[self.place as usize..][..self.vectors()];
        for outputs in outputs.iter_mut() {
            outputs.best += self.moved * (outputs.newest - outputs.best);
        }
        match &self.classes {
            Some(classes) => self.tell_apart_kept::<K>(classes, all, row, outputs),
            None => {
                if self.looks {
                    outputs[0].newest = self.objective.score::<K>(row, &self.newest.0);
                }
                self.visit_side::<K>(all, row, outputs[0]);
            }
        }
    }

    /// The same of a row of one of several classes.
    #[inline(always)]
    fn tell_apart_kept<K: Isa>(
        &self,
        classes: &Classes,
        all: &mut BundleSums,
        row: &Row<'_>,
        outputs: &mut [Outputs],
    ) {
        if self.looks {
            for (class, outputs) in outputs.iter_mut().enumerate() {
                outputs.newest = self.score_of::<K>(row, &self.newest.0, class);
            }
        }
        if let Some(own) = classes.own(row) {
            all.rows += 1;
            if self.looks {
                all.lines.clear();
                all.lines.extend(outputs.iter().map(Outputs::line));
                all.look_along(own);
            }
            for (score, outputs) in all.scores.iter_mut().zip(outputs) {
                *score = outputs.along(self.along);
            }
            self.cut::<K>(all, row, own);
        }
    }

    /// <w_k, x> of a class k, by the weights of all of them.
    #[inline(always)]
    fn score_of<K: Isa>(&self, row: &Row<'_>, w: &[f64], class: usize) -> f64 {
        let length = w.len() / self.vectors();
        score::<K>(
            row,
            &w[class * length..][..length],
            self.objective.intercept,
        )
    }

    /// Adds a row of two sides whose outputs are known.
    #[inline(always)]
    fn visit_side<K: Isa>(&self, all: &mut BundleSums, row: &Row<'_>, outputs: Outputs) {
        let (y, cost) = self.objective.side(row);
        if y == 0.0 {
            return;
        }
        all.rows += 1;
        if self.objective.is_sorted_out::<K>(row, y) {
            return self.add_outlier(all, cost);
        }
        if self.looks {
            let (at, to) = (y * outputs.best, y * outputs.newest);
            all.kinks.add((y, cost), at, to - at);
        }
        if self.sorts && y * outputs.along(self.along) < NO_LOSS_FROM {
            all.add_to_plane::<K>(row, y * self.objective.c * cost);
        }
    }

    /// Adds a row of one of several classes.
    #[inline(always)]
    fn tell_apart<K: Isa>(&self, classes: &Classes, all: &mut BundleSums, row: &Row<'_>) {
        let Some(own) = classes.own(row) else {
            return;
        };
        all.rows += 1;
        if self.looks {
            all.lines.clear();
            for class in 0..classes.count() {
                let at = self.score_of::<K>(row, &self.best.0, class);
                let to = self.score_of::<K>(row, &self.newest.0, class);
                all.lines.push(Line { at, along: to - at });
            }
            all.look_along(own);
        }
        if let Some(centre) = self.centres.last() {
            for class in 0..classes.count() {
                all.scores[class] = self.score_of::<K>(row, &centre.w.0, class);
            }
            self.cut::<K>(all, row, own);
        }
    }

    /// Adds a row of several classes to the plane, by its scores there.
    #[inline(always)]
    fn cut<K: Isa>(&self, all: &mut BundleSums, row: &Row<'_>, own: OwnClass) {
        if !self.sorts {
            return;
        }
        if let Some(rival) = rival(&all.scores, own.class) {
            let by = self.objective.c * own.cost;
            all.in_plane += 1;
            all.b += by;
            let row = (row, self.vectors(), self.objective.intercept);
            add_between::<K>(&mut all.f.0, (own.class, rival), by, row);
        }
    }

    /// That of a row on this side. (In a closure products would be compiled without the instructions of K.)
    #[inline(always)]
    fn margin<K: Isa>(&self, row: &Row<'_>, y: f64, centre: &Centre) -> f64 {
        y * self.objective.score::<K>(row, &centre.w.0)
    }

    /// Rows that were near the margin in a pass before are held; of the others those that are near now come.
    #[inline(always)]
    fn sort<K: Isa>(&self, all: &mut BundleSums, row: &Row<'_>, (y, by): (f64, f64)) {
        let Some((newest, before)) = self.centres.split_last() else {
            return;
        };
        for centre in before {
            if centre.holds() && centre.is_near(self.margin::<K>(row, y, centre)) {
                return;
            }
        }
        let at = self.margin::<K>(row, y, newest);
        let away = (at - NO_LOSS_FROM).abs();
        if away > all.theta {
            if at < NO_LOSS_FROM {
                all.add_to_plane::<K>(row, by);
            }
            return;
        }
        let mut within = u64::from(at < NO_LOSS_FROM) << before.len();
        for (place, centre) in before.iter().enumerate() {
            within |= u64::from(self.margin::<K>(row, y, centre) < NO_LOSS_FROM) << place;
        }
        let words = row.values() as u32;
        all.keep::<K>(
            row,
            Coming {
                within,
                away,
                by,
                words,
            },
        );
    }
}

impl Beside for Coming {
    #[inline(always)]
    fn away(&self) -> f64 {
        self.away
    }

    #[inline(always)]
    fn words(&self) -> usize {
        self.words as usize
    }
}

impl Coming {
    /// Of a row that is there from the beginning.
    pub(super) fn of_sample(row: &Row<'_>, objective: &Objective) -> Self {
        let (y, cost) = objective.side(row);
        Self {
            within: 0,
            away: 0.0,
            by: y * objective.c * cost,
            words: row.values() as u32,
        }
    }
}

impl Centre {
    /// Whether rows that came by it are held.
    #[inline(always)]
    pub(super) fn holds(&self) -> bool {
        self.theta >= 0.0
    }

    /// Whether a row with this margin there came by it.
    #[inline(always)]
    pub(super) fn is_near(&self, margin: f64) -> bool {
        (margin - NO_LOSS_FROM).abs() <= self.theta
    }
}

impl BundleSums {
    /// The sum of c max(0, 1 - m), and the tally, at the newest weights.
    pub(in crate::solver) fn losses(&self) -> (f64, Tally) {
        self.tally(self.kinks.at_newest())
    }

    /// The losses at a point of the line, and the tally there.
    pub(super) fn tally(&self, found: Lowest) -> (f64, Tally) {
        let tally = Tally {
            start_loss: found.loss,
            correct: found.right,
            rows: self.rows,
            ..Tally::EMPTY
        };
        (found.loss, tally)
    }

    /// Adds the losses of a row of several classes, whose lines by class are there.
    #[inline(always)]
    fn look_along(&mut self, own: OwnClass) {
        lose(&mut self.lines, own.class);
        self.kinks.add_largest(own.cost, &self.lines, own.class);
    }

    #[inline(always)]
    fn add_to_plane<K: Isa>(&mut self, row: &Row<'_>, by: f64) {
        self.in_plane += 1;
        self.b += by.abs() * breakpoint(row, by.signum());
        add_row::<K>(&mut self.f.0, by, row, self.intercept);
    }

    /// Keeps a row that comes, or where others are nearer and there is no room for it adds it to the plane.
    #[inline(always)]
    fn keep<K: Isa>(&mut self, row: &Row<'_>, coming: Coming) {
        while coming.away <= self.theta && self.is_full(row) {
            self.come_nearer();
        }
        if coming.away <= self.theta && self.coming.push(row, coming).is_err() {
            self.keep_within(-1.0);
        }
        if coming.away > self.theta && coming.within >> self.place & 1 == 1 {
            self.add_to_plane::<K>(row, coming.by);
        }
    }

    #[inline(always)]
    fn is_full(&self, row: &Row<'_>) -> bool {
        (self.coming.words() + row.values()) as u64 > self.room
    }

    /// Takes a theta that is less than the distance of some row.
    #[cold]
    fn come_nearer(&mut self) {
        let theta = self.coming.nearer().unwrap_or(-1.0);
        self.keep_within(theta);
    }

    /// Takes this theta: rows farther away go into the plane.
    fn keep_within(&mut self, theta: f64) {
        Level::best().run(KeepWithin { sums: self, theta });
    }

    /// Whether its parts fit one another, and rows that come are of groups below that one; those of bytes that came from elsewhere may
    /// not.
    pub fn are_sound(&self, groups: usize) -> bool {
        let is_right = |row: &Coming| (0.0..=self.theta).contains(&row.away);
        let Some(features) = self.f.0.len().checked_sub(1) else {
            return false;
        };
        self.kinks.is_sound()
            && (self.place as usize) < MOST_CENTRES
            && self.coming.are_sound(features, groups, is_right)
    }

    /// Whether others are of the same pass.
    pub fn fits(&self, more: &Self) -> bool {
        self.f.0.len() == more.f.0.len()
            && self.place == more.place
            && self.coming.fits(&more.coming)
    }

    /// Adds those over other rows.
    pub fn join(&mut self, more: &Self) {
        self.kinks.join(&more.kinks);
        add(&mut self.f.0, &more.f.0);
        self.b += more.b;
        self.out += more.out;
        self.in_plane = self.in_plane.saturating_add(more.in_plane);
        self.rows = self.rows.saturating_add(more.rows);
        self.keep_within(self.theta.min(more.theta));
        Level::best().run(JoinRows { sums: self, more });
    }
}

/// Rows farther away than theta go into the plane.
struct KeepWithin<'a> {
    sums: &'a mut BundleSums,
    theta: f64,
}

impl Work for KeepWithin<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let (all, theta) = (self.sums, self.theta);
        if theta >= all.theta {
            return;
        }
        all.theta = theta;
        let place = all.place;
        let mut coming = std::mem::replace(&mut all.coming, HeldRows::new(0));
        coming.retain(
            |row| row.away <= theta,
            |row, beside| {
                if beside.within >> place & 1 == 1 {
                    all.add_to_plane::<K>(row, beside.by);
                }
            },
        );
        all.coming = coming;
    }
}

/// Takes in what came of other rows.
struct JoinRows<'a> {
    sums: &'a mut BundleSums,
    more: &'a BundleSums,
}

impl Work for JoinRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        for (row, coming) in self.more.coming.from((0, 0)) {
            self.sums.keep::<K>(&row, *coming);
        }
    }
}
