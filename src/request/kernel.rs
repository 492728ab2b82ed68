//! The arguments `kernel`, `gamma`, `degree`, `coef0` and `rank`, the gammas to choose from, and what of the other arguments a
//! kernel machine cannot have. Pure.

use crate::base::errors::Failure;
use crate::combinations::{choosing, kernels};
use crate::features::{word_of, KERNELS};
use crate::request::numbers::{Numbers, GAMMA};
use crate::request::option_words::KernelMethod;
use crate::request::options::{table, Choices};
use crate::request::solver::INTERIOR_POINT;
use crate::request::words::{chosen, invalid, sql_float};
use crate::request::Arguments;
use pgsvm_core::kernels::kernel::MOST_DEGREE;
use pgsvm_core::kernels::{KernelError, KernelKind, KernelSpec};
use pgsvm_core::LowRankJob;

/// The degree of a polynomial where none is given: LIBSVM's and scikit-learn's.
const USUAL_DEGREE: i32 = 3;

/// A kernel with its parameters, as they came.
#[derive(Clone, Default)]
pub struct KernelArguments {
    pub kind: Option<String>,
    /// One gamma, or those to choose from.
    pub gamma: Numbers,
    pub degree: Option<i32>,
    pub coef0: Option<f64>,
    pub rank: Option<i32>,
}

/// Seconds that an exact machine may take where nobody says how it is to be solved; that one of low rank may likewise.
pub const MOST_SECONDS: f64 = 60.0;

/// The gammas that are tried where none are given: so many times 'scale'. Steps of four are those of the coarse grid in LIBSVM's
/// guide; three to either side reach from where a machine is nearly linear to where it looks at nearest neighbours.
const USUAL_TIMES: [f64; 7] = [0.015625, 0.0625, 0.25, 1.0, 4.0, 16.0, 64.0];

/// A kernel machine that is asked for.
#[derive(Debug, Clone)]
pub struct KernelTerms {
    /// The maps of the gammas to choose from, or to validate; of one there is no choice.
    pub maps: Vec<LowRankJob>,
    pub method: KernelMethod,
}

impl KernelTerms {
    /// The same by low rank, where nobody says otherwise: of rows that are trained as any others.
    pub fn of_low_rank(self) -> Self {
        match self.method {
            KernelMethod::Auto => Self {
                method: KernelMethod::LowRank,
                ..self
            },
            KernelMethod::LowRank | KernelMethod::Exact => self,
        }
    }

    /// Whether it is a hyperplane all the same, which interior points find.
    pub fn is_linear(&self) -> bool {
        self.maps
            .iter()
            .all(|map| map.kernel.kind() == KernelKind::Linear)
    }

    /// Whether gammas are compared with one another.
    pub fn is_grid(&self) -> bool {
        self.maps.len() > 1
    }
}

/// The names that kernels have elsewhere, behind those by which they are known here.
const NAMES: [(&str, KernelKind); 7] = [
    KERNELS[0],
    KERNELS[1],
    KERNELS[2],
    KERNELS[3],
    ("gaussian", KernelKind::Rbf),
    ("radial", KernelKind::Rbf),
    ("poly", KernelKind::Polynomial),
];

/// The name of a kernel by which it is known here, where it has others elsewhere.
pub(super) fn usual_name(name: &str) -> &str {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map_or(name, |(_, kind)| word_of(*kind, &KERNELS))
}

/// The kernel machine that is asked for; None for a linear one.
pub(super) fn kernel(given: &Arguments, choices: &Choices) -> Result<Option<KernelTerms>, Failure> {
    let asked = &given.kernel;
    let kind = chosen("kernel", asked.kind.as_deref(), &NAMES)?;
    // values first: what is wrong with them is so with every kernel
    let degree = i64::from(asked.degree.unwrap_or(USUAL_DEGREE));
    let coef0 = asked.coef0.unwrap_or(0.0);
    let spec = |gamma| KernelSpec::new(kind, gamma, degree, coef0).map_err(refused);
    let gammas = gammas(&asked.gamma, choices)?;
    let specs = gammas.iter().map(|(gamma, _)| spec(*gamma));
    let specs: Vec<KernelSpec> = specs.collect::<Result<_, _>>()?;
    let rank = asked.rank.map(checked_rank).transpose()?;
    let map = |(spec, (_, scale_times)): (&KernelSpec, &(Option<f64>, f64))| LowRankJob {
        scale_times: *scale_times,
        seed: given.solving.seed.unwrap_or(0) as u32 as u64,
        // what is trained is proved by the rows themselves
        keeps_rows: true,
        ..LowRankJob::new(*spec)
    };
    let mut maps: Vec<LowRankJob> = specs.iter().zip(&gammas).map(map).collect();
    if given.solving.solver.as_deref() == Some(INTERIOR_POINT) {
        return interior_point(given, choices, kind, maps).map(Some);
    }
    check_belongs(asked, choices, kind)?;
    if kind == KernelKind::Linear {
        return Ok(None);
    }
    // a user who says how many landmarks there are to be, or which, wants them
    let approximate = rank.is_some() || choices.has(&table::LANDMARKS_BY);
    let method = choices.get(&table::METHOD)?.unwrap_or(match approximate {
        true => KernelMethod::LowRank,
        false => KernelMethod::Auto,
    });
    for map in &mut maps {
        map.rank = rank;
        map.landmarks = choices.get(&table::LANDMARKS_BY)?.unwrap_or(map.landmarks);
    }
    Ok(Some(KernelTerms { maps, method }))
}

