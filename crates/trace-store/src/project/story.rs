//! The story of one call, from the events alone.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::{EventKind, Timestamp};

use super::sentence;
use crate::query::{
    Cursor, Facts, Field, Filter, Lookup, MAX_FOUND, Order, QueryError, Question, ask,
};
use crate::verify::Source;

/// The most events of one story.
pub const MAX_STORY: usize = 2_000;

/// What a story is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The event of this number.
    Event(u64),
    /// A call.
    Call(String),
    /// A request for an approval.
    Request(String),
    /// A handle of a stored result.
    Handle(String),
    /// A token.
    Token(String),
}

impl Subject {
    /// Reads a number or an id; `None` when it is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = || text.to_owned();
        match text.split_once('_') {
            None => text.parse().ok().map(Self::Event),
            Some(("call", _)) => Some(Self::Call(id())),
            Some(("apr", _)) => Some(Self::Request(id())),
            Some(("hdl", _)) => Some(Self::Handle(id())),
            Some(("tok", _)) => Some(Self::Token(id())),
            Some(_) => None,
        }
    }
}

/// What a step of a story is about, in the order in which a call goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// The run it belongs to.
    Run,
    /// What the model was shown to choose from.
    Shortlist,
    /// What it was for.
    Goal,
    /// The decision with its checks.
    Decision,
    /// A request for an approval, and what came of it.
    Approval,
    /// The token.
    Token,
    /// The execution.
    Execution,
    /// A signal that was raised.
    Signal,
    /// How it ended.
    Result,
    /// What the model saw.
    Shown,
    /// A later look at the result.
    View,
    /// Anything else.
    Other,
}

impl Part {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Shortlist => "shortlist",
            Self::Goal => "goal",
            Self::Decision => "decision",
            Self::Approval => "approval",
            Self::Token => "token",
            Self::Execution => "execution",
            Self::Signal => "signal",
            Self::Result => "result",
            Self::Shown => "shown",
            Self::View => "view",
            Self::Other => "other",
        }
    }
}

/// One step of a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The event that tells it.
    pub seq: u64,
    /// When.
    pub at: Option<Timestamp>,
    /// In which call.
    pub call: Option<String>,
    /// What it is about.
    pub part: Part,
    /// What happened; further lines are details. It may hold texts of others: escape it.
    pub said: String,
}

/// The story of one call: of the call itself, of the calls that were made for the same request, and
/// of the looks at its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// The calls that it tells, in their order.
    pub calls: Vec<String>,
    /// What happened, in the order of the log.
    pub steps: Vec<Step>,
    /// What the events do not say.
    pub missing: Vec<String>,
}

impl Story {
    /// Tells the story; `None` when the log knows nothing of the subject.
    ///
    /// # Errors
    /// [`QueryError`], when the log cannot be read.
    pub fn of(
        source: &dyn Source,
        lookup: Option<&dyn Lookup>,
        subject: &Subject,
    ) -> Result<Option<Self>, QueryError> {
        let mut gathered = StoryEvents { source, lookup, ..StoryEvents::new(source) };
        gathered.begin(subject)?;
        gathered.follow()?;
        if gathered.events.is_empty() {
            return Ok(None);
        }
        gathered.before()?;
        Ok(Some(gathered.told()))
    }
}

struct StoryEvents<'a> {
    source: &'a dyn Source,
    lookup: Option<&'a dyn Lookup>,
    events: BTreeMap<u64, Facts>,
    /// What was looked for, and what still has to be.
    known: BTreeSet<(Field, String)>,
    waiting: Vec<(Field, String)>,
    cut: bool,
}

impl<'a> StoryEvents<'a> {
    fn new(source: &'a dyn Source) -> Self {
        let (events, known, waiting) = Default::default();
        Self { source, lookup: None, events, known, waiting, cut: false }
    }

    fn begin(&mut self, subject: &Subject) -> Result<(), QueryError> {
        match subject {
            Subject::Event(seq) => {
                let rows = self.source.rows(*seq, 1)?;
                for row in rows.iter().filter(|row| row.event.seq == *seq) {
                    self.add(Facts::of(&row.event));
                }
            }
            Subject::Call(id) => self.want(Field::Call, id),
            Subject::Request(id) => self.want(Field::Request, id),
            Subject::Handle(id) => self.want(Field::Handle, id),
            Subject::Token(id) => self.want(Field::Token, id),
        }
        Ok(())
    }

