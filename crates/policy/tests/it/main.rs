//! The public behaviour of `weaver-policy`.

#[cfg(test)]
mod support;

#[cfg(test)]
mod agents;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod approvals_attacks;
#[cfg(test)]
mod approvals_bounds;
#[cfg(test)]
mod approvals_golden;
#[cfg(test)]
mod approvals_operator;
#[cfg(test)]
mod approvals_property;
#[cfg(test)]
mod approvals_release;
#[cfg(test)]
mod approvals_render;
#[cfg(test)]
mod approvals_standing;
#[cfg(test)]
mod approvals_vectors;
#[cfg(test)]
mod baseline;
#[cfg(test)]
mod contract_globs;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod document_bounds;
#[cfg(test)]
mod document_values;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod drift;
#[cfg(test)]
mod drift_schemas;
#[cfg(test)]
mod enforcement;
#[cfg(test)]
mod explain;
#[cfg(test)]
mod explain_conditions;
#[cfg(test)]
mod floor;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod flow_provenance;
#[cfg(test)]
mod fuzz_seeds;
#[cfg(test)]
mod high_water;
#[cfg(test)]
mod kernel_vectors;
#[cfg(test)]
mod language;
mod lists;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod policy_set;
#[cfg(test)]
mod reference_flow;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod signal_calibration;
#[cfg(test)]
mod signal_sources;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod signatures;
#[cfg(test)]
mod vectors;
