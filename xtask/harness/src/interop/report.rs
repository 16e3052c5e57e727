//! The table: one row per pair, one column per step, and the failures below it.

use super::feature_table::FeatureTable;
use super::plan::{Mode, Plan, Transport};
use crate::install::MissingProgram;
use crate::tally::Tally;

/// The columns.
pub const STEPS: [&str; 8] = ["list", "browse", "execute", "view", "deny", "hold", "era", "log"];

/// The most characters of a failure reason that are printed.
const MAX_REASON: usize = 1000;

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed(String),
    Skipped,
    /// The step does not apply.
    Nothing,
}

/// One pair.
pub struct Row {
    server: String,
    client: String,
    mode: Mode,
    eras: (&'static str, &'static str),
    steps: Vec<(&'static str, Outcome)>,
    missing: Option<MissingProgram>,
}

impl Row {
    /// A row without steps yet.
    pub fn new(plan: &Plan) -> Self {
        Self {
            server: plan.server_label.clone(),
            client: plan.client_label.clone(),
            mode: plan.mode,
            eras: (plan.client.era.name(), server_era(plan)),
            steps: Vec::new(),
            missing: None,
        }
    }

    /// A row that could not be tried.
    pub fn untried(plan: &Plan, missing: MissingProgram) -> Self {
        let mut row = Self::new(plan);
        for step in steps(plan) {
            row.set(step, Outcome::missing(&missing));
        }
        row.missing = Some(missing);
        row
    }

    /// Records the outcome of a step.
    pub fn set(&mut self, step: &'static str, outcome: Outcome) {
        self.steps.push((step, outcome));
    }

    /// One line for the progress output.
    pub fn progress(&self) -> String {
        let failed = self.steps.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(_)));
        let how = match (failed, &self.missing) {
            (_, Some(MissingProgram::OutOfReach(reason))) => format!("SKIPPED: {reason}"),
            (true, _) => "FAIL".to_owned(),
            (false, _) => "ok".to_owned(),
        };
        format!("{}: {how}", self.name())
    }

    fn name(&self) -> String {
        let mode = if self.mode == Mode::Proxy { ", proxy" } else { "" };
        let (client, upstream) = self.eras;
        format!("{} with {} ({client}/{upstream}{mode})", self.server, self.client)
    }

    fn outcome(&self, step: &str) -> &Outcome {
        let found = self.steps.iter().find(|(name, _)| *name == step);
        found.map_or(&Outcome::Nothing, |(_, outcome)| outcome)
    }

    fn cells(&self) -> Vec<String> {
        let mode = match self.mode {
            Mode::Gateway => "gateway",
            Mode::Proxy => "proxy",
        };
        let mut cells = vec![self.server.clone(), self.client.clone(), mode.to_owned()];
        cells.extend([self.eras.0, self.eras.1].map(str::to_owned));
        cells.extend(STEPS.iter().map(|step| self.outcome(step).shown().to_owned()));
        cells
    }
}

/// The era between gateway and server; `-` over HTTP, where no tap observes it.
fn server_era(plan: &Plan) -> &'static str {
    match plan.back {
        Transport::Stdio => plan.upstream.name(),
        Transport::Http => "-",
    }
}

impl Outcome {
    /// The outcome of what could not be tried.
    pub fn missing(missing: &MissingProgram) -> Self {
        match missing {
            MissingProgram::OutOfReach(_) => Self::Skipped,
            MissingProgram::Broken(reason) => Self::Failed(format!("not installed: {reason}")),
        }
    }

    /// Its text in a table.
    pub fn shown(&self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed(_) => "FAIL",
            Self::Skipped => "skip",
            Self::Nothing => "-",
        }
    }

    fn count(&self, tally: &mut Tally) {
        match self {
            Self::Passed => tally.passed += 1,
            Self::Failed(_) => tally.failed += 1,
            Self::Skipped => tally.skipped += 1,
            Self::Nothing => {}
        }
    }
}

/// The steps of a plan.
pub fn steps(plan: &Plan) -> Vec<&'static str> {
    let has = |step: &&&str| match **step {
        "browse" | "view" => plan.mode == Mode::Gateway,
        "hold" => plan.server.held.is_some(),
        _ => true,
    };
    STEPS.iter().filter(has).copied().collect()
}

/// All results.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    features: FeatureTable,
    contracts: Vec<(&'static str, Outcome)>,
    notes: Vec<String>,
}

