//! The arguments `loss`, `solver`, `tolerance`, `max_passes` and those of `options` that say how the optimization problem is
//! solved, checked against each other: [`SolvingTerms`]. Pure.

use crate::base::errors::Failure;
use crate::combinations::{choosing, kernels, losses, novelty, options, regression, scans};
use crate::request::kernel::checked_rank;
use crate::request::option_words::{
    ChunksWord, EpsilonWord, ExpansionTime, InnerWord, MachinesWord, Task, TruncationWord,
    CRAMMER_SINGER,
};
use crate::request::options::{table, Choices};
use crate::request::words::{chosen, invalid, sql_float, word};
use crate::request::Arguments;
use pgsvm_core::memory::{list, received};
use pgsvm_core::{
    Blocks, Compression, Cuts, ForestShape, Formulation, Indexed, Inner, Intercept, InteriorChoice,
    InteriorRank, InteriorTerms, Loss, LowRankJob, Machines, Order, Parameters, Picks, Policy,
    Proximal, SolverChoice, StopRule, Stopping, TargetJob, Updates,
};
use serde::{Deserialize, Serialize};

/// Relative gap at which training stops where nothing says another.
const USUAL_TOLERANCE: f64 = 1e-3;
/// The share of rows that are novel where nobody says it.
const USUAL_NU: f64 = 0.1;
/// Solvers that find novelties.
const NOVELTY_SOLVERS: [&str; 6] = ["auto", "stream", "block", "selective_block", INDEXED, SCAN];
/// The same of novelties, where it says on which side of the margin rows are that lie on it.
const TOLERANCE_OF_NOVELTIES: f64 = 1e-6;
/// The same of the range of projected gradients: StreamSVM's.
const USUAL_RANGE: f64 = 1e-4;

/// The words for `loss`, first what holds where nothing is given; and s, where min(L, 1 + s) is meant and nobody says another.
const LOSSES: [(&str, (Loss, Option<f64>)); 4] = [
    ("squared_hinge", (Loss::SquaredHinge, None)),
    ("hinge", (Loss::Hinge, None)),
    ("ramp", (Loss::Hinge, Some(1.0))),
    ("truncated_squared_hinge", (Loss::SquaredHinge, Some(1.25))),
];

/// The same of a regression: losses of the distance from the label, zero up to epsilon.
const OF_DISTANCE: [(&str, (Loss, Option<f64>)); 4] = [
    ("squared_epsilon_insensitive", (Loss::SquaredHinge, None)),
    ("epsilon_insensitive", (Loss::Hinge, None)),
    (QUANTILE, (Loss::Hinge, None)),
    (HUBER, (Loss::Huber, None)),
];
/// All of them.
const ALL_LOSSES: [(&str, (Loss, Option<f64>)); 8] = {
    let [squared_hinge, hinge, ramp, truncated] = LOSSES;
    let [squared, straight, quantile, huber] = OF_DISTANCE;
    [
        squared_hinge,
        hinge,
        ramp,
        truncated,
        squared,
        straight,
        quantile,
        huber,
    ]
};
/// The word for the loss of a quantile, and which one it is where nobody says it: the median.
pub(super) const QUANTILE: &str = "quantile";
const MEDIAN: f64 = 0.5;
/// The word for Huber's loss.
pub(super) const HUBER: &str = "huber";
/// What epsilon is where nobody says it, in deviations of the label: of straight lines LIBSVM's and scikit-learn's, which leaves most rows
/// without a say. Squares need none: without it they are those of ridge regression, which predicts the mean.
const EPSILON: f64 = 0.1;
const EPSILON_OF_SQUARES: f64 = 0.0;
/// The same of Huber's loss, where it goes over from squares to lines.
const DELTA: f64 = 0.1;
/// Where epsilon is to be chosen, the ones that are tried, in deviations of the label.
const EPSILONS: [f64; 5] = [0.0, 0.05, 0.1, 0.2, 0.4];
/// What is made of labels where quantiles are predicted.
const OF_QUANTILES: TargetJob = TargetJob {
    epsilon: 0.0,
    delta: None,
    standardizes: true,
};
/// Deviations of the label that epsilon may be, and where it must be above 0 the least.
const WIDEST: f64 = 1e6;
const NARROWEST: f64 = 1e-6;

