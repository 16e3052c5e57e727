//! `PolicySet::decide`. Its decision carries every reason, not the verdict alone.

use weaver_benches::Failure;
use weaver_benches::rules::{Workload, answer};
use weaver_benches::scenario::{Answer, Scenario};

use super::{Engine, ReadyEngine};
use crate::measure::timed;

struct WeaverEngine(Workload);

/// Reads the document, as it is on disk.
pub fn read(scenario: &Scenario) -> Result<ReadyEngine<'_>, Failure> {
    let document = weaver_benches::rules::document(scenario)?;
    let (set, load) = timed(|| weaver_benches::rules::load(&document));
    let workload = Workload::new(set?, scenario)?;
    Ok(ReadyEngine { engine: Box::new(WeaverEngine(workload)), load })
}

impl Engine for WeaverEngine {
    fn answer(&mut self, call: usize) -> Result<Answer, Failure> {
        let ask = self.0.asks.get(call).ok_or("no such call")?;
        answer(&self.0.decide(ask)).ok_or_else(|| "a question instead of an answer".into())
    }
}
