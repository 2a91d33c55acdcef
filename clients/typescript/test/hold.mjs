// For tests: holds one operation until it is cancelled. usage: hold.mjs SCOPE LEASE_MS. Prints its id, then how it ended.
import { Cancelled, Client } from "../src/index.js";

const [scope, leaseMs] = process.argv.slice(2);
const client = new Client({ leaseMs: Number(leaseMs) });
try {
  await client.operation({ name: "held", scope }, async (op) => {
    console.log(op.id);
    await new Promise((_, reject) => {
      const timer = setTimeout(() => reject(new Error("nobody cancelled it")), 600_000);
      op.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(op.signal.reason);
      });
    });
  });
} catch (error) {
  console.log(error instanceof Cancelled ? `cancelled: ${error.reason}` : `failed: ${error}`);
}