/// Whether it is a loss of a regression.
pub(super) fn is_of_distance(word: &str) -> bool {
    OF_DISTANCE.iter().any(|(known, _)| *known == word)
}

/// Whether there is such a loss.
pub(super) fn is_loss(word: &str) -> bool {
    loss_named(word).is_some()
}

/// The loss of this name, without its truncation.
pub fn loss_named(word: &str) -> Option<Loss> {
    let known = ALL_LOSSES.iter().find(|(known, _)| *known == word);
    known.map(|(_, (loss, _))| *loss)
}

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
/// The words for `solver`.
const SOLVERS: [&str; 10] = [
    "auto",
    "stream",
    "block",
    "selective_block",
    INDEXED,
    "newton",
    SCAN,
    OCAS,
    CUTTING_PLANE,
    INTERIOR_POINT,
];
/// How far from the best weights to the newest OCAS makes a plane, where nothing is said: the paper's.
const LAMBDA: f64 = 0.1;

/// How the problem is solved, as it came: each training's own.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SolvingArguments {
    pub tolerance: Option<f64>,
    pub max_passes: Option<i32>,
    #[serde(default, deserialize_with = "received")]
    pub solver: Option<String>,
    pub seed: Option<i32>,
}

/// How to go about the optimization problem; travels to the workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolvingTerms {
    /// What the pure solver is asked.
    pub parameters: Parameters,
    /// Whether rows that do not fit the cache are compressed.
    pub compression: Compression,
    /// Where the runs of strings are made.
    pub expansion: ExpansionTime,
    /// Whether the dual variables are stored with the model.
    pub keep_duals: bool,
    /// Whether somebody said what is predicted; else the label says it.
    pub names_task: bool,
    /// Of a regression, what becomes of labels.
    pub targets: Option<TargetJob>,
    /// Of rows without labels, the share of them that is strange.
    pub nu: Option<f64>,
    /// Those that it predicts, ascending; none: it predicts the label itself.
    #[serde(deserialize_with = "list")]
    pub quantiles: Vec<f64>,
}

impl SolvingTerms {
    pub fn loss(&self) -> Loss {
        self.parameters.formulation.loss
    }

    /// s, where the loss is truncated: min(L, 1 + s).
    pub fn truncation(&self) -> Option<f64> {
        self.parameters.formulation.truncation
    }

    /// Whether there is an intercept.
    pub fn intercept(&self) -> bool {
        self.parameters.formulation.intercept != Intercept::None
    }

    /// Whether several classes are told apart together, by planes of all rows.
    pub fn together(&self) -> bool {
        self.parameters.formulation.together
    }

    pub fn stopping(&self) -> Stopping {
        self.parameters.stopping
    }

    pub fn solver(&self) -> &SolverChoice {
        &self.parameters.solver
    }

    /// Whether interior points solve it.
    pub fn by_interior_points(&self) -> bool {
        matches!(self.solver(), SolverChoice::InteriorPoint(_))
    }

    /// Whether it is by scans over rows that nobody keeps.
    pub fn scans(&self) -> bool {
        self.solver().scans()
    }

    /// Whether it is a method as published for classes, or an average.
    pub fn is_published(&self) -> bool {
        let pegasos = matches!(self.solver().inner(), Some(Inner::Pegasos(_)));
        pegasos
            || matches!(
                self.solver(),
                SolverChoice::StreamSvm(_) | SolverChoice::Average
            )
    }

    /// Whether one thread trains, where rows stream.
    pub fn has_one_thread(&self) -> bool {
        let published = self.solver().policy().is_published();
        published || matches!(self.solver(), SolverChoice::Indexed(_))
    }

    /// What a regression makes of labels, where nobody says otherwise.
    pub fn usual_targets(loss: Loss) -> TargetJob {
        TargetJob {
            epsilon: match loss.is_smooth() {
                true => EPSILON_OF_SQUARES,
                false => EPSILON,
            },
            delta: loss.second_bend().map(|_| DELTA),
            standardizes: true,
        }
    }

