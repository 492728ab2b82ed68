//! Training over rows that arrive pass after pass: the dual cached loops.
//!
//! Every fresh row is visited once, then kept in the working set or dropped. Kept rows are visited again (swept) while no fresh row waits,
//! and at least a certain number of times for each fresh row: else a fast reader would flood the working set. In lockstep it is exactly that
//! number, so that results do not depend on timing. A pass of the reader is a full pass
//! of the solver; sweeps of the working set are its active passes, in between.
//!
//! When room becomes scarce, a sweep grades the rows (see [`super::grades`]). The number of words of each grade says which rows the next
//! sweep drops, so that there is room for fresh rows. Other sweeps are active passes like those
//! over rows that are all in the cache: they pass over the rows that are shrunk, which are looked at again when they come from
//! the reader. So a larger cache does not mean fewer sweeps a pass. A sweep that closes most of the gap which fresh rows opened
//! has *settled* the working set. Then the trainer waits, and the gradients by which rows are dropped can be relied on. While the reader is slow this happens after each of its chunks, and a pass ends settled, too.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::base::memory::Room;
use crate::base::random::Random;
use crate::base::step::Step;
use crate::cache::{Consumer, Ends, WorkingSetRegion};
use crate::objective::problem::{Problem, Timing};
use crate::objective::solver_choice::{Picks, Policy};
use crate::rows::batch::Batch;
use crate::rows::facts::Facts;
use crate::rows::visited::VisitedBatch;
use crate::screening::measuring::{learned, learner, SAMPLE};
use crate::screening::slack::{Metric, MetricLearner};
use crate::simd::{Level, Real};
use crate::solver::ledger::Ledgers;
use crate::solver::scans::ScanRows;
use crate::solver::{Pass, Solver};
use crate::training::error::TrainError;
use crate::training::log::{Event, Log};
use crate::training::schedule::active::FEATURES_PER_VALUE;
use crate::training::schedule::grades::{limit, margins, Words, GRADES};
use crate::training::schedule::indexed::Indexed;
use crate::training::schedule::pass::{
    train_by, Fresh, Held, InPasses, Passes, StreamedPass, KEEP,
};
use crate::training::schedule::sharing::{Crew, Sharing};
use crate::training::schedule::sweep::Sweep;
use crate::training::schedule::threshold::Threshold;
use crate::training::schedule::working_set::{WorkingSet, GROUP};
use crate::training::tallies::Tallies;

/// Cached visits owed for each fresh row, unless the working set is so small that sweeps are limited.
const CACHED_VISITS: f64 = 2.0;
/// Sweeps of the working set in a pass.
const SWEEPS: f64 = 20.0;
/// While it waits for a slow reader a trainer may do this many times as much again.
const SPARE: f64 = 10.0;
/// The working set is settled once its rows leave this share of what they left of the gap at most since fresh rows came,
/// or this share of the tolerance.
const SETTLED: f64 = 0.05;
/// Share of the working set's room that sweeps leave to the rows seen.
const KEPT: f64 = 0.6;
/// A sweep counts as an active pass, after which the centre of the proximal shift may move, when the working set holds
/// this share of the rows that still move, and room for those that are held at their bounds by less than so much of the
/// sweep's violation. Sweeps of a smaller part must not move it: they would train that part alone.
const COVERING: f64 = 0.8;
const COVERING_MARGIN: f64 = 0.01;
/// How long no row must have come before kept rows are swept meanwhile: less than a role that is blocked stays awake
/// ([`crate::base::step::Awake`]).
const IDLE: Duration = Duration::from_micros(50);
/// Words that are visited at a time, times the heads, where heads are several or rows are divided; of fresh rows as many as the
/// ring allows and of kept ones as many as there are. Then trainers have some tenths of a millisecond to do, against which
/// calling each other is little; with one trainer several heads do likewise, so that it makes no difference how many there are.
const PORTION_WORDS: usize = 1 << 20;
/// Groups swept before the ring is looked at again.
const SWEEP_GROUPS: usize = 8;
/// The same at least where several trainers wait for rows.
const WAITING: f64 = 64.0;
/// Sweeps pass over shrunk rows until the working set is fuller than this: only then the rows to drop must be found. Where it
/// holds most rows that is done again once it has grown by so much since.
const ROOMY: f64 = 0.8;
const GROWN: f64 = 0.02;

