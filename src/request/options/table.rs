//! The table of options: of each its name, what its value may be, which solvers know it, who takes it over, and what the manual
//! says of it.
//!
//! | field | holds |
//! |---|---|
//! | `section` | where it stands in the manual |
//! | `solvers` | those that know it; others refuse it |
//! | `kept` | who takes it over from the version before, see [`Inheritance`] |
//! | `value` | what it may be, and how that is read |
//! | `says` | the same in words, where `value` does not say it |
//! | `default` | what holds where it is not given |
//! | `text` | what it does |
//!
//! Reading, what a retraining and a refresh take over, what is stored and the texts of hints come of this table;
//! `scripts/options` makes docs/reference/options.md of it. What options mean together is said where they are used (`solver.rs`,
//! `holding_out.rs`). Pure.

use super::kinds::{as_it_is, OptionKind};
use super::{Inheritance, KnownOption, Opt, OptionEntry, Solvers};
use crate::features::{CategoryLimits, LANDMARKS};
use crate::model::{ClassesBy, CLASSES_BY};
use crate::request::holding_out::METRICS;
use crate::request::numbers::{C, GAMMA};
use crate::request::option_words::{
    ChunksWord, EpsilonWord, ExpansionTime, InnerWord, KernelMethod, MachinesWord, Multiclass,
    Task, TruncationWord, When, CRAMMER_SINGER, METHODS, ONE_VS_ONE,
};
use crate::request::words::ORDERS;
use pgsvm_core::{
    Blocks, CalibrationChoice, Compression, ForestShape, Inner, Intercept, InteriorTerms,
    LandmarkChoice, LowRankJob, Order, Picks, Policy, Proximal, Scoring, StopRule, Updates,
};
use pgsvm_expand::{Frequency, Limits};

const TRUTH: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Options as statics of their names, and the list of all; `says` and `default` are for the manual alone.
macro_rules! options {
    ($($option:ident: $type:ty = $name:literal {
        section: $section:ident,
        solvers: $solvers:ident,
        kept: $kept:ident,
        value: $kind:expr,
        $(says: $says:literal,)?
        default: $default:literal,
        text: $text:literal,
    })*) => {
        $(
            #[doc = $text]
            pub(in crate::request) static $option: Opt<$type> = Opt {
                entry: OptionEntry {
                    name: $name,
                    solvers: Solvers::$solvers,
                    kept: Inheritance::$kept,
                },
                kind: $kind,
            };
        )*

        /// Every option, in the order in which messages name them.
        pub(super) static OPTIONS: &[&dyn KnownOption] = &[$(&$option),*];
    };
}

