// HTTP to the controller with fetch alone: repeating what may be repeated, and reading server-sent events.
import { QuellError, Unreachable, errorOf } from "./errors.js";

export const pause = (ms, signal) =>
  new Promise((done) => {
    if (signal?.aborted) return done();
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      done();
    };
    const timer = setTimeout(over, ms);
    signal?.addEventListener("abort", over, { once: true });
  });

export function query(parameters) {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null) given.append(key, String(one));
  const text = given.toString();
  return text ? "?" + text : "";
}

export class Transport {
  constructor({ url, token, timeoutMs = 90_000, patienceMs = 30_000, fetch = globalThis.fetch }) {
    this.url = String(url).replace(/\/+$/, "");
    this.token = token;
    this.timeoutMs = timeoutMs;
    this.patienceMs = patienceMs;
    this.fetch = (...all) => fetch(...all);
  }

  headers(accept) {
    return { Authorization: `Bearer ${this.token}`, Accept: accept, "Content-Type": "application/json" };
  }

  /**
   * The answer's JSON, null for 204. Everything that this client sends may be done twice (it is a GET or carries an id that was chosen
   * here), so a lost answer, a controller that restarts and a 503 are waited out.
   */
  async request(method, path, body, { patienceMs = this.patienceMs } = {}) {
    const deadline = performance.now() + patienceMs;
    let wait = 50;
    while (true) {
      try {
        const answer = await this.fetch(this.url + path, {
          method,
          headers: this.headers("application/json"),
          body: body === undefined ? undefined : JSON.stringify(body),
          signal: AbortSignal.timeout(this.timeoutMs),
        });
        return await this.read(answer);
      } catch (error) {
        if (error instanceof QuellError) {
          // 429 and 503 say that nothing was done.
          const ms = Math.max(wait, (error.retryAfter ?? 0) * 1000);
          if ((error.status !== 429 && error.status !== 503) || performance.now() + ms >= deadline) throw error;
          wait = Math.min(ms, 5000);
        } else if (performance.now() + wait >= deadline) {
          throw new Unreachable(`${method} ${path} at ${this.url}: ${error.cause?.message ?? error.message}`);
        }
      }
      await pause(wait);
      wait = Math.min(wait * 2, 1000);
    }
  }

  async read(answer) {
    const text = await answer.text();
    if (answer.ok) return text ? JSON.parse(text) : null;
    let problem = null;
    try {
      problem = JSON.parse(text);
    } catch {
      // no problem document: something between us and the controller answered
    }
    if (problem === null || typeof problem !== "object")
      problem = { code: answer.status >= 500 ? "internal" : "bad_request", detail: text.slice(0, 500) };
    const after = Number(answer.headers.get("retry-after"));
    throw errorOf(problem, answer.status, Number.isFinite(after) && after > 0 ? after : null);
  }

  /** Yields {event, data, id}. The server says something every 15 s; `silenceMs` without a byte are a lost connection. */
  async *stream(method, path, body, { signal, silenceMs = 45_000, opened } = {}) {
    const hangUp = new AbortController();
    const over = () => hangUp.abort();
    signal?.addEventListener("abort", over, { once: true });
    if (signal?.aborted) hangUp.abort();
    let watchdog = setTimeout(over, silenceMs);
    try {
      const answer = await this.fetch(this.url + path, {
        method,
        headers: this.headers("text/event-stream"),
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: hangUp.signal,
      });
      if (!answer.ok || !(answer.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
        await this.read(answer);
        throw new Unreachable(`${path} answered ${answer.status} and no event stream`);
      }
      opened?.();
      const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      let event = { event: "message", data: [], id: null };
      while (true) {
        const { value, done } = await text.read();
        if (done) return;
        clearTimeout(watchdog);
        watchdog = setTimeout(over, silenceMs);
        const lines = (rest + value).split(/\r?\n/);
        rest = lines.pop();
        for (const line of lines) {
          if (line === "") {
            if (event.data.length) yield { event: event.event, data: JSON.parse(event.data.join("\n")), id: event.id };
            event = { event: "message", data: [], id: event.id };
            continue;
          }
          const colon = line.indexOf(":");
          const field = colon < 0 ? line : line.slice(0, colon);
          const said = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
          if (field === "event") event.event = said;
          else if (field === "data") event.data.push(said);
          else if (field === "id") event.id = said;
        }
      }
    } finally {
      clearTimeout(watchdog);
      signal?.removeEventListener("abort", over);
      hangUp.abort();
    }
  }
}
