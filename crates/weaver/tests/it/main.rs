//! What the features bring in, and what they must not.

#[cfg(all(test, feature = "memory", feature = "firewall"))]
mod context;
#[cfg(test)]
mod features;
#[cfg(test)]
mod names;
