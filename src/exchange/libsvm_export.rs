//! `svm_export(model, format => 'libsvm_model')`: a model as LIBSVM's own `svm-predict` reads it. Of a kernel machine its landmarks are
//! the support vectors; a linear model of two classes is a machine of one, its weights.

use super::export::{labels, own_indices, put, weight, StoredVersion};
use super::libsvm_model::{self, LibsvmHeader};
use crate::base::errors::{said, Code, Failure};
use crate::catalog::trained_by::{training_beside, OtherTraining};
use crate::combinations::models;
use crate::model::{KernelMachine, Model, REGRESSION};
use crate::pg::check_for_interrupts;
use pgsvm_core::kernels::{Kernel, Rows};
use pgsvm_core::memory::{filled, gathered, OutOfMemory};
use pgsvm_core::{Pairs, Scaling};

/// Features of a linear model between two looks for interrupts.
const FEATURES_BETWEEN_INTERRUPTS: u64 = 1024;
/// A training of a kernel machine that the format can say.
const IN_PAIRS: OtherTraining = OtherTraining {
    suffix: "_pairs",
    with: ("multiclass", "one_vs_one"),
    is_option: true,
    without: &["solver"],
};

/// The whole file; `notices` collects what is to be said of it.
pub fn write(
    model: &Model,
    stored: &StoredVersion,
    notices: &mut Vec<Failure>,
) -> Result<String, Failure> {
    check_classes(model)?;
    notices.extend(about_sigmoid(model));
    let first = u64::from(own_indices(model));
    if let Some(task) = model.task() {
        return write_one(model, stored, (task, first), notices);
    }
    let (labels, classes) = labels(model, stored, notices);
    let machines = PairMachines::of(model, &classes)?;
    let heads = machines.heads.iter();
    let sigmoids = gathered(heads.clone().filter_map(|(head, sign)| {
        let sigmoid = &model.heads[*head].calibration.as_ref()?.sigmoid;
        // 1 less the probability of the second class is that of the first
        Some((sigmoid.a, sign * sigmoid.b))
    }))?;
    let mut header = LibsvmHeader {
        svm_type: "c_svc".to_owned(),
        kernel: Kernel::Linear,
        rho: gathered(heads.map(|(head, sign)| -sign * model.heads[*head].intercept))?,
        labels,
        sigmoids: match sigmoids.len() == machines.heads.len() {
            true => sigmoids,
            false => Vec::new(),
        },
        counts: Vec::new(),
    };
    match (&model.kernel, &model.features.kernel) {
        (Some(machine), Some(form)) => {
            header.kernel = form.kernel().unwrap_or(Kernel::Linear);
            notices.extend(about_scaling(model, form.scaling.as_ref()));
            let lines = LandmarkLines::of(machine, &machines)?;
            header.counts = lines.counts()?;
            let mut text = header.write()?;
            lines.write(machine, &machines, first, &mut text)?;
            Ok(text)
        }
        _ => {
            notices.extend(about_scaling(model, Some(&Scaling::default())));
            let sign = machines.heads[0].1;
            header.counts = vec![usize::from(sign > 0.0), usize::from(sign <= 0.0)];
            write_weights(model, stored, sign, first, &header)
        }
    }
}

/// A machine without labels: of a regression, or of one class.
fn write_one(
    model: &Model,
    stored: &StoredVersion,
    (task, first): (&str, u64),
    notices: &mut Vec<Failure>,
) -> Result<String, Failure> {
    let mut header = LibsvmHeader {
        svm_type: match task {
            REGRESSION => libsvm_model::REGRESSIONS[0].to_owned(),
            _ => libsvm_model::ONE_CLASS.to_owned(),
        },
        kernel: Kernel::Linear,
        rho: vec![-model.heads[0].intercept],
        labels: Vec::new(),
        sigmoids: Vec::new(),
        counts: vec![1],
    };
    let (Some(machine), Some(form)) = (&model.kernel, &model.features.kernel) else {
        notices.extend(about_scaling(model, Some(&Scaling::default())));
        return write_weights(model, stored, 1.0, first, &header);
    };
    header.kernel = form.kernel().unwrap_or(Kernel::Linear);
    notices.extend(about_scaling(model, form.scaling.as_ref()));
    let landmarks = machine.landmarks();
    header.counts = vec![landmarks.len()];
    let mut text = header.write()?;
    for (landmark, factor) in machine.factors(0).iter().enumerate() {
        check_for_interrupts();
        put(&mut text, *factor)?;
        put_entries(&mut text, landmarks, landmark, first)?;
    }
    Ok(text)
}

