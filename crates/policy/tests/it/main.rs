//! The public behaviour of `weaver-policy`.

#![cfg(test)]

mod support;

mod agents;
mod approvals;
mod approvals_attacks;
mod approvals_bounds;
mod approvals_golden;
mod approvals_operator;
mod approvals_property;
mod approvals_release;
mod approvals_render;
mod approvals_standing;
mod approvals_vectors;
mod baseline;
mod contract_globs;
mod contracts;
mod document_bounds;
mod document_values;
mod documents;
mod drift;
mod drift_schemas;
mod enforcement;
mod explain;
mod explain_conditions;
mod floor;
mod flow;
mod flow_addresses;
mod flow_masks;
mod flow_provenance;
mod fuzz_seeds;
mod high_water;
mod kernel_vectors;
mod language;
mod lists;
mod naive;
mod policy_set;
mod reference_flow;
mod rules;
mod schema;
mod signal_calibration;
mod signal_sources;
mod signals;
mod signatures;
mod vectors;
