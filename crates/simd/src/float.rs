//! The two kinds of numbers that weights are.

/// 64 or 32 bits.
pub trait Float: Copy + Default {
    fn of(value: f64) -> Self;
    fn to(self) -> f64;
    /// The same, with their kind.
    fn numbers(all: &[Self]) -> Numbers<'_>;
}

/// Numbers of either kind.
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    Wide(&'a [f64]),
    Narrow(&'a [f32]),
}

impl Float for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to(self) -> f64 {
        self
    }

    fn numbers(all: &[f64]) -> Numbers<'_> {
        Numbers::Wide(all)
    }
}

impl Float for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn to(self) -> f64 {
        self.into()
    }

    fn numbers(all: &[f32]) -> Numbers<'_> {
        Numbers::Narrow(all)
    }
}
