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
mod format_calls;
#[cfg(test)]
mod format_names;
#[cfg(test)]
mod format_schemas;
#[cfg(test)]
mod formats;
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
