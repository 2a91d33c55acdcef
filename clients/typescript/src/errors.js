// What can go wrong; each error carries the fields of the problem document (RFC 9457).

export class QuellError extends Error {
  /** @param {any} problem @param {number | null} retryAfter seconds */
  constructor(problem, retryAfter = null) {
    const fields = (problem.errors ?? []).map((e) => `${e.pointer ?? ""} ${e.message ?? ""}`.trim()).join("; ");
    super(`${problem.code}: ${problem.detail ?? problem.title ?? ""}` + (fields ? ` (${fields})` : ""));
    this.name = new.target.name;
    this.problem = problem;
    this.status = problem.status ?? 0;
    this.code = problem.code ?? "";
    this.title = problem.title ?? "";
    this.detail = problem.detail ?? "";
    this.errors = problem.errors ?? [];
    this.cancel = problem.cancel ?? null;
    this.operation = problem.operation ?? null;
    this.request = problem.request ?? null;
    this.retryAfter = retryAfter;
  }
}

export class Unauthenticated extends QuellError {}
export class Forbidden extends QuellError {}
export class NotFound extends QuellError {}
export class Conflict extends QuellError {}
/** The operation has ended otherwise; `operation` is how. */
export class AlreadyTerminal extends Conflict {}
export class Invalid extends QuellError {}
export class TooMany extends QuellError {}
export class ServerError extends QuellError {}

/** No answer within the client's patience. */
export class Unreachable extends QuellError {
  constructor(detail) {
    super({ code: "unreachable", title: "The controller does not answer", detail });
  }
}

/** The operation was cancelled: unwind and do not try again. The `reason` of the operation's AbortSignal. */
export class Cancelled extends Error {
  constructor(operation, signal = null, started = true) {
    const cancel = signal?.cancel ?? {};
    const what = started ? "was cancelled" : "was cancelled before it started";
    super(`operation ${operation} ${what}` + (cancel.reason ? `: ${cancel.reason}` : ""));
    this.name = "Cancelled";
    this.operation = operation;
    this.started = started;
    this.cancel = cancel.id ?? null;
    this.stopCause = cancel.cause ?? "cancel";
    this.reason = cancel.reason ?? "";
    this.by = cancel.by ?? null;
  }
}

const byStatus = { 401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 429: TooMany };

export function errorOf(problem, status, retryAfter = null) {
  problem.status ??= status;
  const kind = problem.code === "already_terminal" ? AlreadyTerminal : (byStatus[status] ?? (status >= 500 ? ServerError : Invalid));
  return new kind(problem, retryAfter);
}
