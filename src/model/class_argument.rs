//! The `class` argument, of any type: which class of the model its text names, or which of its quantiles.

use super::version::Model;
use crate::base::errors::Failure;
use crate::features::LONGEST_VALUE_BYTES;
use crate::pg::types::{category_kind, CategoryKind};
use crate::pg::value;
use crate::pg::word::with_text;
use pgrx::pg_sys;

/// What one use of a model remembers of the argument.
#[derive(Default)]
pub struct ClassArgument {
    form: Option<ClassForm>,
    /// The last text and its class.
    last: Option<(Vec<u8>, usize)>,
}

#[derive(Clone, Copy)]
enum ClassForm {
    /// What categories are, too.
    Word(CategoryKind),
    /// All else is read as its type prints it.
    Printed(pg_sys::Oid),
}

impl ClassArgument {
    /// The class that argument `number` (from 0) names; of a model of quantiles the place of one of them.
    ///
    /// # Errors
    /// When the model has none of that name.
    ///
    /// # Safety
    /// `fcinfo` is PostgreSQL's, with that argument not NULL.
    pub unsafe fn read(
        &mut self,
        model: &Model,
        fcinfo: pg_sys::FunctionCallInfo,
        number: usize,
    ) -> Result<usize, Failure> {
        // SAFETY: as the caller promises.
        let (datum, form) = unsafe {
            let argument = (*fcinfo).args.as_slice(number + 1)[number];
            let form = *self.form.get_or_insert_with(|| {
                let type_id = pg_sys::get_fn_expr_argtype((*fcinfo).flinfo, number as _);
                category_kind(type_id).map_or(ClassForm::Printed(type_id), ClassForm::Word)
            });
            (argument.value, form)
        };
        // SAFETY: the argument is of the type that its form was made for.
        unsafe {
            match form {
                ClassForm::Word(kind) => with_text(datum, kind, |text| self.find(model, text)),
                ClassForm::Printed(type_id) => {
                    self.find(model, value::printed(datum, type_id).as_bytes())
                }
            }
        }
    }

    fn find(&mut self, model: &Model, text: &[u8]) -> Result<usize, Failure> {
        if model.quantiles.is_empty() {
            model.check_classes()?;
        }
        if let Some((_, class)) = self.last.as_ref().filter(|(last, _)| last == text) {
            return Ok(*class);
        }
        let beginning = &text[..text.len().min(LONGEST_VALUE_BYTES)];
        let name = String::from_utf8_lossy(beginning);
        // no label is longer
        let class = (text.len() <= LONGEST_VALUE_BYTES)
            .then(|| model.class_named(&name))
            .flatten()
            .ok_or_else(|| model.unknown_class(&name))?;
        self.last = Some((text.to_vec(), class));
        Ok(class)
    }
}
