//! The features of a server as a table: one row per feature, one column per route.

use super::features::FEATURES;
use super::report::{Outcome, aligned};

/// The outcomes, by column.
#[derive(Default)]
pub struct FeatureTable {
    columns: Vec<(&'static str, Vec<Outcome>)>,
}

impl FeatureTable {
    /// Adds a column, in the order of the features.
    pub fn add_column(&mut self, name: &'static str, outcomes: Vec<Outcome>) {
        self.columns.push((name, outcomes));
    }

    /// Every outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.columns.iter().flat_map(|(_, outcomes)| outcomes)
    }

    /// The failures, each with its name and reason.
    pub fn failures(&self) -> Vec<(String, &str)> {
        let mut failures = Vec::new();
        for (column, outcomes) in &self.columns {
            for (feature, outcome) in FEATURES.iter().zip(outcomes) {
                if let Outcome::Failed(reason) = outcome {
                    failures.push((format!("{} ({column})", feature.name), reason.as_str()));
                }
            }
        }
        failures
    }

    /// The table; empty if nothing was tried.
    pub fn text(&self) -> String {
        if self.columns.is_empty() {
            return String::new();
        }
        let names = self.columns.iter().map(|(name, _)| (*name).to_owned());
        let mut lines = vec![std::iter::once("feature".to_owned()).chain(names).collect()];
        for (row, feature) in FEATURES.iter().enumerate() {
            let cell = |(_, outcomes): &(_, Vec<Outcome>)| {
                outcomes.get(row).unwrap_or(&Outcome::Nothing).shown().to_owned()
            };
            let cells = self.columns.iter().map(cell);
            lines.push(std::iter::once(feature.name.to_owned()).chain(cells).collect());
        }
        aligned(&lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_is_lost_on_one_route_is_in_its_cell_and_below() {
        let mut table = FeatureTable::default();
        table.add_column("direct", vec![Outcome::Passed; FEATURES.len()]);
        let mut lossy = vec![Outcome::Passed; FEATURES.len()];
        lossy[1] = Outcome::Failed("no list".to_owned());
        table.add_column("proxy", lossy);
        let text = table.text();
        let row: Vec<&str> = text.lines().nth(2).unwrap().split("  ").map(str::trim).collect();
        assert_eq!(row.iter().filter(|cell| !cell.is_empty()).count(), 3, "{text}");
        assert!(row[0] == "resource templates" && row.ends_with(&["FAIL"]), "{text}");
        assert_eq!(table.failures(), [("resource templates (proxy)".to_owned(), "no list")]);
        assert_eq!(table.outcomes().count(), 2 * FEATURES.len());
    }
}
