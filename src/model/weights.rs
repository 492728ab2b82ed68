//! Weights of sparse features: a bitmap of those that are not zero and the weights themselves, in
//! chunks, so that a weight is found in constant time and zeros take a bit or nothing. The weights of
//! one feature lie side by side, one a head, so that a feature is looked up once for all heads. Pure.

/// Features in a chunk.
const CHUNK: usize = 16_384;
const WORDS: usize = CHUNK / 64;

/// The weights by sparse id; those not stored are zero.
pub struct SparseWeights {
    heads: usize,
    chunks: Vec<Option<Box<SparseChunk>>>,
}

struct SparseChunk {
    /// A bit per feature: whether it has a weight.
    present: [u64; WORDS],
    /// How many features with a weight precede each word's.
    before: [u16; WORDS],
    /// Of each feature with a weight as many as there are heads.
    weights: Vec<f64>,
}

/// There is not enough memory.
#[derive(Debug)]
pub struct WeightsOutOfMemory;

impl Default for SparseWeights {
    /// No weights yet, of one head.
    fn default() -> Self {
        Self {
            heads: 1,
            chunks: Vec::new(),
        }
    }
}

impl SparseWeights {
    /// The weight of a sparse id; there is one head.
    #[inline]
    pub fn weight(&self, id: u32) -> f64 {
        self.place(id)
            .map_or(0.0, |(chunk, rank)| chunk.weights[rank])
    }

    /// The weights of a sparse id, one a head; None where all are zero.
    #[inline]
    pub fn of_heads(&self, id: u32) -> Option<&[f64]> {
        let (chunk, rank) = self.place(id)?;
        chunk
            .weights
            .get(rank * self.heads..(rank + 1) * self.heads)
    }

    /// The chunk that holds an id's weights, and how many ids with weights precede it there.
    #[inline]
    fn place(&self, id: u32) -> Option<(&SparseChunk, usize)> {
        let id = id as usize;
        let chunk = self.chunks.get(id / CHUNK)?.as_deref()?;
        let (word, bit) = (id % CHUNK / 64, id % 64);
        (chunk.present[word] >> bit & 1 == 1).then(|| (chunk, chunk.rank(word, bit)))
    }

    /// Every id that has a weight, ascending, with its weights, one a head.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[f64])> {
        let chunks = self.chunks.iter().enumerate();
        chunks
            .filter_map(|(number, chunk)| Some((number, chunk.as_deref()?)))
            .flat_map(|(number, chunk)| {
                let ids = chunk.ids().map(move |id| (number * CHUNK + id) as u32);
                ids.zip(chunk.weights.chunks_exact(self.heads))
            })
    }

    /// Many heads' weights side by side, from those of each. `between` is called every few
    /// milliseconds.
    pub fn joined(
        mut heads: Vec<Self>,
        mut between: impl FnMut(),
    ) -> Result<Self, WeightsOutOfMemory> {
        let chunks = heads.iter().map(|head| head.chunks.len()).max();
        let mut joined = Self {
            heads: heads.len(),
            chunks: Vec::new(),
        };
        for number in 0..chunks.unwrap_or(0) {
            between();
            // what is joined is freed
            let parts: Vec<_> = heads
                .iter_mut()
                .map(|head| head.chunks.get_mut(number).and_then(Option::take))
                .collect();
            joined
                .chunks
                .try_reserve(1)
                .map_err(|_| WeightsOutOfMemory)?;
            joined.chunks.push(SparseChunk::joined(&parts)?);
        }
        Ok(joined)
    }

    /// Adds a weight; ids come in ascending order, each once.
    pub fn push(&mut self, id: u32, weight: f64) -> Result<(), WeightsOutOfMemory> {
        let id = id as usize;
        let number = id / CHUNK;
        if number >= self.chunks.len() {
            let more = number + 1 - self.chunks.len();
            self.chunks
                .try_reserve(more)
                .map_err(|_| WeightsOutOfMemory)?;
            self.chunks.resize_with(number + 1, || None);
        }
        let chunk = self.chunks[number].get_or_insert_with(SparseChunk::empty);
        chunk
            .weights
            .try_reserve(1)
            .map_err(|_| WeightsOutOfMemory)?;
        let word = id % CHUNK / 64;
        if chunk.present[word] == 0 {
            // at most CHUNK - 1 weights precede, which fits
            chunk.before[word] = chunk.weights.len() as u16;
        }
        chunk.present[word] |= 1 << (id % 64);
        chunk.weights.push(weight);
        Ok(())
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        let full = self.chunks.iter().flatten();
        let weights: usize = full.map(|chunk| chunk.bytes()).sum();
        weights + self.chunks.capacity() * size_of::<Option<Box<SparseChunk>>>()
    }
}

impl SparseChunk {
    fn empty() -> Box<Self> {
        Box::new(Self {
            present: [0; WORDS],
            before: [0; WORDS],
            weights: Vec::new(),
        })
    }

    /// One head's chunk each; None when no feature has a weight.
    fn joined(parts: &[Option<Box<Self>>]) -> Result<Option<Box<Self>>, WeightsOutOfMemory> {
        let mut joined = Self::empty();
        for part in parts.iter().flatten() {
            for (all, own) in joined.present.iter_mut().zip(&part.present) {
                *all |= own;
            }
        }
        let mut count = 0;
        for (before, present) in joined.before.iter_mut().zip(&joined.present) {
            // at most CHUNK, which fits
            *before = count as u16;
            count += present.count_ones() as usize;
        }
        if count == 0 {
            return Ok(None);
        }
        let weights = count.checked_mul(parts.len()).ok_or(WeightsOutOfMemory)?;
        joined
            .weights
            .try_reserve_exact(weights)
            .map_err(|_| WeightsOutOfMemory)?;
        joined.weights.resize(weights, 0.0);
        for (head, part) in parts.iter().enumerate() {
            for (id, weight) in part.iter().flat_map(|part| part.ids().zip(&part.weights)) {
                let rank = joined.rank(id / 64, id % 64);
                joined.weights[rank * parts.len() + head] = *weight;
            }
        }
        Ok(Some(joined))
    }

    /// How many features with a weight precede that of this bit.
    #[inline]
    fn rank(&self, word: usize, bit: usize) -> usize {
        let preceding = self.present[word] & ((1 << bit) - 1);
        usize::from(self.before[word]) + preceding.count_ones() as usize
    }

    /// The places of features with a weight, ascending.
    fn ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.present.iter().enumerate().flat_map(|(word, present)| {
            let bits = core::iter::successors(Some(*present), |rest| Some(rest & (rest - 1)));
            bits.take_while(|rest| *rest != 0)
                .map(move |rest| word * 64 + rest.trailing_zeros() as usize)
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.weights.capacity() * size_of::<f64>()
    }
}
