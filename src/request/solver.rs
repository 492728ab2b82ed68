//! The arguments `loss`, `solver`, `tolerance`, `max_passes` and those of `options` that say how the optimization problem is
//! solved, checked against each other: [`Terms`]. Pure.

use crate::base::errors::Failure;
use crate::combinations::{losses, options, scans};
use crate::request::options::{
    Choices, ChunksWord, InnerWord, InterceptWord, MachinesWord, TruncationWord, CRAMMER_SINGER,
};
use crate::request::words::{chosen, invalid, sql_float, word};
use crate::request::Arguments;
use pgsvm_core::{
    Cuts, ForestShape, Inner, Leader, Loss, Order, Picks, Policy, Problem, Proximal, Spooling,
    StopRule, Updates,
};
use serde::{Deserialize, Serialize};

/// Cap on passes when the user gives none: far above what a solvable problem takes.
const DEFAULT_MAX_PASSES: u32 = 1000;
/// Relative gap at which training stops where nothing says another.
const USUAL_TOLERANCE: f64 = 1e-3;
/// The same of the range of projected gradients: StreamSVM's.
const USUAL_RANGE: f64 = 1e-4;

/// The words for `loss`, first what holds where nothing is given; and s, where min(L, 1 + s) is meant and nobody says another.
const LOSSES: [(&str, (Loss, Option<f64>)); 4] = [
    ("squared_hinge", (Loss::SquaredHinge, None)),
    ("hinge", (Loss::Hinge, None)),
    ("ramp", (Loss::Hinge, Some(1.0))),
    ("truncated_squared_hinge", (Loss::SquaredHinge, Some(1.25))),
];

/// Where s is to be chosen, the ones that are tried: so many times the usual one of the loss.
const TRUNCATIONS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// The word for rows that are filed in chunks which passes leave out.
pub(super) const INDEXED: &str = "indexed";
/// The same, where Newton's method read them.
const INDEXED_NEWTON: &str = "indexed, inner newton";

/// The word for PSVM.
pub(super) const INTERIOR_POINT: &str = "interior_point";

/// The words for training by scans.
pub(super) const SCAN: &str = "scan";
pub(super) const OCAS: &str = "ocas";
const CUTTING_PLANE: &str = "cutting_plane";
/// How far from the best weights to the newest OCAS makes a plane, where nothing is said: the paper's.
const LAMBDA: f64 = 0.1;

/// How to go about the optimization problem; travels to the workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    pub loss: Loss,
    /// s, where the loss is truncated: min(L, 1 + s).
    pub truncation: Option<f64>,
    pub intercept: bool,
    pub tolerance: f64,
    pub max_passes: u32,
    pub seed: u64,
    pub policy: Policy,
    pub leader: Leader,
    /// Which planes training by scans makes.
    pub cuts: Cuts,
    /// Whether several classes are told apart together, by planes of all rows.
    pub together: bool,
    /// Whether the intercept's weight is left out of the norm.
    pub free_intercept: bool,
    /// Whether each process that holds rows trains on them alone, and the weights found are averaged.
    pub averages: bool,
    /// Whether rows that do not fit the cache are filed, so that passes leave chunks out.
    pub indexed: bool,
    /// A metric forest that does so; None: by how far rows are from mattering.
    pub forest: Option<ForestShape>,
    /// Whether interior points on a factor of the kernel matrix solve it.
    pub interior_point: bool,
    pub proximal: Proximal,
    /// Rounds over a block, for the solvers that have blocks.
    pub inner_rounds: u32,
    /// How a block is solved.
    pub inner: Inner,
    /// Into how many blocks rows are split; None: as few as fit the cache.
    pub blocks: Option<u32>,
    /// How many rows of the cache the published form picks.
    pub picks: Picks,
    /// When training ends.
    pub stop: StopRule,
    /// How rows that do not fit the cache are spooled.
    pub spooling: Spooling,
    /// Where the runs of strings are made.
    pub expansion: Expansion,
    /// Whether the dual variables are stored with the model.
    pub keep_duals: bool,
}

/// When the features of a string are made of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expansion {
    /// When a row is visited, wherever that can be.
    #[default]
    Auto,
    /// When it is read.
    Stored,
    /// When it is visited; what cannot be is an error.
    Visit,
}

