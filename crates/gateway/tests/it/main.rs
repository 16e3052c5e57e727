//! The command as a user runs it, and the configuration through its public interface.

#[cfg(test)]
mod check;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod config;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod route;
#[cfg(test)]
mod support;
#[cfg(test)]
mod trace;
