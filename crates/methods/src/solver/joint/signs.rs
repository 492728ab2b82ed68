//! The signs of many heads: by group and lane, as visits read them.

use super::JointHeads;
use crate::base::interrupts;
use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::simd::lanes::{Lanes, LANES};

/// Most signs that are written down for all groups, in eights: two megabytes. Where classes, folds and C make more of them
/// than that, those of the group at hand are written when its row comes.
const MOST_SIGNS: usize = 1 << 16;

/// The signs of the heads by group and lane, `blocks.len()` for each group, or of one group.
#[derive(Default)]
pub(super) struct FacingSigns {
    all: Vec<Lanes>,
    listed: bool,
    /// Where those of the group at hand begin, or which group's are written down.
    from: usize,
    group: Option<usize>,
}

impl FacingSigns {
    fn new(groups: usize, each: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            all: zeros(groups * each)?,
            listed: groups != 1,
            from: 0,
            group: None,
        })
    }

    /// Of a block, in the group at hand.
    #[inline(always)]
    pub(super) fn of(&self, block: usize) -> &Lanes {
        &self.all[self.from + block]
    }
}

impl JointHeads {
    /// Writes down the signs of all groups, or makes ready for those of one at a time.
    pub(super) fn list_signs(&mut self) -> Result<(), OutOfMemory> {
        let each = self.blocks.len();
        let all = self.facts.groups.saturating_mul(each);
        let groups = if all <= MOST_SIGNS {
            self.facts.groups
        } else {
            1
        };
        self.signs = FacingSigns::new(groups, each)?;
        if groups == self.facts.groups {
            (0..groups).for_each(|group| self.write_signs(group, group));
        }
        Ok(())
    }

    /// Writes the signs of a group to this place of the table.
    fn write_signs(&mut self, place: usize, group: usize) {
        let each = self.blocks.len();
        let heads = self.head_of.chunks(LANES);
        let signs = &mut self.signs.all[place * each..][..each];
        interrupts::check();
        for (signs, heads) in signs.iter_mut().zip(heads) {
            *signs = std::array::from_fn(|k| match heads.get(k) {
                Some(&head) => self.specs[head].signs.of(group).into(),
                None => 0.0,
            });
        }
    }

    /// Has the signs of this group at hand.
    #[inline(always)]
    pub(super) fn face(&mut self, group: usize) {
        if self.signs.listed {
            self.signs.from = group * self.blocks.len();
        } else if self.signs.group != Some(group) {
            self.face_anew(group);
        }
    }

    #[cold]
    fn face_anew(&mut self, group: usize) {
        self.write_signs(0, group);
        self.signs.group = Some(group);
    }
}