pub(in crate::training) struct Streaming<T> {
    pub(in crate::training) consumer: Consumer,
    pub(in crate::training) set: WorkingSet,
    pub(in crate::training) facts: Facts,
    pub(in crate::training) level: Level,
    pub(in crate::training) random: Random,
    timing: Timing,
    policy: Policy,
    picks: Picks,
    /// The threshold of the published form.
    pub(in crate::training) threshold: Threshold,
    pub(in crate::training) passes: Passes<T>,
    /// Rows up to this grade are kept, and the largest gradient of each.
    cut: usize,
    margins: [f64; GRADES],
    /// Words of the rows that the sweep has seen, by grade.
    words: Words,
    sweep: Vec<(u32, u32)>,
    cursor: usize,
    /// Whether the sweep visits and grades all rows, and the values visited in it.
    grades: bool,
    swept: usize,
    /// How full the working set was behind the last sweep that graded, and whether that found rows for the next one to drop.
    graded: f64,
    drops: bool,
    /// Whether the sweep is one that fresh rows are owed. Others only settle the set: each row that they let the centre follow
    /// would be fitted closer than the rest of the rows bear out.
    is_owed: bool,
    /// What it costs in visits to pass over a row: as much as leaves room for all sweeps of a pass.
    passing: f64,
    /// Cached visits owed for the rows of this pass so far.
    owed: f64,
    /// Cached visits allowed besides, while no fresh row waits.
    spare: f64,
    /// Fresh rows of this pass that were worth keeping, and how many the last pass had.
    relevant: usize,
    last_relevant: Option<usize>,
    /// The most that a sweep's rows have left of the gap since fresh rows came, and whether some came since the last sweep.
    most_open: f64,
    refreshed: bool,
    /// Nothing to gain from another sweep before fresh rows come.
    settled: bool,
    /// The last row of the pass has come.
    ending: bool,
    /// Since when no row has come, as far as it was looked.
    waiting: Option<Instant>,
    pub(in crate::training) crew: Crew<T>,
    /// What is found of the rows of a batch, or of some groups; and where the rows of a batch are filed.
    found: Vec<u8>,
    pub(in crate::training) answers: Vec<u16>,
    /// Learns metrics for leeways, where those are wanted.
    pub(in crate::training) learner: Option<MetricLearner>,
    /// Where rows are filed, so that passes leave some of them out.
    pub(in crate::training) index: Option<Indexed>,
}

/// Rows that a working set in a cache with so many words aims to keep.
pub(in crate::training) fn kept_rows(words: usize, facts: &Facts) -> usize {
    let rows = KEPT * words as f64 / facts.stored_row_words.max(1) as f64;
    (rows as usize).clamp(1, facts.rows.max(1))
}

/// Has metrics learned from some rows of a batch.
pub(in crate::training) fn learn(learner: &mut MetricLearner, facts: &Facts, words: &[u32]) {
    let step = facts.rows.div_ceil(SAMPLE);
    let rows = VisitedBatch::as_stored(Batch::new(words, facts.dense));
    rows.step_by(step).for_each(|row| learner.take(&row));
}

impl<T: Real> Streaming<T> {
    pub(in crate::training) fn new(
        mut solver: Solver<T>,
        facts: Facts,
        region: WorkingSetRegion,
        consumer: Consumer,
        problem: &Problem,
        random: Random,
        log: Log,
    ) -> Result<Self, TrainError> {
        solver.let_rows_shrink(problem.policy() != Policy::Paper);
        let mut consumer = consumer;
        let index = Indexed::begin(&mut consumer, &facts, problem)?;
        if let Some(index) = &index {
            index.tell(&mut solver)?;
        }
        let trainers = match problem.policy() {
            Policy::Paper => 1,
            _ if problem.indexed() => 1,
            _ => problem.trainers(),
        };
        Ok(Self {
            passes: Passes::begin(solver, Some(consumer.portion()), log)?,
            index,
            consumer,
            set: WorkingSet::new(region, &facts)?,
            facts,
            level: Level::best(),
            random,
            timing: problem.timing(),
            policy: problem.policy(),
            picks: match (problem.policy(), problem.timing(), problem.picks()) {
                (Policy::Paper, _, Picks::Each(count)) => Picks::Each(count),
                (Policy::Paper, Timing::Timed, Picks::Free) => Picks::Free,
                _ => Picks::Usual,
            },
            threshold: Threshold::new(),
            cut: GRADES,
            margins: margins(),
            words: [0; GRADES + 1],
            sweep: Vec::new(),
            cursor: 0,
            grades: true,
            swept: 0,
            graded: 0.0,
            drops: false,
            is_owed: true,
            passing: 1.0,
            owed: 0.0,
            spare: 0.0,
            relevant: 0,
            last_relevant: None,
            most_open: 0.0,
            refreshed: false,
            settled: false,
            ending: false,
            waiting: None,
            crew: Crew::new(trainers, &facts)?,
            found: Vec::new(),
            answers: Vec::new(),
            learner: None,
        })
    }

