// The tasks of the fixture: calls that go on after they were answered (the extension to 2026-07-28).

import { randomUUID } from "node:crypto";
import { RpcError } from "./rpc_error.mjs";

export const EXTENSION = "io.modelcontextprotocol/tasks";
const LIFETIME_MS = 600_000;
const POLL_INTERVAL_MS = 100;
const tasks = new Map();

function declares(x) {
  const meta = x.message.params._meta ?? {};
  const declared = meta["io.modelcontextprotocol/clientCapabilities"]?.extensions?.[EXTENSION];
  return x.modern && declared !== undefined;
}

function requireTasks(x) {
  if (declares(x)) return;
  const requiredCapabilities = { extensions: { [EXTENSION]: {} } };
  throw new RpcError(-32021, "Missing required client capability", { requiredCapabilities });
}

class Task {
  constructor() {
    Object.assign(this, {
      taskId: randomUUID(), status: "working", createdAt: new Date().toISOString(),
      asked: new Map(), over: new AbortController(),
    });
    this.set({});
  }

  set(changes) {
    Object.assign(this, changes, { lastUpdatedAt: new Date().toISOString() });
  }

  get seed() {
    const { taskId, status, createdAt, lastUpdatedAt } = this;
    return { taskId, status, createdAt, lastUpdatedAt, ttlMs: LIFETIME_MS, pollIntervalMs: POLL_INTERVAL_MS };
  }

  get detailed() {
    const { result, error, asked } = this;
    const inputRequests = Object.fromEntries([...asked].map(([key, { request }]) => [key, request]));
    return { ...this.seed, ...(result && { result }), ...(error && { error }), ...(asked.size > 0 && { inputRequests }) };
  }

  // Waits for some time, or until the task is cancelled.
  pause(ms) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      this.over.signal.addEventListener("abort", () => (clearTimeout(timer), reject(new Error("cancelled"))));
    });
  }

  // Asks the client, and waits for its answer.
  ask(request) {
    return new Promise((resolve) => {
      this.asked.set(randomUUID(), { request, resolve });
      this.set({ status: "input_required" });
    });
  }

  answer(responses) {
    for (const [key, response] of Object.entries(responses)) {
      this.asked.get(key)?.resolve(response);
      this.asked.delete(key);
    }
    if (this.status === "input_required" && this.asked.size === 0) this.set({ status: "working" });
  }

  end(changes) {
    if (["completed", "failed", "cancelled"].includes(this.status)) return;
    this.asked.clear();
    this.set(changes);
    this.over.abort();
  }
}

// Begins a task for clients that know tasks. For others the work is done before the answer, unless it
// needs a task.
export async function begin(x, work, { required = false } = {}) {
  if (required) requireTasks(x);
  const task = new Task();
  if (!declares(x)) return work(task);
  tasks.set(task.taskId, task);
  work(task).then(
    (result) => task.end({ status: "completed", result: { resultType: "complete", ...result } }),
    (error) => task.end({ status: "failed", error: (error instanceof RpcError ? error : new RpcError(-32603, error.message)).body }),
  );
  return { ...task.seed, resultType: "task" };
}

function find(x) {
  requireTasks(x);
  const task = tasks.get(x.message.params.taskId);
  if (!task) throw new RpcError(-32602, "Task not found");
  return task;
}

export const methods = {
  "tasks/get": (x) => find(x).detailed,
  "tasks/update": (x) => (find(x).answer(x.message.params.inputResponses ?? {}), {}),
  "tasks/cancel": (x) => (find(x).end({ status: "cancelled" }), {}),
};
