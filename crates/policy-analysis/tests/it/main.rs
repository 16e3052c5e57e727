//! The public behaviour of `weaver-policy-analysis`.

#[cfg(test)]
mod support;

#[cfg(test)]
mod evaluation;
#[cfg(test)]
mod lint;
#[cfg(test)]
mod propose_servers;
#[cfg(test)]
mod reachability;
#[cfg(test)]
mod recorded;