options! {
    POLICY: Policy = "policy" {
        section: Published,
        solvers: Stream,
        kept: Solving,
        value: OptionKind::Word(&[("cached", Policy::Cached), ("paper", Policy::Paper)]),
        default: "\"cached\"",
        text: "our form of the dual cached loops, or [the published one](published.md#the-dual-cached-loops)",
    }
    PICKS: Picks = "picks" {
        section: Published,
        solvers: Stream,
        kept: Solving,
        value: OptionKind::WordOrWhole(&[("free", Picks::Free)], Picks::MOST, 2, Picks::Each),
        default: "2; more while two workers train and no row waits",
        text: "with \"policy\": \"paper\": how many rows of the cache are picked for each row that arrives",
    }
    STOP: StopRule = "stop" {
        section: Published,
        solvers: All,
        kept: Solving,
        value: OptionKind::Word(&[
            ("gap", StopRule::Gap),
            ("projected_gradient", StopRule::ProjectedGradient),
            ("svmperf", StopRule::MeanLoss),
        ]),
        default: "\"gap\"",
        text: "[what ends training](published.md#stop-rules)",
    }
    BLOCKS: u32 = "blocks" {
        section: Published,
        solvers: Blocks,
        kept: Solving,
        value: OptionKind::Whole(1, Blocks::MOST, 40, as_it_is),
        default: "as few as the cache has room for",
        text: "how many blocks there are, also where all rows fit the cache",
    }
    INNER_ROUNDS: u32 = "inner_rounds" {
        section: Published,
        solvers: Blocks,
        kept: Solving,
        value: OptionKind::WordOrWhole(&[("converged", Inner::MOST_ROUNDS)], Inner::MOST_ROUNDS, 10, as_it_is),
        default: "10",
        text: "rounds over a block at most; \"converged\": until the block's own stop rule holds",
    }
    INNER: InnerWord = "inner" {
        section: Published,
        solvers: Inner,
        kept: Solving,
        value: OptionKind::Word(&[
            ("dual", InnerWord::Dual),
            ("newton", InnerWord::Newton),
            ("pegasos", InnerWord::Pegasos),
        ]),
        default: "\"dual\"",
        text: "how a block, or of 'indexed' the rows of a pass, are solved: [inner methods](published.md#inner-methods)",
    }
    INNER_UPDATES: Updates = "inner_updates" {
        section: Published,
        solvers: Block,
        kept: Solving,
        value: OptionKind::WordOrWhole(
            &[("row", Updates::Row), ("block", Updates::Block)],
            Updates::MOST_SETS,
            100,
            Updates::Sets,
        ),
        default: "\"row\"",
        text: "with \"inner\": \"pegasos\": an update for each row, one for the block, or so many, each by a set of its rows",
    }
    INTERCEPT: Intercept = "intercept" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&[("regularized", Intercept::InNorm), ("free", Intercept::Free)]),
        default: "\"regularized\"",
        text: "whether the intercept's weight counts in the norm: [a free intercept](training.md#a-free-intercept)",
    }
    SPLIT: Order = "split" {
        section: Published,
        solvers: Blocks,
        kept: Solving,
        value: OptionKind::Word(&ORDERS),
        default: "\"random\"",
        text: "rows are drawn into blocks, or a block is a piece of the table",
    }
    BLOCK_ORDER: Order = "block_order" {
        section: Published,
        solvers: Blocks,
        kept: Solving,
        value: OptionKind::Word(&ORDERS),
        default: "\"random\"",
        text: "each pass takes blocks in a new order, or all in the first order",
    }
    COMPRESSION: Compression = "compression" {
        section: Published,
        solvers: All,
        kept: Solving,
        value: OptionKind::Word(&[
            ("auto", Compression::Auto),
            ("on", Compression::On),
            ("off", Compression::Off),
        ]),
        default: "\"auto\"",
        text: "whether rows are compressed in the temporary file: while that is faster, always, never",
    }
    EXPANSION: ExpansionTime = "expansion" {
        section: Published,
        solvers: All,
        kept: Solving,
        value: OptionKind::Word(&[
            ("auto", ExpansionTime::Auto),
            ("stored", ExpansionTime::Stored),
            ("visit", ExpansionTime::Visit),
        ]),
        default: "\"auto\"",
        text: "when the runs of strings become features: [expanding strings](training.md#expanding-strings)",
    }
    PROXIMAL: Proximal = "proximal" {
        section: Published,
        solvers: All,
        kept: Solving,
        value: OptionKind::Word(&[
            ("auto", Proximal::Auto),
            ("on", Proximal::On),
            ("off", Proximal::Off),
        ]),
        default: "\"auto\"",
        text: "the proximal shift that speeds up difficult problems ([solver.md](../solver.md), section 3): by its rule, always, never",
    }
    DUALS: bool = "duals" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&TRUTH),
        default: "false",
        text: "stores the dual variables with the model, to compute the certificate again; those of the hinge by scans are a [beginning](../beyond-one-machine.md#keys-and-dual-variables) alone",
    }
    INHERIT: bool = "inherit" {
        section: Version,
        solvers: All,
        kept: Once,
        value: OptionKind::Word(&TRUTH),
        default: "true",
        text: "whether settings that are not given are [those of the deployed version](training.md#training-again)",
    }
    DEPLOY: When = "deploy" {
        section: Version,
        solvers: All,
        kept: Once,
        value: OptionKind::Word(&[
            ("true", When::Always),
            ("false", When::Never),
            ("if_better", When::IfBetter),
        ]),
        default: "unless something is the matter with it",
        text: "whether the new version is [deployed](training.md#when-the-new-version-is-deployed); [svm_deploy](models.md) does it later",
    }
    RELATION: String = "relation" {
        section: Version,
        solvers: All,
        kept: Once,
        value: OptionKind::Read(|it| it.copy()),
        says: "a relation",
        default: "",
        text: "with \"deploy\": \"if_better\": rows held out",
    }
    METRIC: Scoring = "metric" {
        section: Version,
        solvers: All,
        kept: Once,
        value: OptionKind::Word(&METRICS),
        default: "",
        text: "with \"deploy\": \"if_better\": how to compare on these rows",
    }
    COSTS: Vec<f64> = "costs" {
        section: Arguments,
        solvers: All,
        kept: Choice,
        value: OptionKind::Read(|it| it.numbers(C)),
        says: "an array of numbers",
        default: "",
        text: "a list for the argument `c`",
    }
    CHOOSE: (bool, bool) = "choose" {
        section: Arguments,
        solvers: All,
        kept: Choice,
        value: OptionKind::Read(|it| it.chosen()),
        says: "an array of \"c\", \"gamma\"",
        default: "",
        text: "`c => 'auto'`, `gamma => 'auto'`",
    }
    GAMMAS: Vec<f64> = "gammas" {
        section: Arguments,
        solvers: All,
        kept: Choice,
        value: OptionKind::Read(|it| it.numbers(GAMMA)),
        says: "an array of numbers",
        default: "",
        text: "a list for the argument `gamma`",
    }
    FOLDS: i32 = "folds" {
        section: Arguments,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.signed()),
        says: "a whole number",
        default: "",
        text: "the argument of this name",
    }
    FOLD_COLUMN: String = "fold_column" {
        section: Arguments,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.copy()),
        says: "a column",
        default: "",
        text: "the argument of this name",
    }
    FOLD_ORDER: String = "fold_order" {
        section: Arguments,
        solvers: All,
        kept: Choice,
        value: OptionKind::Read(|it| it.copy()),
        says: "a column",
        default: "",
        text: "the argument of this name",
    }
    MAX_CATEGORIES: u32 = "max_categories" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Whole(0, CategoryLimits::MOST, CategoryLimits::MOST, as_it_is),
        default: "as many as may be",
        text: "values of a category column that get [features of their own](features.md#many-values)",
    }
    HASH_BITS: u32 = "hash_bits" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Whole(1, CategoryLimits::MOST_HASH_BITS, 18, as_it_is),
        default: "18",
        text: "later values share 2 to this power features; if given, no column is refused as a key",
    }
    TASK: Task = "task" {
        section: Arguments,
        solvers: All,
        kept: Model,
        value: OptionKind::ArgumentWord(&Task::WORDS),
        default: "",
        text: "the argument of this name",
    }
    EPSILON: EpsilonWord = "epsilon" {
        section: Arguments,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.epsilon()),
        says: "a number from 0 on, an array of them, or \"auto\"",
        default: "",
        text: "the argument of this name",
    }
    NU: f64 = "nu" {
        section: Arguments,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.nu()),
        says: "a number above 0, and 1 at most",
        default: "",
        text: "the argument of this name",
    }
    QUANTILES: Vec<f64> = "quantiles" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.quantiles()),
        says: "a number above 0 and below 1, or a list of up to 32",
        default: "0.5",
        text: "with loss => 'quantile': [the quantiles to predict](tasks.md#quantiles)",
    }
    SCALE_LABEL: bool = "scale_label" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&[("standard", true), ("none", false)]),
        default: "\"standard\"",
        text: "of a regression: whether the label is standardized while training, so that c and epsilon are in units of its deviation; predictions are in the label's own units either way",
    }
    INTERVALS: bool = "intervals" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&TRUTH),
        default: "false; rows that are held out to choose c or gamma tell them anyway",
        text: "of a regression: whether rows are held out, by the argument `folds`, to know how far predictions are off, for [svm_interval](tasks.md#how-sure-it-is)",
    }
    BAD_ROWS: bool = "bad_rows" {
        section: Arguments,
        solvers: All,
        kept: Model,
        // as the argument, which is how it is mostly given
        value: OptionKind::ArgumentWord(&[("error", false), ("skip", true)]),
        default: "",
        text: "the argument of this name",
    }
    MIN_DF: Frequency = "min_df" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.least_frequency()),
        says: "a share of the rows, from 0 to 1, or a number of them",
        default: "1",
        text: "in how many rows a [word](features.md#texts) is at least",
    }
    MAX_DF: Frequency = "max_df" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.greatest_frequency()),
        says: "a share of the rows, from 0 to 1, or a number of them",
        default: "1",
        text: "in how many rows a [word](features.md#texts) is at most",
    }
    SUBLINEAR: bool = "sublinear" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&TRUTH),
        default: "false",
        text: "whether a word that is n times in a text counts 1 + ln n [there](features.md#texts), and not n",
    }
    MAX_WORDS: u32 = "max_words" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Whole(0, Limits::MOST, Limits::MOST, as_it_is),
        default: "as many as may be",
        text: "[words](features.md#texts) of a text column that get features of their own",
    }
    NORMALIZE_ROWS: bool = "normalize_rows" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&TRUTH),
        default: "false",
        text: "divides each row [by its length](training.md#rows-of-unit-length)",
    }
    METHOD: KernelMethod = "method" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&METHODS),
        default: "\"auto\"",
        text: "how a [kernel machine](kernels.md) is solved",
    }
    LANDMARKS_BY: LandmarkChoice = "landmarks" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&LANDMARKS),
        default: "\"pivots\"",
        text: "what the landmarks of a [kernel machine](kernels.md) are",
    }
    MACHINES: MachinesWord = "machines" {
        section: Published,
        solvers: Machines,
        kept: Solving,
        value: OptionKind::WordOrWhole(
            &[("average", MachinesWord::Average), ("scans", MachinesWord::Scans)],
            InteriorTerms::MOST_MACHINES,
            2,
            |machines| MachinesWord::Count(machines as usize),
        ),
        default: "as many as `pgsvm.trainers`, or on tables of Citus \"scans\"",
        text: "who trains: so many [machines of PSVM](kernels.md#psvm-solver--interior_point); or the processes that hold rows, together or by [one-shot averaging](../beyond-one-machine.md#one-shot-averaging-for-comparison)",
    }
    RANK_EXPONENT: f64 = "rank_exponent" {
        section: Published,
        solvers: InteriorPoint,
        kept: Solving,
        value: OptionKind::Read(|it| it.share(InteriorTerms::POWER)),
        says: "above 0 and below 1",
        default: "0.5",
        text: "the factor of the kernel matrix has as many columns as there are rows to this power",
    }
    TRACE_TOLERANCE: f64 = "trace_tolerance" {
        section: Published,
        solvers: InteriorPoint,
        kept: Solving,
        value: OptionKind::Read(|it| it.share(LowRankJob::DEFAULT_TOLERANCE)),
        says: "above 0 and below 1",
        default: "1e-6",
        text: "the part of the kernel matrix's trace below which its factor takes no more columns",
    }
    LAMBDA: f64 = "lambda" {
        section: Published,
        solvers: Ocas,
        kept: Solving,
        value: OptionKind::Read(|it| it.share_or_all(0.1)),
        says: "above 0, up to 1",
        default: "0.1",
        text: "how far from the best weights to the newest a [plane](published.md#cutting-planes) is made",
    }
    MULTICLASS: Multiclass = "multiclass" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&[
            ("one_vs_rest", Multiclass::OneVsRest),
            (ONE_VS_ONE, Multiclass::OneVsOne),
            (CRAMMER_SINGER, Multiclass::Together),
        ]),
        default: "\"one_vs_one\" for [kernel machines](kernels.md#many-classes), else \"one_vs_rest\"",
        text: "what [more than two classes](training.md#classes) are told apart by; [the last one](published.md#all-classes-by-one-problem) by one problem",
    }
    TRUNCATION: TruncationWord = "truncation" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Read(|it| it.truncation()),
        says: "above 0, or \"auto\"",
        default: "1 of 'ramp', 1.25 of 'truncated_squared_hinge'",
        text: "s of a truncated [loss](training.md#loss); \"auto\" tries half, once, twice and four times the usual s on rows held out",
    }
    CLASSES_FROM: ClassesBy = "classes_by" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&CLASSES_BY),
        default: "\"probability\" with `probability => true`, but \"decision\" with `class_weight`",
        text: "what tells [more than two classes](prediction.md#more-than-two-classes)",
    }
    CALIBRATION: CalibrationChoice = "calibration" {
        section: Model,
        solvers: All,
        kept: Model,
        value: OptionKind::Word(&[
            ("auto", CalibrationChoice::Auto),
            ("sigmoid", CalibrationChoice::Sigmoid),
            ("isotonic", CalibrationChoice::Isotonic),
        ]),
        default: "\"auto\"",
        text: "what makes [probabilities](training.md#probabilities) of decisions",
    }
    CHUNKS_BY: ChunksWord = "chunks_by" {
        section: Published,
        solvers: Indexed,
        kept: Solving,
        value: OptionKind::Word(&[("slack", ChunksWord::Slack), ("forest", ChunksWord::Forest)]),
        default: "\"slack\"",
        text: "rows are filed in chunks by their slack (how far the weights may move before the row matters), or by a [forest](published.md#metric-forests) whose queries count as passes",
    }
    TREE_SIZE: u32 = "tree_size" {
        section: Published,
        solvers: Indexed,
        kept: Solving,
        value: OptionKind::Whole(1, ForestShape::MOST_TREE_SIZE, 10_000, as_it_is),
        default: "10000",
        text: "rows of a tree, as far as half of the cache and 4 MB have room",
    }
    TREE_WIDTH: u32 = "tree_width" {
        section: Published,
        solvers: Indexed,
        kept: Solving,
        value: OptionKind::Whole(2, ForestShape::MOST_TREE_WIDTH, 10, as_it_is),
        default: "10",
        text: "pivots of a node",
    }
    QUERY_SIZE: u32 = "query_size" {
        section: Published,
        solvers: Indexed,
        kept: Solving,
        value: OptionKind::Whole(1, ForestShape::MOST_QUERY_SIZE, 1000, as_it_is),
        default: "a hundredth of all rows, at least 1000",
        text: "n, the rows that a query looks for",
    }
    QUERY_END: u32 = "query_end" {
        section: Published,
        solvers: Indexed,
        kept: Solving,
        value: OptionKind::Whole(1, ForestShape::MOST_QUERY_SIZE, 100, as_it_is),
        default: "a hundredth of n",
        text: "n_eps: a query that finds fewer is the last before a proof",
    }
    SHRINK_ABOVE: f64 = "shrink_above" {
        section: Published,
        solvers: Indexed,
        kept: Solving,
        value: OptionKind::Read(|it| it.positive(1)),
        says: "above 0",
        default: "0.3",
        text: "T: rows with a margin above 1 + T are not asked for before a proof",
    }
    WATCH: String = "watch" {
        section: Training,
        solvers: All,
        kept: Once,
        value: OptionKind::Read(|it| it.copy()),
        says: "a relation",
        default: "",
        text: "[tests weights on the way](training.md#watching-a-training) on its rows",
    }
    INDEX: String = "index" {
        section: Training,
        solvers: All,
        kept: Once,
        value: OptionKind::Read(|it| it.copy()),
        says: "an index's name",
        default: "",
        text: "[takes numbers from an index](training-indexes.md)",
    }
    WARM_START: String = "warm_start" {
        section: Training,
        solvers: All,
        kept: Once,
        value: OptionKind::Read(|it| it.copy()),
        says: "a model's name",
        default: "",
        text: "[begins from what that model knows](following.md#warm-start)",
    }
}