impl Terms {
    /// The word for `loss`.
    pub fn loss_word(&self) -> &'static str {
        let is = |(loss, s): (Loss, Option<f64>)| {
            loss == self.loss && s.is_some() == self.truncation.is_some()
        };
        let known = LOSSES.iter().find(|(_, known)| is(*known));
        known.map_or("", |(word, _)| word)
    }

    /// The loss of a model of so many classes, as its version has it.
    pub fn loss_of(&self, classes: usize) -> &'static str {
        match self.together && classes > 2 {
            true => CRAMMER_SINGER,
            false => self.loss_word(),
        }
    }

    /// The word for `solver`.
    pub fn solver(&self) -> &'static str {
        match (self.policy, self.leader) {
            _ if self.interior_point => INTERIOR_POINT,
            _ if self.indexed => INDEXED,
            (Policy::Cached, Leader::Auto) => "auto",
            (Policy::Cached, Leader::Newton) => "newton",
            (Policy::Cached, Leader::Scans) => self.by_scans(),
            _ => self.solver_taken(false),
        }
    }

    /// The word for how it is trained by scans.
    fn by_scans(&self) -> &'static str {
        match self.cuts {
            Cuts::BesideHeld => SCAN,
            Cuts::Ocas(_) => OCAS,
            Cuts::Newest => CUTTING_PLANE,
        }
    }

    /// What the NOTICE counts: scans, steps or passes.
    pub fn what_is_counted(&self) -> &'static str {
        match self.leader {
            Leader::Scans => "scan",
            _ if self.interior_point => "step",
            _ => "pass",
        }
    }

    /// The word for what trained; `newton`: whether that was Newton's method.
    pub fn solver_taken(&self, newton: bool) -> &'static str {
        match self.policy {
            _ if self.interior_point => INTERIOR_POINT,
            _ if self.indexed && newton => INDEXED_NEWTON,
            _ if self.indexed => INDEXED,
            _ if self.leader == Leader::Scans => self.by_scans(),
            _ if newton && self.policy == Policy::Cached => "newton",
            Policy::Cached | Policy::Paper => "stream",
            Policy::Block => "block",
            Policy::SelectiveBlock => "selective_block",
        }
    }
}

/// How to go about the optimization problem.
pub(super) fn terms(given: &Arguments, choices: &Choices) -> Result<Terms, Failure> {
    // what minimizes one loss only takes that where none is given; else what the best known peers do: LIBLINEAR's loss, and LIBSVM's
    let solver = match given.solver.as_deref() {
        // planes alone tell classes apart together
        None | Some("auto") if choices.together() => OCAS,
        given => given.unwrap_or("auto"),
    };
    let is_kernel = given.kernel.as_deref().is_some_and(|it| it != "linear");
    let (loss, usual) = match (&given.loss, choices.inner) {
        (None, Some(InnerWord::Pegasos)) => (Loss::Hinge, None),
        (None, _) if [INTERIOR_POINT, OCAS, CUTTING_PLANE].contains(&solver) => (Loss::Hinge, None),
        (None, None) if is_kernel && solver != "newton" => (Loss::Hinge, None),
        (loss, _) => chosen("loss", loss.as_deref(), &LOSSES)?,
    };
    Ok(Terms {
        loss,
        truncation: choices.truncation(usual)?,
        intercept: given.intercept.unwrap_or(true),
        tolerance: tolerance(given.tolerance, choices.stop)?,
        max_passes: max_passes(given.max_passes)?,
        seed: given.seed.unwrap_or(0) as u32 as u64,
        policy: choices.policy_of(solver)?,
        leader: choices.leader_of(solver, loss)?,
        cuts: choices.cuts_of(solver),
        together: choices.together(),
        free_intercept: choices.free_intercept(solver, loss, given.intercept)?,
        averages: choices.averages(solver)?,
        indexed: solver == INDEXED,
        forest: choices.forest()?,
        interior_point: solver == INTERIOR_POINT,
        proximal: choices.proximal,
        inner_rounds: choices
            .inner_rounds
            .unwrap_or(Problem::DEFAULT_INNER_ROUNDS),
        inner: choices.inner(solver, loss, usual.is_some())?,
        blocks: choices.blocks,
        picks: choices.picks()?,
        stop: choices.stop_of(solver, loss)?,
        spooling: choices.spooling(),
        expansion: choices.expansion,
        keep_duals: choices.duals,
    })
}

fn tolerance(tolerance: Option<f64>, stop: StopRule) -> Result<f64, Failure> {
    let (usual, bounds, hint) = match stop {
        StopRule::Gap => (
            USUAL_TOLERANCE,
            "It bounds the relative duality gap, (primal - dual) / primal.",
            "tolerance => 1e-3",
        ),
        StopRule::MeanLoss => (
            USUAL_TOLERANCE,
            "It bounds (primal - dual) / C over the rows.",
            "tolerance => 1e-3",
        ),
        StopRule::ProjectedGradient => (
            USUAL_RANGE,
            "It bounds the range of the projected gradients.",
            "tolerance => 1e-4",
        ),
    };
    match tolerance.unwrap_or(usual) {
        value if value > 0.0 && value < 1.0 => Ok(value),
        value => Err(invalid(format!(
            "tolerance must lie between 0 and 1, not {}",
            sql_float(value)
        ))
        .detail(bounds)
        .hint(hint)),
    }
}

