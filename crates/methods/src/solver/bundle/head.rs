//! A head that is solved by a bundle, from pass to pass.

use crate::base::memory::{copied, OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::objective::minimized::Objective;
use crate::objective::problem::StopRule;
use crate::objective::report::relative_gap;
use crate::objective::solver_choice::Cuts;
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::row::Row;
use crate::simd::{Isa, Level, Work};
use crate::solver::bundle::classes::Classes;
use crate::solver::bundle::known::Solved;
use crate::solver::bundle::master::Master;
use crate::solver::bundle::pass::{BundlePass, BundleSums, Centre, Coming, MOST_CENTRES};
use crate::solver::bundle::rounds::{Rounds, FEW, LEAST_A_COLUMN, SAMPLE_ROUNDS};
use crate::solver::fixed_weights::Numbers;
use crate::solver::sums::tally::Tally;

/// The part of the rows that come in a pass, at first; and how many times as many where the gap has not fallen to a third.
const FIRST_SHARE: f64 = 0.1;
const GROWTH: f64 = 1.4;
/// Of the room that is left what a pass may use, and of all room where rows can be let go.
const USED: f64 = 0.4;
const USED_AND_LET_GO: f64 = 0.5;
/// Of what a pass may use so much is to be filled, as far as the sample tells, by as many rows of it at least: what each of several
/// processes holds beyond that is let go when they are joined.
const FILLED: f64 = 0.9;
const LEAST_OF_SAMPLE: f64 = 30.0;
/// The known problem is solved to this part of what is left of the tolerance, and the sample's to this gap.
const PART: f64 = 0.2;
const SAMPLE_GAP: f64 = 1e-2;
/// The problem of planes alone to this part of the gap.
const PART_OF_GAP: f64 = 0.1;

/// It gives way once passes and what was computed have cost so many passes over all rows, and so many values, or its part of those that all heads
/// may cost: where rows stream, that takes fewer, and each solution is of what is known alone.
const PASSES_TO_GIVE_WAY: f64 = 30.0;
const VALUES_TO_GIVE_WAY: f64 = 4e8;
const VALUES_OF_ALL: f64 = 1.6e9;

/// The published forms end once planes of all heads have cost so many products, and so many passes over all rows for each that there was: many planes
/// that are nearly parallel tell no more.
const PRODUCTS_TO_END: f64 = 4e8;
const PASSES_TO_END: f64 = 30.0;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Something is to be computed.
    Solving,
    /// A pass over all rows.
    Pass,
    Ended,
}

/// A head that is given.
pub struct GivenHead {
    pub(in crate::solver) objective: Objective,
    /// The classes that it tells apart together, where it stands for several heads.
    pub(in crate::solver) classes: Option<Classes>,
    pub(in crate::solver) stop: StopRule,
    pub(in crate::solver) tolerance: f64,
    pub(in crate::solver) max_passes: u32,
    pub(in crate::solver) length: usize,
    pub(in crate::solver) cuts: Cuts,
    /// How many there are, each by itself.
    pub(in crate::solver) heads: usize,
}

/// How it goes.
pub struct BundleHead {
    objective: Objective,
    classes: Option<Classes>,
    cuts: Cuts,
    products_to_end: f64,
    values_to_give_way: f64,
    /// Of OCAS, whether the next pass looks along the line, before the one that makes a plane.
    looks: bool,
    stop: StopRule,
    tolerance: f64,
    max_passes: u32,
    rows: f64,
    dense: usize,
    mean_words: f64,
    /// Words that rows may take which are held.
    room: usize,
    /// Whether rows are let go to make room for others. Whether one is near the margin must come out the same here and where it is
    /// scanned, to the last bit.
    lets_go: bool,
    /// Whether the last pass had too little room for the rows that were near.
    leaves: bool,
    best: Vec<f64>,
    newest: Vec<f64>,
    /// The step of the pass before.
    step: f64,
    /// How far w_b has moved to w_t since the pass before.
    moved: f64,
    primal: f64,
    dual: f64,
    gap_before: f64,
    centres: Vec<Centre>,
    share: f64,
    stage: Stage,
    /// Of a truncated loss, how its rounds go.
    rounds: Option<Rounds>,
    /// Passes, and those of the round under way: the problem of a loss that is not truncated is one round.
    passes: u32,
    round_passes: u32,
    arrived: bool,
    tally: Tally,
    /// Values that the sample's solution has gone over.
    worked: u64,
    /// Rows in the newest plane, and those that are held in the end.
    in_plane: u64,
    held: u64,
    /// What outliers of the round cost.
    out: f64,
}

