//! The kernel through its public face, on real ledgers.

#[cfg(test)]
mod contracts;
#[cfg(test)]
mod execution;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod folding;
#[cfg(test)]
mod intents;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod races;
#[cfg(test)]
mod randomness;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod results;
#[cfg(test)]
mod stored_forms;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod views;