/// The gammas to choose from, or to validate: each as a number, or as so many times 'scale'.
fn gammas(given: &Numbers, choices: &Choices) -> Result<Vec<(Option<f64>, f64)>, Failure> {
    let (_, chooses_gamma) = choices.chosen()?;
    let is_given = match given {
        Numbers::Default | Numbers::Auto => false,
        Numbers::Scale => choices.has(&table::GAMMAS) || chooses_gamma,
        // among several one is chosen
        Numbers::Are(all) => choices.has(&table::GAMMAS) || (chooses_gamma && all.len() == 1),
    };
    if is_given {
        return Err(choosing::gamma_given(GAMMA.as_list()));
    }
    let named = match (given, &choices.get(&table::GAMMAS)?) {
        (Numbers::Are(all), _) => {
            GAMMA.check_count(all.len())?;
            let all = all.iter().map(|gamma| GAMMA.number_of(*gamma));
            all.collect::<Result<Vec<_>, _>>()?
        }
        (_, Some(named)) => {
            GAMMA.check_count(named.len())?;
            named.clone()
        }
        (Numbers::Scale, _) => return Ok(vec![(None, 1.0)]),
        (Numbers::Default, None) if !chooses_gamma => return Ok(vec![(None, 1.0)]),
        (_, None) => return Ok(USUAL_TIMES.map(|times| (None, times)).to_vec()),
    };
    check_twice(&named)?;
    Ok(named.iter().map(|gamma| (Some(*gamma), 1.0)).collect())
}

/// Refuses a gamma that comes twice; what each is for itself is looked at with its kernel.
fn check_twice(named: &[f64]) -> Result<(), Failure> {
    for (at, gamma) in named.iter().enumerate() {
        if named[..at].contains(gamma) {
            let gamma = sql_float(*gamma);
            return Err(invalid(format!("gamma has the value {gamma} twice")));
        }
    }
    Ok(())
}

/// The machine that interior points make. That of low rank before it only says what its heads are, unless it is to choose C or gamma.
fn interior_point(
    given: &Arguments,
    choices: &Choices,
    kind: KernelKind,
    maps: Vec<LowRankJob>,
) -> Result<KernelTerms, Failure> {
    // the rank belongs to the factor, whatever the kernel
    let others = KernelArguments {
        rank: None,
        ..given.kernel.clone()
    };
    check_belongs(&others, choices, kind)?;
    let foreign = [
        ("method", choices.has(&table::METHOD)),
        ("landmarks", choices.has(&table::LANDMARKS_BY)),
    ];
    if let Some((name, _)) = foreign.into_iter().find(|(_, given)| *given) {
        return Err(kernels::interior_option(name));
    }
    Ok(KernelTerms {
        maps,
        method: KernelMethod::LowRank,
    })
}

pub(super) fn checked_rank(rank: i32) -> Result<usize, Failure> {
    match usize::try_from(rank) {
        Ok(rank @ 1..) => Ok(rank),
        _ => Err(invalid(format!("rank must be positive, not {rank}"))
            .hint("without a rank pgsvm decides, and takes all support vectors where it can")),
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
fn check_belongs(
    given: &KernelArguments,
    choices: &Choices,
    kind: KernelKind,
) -> Result<(), Failure> {
    let (_, chooses_gamma) = choices.chosen()?;
    let all = [
        ("option \"method\"", choices.has(&table::METHOD), ALL),
        ("gamma", given.gamma.is_given(), ALL),
        ("a choice of gamma", chooses_gamma, ALL),
        ("option \"gammas\"", choices.has(&table::GAMMAS), ALL),
        ("degree", given.degree.is_some(), POLYNOMIAL),
        ("coef0", given.coef0.is_some(), WITH_CONSTANT),
        ("rank", given.rank.is_some(), ALL),
        (
            "option \"landmarks\"",
            choices.has(&table::LANDMARKS_BY),
            ALL,
        ),
    ];
    let foreign = all
        .into_iter()
        .find(|(_, is_given, (kinds, _))| *is_given && !kinds.contains(&kind));
    let Some((name, _, (_, usual))) = foreign else {
        return Ok(());
    };
    Err(match kind {
        KernelKind::Linear => kernels::of_kernels(name, usual),
        _ => kernels::of_another_kernel(word_of(kind, &KERNELS), name, usual),
    })
}

/// Why there is no such kernel.
fn refused(error: KernelError) -> Failure {
    match error {
        KernelError::Gamma { gamma } => invalid(format!(
            "gamma must be positive and finite as a 32-bit number, not {gamma:?}"
        ))
        .hint("gamma => 'scale' takes 1 / (features * variance of the scaled rows)"),
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
