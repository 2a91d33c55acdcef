// Types of @quell/client.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Status = "pending" | "running" | "paused" | "cancelling" | "completed" | "failed" | "cancelled";
export interface Person {
  id: string;
  name?: string;
}
export interface Stop {
  operation: string;
  kind?: string;
  name?: string;
  labels?: { [key: string]: string };
  cancel: { id?: string | null; cause?: string; reason?: string; by?: Person | null };
  grace_ms?: number;
  kill_at?: string | null;
}
/** An operation as the API shows it; responses may grow. */
export interface OperationRecord {
  id: string;
  seq: number;
  kind: string;
  name: string;
  scope: string;
  parent: string | null;
  root: string;
  owner: Person;
  status: Status;
  result: Json;
  error: { code: string; message: string } | null;
  [field: string]: unknown;
}
export interface CancelRecord {
  id: string | null;
  seq: number | null;
  outcome: "stopping" | "nothing_live" | "already_finished" | "joined" | "unknown_id";
  status: "fenced" | "signalled" | "settled" | null;
  report: {
    operations: number;
    receipts: Record<string, number>;
    proofs: Record<string, number>;
    unproven_total: number;
    unproven: { [field: string]: unknown }[];
    fenced_ms: number | null;
    signalled_ms: number | null;
    settled_ms: number | null;
    proven: boolean;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

export interface OperationOptions {
  name: string;
  scope?: string;
  /** Default: QUELL_OPERATION, so that what runs in a task is the task's. null: a new root. */
  parent?: Operation | string | null;
  /** A UUIDv7; made here otherwise. */
  id?: string;
  title?: string;
  labels?: Record<string, string>;
  timeout_ms?: number;
  grace_ms?: number;
  on_parent_end?: "cancel" | "wait" | "detach";
  supersede?: string;
  /** For callers with a queue of their own: the seq given when this work was decided. */
  as_of_seq?: number;
  owner?: Person;
  leaseMs?: number;
}

export class Operation {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  /** Aborted when the operation is to stop; its `reason` is a `Cancelled`. */
  readonly signal: AbortSignal;
  readonly cancelled: boolean;
  readonly status: Status | null;
  readonly record: OperationRecord | null;
  readonly stop: Stop | null;
  throwIfCancelled(): void;
  heartbeat(): Promise<void>;
  /** A child of this one. */
  operation<T>(options: OperationOptions, body: (op: Operation) => Promise<T> | T): Promise<T>;
  /** Of a registered one: starts it and runs the body as it. */
  run<T>(body: (op: Operation) => Promise<T> | T): Promise<T>;
}

export interface ClientOptions {
  url?: string;
  token?: string;
  /** An operation whose owner is silent for that long fails as `heartbeat_lost`; at least 1000, 0 = never. */
  leaseMs?: number;
  timeoutMs?: number;
  /** For that long a request is repeated while the controller does not answer. */
  patienceMs?: number;
  fetch?: typeof fetch;
  complain?: (sentence: string) => void;
}

export type End = { complete: { result?: Json } } | { fail: { code?: string; message?: string } } | { stopped: Record<string, never> };
export interface BatchAnswer {
  status: number;
  operation: OperationRecord | null;
  error: { [field: string]: unknown } | null;
}

export class Client {
  constructor(options?: ClientOptions);
  static discover(options?: ClientOptions): Promise<Client>;
  close(): void;
  operation<T>(options: OperationOptions, body: (op: Operation) => Promise<T> | T): Promise<T>;
  register(options: OperationOptions): Promise<Operation>;
  registerMany(all: OperationOptions[]): Promise<(Operation | QuellError)[]>;
  endMany(ends: [Operation, End][]): Promise<BatchAnswer[]>;
  get(id: string, options?: { wait?: "ended"; waitMs?: number }): Promise<OperationRecord>;
  status(): Promise<{ seq: number; [field: string]: unknown }>;
  list(filters?: Record<string, unknown>): AsyncGenerator<OperationRecord>;
  cancels(filters?: Record<string, unknown>): AsyncGenerator<CancelRecord>;
  messages(scope: string, filters?: Record<string, unknown>): AsyncGenerator<{ [field: string]: unknown }>;
  cancel(target: {
    operation?: Operation | string;
    scope?: string;
    owner?: string;
    everything?: boolean;
    reason?: string;
    graceMs?: number;
    by?: Person;
    upToSeq?: number;
    dryRun?: boolean;
    wait?: "fenced" | "signalled" | "settled";
    waitMs?: number;
  }): Promise<CancelRecord>;
  approve(call: Operation | string, options?: { input?: { [field: string]: Json }; reason?: string; by?: Person; alwaysMs?: number }): Promise<OperationRecord>;
  deny(call: Operation | string, options?: { reason?: string; by?: Person }): Promise<OperationRecord>;
  say(message: {
    scope: string;
    text: string;
    author: Person;
    id?: string;
    on_disconnect?: "cancel" | "continue";
    during_turn?: "queue" | "steer" | "supersede" | "answer";
    agent?: string;
    /** Another of the agent's models, fewer of its tools, and the operation that the turn hangs below. */
    model?: string;
    tools?: string[];
    parent?: string;
    labels?: Record<string, string>;
    timeout_ms?: number;
    signal?: AbortSignal;
    [field: string]: unknown;
  }): AsyncGenerator<{ event: string; data: any; id: string | null }>;
  events(options?: { operation?: Operation | string; after?: string; signal?: AbortSignal; [filter: string]: unknown }): AsyncGenerator<{
    id: string;
    type: string;
    [field: string]: unknown;
  }>;
}

export class QuellError extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: { pointer: string; message: string }[];
  readonly cancel: { [field: string]: unknown } | null;
  readonly operation: OperationRecord | string | null;
  readonly request: string | null;
  readonly retryAfter: number | null;
}
export class Unauthenticated extends QuellError {}
export class Forbidden extends QuellError {}
export class NotFound extends QuellError {}
export class Conflict extends QuellError {}
export class AlreadyTerminal extends Conflict {}
export class Invalid extends QuellError {}
export class TooMany extends QuellError {}
export class ServerError extends QuellError {}
export class Unreachable extends QuellError {}
/** The operation was cancelled: unwind and do not try again. */
export class Cancelled extends Error {
  readonly operation: string;
  /** False: it was cancelled before it started, and the body never ran. */
  readonly started: boolean;
  readonly cancel: string | null;
  readonly stopCause: string;
  readonly reason: string;
  readonly by: Person | null;
}
