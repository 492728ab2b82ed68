//! A sweep of the working set, group after group: rows are visited, or graded on the way.

use std::iter::repeat_n;
use std::ops::Range;

use crate::base::prefetch::prefetch;
use crate::rows::visited::VisitedPage;
use crate::simd::Isa;
use crate::solver::driver::TakesRows;
use crate::training::schedule::grades::GRADES;
use crate::training::schedule::sharing::{Portion, Share};
use crate::training::schedule::working_set::{Pages, GROUP};

/// What is found of a row that is not visited, or of a slot without one.
const PASSED_OVER: u8 = u8::MAX;

/// Groups of slots of the working set.
pub(in crate::training) struct Sweep<'a> {
    pub(in crate::training) pages: Pages<'a>,
    pub(in crate::training) groups: &'a [(u32, u32)],
    /// Where rows are graded, by what; else rows that are shrunk are passed over.
    pub(in crate::training) margins: Option<&'a [f64; GRADES]>,
}

impl Sweep<'_> {
    /// The page of a group, and its slots.
    #[inline(always)]
    fn group(&self, number: usize) -> (VisitedPage<'_>, Range<usize>) {
        let (page, first) = self.groups[number];
        let page = VisitedPage::as_stored(self.pages.read(page as usize));
        let first = first as usize;
        (page, first..page.slots().min(first + GROUP))
    }
}

impl Portion for Sweep<'_> {
    /// Those of a group are whole, with slots behind the last one of a page.
    fn rows(&self) -> usize {
        GROUP * self.groups.len()
    }

    #[inline(always)]
    fn show<K: Isa>(&self, to: &mut impl TakesRows, share: Share, found: &mut Vec<u8>) {
        let scattered = to.scattered();
        for number in (0..self.groups.len()).filter(|group| share.has(*group)) {
            if share.behind(number) < self.groups.len() {
                let (page, slots) = self.group(share.behind(number));
                if !slots.is_empty() {
                    prefetch(page.stored.peek(slots.start), 8);
                }
            }
            let (page, slots) = self.group(number);
            let missing = GROUP - slots.len();
            for slot in slots.clone() {
                if scattered && slot + 1 < slots.end {
                    to.ask::<false>(&page.row(slot + 1));
                }
                found.push(match (page.live(slot), self.margins) {
                    (Some(row), Some(margins)) => to.visit_graded::<K>(&row, margins) as u8,
                    (Some(row), None) if !to.shrunk(row.ordinal()) => {
                        to.visit_active::<K>(&row, 0.0);
                        0
                    }
                    _ => PASSED_OVER,
                });
            }
            found.extend(repeat_n(PASSED_OVER, missing));
        }
    }
}