fn max_passes(passes: Option<i32>) -> Result<u32, Failure> {
    match passes {
        None => Ok(DEFAULT_MAX_PASSES),
        Some(passes) if passes > 0 => Ok(passes as u32),
        Some(passes) => Err(
            invalid(format!("max_passes must be positive, not {passes}"))
                .hint("max_passes => NULL leaves the limit to pgsvm"),
        ),
    }
}

impl Choices {
    /// The schedule that `solver` and the options choose together.
    fn policy_of(&self, solver: &str) -> Result<Policy, Failure> {
        let stream = self.policy.unwrap_or(Policy::Cached);
        let known = [
            ("auto", stream),
            ("stream", stream),
            ("block", Policy::Block),
            ("selective_block", Policy::SelectiveBlock),
            (INDEXED, Policy::Cached),
            ("newton", Policy::Cached),
            (SCAN, Policy::Cached),
            (OCAS, Policy::Cached),
            (CUTTING_PLANE, Policy::Cached),
            (INTERIOR_POINT, Policy::Cached),
        ];
        let policy = word("solver", solver, &known)?;
        let this = format!("'{solver}'");
        for option in &self.given {
            if let Some(solvers) = option
                .solvers
                .words()
                .filter(|words| !words.contains(&this))
            {
                return Err(options::of_another_solver(solver, option.name, solvers));
            }
        }
        match self.together() && ![OCAS, CUTTING_PLANE].contains(&solver) {
            true => Err(losses::together_by_planes(solver)),
            false => Ok(policy),
        }
    }

    /// Whether this solver has all options that were given.
    pub(super) fn are_for(&self, solver: &str) -> bool {
        self.policy.is_none() && self.policy_of(solver).is_ok() && self.stop == StopRule::Gap
    }

    /// What begins to solve the heads: Newton's method, scans, or neither.
    fn leader_of(&self, solver: &str, loss: Loss) -> Result<Leader, Failure> {
        match solver {
            "newton" if loss != Loss::SquaredHinge => Err(losses::newton_hinge()),
            INTERIOR_POINT if loss != Loss::Hinge => Err(losses::interior_squared_hinge()),
            OCAS | CUTTING_PLANE if loss != Loss::Hinge => {
                Err(losses::planes_squared_hinge(solver))
            }
            SCAN | OCAS | CUTTING_PLANE => Ok(Leader::Scans),
            INTERIOR_POINT if self.machines == Some(MachinesWord::Scans) => Ok(Leader::Scans),
            "newton" => Ok(Leader::Newton),
            INDEXED if self.inner == Some(InnerWord::Newton) => Ok(Leader::Newton),
            "auto" if self.intercept.is_some_and(|it| it == InterceptWord::Free) => {
                Ok(Leader::Newton)
            }
            "auto" => Ok(Leader::Auto),
            _ => Ok(Leader::Nobody),
        }
    }

    /// s, of losses that are truncated, whose `usual` one it is where nothing is given.
    fn truncation(&self, usual: Option<f64>) -> Result<Option<f64>, Failure> {
        match (usual, self.truncation) {
            (None, Some(_)) => Err(losses::truncation_without()),
            (Some(_), Some(TruncationWord::Is(s))) => Ok(Some(s)),
            (usual, _) => Ok(usual),
        }
    }

    /// The metric forest that files rows, if one is asked for.
    fn forest(&self) -> Result<Option<ForestShape>, Failure> {
        let of_forest = [
            ("tree_size", self.tree_size.is_some()),
            ("tree_width", self.tree_width.is_some()),
            ("query_size", self.query_size.is_some()),
            ("query_end", self.query_end.is_some()),
            ("shrink_above", self.shrink_above.is_some()),
        ];
        let given = of_forest.iter().find(|(_, is_given)| *is_given);
        match (self.chunks_by, given) {
            (Some(ChunksWord::Forest), _) if self.inner == Some(InnerWord::Newton) => {
                return Err(options::forest_newton())
            }
            (Some(ChunksWord::Forest), _) => {}
            (_, Some((name, _))) => return Err(options::without_forest(name)),
            _ => return Ok(None),
        }
        let usual = ForestShape::USUAL;
        Ok(Some(ForestShape {
            tree_size: self.tree_size.unwrap_or(usual.tree_size),
            tree_width: self.tree_width.unwrap_or(usual.tree_width),
            query_size: self.query_size,
            query_end: self.query_end,
            shrink_above: self.shrink_above.unwrap_or(usual.shrink_above),
        }))
    }

    /// The s to choose from, where it is to be chosen.
    pub(super) fn truncations(&self, terms: &Terms) -> Vec<f64> {
        match (self.truncation, terms.truncation) {
            (Some(TruncationWord::Auto), Some(usual)) => {
                TRUNCATIONS.map(|times| times * usual).to_vec()
            }
            _ => Vec::new(),
        }
    }

