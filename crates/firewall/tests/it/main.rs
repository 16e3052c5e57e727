//! The firewall through its public interface.

#[cfg(test)]
mod budgets;
#[cfg(test)]
mod expand;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod handles;
#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