/// Whether the format can say how a model tells its classes apart.
pub fn can_be_said(model: &Model) -> bool {
    model.labels.len() == 2 || model.pairs.is_some()
}

fn check_classes(model: &Model) -> Result<(), Failure> {
    if can_be_said(model) {
        return Ok(());
    }
    let training = match model.features.kernel {
        Some(_) => training_beside(&model.name, &IN_PAIRS),
        None => "svm_train(…, kernel => 'rbf', options => '{\"multiclass\": \"one_vs_one\"}')"
            .to_owned(),
    };
    Err(models::classes_libsvm(
        &model.name,
        model.labels.len(),
        training,
    ))
}

/// The machines of a file, one for each pair of its classes.
struct PairMachines {
    /// Of classes in the order of the file.
    pairs: Pairs,
    /// By pair the head that tells the two apart, and the sign of its decision for the first of them.
    heads: Vec<(usize, f64)>,
}

impl PairMachines {
    /// `classes`: the model's, in the order of the file.
    fn of(model: &Model, classes: &[usize]) -> Result<Self, OutOfMemory> {
        let pairs = Pairs::all(classes.len())?;
        let mut places = filled(0, classes.len())?;
        for (place, class) in classes.iter().enumerate() {
            places[*class] = place;
        }
        let mut heads = filled((0, 1.0), pairs.len())?;
        for head in 0..pairs.len() {
            let (positive, negative) = model.classes_of_head(head);
            let [one, other] = [positive, negative.unwrap_or(0)].map(|class| places[class]);
            let sign = if one < other { 1.0 } else { -1.0 };
            heads[pairs.head([one.min(other), one.max(other)])] = (head, sign);
        }
        Ok(Self { pairs, heads })
    }

    /// A landmark's factor in the machine of a pair, for the first class.
    fn factor(&self, machine: &KernelMachine, pair: usize, landmark: usize) -> f64 {
        let (head, sign) = self.heads[pair];
        sign * machine.factors(head)[landmark]
    }

    /// The pair of two classes, in any order.
    fn pair(&self, one: usize, other: usize) -> usize {
        self.pairs.head([one.min(other), one.max(other)])
    }
}

/// That LIBSVM's probabilities are others.
fn about_sigmoid(model: &Model) -> Option<Failure> {
    let mut calibrations = model.heads.iter().filter_map(|it| it.calibration.as_ref());
    let has_isotonic = calibrations.any(|it| it.isotonic.is_some());
    has_isotonic.then(|| {
        said(format!(
            "model \"{}\" has probabilities by isotonic regression, which LIBSVM does not know: the file has the sigmoid that was fitted beside it",
            model.name
        ))
    })
}

/// What has to become of rows before LIBSVM is asked about them.
fn about_scaling(model: &Model, scaling: Option<&Scaling>) -> Option<Failure> {
    if model.features.unit_rows.is_some() {
        return Some(said(format!(
            "rows for LIBSVM must be scaled and divided by their length as model \"{}\" does, see unit_rows in svm_version.features",
            model.name
        )));
    }
    let scaling = scaling?;
    let is_none = scaling.centre.iter().all(|centre| *centre == 0.0)
        && scaling.factor.iter().all(|factor| *factor == 1.0)
        && scaling.sparse_factor.iter().all(|factor| *factor == 1.0);
    (!is_none).then(|| {
        said(format!(
            "rows for LIBSVM must be scaled as model \"{}\" does: (value - centre) * factor, see kernel.scaling in svm_version.features",
            model.name
        ))
    })
}

/// Where a landmark has no line of a class.
const NO_LINE: u16 = u16::MAX;

/// The lines of the file, each of a landmark and a class.
///
/// The line of a class has room for the factors of the machines of that class. A landmark of an exact machine is of one class, and has one
/// line; one of low rank has factors in all machines, and lines of all classes but one. Its lines are taken one after the other, each
/// of the class with most factors that have no place yet, or of equals the one that more of them speak for.
struct LandmarkLines {
    classes: usize,
    /// By landmark and class how many lines the landmark has before this one, or [`NO_LINE`].
    turns: Vec<u16>,
}

