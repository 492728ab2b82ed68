//! A seed gives the same weights bit for bit: digests of weights and dual variables, recorded in `fixtures/weights.txt`.
//!
//! A line is a level of the instruction set, a case and a digest. What a processor can run of the levels is tested; the
//! plain level is the same on all of them. `PGSVM_RECORD=1` writes the lines anew, of those levels that can run.

use std::collections::BTreeMap;
use std::fmt::Write;

use twox_hash::XxHash3_64;

use pgsvm_core::engine::{
    train_examples, train_examples_from, OwnedExample, Settings, Threads, Trained,
};
use pgsvm_core::plan::{drawn_fold, Folds, Goal, Plan, Purpose};
use pgsvm_core::problem::Problem;
use pgsvm_core::scaling::Scale;
use pgsvm_core::{
    Blocks, Compression, HeadSpec, Inner, Intercept, Loss, Order, Policy, Proximal, SolverChoice,
    Start, Timing, Updates,
};
use pgsvm_simd::entries::tiles;
use pgsvm_simd::forced::{forced, Forced};
use pgsvm_simd::Level;

use crate::common::Numbers;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/weights.txt");
const LEVELS: [Forced; 3] = [Forced::Plain, Forced::Narrow, Forced::Wide];
const LOSSES: [(&str, Loss); 2] = [
    ("hinge", Loss::Hinge),
    ("squared_hinge", Loss::SquaredHinge),
];
const ORDERS: [(&str, Order); 2] = [("random", Order::Random), ("sequential", Order::Sequential)];
const PLENTY: usize = 16 << 20;
const LITTLE: usize = 16 << 10;
const FOLDS: u32 = 3;

/// Whether it is a level of its own here.
fn can_run(level: Forced) -> bool {
    let own = Level::best() != Level::PLAIN;
    match level {
        Forced::Plain => true,
        Forced::Narrow => own,
        // tiles are for the widest vectors alone
        Forced::Wide => own && tiles(usize::MAX),
    }
}

/// Rows of overlapping classes: `dense` dense columns and, of `sparse` more, some that are not 0.
fn rows(count: usize, classes: usize, dense: usize, sparse: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new((count + 7 * classes + 31 * dense + 101 * sparse) as u64);
    let centres: Vec<Vec<f64>> = (0..classes)
        .map(|_| (0..dense).map(|_| numbers.normal()).collect())
        .collect();
    let row = |k: usize| {
        let class = match k < classes {
            true => k,
            false => numbers.below(classes),
        };
        let mut index: Vec<u32> = (0..8 * usize::from(sparse > 0))
            .map(|n| match n {
                // columns by which the classes differ
                0..3 => (4 * class + numbers.below(4)).min(sparse - 1) as u32,
                _ => numbers.below(sparse) as u32,
            })
            .collect();
        index.sort_unstable();
        index.dedup();
        OwnedExample {
            offset: None,
            group: class as u32,
            cost: [1.0, 1.0, 0.5, 3.0][numbers.below(4)],
            dense: centres[class]
                .iter()
                .map(|x| x + 1.5 * numbers.normal())
                .collect(),
            sparse_value: index
                .iter()
                .map(|_| 0.5 + numbers.below(3) as f32)
                .collect(),
            sparse_index: index,
        }
    };
    (0..count).map(row).collect()
}

/// The same in drawn folds.
fn in_folds(mut rows: Vec<OwnedExample>) -> Vec<OwnedExample> {
    let mut seen = vec![
        0;
        rows.iter()
            .map(|row| row.group as usize + 1)
            .max()
            .unwrap_or(0)
    ];
    for row in &mut rows {
        let nth = &mut seen[row.group as usize];
        let fold = drawn_fold(3, row.group, *nth, FOLDS);
        *nth += 1;
        row.group = row.group * FOLDS + fold;
    }
    rows
}

/// Columns of different scale, and not around 0.
fn askew(mut rows: Vec<OwnedExample>) -> Vec<OwnedExample> {
    for row in &mut rows {
        for (j, x) in row.dense.iter_mut().enumerate() {
            *x = (*x + 3.0 * (j % 2) as f64) * 10f64.powi(j as i32 % 5 - 2);
        }
    }
    rows
}

/// Chooses C by held-out rows.
fn chosen(purpose: Purpose, probability: bool) -> Goal {
    Goal::Plan(Plan {
        costs: vec![0.01, 0.3],
        folds: Some(Folds::Count(FOLDS)),
        purpose,
        probability,
        ..Plan::train(1.0)
    })
}

