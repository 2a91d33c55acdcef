// The client with a real controller at QUELL_URL: every end of an operation, and every way in which a cancel can reach one.
import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";
import { after, test } from "node:test";
import { AlreadyTerminal, Cancelled, Client, Conflict, Invalid, NotFound, Unauthenticated, Unreachable } from "../src/index.js";

const client = new Client({ leaseMs: 10_000 });
after(() => client.close());

const stored = (op) => client.get(op.id);
/** Resolves when the signal is aborted, as an API that takes one would reject. */
const untilAborted = (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

async function terminalEvents(op) {
  const events = [];
  for (let after = "0"; after !== null; ) { // a page may end early, when its time is over
    const page = await client.transport.request("GET", `/v1/operations/${op.id}/events?after=${after}`);
    events.push(...page.events);
    after = page.next_cursor;
  }
  return events.filter((e) => e.operation === op.id && /^operation_(completed|failed|cancelled)$/.test(e.type)).map((e) => e.type);
}

test("a body that returns is completed with its result", async () => {
  let op;
  const result = await client.operation({ name: "callLLM", scope: "ts/done", labels: { pr: "1" } }, async (o) => {
    op = o;
    assert.equal((await stored(o)).status, "running");
    await o.heartbeat();
    o.throwIfCancelled();
    return { tokens: 42 };
  });
  assert.deepEqual(result, { tokens: 42 });
  const record = await stored(op);
  assert.equal(record.status, "completed");
  assert.deepEqual(record.result, { tokens: 42 });
  assert.equal(op.status, "completed");
});

test("an exception is a failure and goes on", async () => {
  let op;
  const body = (o) => {
    op = o;
    throw new TypeError("no such model");
  };
  await assert.rejects(client.operation({ name: "x", scope: "ts/raise" }, body), /no such model/);
  assert.deepEqual((await stored(op)).error, { code: "error", message: "TypeError: no such model" });
});

test("operations inside each other are children, and a cancel of the outer one reaches both", async () => {
  const seen = {};
  const outer = client.operation({ name: "agent", scope: "ts/tree" }, async (agent) => {
    seen.agent = agent;
    await agent.operation({ name: "tool" }, async (tool) => {
      seen.tool = tool;
      queueMicrotask(() => client.cancel({ operation: agent, reason: "enough", wait: "fenced" }));
      await untilAborted(tool.signal);
    });
  });
  await assert.rejects(outer, (e) => e instanceof Cancelled && e.reason === "enough");
  const tool = await stored(seen.tool);
  assert.equal(tool.parent, seen.agent.id);
  assert.equal(tool.status, "cancelled");
  assert.equal((await client.get(seen.agent.id, { wait: "ended", waitMs: 60_000 })).status, "cancelled");
});

test("a cancel aborts a fetch that was given the signal", async () => {
  let hungUp = false;
  const slow = http.createServer((request, response) => {
    response.writeHead(200);
    response.write("begin");
    response.on("close", () => (hungUp = true));
  });
  slow.listen(0, "127.0.0.1");
  await once(slow, "listening");
  try {
    const call = client.operation({ name: "fetch", scope: "ts/fetch" }, async (op) => {
      const answer = await fetch(`http://127.0.0.1:${slow.address().port}/`, { signal: op.signal });
      setTimeout(() => client.cancel({ scope: "ts/fetch", reason: "stop" }), 0);
      return await answer.text();
    });
    await assert.rejects(call, (e) => e instanceof Cancelled && e.reason === "stop" && e.started);
    const [op] = await collect(client.list({ scope: "ts/fetch" }));
    assert.equal(op.status, "cancelled");
    assert.equal(op.stop.receipt, "cooperative");
    assert.equal(op.stop.proof, "reported");
    while (!hungUp) await new Promise((done) => setImmediate(done));
  } finally {
    slow.closeAllConnections();
    slow.close();
  }
});

async function collect(all) {
  const out = [];
  for await (const one of all) out.push(one);
  return out;
}

test("a stale start rejects and never runs the body", async () => {
  let ran = 0;
  const [a, b] = await client.registerMany([{ name: "queued", scope: "ts/queue" }, { name: "queued", scope: "ts/queue" }]);
  const { seq } = await client.status();
  await client.cancel({ scope: "ts/queue", reason: "queue cleared" });
  for (const op of [a, b]) {
    await assert.rejects(op.run(() => ++ran), (e) => e instanceof Cancelled && !e.started && e.reason === "queue cleared");
    assert.equal((await stored(op)).stop.receipt, "never_started");
    assert.ok(op.signal.aborted);
  }
  const old = client.operation({ name: "decided before", scope: "ts/queue", as_of_seq: seq }, () => ++ran);
  await assert.rejects(old, (e) => e instanceof Cancelled && !e.started);
  assert.equal(ran, 0);
  assert.equal(await client.operation({ name: "after", scope: "ts/queue" }, () => ++ran), 1);
});

test("an operation with a shorter lease than the others is kept alive", async () => {
  const patient = new Client({ leaseMs: 90_000 });
  try {
    let op;
    await patient.operation({ name: "short", scope: "ts/lease", leaseMs: 10_000 }, async (o) => {
      op = o;
      const end = performance.now() + 13_000;
      while (performance.now() < end && !o.cancelled) await new Promise((done) => setTimeout(done, 10));
    });
    assert.equal((await stored(op)).status, "completed");
  } finally {
    patient.close();
  }
});

test("batches register and end", async () => {
  const made = await client.registerMany([...Array.from({ length: 1200 }, (_, i) => ({ name: `b${i}`, scope: "ts/batch" })), { name: "bad", scope: "a//b" }]);
  assert.ok(made.at(-1) instanceof Invalid);
  await Promise.all(made.slice(0, 3).map((op) => op.begin()));
  const answers = await client.endMany([[made[0], { complete: { result: 1 } }], [made[1], { fail: { code: "error", message: "no" } }], [made[2], { stopped: {} }]]);
  assert.deepEqual(answers.map((a) => a.status), [200, 200, 409]);
  assert.equal((await stored(made[0])).result, 1);
  const done = await client.cancel({ scope: "ts/batch", graceMs: 0 });
  assert.equal(done.report.operations, 1198);
  for (const op of made.slice(0, -1)) op.forget();
});

test("200 operations share one signal stream", async () => {
  const streams = [];
  const counting = new Client({
    leaseMs: 10_000,
    fetch: (url, options) => {
      if (String(url).includes("/v1/signals")) streams.push(url);
      return fetch(url, options);
    },
  });
  try {
    let running = 0;
    const all = Array.from({ length: 200 }, (_, i) =>
      counting
        .operation({ name: "many", scope: `ts/many/${i % 10}` }, async (op) => {
          if (++running === 200) counting.cancel({ scope: "ts/many", wait: "fenced", graceMs: 60_000 });
          await untilAborted(op.signal);
        })
        .then(() => "returned", (e) => (e instanceof Cancelled ? "cancelled" : e)),
    );
    const ends = await Promise.all(all);
    assert.deepEqual(new Set(ends), new Set(["cancelled"]));
    assert.equal(streams.length, 1);
  } finally {
    counting.close();
  }
});

test("a cancel that races an end leaves one terminal status that both sides agree on", async () => {
  const race = async (i) => {
    let op;
    let cancelled = false;
    const body = async (o) => {
      op = o;
      client.cancel({ operation: o, wait: "fenced" });
      const end = performance.now() + (i % 20);
      while (performance.now() < end) await new Promise((done) => setImmediate(done)).then(() => o.throwIfCancelled());
    };
    try {
      await client.operation({ name: "race", scope: `ts/race/${i}`, grace_ms: 60_000 }, body);
    } catch (e) {
      assert.ok(e instanceof Cancelled, e);
      cancelled = true;
    }
    return { op, cancelled };
  };
  for (const { op, cancelled } of await Promise.all(Array.from({ length: 100 }, (_, i) => race(i)))) {
    const record = await client.get(op.id, { wait: "ended", waitMs: 60_000 });
    assert.equal(record.status, cancelled ? "cancelled" : "completed");
    assert.equal(op.status, record.status);
    assert.equal((await terminalEvents(op)).length, 1);
  }
});

test("errors are types with the fields of the problem", async () => {
  await assert.rejects(client.operation({ name: "x", scope: "a//b" }, () => 1), (e) => e instanceof Invalid && e.code === "bad_scope" && e.errors.length > 0);
  await assert.rejects(client.get("01a1f869-3df9-7303-8207-dde70bee07dd"), NotFound);
  await assert.rejects(new Client({ token: "wrong" }).status(), Unauthenticated);
  await assert.rejects(new Client({ url: "http://127.0.0.1:1", token: "x", patienceMs: 200 }).status(), Unreachable);
  let op;
  await client.operation({ name: "done", scope: "ts/errors" }, (o) => void (op = o));
  await assert.rejects(client.transport.request("POST", `/v1/operations/${op.id}/stopped`, {}), (e) => e instanceof AlreadyTerminal && e.operation.status === "completed");
  await assert.rejects(client.operation({ name: "other", scope: "ts/errors", id: op.id }, () => 1), Conflict);
});

test("events go on behind the last one seen", async () => {
  let op;
  await client.operation({ name: "watched", scope: "ts/watch" }, (o) => void (op = o));
  const seen = [];
  for await (const event of client.events({ operation: op, after: "0" })) {
    seen.push(event.type);
    if (event.type === "operation_completed") break;
  }
  assert.equal(seen[0], "operation_created");
});
