//! Kernel machines of low rank by scans: landmarks are chosen of the survey's sample, and each scan maps the rows that it visits.

use crate::base::errors::Failure;
use crate::features::{word_of, KernelForm, LANDMARKS};
use crate::pg::check_for_interrupts;
use crate::planning::job::Job;
use crate::training::any_reader::reads;
use crate::training::by_scans::refusals::rank_beyond_sample;
use crate::training::outcome::Machine;
use crate::training::progress::Progress;
use pgsvm_core::kernels::{KernelError, KernelKind, LowRank};
use pgsvm_core::memory::{copied, gathered, OutOfMemory};
use pgsvm_core::{
    LandmarkChoice, LowRankJob, MapSearch, MapView, ReaderReport, RowForm, SampledMap,
    SolverChoice, Surveyed,
};

/// A map, and what it was chosen for.
pub(super) struct ChosenMap {
    map: LowRank,
    /// Of the rows that it makes.
    form: RowForm,
    landmarks: LandmarkChoice,
    gamma: Option<f64>,
}

impl ChosenMap {
    /// The maps that are wanted for so many rows, one for each gamma; none of a linear machine.
    pub(super) fn asked(job: &Job, rows: u64) -> Result<Vec<LowRankJob>, OutOfMemory> {
        let Some(terms) = &job.kernel else {
            return Ok(Vec::new());
        };
        let maps = terms.maps.iter();
        let maps = maps.filter(|map| map.kernel.kind() != KernelKind::Linear);
        gathered(maps.map(|map| {
            let asked = LowRankJob {
                memory_bytes: job.source_cache_bytes(),
                ..*map
            };
            match job.terms.solver() {
                SolverChoice::InteriorPoint(interior) => LowRankJob {
                    rank: Some(interior.rank.of(rows as usize)),
                    tolerance: interior.trace_tolerance,
                    ..asked
                },
                _ => asked,
            }
        }))
    }

    /// Chooses it of the rows that were surveyed; gives back what the rows are like that it makes.
    pub(super) fn choose(
        job: &Job,
        asked: &LowRankJob,
        surveyed: Surveyed,
        sample_bytes: usize,
        progress: &mut Progress,
    ) -> Result<(Surveyed, Self), Failure> {
        let search = MapSearch::new(asked, reads(job), surveyed, sample_bytes);
        let mut search = search.map_err(|error| match error {
            KernelError::Rank { rank, rows } => rank_beyond_sample(rank, rows),
            error => error.into(),
        })?;
        while !search.step()? {
            check_for_interrupts();
            progress.show_landmarks(search.landmarks());
        }
        let SampledMap {
            map, mapped, gamma, ..
        } = search.finish()?;
        let mapping = Self {
            map,
            form: mapped.form.copied()?,
            landmarks: asked.landmarks,
            gamma,
        };
        Ok((mapped, mapping))
    }

    /// As the message of a scan has it.
    pub(super) fn view(&self) -> MapView<'_> {
        MapView {
            factor: self.map.factor(),
            form: &self.form,
        }
    }

    pub(super) fn map(&self) -> &LowRank {
        &self.map
    }

    /// The kernel's.
    pub(super) fn gamma(&self) -> Option<f64> {
        self.gamma
    }

    /// How the machine is stored; `report`: of the rows that are mapped.
    pub(super) fn form(&self, job: &Job, report: &ReaderReport) -> Result<KernelForm, Failure> {
        let scaling = match job.rows.unit_rows {
            true => None,
            false => Some(report.scaling.copied()?),
        };
        let chosen = (word_of(self.landmarks, &LANDMARKS), self.map.left_out());
        let rows = self.map.landmarks().rows();
        let form = KernelForm::of(self.map.kernel(), rows, chosen, scaling);
        Ok(form.relative_to(copied(&report.provisional)?))
    }

    /// The machine itself.
    pub(super) fn into_machine(self) -> Machine {
        Machine::LowRank(Box::new(self.map))
    }
}
