//! The kernel through its public face, on real ledgers.

#[cfg(test)]
mod agent_runtime;
#[cfg(test)]
mod approval_attacks;
#[cfg(test)]
mod approval_bounds;
#[cfg(test)]
mod approval_cancellations;
#[cfg(test)]
mod approval_policy;
#[cfg(test)]
mod approval_records;
#[cfg(test)]
mod approval_resolver;
#[cfg(test)]
mod approval_standing;
#[cfg(test)]
mod approval_words;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod calibration;
#[cfg(test)]
mod carried_values;
#[cfg(test)]
mod clocks;
#[cfg(test)]
mod contract_versions;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod default_policy;
#[cfg(test)]
mod deferred_ends;
#[cfg(test)]
mod dry_runs;
#[cfg(test)]
mod error_codes;
#[cfg(test)]
mod execution;
#[cfg(test)]
mod explanations;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod folding;
#[cfg(test)]
mod holes;
#[cfg(test)]
mod host_calls;
#[cfg(test)]
mod host_context;
#[cfg(test)]
mod in_doubt;
#[cfg(test)]
mod intents;
#[cfg(test)]
mod laundering;
#[cfg(test)]
mod mask_attacks;
#[cfg(test)]
mod masks;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod meters;
#[cfg(test)]
mod namespaces;
#[cfg(test)]
mod observing;
#[cfg(test)]
mod partial_results;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod preconditions;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod provenance;
#[cfg(test)]
mod races;
#[cfg(test)]
mod randomness;
#[cfg(test)]
mod rates;
#[cfg(test)]
mod record_ids;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod registry_search;
#[cfg(test)]
mod repairs;
#[cfg(test)]
mod results;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod revocations;
#[cfg(test)]
mod run_ends;
#[cfg(test)]
mod run_records;
#[cfg(test)]
mod said_words;
mod schema_of_results;
#[cfg(test)]
mod second_looks;
#[cfg(test)]
mod secondbrain;
#[cfg(test)]
mod session_budget;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod stored_forms;
#[cfg(test)]
mod stored_results;
#[cfg(test)]
mod stream_prices;
#[cfg(test)]
mod streaming;
#[cfg(test)]
mod support;
#[cfg(test)]
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(test)]
mod token_attenuation;
#[cfg(test)]
mod token_confusion;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod trace_vectors;
#[cfg(test)]
mod unrecorded_ends;
#[cfg(test)]
mod views;
#[cfg(test)]
mod vouched_views;
#[cfg(test)]
mod without_receiver;
