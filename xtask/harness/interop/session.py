"""Drives an MCP server with the Python SDK: one request a line in, one answer a line out.

Usage: session.py legacy|modern COMMAND [ARGUMENT...]

The first line out is {"protocol": VERSION}. A request is {"method": "tools/list"} or
{"method": "tools/call", "name": NAME, "arguments": OBJECT}; its answer is {"result": RESULT} or
{"error": TEXT}. The session ends when standard input does.
"""

import asyncio
import json
import sys

from mcp import Client, ClientSession, StdioServerParameters, stdio_client

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


async def legacy(server):
    """The session of the years before 2026: it opens with `initialize`."""
    async with stdio_client(server) as (reading, writing):
        async with ClientSession(reading, writing, read_timeout_seconds=PATIENCE) as session:
            opened = await session.initialize()
            await serve(session, opened.protocol_version)


async def modern(server):
    """The client that asks for the modern era first."""
    async with Client(server, read_timeout_seconds=PATIENCE) as client:
        await serve(client, client.protocol_version)


def main():
    era, command, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=command, args=arguments)
    asyncio.run({"legacy": legacy, "modern": modern}[era](server))


main()
