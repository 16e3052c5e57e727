//! `weaver redact`: masks secrets and personal data in texts and in unbounded streams.

pub(super) mod args;
mod char_offsets;
pub(super) mod masker;
mod plain_text;
mod records;
mod rules;
mod source;

use args::{Redact, RulesCommand};
use source::InputFormat;

use super::{Exit, Failure};

pub(super) fn run(args: &Redact) -> Result<Exit, Failure> {
    match &args.about {
        Some(RulesCommand::Rules { rules, output }) => {
            return rules::list_rules(rules, output.format());
        }
        Some(RulesCommand::Check { file, output }) => {
            return rules::check_rules(file, output.format());
        }
        None => {}
    }
    let masker = masker::Masker::new(&args.options)?;
    let mut source = source::Source::open(&args.file)?;
    match source.form(args.form())? {
        InputFormat::Records => records::run(&masker, source),
        InputFormat::Text => plain_text::run(&masker, source),
    }
}
