//! Remedies for keys that are written by mistake.

/// Keys that would loosen a decision, and where the decision is made instead.
const LOOSENING: &[(&[&str], &str)] = &[
    (
        &["roles", "role", "permissions", "permission", "attributes", "agent", "agents", "admin"],
        "remove it: roles, permissions, attributes and the agent stand in the signed policy, under \
         the principal's id",
    ),
    (
        &["unsigned", "unsigned_development", "allow_unsigned", "verify", "skip_signatures"],
        "remove it and run `weaver sign` on the three documents; to try things out, start with \
         `weaver serve --unsigned-development`",
    ),
    (
        &["rules", "rule", "allow", "allowed", "deny", "policy", "default", "permit"],
        "remove it: rules stand in the signed policy",
    ),
    (
        &[
            "autoApprove", "auto_approve", "alwaysAllow", "always_allow", "trust", "trusted",
            "autoapprove", "approve", "approvals", "approvers",
        ],
        "remove it: what may run unasked stands in the signed policy, and who may release the rest \
         in the signed keys",
    ),
    (
        &["trusted_host", "trusted_hosts", "trusted_clients"],
        "remove it: trusted hosts stand in the signed policy",
    ),
    (
        &["effects", "contracts", "contract", "rung", "visibility", "label", "labels"],
        "remove it: what a tool can do stands in the signed contracts",
    ),
];

/// The remedy for a key that would loosen a decision.
pub(super) fn remedy_for_loosening_key(name: &str) -> Option<&'static str> {
    LOOSENING.iter().find(|(names, _)| names.contains(&name)).map(|(_, remedy)| *remedy)
}

/// The remedy for a key of another program's configuration.
pub(super) fn remedy_for_foreign_key(name: &str) -> Option<&'static str> {
    Some(match name {
        "serverUrl" | "httpUrl" | "endpoint" => "write it as `url`",
        "environment" => "write it as `env`",
        "bearer_token_env_var" => {
            "write `headers = { Authorization = \"Bearer ${VAR}\" }` with that variable"
        }
        "timeout" => "write it as `timeout_ms`, in milliseconds",
        "workingDirectory" | "working_directory" => "write it as `cwd`",
        "enabled" => "write `disabled = true` to turn a server off",
        "mcp_servers" | "servers_map" | "mcpservers" => "write it as `mcpServers`",
        _ => return None,
    })
}
