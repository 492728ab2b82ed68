//! Pegasos in place of coordinate descent: slower, and certified all the same.

use crate::common::*;
use pgsvm_core::engine::{train_examples_from, OwnedExample, Settings, Threads, Trained};
use pgsvm_core::{
    Blocks, Event, HeadReport, HeadSpec, Inner, Loss, Order, Problem, ProblemError, Proximal,
    Scale, SolverChoice, SolverError, Start, StopReason, Timing, Updates,
};

const PLENTY: usize = 16 << 20;
const TENTH: usize = 4000 * 80 / 10;

fn problem(c: f64, updates: Updates, tolerance: f64, passes: u32) -> Problem {
    Problem::new(Loss::Hinge, c, tolerance)
        .and_then(|problem| {
            problem.with(|it| {
                it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(updates)))
            })
        })
        .and_then(|problem| problem.with(|it| it.stopping.max_passes = Some(passes)))
        .expect("valid")
}

fn rows() -> Vec<OwnedExample> {
    clouds(4000, 12, 2.0, 16)
}

fn train_in(problem: Problem, examples: &[OwnedExample], cache: usize) -> Trained {
    train(
        problem,
        examples,
        settings(cache, Scale::Standard, Threads::One),
    )
}

#[test]
fn updates_by_rows_arrive_and_prove_it() {
    let examples = rows();
    let exact = train_in(
        Problem::new(Loss::Hinge, 0.01, 1e-4).expect("valid"),
        &examples,
        PLENTY,
    );
    let best = exact.trainer.report().unwrap().heads[0].certificate.primal;
    for cache in [PLENTY, TENTH] {
        let problem = problem(0.01, Updates::Row, 0.02, 300);
        let trained = train_in(problem, &examples, cache);
        assert_eq!(trained.reader.resident, cache == PLENTY);
        assert_certified(&trained, &problem, &examples);
        let primal = trained.trainer.report().unwrap().heads[0]
            .certificate
            .primal;
        assert!(primal <= 1.03 * best, "{primal} {best}");
    }
}

#[test]
fn updates_by_blocks_come_nearer_and_say_how_near() {
    let examples = rows();
    for cache in [PLENTY, TENTH] {
        let gaps = [3, 100].map(|passes| {
            let problem = problem(0.01, Updates::Block, 1e-6, passes);
            let trained = train_in(problem, &examples, cache);
            assert_honest(&trained, &problem, &examples);
            let head = trained.trainer.report().unwrap().heads[0];
            assert_eq!(head.stop, Some(StopReason::MaxPasses));
            head.certificate.gap
        });
        assert!(gaps[1] < gaps[0], "{gaps:?}");
    }
}

#[test]
fn costs_and_large_c_keep_the_certificate_honest() {
    let mut examples = rows();
    for (k, example) in examples.iter_mut().enumerate() {
        example.cost = [0.3, 1.0, 7.0][k % 3];
    }
    for updates in [Updates::Row, Updates::Block] {
        for c in [1e-4, 1.0, 1e4] {
            let problem = problem(c, updates, 1e-6, 7);
            let trained = train_in(problem, &examples, TENTH);
            assert_honest(&trained, &problem, &examples);
        }
    }
}

/// A cache that is smaller than a chunk of the spool: rows that find no room count in the primal all the same.
#[test]
fn rows_that_find_no_room_count_in_the_certificate() {
    let examples = clouds(2000, 12, 2.0, 4);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for updates in [Updates::Block, Updates::Sets(5)] {
            let problem = Problem::new(loss, 0.1, 1e-6)
                .and_then(|it| {
                    it.with(|it| {
                        it.solver = SolverChoice::Block(Blocks {
                            split: Order::Sequential,
                            ..Blocks::solved_by(Inner::Pegasos(updates))
                        })
                    })
                })
                .and_then(|it| it.with(|it| it.stopping.max_passes = Some(7)))
                .expect("valid");
            let settings = settings(16 << 10, Scale::Standard, Threads::One);
            let trained = train(problem, &examples, settings);
            assert_honest(&trained, &problem, &examples);
            // each row comes once a pass, whether it finds room or not
            let log = trained.trainer.log().unwrap();
            let passes = log.iter().filter(|entry| entry.event == Event::Pass);
            for (pass, entry) in (1..).zip(passes) {
                assert_eq!(entry.rows_read, 2000 * (pass + 1));
            }
        }
    }
}

