//! The command as a user runs it.

#[cfg(target_os = "linux")]
#[cfg(test)]
mod activation;
#[cfg(test)]
mod adaptive;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod approve;
#[cfg(test)]
mod broken_files;
#[cfg(test)]
mod call_progress;
#[cfg(test)]
mod catalog;
#[cfg(test)]
mod check;
#[cfg(test)]
mod client;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod client_runs;
#[cfg(test)]
mod client_tasks;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod client_tokens;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod compile;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod confine;
#[cfg(test)]
mod connecting;
#[cfg(test)]
mod contracts_commands;
#[cfg(test)]
mod contracts_propose;
#[cfg(test)]
mod crash;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod daemon;
#[cfg(unix)]
#[cfg(test)]
mod daemon_reload;
#[cfg(test)]
mod deferred_tasks;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod execute_tools;
#[cfg(test)]
mod feature_server;
#[cfg(test)]
mod features;
#[cfg(test)]
mod fixture;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod fuzzed_clients;
#[cfg(test)]
mod fuzzed_servers;
#[cfg(test)]
mod guide;
#[cfg(unix)]
#[cfg(test)]
mod help;
#[cfg(test)]
mod hostile;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod http;
#[cfg(test)]
mod http_questions;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod init_process;
#[cfg(test)]
mod inspect;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod instances;
#[cfg(unix)]
#[cfg(test)]
mod interrupted;
#[cfg(test)]
mod kernel_commands;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod keychain;
#[cfg(test)]
mod keys;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod large_rows;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod login;
#[cfg(test)]
mod login_principals;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod memory_tools;
#[cfg(test)]
mod new_tools;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod newcomer;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod oauth_resource;
#[cfg(test)]
mod observing;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod operating;
#[cfg(test)]
mod own_tool_settings;
#[cfg(test)]
mod own_tools;
#[cfg(test)]
mod policy_commands;
#[cfg(test)]
mod proofs;
#[cfg(test)]
mod proxy;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod pruned_runs;
#[cfg(test)]
mod pseudo_random;
#[cfg(test)]
mod publishing;
#[cfg(test)]
mod questions;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod read_only_store;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod readiness;
#[cfg(test)]
mod redact;
#[cfg(test)]
mod replay;
mod restarting;
#[cfg(test)]
mod route;
#[cfg(test)]
mod rug_pulls;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod starting;
#[cfg(test)]
mod support;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod telemetry;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tls;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod token_issuer;
#[cfg(test)]
mod trace;
#[cfg(test)]
mod updating;
#[cfg(test)]
mod user_words;
#[cfg(test)]
mod word_table;
