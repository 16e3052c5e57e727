//! Explains one call from its events.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::{EventKind, Timestamp};

use super::sentence;
use crate::query::{
    CandidateLookup, EventFacts, EventFilter, EventOrder, FilterField, LogQuery, MAX_PAGE_EVENTS,
    PageCursor, QueryError, run_query,
};
use crate::verify::LogSource;

/// The most events of one story.
pub const MAX_STORY_EVENTS: usize = 2_000;

/// What a story is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorySubject {
    /// The event with this sequence number.
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

impl StorySubject {
    /// Parses a number or an id; `None` when it is neither.
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

/// The aspect that a step describes, in the order in which a call passes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StoryAspect {
    /// The run it belongs to.
    Run,
    /// The shortlist that the model was shown.
    Shortlist,
    /// The goal of the call.
    Goal,
    /// The decision with its checks.
    Decision,
    /// A request for approval, and its result.
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
    /// A later view of the result.
    View,
    /// Anything else.
    Other,
}

weaver_types::words! { StoryAspect: "Its name.";
    Run = "run", Shortlist = "shortlist", Goal = "goal", Decision = "decision",
    Approval = "approval", Token = "token", Execution = "execution", Signal = "signal",
    Result = "result", Shown = "shown", View = "view", Other = "other",
}

/// One step of a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryStep {
    /// The event that it comes from.
    pub seq: u64,
    /// The time of the event.
    pub at: Option<Timestamp>,
    /// The call of the event.
    pub call: Option<String>,
    /// The aspect that it describes.
    pub part: StoryAspect,
    /// What happened; further lines are details. It may contain untrusted text: escape it.
    pub text: String,
}

/// The story of a call: the call itself, other calls for the same approval request, and later views
/// of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallStory {
    /// The calls of the story, in order.
    pub calls: Vec<String>,
    /// What happened, in log order.
    pub steps: Vec<StoryStep>,
    /// What the events do not tell.
    pub missing: Vec<String>,
}

impl CallStory {
    /// Builds the story; `None` when the log knows nothing about the subject.
    ///
    /// # Errors
    /// [`QueryError`], when the log cannot be read.
    pub fn from_log(
        source: &dyn LogSource,
        lookup: Option<&dyn CandidateLookup>,
        subject: &StorySubject,
    ) -> Result<Option<Self>, QueryError> {
        let mut story_events = StoryEvents { lookup, ..StoryEvents::new(source) };
        story_events.seed(subject)?;
        story_events.follow_links()?;
        if story_events.events.is_empty() {
            return Ok(None);
        }
        story_events.add_run_context()?;
        Ok(Some(story_events.into_story()))
    }
}

struct StoryEvents<'a> {
    source: &'a dyn LogSource,
    lookup: Option<&'a dyn CandidateLookup>,
    events: BTreeMap<u64, EventFacts>,
    /// Links that were already enqueued, and those still to follow.
    enqueued: BTreeSet<(FilterField, String)>,
    waiting: Vec<(FilterField, String)>,
    truncated: bool,
}

impl<'a> StoryEvents<'a> {
    fn new(source: &'a dyn LogSource) -> Self {
        let (events, enqueued, waiting) = Default::default();
        Self { source, lookup: None, events, enqueued, waiting, truncated: false }
    }

    fn seed(&mut self, subject: &StorySubject) -> Result<(), QueryError> {
        match subject {
            StorySubject::Event(seq) => {
                let rows = self.source.rows(*seq, 1)?;
                for row in rows.iter().filter(|row| row.event.seq == *seq) {
                    self.add(EventFacts::from_event(&row.event));
                }
            }
            StorySubject::Call(id) => self.enqueue(FilterField::Call, id),
            StorySubject::Request(id) => self.enqueue(FilterField::Request, id),
            StorySubject::Handle(id) => self.enqueue(FilterField::Handle, id),
            StorySubject::Token(id) => self.enqueue(FilterField::Token, id),
        }
        Ok(())
    }

    fn enqueue(&mut self, field: FilterField, id: &str) {
        if self.enqueued.insert((field, id.to_owned())) {
            self.waiting.push((field, id.to_owned()));
        }
    }