impl Report {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Sets the features.
    pub fn features(&mut self, table: FeatureTable) {
        self.features = table;
    }

    /// Sets the results of the contract exchange.
    pub fn contracts(&mut self, checks: Result<Vec<(&'static str, Outcome)>, MissingProgram>) {
        match checks {
            Ok(checks) => self.contracts = checks,
            Err(MissingProgram::OutOfReach(reason)) => {
                self.contracts.push(("contracts", Outcome::Skipped));
                self.notes.push(format!("SKIPPED: contracts: {reason}"));
            }
            Err(MissingProgram::Broken(reason)) => {
                self.contracts.push(("contracts", Outcome::Failed(reason)));
            }
        }
    }

    /// How many steps passed, failed and were skipped.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        let steps = self.rows.iter().flat_map(|row| &row.steps).chain(&self.contracts);
        let outcomes = steps.map(|(_, outcome)| outcome).chain(self.features.outcomes());
        outcomes.for_each(|outcome| outcome.count(&mut tally));
        tally
    }

    /// Prints the table, the failures and what was skipped.
    pub fn print(&self) {
        println!("\n{}", self.table());
        println!("{}", self.features.text());
        for (check, outcome) in &self.contracts {
            println!("{check}: {}", outcome.shown());
        }
        for line in self.failures() {
            println!("{line}");
        }
        for row in &self.rows {
            if let Some(MissingProgram::OutOfReach(reason)) = &row.missing {
                println!("SKIPPED: {}: {reason}", row.name());
            }
        }
        for note in &self.notes {
            println!("{note}");
        }
    }

    fn failures(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            for (step, outcome) in &row.steps {
                if let Outcome::Failed(reason) = outcome {
                    lines.push(format!("FAIL: {}: {step}: {}", row.name(), clipped(reason)));
                }
            }
        }
        for (name, reason) in self.features.failures() {
            lines.push(format!("FAIL: {name}: {}", clipped(reason)));
        }
        for (check, outcome) in &self.contracts {
            if let Outcome::Failed(reason) = outcome {
                lines.push(format!("FAIL: {check}: {}", clipped(reason)));
            }
        }
        lines
    }

    fn table(&self) -> String {
        let heads = ["server", "client", "mode", "client era", "server era"];
        let head: Vec<String> = heads.iter().chain(&STEPS).map(|&text| text.to_owned()).collect();
        let mut lines = vec![head];
        lines.extend(self.rows.iter().map(Row::cells));
        aligned(&lines)
    }
}

/// Lines of cells, each column as wide as its widest cell.
pub fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let padded: Vec<String> = padded.collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The beginning and the end of a long text.
pub fn clipped(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_REASON {
        return text.to_owned();
    }
    let begin: String = text.chars().take(MAX_REASON / 2).collect();
    let end: String = text.chars().skip(count - MAX_REASON / 2).collect();
    format!("{begin} … {end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counterparts::pins::Pins;
    use crate::interop::plan;

    fn plan() -> Plan {
        plan::all_plans(&Pins::empty()).into_iter().next().unwrap()
    }

    #[test]
    fn a_failure_is_in_the_table_in_the_count_and_below() {
        let mut row = Row::new(&plan());
        row.set("list", Outcome::Passed);
        row.set("browse", Outcome::Failed("no tools".to_owned()));
        let mut report = Report::default();
        report.push(row);
        assert_eq!(report.tally().to_string(), "1 passed, 1 failed, 0 skipped");
        assert!(report.table().contains("FAIL"));
        assert!(report.failures()[0].ends_with("browse: no tools"), "{:?}", report.failures());
    }

    #[test]
    fn what_is_out_of_reach_is_counted_as_skipped_and_said() {
        let missing = MissingProgram::OutOfReach("npm is out of reach".to_owned());
        let row = Row::untried(&plan(), missing);
        assert!(row.progress().contains("SKIPPED: npm is out of reach"));
        let mut report = Report::default();
        report.push(row);
        assert_eq!(report.tally().to_string(), "0 passed, 0 failed, 8 skipped");
    }

    #[test]
    fn a_broken_installation_is_a_failure() {
        let mut report = Report::default();
        report.push(Row::untried(&plan(), MissingProgram::Broken("E404".to_owned())));
        assert_eq!(report.tally().failed, 8);
    }
}
