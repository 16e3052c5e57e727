//! What the features bring in, and what they must not.

#[cfg(test)]
#[cfg(all(feature = "memory", feature = "firewall"))]
mod context;
#[cfg(test)]
mod features;
#[cfg(test)]
mod names;
#[cfg(test)]
mod readme;
