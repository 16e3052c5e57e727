//! The public behaviour of `contextweaver`.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod catalog_vectors;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod compiling;
#[cfg(test)]
mod context_vectors;
#[cfg(test)]
mod duplicates;
#[cfg(test)]
mod filter_laws;
#[cfg(test)]
mod filtering;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod goals;
#[cfg(test)]
mod graph;
#[cfg(test)]
mod hydrating;
#[cfg(test)]
mod items;
#[cfg(test)]
mod learning;
#[cfg(test)]
mod linting;
#[cfg(test)]
mod loading;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod memory_facts;
#[cfg(test)]
mod memory_recall;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod native_calls;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod own_text;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod route_vectors;
#[cfg(test)]
mod routing;
#[cfg(test)]
mod same_answers;
#[cfg(test)]
mod stored_logs;
