"""Drives an MCP server with the Python SDK: one request a line in, one answer a line out.

Usage: session.py legacy|modern|twice COMMAND [ARGUMENT...]
       session.py legacy|modern URL

A server at a URL is reached over Streamable HTTP, with the bearer token in WEAVER_TOKEN if there is
one. `twice` is one process that starts the server two times and asks both in turn, in the legacy era.

The first line out is {"protocol": VERSION}. A request is {"method": "tools/list"} or
{"method": "tools/call", "name": NAME, "arguments": OBJECT}; its answer is {"result": RESULT} or
{"error": TEXT}. The session ends when standard input does.
"""

import asyncio
import contextlib
import json
import os
import sys

from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

# Seconds for one answer of the server.
PATIENCE = 60


def say(value):
    print(json.dumps(value), flush=True)


async def answer(client, request):
    if request["method"] == "tools/list":
        result = await client.list_tools()
    elif request["method"] == "tools/call":
        result = await client.call_tool(request["name"], request["arguments"])
    else:
        raise ValueError(f"no method {request['method']} here")
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def serve(client, protocol):
    say({"protocol": protocol})
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            say({"result": await answer(client, json.loads(line))})
        except Exception as error:  # every failure is an answer here
            say({"error": f"{type(error).__name__}: {error}"})


def over_http(url):
    token = os.environ.get("WEAVER_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))


def connection(server):
    return over_http(server) if isinstance(server, str) else stdio_client(server)


@contextlib.asynccontextmanager
async def opened(server):
    """The session of the years before 2026, which opens with `initialize`, and its version."""
    async with connection(server) as (reading, writing):
        async with ClientSession(reading, writing, read_timeout_seconds=PATIENCE) as session:
            yield session, (await session.initialize()).protocol_version


async def legacy(server):
    async with opened(server) as (session, protocol):
        await serve(session, protocol)


async def modern(server):
    """The client that asks for the modern era first."""
    server = over_http(server) if isinstance(server, str) else server
    async with Client(server, read_timeout_seconds=PATIENCE) as client:
        await serve(client, client.protocol_version)


class InTurn:
    """Two sessions that are asked in turn."""

    def __init__(self, *sessions):
        self.sessions = list(sessions)

    def next(self):
        self.sessions.append(self.sessions.pop(0))
        return self.sessions[-1]

    async def list_tools(self):
        return await self.next().list_tools()

    async def call_tool(self, name, arguments):
        return await self.next().call_tool(name, arguments)


async def twice(server):
    async with opened(server) as (first, protocol), opened(server) as (second, _):
        await serve(InTurn(first, second), protocol)


def main():
    era, command, *arguments = sys.argv[1:]
    server = command
    if not command.startswith("http://"):
        server = StdioServerParameters(command=command, args=arguments)
    asyncio.run({"legacy": legacy, "modern": modern, "twice": twice}[era](server))


main()