enum Stage {
    /// The sample is solved, as if all rows were like it.
    Sample(Box<Master>),
    Solving(Box<Master>),
    /// A pass is wanted; the master is there from the first one on.
    Waiting(Box<Master>),
    /// A pass has told that the round before has ended the training.
    Arrived(FoundByPass),
    Ended,
}

/// What a pass has found for a head, and whether it has ended.
#[derive(Clone, Copy)]
pub struct FoundByPass {
    pub primal: f64,
    pub dual: f64,
    pub tally: Tally,
    /// Whether the pass has summed up the primal at just its weights.
    pub summed: bool,
    pub arrived: bool,
    pub gives_up: bool,
}

impl FoundByPass {
    /// An equal part of what it has found for so many heads together.
    pub fn part_of(self, heads: usize) -> Self {
        Self {
            primal: self.primal / heads as f64,
            dual: self.dual / heads as f64,
            ..self
        }
    }
}

impl BundleHead {
    /// To be solved with room for so many words of rows, which are let go to make room or not; `sample`: some of the rows.
    pub fn new(
        given: GivenHead,
        facts: &Facts,
        sample: &[u32],
        (room, lets_go): (usize, bool),
        seed: u64,
    ) -> Result<Self, OutOfMemory> {
        let GivenHead {
            objective,
            classes,
            stop,
            tolerance,
            max_passes,
            length,
            cuts,
            heads,
        } = given;
        let mut this = Self {
            stop,
            tolerance,
            max_passes,
            cuts,
            products_to_end: PRODUCTS_TO_END / heads as f64,
            values_to_give_way: VALUES_TO_GIVE_WAY.min(VALUES_OF_ALL / heads as f64),
            looks: false,
            rows: facts.rows as f64,
            dense: facts.dense,
            mean_words: facts.mean_row_words.max(1) as f64,
            room,
            lets_go,
            leaves: false,
            best: zeros(length)?,
            newest: zeros(length)?,
            step: 1.0,
            moved: 0.0,
            primal: f64::INFINITY,
            dual: 0.0,
            gap_before: 1.0,
            centres: Vec::new(),
            share: FIRST_SHARE,
            stage: Stage::Ended,
            rounds: objective.is_sorted().then(Rounds::new),
            passes: 0,
            round_passes: 0,
            arrived: false,
            tally: Tally::EMPTY,
            worked: 0,
            in_plane: 0,
            out: 0.0,
            held: 0,
            objective,
            classes,
        };
        match this.cuts {
            Cuts::BesideHeld => this.begin_sample(sample, seed)?,
            Cuts::Ocas(_) | Cuts::Newest => {
                let master = this.master(0, &this.objective, seed)?;
                this.stage = Stage::Waiting(Box::new(master));
            }
        }
        Ok(this)
    }

    fn begin_sample(&mut self, sample: &[u32], seed: u64) -> Result<(), OutOfMemory> {
        let count = Batch::new(sample, self.dense).count();
        // rows that are held out, and outliers, take no part, and still stand for a part of all
        let filtered = self.taking_part(sample)?;
        let sample = filtered.as_deref().unwrap_or(sample);
        let own = self.objective.copied()?;
        let part = Objective {
            c: own.c * self.rows / count.max(1) as f64,
            ..own
        };
        let mut master = self.master(count, &part, seed)?;
        let mut coming = Vec::new();
        coming.room(count)?;
        for row in Batch::new(sample, self.dense) {
            coming.push(Coming::of_sample(&row, &part));
        }
        master.take(sample, &coming)?;
        master.begin(&self.newest, f64::INFINITY, 0.0)?;
        self.stage = Stage::Sample(Box::new(master));
        Ok(())
    }

