//! Weights of sparse features: a bitmap of those that are not zero and the weights themselves, in
//! chunks, so that a weight is found in constant time and zeros take a bit or nothing. Pure.

/// Features in a chunk.
const CHUNK: usize = 16_384;
const WORDS: usize = CHUNK / 64;

/// The weights by sparse id; those not stored are zero.
#[derive(Default)]
pub struct SparseWeights {
    chunks: Vec<Option<Box<Chunk>>>,
}

struct Chunk {
    /// A bit per feature: whether it has a weight.
    present: [u64; WORDS],
    /// How many weights precede each word's.
    before: [u16; WORDS],
    weights: Vec<f64>,
}

/// There is not enough memory.
#[derive(Debug)]
pub struct OutOfMemory;

impl SparseWeights {
    /// The weight of a sparse id.
    #[inline]
    pub fn weight(&self, id: u32) -> f64 {
        let id = id as usize;
        let Some(Some(chunk)) = self.chunks.get(id / CHUNK) else {
            return 0.0;
        };
        let (word, bit) = (id % CHUNK / 64, id % 64);
        let present = chunk.present[word];
        if present >> bit & 1 == 0 {
            return 0.0;
        }
        let rank = (present & ((1 << bit) - 1)).count_ones() as usize;
        chunk.weights[usize::from(chunk.before[word]) + rank]
    }

    /// Adds a weight; ids come in ascending order, each once.
    pub fn push(&mut self, id: u32, weight: f64) -> Result<(), OutOfMemory> {
        let id = id as usize;
        let number = id / CHUNK;
        if number >= self.chunks.len() {
            let more = number + 1 - self.chunks.len();
            self.chunks.try_reserve(more).map_err(|_| OutOfMemory)?;
            self.chunks.resize_with(number + 1, || None);
        }
        let chunk = self.chunks[number].get_or_insert_with(Chunk::empty);
        chunk.weights.try_reserve(1).map_err(|_| OutOfMemory)?;
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
        weights + self.chunks.capacity() * size_of::<Option<Box<Chunk>>>()
    }
}

impl Chunk {
    fn empty() -> Box<Self> {
        Box::new(Self {
            present: [0; WORDS],
            before: [0; WORDS],
            weights: Vec::new(),
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.weights.capacity() * size_of::<f64>()
    }
}
