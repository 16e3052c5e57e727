//! The firewall through its public interface.

#[cfg(test)]
mod auto;
#[cfg(test)]
mod auto_answers;
#[cfg(test)]
mod auto_oracle;
#[cfg(test)]
mod blocks;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod builder;
#[cfg(test)]
mod cells;
#[cfg(test)]
mod continuations;
#[cfg(test)]
mod contract_text;
#[cfg(test)]
mod disclosure;
#[cfg(test)]
mod expand;
#[cfg(test)]
mod false_findings;
#[cfg(test)]
mod findings;
#[cfg(test)]
mod frame_oracle;
#[cfg(test)]
mod frame_vectors;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod goals;
#[cfg(test)]
mod handle_store;
#[cfg(test)]
mod handles;
#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod json_rows;
#[cfg(test)]
mod json_views;
#[cfg(test)]
mod local_forms;
#[cfg(test)]
mod masks;
#[cfg(test)]
mod page;
#[cfg(test)]
mod planted_masks;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod redaction_vectors;
#[cfg(test)]
mod stream_budgets;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod summaries;
#[cfg(test)]
mod support;
#[cfg(test)]
mod view_vectors;
#[cfg(test)]
mod views;
