//! The public behaviour of `weaver-text`, as properties over arbitrary text.

#[cfg(test)]
mod estimate;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reveal;
