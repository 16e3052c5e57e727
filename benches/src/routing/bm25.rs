//! A plain BM25, as textbooks have it, to compare with.

use std::collections::HashMap;

use contextweaver::catalog::Catalog;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Name and description in lower case, cut at everything that is no letter or digit; no stems, no
/// stop words, no fields. An inverted index, every list read to its end.
#[derive(Debug)]
pub struct Bm25 {
    ids: Vec<String>,
    terms: HashMap<String, Vec<(u32, f32)>>,
    scores: Vec<f32>,
    touched: Vec<u32>,
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

fn number(count: usize) -> f32 {
    count as f32
}

impl Bm25 {
    /// The index of a catalog.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        let mut counts: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        let (mut ids, mut lengths) = (Vec::new(), Vec::new());
        for (item, place) in catalog.iter().zip(0..) {
            let mut length = 0;
            for word in words(&format!("{} {}", item.display_name(), item.description)) {
                length += 1;
                let list = counts.entry(word).or_default();
                match list.last_mut() {
                    Some((last, count)) if *last == place => *count += 1.0,
                    _ => list.push((place, 1.0)),
                }
            }
            ids.push(item.id.to_string());
            lengths.push(number(length));
        }
        let mean = lengths.iter().sum::<f32>() / number(lengths.len().max(1));
        let all = number(ids.len());
        for list in counts.values_mut() {
            let df = number(list.len());
            let idf = (1.0 + (all - df + 0.5) / (df + 0.5)).ln();
            for (place, weight) in list {
                let length = lengths.get(*place as usize).copied().unwrap_or(mean);
                let long = K1 * (1.0 - B + B * length / mean);
                *weight = idf * *weight * (K1 + 1.0) / (*weight + long);
            }
        }
        Self { scores: vec![0.0; ids.len()], ids, terms: counts, touched: Vec::new() }
    }

    /// The best few, best first.
    pub fn best(&mut self, query: &str, k: usize) -> Vec<(&str, f32)> {
        for word in words(query) {
            for (place, weight) in self.terms.get(&word).into_iter().flatten() {
                if let Some(score) = self.scores.get_mut(*place as usize) {
                    if *score == 0.0 {
                        self.touched.push(*place);
                    }
                    *score += weight;
                }
            }
        }
        let mut found: Vec<(u32, f32)> = Vec::with_capacity(self.touched.len());
        for place in self.touched.drain(..) {
            let score = self.scores.get_mut(place as usize).map_or(0.0, std::mem::take);
            found.push((place, score));
        }
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if k > 0 && found.len() > k {
            found.select_nth_unstable_by(k - 1, order);
        }
        found.truncate(k);
        found.sort_unstable_by(order);
        let id = |place: u32| self.ids.get(place as usize).map_or("", String::as_str);
        found.into_iter().map(|(place, score)| (id(place), score)).collect()
    }
}