    /// The word for `loss`.
    pub fn loss_word(&self) -> &'static str {
        let losses: &[_] = match self.targets {
            Some(_) => &OF_DISTANCE,
            None => &LOSSES,
        };
        if !self.quantiles.is_empty() {
            return QUANTILE;
        }
        let is = |(loss, s): (Loss, Option<f64>)| {
            loss == self.loss() && s.is_some() == self.truncation().is_some()
        };
        let known = losses.iter().find(|(_, known)| is(*known));
        known.map_or("", |(word, _)| word)
    }

    /// The loss of a model of so many classes, as its version has it.
    pub fn loss_of(&self, classes: usize) -> &'static str {
        match self.together() && classes > 2 {
            true => CRAMMER_SINGER,
            false => self.loss_word(),
        }
    }

    /// The word for `solver`.
    pub fn solver_word(&self) -> &'static str {
        match self.solver() {
            SolverChoice::Auto => "auto",
            SolverChoice::Stream | SolverChoice::StreamSvm(_) => "stream",
            SolverChoice::Newton => "newton",
            SolverChoice::Block(_) => "block",
            SolverChoice::SelectiveBlock(_) => "selective_block",
            SolverChoice::Indexed(_) => INDEXED,
            SolverChoice::Scan(Cuts::BesideHeld) | SolverChoice::Average => SCAN,
            SolverChoice::Scan(Cuts::Ocas(_)) => OCAS,
            SolverChoice::Scan(Cuts::Newest) => CUTTING_PLANE,
            SolverChoice::InteriorPoint(_) => INTERIOR_POINT,
        }
    }

    /// The word for what trained; `newton`: whether that was Newton's method.
    pub fn solver_taken(&self, newton: bool) -> &'static str {
        match self.solver() {
            SolverChoice::Indexed(_) if newton => INDEXED_NEWTON,
            SolverChoice::Auto | SolverChoice::Stream | SolverChoice::Newton if newton => "newton",
            SolverChoice::Auto | SolverChoice::Newton => "stream",
            _ => self.solver_word(),
        }
    }

    /// What the NOTICE counts: scans, steps or passes.
    pub fn what_is_counted(&self) -> &'static str {
        match self.by_interior_points() {
            _ if self.scans() => "scan",
            true => "step",
            false => "pass",
        }
    }
}

