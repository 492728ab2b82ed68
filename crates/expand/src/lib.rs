//! Rows grown out of short values: the words of a text become numbered features with weights. Pure.
//!
//! Knows texts, words and numbers; knows neither rows' headers nor where texts come from, nor what a weight is trained for.
//!
//! | module | holds |
//! |---|---|
//! | [`collisions`] | which share of hashed features meet another |
//! | [`degree`] | the weighted degree features of strings |
//! | [`kept`] | the words of texts from one pass over them to the next |
//! | [`letters`] | which characters words are made of |
//! | [`marks`] | where in a text words begin and end |
//! | [`numbers`] | numbers made of numbers: polynomials, buckets, splines, … |
//! | [`reading`] | texts that are numbers or points in time |
//! | [`tokens`] | a text's words in lower case, and runs of several words |
//! | [`hash`] | the hash by which words without a number of their own share one |
//! | [`words`] | many words one behind the other, found by hash |
//! | [`vocabulary`] | learned from all texts: which word has which number, and in how many texts it is |
//! | [`weights`] | a text's words as numbers with tf-idf weights |

pub mod collisions;
pub mod degree;
pub mod hash;
pub mod kept;
pub mod letters;
pub mod marks;
pub mod numbers;
pub mod reading;
pub mod tokens;
pub mod vocabulary;
pub mod weights;
pub mod words;

pub(crate) use pgsvm_base as base;

pub use collisions::Collisions;
pub use degree::{Degree, NoLetter, Runs};
pub use kept::{Kept, KeptWords};
pub use reading::Reading;
pub use tokens::{Tokens, MOST_RUN};
pub use vocabulary::{Frequency, Learner, Limits, Vocabulary};
pub use weights::Weigher;
pub use words::{Word, Words, LONGEST_WORD_BYTES};
