//! The ledger through crashes, failing calls and damage. The README says what each part does, and
//! how to run all of it.

#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod bits;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod calls;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod damage;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod images;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod kills;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod parts;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod recovery;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod store;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod support;