    /// Has metrics learned from rows of the first pass.
    pub(in crate::training) fn learn_metrics(&mut self) -> Result<(), TrainError> {
        self.learner = learner(&self.facts)?;
        Ok(())
    }

    /// Not where rows come to their sides by visits: those in the cache would decide about the others.
    fn may_sweep(&self, visits: f64) -> bool {
        self.passes.current == StreamedPass::Full
            && visits >= self.least_visits()
            && !self.settled
            && !self.passes.solver.opens()
    }

    /// Words of a portion that is no larger than `most`, where rows are to come in portions.
    fn portion(&self, most: usize) -> Option<usize> {
        let solver = &self.passes.solver;
        let heads = solver.running_heads().max(1);
        let words = most.min(PORTION_WORDS / heads);
        let comes = match self.policy {
            Policy::Paper => false,
            _ => self.crew.shares(solver, &self.facts, words) == Sharing::Rows,
        };
        comes.then_some(words)
    }

    /// Cached visits that are made at a time at least.
    fn least_visits(&self) -> f64 {
        let row = self.facts.stored_row_words.max(1);
        let words = self.portion(self.set.len() * row);
        words.map_or(GROUP, |words| GROUP.max(words / row)) as f64
    }

    /// Whether no row has come for long enough that the working set is swept meanwhile. A reader that is only a little slower
    /// is waited for.
    fn idles(&mut self) -> bool {
        let since = *self.waiting.get_or_insert_with(Instant::now);
        since.elapsed() >= IDLE
    }

    /// Whether the end of a pass may wait for the working set: no row of the next pass has come. (The published form knows
    /// nothing of that.)
    fn waits(&mut self) -> bool {
        self.timing == Timing::Timed
            && self.policy != Policy::Paper
            // with an index none comes before it is announced
            && self.index.is_none()
            && self.consumer.front().is_none()
    }

    /// Rows at a bound are kept when their gradient is within this of it.
    fn margin(&self) -> f64 {
        let margin = self.margins.get(self.cut);
        margin.copied().unwrap_or(f64::INFINITY)
    }

    /// Words of fresh rows that are visited at a time; 1 for a batch.
    fn fresh_words(&self) -> usize {
        let most = self.consumer.most_of_a_portion();
        // a batch is no longer than that, unless a row is
        match self.portion(most) {
            Some(words) if self.facts.max_row_words <= most => words,
            _ => 1,
        }
    }

    /// Visits the oldest batches of fresh rows; None when there are none, or too few.
    fn take_batches(&mut self) -> Result<Option<usize>, TrainError> {
        let (margin, words) = (self.margin(), self.fresh_words());
        let Some(batches) = self.consumer.portion_of(words)? else {
            return Ok(None);
        };
        self.ending = batches.last().is_some_and(|it| it.ends == Ends::Pass);
        let values = batches.iter().map(|batch| batch.words.len()).sum();
        let pass = self.passes.current;
        let fresh = Fresh {
            batches: &batches,
            dense: self.facts.dense,
            margin,
            pass,
            visits: self.policy != Policy::Paper,
        };
        let to = (&mut self.passes.solver, &self.facts, self.level);
        let asked = (values, pass.of_solver());
        self.crew.show(to, &fresh, asked, &mut self.found)?;
        let batches = batches.len();
        self.sort_found(batches)?;
        if pass == StreamedPass::Full {
            self.owe(self.found.len());
            if self.ending && self.queries() {
                self.owed += SWEEPS * self.set.len() as f64;
                self.refreshed = true;
            }
        }
        Ok(Some(values))
    }