fn problem(loss: Loss) -> Problem {
    let problem = Problem::new(loss, 0.3, 1e-3)
        .and_then(|problem| problem.with(|it| it.stopping.max_passes = Some(25)));
    problem
        .expect("valid")
        .with(|it| it.seed = 11)
        .expect("valid")
        .with_timing(Timing::Lockstep)
}

fn one_against_rest(classes: usize, c: f64) -> Goal {
    let signs = |class| {
        (0..classes)
            .map(|other| if other == class { 1 } else { -1 })
            .collect::<Vec<i8>>()
    };
    Goal::Heads(
        (0..classes)
            .map(|class| HeadSpec::new(signs(class), c))
            .collect(),
    )
}

fn binary() -> Goal {
    Goal::Heads(vec![HeadSpec::binary(0.3)])
}

/// Everything that a training says, bit by bit.
fn digest(trained: &Trained) -> String {
    let trainer = &trained.trainer;
    let mut bytes = Vec::new();
    for (head, (_, report)) in trainer.heads().expect("memory").iter().enumerate() {
        let weights = trainer.weights(head);
        let certificate = report.certificate;
        let numbers = [
            certificate.primal,
            certificate.dual,
            report.training_accuracy,
            report.kappa,
        ];
        for value in weights.iter().chain([weights.intercept()]).chain(numbers) {
            bytes.extend(value.to_bits().to_le_bytes());
        }
        for dual in trainer.duals(head).iter() {
            bytes.extend(dual.to_bits().to_le_bytes());
        }
    }
    let report = trainer.report().expect("memory");
    for held_out in &report.validation {
        bytes.extend(held_out.accuracy.to_bits().to_le_bytes());
        bytes.extend(held_out.objective.to_bits().to_le_bytes());
    }
    format!(
        "{:016x} passes {} visits {} updates {}",
        XxHash3_64::oneshot(&bytes),
        report.passes,
        report.visits,
        report.updates
    )
}

/// Cases run one after the other, and what they gave.
struct Cases {
    level: Forced,
    found: BTreeMap<String, String>,
}

/// The same, with rows that come into blocks and blocks that are delivered in these orders.
fn in_order(problem: Problem, split: Order, order: Order) -> Problem {
    let Some(blocks) = problem.blocks() else {
        return problem;
    };
    let blocks = Blocks {
        split,
        order,
        ..blocks
    };
    let ordered = problem.with(|it| it.solver = it.solver.solved_in(blocks));
    ordered.expect("valid")
}

impl Cases {
    fn run(
        &mut self,
        name: String,
        problem: Problem,
        goal: Goal,
        examples: &[OwnedExample],
        settings: Settings,
    ) {
        let trained = train_examples(problem, goal, examples, settings).expect("training works");
        let resident = settings.cache_bytes == PLENTY;
        assert_eq!(trained.reader.resident, resident, "{name}");
        self.note(name, &trained);
    }

    fn note(&mut self, name: String, trained: &Trained) {
        let name = format!("{} {name}", self.level.name());
        let before = self.found.insert(name.clone(), digest(trained));
        assert!(before.is_none(), "two cases are called {name}");
    }

    /// Every form of training over rows that stream, and with `c => NULL`.
    fn streaming(&mut self) {
        let (rows, folds) = (rows(900, 2, 6, 40), in_folds(rows(900, 2, 6, 40)));
        let pegasos = |updates| (Policy::Block, Inner::Pegasos(updates));
        let descent = |policy| (policy, Inner::USUAL);
        let forms = [
            ("stream", descent(Policy::Cached)),
            ("paper", descent(Policy::Paper)),
            ("block", descent(Policy::Block)),
            ("selective_block", descent(Policy::SelectiveBlock)),
            ("pegasos_row", pegasos(Updates::Row)),
            ("pegasos_block", pegasos(Updates::Block)),
        ];
        for (form, (policy, inner)) in forms {
            for (loss_name, loss) in LOSSES {
                let solver = SolverChoice::from(policy).solved_in(Blocks::solved_by(inner));
                let Ok(problem) = problem(loss).with(|it| it.solver = solver) else {
                    continue;
                };
                self.in_each_order(&format!("{form} {loss_name}"), problem, &rows, &folds);
            }
        }
    }

    /// Rows that stream, split and ordered in each way.
    fn in_each_order(
        &mut self,
        name: &str,
        problem: Problem,
        rows: &[OwnedExample],
        folds: &[OwnedExample],
    ) {
        for (split_name, split) in ORDERS {
            for (order_name, block_order) in ORDERS {
                let settings = Settings::new(LITTLE, Scale::Standard, Threads::One);
                let problem = in_order(problem, split, block_order);
                let name = format!("{name} split={split_name} order={order_name}");
                self.run(name.clone(), problem, binary(), rows, settings);
                let goal = chosen(Purpose::Train, false);
                self.run(format!("{name} c=null"), problem, goal, folds, settings);
            }
        }
    }