/// How to go about the optimization problem.
pub(super) fn terms(given: &Arguments, choices: &Choices) -> Result<SolvingTerms, Failure> {
    // what minimizes one loss only takes that where none is given; else what the best known peers do: LIBLINEAR's loss, and LIBSVM's
    let together = choices.together()?;
    let solver = match given.solving.solver.as_deref() {
        // planes alone tell classes apart together, and these go by scans
        None | Some("auto" | SCAN) if together && !choices.averages(SCAN)? => OCAS,
        given => given.unwrap_or("auto"),
    };
    let is_kernel = given
        .kernel
        .kind
        .as_deref()
        .is_some_and(|it| it != "linear");
    let named = choices.loss(given.loss.as_deref());
    let label = given.columns.label.as_deref();
    let (names_task, task) = choices.task(label, named)?;
    let (regresses, is_novelty) = (task == Task::Regression, task == Task::Novelty);
    // before what these ask of solvers and losses
    let truncates = choices.has(&table::TRUNCATION);
    match (task, choices.of_several_classes()) {
        (Task::Regression, Some(option)) => return Err(regression::together(option)),
        (Task::Novelty, Some(option)) => return Err(novelty::together(option)),
        (Task::Regression, None) if truncates => return Err(regression::truncation()),
        (Task::Novelty, None) if truncates => return Err(novelty::truncation()),
        _ => {}
    }
    if is_novelty && [OCAS, CUTTING_PLANE].contains(&solver) {
        return Err(novelty::planes(solver));
    }
    if is_novelty && !NOVELTY_SOLVERS.contains(&solver) && SOLVERS.contains(&solver) {
        return Err(match solver {
            "newton" => novelty::newton("solver 'newton'"),
            _ => novelty::solver(solver),
        });
    }
    // a loss that nobody knows may be meant for either task
    let losses: &[_] = match regresses {
        true => &OF_DISTANCE,
        false => &ALL_LOSSES,
    };
    let quantiles = choices.quantiles(named)?;
    let (loss, usual) = match (named, choices.get(&table::INNER)?) {
        (None, _) if is_novelty => (Loss::Hinge, None),
        (Some(loss), _) if is_novelty && loss != "hinge" => return Err(novelty::loss(loss)),
        (None, Some(InnerWord::Pegasos)) => (Loss::Hinge, None),
        (None, _) if [INTERIOR_POINT, OCAS, CUTTING_PLANE].contains(&solver) => (Loss::Hinge, None),
        (None, None) if is_kernel && solver != "newton" => (Loss::Hinge, None),
        (loss, _) => chosen("loss", loss, losses)?,
    };
    let truncation = choices.truncation(usual)?;
    let rule = choices.get(&table::STOP)?.unwrap_or_default();
    let stopping = Stopping {
        tolerance: match (given.solving.tolerance, is_novelty) {
            (None, true) => TOLERANCE_OF_NOVELTIES,
            (given, _) => tolerance(given, rule)?,
        },
        max_passes: max_passes(given.solving.max_passes)?,
        rule,
    };
    let choice = choices.solver(given, solver, (named, loss, usual.is_some()))?;
    Ok(SolvingTerms {
        parameters: Parameters {
            formulation: Formulation {
                loss,
                truncation,
                intercept: match is_novelty {
                    true if given.intercept == Some(true) || choices.has(&table::INTERCEPT) => {
                        return Err(novelty::intercept());
                    }
                    true => Intercept::None,
                    false => choices.kind_of_intercept(solver, given.intercept)?,
                },
                together,
            },
            solver: choice,
            proximal: choices.get(&table::PROXIMAL)?.unwrap_or_default(),
            stopping: choices.stopping(stopping, solver, loss)?,
            seed: given.solving.seed.unwrap_or(0) as u32 as u64,
        },
        compression: choices.get(&table::COMPRESSION)?.unwrap_or_default(),
        expansion: choices.get(&table::EXPANSION)?.unwrap_or_default(),
        keep_duals: choices.get(&table::DUALS)?.unwrap_or_default(),
        names_task,
        nu: match is_novelty {
            true => Some(choices.get(&table::NU)?.unwrap_or(USUAL_NU)),
            false => None,
        },
        targets: match (regresses, quantiles.as_slice()) {
            (false, _) => None,
            (true, []) => Some(choices.targets(SolvingTerms::usual_targets(loss))?),
            (true, _) => Some(choices.targets(OF_QUANTILES)?),
        },
        quantiles,
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

fn max_passes(passes: Option<i32>) -> Result<Option<u32>, Failure> {
    match passes {
        Some(passes) if passes <= 0 => Err(invalid(format!(
            "max_passes must be positive, not {passes}"
        ))
        .hint("max_passes => NULL leaves the limit to pgsvm")),
        passes => Ok(passes.map(|passes| passes as u32)),
    }
}

impl Choices<'_> {
    /// The loss that is meant: quantiles have their own.
    fn loss<'a>(&self, given: Option<&'a str>) -> Option<&'a str> {
        given.or_else(|| self.has(&table::QUANTILES).then_some(QUANTILE))
    }

    /// What is given that is about more than two classes.
    fn of_several_classes(&self) -> Option<&'static str> {
        let all = [
            (table::MULTICLASS.name(), self.has(&table::MULTICLASS)),
            (table::CLASSES_FROM.name(), self.has(&table::CLASSES_FROM)),
        ];
        let mut all = all.into_iter();
        all.find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The quantiles to predict with this loss; none with another one.
    fn quantiles(&self, loss: Option<&str>) -> Result<Vec<f64>, Failure> {
        match (loss, self.get(&table::QUANTILES)?) {
            (Some(QUANTILE), _) if self.has(&table::EPSILON) => Err(losses::epsilon_of_quantiles()),
            (Some(QUANTILE), given) => Ok(given.unwrap_or_else(|| vec![MEDIAN])),
            (_, None) => Ok(Vec::new()),
            (loss, Some(_)) => Err(losses::quantiles_without(loss.unwrap_or_default())),
        }
    }

    /// What a regression makes of labels, which is `usual` where nobody says otherwise.
    fn targets(&self, usual: TargetJob) -> Result<TargetJob, Failure> {
        let given = match self.get(&table::EPSILON)? {
            Some(EpsilonWord::Is(epsilon)) => Some(epsilon),
            // the widest, until one is chosen
            Some(EpsilonWord::Among(all)) => match usual.delta.is_some() && all.contains(&0.0) {
                true => Some(0.0),
                false => Some(all.into_iter().fold(0.0, f64::max)),
            },
            Some(EpsilonWord::Auto) | None => None,
        };
        let standardizes = self.get(&table::SCALE_LABEL)?.unwrap_or(usual.standardizes);
        let of_deviation = |epsilon: f64, what: &str| {
            invalid(format!(
                "epsilon is in standard deviations of the label, and {} of them are {what} than any label",
                sql_float(epsilon)
            ))
            .hint("epsilon => 0.1")
        };
        match given {
            Some(0.0) if usual.delta.is_some() => return Err(losses::huber_of_nothing()),
            // offsets hold epsilon beside the label, whose digits it must not take
            Some(epsilon) if standardizes && epsilon > WIDEST => {
                return Err(of_deviation(epsilon, "wider"));
            }
            Some(epsilon) if standardizes && usual.delta.is_some() && epsilon < NARROWEST => {
                return Err(of_deviation(epsilon, "narrower"));
            }
            _ => {}
        }
        Ok(match usual.delta {
            Some(delta) => TargetJob {
                delta: Some(given.unwrap_or(delta)),
                standardizes,
                ..usual
            },
            None => TargetJob {
                epsilon: given.unwrap_or(usual.epsilon),
                standardizes,
                ..usual
            },
        })
    }

    /// Whether a task, or a loss that belongs to one, is given; and what it is.
    fn task(&self, label: Option<&str>, loss: Option<&str>) -> Result<(bool, Task), Failure> {
        let task = self.get(&table::TASK)?;
        // whoever names a loss has left the label out by mistake
        let is_other = loss.is_some_and(|loss| loss != "hinge")
            || self.has(&table::EPSILON)
            || self.has(&table::SCALE_LABEL);
        let finds_novelties = match task {
            Some(task) => task == Task::Novelty,
            None => self.has(&table::NU) || (label.is_none() && !is_other),
        };
        if finds_novelties {
            return match label {
                Some(label) => Err(novelty::label(label)),
                None if self.has(&table::EPSILON) => Err(losses::epsilon_of_classes("epsilon")),
                None if self.has(&table::SCALE_LABEL) => {
                    Err(losses::epsilon_of_classes("\"scale_label\""))
                }
                None => Ok((true, Task::Novelty)),
            };
        }
        if self.has(&table::NU) {
            return Err(losses::nu_of_labels());
        }
        let epsilon = self.get(&table::EPSILON)?;
        let has_terms = epsilon.is_some() || self.get(&table::SCALE_LABEL)?.is_some();
        let given = match (task, loss.is_some_and(is_of_distance), has_terms) {
            (Some(Task::Classification), true, _) => {
                return Err(losses::distance_of_classes(loss.unwrap_or_default()));
            }
            (Some(Task::Classification), false, true) => {
                return Err(losses::epsilon_of_classes(match epsilon {
                    Some(_) => "epsilon",
                    None => "\"scale_label\"",
                }));
            }
            (Some(task), ..) => Some(task),
            // what only a regression has asks for one
            (None, true, _) | (None, _, true) => Some(Task::Regression),
            (None, false, false) => None,
        };
        if let (Some(Task::Regression), Some(loss)) = (given, loss) {
            if LOSSES.iter().any(|(known, _)| *known == loss) {
                return Err(losses::margin_of_numbers(loss));
            }
        }
        // a loss of margins is one of classes
        let is_named = given.is_some() || loss.is_some();
        Ok((is_named, given.unwrap_or(Task::Classification)))
    }

    /// The solver, with the options that belong to it.
    fn solver(
        &self,
        given: &Arguments,
        solver: &str,
        (named, loss, truncated): (Option<&str>, Loss, bool),
    ) -> Result<SolverChoice, Failure> {
        self.check_solver(solver)?;
        self.check_loss(solver, loss, named.filter(|it| is_of_distance(it)))?;
        let averages = self.averages(solver)?;
        let indexed = self.indexed()?;
        let inner = self.inner(solver, loss, truncated)?;
        let picks = self.picks()?;
        let blocks = Blocks {
            count: self.get(&table::BLOCKS)?,
            split: self.get(&table::SPLIT)?.unwrap_or(Order::Random),
            order: self.get(&table::BLOCK_ORDER)?.unwrap_or(Order::Random),
            inner,
        };
        Ok(match solver {
            "auto" | "stream" if self.get(&table::POLICY)? == Some(Policy::Paper) => {
                SolverChoice::StreamSvm(picks)
            }
            "auto" => SolverChoice::Auto,
            "newton" => SolverChoice::Newton,
            "block" => SolverChoice::Block(blocks),
            "selective_block" => SolverChoice::SelectiveBlock(blocks),
            INDEXED => SolverChoice::Indexed(indexed),
            SCAN if averages => SolverChoice::Average,
            SCAN => SolverChoice::Scan(Cuts::BesideHeld),
            OCAS => SolverChoice::Scan(Cuts::Ocas(self.get(&table::LAMBDA)?.unwrap_or(LAMBDA))),
            CUTTING_PLANE => SolverChoice::Scan(Cuts::Newest),
            INTERIOR_POINT => SolverChoice::InteriorPoint(self.interior_point(given.kernel.rank)?),
            _ => SolverChoice::Stream,
        })
    }

    /// Refuses words that name no solver, and options that this one has not.
    fn check_solver(&self, solver: &str) -> Result<(), Failure> {
        word("solver", solver, &SOLVERS.map(|word| (word, ())))?;
        let this = format!("'{solver}'");
        for option in self.given() {
            if let Some(solvers) = option
                .solvers
                .words()
                .filter(|words| !words.contains(&this))
            {
                return Err(options::of_another_solver(solver, option.name, solvers));
            }
        }
        match self.together()? && ![OCAS, CUTTING_PLANE].contains(&solver) {
            true => Err(losses::together_by_planes(solver)),
            false => Ok(()),
        }
    }

    /// Whether training by scans has all options that were given.
    pub(super) fn are_for_scans(&self) -> Result<bool, Failure> {
        let by_gap = matches!(self.get(&table::STOP)?, None | Some(StopRule::Gap));
        Ok(by_gap && !self.has(&table::POLICY) && self.check_solver(SCAN).is_ok())
    }

    /// Refuses a loss that this solver does not minimize.
    fn check_loss(
        &self,
        solver: &str,
        loss: Loss,
        of_distance: Option<&str>,
    ) -> Result<(), Failure> {
        match (solver, of_distance) {
            ("newton" | SCAN | OCAS | CUTTING_PLANE, Some(_)) if loss.second_bend().is_some() => {
                Err(regression::huber(format!("solver '{solver}'")))
            }
            ("newton", Some(named)) if !loss.is_smooth() => Err(regression::newton(named)),
            (OCAS | CUTTING_PLANE, Some(_)) if loss.is_smooth() => Err(regression::planes(solver)),
            _ => self.check_loss_of_margins(solver, loss),
        }
    }

    fn check_loss_of_margins(&self, solver: &str, loss: Loss) -> Result<(), Failure> {
        match solver {
            "newton" if !loss.is_smooth() => Err(losses::newton_hinge()),
            OCAS | CUTTING_PLANE if loss.is_smooth() => Err(match self.together()? {
                true => losses::together_squared_hinge(),
                false => losses::planes_squared_hinge(solver),
            }),
            _ => Ok(()),
        }
    }

    /// s, of losses that are truncated, whose `usual` one it is where nothing is given.
    fn truncation(&self, usual: Option<f64>) -> Result<Option<f64>, Failure> {
        match (usual, self.get(&table::TRUNCATION)?) {
            (None, Some(_)) => Err(losses::truncation_without()),
            (Some(_), Some(TruncationWord::Is(s))) => Ok(Some(s)),
            (usual, _) => Ok(usual),
        }
    }

    /// By what rows are filed in chunks, and which method reads them.
    fn indexed(&self) -> Result<Indexed, Failure> {
        let of_forest = [
            (table::TREE_SIZE.name(), self.has(&table::TREE_SIZE)),
            (table::TREE_WIDTH.name(), self.has(&table::TREE_WIDTH)),
            (table::QUERY_SIZE.name(), self.has(&table::QUERY_SIZE)),
            (table::QUERY_END.name(), self.has(&table::QUERY_END)),
            (table::SHRINK_ABOVE.name(), self.has(&table::SHRINK_ABOVE)),
        ];
        let given = of_forest.iter().find(|(_, is_given)| *is_given);
        match (self.get(&table::CHUNKS_BY)?, given) {
            (Some(ChunksWord::Forest), _)
                if self.get(&table::INNER)? == Some(InnerWord::Newton) =>
            {
                return Err(options::forest_newton())
            }
            (Some(ChunksWord::Forest), _) => {}
            (_, Some((name, _))) => return Err(options::without_forest(name)),
            _ if self.get(&table::INNER)? == Some(InnerWord::Newton) => return Ok(Indexed::Newton),
            _ => return Ok(Indexed::Slack),
        }
        let usual = ForestShape::USUAL;
        Ok(Indexed::Forest(ForestShape {
            tree_size: self.get(&table::TREE_SIZE)?.unwrap_or(usual.tree_size),
            tree_width: self.get(&table::TREE_WIDTH)?.unwrap_or(usual.tree_width),
            query_size: self.get(&table::QUERY_SIZE)?,
            query_end: self.get(&table::QUERY_END)?,
            shrink_above: self
                .get(&table::SHRINK_ABOVE)?
                .unwrap_or(usual.shrink_above),
        }))
    }

    /// The s to choose from, where it is to be chosen.
    pub(super) fn truncations(&self, terms: &SolvingTerms) -> Result<Vec<f64>, Failure> {
        Ok(match (self.get(&table::TRUNCATION)?, terms.truncation()) {
            (Some(TruncationWord::Auto), Some(usual)) => {
                TRUNCATIONS.map(|times| times * usual).to_vec()
            }
            _ => Vec::new(),
        })
    }

    /// The epsilons to choose from, where one is to be chosen.
    pub(super) fn epsilons(&self, terms: &SolvingTerms) -> Result<Vec<f64>, Failure> {
        Ok(match (self.get(&table::EPSILON)?, terms.targets) {
            (Some(EpsilonWord::Auto), Some(targets)) if !targets.standardizes => {
                return Err(choosing::epsilon_as_it_is());
            }
            (Some(EpsilonWord::Auto), Some(targets)) => {
                // Huber's loss of 0 would be that of nothing
                let least = if targets.delta.is_some() { 1 } else { 0 };
                EPSILONS[least..].to_vec()
            }
            (Some(EpsilonWord::Among(all)), Some(_)) => all,
            _ => Vec::new(),
        })
    }

    /// Whether parts of the rows are trained on by themselves.
    fn averages(&self, solver: &str) -> Result<bool, Failure> {
        match self.get(&table::MACHINES)? {
            Some(MachinesWord::Count(_) | MachinesWord::Scans) if solver == SCAN => {
                Err(scans::machines_count())
            }
            Some(MachinesWord::Average) => Ok(solver == SCAN),
            _ => Ok(false),
        }
    }

    /// What is asked of interior points.
    fn interior_point(&self, rank: Option<i32>) -> Result<InteriorChoice, Failure> {
        let rank = match (
            rank.map(checked_rank).transpose()?,
            self.get(&table::RANK_EXPONENT)?,
        ) {
            (Some(_), Some(_)) => return Err(kernels::interior_rank_twice()),
            (Some(rank), None) => InteriorRank::Given(rank),
            (None, power) => InteriorRank::Power(power.unwrap_or(InteriorTerms::POWER)),
        };
        Ok(InteriorChoice {
            machines: match self.get(&table::MACHINES)? {
                Some(MachinesWord::Average) => return Err(kernels::interior_average()),
                Some(MachinesWord::Count(machines)) => Machines::Count(machines),
                Some(MachinesWord::Scans) => Machines::Scans,
                None => Machines::Usual,
            },
            rank,
            trace_tolerance: self
                .get(&table::TRACE_TOLERANCE)?
                .unwrap_or(LowRankJob::DEFAULT_TOLERANCE),
            in_norm: self.get(&table::INTERCEPT)? == Some(Intercept::InNorm),
        })
    }

    /// The intercept: with interior points, which know whether theirs is free, one in the norm before they come.
    fn kind_of_intercept(
        &self,
        solver: &str,
        intercept: Option<bool>,
    ) -> Result<Intercept, Failure> {
        // whose intercept it is anyway, unless it is to be in the norm
        if self.get(&table::INTERCEPT)? != Some(Intercept::Free) || solver == INTERIOR_POINT {
            return Ok(match intercept {
                Some(false) => Intercept::None,
                _ => Intercept::InNorm,
            });
        }
        if intercept == Some(false) {
            return Err(losses::free_intercept_none());
        }
        if self.get(&table::INNER)? == Some(InnerWord::Pegasos) {
            return Err(losses::free_intercept_pegasos());
        }
        if [OCAS, CUTTING_PLANE].contains(&solver) {
            return Err(losses::free_intercept_planes(solver));
        }
        Ok(Intercept::Free)
    }

    /// How many rows of the cache are picked.
    fn picks(&self) -> Result<Picks, Failure> {
        match self.get(&table::PICKS)? {
            Some(_) if self.get(&table::POLICY)? != Some(Policy::Paper) => {
                Err(options::picks_without_paper())
            }
            picks => Ok(picks.unwrap_or(Picks::Usual)),
        }
    }

    /// When training ends, if `solver` knows that.
    fn stopping(&self, stopping: Stopping, solver: &str, loss: Loss) -> Result<Stopping, Failure> {
        if stopping.rule == StopRule::Gap {
            return Ok(stopping);
        }
        if stopping.rule == StopRule::MeanLoss {
            return match [SCAN, OCAS, CUTTING_PLANE].contains(&solver) && !loss.is_smooth() {
                true => Ok(stopping),
                false => Err(options::svmperf_without_planes()),
            };
        }
        match self.get(&table::INNER)? {
            Some(InnerWord::Pegasos) => return Err(options::projected_gradient_pegasos()),
            Some(InnerWord::Newton) => return Err(options::projected_gradient_newton()),
            Some(InnerWord::Dual) | None => {}
        }
        if self.get(&table::PROXIMAL)? == Some(Proximal::On) {
            return Err(options::projected_gradient_shift());
        }
        if self.get(&table::INTERCEPT)? == Some(Intercept::Free) {
            return Err(losses::free_intercept_gradient());
        }
        let blocks = ["block", "selective_block"].contains(&solver);
        if !blocks && self.get(&table::POLICY)? != Some(Policy::Paper) {
            return Err(options::projected_gradient_solver(solver));
        }
        Ok(stopping)
    }

    /// How a block is solved, by options that agree with each other.
    fn inner(&self, solver: &str, loss: Loss, truncated: bool) -> Result<Inner, Failure> {
        let inner = self.get(&table::INNER)?.unwrap_or(InnerWord::Dual);
        if self.has(&table::INNER_UPDATES) && inner != InnerWord::Pegasos {
            return Err(options::inner_updates_without_pegasos());
        }
        let has_rounds = self.has(&table::INNER_ROUNDS)
            || (self.get(&table::PROXIMAL)? == Some(Proximal::On) && solver != INDEXED);
        match inner {
            InnerWord::Dual => Ok(Inner::CoordinateDescent(
                self.get(&table::INNER_ROUNDS)?
                    .unwrap_or(Inner::USUAL_ROUNDS),
            )),
            InnerWord::Newton if has_rounds => Err(options::inner_newton_rounds()),
            InnerWord::Pegasos if has_rounds => Err(options::inner_pegasos_rounds()),
            InnerWord::Newton if loss.second_bend().is_some() => {
                Err(regression::huber("\"inner\": \"newton\""))
            }
            InnerWord::Newton if !loss.is_smooth() => {
                Err(losses::inner_newton_hinge(match truncated {
                    true => "truncated_squared_hinge",
                    false => "squared_hinge",
                }))
            }
            InnerWord::Newton => Ok(Inner::Newton),
            InnerWord::Pegasos if solver != "block" => Err(options::pegasos_solver(solver)),
            InnerWord::Pegasos => Ok(Inner::Pegasos(
                self.get(&table::INNER_UPDATES)?.unwrap_or(Updates::Row),
            )),
        }
    }
}
