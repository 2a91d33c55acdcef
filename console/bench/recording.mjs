// A recorded feed, made from a seed: the same operations and the same changes in each run. A third of the changes begin an operation, a third move one, a third end one.

/** mulberry32: small, and the same everywhere. */
function numbers_of(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const begin = Date.parse('2026-11-20T10:00:00Z');
const id_of = (n) => `01a1f869-3df9-7303-8207-${n.toString(16).padStart(12, '0')}`;
const statuses = ['running', 'running', 'running', 'pending', 'paused', 'cancelling'];
const stop = { cancel: null, cause: 'cancel', by: null, reason: '', signalled_at: null, kill_at: null, receipt: null, proof: null };

export class Recording {
  #random;
  #next;
  #event = 1;
  #order = []; // live ones, for a random choice
  #place = new Map();
  live = new Map();

  constructor({ seed = 1, operations, scopes }) {
    this.#random = numbers_of(seed);
    this.scopes = scopes;
    this.#next = 0;
    while (this.#next < operations) this.#add();
  }

  /** The id of the last event that was played. */
  get newest_event() {
    return String(this.#event - 1);
  }

  #add() {
    const n = this.#next++;
    const parent = n >= this.scopes && n % 10 ? n - (n % 10) : null;
    const status = statuses[n % statuses.length], at = new Date(begin + n).toISOString();
    const op = {
      id: id_of(n), seq: n + 1, kind: 'task', name: 'sh', title: `operation ${n}`, scope: `team/s${(parent ?? n) % this.scopes}`, parent: parent === null ? null : id_of(parent),
      root: id_of(parent ?? n), owner: { id: 'alice', name: 'Alice' }, labels: {}, supersede: null, status, waiting_for: null, worker: `w${n % 8}`, unreachable: null, timeout_ms: 0,
      deadline_at: null, grace_ms: 2000, on_parent_end: 'cancel', created_at: at, started_at: status === 'pending' ? null : at, ended_at: null, stop: status === 'cancelling' ? stop : null,
      exit: null, result: null, error: null, late: null,
    };
    this.#place.set(op.id, this.#order.length);
    this.#order.push(op.id);
    this.live.set(op.id, op);
    return op;
  }

  #remove(op) {
    const at = this.#place.get(op.id), last = this.#order.pop();
    if (last !== op.id) {
      this.#order[at] = last;
      this.#place.set(last, at);
    }
    this.#place.delete(op.id);
    this.live.delete(op.id);
  }

  /** The text of the stream for the next `many` changes: as many begin as end. */
  play(many) {
    let text = '';
    const add = (type, op) => {
      const id = String(this.#event++);
      text += `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, type, at: new Date(begin + this.#event).toISOString(), scope: op.scope, operation: op.id, root: op.root, cancel: null, worker: op.worker, data: op })}\n\n`;
    };
    for (let i = 0; i < many; ++i) {
      if (i % 3 === 0) {
        add('operation_created', this.#add());
        continue;
      }
      const op = this.live.get(this.#order[this.#random(this.#order.length)]);
      if (i % 3 === 1) {
        Object.assign(op, { status: 'running', stop: null, started_at: op.started_at ?? op.created_at });
        add('operation_started', op);
        continue;
      }
      this.#remove(op);
      add('operation_completed', { ...op, status: 'completed', ended_at: new Date(begin + this.#event).toISOString() });
    }
    return text;
  }
}
