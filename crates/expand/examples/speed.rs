//! Seconds for each step of texts, a line each, in the file given.
use pgsvm_base::memory::OutOfMemory;
use pgsvm_expand::{Learner, Limits, Tokens, Weigher};
use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let all = std::fs::read_to_string(path).expect("it can be read");
    let texts: Vec<&str> = all.lines().collect();
    let megabytes = all.len() as f64 / 1e6;
    let told = |what: &str, since: Instant| {
        let seconds = since.elapsed().as_secs_f64();
        println!("{what}: {seconds:.3} s, {:.0} MB/s", megabytes / seconds);
    };
    let (mut tokens, mut count) = (Tokens::default(), 0);
    let since = Instant::now();
    for text in &texts {
        tokens.split(text).unwrap();
        count += tokens.words().count();
    }
    told(&format!("{count} words split"), since);
    let since = Instant::now();
    let mut learner = Learner::new(Limits::default());
    for text in &texts {
        learner.begin().unwrap();
        tokens.split(text).unwrap();
        tokens.each(1, |words| learner.take(words, |_| ())).unwrap();
    }
    told("and learned", since);
    let since = Instant::now();
    let known = learner.finish().unwrap().0;
    told("finished", since);
    let since = Instant::now();
    let mut found = 0u64;
    for text in &texts {
        tokens.split(text).unwrap();
        tokens
            .each(1, |words| {
                known.each_number(words, |number| found += u64::from(number));
                Ok::<_, OutOfMemory>(())
            })
            .unwrap();
    }
    told(&format!("split and found ({found})"), since);
    let (mut weigher, mut sum) = (Weigher::default(), 0.0);
    let since = Instant::now();
    for text in &texts {
        tokens.split(text).unwrap();
        weigher.clear();
        tokens.each(1, |words| weigher.take(&known, words)).unwrap();
        let weights = weigher.finish(&known, (false, false)).unwrap();
        sum += weights.iter().map(|(_, weight)| weight).sum::<f64>();
    }
    told(&format!("split and weighed ({sum:.3})"), since);
}
