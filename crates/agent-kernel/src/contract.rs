//! Contracts: every call is compared with what was registered, and with what was approved.
//!
//! | compared with | where it stands | who moves it |
//! |---|---|---|
//! | the registration | the registry, as long as the process lives | an approval of exactly what is live |
//! | the signed contract | the contracts document: `upstream_digest` | whoever signs the document |
//! | the baseline | the ledger, for what no document pins | whoever may write the ledger, by name |
//!
//! Under `enforce`, which is the default, a server's tool is denied with `contract_changed` after
//! any change that a model or the policy could see, and one that came after its server was approved
//! with `contract_unknown`; so is one that came after its server's first listing and that a glob
//! alone covers, where it does more than read. One whose words speak to a model is denied with
//! `contract_suspicious` until somebody approved exactly these. What host code registered is denied when it can do more than read, by
//! what it was or by what it is; a mere reader runs, and the log says so. `observe` records, `off`
//! does not compare.

mod baselines;
mod comparison;
mod contract_record;

use weaver_types::Tenant;
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace};

pub(crate) use baselines::tool_key;

pub use baselines::{
    Baseline, BaselineApproval, BaselineError, BaselineReadError, BaselineState, Baselines,
    KERNEL_SURFACE, MAX_BASELINES,
};
pub(crate) use comparison::compare;
pub use comparison::{ContractComparison, ContractState};
pub(crate) use contract_record::read as read_baseline;

/// The baselines of a ledger, with the versions themselves.
pub(crate) fn load(tenant: &Tenant, ledger: &dyn Ledger) -> Baselines {
    Baselines::read(|after| ledger.list(tenant, Namespace::Baseline, after, MAX_PAGE))
}
