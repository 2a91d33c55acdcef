// The client: operations, cancels, lists, messages.
import { QuellError, Unreachable, errorOf } from "./errors.js";
import { uuid7 } from "./ids.js";
import { Operation } from "./operation.js";
import { Session } from "./session.js";
import { Transport, pause, query } from "./transport.js";

const BATCH = 1000;
const environment = globalThis.process?.env ?? {};
const idOf = (operation) => (operation instanceof Operation ? operation.id : operation);

export class Client {
  /** `url` and `token` default to QUELL_URL and QUELL_TOKEN. `Client.discover()` also looks for a controller on this machine. */
  constructor({ url = environment.QUELL_URL, token = environment.QUELL_TOKEN, leaseMs = 30_000, complain = console.warn, ...transport } = {}) {
    if (!url || !token) throw new Unreachable("no controller is known: give url and token, set QUELL_URL and QUELL_TOKEN, or use Client.discover()");
    this.leaseMs = leaseMs;
    this.complain = complain;
    this.transport = new Transport({ url, token, ...transport });
    this.session = new Session(this.transport, leaseMs);
  }

  /** In Node: QUELL_URL with QUELL_TOKEN or QUELL_TOKEN_FILE, else client.json of a controller on this machine. */
  static async discover(options = {}) {
    const { readFile } = await import("node:fs/promises");
    let { QUELL_URL: url, QUELL_TOKEN: token, QUELL_TOKEN_FILE: file, QUELL_STATE: state, HOME: home = "" } = environment;
    if (!token && file) token = (await readFile(file, "utf8")).trim();
    for (const folder of state ? [state] : [`${home}/.local/state/quell`, "/var/lib/quell"]) {
      if (url && token) break;
      try {
        const found = JSON.parse(await readFile(`${folder}/client.json`, "utf8"));
        url ??= found.url;
        token ??= found.token;
      } catch {
        // the next place
      }
    }
    return new Client({ url, token, ...options });
  }

  /** Hears nothing any more. Operations that still run lose their lease. */
  close() {
    this.session.close();
  }

  // ---- operations
  /** Runs `body(op)` as an operation; resolves with what it returns. */
  async operation(options, body) {
    const scope = options.scope ?? (options.parent ? undefined : environment.QUELL_SCOPE);
    return new Operation(this, { parent: environment.QUELL_OPERATION, ...options, scope }).run(body);
  }

  /** Pending operations, a thousand in one commit; each its own answer, in order. `op.run(body)` starts one, or rejects with `Cancelled`. */
  async registerMany(all) {
    const out = [];
    const made = all.map((options) => new Operation(this, options));
    for (let first = 0; first < made.length; first += BATCH) {
      const part = made.slice(first, first + BATCH);
      part.forEach((operation) => this.session.enter(operation));
      let results;
      try {
        ({ results } = await this.transport.request("POST", "/v1/operations/batch", { operations: part.map((o) => o.body("later")) }));
      } catch (error) {
        part.forEach((operation) => operation.forget());
        throw error;
      }
      results.forEach((item, i) => {
        if (item.error) {
          part[i].forget();
          out.push(errorOf(item.error, item.status));
        } else {
          part[i].record = item.operation;
          part[i].isRegistered = true;
          out.push(part[i]);
        }
      });
    }
    return out;
  }

  /** One pending operation. */
  async register(options) {
    const [one] = await this.registerMany([options]);
    if (one instanceof QuellError) throw one;
    return one;
  }

  /** Ends without `run`: [operation, {complete: {result}} | {fail: {code, message}} | {stopped: {}}]. */
  async endMany(ends) {
    const out = [];
    for (let first = 0; first < ends.length; first += BATCH) {
      const part = ends.slice(first, first + BATCH);
      const items = part.map(([operation, word]) => ({ id: operation.id, ...word }));
      const { results } = await this.transport.request("POST", "/v1/operations/end", { items });
      results.forEach((item, i) => {
        part[i][0].record = item.operation ?? part[i][0].record;
        part[i][0].forget();
        out.push(item);
      });
    }
    return out;
  }

  get(id, { wait, waitMs } = {}) {
    return this.transport.request("GET", `/v1/operations/${encodeURIComponent(id)}${query({ wait, wait_ms: waitMs })}`);
  }
  status() {
    return this.transport.request("GET", "/v1/status");
  }
  list(filters = {}) {
    return this.#pages("/v1/operations", "operations", filters);
  }
  cancels(filters = {}) {
    return this.#pages("/v1/cancels", "cancels", filters);
  }
  messages(scope, filters = {}) {
    return this.#pages("/v1/messages", "messages", { ...filters, scope });
  }

  async *#pages(path, key, filters) {
    let cursor = null;
    do {
      const page = await this.transport.request("GET", path + query({ limit: 1000, ...filters, cursor }));
      yield* page[key];
      cursor = page.next_cursor;
    } while (cursor);
  }

  // ---- cancels
  /** Exactly one target. The cancel with its report; look at `report.proven`. */
  cancel({ operation, scope, owner, everything, reason = "", graceMs, by, upToSeq, dryRun = false, wait = "settled", waitMs = 30_000 }) {
    const body = {
      id: dryRun ? undefined : uuid7(),
      operation: idOf(operation),
      scope,
      owner,
      everything,
      reason,
      grace_ms: graceMs,
      by,
      up_to_seq: upToSeq,
      dry_run: dryRun,
      wait,
      wait_ms: Math.min(waitMs, 60_000),
    };
    return this.transport.request("POST", "/v1/cancels", body);
  }

  // ---- calls that wait for a human
  /** The call may begin; with `input` it runs with that instead of its own. `alwaysMs`: this exact call needs no human for so long. */
  approve(call, { input, reason, by, alwaysMs } = {}) {
    const always = alwaysMs === undefined ? undefined : { for_ms: alwaysMs };
    return this.transport.request("POST", `/v1/operations/${encodeURIComponent(idOf(call))}/approve`, { input, reason, by, always });
  }
  /** The call does not begin; its model reads the reason. */
  deny(call, { reason, by } = {}) {
    return this.transport.request("POST", `/v1/operations/${encodeURIComponent(idOf(call))}/deny`, { reason, by });
  }

  // ---- messages and events
  /** Yields {event, data} of what follows: `message_decided` first. Leaving the loop early hangs up, which cancels the turn unless on_disconnect is "continue". */
  async *say({ signal, ...message }) {
    yield* this.transport.stream("POST", "/v1/messages", message, { signal });
  }

  /** Events as they come, for ever; a lost connection is made anew behind the last event seen. Watching never cancels. */
  async *events({ operation, after, signal, ...filters } = {}) {
    const path = operation ? `/v1/operations/${idOf(operation)}/events` : "/v1/events";
    let wait = 100;
    let lostAt = performance.now();
    while (!signal?.aborted) {
      try {
        const opened = () => (wait = 100);
        for await (const { data } of this.transport.stream("GET", path + query({ ...filters, after }), undefined, { signal, opened })) {
          after = data.id;
          yield data;
          lostAt = performance.now();
        }
        lostAt = performance.now();
      } catch (error) {
        if (error instanceof QuellError ? error.status !== 503 : performance.now() - lostAt > this.transport.patienceMs) throw error;
      }
      await pause(wait, signal);
      wait = Math.min(wait * 2, 1000);
    }
  }
}