    /// Whether parts of the rows are trained on by themselves.
    fn averages(&self, solver: &str) -> Result<bool, Failure> {
        match self.machines {
            Some(MachinesWord::Count(_) | MachinesWord::Scans) if solver == SCAN => {
                Err(scans::machines_count())
            }
            Some(MachinesWord::Average) if self.intercept == Some(InterceptWord::Free) => {
                Err(losses::average_free_intercept())
            }
            Some(MachinesWord::Average) => Ok(solver == SCAN),
            _ => Ok(false),
        }
    }

    /// Which planes a training by scans makes.
    fn cuts_of(&self, solver: &str) -> Cuts {
        match solver {
            OCAS => Cuts::Ocas(self.lambda.unwrap_or(LAMBDA)),
            CUTTING_PLANE => Cuts::Newest,
            _ => Cuts::BesideHeld,
        }
    }

    /// Whether the intercept's weight is left out of the norm.
    fn free_intercept(
        &self,
        solver: &str,
        loss: Loss,
        intercept: Option<bool>,
    ) -> Result<bool, Failure> {
        if solver == INTERIOR_POINT && self.intercept == Some(InterceptWord::Regularized) {
            return Err(losses::interior_regularized_intercept());
        }
        // whose intercept it is anyway
        if self.intercept != Some(InterceptWord::Free) || solver == INTERIOR_POINT {
            return Ok(false);
        }
        if intercept == Some(false) {
            return Err(losses::free_intercept_none());
        }
        let newton = self.inner == Some(InnerWord::Newton);
        if !(matches!(solver, "auto" | "newton" | SCAN) || solver == INDEXED && newton) {
            return Err(losses::free_intercept_solver(solver));
        }
        if loss != Loss::SquaredHinge {
            return Err(losses::free_intercept_hinge());
        }
        Ok(true)
    }

    /// How many rows of the cache are picked.
    fn picks(&self) -> Result<Picks, Failure> {
        match self.picks {
            Some(_) if self.policy != Some(Policy::Paper) => Err(options::picks_without_paper()),
            picks => Ok(picks.unwrap_or(Picks::Usual)),
        }
    }

    /// When training ends, if `solver` knows that.
    fn stop_of(&self, solver: &str, loss: Loss) -> Result<StopRule, Failure> {
        if self.stop == StopRule::Gap {
            return Ok(self.stop);
        }
        if self.stop == StopRule::MeanLoss {
            return match [SCAN, OCAS, CUTTING_PLANE].contains(&solver) && loss == Loss::Hinge {
                true => Ok(self.stop),
                false => Err(options::svmperf_without_planes()),
            };
        }
        match self.inner {
            Some(InnerWord::Pegasos) => return Err(options::projected_gradient_pegasos()),
            Some(InnerWord::Newton) => return Err(options::projected_gradient_newton()),
            Some(InnerWord::Dual) | None => {}
        }
        if self.proximal == Proximal::On {
            return Err(options::projected_gradient_shift());
        }
        if !self.policy_of(solver)?.is_published() {
            return Err(options::projected_gradient_solver(solver));
        }
        Ok(self.stop)
    }

    /// How a block is solved, by options that agree with each other. Over an index Newton's method solves the heads.
    fn inner(&self, solver: &str, loss: Loss, truncated: bool) -> Result<Inner, Failure> {
        let inner = self.inner.unwrap_or(InnerWord::Dual);
        if self.inner_updates.is_some() && inner != InnerWord::Pegasos {
            return Err(options::inner_updates_without_pegasos());
        }
        let has_rounds =
            self.inner_rounds.is_some() || (self.proximal == Proximal::On && solver != INDEXED);
        match inner {
            InnerWord::Dual => Ok(Inner::CoordinateDescent),
            InnerWord::Newton if has_rounds => Err(options::inner_newton_rounds()),
            InnerWord::Pegasos if has_rounds => Err(options::inner_pegasos_rounds()),
            InnerWord::Newton if loss != Loss::SquaredHinge => {
                Err(losses::inner_newton_hinge(match truncated {
                    true => "truncated_squared_hinge",
                    false => "squared_hinge",
                }))
            }
            InnerWord::Newton if solver == INDEXED => Ok(Inner::CoordinateDescent),
            InnerWord::Newton => Ok(Inner::Newton),
            InnerWord::Pegasos if solver != "block" => Err(options::pegasos_solver(solver)),
            InnerWord::Pegasos => Ok(Inner::Pegasos(self.inner_updates.unwrap_or(Updates::Row))),
        }
    }

    fn spooling(&self) -> Spooling {
        Spooling {
            split: self.split.unwrap_or(Order::Random),
            block_order: self.block_order.unwrap_or(Order::Random),
            compression: self.compression,
        }
    }
}