    /// Those of the rows that take part; None where all do.
    fn taking_part(&self, sample: &[u32]) -> Result<Option<Vec<u32>>, OutOfMemory> {
        let takes_part = |row: &Row<'_>| Level::best().run(TakesPart(&self.objective, row));
        if Batch::new(sample, self.dense).all(|row| takes_part(&row)) {
            return Ok(None);
        }
        let mut words = Vec::new();
        for row in Batch::new(sample, self.dense).filter(takes_part) {
            words.room(row.values())?.extend_from_slice(row.words());
        }
        Ok(Some(words))
    }

    /// Has it begin at these weights in place of those of the sample; to be called before anything is computed. The published forms have their
    /// first plane there instead of at 0: any weights have one.
    pub fn begin_at(
        &mut self,
        w: impl IntoIterator<Item = f64>,
        seed: u64,
    ) -> Result<(), OutOfMemory> {
        for (newest, w) in self.newest.iter_mut().zip(w) {
            *newest = w;
        }
        if let Some(rounds) = &mut self.rounds {
            rounds.have_sorted = true;
        }
        self.sort_at_newest();
        if self.cuts == Cuts::BesideHeld {
            self.begin_whole(seed)?;
        }
        Ok(())
    }

    /// Where rounds sort rows, the newest weights do from now on. The first ones that come of no others do as if s were 1 at least: hardly more
    /// than a constant decision has a loss of 2 at the rows of the smaller class, which as outliers would never come back.
    fn sort_at_newest(&mut self) {
        let Some(rounds) = &mut self.rounds else {
            return;
        };
        let by = match (rounds.have_sorted, self.objective.truncation) {
            (false, Some(s)) => s.min(1.0),
            _ => 1.0,
        };
        rounds.have_sorted = true;
        let all = self.objective.sorted_at.iter_mut().zip(&self.newest);
        all.for_each(|(at, w)| *at = by * w);
    }

    /// The sample has been solved: of a truncated loss its weights sort rows, and it is solved again as long as rows of it change sides. Too few
    /// rows sort badly: then none is an outlier before all have been scanned.
    fn end_sample(&mut self, sample: &[u32], seed: u64) -> Result<(), OutOfMemory> {
        let rows = Batch::new(sample, self.dense);
        let count = rows.clone().count();
        let Some(rounds) = &mut self.rounds else {
            return self.begin_whole(seed);
        };
        if count < LEAST_A_COLUMN * self.newest.len() && (count as f64) < self.rows {
            return self.begin_whole(seed);
        }
        rounds.of_sample += 1;
        let goes_on = rounds.of_sample <= SAMPLE_ROUNDS;
        let (objective, w) = (&self.objective, &self.newest);
        let turning = Level::best().run(Turning { objective, rows, w });
        self.sort_at_newest();
        match goes_on && turning > count / FEW {
            true => self.begin_sample(sample, seed),
            false => self.begin_whole(seed),
        }
    }

    /// Another round begins, for which the best weights sort rows: no plane of this one is true of it.
    fn begin_round(
        &mut self,
        master: &Master,
        found: FoundByPass,
        seed: u64,
    ) -> Result<(), OutOfMemory> {
        self.worked += master.work();
        self.newest.copy_from_slice(&self.best);
        let before = copied(&self.objective.sorted_at)?;
        if let Some(rounds) = &mut self.rounds {
            let has_arrived = found.arrived && rounds.have_sorted;
            rounds.begin(has_arrived.then_some((before, found)));
        }
        self.sort_at_newest();
        (self.primal, self.dual, self.gap_before) = (f64::INFINITY, 0.0, 1.0);
        (self.looks, self.leaves) = (false, false);
        self.centres.clear();
        self.share = FIRST_SHARE.max(master.held() as f64 / self.rows);
        self.round_passes = 0;
        self.begin_whole(seed)
    }

