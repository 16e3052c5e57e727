//! The library through its public interface. What a user sees of it is tested with `weaver-cli`.

#[cfg(test)]
mod broken_files;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod config;
mod config_schema;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod reference;