    /// Keeps the rows of so many batches that were found worth it, and gives the room of the batches back.
    fn sort_found(&mut self, batches: usize) -> Result<(), TrainError> {
        let dense = self.facts.dense;
        self.passes.rows += self.found.len();
        let mut found = self.found.iter();
        for _ in 0..batches {
            let Some(batch) = self.consumer.front() else {
                break;
            };
            if let (Some(learner), 1) = (&mut self.learner, self.passes.begun) {
                learn(learner, &self.facts, batch.words);
            }
            self.passes.keep(batch.words, dense);
            if let Some(index) = self.index.as_mut().filter(|index| index.files()) {
                let rows = Batch::new(batch.words, dense);
                self.answers.clear();
                self.answers.room(rows.count())?;
                for row in Batch::new(batch.words, dense) {
                    self.answers.push(index.file(&row, &self.passes.solver)?);
                }
            }
            if let (Some(index), 1) = (&mut self.index, self.passes.begun) {
                index.learn(batch.words, dense);
            }
            let rows = Batch::new(batch.words, dense).zip(&mut found);
            // in a verifying pass none is
            for (row, _) in rows.filter(|(_, found)| **found == KEEP) {
                self.relevant += 1;
                self.set.insert(&row, &mut self.random);
                (self.settled, self.refreshed) = (false, true);
                self.most_open = 0.0;
            }
            if !self.answers.is_empty() {
                self.consumer.answer(self.answers.drain(..));
            }
            self.consumer.release();
        }
        Ok(())
    }

    /// Owes cached visits for so many fresh rows.
    fn owe(&mut self, rows: usize) {
        // those that an index leaves out count as those that come
        let rows = rows as f64 * self.index.as_ref().map_or(1.0, Indexed::rows_for_each);
        match self.picks {
            Picks::Usual => {
                let visits = rows * CACHED_VISITS.min(self.all_sweeps());
                self.owed += visits;
                self.spare += SPARE * visits;
            }
            Picks::Each(count) => self.owed += rows * f64::from(count),
            Picks::Free => self.spare = f64::INFINITY,
        }
    }

    /// Cached visits for a fresh row with which every row kept would be visited in all sweeps of a pass.
    fn all_sweeps(&self) -> f64 {
        SWEEPS * self.set.len() as f64 / self.facts.rows as f64
    }

    /// Whether the rows that have come are what a forest was asked for: those in the cache are trained on with them before it is asked
    /// again.
    fn queries(&self) -> bool {
        self.index.as_ref().is_some_and(Indexed::queries)
    }

    /// Whether rows are picked a given number of times, all of which belong to the pass.
    fn counts_picks(&self) -> bool {
        matches!(self.picks, Picks::Each(_))
    }

    fn end_pass(&mut self) -> Result<(), TrainError> {
        self.forget_pass();
        if self.passes.current == StreamedPass::Full {
            self.last_relevant = Some(std::mem::take(&mut self.relevant));
        }
        self.crew.end_checks(&mut self.passes.solver);
        let held = self.held();
        if let Some(index) = &mut self.index {
            index.end_pass((&mut self.passes.solver, self.passes.current))?;
        }
        self.passes.end(held)?;
        match &mut self.index {
            Some(index) => index.announce_next(&mut self.passes, (&mut self.consumer, &self.set)),
            None => Ok(()),
        }
    }

    /// Visits a few groups of the working set.
    fn sweep_some(&mut self) -> Result<usize, TrainError> {
        if self.policy == Policy::Paper {
            return Ok(self.pick_some());
        }
        if self.cursor >= self.sweep.len() {
            self.begin_sweep()?;
            if self.sweep.is_empty() {
                self.settled = true;
                return Ok(0);
            }
        }
        let end = (self.cursor + self.sweep_groups()).min(self.sweep.len());
        let sweep = Sweep {
            pages: self.set.pages(),
            groups: &self.sweep[self.cursor..end],
            margins: self.grades.then_some(&self.margins),
        };
        let values = sweep.groups.len() * GROUP * self.facts.mean_row_words;
        let to = (&mut self.passes.solver, &self.facts, self.level);
        self.crew
            .show(to, &sweep, (values, Pass::Active), &mut self.found)?;
        let values = self.count_visits(self.cursor..end);
        self.cursor = end;
        if self.cursor == self.sweep.len() {
            self.end_sweep()?;
        }
        Ok(values)
    }

