//! Local programs as drivers of the kernel.
//!
//! A program is started without a shell: its arguments are a list, and arguments of a call replace
//! whole items of it. Nothing is split, joined or expanded. A value that looks like an option is
//! refused unless it comes after `--`.

mod command_template;
mod config;
mod driver;
mod error;
mod output;

pub use config::{OutputForm, ProcessConfig};
pub use driver::ProcessDriver;
pub use error::TemplateError;
