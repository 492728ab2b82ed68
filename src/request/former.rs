//! `svm_cross_validate` as 0.2.0 declared it: C, the number of folds and the fold column in the places in which features, C and the loss
//! stand now. Pure.

use crate::base::errors::{shortened, Code, Failure};
use crate::request::numbers::Numbers;
use crate::request::solver::is_loss;
use crate::request::Arguments;

impl Arguments {
    /// Puts what stands in the places of 0.2.0 where it belongs, and returns what is to be said of that; None where nothing does:
    /// features that are all numbers are C, unless there is a column of such a name.
    pub fn settle_places(
        &mut self,
        is_column: impl FnOnce(&[String]) -> Result<bool, Failure>,
    ) -> Result<Option<Failure>, Failure> {
        let features = self.columns.features.iter().flatten().cloned();
        let Some(features) = features.collect::<Option<Vec<String>>>() else {
            return Ok(None);
        };
        let numbers = features.iter().map(|it| it.trim().parse().ok());
        let Some(numbers) = numbers.collect::<Option<Vec<f64>>>() else {
            return Ok(None);
        };
        let Some(folds) = self.folds_in_place_of_c() else {
            return Ok(None);
        };
        if numbers.is_empty() || is_column(&features)? {
            return Ok(None);
        }
        self.columns.features = None;
        self.choice.c = Numbers::Are(numbers.into_iter().map(Some).collect());
        let mut now = format!("c => '{{{}}}'", shortened(&features.join(",")));
        if let Some(folds) = folds {
            match self.loss.take_if(|loss| !is_loss(loss)) {
                Some(column) => {
                    now += &format!(", fold_column => '{}'", shortened(&column));
                    self.choice.fold_column = Some(column);
                }
                None => {
                    now += &format!(", folds => {folds}");
                    self.choice.folds = Some(folds);
                }
            }
        }
        let message = "the third argument is features, and numbers there are taken as c";
        let notice = Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message);
        Ok(Some(
            notice
                .detail("In 0.2.0 they stood there.")
                .hint(format!("By name: {now}")),
        ))
    }

    /// The folds that the place of C has, if it has any; None where it has something else.
    fn folds_in_place_of_c(&self) -> Option<Option<i32>> {
        match &self.choice.c {
            Numbers::Default => Some(None),
            Numbers::Are(all) => match all.as_slice() {
                [Some(folds)] if folds.fract() == 0.0 && self.choice.folds.is_none() => {
                    Some(Some(*folds as i32))
                }
                _ => None,
            },
            Numbers::Auto | Numbers::Scale => None,
        }
    }
}
