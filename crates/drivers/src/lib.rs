//! Drivers that reach real tools: MCP over stdio and Streamable HTTP.