impl LandmarkLines {
    fn of(machine: &KernelMachine, machines: &PairMachines) -> Result<Self, OutOfMemory> {
        let (classes, landmarks) = (machines.pairs.classes(), machine.landmarks().len());
        let mut turns = filled(NO_LINE, landmarks * classes)?;
        let mut factors = filled(0.0, machines.pairs.len())?;
        let mut left = filled((0, 0), classes)?;
        for (landmark, turns) in turns.chunks_exact_mut(classes).enumerate() {
            check_for_interrupts();
            for (pair, factor) in factors.iter_mut().enumerate() {
                *factor = machines.factor(machine, pair, landmark);
            }
            take_turns(machines, &factors, &mut left, turns);
        }
        Ok(Self { classes, turns })
    }

    /// The landmarks that have a line of a class.
    fn of_class(&self, class: usize) -> impl Iterator<Item = (usize, &[u16])> {
        let landmarks = self.turns.chunks_exact(self.classes).enumerate();
        landmarks.filter(move |(_, turns)| turns[class] != NO_LINE)
    }

    /// Lines of each class.
    fn counts(&self) -> Result<Vec<usize>, OutOfMemory> {
        gathered((0..self.classes).map(|class| self.of_class(class).count()))
    }

    fn write(
        &self,
        machine: &KernelMachine,
        machines: &PairMachines,
        first: u64,
        text: &mut String,
    ) -> Result<(), Failure> {
        for class in 0..self.classes {
            for (landmark, turns) in self.of_class(class) {
                check_for_interrupts();
                for other in (0..self.classes).filter(|other| *other != class) {
                    let factor = match turns[class] < turns[other] {
                        true => machines.factor(machine, machines.pair(class, other), landmark),
                        false => 0.0,
                    };
                    put(text, factor)?;
                }
                put_entries(text, machine.landmarks(), landmark, first)?;
            }
        }
        Ok(())
    }
}

/// Gives all factors of a landmark, one a pair, a place in lines. `left`: room for two counts of each class.
fn take_turns(
    machines: &PairMachines,
    factors: &[f64],
    left: &mut [(u32, u32)],
    turns: &mut [u16],
) {
    left.fill((0, 0));
    for (pair, factor) in factors.iter().enumerate().filter(|(_, it)| **it != 0.0) {
        let [first, second] = machines.pairs.sides(pair);
        left[first].0 += 1;
        left[second].0 += 1;
        left[if *factor > 0.0 { first } else { second }].1 += 1;
    }
    for turn in 0.. {
        let mut taken = 0;
        for class in 1..left.len() {
            if left[class] > left[taken] {
                taken = class;
            }
        }
        if left[taken].0 == 0 {
            return;
        }
        turns[taken] = turn;
        left[taken] = (0, 0);
        for other in (0..left.len()).filter(|other| turns[*other] == NO_LINE) {
            let factor = factors[machines.pair(taken, other)];
            if factor != 0.0 {
                left[other].0 -= 1;
                left[other].1 -= u32::from((factor > 0.0) == (other < taken));
            }
        }
    }
}

/// A landmark's entries, and the end of its line.
fn put_entries(
    text: &mut String,
    landmarks: &Rows,
    landmark: usize,
    first: u64,
) -> Result<(), Failure> {
    let dense = (0..).zip(landmarks.dense(landmark).iter().copied());
    let sparse = landmarks.sparse(landmark).iter();
    let sparse = sparse.map(|[id, bits]| (u64::from(*id), f32::from_bits(*bits)));
    for (id, value) in dense.chain(sparse).filter(|(_, value)| *value != 0.0) {
        put_entry(text, id, first, f64::from(value))?;
    }
    text.push('\n');
    Ok(())
}

/// A linear model of two classes.
fn write_weights(
    model: &Model,
    stored: &StoredVersion,
    sign: f64,
    first: u64,
    header: &LibsvmHeader,
) -> Result<String, Failure> {
    let mut text = header.write()?;
    put(&mut text, 1.0)?;
    for id in 0..stored.features {
        if id % FEATURES_BETWEEN_INTERRUPTS == 0 {
            check_for_interrupts();
        }
        let weight = sign * weight(model, 0, id);
        if weight != 0.0 {
            put_entry(&mut text, id, first, weight)?;
        }
    }
    text.push('\n');
    Ok(text)
}

/// An entry of a feature; `first` is the one of index 1.
fn put_entry(text: &mut String, id: u64, first: u64, value: f64) -> Result<(), Failure> {
    let Some(index) = (id + 1).checked_sub(first).filter(|index| *index > 0) else {
        return Err(Failure::new(
            Code::ERRCODE_FEATURE_NOT_SUPPORTED,
            "the model has a feature of index 0, which LIBSVM files do not know",
        )
        .hint("Count the indices of the features from 1 and train the model again."));
    };
    text.push_str(&index.to_string());
    text.push(':');
    put(text, value)
}