#[test]
fn a_pass_updates_once_for_each_row_or_block() {
    let examples = rows();
    let log = |updates| {
        let problem = problem(0.01, updates, 1e-6, 2);
        let trained = train_in(problem, &examples, TENTH);
        let blocks = trained.trainer.log().unwrap();
        let blocks = blocks.iter().filter(|entry| entry.event == Event::Block);
        (blocks.count(), trained.trainer.report().unwrap().visits)
    };
    let (blocks, visits) = log(Updates::Row);
    assert!(blocks > 10);
    assert_eq!(visits, 2 * 4000);
    assert_eq!(log(Updates::Block), (blocks, visits));
}

#[test]
fn a_seed_gives_the_same_weights_whoever_is_faster() {
    let examples = words(3000, 200, 2, 15);
    let run = |threads| {
        let problem = problem(0.1, Updates::Row, 1e-6, 3).with_timing(Timing::Lockstep);
        let settings = Settings::new(3000 * 90 / 10, Scale::Standard, threads);
        let trained = train(problem, &examples, settings);
        trained.trainer.weights(0).iter().collect::<Vec<_>>()
    };
    assert_eq!(run(Threads::One), run(Threads::Two));
}

#[test]
fn it_has_no_shift() {
    let problem = problem(1.0, Updates::Row, 1e-3, 1)
        .with(|it| it.proximal = Proximal::On)
        .expect("valid");
    assert_eq!(problem.proximal(), Proximal::Off);
}

#[test]
fn updates_by_sets_lie_between_rows_and_the_block() {
    let examples = rows();
    let run = |updates, cache| {
        let problem = problem(0.01, updates, 1e-6, 20);
        let trained = train_in(problem, &examples, cache);
        assert_honest(&trained, &problem, &examples);
        let report = trained.trainer.report().unwrap();
        assert_eq!(report.visits, 20 * 4000);
        (
            report.heads[0].updates,
            trained.trainer.weights(0).iter().collect::<Vec<_>>(),
        )
    };
    for sets in [1, 3, 50, 4000, 1_000_000] {
        let updates = run(Updates::Sets(sets), PLENTY).0;
        assert_eq!(updates, Some(20 * u64::from(sets.min(4000))), "{sets}");
        let by_blocks = run(Updates::Block, TENTH).0.expect("Pegasos counts them");
        let streamed = run(Updates::Sets(sets), TENTH).0.expect("so does this");
        assert!(streamed <= 20 * 4000 && streamed >= by_blocks * u64::from(sets.min(10)));
    }
    assert_eq!(run(Updates::Sets(1), TENTH), run(Updates::Block, TENTH));
    assert_eq!(run(Updates::Sets(1), PLENTY), run(Updates::Block, PLENTY));
    for refused in [0, Updates::MOST_SETS + 1] {
        let problem = Problem::new(Loss::Hinge, 1.0, 1e-3).expect("valid");
        assert_eq!(
            problem.with(|it| it.solver =
                SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(Updates::Sets(refused))))),
            Err(ProblemError::Solver(SolverError::InnerUpdates(refused)))
        );
    }
}

#[test]
fn few_values_of_many_features_keep_the_norm_row_by_row() {
    // sets of fewer values than features, and of more
    let examples = words(900, 3000, 2, 12);
    for sets in [2, 300] {
        let problem = problem(0.1, Updates::Sets(sets), 1e-6, 30);
        let trained = train_in(problem, &examples, PLENTY);
        assert_honest(&trained, &problem, &examples);
        assert!(trained.trainer.report().unwrap().heads[0].certificate.gap < 0.5);
    }
}

#[test]
fn the_squared_hinge_arrives_too() {
    let mut examples = rows();
    for (k, example) in examples.iter_mut().enumerate() {
        example.cost = [0.5, 1.0, 2.0][k % 3];
    }
    let squared = |c, updates, tolerance, passes| {
        Problem::new(Loss::SquaredHinge, c, tolerance)
            .and_then(|it| {
                it.with(|it| {
                    it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(updates)))
                })
            })
            .and_then(|it| it.with(|it| it.stopping.max_passes = Some(passes)))
            .expect("valid")
    };
    for cache in [PLENTY, TENTH] {
        let problem = squared(0.002, Updates::Row, 0.02, 400);
        let trained = train_in(problem, &examples, cache);
        assert_certified(&trained, &problem, &examples);
    }
    for updates in [Updates::Block, Updates::Sets(20)] {
        for cache in [PLENTY, TENTH] {
            let gaps = [3, 100].map(|passes| {
                let problem = squared(0.01, updates, 1e-6, passes);
                let trained = train_in(problem, &examples, cache);
                assert_honest(&trained, &problem, &examples);
                trained.trainer.report().unwrap().heads[0].certificate.gap
            });
            assert!(gaps[1] < gaps[0], "{gaps:?}");
        }
    }
    for c in [1e-4, 1.0, 1e4] {
        let problem = squared(c, Updates::Row, 1e-6, 7);
        assert_honest(&train_in(problem, &examples, TENTH), &problem, &examples);
    }
}

