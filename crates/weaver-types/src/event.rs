//! The kinds of events in the log, and the decision keys of the SecondBrain kernel.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($(#[$outer:meta])* $enum:ident; $($(#[doc = $doc:literal])* $name:ident = $text:literal;)*) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum $enum {
            $($(#[doc = $doc])* #[serde(rename = $text)] $name,)*
        }

        impl $enum {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Its meaning, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// Parses the stable text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

kinds! {
    /// What happened. A superset of the public event types; each maps to one of them or to none.
    EventKind;
    /// A process opened the ledger for writing.
    LedgerOpened = "ledger.opened";
    /// Signed documents came into force.
    PolicyLoaded = "policy.loaded";
    /// Documents were offered and refused; the old ones stay in force.
    PolicyRefused = "policy.refused";
    /// A run began.
    RunStarted = "run.started";
    /// A client of the host works in a run from now on.
    RunEntered = "run.entered";
    /// A run ended.
    RunFinished = "run.finished";
    /// What pruned events of a run had changed in it: the run can still be compared with the log.
    RunRestated = "run.restated";
    /// A run took the place of one that cannot be compared with the log, with the strictest label.
    RunReplaced = "run.replaced";
    /// It turned out whether what a class of calls said was right.
    CalibrationRecorded = "calibration.recorded";
    /// The user of a run said something, through a host that may report it.
    UserSaid = "run.user_said";
    /// A shortlist was made.
    Routed = "route.shortlisted";
    /// A call was asked, held or denied; nothing was executed.
    Refused = "call.refused";
    /// A call was decided and is about to be executed: decision, token use and intent in one.
    Intent = "call.intent";
    /// A call ended, and this is how.
    Outcome = "call.outcome";
    /// A call was begun and its end was never seen.
    OutcomeUnknown = "call.outcome_unknown";
    /// A tool answered after its time was over; its answer was thrown away.
    Late = "call.late";
    /// Somebody looked further into a stored result.
    HandleResolved = "handle.resolved";
    /// Grants of a principal or run were revoked.
    Revoked = "grant.revoked";
    /// A held call opened a request for an approval.
    ApprovalRequested = "approval.requested";
    /// An approver agreed; the quorum is not reached yet.
    ApprovalEndorsed = "approval.endorsed";
    /// A request was granted: the call may be made once.
    ApprovalGranted = "approval.granted";
    /// An approver refused a request.
    ApprovalDenied = "approval.denied";
    /// A request outlived its deadline.
    ApprovalExpired = "approval.expired";
    /// A request or its grant was taken back.
    ApprovalRevoked = "approval.revoked";
    /// A request gave way to another, under another policy.
    ApprovalSuperseded = "approval.superseded";
    /// A signed file did not count.
    ApprovalRejected = "approval.rejected";
    /// A standing approval came into force.
    StandingAccepted = "standing.accepted";
    /// A standing approval was taken back.
    StandingRevoked = "standing.revoked";
    /// The operator confirmed the time after a jump.
    ClockConfirmed = "clock.confirmed";
    /// A runtime signal was raised.
    SignalRaised = "signal.raised";
    /// An upstream is connected.
    UpstreamReady = "upstream.ready";
    /// An upstream is gone.
    UpstreamLost = "upstream.lost";
    /// Versions of tools were approved: which, and by whom.
    ContractApproved = "contract.approved";
    /// A server describes a tool otherwise than it was registered or approved.
    ContractChanged = "contract.changed";
    /// Payloads of earlier events were removed for good: which, why, and by whom.
    Pruned = "log.pruned";
    /// A key that signs the checkpoints of this log came into force, or ended.
    LogKey = "log.key";
    /// A gateway ended in order, and why; a later `ledger.opened` is its next start.
    GatewayEnded = "gateway.ended";
    /// A client's token was made: for whom, until when, and by whom.
    ClientAdded = "client.added";
    /// A client got another token; the former one ends at the time that is told.
    ClientRotated = "client.rotated";
    /// A client's token was taken back.
    ClientRemoved = "client.removed";
    /// A host wrote to the memory of a run.
    MemoryPut = "memory.put";
    /// A host read from memory for a run, which takes on the label of what was read.
    MemoryGet = "memory.get";
}

kinds! {
    /// The decision keys of the SecondBrain kernel: a field of the events they apply to.
    DecisionKey;
    /// A tool is dispatched.
    ToolDispatch = "kernel.tool.dispatch";
    /// Policy blocked a call.
    PolicyBlocked = "kernel.tool.policy.blocked";
    /// A run budget is used up.
    BudgetExceeded = "kernel.budget.exceeded";
    /// A value is written to memory.
    MemoryPut = "kernel.memory.put";
    /// A value is read from memory.
    MemoryGet = "kernel.memory.get";
    /// A run began.
    RunStarted = "kernel.run.started";
    /// A run ended.
    RunFinished = "kernel.run.finished";
}
