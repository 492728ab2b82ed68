//! `svm_export(model, format => 'libsvm_model')`: a model of two classes as LIBSVM's own `svm-predict` reads it. Of a kernel
//! machine its landmarks are the support vectors; a linear model is a machine of one, its weights.

use super::export::{labels, own_indices, put, weight, StoredVersion};
use super::libsvm_model::LibsvmHeader;
use crate::base::errors::{notice, Code, Failure};
use crate::combinations::models;
use crate::model::Model;
use crate::pg::check_for_interrupts;
use pgsvm_core::kernels::{Kernel, Rows};
use pgsvm_core::Scaling;

/// Features of a linear model between two looks for interrupts.
const FEATURES_BETWEEN_INTERRUPTS: u64 = 1024;

/// The whole file.
pub fn write(model: &Model, stored: &StoredVersion) -> Result<String, Failure> {
    check_classes(model)?;
    say_sigmoid(model);
    let first = u64::from(own_indices(model));
    let (labels, classes) = labels(model, stored);
    let sign = model.head_of_class(classes[0]).1;
    let header = |kernel, counts| LibsvmHeader {
        svm_type: "c_svc".to_owned(),
        kernel,
        rho: -sign * model.heads[0].intercept,
        labels: [labels[0], labels[1]],
        // 1 less the probability of the second class is that of the first
        sigmoid: model.heads[0]
            .calibration
            .as_ref()
            .map(|it| (it.sigmoid.a, sign * it.sigmoid.b)),
        counts,
    };
    match (&model.kernel, &model.features.kernel) {
        (Some(machine), Some(form)) => {
            let kernel = form.kernel().unwrap_or(Kernel::Linear);
            say_scaling(model, form.scaling.as_ref());
            write_machine(
                machine.landmarks(),
                machine.factors(0),
                sign,
                first,
                |counts| header(kernel, counts),
            )
        }
        _ => {
            say_scaling(model, Some(&Scaling::default()));
            let counts = [usize::from(sign > 0.0), usize::from(sign <= 0.0)];
            write_weights(model, stored, sign, first, header(Kernel::Linear, counts))
        }
    }
}

/// Refuses a model of several classes.
fn check_classes(model: &Model) -> Result<(), Failure> {
    if model.labels.len() == 2 {
        return Ok(());
    }
    Err(models::classes_libsvm(&model.name, model.labels.len()))
}

/// Says that LIBSVM's probabilities are others.
fn say_sigmoid(model: &Model) {
    let calibration = model.heads[0].calibration.as_ref();
    if calibration.is_some_and(|it| it.isotonic.is_some()) {
        notice(format!(
            "model \"{}\" has probabilities by isotonic regression, which LIBSVM does not know: the file has the sigmoid that was fitted beside it",
            model.name
        ));
    }
}

/// Says what has to become of rows before LIBSVM is asked about them.
fn say_scaling(model: &Model, scaling: Option<&Scaling>) {
    if model.features.unit_rows.is_some() {
        notice(format!(
            "rows for LIBSVM must be scaled and divided by their length as model \"{}\" does, see unit_rows in svm_version.features",
            model.name
        ));
        return;
    }
    let Some(scaling) = scaling else {
        return;
    };
    let is_none = scaling.centre.iter().all(|centre| *centre == 0.0)
        && scaling.factor.iter().all(|factor| *factor == 1.0)
        && scaling.sparse_factor.iter().all(|factor| *factor == 1.0);
    if !is_none {
        notice(format!(
            "rows for LIBSVM must be scaled as model \"{}\" does: (value - centre) * factor, see kernel.scaling in svm_version.features",
            model.name
        ));
    }
}

/// A kernel machine; factors of the first label come first.
fn write_machine(
    landmarks: &Rows,
    factors: &[f64],
    sign: f64,
    first: u64,
    header: impl FnOnce([usize; 2]) -> LibsvmHeader,
) -> Result<String, Failure> {
    let of_side = |positive: bool| {
        let all = factors.iter().enumerate();
        all.filter(move |(_, factor)| **factor != 0.0 && (sign * **factor > 0.0) == positive)
    };
    let counts = [true, false].map(|side| of_side(side).count());
    let mut text = header(counts).write();
    for (landmark, factor) in of_side(true).chain(of_side(false)) {
        check_for_interrupts();
        put(&mut text, sign * factor)?;
        let dense = (0..).zip(landmarks.dense(landmark).iter().copied());
        let sparse = landmarks.sparse(landmark).iter();
        let sparse = sparse.map(|[id, bits]| (u64::from(*id), f32::from_bits(*bits)));
        for (id, value) in dense.chain(sparse).filter(|(_, value)| *value != 0.0) {
            put_entry(&mut text, id, first, f64::from(value))?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// A linear model.
fn write_weights(
    model: &Model,
    stored: &StoredVersion,
    sign: f64,
    first: u64,
    header: LibsvmHeader,
) -> Result<String, Failure> {
    let mut text = header.write();
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
