//! How far the machines are, as the master reports it.

use crate::interior::machine::News;

/// What they are at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InteriorProgress {
    /// So many rows have been dealt out.
    Dealing { rows: u64 },
    /// So many columns of the factor have been made, of `rank` at most.
    Factoring { columns: usize, rank: usize },
    /// So many steps of this head, from 0, have been taken, to this surrogate gap as a part of the primal.
    Solving {
        head: usize,
        heads: usize,
        steps: u32,
        gap: f64,
    },
}

impl InteriorProgress {
    /// At the beginning of a factor of so many columns at most.
    pub fn factoring(rank: usize) -> Self {
        Self::Factoring { columns: 0, rank }
    }

    /// Takes in what is new, of so many heads.
    pub fn hear(&mut self, news: &News, heads: usize) {
        match (news, &mut *self) {
            (News::Column(made), Self::Factoring { columns, .. }) => *columns = *made,
            (News::Factored, _) => *self = Self::solving(0, heads, 0, f64::INFINITY),
            (News::Stepped(head, steps, state), _) => {
                *self = Self::solving(*head, heads, *steps, state.surrogate);
            }
            (News::Column(_), _) => {}
        }
    }

    fn solving(head: usize, heads: usize, steps: u32, gap: f64) -> Self {
        Self::Solving {
            head,
            heads,
            steps,
            gap,
        }
    }
}
