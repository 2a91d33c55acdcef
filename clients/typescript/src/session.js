// What all operations of one client share: one stream that hears their stops, and one heartbeat for all of them. Both outlive a
// controller that is restarted. They run while there are operations, so that a program can end.
import { pause } from "./transport.js";
import { randomHex } from "./ids.js";

const BATCH = 1000;
const LINGER_MS = 500;

export class Session {
  constructor(transport, leaseMs) {
    this.transport = transport;
    this.leaseMs = leaseMs || 30_000;
    this.name = `js-${randomHex(12)}`;
    this.operations = new Map();
    this.running = this.beating = null;
    this.lingering = null;
  }

  /** Before the operation is created: so no signal can come for an unknown one. */
  enter(operation) {
    this.operations.set(operation.id, operation);
    clearTimeout(this.lingering);
    if (!this.running) {
      this.running = new AbortController();
      this.listen(this.running.signal);
      this.restartBeat();
    }
    if (operation.leaseMs > 0 && operation.leaseMs < this.leaseMs) {
      this.leaseMs = operation.leaseMs; // the shortest lease of all sets the pace
      this.restartBeat();
    }
  }

  leave(operation) {
    this.operations.delete(operation.id);
    clearTimeout(this.lingering);
    if (this.operations.size === 0) this.lingering = setTimeout(() => this.close(), LINGER_MS);
  }

  restartBeat() {
    this.beating?.abort();
    this.beating = new AbortController();
    this.beat(AbortSignal.any([this.running.signal, this.beating.signal]));
  }

  close() {
    clearTimeout(this.lingering);
    this.running?.abort();
    this.running = null;
  }

  tell(signal) {
    this.operations.get(signal.operation)?.told(signal);
  }

  /** Heartbeats of everything that lives here; what is told to stop is told so before this resolves. */
  async beatNow() {
    const live = [...this.operations.values()].filter((o) => o.isRegistered);
    for (let first = 0; first < live.length; first += BATCH) {
      const ids = live.slice(first, first + BATCH).map((o) => o.id);
      for (let cursor = null; cursor !== undefined; ) { // more can be to stop than one answer has room for
        const body = cursor === null ? { ids } : { ids, cursor };
        const answer = await this.transport.request("POST", "/v1/operations/heartbeat", body, { patienceMs: this.leaseMs / 3 });
        for (const signal of answer.cancels) this.tell(signal);
        for (const id of answer.unknown) this.operations.get(id)?.lost();
        cursor = answer.next_cursor ?? undefined;
      }
    }
  }

  async beat(signal) {
    const every = this.leaseMs / 3;
    let wait = every;
    while (!signal.aborted) {
      await pause(wait, signal);
      if (signal.aborted) return;
      wait = every;
      try {
        await this.beatNow();
      } catch {
        wait = Math.min(every, 1000); // the lease still runs: try again soon
      }
    }
  }

  async listen(signal) {
    let wait = 100;
    const path = `/v1/signals?session=${encodeURIComponent(this.name)}`;
    while (!signal.aborted) {
      try {
        // It begins with all that is being stopped now, so a reconnect misses nothing.
        for await (const said of this.transport.stream("GET", path, undefined, { signal, opened: () => (wait = 100) }))
          if (said.event === "cancel") this.tell(said.data);
      } catch {
        // the heartbeat hears stops, too, until the stream is back
      }
      await pause(wait, signal);
      wait = Math.min(wait * 2, 1000);
    }
  }
}
