//! Programs of this machine as drivers of the kernel.
//!
//! A program is started without a shell: its arguments are items of a list, and what a call brings
//! takes the place of whole items. Nothing is split, joined or expanded. A value that looks like an
//! option is refused unless a `--` stands before it.

mod config;
mod driver;
mod error;
mod output;
mod template;

pub use config::{OutputForm, ProcessConfig};
pub use driver::ProcessDriver;
pub use error::TemplateError;