    /// Groups swept at a time: so many that it makes no difference, since the rest would come next in any case, or as many as
    /// trainers divide.
    fn sweep_groups(&self) -> usize {
        let group = GROUP as f64;
        let waits = self.owed < group && self.crew.pool.members() > 1;
        let least = if waits { WAITING * group } else { group };
        let visits = self.least_visits().max(self.owed).max(least);
        let sure = (visits - group).max(0.0) / (group * SWEEP_GROUPS as f64);
        SWEEP_GROUPS * (1 + sure as usize)
    }

    /// Takes into account what was found of the rows of some groups; gives back the values visited.
    fn count_visits(&mut self, groups: Range<usize>) -> usize {
        let mut all = 0;
        for (at, number) in groups.zip(0..) {
            let (page, first) = self.sweep[at];
            let (page, first) = (page as usize, first as usize);
            let (mut visits, mut passed_over) = (0u32, 0u32);
            for slot in first..self.set.read(page).slots().min(first + GROUP) {
                let found = usize::from(self.found[GROUP * number + slot - first]);
                let row = self.set.read(page).row(slot);
                let Some(row) = row.filter(|_| found <= GRADES) else {
                    passed_over += 1;
                    continue;
                };
                visits += 1;
                self.swept += row.visited_values();
                all += row.visited_values();
                if self.grades {
                    self.words[found] += row.words().len();
                    if found > self.cut {
                        self.set.evict(page, slot);
                    }
                }
            }
            self.pay(f64::from(visits) + f64::from(passed_over) * self.passing);
            // a row passed over has been looked at
            all += passed_over as usize;
        }
        all
    }

    /// Takes cached visits off what is owed, or else off what is allowed besides.
    pub(in crate::training) fn pay(&mut self, visits: f64) {
        if self.owed >= GROUP as f64 {
            self.owed -= visits;
        } else {
            self.spare -= visits;
        }
    }

    fn begin_sweep(&mut self) -> Result<(), TrainError> {
        self.set.order(&mut self.sweep, &mut self.random)?;
        (self.cursor, self.swept) = (0, 0);
        let fill = self.set.fill();
        // of most rows a sweep that visits all is as long as half a pass, and few others would be left
        let holds_most = 2 * self.set.len() > self.facts.rows;
        let is_due = !holds_most || self.drops || fill > self.graded + GROWN;
        // a row that shrinks does not come again where a forest is asked for others
        let looks_at_all = self.queries() && self.refreshed;
        self.grades = (fill > ROOMY && is_due) || looks_at_all;
        self.is_owed = self.owed >= GROUP as f64;
        self.passing = (CACHED_VISITS / self.all_sweeps()).min(1.0);
        self.words = [0; GRADES + 1];
        self.passes.solver.begin_active();
        Ok(())
    }

    /// Forgets what is of one pass, half a sweep too: the solver begins its sums anew.
    fn forget_pass(&mut self) {
        let owed = if self.counts_picks() { self.owed } else { 0.0 };
        (self.owed, self.spare) = (owed, 0.0);
        (self.settled, self.ending) = (false, false);
        self.sweep.clear();
        self.cursor = 0;
    }

    fn end_sweep(&mut self) -> Result<(), TrainError> {
        self.note_sweep();
        let open = self.passes.solver.open();
        self.most_open = self.most_open.max(open);
        let tolerated = self.passes.solver.tolerance() * self.passes.solver.last_dual();
        let worthwhile = self.swept * FEATURES_PER_VALUE >= self.facts.features;
        self.settled = open <= SETTLED * self.most_open.max(tolerated) || !worthwhile;
        let covering = self.margin() >= COVERING_MARGIN * self.passes.solver.violation().min(1.0)
            && self.set.len() as f64 >= COVERING * self.relevant_rows() as f64;
        // what is settled has no more to say about this centre
        if worthwhile && (self.settled || (covering && self.is_owed)) {
            self.passes.solver.end_active()?;
        }
        if self.grades {
            self.choose_cut();
        }
        Ok(())
    }

