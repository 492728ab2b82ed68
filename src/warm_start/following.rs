//! A training that begins from what a version knows: which rows it takes, how they compare with those remembered, and where each
//! row's dual variable begins. In the leader only.

use crate::base::errors::{Code, Failure};
use crate::keys::out_of_memory;
use crate::pg::check_for_interrupts;
use crate::pg::kept_rows::KeptTuples;
use crate::targets::labels::SIDES;
use crate::warm_start::followed::{Followed, RowCounts};
use crate::warm_start::memory::VersionMemory;
use crate::warm_start::near::{known_heads, ComparedRows, KnownHead, NearMachine, WantedHeads};
use crate::warm_start::screening::Screening;
use pgsvm_core::kernels::Expansion;
use pgsvm_core::memory::{filled, Room};
use pgsvm_core::{Scaling, Start, TargetScale};
use std::cell::RefCell;
use std::rc::Rc;

/// A training that begins from what a model knows.
pub struct Following {
    /// Name of that model.
    pub model: String,
    pub memory: VersionMemory,
    pub rows: FollowedRows,
    /// By row taken, the row of the memory whose dual variable it begins with, or NOTHING.
    starts: Vec<u32>,
    counts: RowCounts,
    /// Rows of the memory up to the last one met, while they are met in their order; None once they were not.
    passed: Option<u32>,
    by_key: bool,
    /// Which rows need not be looked at, where there are such.
    pub screening: Option<Screening>,
    /// Rows to be read behind those of the source.
    pub added: Option<Rc<RefCell<KeptTuples>>>,
    /// What decides whether to begin from the memory; None where that is settled.
    pub choice: Option<CheaperStart>,
    /// Whether it was decided to begin from nothing.
    from_nothing: bool,
}

/// Whether a training is cheaper that begins from what a model knows of its rows, or one from nothing.
#[derive(Debug, Clone, Copy)]
pub struct CheaperStart {
    /// The gap at which training ends.
    pub tolerance: f64,
    /// Whether Pegasos is to be carried on.
    pub carries_on: bool,
}

/// A training from nothing takes so many visits of a row where it is not known how many; few, so that it is not slower where
/// they are.
const USUAL_EFFORT: f64 = 4.0;
/// Visits of a row that a training from memory takes besides: those that check what it begins from, and, once something has
/// changed, a pass over all rows.
const CHECKING: f64 = 1.0;
const PASS: f64 = 1.0;
/// As if what has changed had to be learned so many times over: dual variables of other rows give way to it.
const RELEARNING: f64 = 2.0;

/// Rows after which it is judged whether too many are others than before, none of which is screened: so many, fewer where the
/// judgement is rough, or one in so many of those known. And the share from which on they are: of a training that takes fewer visits of a row than this. Where more
/// than the last share is other, weights move too far whatever a training takes.
const ROWS_TO_JUDGE: u64 = 1000;
const ROWS_TO_JUDGE_ROUGHLY: u64 = 100;
const PART_TO_JUDGE: u64 = 16;
const MOST_DISTURBED: [(f64, f64); 3] = [(4.0, 0.05), (6.0, 0.25), (f64::INFINITY, 0.3)];

impl CheaperStart {
    /// Whether to begin from nothing where that took `effort` visits of a row.
    fn is_nothing(&self, counts: &RowCounts, effort: Option<f64>) -> bool {
        let differ = counts.changed + counts.added + counts.gone;
        let share = differ as f64 / counts.taken().max(1) as f64;
        if self.carries_on {
            // an update has the say of one among all that were made, so that what is new remains open for so many passes
            return share > self.tolerance;
        }
        let effort = effort.unwrap_or(USUAL_EFFORT);
        differ > 0 && CHECKING + PASS + RELEARNING * share * effort > effort
    }
}

/// Which rows of the source are trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowedRows {
    All,
    /// Those that the memory knows, and those marked as added, which it must not know.
    Known,
}

/// No row of the memory.
const NOTHING: u32 = u32::MAX;
/// About a millisecond of copying.
const ROWS_BETWEEN_INTERRUPTS: usize = 1 << 18;

impl Following {
    pub fn new(model: String, memory: VersionMemory, rows: FollowedRows) -> Self {
        Self {
            model,
            by_key: memory.rows.len() > 0,
            memory,
            rows,
            starts: Vec::new(),
            counts: RowCounts::default(),
            passed: Some(0),
            screening: None,
            added: None,
            choice: None,
            from_nothing: false,
        }
    }

    /// Has the training begin from nothing, whatever has changed: what the memory knows then says which rows are trained on.
    pub fn begin_from_nothing(&mut self) {
        self.choice = None;
        self.from_nothing = true;
    }

    /// Lets rows be screened where that is worth it; what is known of them stands in `schema` under the version's `id`.
    pub fn plan_screening(&mut self, schema: &str, id: i64, tolerance: f64) -> Result<(), Failure> {
        let slacks = self.memory.load_slacks(schema, id)?;
        self.screening =
            slacks.and_then(|it| Screening::plan(it, self.memory.support_vectors(), tolerance));
        Ok(())
    }

