//! A series of entries in bounded memory: when it is full, every second entry is dropped.

/// Weights are kept of so many moments and heads at most, as far as that takes no more bytes, and of so many moments at least.
const MOST_WEIGHTS: usize = 128;
const WEIGHT_BYTES: usize = 16 << 20;
const LEAST_WEIGHTS: usize = 4;

/// What comes in order of time, in bounded memory: when it is full every second one is dropped, and from then on every second
/// one is kept. The last one always is.
#[derive(Debug)]
pub struct Thinned<E> {
    most: usize,
    kept: Vec<E>,
    last: Option<E>,
    /// One in so many is kept, and how many have come since.
    stride: u32,
    skipped: u32,
}

impl<E> Thinned<E> {
    /// For weights in 32 bits, each of so many numbers, of so many heads at a time.
    pub fn of_weights(numbers: usize, heads: usize) -> Self {
        let heads = heads.max(1);
        let bytes = size_of::<f32>() * numbers.max(1) * heads;
        let most = (WEIGHT_BYTES / bytes).min(MOST_WEIGHTS / heads);
        Self::new(most.max(LEAST_WEIGHTS))
    }

    /// Keeps so many at most.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::new(),
            last: None,
            stride: 1,
            skipped: 0,
        }
    }

    /// Takes the next one.
    pub fn keep(&mut self, one: E) {
        self.skipped += 1;
        if self.skipped < self.stride {
            self.last = Some(one);
            return;
        }
        self.skipped = 0;
        if self.kept.len() == self.most {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
        // a log that cannot grow is shorter, and no reason to end
        match self.kept.try_reserve(1) {
            Ok(()) => {
                self.kept.push(one);
                self.last = None;
            }
            Err(_) => self.last = Some(one),
        }
    }

    /// Those kept.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.kept.iter().chain(&self.last)
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.kept.iter_mut().chain(&mut self.last)
    }

    /// The last one.
    pub fn last_mut(&mut self) -> Option<&mut E> {
        self.last.as_mut().or(self.kept.last_mut())
    }
}