    /// All rows in the cache.
    fn resident(&mut self) {
        let settings = Settings::new(PLENTY, Scale::Standard, Threads::One);
        let unscaled = Settings::new(PLENTY, Scale::None, Threads::One);
        let tables = [
            ("dense", rows(800, 2, 7, 0)),
            ("long", rows(300, 2, 150, 0)),
            ("sparse", rows(800, 2, 0, 200)),
            ("mixed", rows(800, 2, 5, 60)),
            ("narrow_weights", rows(300, 2, 3, 60_000)),
            ("askew", askew(rows(800, 2, 9, 0))),
        ];
        for (loss_name, loss) in LOSSES {
            let usual = problem(loss);
            for (table, rows) in &tables {
                let name = format!("resident {table} {loss_name}");
                self.run(name.clone(), usual, binary(), rows, settings);
                self.run(format!("{name} unscaled"), usual, binary(), rows, unscaled);
            }
            self.resident_options(loss_name, loss, &tables[0].1, &tables[5].1);
            self.resident_folds(loss_name, usual);
        }
    }

    /// The options, each over one of two tables.
    fn resident_options(
        &mut self,
        loss_name: &str,
        loss: Loss,
        dense: &[OwnedExample],
        askew: &[OwnedExample],
    ) {
        let settings = Settings::new(PLENTY, Scale::Standard, Threads::One);
        let unscaled = Settings::new(PLENTY, Scale::None, Threads::One);
        let balanced = Settings {
            balance: pgsvm_core::Balance::Examples,
            ..settings
        };
        let usual = problem(loss);
        let block = usual
            .with(|it| it.solver = SolverChoice::Block(Blocks::USUAL))
            .expect("valid");
        let dear = || Goal::Heads(vec![HeadSpec::binary(300.0)]);
        let mut run = |name: &str, problem, goal, rows, settings| {
            let name = format!("resident {name} {loss_name}");
            self.run(name, problem, goal, rows, settings);
        };
        let mut with = |name: &str, problem| run(name, problem, binary(), dense, settings);
        with(
            "no_intercept",
            usual
                .with(|it| it.formulation.intercept = Intercept::None)
                .expect("valid"),
        );
        with(
            "proximal_off",
            usual.with(|it| it.proximal = Proximal::Off).expect("valid"),
        );
        with(
            "proximal_on",
            usual.with(|it| it.proximal = Proximal::On).expect("valid"),
        );
        with("block", block);
        for (name, updates) in [
            ("pegasos_row", Updates::Row),
            ("pegasos_block", Updates::Block),
        ] {
            if let Ok(pegasos) = block.with(|it| {
                it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(updates)))
            }) {
                with(name, pegasos);
            }
        }
        run("large_c", usual, dear(), dense, settings);
        run("large_c_askew", usual, dear(), askew, unscaled);
        run("balanced", usual, binary(), dense, balanced);
    }

    /// Plans that hold rows out.
    fn resident_folds(&mut self, loss_name: &str, usual: Problem) {
        let settings = Settings::new(PLENTY, Scale::Standard, Threads::One);
        let folds = in_folds(rows(600, 2, 6, 0));
        for (name, goal) in [
            ("c=null", chosen(Purpose::Train, true)),
            ("validate", chosen(Purpose::Validate, false)),
        ] {
            let name = format!("resident {name} {loss_name}");
            self.run(name, usual, goal, &folds, settings);
        }
    }

    /// Many heads, held together and apart.
    fn heads(&mut self) {
        let tables = [
            ("dense", rows(700, 10, 6, 0), 10),
            ("mixed", rows(700, 10, 3, 90), 10),
            ("long", rows(300, 9, 130, 0), 9),
            ("askew", askew(rows(700, 3, 6, 0)), 3),
        ];
        for (loss_name, loss) in LOSSES {
            let problem = problem(loss);
            for (where_, bytes) in [("resident", PLENTY), ("stream", LITTLE)] {
                let settings = Settings::new(bytes, Scale::Standard, Threads::One);
                let unscaled = Settings::new(bytes, Scale::None, Threads::One);
                for (table, rows, classes) in &tables {
                    let goal = || one_against_rest(*classes, 0.3);
                    let name = format!("heads {where_} {table} {loss_name}");
                    self.run(name.clone(), problem, goal(), rows, settings);
                    self.run(format!("{name} unscaled"), problem, goal(), rows, unscaled);
                }
                let folds = in_folds(rows(600, 4, 5, 0));
                let name = format!("heads {where_} c=null {loss_name}");
                let goal = chosen(Purpose::Train, true);
                self.run(name, problem, goal, &folds, settings);
            }
            // rows in few active sets: heads take turns
            let settings = Settings::new(PLENTY, Scale::Standard, Threads::One);
            let name = format!("heads turns {loss_name}");
            let goal = one_against_rest(9, 10.0);
            self.run(name, problem, goal, &rows(4000, 9, 12, 0), settings);
        }
    }

    /// From the dual variables and weights of other rows.
    fn warm(&mut self) {
        let (before, after) = (rows(800, 2, 7, 0), rows(700, 2, 7, 0));
        let (skew_before, skew_after) = (askew(rows(800, 2, 9, 0)), askew(rows(700, 2, 9, 0)));
        for (loss_name, loss) in LOSSES {
            for (name, before, after, bytes) in [
                ("resident", &before, &after, PLENTY),
                ("resident_askew", &skew_before, &skew_after, PLENTY),
                ("stream", &before, &after, LITTLE),
            ] {
                for weights in [true, false] {
                    let settings = Settings::new(bytes, Scale::None, Threads::One);
                    let found = train_examples(problem(loss), binary(), before, settings);
                    let found = found.expect("training works");
                    let values = found.trainer.weights(0);
                    let start = Start {
                        updates: 0,
                        duals: found.trainer.duals(0).iter().take(after.len()).collect(),
                        weights: weights
                            .then(|| values.iter().chain([values.intercept()]).collect()),
                    };
                    let start = vec![start];
                    let trained =
                        train_examples_from(problem(loss), binary(), after, start, settings);
                    let name = format!("warm {name} {loss_name} weights={weights}");
                    self.note(name, &trained.expect("training works"));
                }
            }
        }
    }

    /// Passes divided among trainers.
    fn trainers(&mut self) {
        let tables = [
            ("dense", rows(12_000, 2, 12, 0)),
            ("mixed", rows(12_000, 2, 4, 100)),
        ];
        let settings = Settings::new(PLENTY, Scale::Standard, Threads::One);
        for (loss_name, loss) in LOSSES {
            for (table, rows) in &tables {
                let problem = problem(loss).with_trainers(2).expect("two");
                let name = format!("trainers {table} {loss_name}");
                self.run(name, problem, binary(), rows, settings);
            }
        }
    }

    /// Spooled with and without compression, which changes no row.
    fn compression(&mut self) {
        let rows = rows(900, 2, 6, 40);
        for (name, compression) in [("on", Compression::On), ("off", Compression::Off)] {
            let mut settings = Settings::new(LITTLE, Scale::Standard, Threads::One);
            settings.compression = compression;
            let name = format!("stream hinge compression={name}");
            self.run(name, problem(Loss::Hinge), binary(), &rows, settings);
        }
    }
}

