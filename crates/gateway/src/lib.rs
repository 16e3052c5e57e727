//! An MCP gateway that routes, decides, executes, firewalls and records: the weaver command.
