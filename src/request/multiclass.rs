//! How more than two classes are told apart: the option "multiclass". Pure.

use crate::base::errors::Failure;
use crate::combinations::kernels;
use crate::request::kernel::KernelTerms;
use crate::request::option_words::{KernelMethod, Multiclass};
use crate::request::options::{table, Choices};
use crate::request::solver::SolvingTerms;
use pgsvm_core::Pairs;

/// Classes up to which a kernel machine tells them apart two by two where nobody says how: as LIBSVM does, and with as many as 496
/// pairs.
const USUAL_CLASSES: usize = 32;
/// And as far as the dual variables of its pairs take no more bytes than this, four each.
const USUAL_BYTES: usize = 256 << 20;

impl Choices<'_> {
    /// Whether several classes are told apart together.
    pub(super) fn together(&self) -> Result<bool, Failure> {
        Ok(self.get(&table::MULTICLASS)? == Some(Multiclass::Together))
    }

    /// Up to how many classes each head tells two of them apart; 0: none does.
    pub(super) fn pairs_up_to(
        &self,
        terms: &SolvingTerms,
        kernel: Option<&KernelTerms>,
    ) -> Result<usize, Failure> {
        let by_rows = !terms.scans() && !terms.by_interior_points();
        match self.get(&table::MULTICLASS)? {
            Some(Multiclass::OneVsRest | Multiclass::Together) => Ok(0),
            Some(Multiclass::OneVsOne) => match kernel {
                _ if !by_rows => Err(kernels::pairs_by_rows(terms.solver_word())),
                None => Err(kernels::pairs_linear()),
                Some(_) => Ok(usize::MAX),
            },
            None => Ok(match kernel.map(|it| it.method) {
                Some(KernelMethod::Auto | KernelMethod::Exact) if by_rows => USUAL_CLASSES,
                _ => 0,
            }),
        }
    }
}

/// The same of so many rows and heads for each pair, where nobody has said how classes are told apart.
pub fn pairs_with_room(up_to: usize, rows: u64, heads: usize) -> usize {
    if up_to > USUAL_CLASSES {
        return up_to;
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let fits = |classes: &usize| {
        let of_pair = rows.saturating_mul(4).saturating_mul(heads);
        of_pair.saturating_mul(Pairs::count(*classes)) <= USUAL_BYTES
    };
    (0..=up_to).rev().find(fits).unwrap_or(0)
}