    /// The version begun from, and with a key how its rows compare.
    pub fn followed(&self) -> Followed {
        Followed {
            model: self.memory.name().to_owned(),
            rows: self.by_key.then_some(self.counts),
            screened: self.screening.as_ref().map(|it| it.rows.len() as u64),
            rechecked: None,
            from_nothing: self.from_nothing,
        }
    }

    /// Whether a row is trained on.
    pub(super) fn wants(&mut self, known: bool, added: bool) -> Result<bool, ()> {
        if self.rows == FollowedRows::All {
            return Ok(true);
        }
        match (known, added) {
            (true, true) => Err(()),
            (false, false) => {
                self.counts.unused += 1;
                Ok(false)
            }
            (true, false) | (false, true) => Ok(true),
        }
    }

    /// Takes row `number` of the source without a look at its features, if it is that version of a row of the memory.
    pub(super) fn screen(
        &mut self,
        known: u32,
        version: u64,
        class: u32,
        number: u64,
    ) -> Result<bool, Failure> {
        if self.is_disturbed() {
            return Ok(false);
        }
        let place = self.counts.taken();
        let screened = match &mut self.screening {
            Some(screening) => screening.screen(known, version, class, number, place)?,
            None => false,
        };
        if screened {
            self.counts.unchanged += 1;
            self.pass(known);
        }
        Ok(screened)
    }

    /// Whether so many of the rows met so far are others than before, or are missing, that the weights will move farther than
    /// screening reckons with, while the training takes few visits: those screened in vain would be read a second time, which
    /// costs more than what is saved.
    fn is_disturbed(&self) -> bool {
        let RowCounts {
            unchanged,
            changed,
            added,
            ..
        } = self.counts;
        let found = unchanged + changed;
        let missing = self.passed.map_or(0, u64::from).saturating_sub(found);
        let seen = found + added;
        let share = (changed + added + missing) as f64 / seen.max(1) as f64;
        let effort = self.memory.effort().unwrap_or(f64::MAX);
        let most = MOST_DISTURBED.iter().find(|(visits, _)| effort < *visits);
        let enough = match effort < MOST_DISTURBED[1].0 {
            true => ROWS_TO_JUDGE,
            false => ROWS_TO_JUDGE_ROUGHLY,
        };
        let enough = enough.min(self.memory.rows.len() as u64 / PART_TO_JUDGE);
        most.is_some_and(|(_, most)| seen < enough || share > *most)
    }

    /// Row `known` of the memory has been met.
    fn pass(&mut self, known: u32) {
        self.passed = self
            .passed
            .filter(|passed| known >= *passed)
            .map(|_| known + 1);
    }

    /// Takes a row whose features were looked at.
    pub(super) fn take(
        &mut self,
        known: Option<u32>,
        class: u32,
        digest: u64,
    ) -> Result<(), Failure> {
        if let Some(screening) = &mut self.screening {
            screening.looked_at(class);
        }
        if let Some(row) = known {
            self.pass(row);
        }
        let start = match known {
            Some(row) if self.memory.rows.digest(row) == digest => {
                self.counts.unchanged += 1;
                row
            }
            Some(_) => {
                self.counts.changed += 1;
                NOTHING
            }
            None => {
                self.counts.added += 1;
                NOTHING
            }
        };
        self.starts.try_reserve(1).map_err(|_| out_of_memory())?;
        self.starts.push(start);
        Ok(())
    }

