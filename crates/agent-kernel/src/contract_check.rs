//! Contracts: the capability of every call is compared with its registered and its approved
//! version.
//!
//! | compared with | where it is kept | who may change it |
//! |---|---|---|
//! | the registration | the registry, while the process runs | an approval of exactly the live version |
//! | the signed contract | the contracts document: `upstream_digest` | whoever signs the document |
//! | the baseline | the ledger, for tools that no document pins | a named approver with write access to the ledger |
//!
//! Under `enforce`, the default, a server's tool is denied with `contract_changed` after any change
//! that a model or the policy could see, and with `contract_unknown` if it appeared after its
//! server was approved. The latter also holds for a tool that appeared after its server's first
//! listing, does more than read, and is covered only by a glob. A tool whose description contains
//! instructions for a model is denied with `contract_suspicious` until somebody has approved
//! exactly that version. A changed tool of host code is denied if the old or the new version does
//! more than read; a mere reader is allowed, and the log records the change. `observe` only
//! records, `off` does not compare.

mod baselines;
mod comparison;
mod contract_record;

use weaver_types::Tenant;
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace};

pub(crate) use baselines::tool_key;

pub use baselines::{
    Baseline, BaselineApproval, BaselineError, BaselineReadError, BaselineState, Baselines,
    KERNEL_TOOL_SURFACE, MAX_BASELINES,
};
pub(crate) use comparison::compare_contract;
pub use comparison::{ContractComparison, ContractState};
pub(crate) use contract_record::read_record as read_baseline;

/// The baselines of a ledger, including the versions themselves.
pub(crate) fn load(tenant: &Tenant, ledger: &dyn Ledger) -> Baselines {
    Baselines::read(|after| ledger.list(tenant, Namespace::Baseline, after, MAX_PAGE))
}
