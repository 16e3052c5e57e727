//! `weaver redact`: secrets and personal data masked, in texts and in endless streams.

pub(super) mod args;
pub(super) mod engine;
mod offsets;
mod plain_text;
mod records;
mod rules;
mod source;

use args::{Redact, Rules};
use source::Form;

use super::{Exit, Failure};

pub(super) fn run(args: &Redact) -> Result<Exit, Failure> {
    match &args.about {
        Some(Rules::Rules { rules, output }) => return rules::list(rules, output.format()),
        Some(Rules::Check { file, output }) => return rules::check(file, output.format()),
        None => {}
    }
    let masker = engine::Masker::new(&args.options)?;
    let mut source = source::Source::open(&args.file)?;
    match source.form(args.form())? {
        Form::Records => records::run(&masker, source),
        Form::Text => plain_text::run(&masker, source),
    }
}
