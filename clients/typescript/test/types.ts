// Compiled (never run) by tests/system/test_client_typescript.py: the types allow what docs/clients.md shows, and refuse mistakes.
import { Cancelled, Client, Operation, QuellError } from "../src/index.js";

export async function use(): Promise<number> {
  const client = new Client({ url: "http://127.0.0.1:7710", token: "t", leaseMs: 1000 });
  const length: number = await client.operation({ name: "x", scope: "a" }, async (op: Operation) => {
    const answer = await fetch("http://example/", { signal: op.signal });
    await op.operation({ name: "child" }, () => op.throwIfCancelled());
    return (await answer.text()).length;
  });
  const made = await client.registerMany([{ name: "y" }]);
  for (const one of made) if (!(one instanceof QuellError)) await one.run(() => 1);
  for await (const row of client.list({ scope: "a" })) row.status satisfies string;
  for await (const { event } of client.say({ scope: "a", text: "hi", author: { id: "u" } })) event.toUpperCase();
  try {
    const { report } = await client.cancel({ scope: "a", reason: "r" });
    return report.operations + length;
  } catch (error) {
    if (error instanceof Cancelled) return error.reason.length;
    throw error;
  }
}

// @ts-expect-error a name is needed
void new Client().operation({ scope: "a" }, () => 1);
