//! The public behaviour of `contextweaver`.

#![cfg(test)]

mod answers;
mod bridge;
mod cards;
mod catalog_vectors;
mod changes;
mod compiling;
mod context_vectors;
mod duplicates;
mod filter_laws;
mod filtering;
mod forms;
mod frames;
mod goals;
mod graph;
mod hydrating;
mod items;
mod learning;
mod linting;
mod loading;
mod memory;
mod memory_facts;
mod memory_recall;
mod messages;
mod native_calls;
mod openapi;
mod own_text;
mod promises;
mod reference;
mod route_vectors;
mod routing;
mod same_answers;
mod stored_logs;