    /// A pass over all rows is wanted.
    fn begin_whole(&mut self, seed: u64) -> Result<(), OutOfMemory> {
        let rows = (self.room as f64 / self.mean_words) as usize;
        let master = self.master(rows, &self.objective, seed)?;
        self.stage = Stage::Waiting(Box::new(master));
        Ok(())
    }

    fn master(&self, rows: usize, objective: &Objective, seed: u64) -> Result<Master, OutOfMemory> {
        Master::new(self.best.len(), self.dense, objective, rows, seed)
    }

    pub fn due(&self) -> Due {
        match self.stage {
            Stage::Sample(_) | Stage::Solving(_) | Stage::Arrived(_) => Due::Solving,
            Stage::Waiting(_) => Due::Pass,
            Stage::Ended => Due::Ended,
        }
    }

    /// The smallest relative gap known.
    pub fn gap(&self) -> f64 {
        relative_gap(self.primal, self.dual)
    }

    /// Outputs of a row that a pass may keep for the next one.
    pub fn outputs(&self) -> usize {
        self.classes.as_ref().map_or(1, Classes::count)
    }

    /// Rows that are held.
    pub fn held(&self) -> u64 {
        match &self.stage {
            Stage::Solving(master) | Stage::Waiting(master) => master.held(),
            Stage::Sample(_) | Stage::Arrived(_) | Stage::Ended => self.held,
        }
    }

    /// Whether so many rows stay near, or their problem takes so long, that rows that stream are expected to be faster; or it cannot go on
    /// much longer. Of the published forms never.
    pub fn gives_way(&self) -> bool {
        let solved = match &self.stage {
            Stage::Sample(master) | Stage::Solving(master) | Stage::Waiting(master) => {
                master.work()
            }
            Stage::Arrived(_) | Stage::Ended => return false,
        };
        // a row that comes has a bit for each pass, and one more is to be left to end with
        let is_last = self.rounds.is_none() && self.passes + 2 >= MOST_CENTRES as u32;
        let pass = self.rows * self.mean_words;
        let values = (self.worked + solved) as f64 + f64::from(self.passes) * pass;
        let takes_long = values > self.values_to_give_way.max(PASSES_TO_GIVE_WAY * pass);
        self.cuts == Cuts::BesideHeld && (takes_long || is_last)
    }

    /// The weights so far, the intercept's last: before the first pass those of the sample.
    pub fn weights_so_far(&self) -> &[f64] {
        match self.primal.is_finite() {
            true => &self.best,
            false => &self.newest,
        }
    }

    /// The weights of the smallest primal.
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    /// The weights that sort rows for the round; none of a loss that is not truncated.
    pub fn sorted_at(&self) -> &[f64] {
        &self.objective.sorted_at
    }

