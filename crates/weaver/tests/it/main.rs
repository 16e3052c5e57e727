//! What the features bring in, and what they must not.

#[cfg(test)]
mod features;
#[cfg(test)]
mod names;