    /// Has the next sweep drop the rows that are held most firmly, beyond the room they may take.
    fn choose_cut(&mut self) {
        let room = (KEPT * self.set.capacity_words() as f64) as usize;
        let (cut, _) = limit(&self.words, room);
        self.drops = cut < self.cut;
        if self.drops {
            self.cut = cut;
        } else if self.refreshed {
            // without fresh rows there are fewer because the others were dropped
            self.cut = cut.min(self.cut + 1);
        }
        self.refreshed = false;
        self.graded = self.set.fill();
    }

    /// Notes a sweep of the working set, or as many picks as there are rows.
    pub(in crate::training) fn note_sweep(&mut self) {
        let held = self.held();
        self.passes.note((Event::Active, None), held);
    }

    fn held(&self) -> Held {
        Held {
            rows: self.set.len() as u64,
            evictions: self.set.evicted + self.set.replaced,
        }
    }

    /// What is due next; gives back the values it took, None where nothing is. `took`: whether a batch has been taken in
    /// this step.
    fn advance(&mut self, took: &mut bool) -> Result<Option<usize>, TrainError> {
        let picks = (self.counts_picks() || self.queries()) && self.may_sweep(self.owed);
        if self.ending && !picks {
            if self.waits() && self.may_sweep(self.spare) {
                return match self.idles() {
                    true => self.sweep_some().map(Some),
                    false => Ok(None),
                };
            }
            self.waiting = None;
            self.end_pass()?;
            return Ok(Some(self.facts.features));
        }
        if self.may_sweep(self.owed) {
            return self.sweep_some().map(Some);
        }
        if let Some(values) = self.take_batches()? {
            *took = true;
            self.waiting = None;
            return Ok(Some(values));
        }
        // after a batch the reader must hear of the room before the waiting time is used for sweeps
        let spare = !*took && self.timing == Timing::Timed && self.may_sweep(self.spare);
        if spare && (self.policy == Policy::Paper || self.idles()) {
            return self.sweep_some().map(Some);
        }
        Ok(None)
    }

    /// Rows that an active pass would visit if the cache could hold them.
    fn relevant_rows(&self) -> usize {
        self.last_relevant.unwrap_or_else(|| {
            let share = self.relevant as f64 / self.passes.rows.max(1) as f64;
            (share * self.facts.rows as f64) as usize
        })
    }
}

impl<T: Real> InPasses for Streaming<T> {
    type Number = T;

    fn passes(&self) -> &Passes<T> {
        &self.passes
    }

    fn passes_mut(&mut self) -> &mut Passes<T> {
        &mut self.passes
    }

    fn train(&mut self, budget_values: usize) -> Result<Step, TrainError> {
        let mut took = false;
        train_by(self, budget_values, |this, _| this.advance(&mut took))
    }

    fn suit(&self, solver: &mut Solver<T>) {
        solver.let_rows_shrink(self.policy != Policy::Paper);
    }

    fn begin_anew(&mut self) -> Result<(), TrainError> {
        self.crew.part();
        self.threshold = Threshold::new();
        self.cut = GRADES;
        (self.graded, self.drops) = (0.0, false);
        self.most_open = 0.0;
        (self.relevant, self.last_relevant) = (0, None);
        self.forget_pass();
        if let Some(index) = &mut self.index {
            index.tell(&mut self.passes.solver)?;
            index.read_all(&mut self.consumer);
        }
        Ok(())
    }

    fn begin_scan(&mut self) {
        if let Some(index) = &mut self.index {
            index.read_all(&mut self.consumer);
        }
    }

    fn scan(&mut self, sums: &mut dyn ScanRows<Solver<T>>, budget_values: usize) -> Step {
        let consumer = &mut self.consumer;
        let step = self
            .passes
            .read(consumer, self.facts.dense, sums, budget_values);
        if let (Step::Done, Some(index)) = (step, &mut self.index) {
            index.end_reading();
        }
        step
    }

    fn kept(&self) -> Tallies {
        Tallies {
            working_set_rows: self.set.len() as u64,
            evictions: self.set.evicted,
            replaced: self.set.replaced,
            ..Tallies::default()
        }
    }

    fn learned_metrics(&self) -> Vec<Metric> {
        let learner = self.learner.as_ref();
        learner.map_or_else(Vec::new, |learner| learned(learner, &self.passes.solver))
    }
}
