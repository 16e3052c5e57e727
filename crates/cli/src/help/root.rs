//! The help of `weaver` alone: the commands by what they are for.

const ABOUT: &str = "\
Weaver stands between an AI agent and the tools it can call. It shows the few
tools that fit, lets through what your signed policy allows, cuts results down
to what the model may see, and keeps a log that nobody can change unnoticed.";

const COMMANDS: &str = "\
Begin:
  demo      Show all of it in one minute, offline, in a temporary folder
  init      Set Weaver up from the MCP clients on this machine
  connect   Put the clients behind Weaver; `disconnect` takes that back
  update    Take in new servers and new tools

See and answer:
  (alone)   How things stand: servers, clients, what waits, what was denied
  trace     What happened today, why a call ended as it did, and whether the
            log is whole
  approve   See the calls that wait; grant or deny them
  allow     Turn one held or denied call into a rule
  policy    Suggest, replay, test, edit and explain rules
  doctor    Look for what is wrong, and say what to do

Run:        serve daemon status restart stop logs service clients login logout
Documents:  check sign keys contracts kernel memory feedback
Parts:      route compile catalog redact replay inspect
Reference:  reasons schema completions man help

Example:
  weaver demo

`weaver COMMAND --help` shows one command. `weaver help` shows all of them, a
first weaver.toml and the exit codes.";

/// The layout of the short help.
pub(super) fn template() -> String {
    format!("{ABOUT}\n\n{{usage-heading}} {{usage}}\n\n{COMMANDS}\n\nOptions:\n{{options}}")
}