    /// Adds an event, and enqueues the ids that it leads to. A view has a call id of its own, so it
    /// leads on through its handle only.
    fn add(&mut self, facts: EventFacts) {
        if self.events.contains_key(&facts.seq) {
            return;
        }
        if self.events.len() >= MAX_STORY_EVENTS {
            self.truncated = true;
            return;
        }
        let id = |text: Option<&str>| text.map(str::to_owned);
        let (call, request, handle) = (id(facts.call()), id(facts.request()), id(facts.handle()));
        let is_view = facts.kind() == Some(EventKind::HandleResolved);
        self.events.insert(facts.seq, facts);
        for (field, id) in [(FilterField::Request, request), (FilterField::Handle, handle)] {
            id.iter().for_each(|id| self.enqueue(field, id));
        }
        call.iter().filter(|_| !is_view).for_each(|call| self.enqueue(FilterField::Call, call));
    }

    fn follow_links(&mut self) -> Result<(), QueryError> {
        while let Some((field, id)) = self.waiting.pop() {
            let filter = EventFilter::default().with(field, &id);
            let mut query = LogQuery { limit: MAX_PAGE_EVENTS, ..LogQuery::oldest(filter) };
            loop {
                let page = run_query(self.source, self.lookup, &query)?;
                page.events.into_iter().for_each(|facts| self.add(facts));
                // A story that is full takes in no event of any link.
                if self.truncated {
                    return Ok(());
                }
                if page.next.is_none() {
                    break;
                }
                query.after = page.next;
            }
        }
        Ok(())
    }

    /// Adds the context before the call: the start of its run, and the last shortlist.
    fn add_run_context(&mut self) -> Result<(), QueryError> {
        let first = self.events.values().find(|facts| facts.run().is_some());
        let Some((run, seq)) = first.and_then(|f| f.run().map(|run| (run.to_owned(), f.seq)))
        else {
            return Ok(());
        };
        for kind in [EventKind::RunStarted, EventKind::Routed] {
            let filter = EventFilter::default()
                .with(FilterField::Run, &run)
                .with(FilterField::Event, kind.as_str());
            let after = Some(PageCursor::new(seq, EventOrder::Newest, &filter));
            let query = LogQuery { after, limit: 1, ..LogQuery::newest(filter) };
            let page = run_query(self.source, self.lookup, &query)?;
            for facts in page.events {
                self.events.entry(facts.seq).or_insert(facts);
            }
        }
        Ok(())
    }

    fn into_story(self) -> CallStory {
        let mut steps = Vec::new();
        let mut calls: Vec<String> = Vec::new();
        for facts in self.events.values() {
            let call = facts.call().map(str::to_owned);
            if let Some(call) = call.as_ref().filter(|call| !calls.contains(call)) {
                calls.push(call.clone());
            }
            for (part, text) in sentence::sentences(facts) {
                let call = call.clone();
                steps.push(StoryStep { seq: facts.seq, at: facts.at(), call, part, text });
            }
        }
        let mut missing = missing_facts(&self.events, &steps);
        if self.truncated {
            missing.push(format!(
                "the story is longer than {MAX_STORY_EVENTS} events; the rest is left out"
            ));
        }
        CallStory { calls, steps, missing }
    }
}

/// Sentences about what the events do not tell.
fn missing_facts(events: &BTreeMap<u64, EventFacts>, steps: &[StoryStep]) -> Vec<String> {
    let has = |part: StoryAspect| steps.iter().any(|step| step.part == part);
    let any = |kind: EventKind| events.values().any(|facts| facts.kind() == Some(kind));
    let mut missing = Vec::new();
    let mut say = |what: &str| missing.push(what.to_owned());
    if events.values().any(|facts| facts.payload.is_none()) {
        say("pruned events are left out");
    }
    if !has(StoryAspect::Decision) {
        return missing;
    }
    if !has(StoryAspect::Shortlist) {
        say("no search for tools (`tool_browse`) was recorded in this run before the call");
    }
    if !has(StoryAspect::Goal) {
        say("neither goal nor justification came with the call");
    }
    let ended = any(EventKind::Outcome) || any(EventKind::OutcomeUnknown);
    if any(EventKind::Intent) && !ended {
        say("the end of the call is not recorded yet");
    }
    if ended && !has(StoryAspect::Shown) {
        say("nothing of a result was shown");
    }
    missing
}
