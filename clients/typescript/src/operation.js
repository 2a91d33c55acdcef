// One external operation: registered, told of its stop through an AbortSignal, ended.
//
// Who won is decided where the work is: a body that returns normally is reported complete even if a cancel came meanwhile (the
// controller keeps that as `already_finished`); one that throws because of the cancel is reported stopped.
import { AlreadyTerminal, Cancelled, QuellError } from "./errors.js";
import { uuid7 } from "./ids.js";
import { pause } from "./transport.js";

const LIVE = ["running", "paused"];

export class Operation {
  #client;
  #fields;
  #stop = new AbortController();
  #over = false;

  constructor(client, { name, parent, id, leaseMs, ...fields }) {
    this.#client = client;
    this.#fields = fields;
    this.name = name;
    this.leaseMs = leaseMs ?? client.leaseMs;
    this.id = id ?? uuid7();
    this.parent = parent instanceof Operation ? parent.id : (parent ?? null);
    this.isRegistered = false;
    this.record = null;
    this.stop = null;
  }

  /** Aborted when the operation is to stop; its `reason` is a `Cancelled`. */
  get signal() {
    return this.#stop.signal;
  }
  get cancelled() {
    return this.#stop.signal.aborted;
  }
  get status() {
    return this.record?.status ?? null;
  }
  throwIfCancelled() {
    this.#stop.signal.throwIfAborted();
  }
  /** Asks the controller now. Not needed for the lease: the client beats by itself. */
  async heartbeat() {
    await this.#client.session.beatNow();
    this.throwIfCancelled();
  }
  /** A child of this one. */
  operation(options, body) {
    return this.#client.operation({ parent: this, ...options }, body);
  }

  told(stop) {
    if (this.#over) return;
    this.stop = stop; // a second one may only bring the kill nearer
    if (!this.cancelled) this.#stop.abort(new Cancelled(this.id, stop));
  }
  /** The controller says that it is over: its lease ran out, or it was settled without us. */
  lost() {
    this.told({ operation: this.id, cancel: { cause: "worker_lost", reason: "the controller has ended it: it was out of contact too long" } });
  }

  body(start) {
    const given = Object.fromEntries(Object.entries(this.#fields).filter(([, value]) => value !== undefined && value !== null));
    const external = { lease_ms: this.leaseMs, session: this.#client.session.name, start };
    return { id: this.id, kind: "external", name: this.name, parent: this.parent, external, ...given };
  }

  forget() {
    this.#over = true;
    this.#client.session.leave(this);
  }

  async begin() {
    const { transport, session } = this.#client;
    try {
      if (!this.isRegistered) {
        session.enter(this);
        this.record = await transport.request("POST", "/v1/operations", this.body("now"));
        this.isRegistered = true;
      }
      while (this.record.status === "pending") {
        try {
          this.record = await transport.request("POST", `/v1/operations/${this.id}/start`, {});
        } catch (error) {
          if (!(error instanceof QuellError) || error.code !== "not_started") throw error;
          await pause(100, this.signal); // it waits for the end of what it supersedes
        }
      }
      // Stopped while the answer was lost.
      if (!LIVE.includes(this.record.status)) this.told({ operation: this.id, cancel: { ...this.record.stop, id: this.record.stop?.cancel } });
    } catch (error) {
      this.forget();
      if (error instanceof QuellError && error.code === "stale_start") {
        const cancelled = new Cancelled(this.id, { cancel: error.cancel }, false);
        this.#stop.abort(cancelled);
        throw cancelled;
      }
      throw error;
    }
  }

  /** Runs the body as this operation; what it returns (any JSON) is the result. Rejects with `Cancelled`, then the body never ran or was stopped. */
  async run(body) {
    await this.begin();
    let result;
    try {
      result = await body(this);
    } catch (error) {
      await this.#unwound(error);
      const byOurSignal = this.cancelled && (error?.name === "AbortError" || error === this.signal.reason);
      throw byOurSignal ? this.signal.reason : error;
    }
    try {
      await this.#report("complete", { result: result ?? null });
    } finally {
      this.forget();
    }
    return result;
  }

  async #unwound(error) {
    try {
      if (this.cancelled && (error instanceof Cancelled || error?.name === "AbortError")) await this.#report("stopped", {});
      else await this.#report("fail", { code: "error", message: `${error?.name ?? "Error"}: ${error?.message ?? error}`.slice(0, 4000) });
    } catch (problem) {
      // AlreadyTerminal: ended without us meanwhile; `record` says how, and the body's own error goes on.
      if (!(problem instanceof AlreadyTerminal)) this.#client.complain(`the end of ${this.name} ${this.id} was not reported: ${problem.message}`);
    } finally {
      this.forget();
    }
  }

  async #report(word, body) {
    try {
      this.record = await this.#client.transport.request("POST", `/v1/operations/${this.id}/${word}`, body);
    } catch (error) {
      if (error instanceof AlreadyTerminal) {
        if (error.operation && typeof error.operation === "object") this.record = error.operation;
        const stop = this.record?.stop;
        // Our work was too late: what the store says holds.
        if (word === "complete" && this.status === "cancelled")
          throw new Cancelled(this.id, this.stop ?? { cancel: stop && { ...stop, id: stop.cancel } });
      } else if (error instanceof QuellError && word === "stopped" && error.code === "not_cancelling") {
        return this.#report("fail", { code: "error", message: "its owner stopped working on it" });
      }
      throw error;
    }
  }
}
