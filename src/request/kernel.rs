//! The arguments `kernel`, `gamma`, `degree`, `coef0` and `rank`, and what of the others a kernel machine cannot have. Pure.

use crate::base::errors::Failure;
use crate::features::{word_of, KERNELS};
use crate::request::options::Choices;
use crate::request::solver::INTERIOR_POINT;
use crate::request::words::{chosen, invalid, sql_float};
use crate::request::Arguments;
use pgsvm_core::kernels::kernel::MOST_DEGREE;
use pgsvm_core::kernels::{KernelError, KernelKind, KernelSpec};
use pgsvm_core::{InteriorRank, InteriorTerms, LowRankJob};

/// The degree of a polynomial where none is given: LIBSVM's and scikit-learn's.
const USUAL_DEGREE: i32 = 3;

/// How a kernel machine is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Exactly, up to so many rows as [`MOST_EXACT_ROWS`] says and where memory allows; else by low rank.
    Auto,
    LowRank,
    Exact,
    /// By interior points on a factor of the kernel matrix of all rows.
    InteriorPoint(InteriorAsked),
}

/// What is asked of interior points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InteriorAsked {
    /// None: as many as there are trainers.
    pub machines: Option<usize>,
    pub rank: InteriorRank,
    pub trace_tolerance: f64,
}

/// Rows up to which machines are exact where nobody says how they are to be solved.
pub const MOST_EXACT_ROWS: u64 = 10_000;

/// The words for the option `method`.
pub(super) const METHODS: [(&str, Method); 3] = [
    ("auto", Method::Auto),
    ("low_rank", Method::LowRank),
    ("exact", Method::Exact),
];

/// A kernel machine that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct KernelTerms {
    pub map: LowRankJob,
    pub method: Method,
}

/// The kernel machine that is asked for; None for a linear one.
pub(super) fn kernel(given: &Arguments, choices: &Choices) -> Result<Option<KernelTerms>, Failure> {
    let kind = chosen("kernel", given.kernel.as_deref(), &KERNELS)?;
    // values first: what is wrong with them is so with every kernel
    let degree = i64::from(given.degree.unwrap_or(USUAL_DEGREE));
    let spec = KernelSpec::new(kind, given.gamma, degree, given.coef0.unwrap_or(0.0));
    let spec = spec.map_err(refused)?;
    let rank = given.rank.map(checked_rank).transpose()?;
    if given.solver.as_deref() == Some(INTERIOR_POINT) {
        return interior_point(given, choices, spec, rank).map(Some);
    }
    check_belongs(given, choices, kind)?;
    if kind == KernelKind::Linear {
        return Ok(None);
    }
    check_rest(given, choices)?;
    // whoever says how many landmarks there are to be, or which, wants them
    let approximate = rank.is_some() || choices.landmarks.is_some();
    let method = choices.method.unwrap_or(match approximate {
        true => Method::LowRank,
        false => Method::Auto,
    });
    let map = LowRankJob {
        rank,
        landmarks: choices.landmarks.unwrap_or(LowRankJob::new(spec).landmarks),
        seed: given.seed.unwrap_or(0) as u32 as u64,
        keeps_rows: method != Method::LowRank,
        ..LowRankJob::new(spec)
    };
    Ok(Some(KernelTerms { map, method }))
}

/// The machine that interior points make. That of low rank before it only says what its heads are, unless it is to choose C.
fn interior_point(
    given: &Arguments,
    choices: &Choices,
    spec: KernelSpec,
    rank: Option<usize>,
) -> Result<KernelTerms, Failure> {
    // the rank belongs to the factor, whatever the kernel
    let others = Arguments {
        rank: None,
        gamma: given.gamma,
        degree: given.degree,
        coef0: given.coef0,
        ..Arguments::default()
    };
    check_belongs(&others, choices, spec.kind())?;
    check_rest(given, choices)?;
    let foreign = [
        ("method", choices.method.is_some()),
        ("landmarks", choices.landmarks.is_some()),
    ];
    if let Some((name, _)) = foreign.into_iter().find(|(_, given)| *given) {
        return Err(
            invalid(format!("solver 'interior_point' has no option \"{name}\""))
                .detail("It chooses its landmarks among all rows, by the factorization that it solves with.")
                .hint(format!("Leave \"{name}\" out of the options")),
        );
    }
    let rank = match (rank, choices.rank_exponent) {
        (Some(_), Some(_)) => {
            return Err(invalid(
                "rank and \"rank_exponent\" both say how many columns there are to be",
            )
            .hint("Give one of them"))
        }
        (Some(rank), None) => InteriorRank::Given(rank),
        (None, power) => InteriorRank::Power(power.unwrap_or(InteriorTerms::POWER)),
    };
    let map = LowRankJob {
        seed: given.seed.unwrap_or(0) as u32 as u64,
        keeps_rows: true,
        ..LowRankJob::new(spec)
    };
    let asked = InteriorAsked {
        machines: choices.machines,
        rank,
        trace_tolerance: choices.trace_tolerance.unwrap_or(map.tolerance),
    };
    Ok(KernelTerms {
        map,
        method: Method::InteriorPoint(asked),
    })
}

