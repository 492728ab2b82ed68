//! Rows that are dealt out among those who scan them, whose sums travel.

use pgsvm_core::engine::OwnedExample;
use pgsvm_core::message;
use pgsvm_core::source::Example;
use pgsvm_core::{
    Balance, Holding, Plan, Problem, ReaderJob, Renamed, RowForm, Scale, ScanPass, ScanSums,
    ScanTrainer, Step, Survey, TrainerReport,
};
use serde::{de::DeserializeOwned, Serialize};
use std::time::Instant;

pub fn example(owned: &OwnedExample) -> Example<'_> {
    Example {
        offset: owned.offset,
        group: owned.group,
        cost: owned.cost,
        rows: f64::from(owned.cost),
        dense: &owned.dense,
        sparse_index: &owned.sparse_index,
        sparse_value: &owned.sparse_value,
        rounded: false,
    }
}

/// What comes back of a value that has travelled.
pub fn sent<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let bytes = message::encode(value).expect("it can be sent");
    message::decode(&bytes).expect("what was sent can be read")
}

/// Rows that are dealt out.
pub struct Parts<'a> {
    pub parts: Vec<Vec<&'a OwnedExample>>,
}

impl<'a> Parts<'a> {
    /// Dealt out among so many by turns.
    pub fn by_turns(examples: &'a [OwnedExample], count: usize) -> Self {
        let part = |part: usize| examples.iter().skip(part).step_by(count).collect();
        Self {
            parts: (0..count).map(part).collect(),
        }
    }

    /// By class.
    pub fn by_class(examples: &'a [OwnedExample], classes: u32) -> Self {
        let of = |class: u32| examples.iter().filter(move |it| it.group == class);
        Self {
            parts: (0..classes).map(|class| of(class).collect()).collect(),
        }
    }

    pub fn survey(&self, job: &ReaderJob, sample_bytes: usize) -> Survey {
        let mut all = Survey::new(job, sample_bytes);
        for part in &self.parts {
            let mut own = Survey::new(job, sample_bytes);
            // each knows its classes and folds by numbers of its own: here they are the same but backwards
            let stride = job.stride;
            let most = part.iter().map(|it| it.group / stride).max().unwrap_or(0);
            for row in part {
                let fold = stride - 1 - row.group % stride;
                let group = (most - row.group / stride) * stride + fold;
                own.take(&Example {
                    group,
                    ..example(row)
                })
                .expect("a row");
            }
            let classes: Vec<u32> = (0..=most).map(|class| most - class).collect();
            let folds: Vec<u32> = (0..stride).map(|fold| stride - 1 - fold).collect();
            let names = Renamed {
                classes: &classes,
                folds: &folds,
            };
            all.join(sent(&own), names).expect("they join");
        }
        all
    }

    pub fn scan(&self, pass: &ScanPass, form: &RowForm) -> ScanSums {
        let mut all: Option<ScanSums> = None;
        for part in &self.parts {
            let (pass, form): (ScanPass, RowForm) = (sent(pass), sent(form));
            assert!(pass.fits(&form));
            let mut maker = form.maker().unwrap();
            let mut sums = pass.begin().unwrap();
            for row in part {
                pass.add(&mut sums, &maker.make(&example(row)).expect("a row"));
            }
            sums.finish();
            let sums = sent(&sums);
            match &mut all {
                None => all = Some(sums),
                Some(all) => assert!(all.join(&sums)),
            }
        }
        all.expect("a part at least")
    }

    /// Trains to the end, in steps of so many rows, and scans whenever sums are waited for; `each` looks on after every step.
    /// False where the training gives way to one by rows that stream.
    pub fn train(
        &self,
        trainer: &mut ScanTrainer,
        rows: usize,
        form: &RowForm,
        mut each: impl FnMut(),
    ) -> bool {
        loop {
            match trainer.step(rows).unwrap() {
                _ if trainer.gives_way() => return false,
                Step::Progress => {}
                Step::Blocked => {
                    let pass = trainer.pass().unwrap();
                    let sums = self.scan(&pass, form);
                    trainer.take(pass, sums).unwrap();
                }
                Step::Done => return true,
            }
            each();
        }
    }
}

/// How a training by scans has ended; by head its weights, the intercept's last.
pub struct Scanned {
    pub report: TrainerReport,
    pub weights: Vec<Vec<f64>>,
    /// Those that have sorted rows for the rounds of a truncated loss.
    pub sorted_at: Vec<Vec<f64>>,
}

pub fn by_scans(
    problem: &Problem,
    parts: &Parts<'_>,
    scale: Scale,
    sample_bytes: usize,
) -> Scanned {
    with_room(problem, parts, scale, (sample_bytes, 1 << 20))
}

/// With so many bytes for a sample and for rows that are held.
pub fn with_room(
    problem: &Problem,
    parts: &Parts<'_>,
    scale: Scale,
    (sample_bytes, room_bytes): (usize, usize),
) -> Scanned {
    let job = ReaderJob {
        balance: Balance::None,
        ..ReaderJob::new(scale, problem)
    };
    let surveyed = parts.survey(&job, sample_bytes).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let plan = Plan::train(problem.c());
    let holding = Holding {
        bytes: room_bytes,
        lets_go: parts.parts.len() != 2,
    };
    let mut trainer = ScanTrainer::new(problem, &plan, surveyed, holding, Instant::now()).unwrap();
    loop {
        match trainer.step(1000).unwrap() {
            Step::Progress => {}
            Step::Blocked => {
                let pass = trainer.pass().unwrap();
                let sums = parts.scan(&pass, &form);
                assert_eq!(sums.rows(), trainer.rows());
                trainer.take(pass, sums).unwrap();
            }
            Step::Done => break,
        }
    }
    let report = trainer.report().unwrap();
    let numbers = |head: usize| {
        let weights = trainer.weights(head);
        weights.iter().chain([weights.intercept()]).collect()
    };
    Scanned {
        weights: (0..report.heads.len()).map(numbers).collect(),
        sorted_at: (0..report.heads.len())
            .map(|head| trainer.sorted_at(head).to_vec())
            .collect(),
        report,
    }
}
