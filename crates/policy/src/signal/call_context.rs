//! What sources of signals see: finished calls, and the call that is to be decided.

use weaver_types::{CallId, Capability, CapabilityId, Effects, Label, Operation, RunId};

use super::dependencies::{Declaration, Dependencies};

/// A call that is over, with what it brought into the run.
#[derive(Debug, Clone, Copy)]
pub struct FinishedCall<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The call.
    pub call: &'a CallId,
    /// What was called.
    pub capability: &'a CapabilityId,
    /// Its effects, with the contract applied.
    pub effects: Effects,
    /// The label of what was shown.
    pub label: &'a Label,
    /// Whether it was invoked or its result looked at.
    pub operation: Operation,
    /// How many calls of this run had finished before this one. A source that meets the run for
    /// the first time learns from it whether it missed something.
    pub finished: u64,
}

/// A call that is about to be decided, in the host's words.
#[derive(Debug, Clone, Copy)]
pub struct ProposedCall<'a> {
    /// The run.
    pub run: &'a RunId,
    /// What is to be called, with the contract applied.
    pub capability: &'a Capability,
    /// Invocation or view.
    pub operation: Operation,
    /// How many calls of this run have finished, this one not among them.
    pub finished: u64,
    /// What the call rests on, as host code declares it.
    pub declaration: &'a Declaration,
}

/// A call that is about to be decided, with what it depends on.
#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    /// The run.
    pub run: &'a RunId,
    /// What is to be called, with the contract applied.
    pub capability: &'a Capability,
    /// Invocation or view.
    pub operation: Operation,
    /// How many calls of this run have finished, this one not among them.
    pub finished: u64,
    /// What it depends on.
    pub dependencies: &'a Dependencies,
}