fn checked_rank(rank: i32) -> Result<usize, Failure> {
    match usize::try_from(rank) {
        Ok(rank @ 1..) => Ok(rank),
        _ => Err(invalid(format!("rank must be positive, not {rank}"))
            .hint("rank => NULL takes the square root of the number of rows")),
    }
}

/// Kernels that have a parameter, and the one of them that a hint names.
type Kinds = (&'static [KernelKind], &'static str);
const ALL: Kinds = (
    &[KernelKind::Rbf, KernelKind::Polynomial, KernelKind::Sigmoid],
    "'rbf'",
);
const POLYNOMIAL: Kinds = (&[KernelKind::Polynomial], "'polynomial'");
const WITH_CONSTANT: Kinds = (
    &[KernelKind::Polynomial, KernelKind::Sigmoid],
    "'polynomial'",
);

/// Refuses parameters that this kernel has not.
fn check_belongs(given: &Arguments, choices: &Choices, kind: KernelKind) -> Result<(), Failure> {
    let all = [
        ("option \"method\"", choices.method.is_some(), ALL),
        ("gamma", given.gamma.is_some(), ALL),
        ("degree", given.degree.is_some(), POLYNOMIAL),
        ("coef0", given.coef0.is_some(), WITH_CONSTANT),
        ("rank", given.rank.is_some(), ALL),
        ("option \"landmarks\"", choices.landmarks.is_some(), ALL),
    ];
    let foreign = all
        .into_iter()
        .find(|(_, is_given, (kinds, _))| *is_given && !kinds.contains(&kind));
    let Some((name, _, (_, usual))) = foreign else {
        return Ok(());
    };
    let message = match kind {
        KernelKind::Linear => format!("{name} is given, but the model is to be linear"),
        _ => format!("kernel '{}' has no {name}", word_of(kind, &KERNELS)),
    };
    Err(invalid(message).hint(format!("kernel => {usual}, or leave it out")))
}

/// Refuses what only linear models can do.
fn check_rest(given: &Arguments, choices: &Choices) -> Result<(), Failure> {
    if given.key.is_some() {
        return Err(invalid("a kernel machine cannot follow its table by a key")
            .detail("What it knows of its rows is about landmarks, which a training chooses anew.")
            .hint("Leave key out, and train again when the table has changed"));
    }
    if choices.warm_start.is_some() {
        return Err(
            invalid("a kernel machine cannot begin from the weights of another model")
                .detail("Weights are those of landmarks, which a training chooses anew.")
                .hint("Leave \"warm_start\" out of the options"),
        );
    }
    Ok(())
}

/// Why there is no such kernel.
fn refused(error: KernelError) -> Failure {
    match error {
        KernelError::Gamma { gamma } => invalid(format!(
            "gamma must be positive and finite as a 32-bit number, not {gamma:?}"
        ))
        .hint("gamma => NULL takes 1 / (features * variance of the scaled rows)"),
        KernelError::Degree { degree, .. } => invalid(format!(
            "degree must be a whole number from 1 to {MOST_DEGREE}, not {degree}"
        ))
        .hint(format!("degree => {USUAL_DEGREE}")),
        KernelError::Constant { coef0 } => {
            invalid(format!("coef0 must be finite, not {}", sql_float(coef0))).hint("coef0 => 1")
        }
        other => invalid(other.to_string()),
    }
}
