//! Names like one that is misspelt, for hints.

/// Longest name, in characters, that is compared: PostgreSQL's own have 63 bytes.
const LONGEST: usize = 64;
/// Names that a hint shows.
pub const SHOWN: usize = 3;
/// Fewest bytes in which names begin alike that may be meant for each other.
const LEAST_BEGINNING: usize = 4;

/// The names most like `name`, the nearest first: those that differ in case alone, or else in so few characters that it may
/// have been meant.
pub fn names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower: Vec<char> = name
        .chars()
        .flat_map(char::to_lowercase)
        .take(LONGEST + 1)
        .collect();
    if lower.is_empty() || lower.len() > LONGEST {
        return Vec::new();
    }
    let near = known.filter_map(|known| {
        pgrx::check_for_interrupts!();
        Some((distance_to(known, &lower)?, known))
    });
    let mut near: Vec<(usize, &str)> = near.collect();
    near.sort_by_key(|(away, _)| *away);
    let nearest = near.first().map_or(0, |(away, _)| *away);
    near.iter()
        .filter(|(away, _)| nearest > 0 || *away == 0)
        .take(SHOWN)
        .map(|(_, known)| (*known).to_owned())
        .collect()
}

/// What other systems call what has another name here (scikit-learn, LIBSVM, LIBLINEAR, R, XGBoost), and the names that it has here.
const ELSEWHERE: [(&str, &[&str]); 29] = [
    ("one_vs_one", &["ovo", "pairwise"]),
    ("one_vs_rest", &["ovr", "ova", "one_vs_all"]),
    (
        "category",
        &[
            "categorical",
            "cat",
            "factor",
            "onehot",
            "one_hot",
            "dummy",
            "dummies",
            "nominal",
            "c",
        ],
    ),
    ("text", &["tfidf", "bag_of_words", "words", "tokens"]),
    ("number", &["numerical", "num"]),
    ("bucket", &["bin", "bins", "cut", "discretize"]),
    ("polynomial", &["poly"]),
    ("cross", &["interaction", "interact"]),
    (
        "auc",
        &["roc_auc", "roc_auc_ovr", "auroc", "area_under_roc"],
    ),
    (
        "f1",
        &["f1_macro", "macro_f1", "f1_weighted", "f1_score", "f_score"],
    ),
    ("log_loss", &["neg_log_loss", "cross_entropy", "deviance"]),
    ("accuracy", &["acc"]),
    (
        "rmse",
        &[
            "mse",
            "root_mean_squared_error",
            "neg_root_mean_squared_error",
            "neg_mean_squared_error",
        ],
    ),
    ("mae", &["mean_absolute_error", "neg_mean_absolute_error"]),
    ("r2", &["r2_score", "r_squared", "rsquared"]),
    ("balanced_accuracy", &["bac", "bacc"]),
    ("pinball", &["quantile", "mean_pinball_loss"]),
    ("quantile", &["pinball", "quantile_loss"]),
    ("hinge", &["l1", "l1_loss"]),
    ("squared_hinge", &["l2", "l2_loss", "hinge2"]),
    (
        "huber",
        &[
            "smooth_l1",
            "huber_loss",
            "huber_regression",
            "pseudo_huber",
            "reg_pseudohubererror",
        ],
    ),
    ("rbf", &["gauss", "radial_basis"]),
    ("sigmoid", &["tanh", "platt"]),
    ("standard", &["zscore", "z_score"]),
    (
        "skip",
        &["drop", "dropna", "omit", "na_omit", "ignore", "remove"],
    ),
    ("mean", &["average", "avg", "impute"]),
    ("stream", &["coordinate_descent", "dual_cd"]),
    ("interior_point", &["psvm", "ipm"]),
    ("low_rank", &["nystroem", "nystrom"]),
];

/// The same of arguments and options.
const ARGUMENTS_ELSEWHERE: [(&str, &[&str]); 9] = [
    ("folds", &["cv", "n_folds", "n_splits", "k_fold"]),
    ("tolerance", &["tol", "eps"]),
    (
        "max_passes",
        &["max_iter", "iterations", "n_iter", "epochs"],
    ),
    ("seed", &["random_state", "random_seed"]),
    ("intercept", &["fit_intercept", "bias"]),
    ("weight", &["sample_weight", "case_weight"]),
    ("metric", &["scoring"]),
    ("rank", &["n_components"]),
    ("quantiles", &["tau", "taus", "alpha"]),
];

/// The one of `known` that `name` is likeliest to stand for: one of the [`nearest`], or one that begins alike.
pub fn meant(name: &str, known: &[&str]) -> Option<String> {
    let plain = plain(name)?;
    let begins_alike = |known: &&&str| {
        let (shorter, longer) = match plain.len() < known.len() {
            true => (plain.as_str(), **known),
            false => (**known, plain.as_str()),
        };
        shorter.len() >= LEAST_BEGINNING && longer.starts_with(shorter)
    };
    nearest(name, known).or_else(|| known.iter().find(begins_alike).map(|it| (*it).to_owned()))
}

/// A name as names here are written; None of a long one.
fn plain(name: &str) -> Option<String> {
    let is_short = name.chars().count() <= LONGEST;
    is_short.then(|| name.to_lowercase().replace(['-', ' ', '.'], "_"))
}

/// The one of `known` with the same words written or ordered otherwise, with another system's name, or next to `name`.
pub fn nearest(name: &str, known: &[&str]) -> Option<String> {
    let plain = plain(name)?;
    let sorted = |name: &str| {
        let mut words: Vec<_> = name.split('_').map(str::to_owned).collect();
        words.sort();
        words
    };
    let elsewhere = ELSEWHERE.iter().chain(&ARGUMENTS_ELSEWHERE);
    let mut elsewhere = elsewhere.filter(|(ours, _)| known.contains(ours));
    let same_words = |known: &&&str| sorted(known) == sorted(&plain);
    let found = known.iter().find(same_words).copied();
    let found = found.or_else(|| {
        let named = elsewhere.find(|(_, theirs)| theirs.contains(&plain.as_str()));
        named.map(|(ours, _)| *ours)
    });
    let found = found.map(str::to_owned);
    found.or_else(|| names(&plain, known.iter().copied()).into_iter().next())
}

/// How far a name is from `lower`, whatever its case; None where it is too far.
fn distance_to(known: &str, lower: &[char]) -> Option<usize> {
    let most = lower.len() / 3;
    let other: Vec<char> = known.to_lowercase().chars().take(LONGEST).collect();
    if lower.len().abs_diff(other.len()) > most {
        return None;
    }
    Some(distance(lower, &other)).filter(|away| *away <= most)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one text the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

/// What a hint says of them; None where there are none.
pub fn hint(near: &[String]) -> Option<String> {
    match near {
        [] => None,
        [one] => Some(format!("Perhaps you meant the column \"{one}\".")),
        many => {
            let names: Vec<_> = many.iter().map(|name| format!("\"{name}\"")).collect();
            Some(format!("The nearest names are {}.", names.join(", ")))
        }
    }
}
