//! What signal sources see: finished calls, and the call that is to be decided.

use weaver_types::{CallId, Capability, CapabilityId, Effects, Label, Operation, RunId};

use super::dependencies::{BeliefDeclaration, BeliefDependencies};

/// A finished call and what it added to the run.
#[derive(Debug, Clone, Copy)]
pub struct FinishedCall<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The call.
    pub call: &'a CallId,
    /// The capability that was called.
    pub capability: &'a CapabilityId,
    /// Its effects, with the contract applied.
    pub effects: Effects,
    /// The label of the shown result.
    pub label: &'a Label,
    /// Whether it was an invocation or a view of a stored result.
    pub operation: Operation,
    /// How many calls of this run had finished before this one. From this, a source that sees the
    /// run for the first time knows whether it missed any.
    pub finished: u64,
}

/// A call that is about to be decided, as described by the host.
#[derive(Debug, Clone, Copy)]
pub struct ProposedCall<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The capability, with its contract applied.
    pub capability: &'a Capability,
    /// Invocation or view.
    pub operation: Operation,
    /// How many calls of this run have finished, not counting this one.
    pub finished: u64,
    /// What the call depends on, as declared by host code.
    pub declaration: &'a BeliefDeclaration,
}

/// A call that is about to be decided, with what it depends on.
#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The capability, with its contract applied.
    pub capability: &'a Capability,
    /// Invocation or view.
    pub operation: Operation,
    /// How many calls of this run have finished, not counting this one.
    pub finished: u64,
    /// What it depends on.
    pub dependencies: &'a BeliefDependencies,
}
