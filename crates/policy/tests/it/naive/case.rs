//! One case: documents and requests, asked of the crate and of the naive interpreter.

use std::fmt;

use weaver_policy::{
    ContractStatus, DocumentSource, DocumentSources, LoadError, PolicyQuery, PolicySet,
    RateLimitWindows,
};
use weaver_types::{Operation, Timestamp, Verdict};

use super::capability::{self, Effective, Status};
use super::decision::{Answer, Read, decide};
use super::document::Documents;
use super::history::Call;
use super::request::Asked;
use super::words::FRIDAY;

/// Everything that both say to one request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    /// The capability in force; `None` where it is not offered.
    pub(crate) offered: Option<Effective>,
    pub(crate) visible: bool,
    pub(crate) answer: Option<Answer>,
    /// Whether everything that is held was released.
    pub(crate) released: bool,
}

/// Documents and requests that come one after another.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) documents: Documents,
    pub(crate) asked: Vec<Asked>,
}

/// Where both do not say the same.
#[derive(Debug)]
pub(crate) enum Difference {
    Loading { expected: bool, got: String },
    Answering { at: usize, expected: Box<Outcome>, got: Box<Outcome> },
}

/// Loads the documents as files, unsigned, some days before they are used.
pub(crate) fn load(documents: &Documents) -> Result<PolicySet, LoadError> {
    let [policy, contracts, keys] = documents.texts();
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", &policy),
        contracts: DocumentSource::unsigned("contracts.toml", &contracts),
        keys: DocumentSource::unsigned("keys.toml", &keys),
    };
    let then = Timestamp::from_micros((FRIDAY - 20 * 86_400) * 1_000_000);
    PolicySet::load_unsigned_development(&sources, then)
}

/// What the crate says. An invocation that is allowed is counted.
pub(crate) fn crate_says(
    set: &PolicySet,
    asked: &Asked,
    windows: &mut RateLimitWindows,
) -> Outcome {
    let effective = set.apply_contract(&asked.proposal).ok();
    let status = match set.contract_status(&asked.proposal) {
        ContractStatus::Changed { .. } => Status::Changed,
        ContractStatus::Approved => Status::Approved,
        ContractStatus::Unpinned => Status::Unpinned,
        ContractStatus::Unknown => Status::Unknown,
    };
    let report = asked.report();
    let mut released = false;
    let decision = effective.as_ref().map(|effective| {
        let mut decision = asked.decide(set, effective, Some(windows));
        if let Some(release) = asked.release(effective, &decision) {
            let query = asked.query(effective, Some(windows), &report);
            decision = set.decide(&PolicyQuery { release: Some(&release), ..query });
            released = true;
        }
        match set.contract_check_result(&asked.proposal) {
            Some(check_result) => decision.joined_with(check_result),
            None => decision,
        }
    });
    if let (Some(effective), Some(decision)) = (&effective, &decision)
        && decision.is_allowed()
    {
        windows.record(&asked.query(effective, None, &report), set.limits());
    }
    Outcome {
        status,
        visible: effective.as_ref().is_some_and(|one| set.is_visible(&asked.principal, one)),
        offered: effective.as_ref().map(Effective::shown),
        answer: decision.as_ref().map(Answer::shown),
        released,
    }
}

/// What the page says. An invocation that is allowed is counted.
pub(crate) fn page_says(
    documents: &Read<'_>,
    asked: &Asked,
    late: &mut Vec<Call>,
    released: bool,
) -> Outcome {
    let offered = capability::effective(documents.contracts, &asked.proposal);
    let status = capability::status(documents.contracts, &asked.proposal);
    let answer = offered.as_ref().map(|one| decide(documents, one, status, asked, late, released));
    let allowed = answer.as_ref().is_some_and(|answer| answer.verdict == Verdict::Allow);
    if let Some(capability) = offered.clone().filter(|_| allowed)
        && asked.operation == Operation::Invoke
        && documents.policy.contains_key("limits")
    {
        late.push(Call { asked: asked.clone(), capability });
    }
    Outcome {
        status,
        visible: offered
            .as_ref()
            .is_some_and(|one| capability::is_visible(documents.contracts, one, asked)),
        offered,
        answer,
        released,
    }
}

impl Case {
    /// The first difference, and what the crate said up to it.
    pub(crate) fn run(&self, mut seen: impl FnMut(&Outcome)) -> Option<Difference> {
        let [policy, contracts, _] = self.documents.texts();
        let (policy, contracts) = (policy.parse().unwrap(), contracts.parse().unwrap());
        let documents = Read { policy: &policy, contracts: &contracts };
        let refused = capability::is_refused(&contracts);
        let set = match load(&self.documents) {
            Ok(set) if !refused => set,
            Err(_) if refused => return None,
            loaded => {
                let got = loaded.map_or_else(|error| error.to_string(), |_| "loaded".to_owned());
                return Some(Difference::Loading { expected: !refused, got });
            }
        };
        let (mut windows, mut late) = (RateLimitWindows::new(), Vec::new());
        for (at, asked) in self.asked.iter().enumerate() {
            let got = crate_says(&set, asked, &mut windows);
            let expected = page_says(&documents, asked, &mut late, got.released);
            if got != expected {
                let (expected, got) = (Box::new(expected), Box::new(got));
                return Some(Difference::Answering { at, expected, got });
            }
            seen(&got);
        }
        None
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [policy, contracts, _] = self.documents.texts();
        writeln!(f, "--- policy\n{policy}\n--- contracts\n{contracts}")?;
        for asked in &self.asked {
            asked.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, got) = match self {
            Self::Loading { expected, got } => {
                return writeln!(f, "loads, by the page: {expected}\nthe crate: {got}");
            }
            Self::Answering { at, expected, got } => {
                writeln!(f, "at request {at}")?;
                (lines(expected), lines(got))
            }
        };
        for (expected, got) in expected.iter().zip(&got).filter(|(a, b)| a != b) {
            writeln!(f, "the page:  {expected}\nthe crate: {got}")?;
        }
        Ok(())
    }
}

/// What can differ, a line each.
fn lines(outcome: &Outcome) -> Vec<String> {
    let mut lines = vec![
        format!("status {:?}", outcome.status),
        format!("visible {:?}", outcome.visible),
        format!("offered {:?}", outcome.offered),
    ];
    lines.extend(match &outcome.answer {
        None => vec!["no answer".to_owned()],
        Some(answer) => vec![
            format!("{:?}, {}", answer.verdict, answer.primary),
            format!("said {:?}", answer.said),
            format!("waits {:?}", answer.waits_ms),
            format!("{:?}", answer.authority),
            format!("{:?}", answer.constraints),
        ],
    });
    lines
}
