//! The public interface of the crate, one module a theme.

#[cfg(test)]
mod canonical;
#[cfg(test)]
mod capability;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod digest;
#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod results;
#[cfg(test)]
mod signature;
#[cfg(test)]
mod ticket;
#[cfg(test)]
mod tool_spec;
