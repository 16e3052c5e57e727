//! The firewall through its public interface.

#![cfg(test)]

mod auto;
mod auto_answers;
mod auto_oracle;
mod blocks;
mod budgets;
mod builder;
mod cells;
mod continuations;
mod contract_text;
mod disclosure;
mod expand;
mod false_findings;
mod findings;
mod frame_oracle;
mod frame_vectors;
mod frames;
mod goals;
mod handle_store;
mod handles;
mod interleavings;
mod json_rows;
mod json_views;
mod local_forms;
mod masks;
mod page;
mod planted_masks;
mod properties;
mod queries;
mod redaction_vectors;
mod stream_budgets;
mod streams;
mod summaries;
mod support;
mod view_vectors;
mod views;