/// Where a training that has ended can be carried on, with rows of dual variable 0 behind.
fn start(trained: &Trained, rows: usize) -> Start {
    let mut duals: Vec<f32> = trained.trainer.duals(0).iter().collect();
    duals.resize(rows, 0.0);
    let weights = trained.trainer.weights(0);
    Start {
        duals,
        weights: Some(weights.iter().chain([weights.intercept()]).collect()),
        updates: trained.trainer.report().unwrap().heads[0]
            .updates
            .expect("Pegasos counts them"),
    }
}

#[test]
fn it_is_carried_on_over_rows_that_are_added() {
    let examples = clouds(4400, 12, 2.0, 16);
    for (loss, updates) in [
        (Loss::Hinge, Updates::Row),
        (Loss::Hinge, Updates::Sets(40)),
        (Loss::SquaredHinge, Updates::Row),
        (Loss::SquaredHinge, Updates::Sets(40)),
    ] {
        for cache in [PLENTY, TENTH] {
            // unscaled, so that the rows are the same in both
            let settings = settings(cache, Scale::None, Threads::One);
            let carried = Carried {
                loss,
                updates,
                settings,
                before: train(block(loss, updates, 40), &examples[..4000], settings),
            };
            carried.over_the_same_rows(&examples[..4000]);
            carried.over_more_rows(&examples);
        }
    }
}

fn block(loss: Loss, updates: Updates, passes: u32) -> Problem {
    Problem::new(loss, 0.002, 1e-9)
        .and_then(|it| {
            it.with(|it| {
                it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(updates)))
            })
        })
        .and_then(|it| it.with(|it| it.stopping.max_passes = Some(passes)))
        .expect("valid")
}

/// A training of 40 passes that is carried on.
struct Carried {
    loss: Loss,
    updates: Updates,
    settings: Settings,
    before: Trained,
}

impl Carried {
    fn on(&self, rows: &[OwnedExample], passes: u32) -> Trained {
        let problem = block(self.loss, self.updates, passes);
        let begin = start(&self.before, rows.len());
        let heads = vec![HeadSpec::binary(0.002)];
        let carried = train_examples_from(problem, heads, rows, vec![begin], self.settings)
            .expect("it is carried on");
        assert_honest(&carried, &problem, rows);
        carried
    }

    /// Updates by sets of unequal size leave dual variables beyond their bounds, which costs the dual much.
    fn closes(&self) -> bool {
        self.updates == Updates::Row
    }

    /// It is as if nothing had come between, but for the weights being rounded.
    fn over_the_same_rows(&self, rows: &[OwnedExample]) {
        let whole = train(block(self.loss, self.updates, 50), rows, self.settings);
        let [same, whole, before] = [&self.on(rows, 10), &whole, &self.before].map(head);
        assert_eq!(same.updates, whole.updates);
        let gaps = [same, whole, before].map(|it| it.certificate.gap);
        let as_close = gaps[0] < 1.3 * gaps[1] && gaps[0] < gaps[2];
        assert!(as_close || !self.closes(), "{gaps:?}");
    }

    /// Rows that are added begin with nothing, and have the say of their updates among all.
    fn over_more_rows(&self, rows: &[OwnedExample]) {
        let anew = train(block(self.loss, self.updates, 3), rows, self.settings);
        let [soon, later] = [&self.on(rows, 3), &self.on(rows, 60)].map(head);
        let made = head(&self.before).updates.zip(head(&anew).updates);
        assert_eq!(soon.updates, made.map(|(one, other)| one + other));
        let (soon, later) = (soon.certificate, later.certificate);
        let loss = self.loss;
        let closer = later.gap < 0.7 * soon.gap;
        assert!(closer || !self.closes(), "{loss:?} {soon:?} {later:?}");
        let lower = later.primal < 1.001 * soon.primal;
        assert!(lower, "{loss:?} {soon:?} {later:?}");
    }
}

fn head(trained: &Trained) -> HeadReport {
    trained.trainer.report().unwrap().heads[0]
}
