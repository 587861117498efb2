//! Statistics of the measured times.

/// Times of several kinds, measured in turn. The first kind is the baseline of the others.
pub struct Figures {
    title: &'static str,
    kinds: Vec<Kind>,
}

struct Kind {
    name: String,
    times: Vec<u64>,
    /// Medians of the rounds.
    medians: Vec<u64>,
}

/// Returns the quantile `permille` / 1000 of the times.
fn quantile(times: &mut [u64], permille: usize) -> u64 {
    let at = times.len().saturating_sub(1) * permille / 1000;
    match times.is_empty() {
        true => 0,
        false => *times.select_nth_unstable(at).1,
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl Figures {
    pub fn new(title: &'static str) -> Self {
        Self { title, kinds: Vec::new() }
    }

    /// Adds the times of a round.
    pub fn add(&mut self, name: &str, times: &[u64]) {
        let place = self.kinds.iter().position(|kind| kind.name == name);
        let place = place.unwrap_or_else(|| {
            self.kinds.push(Kind { name: name.to_owned(), times: Vec::new(), medians: Vec::new() });
            self.kinds.len() - 1
        });
        let kind = &mut self.kinds[place];
        kind.medians.push(quantile(&mut times.to_vec(), 500));
        kind.times.extend_from_slice(times);
    }

    pub fn print(&mut self) {
        println!("\n{} (microseconds)", self.title);
        println!("{:32} {:>8} {:>8} {:>8} {:>8}", "", "p50", "p99", "p99.9", "ratio");
        let bare = self.kinds.first().map_or(Vec::new(), |kind| kind.medians.clone());
        for kind in &mut self.kinds {
            // The ratio to the baseline of the same round, in millionths.
            let ratios = kind.medians.iter().zip(&bare);
            let mut ratios: Vec<u64> =
                ratios.map(|(own, bare)| own * 1_000_000 / (*bare).max(1)).collect();
            let ratio = quantile(&mut ratios, 500) as f64 / 1e6;
            let [median, high, highest] =
                [500, 990, 999].map(|permille| micros(quantile(&mut kind.times, permille)));
            println!("{:32} {median:8.2} {high:8.2} {highest:8.2} {ratio:8.2}", kind.name);
        }
    }
}
