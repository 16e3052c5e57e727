//! The built `xtask`, run as a command.

#[cfg(test)]
mod ci_script;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod tidy;