    fn want(&mut self, field: Field, id: &str) {
        if self.known.insert((field, id.to_owned())) {
            self.waiting.push((field, id.to_owned()));
        }
    }

    /// Takes an event in, and notes what it leads to. A look has a call of its own, which leads on
    /// through its handle alone.
    fn add(&mut self, facts: Facts) {
        if self.events.len() >= MAX_STORY {
            self.cut = true;
            return;
        }
        let id = |text: Option<&str>| text.map(str::to_owned);
        let (call, request, handle) = (id(facts.call()), id(facts.request()), id(facts.handle()));
        let looks = facts.kind() == Some(EventKind::HandleResolved);
        if self.events.insert(facts.seq, facts).is_none() {
            for (field, id) in [(Field::Request, request), (Field::Handle, handle)] {
                id.iter().for_each(|id| self.want(field, id));
            }
            call.iter().filter(|_| !looks).for_each(|call| self.want(Field::Call, call));
        }
    }

    fn follow(&mut self) -> Result<(), QueryError> {
        while let Some((field, id)) = self.waiting.pop() {
            let filter = Filter::default().with(field, &id);
            let question = Question { limit: MAX_FOUND, ..Question::oldest(filter) };
            let page = ask(self.source, self.lookup, &question)?;
            self.cut |= page.next.is_some();
            page.events.into_iter().for_each(|facts| self.add(facts));
        }
        Ok(())
    }

    /// What stood before: the beginning of the run, and the last shortlist, if it has what was
    /// called.
    fn before(&mut self) -> Result<(), QueryError> {
        let first = self.events.values().find(|facts| facts.run().is_some());
        let Some((run, seq)) = first.and_then(|f| f.run().map(|run| (run.to_owned(), f.seq)))
        else {
            return Ok(());
        };
        for kind in [EventKind::RunStarted, EventKind::Routed] {
            let filter = Filter::default().with(Field::Run, &run).with(Field::Event, kind.as_str());
            let after = Some(Cursor::new(seq, Order::Newest, &filter));
            let question = Question { after, limit: 1, ..Question::newest(filter) };
            let page = ask(self.source, self.lookup, &question)?;
            for facts in page.events {
                self.events.entry(facts.seq).or_insert(facts);
            }
        }
        Ok(())
    }

    fn told(self) -> Story {
        let mut steps = Vec::new();
        let mut calls: Vec<String> = Vec::new();
        for facts in self.events.values() {
            let call = facts.call().map(str::to_owned);
            if let Some(call) = call.as_ref().filter(|call| !calls.contains(call)) {
                calls.push(call.clone());
            }
            for (part, said) in sentence::of(facts) {
                let call = call.clone();
                steps.push(Step { seq: facts.seq, at: facts.at(), call, part, said });
            }
        }
        let mut missing = missing(&self.events, &steps);
        if self.cut {
            missing
                .push(format!("the story is longer than {MAX_STORY} events; the rest is left out"));
        }
        Story { calls, steps, missing }
    }
}

/// What the events do not say.
fn missing(events: &BTreeMap<u64, Facts>, steps: &[Step]) -> Vec<String> {
    let has = |part: Part| steps.iter().any(|step| step.part == part);
    let any = |kind: EventKind| events.values().any(|facts| facts.kind() == Some(kind));
    let mut missing = Vec::new();
    let mut say = |what: &str| missing.push(what.to_owned());
    if events.values().any(|facts| facts.payload.is_none()) {
        say("what is pruned is not told");
    }
    if !has(Part::Decision) {
        return missing;
    }
    if !has(Part::Shortlist) {
        say("no shortlist was recorded in this run before the call");
    }
    if !has(Part::Goal) {
        say("neither goal nor justification came with the call");
    }
    let ended = any(EventKind::Outcome) || any(EventKind::OutcomeUnknown);
    if any(EventKind::Intent) && !ended {
        say("the end of the call is not recorded yet");
    }
    if ended && !has(Part::Shown) {
        say("nothing of a result was shown");
    }
    missing
}
