// Shapes of the API for tests, with what does not matter filled in.
import type { ApiEvent, Cancel, Operation, Report, Status, Worker } from '../src/api/types.ts';

let seq = 0;

export function operation(id: string, more: Partial<Operation> = {}): Operation {
  return {
    id, seq: ++seq, kind: 'task', name: 'sh', title: id, scope: 's', parent: null, root: id, owner: { id: 'alice', name: 'Alice' }, labels: {}, supersede: null, status: 'running', waiting_for: null,
    worker: 'w1', unreachable: null, timeout_ms: 0, deadline_at: null, grace_ms: 2000, on_parent_end: 'cancel', created_at: '2026-11-20T10:00:00.000Z', started_at: null, ended_at: null, stop: null,
    exit: null, result: null, error: null, late: null, ...more,
  };
}

export function event(type: string, op: Operation): ApiEvent {
  return { id: String(++seq), type, at: '2026-11-20T10:00:00.000Z', scope: op.scope, operation: op.id, root: op.root, cancel: null, worker: null, data: op };
}

export function report(more: Partial<Report> = {}): Report {
  return {
    operations: 0, workers: [], receipts: { cooperative: 0, terminated: 0, killed: 0, never_started: 0, already_finished: 0, unconfirmed: 0, declared: 0 },
    proofs: { exit_status: 0, cgroup_empty: 0, pidns_gone: 0, group_empty: 0, lease_expired: 0, never_ran: 0, connection_closed: 0, internal: 0, reported: 0, none: 0 },
    unproven_total: 0, unproven: [], fenced_ms: null, signalled_ms: null, settled_ms: null, proven: false, ...more,
  };
}

export function cancel(more: Partial<Cancel> = {}): Cancel {
  return {
    id: 'c', seq: 1, target: { scope: 's' }, outcome: 'stopping', status: 'fenced', dry_run: false, durable: true, reason: '', cause: 'cancel', by: { id: 'a' }, via: { channel: 'console', token: 't', token_id: null },
    grace_ms: null, created_at: '2026-11-20T10:00:00.000Z', report: report(), ...more,
  };
}

export function status(more: Partial<Status> = {}): Status {
  return {
    seq: 1, version: '1', commit: 'c', started_at: '2026-11-20T10:00:00.000Z', cluster: 'x', epoch: 1, workers: {}, operations: {}, cancels_open: 0, oldest_open_cancel_ms: null,
    store: { low: false, free_bytes: 1e12, reserve_bytes: 1 }, chat_services: [], ...more,
  };
}

export function worker(more: Partial<Worker> = {}): Worker {
  return {
    name: 'w1', status: 'ready', labels: {}, slots: 1, slots_used: 0, operations_live: 0, containment: 'cgroup', containment_limits: [], version: '1', address: null, incarnation: null, joined_at: null,
    last_heard_at: null, lease_expires_at: null, unreachable: null, drain: null, trouble: null, rival: null, key_changed_at: null, knows_controller_key: null, ...more,
  };
}
