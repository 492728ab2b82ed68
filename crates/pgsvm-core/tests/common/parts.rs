//! Rows that are dealt out among those who scan them, whose sums travel.
#![allow(dead_code)]

use pgsvm_core::engine::OwnedExample;
use pgsvm_core::message;
use pgsvm_core::source::Example;
use pgsvm_core::{ReaderJob, Renamed, RowForm, ScanPass, ScanSums, ScanTrainer, Step, Survey};
use serde::{de::DeserializeOwned, Serialize};

pub fn example(owned: &OwnedExample) -> Example<'_> {
    Example {
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