    /// Goes on with what is to be computed. What it has found, once the last pass has been made the most of.
    pub fn compute(
        &mut self,
        sample: &[u32],
        seed: u64,
    ) -> Result<Option<FoundByPass>, OutOfMemory> {
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Sample(mut master) => {
                let enough = |at: &Solved| relative_gap(at.primal, at.dual) <= SAMPLE_GAP;
                match master.step(enough)? {
                    Some(at) if at.ended => {
                        master.tell(&mut self.newest);
                        self.worked += master.work();
                        self.end_sample(sample, seed)?;
                    }
                    _ => self.stage = Stage::Sample(master),
                }
                Ok(None)
            }
            Stage::Solving(mut master) => {
                let wanted = self.wanted();
                match master.step(|at| at.primal - at.dual <= wanted)? {
                    Some(at) if at.ended => self.end_solving(master, at, seed),
                    _ => {
                        self.stage = Stage::Solving(master);
                        Ok(None)
                    }
                }
            }
            Stage::Arrived(found) => Ok(Some(found)),
            other => {
                self.stage = other;
                Ok(None)
            }
        }
    }

    /// The gap to which the known problem is solved: of planes alone no closer than the gap over all rows is worth.
    fn wanted(&self) -> f64 {
        let wanted = PART * self.enough();
        match self.cuts {
            Cuts::BesideHeld => wanted,
            Cuts::Ocas(_) | Cuts::Newest => wanted.max(PART_OF_GAP * (self.primal - self.dual)),
        }
    }

    /// What primal and dual may differ by in the end.
    fn enough(&self) -> f64 {
        self.tolerance
            * match self.stop {
                StopRule::MeanLoss => self.objective.c * self.rows,
                StopRule::Gap | StopRule::ProjectedGradient => self.primal,
            }
    }

    /// What it has found; None where a round is over, and the next one tells what that has come to.
    fn end_solving(
        &mut self,
        master: Box<Master>,
        at: Solved,
        seed: u64,
    ) -> Result<Option<FoundByPass>, OutOfMemory> {
        master.tell(&mut self.newest);
        self.held = master.held();
        self.dual = self.dual.max(at.dual + self.out);
        let gap = self.gap();
        self.arrived = self.primal - self.dual <= self.enough();
        // a round that has arrived may have one pass more, which tells whether it is the last one
        let is_beyond = self.rounds.is_some() && self.passes > self.max_passes;
        let gives_up = is_beyond || (!self.arrived && self.is_spent(&master));
        if gap > self.gap_before / 3.0 {
            self.share *= GROWTH;
        }
        self.looks = matches!(self.cuts, Cuts::Ocas(_)) && !self.looks;
        self.gap_before = gap;
        self.tally.support = self.in_plane + at.support;
        let found = FoundByPass {
            primal: self.primal,
            dual: self.dual,
            tally: self.tally,
            // along a line, over rows on both sides of their kinks
            summed: false,
            arrived: self.arrived,
            gives_up,
        };
        let is_over = match &self.rounds {
            Some(rounds) => {
                self.arrived || rounds.is_over((self.primal, self.dual)) || self.is_full()
            }
            None => false,
        };
        if is_over && !gives_up {
            self.begin_round(&master, found, seed)?;
            return Ok(None);
        }
        if !self.arrived && !gives_up {
            self.stage = Stage::Waiting(master);
            self.make_room();
        }
        Ok(Some(found))
    }

    /// Whether no pass is left.
    fn is_spent(&self, master: &Master) -> bool {
        self.passes >= self.max_passes
            || (self.rounds.is_none() && self.is_full())
            || self.planes_cost_too_much(master)
    }

    /// Whether the round has no pass left: a row that comes has a bit for each.
    fn is_full(&self) -> bool {
        self.cuts == Cuts::BesideHeld && self.round_passes + 1 >= MOST_CENTRES as u32
    }

    /// Whether planes alone have cost more than they are worth.
    fn planes_cost_too_much(&self, master: &Master) -> bool {
        let passes = f64::from(self.passes) * self.rows * self.mean_words;
        let most = self.products_to_end.max(PASSES_TO_END * passes);
        self.cuts != Cuts::BesideHeld && (self.worked + master.work()) as f64 > most
    }

    /// What the pass that comes is to sum up; `sample` tells how near the margin rows are.
    /// `place`: where its outputs begin in those of a row, where they are kept.
    pub fn pass(&self, sample: &[u32], place: usize) -> Result<BundlePass, OutOfMemory> {
        let mut w = copied(&self.best)?;
        let along = match self.cuts {
            Cuts::BesideHeld if self.round_passes > 0 => self.step,
            Cuts::Ocas(lambda) if self.round_passes > 0 => lambda,
            _ => 1.0,
        };
        for (w, newest) in w.iter_mut().zip(&self.newest) {
            *w += along * (newest - *w);
        }
        let theta = match self.cuts {
            Cuts::BesideHeld => self.theta(&w, sample)?,
            Cuts::Ocas(_) | Cuts::Newest => -1.0,
        };
        let mut centres = Vec::new();
        centres.room(self.centres.len() + 1)?;
        for centre in &self.centres {
            centres.push(Centre {
                w: Numbers::of(&centre.w.0)?,
                theta: centre.theta,
            });
        }
        centres.push(Centre {
            w: Numbers(w),
            theta,
        });
        Ok(BundlePass {
            objective: self.objective.copied()?,
            classes: self.classes.as_ref().map(Classes::copied).transpose()?,
            best: Numbers::of(&self.best)?,
            newest: Numbers::of(&self.newest)?,
            centres,
            room: self.room_to_use() as u64,
            moved: self.moved,
            along,
            place: place as u32,
            looks: self.looks || self.round_passes == 0 || !matches!(self.cuts, Cuts::Ocas(_)),
            sorts: !self.looks,
            dense: self.dense as u32,
        })
    }

    /// Words that rows may take which come next.
    fn room_to_use(&self) -> usize {
        let Stage::Waiting(master) = &self.stage else {
            return 0;
        };
        let left = self.room.saturating_sub(master.words());
        match self.lets_go {
            true => left.min((USED_AND_LET_GO * self.room as f64) as usize),
            false => (USED * left as f64) as usize,
        }
    }

    /// The part of the rows that fits what the next pass may use.
    fn fitting(&self) -> f64 {
        FILLED * self.room_to_use() as f64 / (self.rows * self.mean_words).max(1.0)
    }

    /// Makes room for what comes next, where there was too little: rows go that came longest ago, and are far from the margin now.
    fn make_room(&mut self) {
        let wanted = (USED_AND_LET_GO * self.room as f64) as usize;
        while self.lets_go && self.leaves && self.room_to_use() < wanted {
            let mut active = self.centres.iter_mut().filter(|it| it.theta >= 0.0);
            let (Some(oldest), Some(_), Stage::Waiting(master)) =
                (active.next(), active.next(), &mut self.stage)
            else {
                return;
            };
            oldest.theta = -1.0;
            master.let_go(&self.centres);
        }
    }

    /// How near the margin the wanted share of the rows is, at weights w: below 0 where there is no room.
    fn theta(&self, w: &[f64], sample: &[u32]) -> Result<f64, OutOfMemory> {
        if self.room_to_use() == 0 {
            return Ok(-1.0);
        }
        let mut away = Vec::new();
        away.room(sample.len() / self.mean_words as usize + 1)?;
        Level::best().run(Distances {
            objective: &self.objective,
            rows: Batch::new(sample, self.dense),
            w,
            away: &mut away,
        })?;
        let fits = (self.fitting() * away.len() as f64).max(LEAST_OF_SAMPLE);
        let place = (self.share * away.len() as f64).min(fits) as usize;
        if place == 0 {
            return Ok(-1.0);
        }
        let place = place.min(away.len()) - 1;
        let (_, theta, _) = away.select_nth_unstable_by(place, f64::total_cmp);
        Ok(*theta)
    }

    /// Takes what the pass has summed up over all rows.
    pub fn take(&mut self, pass: BundlePass, sums: BundleSums) -> Result<(), OutOfMemory> {
        self.passes += 1;
        self.round_passes += 1;
        self.moved = 0.0;
        let fits = self.share <= self.fitting();
        let stage = std::mem::replace(&mut self.stage, Stage::Ended);
        let Stage::Waiting(mut master) = stage else {
            self.stage = stage;
            return Ok(());
        };
        if pass.looks {
            self.go_along(&sums);
        }
        if let Some((sorted_at, found)) = self.settled(&sums) {
            self.objective.sorted_at = sorted_at;
            self.stage = Stage::Arrived(found);
            return Ok(());
        }
        if !pass.sorts {
            return self.begin_solving(master);
        }
        master.take(sums.coming.packed(), sums.coming.beside())?;
        master.push(sums.f.0, sums.b)?;
        (self.in_plane, self.out) = (sums.in_plane, sums.out);
        self.leaves = !fits || pass.centres.last().is_some_and(|it| sums.theta < it.theta);
        match pass.centres.into_iter().next_back() {
            Some(centre) if self.cuts == Cuts::BesideHeld => self.centres.room(1)?.push(Centre {
                theta: sums.theta,
                ..centre
            }),
            _ => master.planes().forget(),
        }
        self.begin_solving(master)
    }

    /// Where this was the first pass of a round, whether the round before has ended the training: what sorted its rows, and what it has found.
    fn settled(&mut self, sums: &BundleSums) -> Option<(Vec<f64>, FoundByPass)> {
        if !self.rounds.as_ref()?.begins() {
            return None;
        }
        let newest = &self.newest[..self.counted()];
        let norm: f64 = newest.iter().map(|w| w * w).sum();
        let primal = 0.5 * norm + self.objective.c * sums.kinks.at_newest().loss;
        self.step = 1.0;
        let most = self.enough();
        self.rounds.as_mut()?.begun_at(primal, most)
    }

    fn begin_solving(&mut self, mut master: Box<Master>) -> Result<(), OutOfMemory> {
        master.begin(&self.best, self.primal - self.dual, self.wanted())?;
        self.stage = Stage::Solving(master);
        Ok(())
    }

    /// Weights that are in the norm: all, or all but a free intercept's.
    fn counted(&self) -> usize {
        self.best.len() - usize::from(self.objective.free)
    }

    /// The best weights move along the line to the newest, where the primal is lowest.
    fn go_along(&mut self, sums: &BundleSums) {
        let mut own = [0.0; 3];
        let both = self.best.iter().zip(&self.newest);
        for (best, newest) in both.take(self.counted()) {
            let s = newest - best;
            own[0] += 0.5 * best * best;
            own[1] += best * s;
            own[2] += 0.5 * s * s;
        }
        let c = self.objective.c;
        let found = match self.cuts {
            Cuts::Newest => sums.kinks.at_newest(),
            Cuts::BesideHeld | Cuts::Ocas(_) => sums.kinks.lowest(own, c),
        };
        let norm = own[0] + found.step * (own[1] + found.step * own[2]);
        let primal = norm + c * found.loss;
        if primal > self.primal {
            return;
        }
        for (best, newest) in self.best.iter_mut().zip(&self.newest) {
            *best += found.step * (newest - *best);
        }
        self.primal = primal;
        self.moved = found.step;
        self.step = found.step.clamp(0.1, 1.0);
        self.tally = sums.tally(found).1;
    }
}

