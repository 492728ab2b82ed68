//! The instruction sets for which the loops are compiled, and which of them runs.

#[cfg(any(test, feature = "forced"))]
use super::forced::{Forced, FORCED};
use super::{eight, lanes};

mod sealed {
    /// Kept by the builds of this file alone: what [`super::Isa`] says of the processor must be true.
    pub trait Sealed {}
}

/// What sets the builds apart.
pub trait Isa: sealed::Sealed {
    /// A product is added with one rounding.
    const FUSED: bool;
    /// The processor is known to have AVX2 and FMA. Only [`run_avx2`] may run such a build.
    const AVX2: bool = false;
    /// Two dense rows are gone through faster together than one after the other.
    const TWO_ROWS: bool = false;
    /// Eight numbers at a time.
    type Eight: eight::Eight;

    /// Runs a piece of this build's work as a function of its own: what many loops share, and what takes much longer than a
    /// call, is then compiled once and not into each of them.
    fn apart<W: Work>(work: W) -> W::Output;
}

/// Multiply, round, add.
struct Plain;
/// One instruction, one rounding.
#[cfg(target_arch = "aarch64")]
struct Fused;
/// The same, and the loops of [`super::avx2`].
#[cfg(target_arch = "x86_64")]
struct Avx2;

impl sealed::Sealed for Plain {}
impl Isa for Plain {
    const FUSED: bool = false;
    type Eight = lanes::Lanes;

    #[inline(never)]
    fn apart<W: Work>(work: W) -> W::Output {
        work.run::<Self>()
    }
}
#[cfg(target_arch = "aarch64")]
impl sealed::Sealed for Fused {}
#[cfg(target_arch = "aarch64")]
impl Isa for Fused {
    const FUSED: bool = true;
    type Eight = lanes::Lanes;

    #[inline(never)]
    fn apart<W: Work>(work: W) -> W::Output {
        work.run::<Self>()
    }
}
#[cfg(target_arch = "x86_64")]
impl sealed::Sealed for Avx2 {}
#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    const FUSED: bool = true;
    const AVX2: bool = true;
    const TWO_ROWS: bool = true;
    type Eight = eight::avx2::EightFloats;

    #[inline(always)]
    fn apart<W: Work>(work: W) -> W::Output {
        // SAFETY: this build is in [`run_avx2`] alone, which runs where the processor was seen to have both features.
        unsafe { run_avx2(work) }
    }
}

/// A piece of work that runs inside one build. `run` and all it calls must be `#[inline(always)]`.
pub trait Work {
    type Output;
    fn run<K: Isa>(self) -> Self::Output;
}

/// Which build to run; only [`Level::best`] makes one that needs more than the target's baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Build);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Build {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The build every processor of the target can run.
    #[cfg(any(test, feature = "forced"))]
    pub const PLAIN: Level = Level(Build::Plain);

    /// The best build for this processor.
    pub fn best() -> Level {
        #[cfg(any(test, feature = "forced"))]
        if FORCED.get() == Some(Forced::Plain) {
            return Level::PLAIN;
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            return Level(Build::Avx2);
        }
        #[cfg(target_arch = "aarch64")]
        return Level(Build::Neon);
        #[cfg(not(target_arch = "aarch64"))]
        Level(Build::Plain)
    }

    pub fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Build::Plain => work.run::<Plain>(),
            // SAFETY: this variant is made only after the processor was seen to have both features.
            #[cfg(target_arch = "x86_64")]
            Build::Avx2 => unsafe { run_avx2(work) },
            #[cfg(target_arch = "aarch64")]
            Build::Neon => work.run::<Fused>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run::<Avx2>()
}