/// The lines of the file.
fn recorded() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines
        .map(|(name, digest)| (name.into(), digest.into()))
        .collect()
}

fn found_at(level: Forced) -> BTreeMap<String, String> {
    forced(level, || {
        let mut cases = Cases {
            level,
            found: BTreeMap::new(),
        };
        cases.streaming();
        cases.resident();
        cases.heads();
        cases.warm();
        cases.trainers();
        cases.compression();
        cases.found
    })
}

#[test]
fn a_seed_gives_the_weights_that_were_recorded() {
    let levels = LEVELS.into_iter().filter(|level| can_run(*level));
    let found: BTreeMap<_, _> = levels.flat_map(found_at).collect();
    let mut expected = recorded();
    if std::env::var_os("PGSVM_RECORD").is_some() {
        expected.extend(found);
        record(&expected);
        return;
    }
    let of_level = |name: &str| {
        LEVELS
            .iter()
            .any(|it| can_run(*it) && name.starts_with(it.name()))
    };
    expected.retain(|name, _| of_level(name));
    let names = |a: &BTreeMap<_, _>| a.keys().cloned().collect::<Vec<String>>();
    assert_eq!(names(&found), names(&expected));
    let other = found
        .iter()
        .filter(|(name, digest)| expected.get(*name) != Some(*digest));
    let other: Vec<_> = other.map(|(name, _)| name.as_str()).collect();
    assert!(
        other.is_empty(),
        "other bits than recorded in {} cases:\n{}",
        other.len(),
        other.join("\n")
    );
}

fn record(digests: &BTreeMap<String, String>) {
    let mut text = String::new();
    for (name, digest) in digests {
        writeln!(text, "{name}: {digest}").expect("memory");
    }
    std::fs::write(FILE, text).expect("the file can be written");
}