/// Whether a row takes part, and is no outlier of the round.
struct TakesPart<'a, 'r>(&'a Objective, &'a Row<'r>);

impl Work for TakesPart<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run<K: Isa>(self) -> bool {
        let Self(objective, row) = self;
        let (y, _) = objective.side(row);
        y != 0.0 && !objective.is_sorted_out::<K>(row, y)
    }
}

/// How many rows change sides where weights w sort them.
struct Turning<'a> {
    objective: &'a Objective,
    rows: Batch<'a>,
    w: &'a [f64],
}

impl Work for Turning<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        let (objective, mut count) = (self.objective, 0);
        for row in self.rows {
            let (y, _) = objective.side(&row);
            let within = objective.within(y, objective.score::<K>(&row, self.w));
            let turns = objective.is_out(within) != objective.is_sorted_out::<K>(&row, y);
            count += usize::from(y != 0.0 && turns);
        }
        count
    }
}

/// Distances of rows from the margin.
struct Distances<'a> {
    objective: &'a Objective,
    rows: Batch<'a>,
    w: &'a [f64],
    away: &'a mut Vec<f64>,
}

impl Work for Distances<'_> {
    type Output = Result<(), OutOfMemory>;

    #[inline(always)]
    fn run<K: Isa>(self) -> Result<(), OutOfMemory> {
        for row in self.rows {
            let (y, _) = self.objective.side(&row);
            if y != 0.0 && !self.objective.is_sorted_out::<K>(&row, y) {
                let margin = y * self.objective.score::<K>(&row, self.w);
                self.away.room(1)?.push((margin - 1.0).abs());
            }
        }
        Ok(())
    }
}