    /// What can be said only after the last row.
    pub(super) fn complete(&mut self) -> Result<(), Failure> {
        let found = self.counts.unchanged + self.counts.changed;
        self.counts.gone = self.memory.rows.len() as u64 - found;
        if self.rows == FollowedRows::All || self.counts.gone == 0 {
            return Ok(());
        }
        let rows = match self.counts.gone {
            1 => "1 row".to_owned(),
            many => format!("{many} rows"),
        };
        Err(Failure::new(
            Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "{rows} that model \"{}\" was trained on cannot be found in its source any more",
                self.model
            ),
        )
        .detail("The certificate is over all rows, so they are all read again.")
        .hint("svm_refresh(model) trains the model on the rows that its source has now"))
    }

    /// By head of the training, where it begins; none where nothing is the better beginning. Features come dense ones first. What is
    /// known of the rows, or of a regression of their sides, is given up.
    pub fn take_starts(
        &mut self,
        rows: usize,
        wanted: WantedHeads<'_>,
        scaling: &Scaling,
        features: (usize, usize),
        dropped: &[u64],
    ) -> Result<Vec<Start>, Failure> {
        let heads = known_heads(self.memory.model(), wanted)?;
        let by = (scaling, wanted.targets);
        self.from_nothing |= self.is_better_from_nothing();
        let memory = &self.memory;
        let of_head = |head: &KnownHead| {
            Ok(Start {
                updates: memory.updates_of(*head),
                duals: self.duals(memory.duals_of(*head), rows)?,
                weights: (memory.weights_of(*head, by, features, dropped)?)
                    .filter(|it| wanted.may_begin(it)),
            })
        };
        let starts = match self.from_nothing {
            true => Ok(Vec::new()),
            false => heads.iter().map(of_head).collect(),
        };
        if let (Some(screening), [only]) = (&mut self.screening, &heads[..]) {
            let all = (features.0, screening.features());
            screening.before = memory.weights_of(*only, by, all, dropped)?;
        }
        self.memory.forget_rows();
        self.starts = Vec::new();
        starts
    }

    /// By head of a training the weights that it begins at where dual variables are of no use to it: those of a class that is new are 0. None
    /// where it begins from nothing, or would have other features.
    pub fn weights_of(
        &self,
        wanted: WantedHeads<'_>,
        scaling: &Scaling,
        features: (usize, usize),
        dropped: &[u64],
    ) -> Result<Vec<Vec<f64>>, Failure> {
        let heads = known_heads(self.memory.model(), wanted)?;
        let by = (scaling, wanted.targets);
        let mut found = false;
        let mut all = Vec::new();
        all.room(heads.len())?;
        for head in heads.iter().filter(|_| !self.from_nothing) {
            let known = (self.memory).weights_of(*head, by, features, dropped)?;
            let known = known.filter(|it| wanted.may_begin(it));
            found |= known.is_some();
            all.push(match known {
                Some(weights) => weights,
                None => filled(0.0, features.1 + 1)?,
            });
        }
        Ok(if found { all } else { Vec::new() })
    }

    /// Whether the rows have changed so much that a training from nothing is cheaper.
    fn is_better_from_nothing(&self) -> bool {
        self.choice.is_some_and(|choice| {
            let rows = &self.memory.rows;
            let gone = self.counts.gone + (rows.all() - rows.len()) as u64;
            let counts = RowCounts {
                gone,
                ..self.counts
            };
            choice.is_nothing(&counts, self.memory.effort())
        })
    }

    /// What a kernel machine begins near whose rows are compared like this: the model's machines, and by head the dual variables of its rows.
    /// None where it begins from nothing. What is known of the rows is given up.
    pub fn take_near(
        &mut self,
        rows: usize,
        wanted: WantedHeads<'_>,
        compared: &ComparedRows<'_>,
        dropped: &[u64],
    ) -> Result<Option<NearMachine>, Failure> {
        let heads = known_heads(self.memory.model(), wanted)?;
        let near = self.near(&heads, wanted.targets, (compared, dropped))?;
        self.from_nothing |= near.is_none();
        let mut duals = Vec::new();
        duals.room(heads.len())?;
        for head in heads.iter().filter(|_| near.is_some()) {
            duals.push(self.duals(self.memory.duals_of(*head), rows)?);
        }
        self.memory.forget_rows();
        self.starts = Vec::new();
        Ok(near.map(|machines| NearMachine { machines, duals }))
    }

    /// The same where dual variables are of no use.
    pub fn machines(
        &self,
        wanted: WantedHeads<'_>,
        compared: &ComparedRows<'_>,
        dropped: &[u64],
    ) -> Result<Option<Expansion>, Failure> {
        let heads = known_heads(self.memory.model(), wanted)?;
        self.near(&heads, wanted.targets, (compared, dropped))
    }

    fn near(
        &self,
        heads: &[KnownHead],
        targets: Option<TargetScale>,
        compared: (&ComparedRows<'_>, &[u64]),
    ) -> Result<Option<Expansion>, Failure> {
        match self.from_nothing {
            true => Ok(None),
            false => self.memory.machines(heads, targets, compared),
        }
    }

    /// The dual variables with which the rows begin in a head whose own are known: of a regression those of both sides, of which one
    /// is 0.
    fn duals(&self, known: &[f32], rows: usize) -> Result<Vec<f32>, Failure> {
        let sides = match self.memory.model().regresses {
            true => SIDES.len(),
            false => 1,
        };
        let mut duals: Vec<f32> = Vec::new();
        duals
            .try_reserve_exact(rows.max(sides * self.starts.len()))
            .map_err(|_| out_of_memory())?;
        for starts in self.starts.chunks(ROWS_BETWEEN_INTERRUPTS) {
            check_for_interrupts();
            let begin = |row: &u32| known.get(*row as usize).copied().unwrap_or(0.0);
            match sides {
                1 => duals.extend(starts.iter().map(begin)),
                _ => duals.extend(
                    starts
                        .iter()
                        .map(begin)
                        .flat_map(|it| [-it, it].map(|it| it.max(0.0))),
                ),
            }
        }
        // without a key nothing is known of the rows
        duals.resize(rows, 0.0);
        Ok(duals)
    }
}
