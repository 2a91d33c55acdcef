// A played quelld: the console's files, a tree of N live operations and a feed of R changes a second. For the benchmark alone.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
const id_of = (n) => `01a1f869-3df9-7303-8207-${n.toString(16).padStart(12, '0')}`;
const statuses = ['running', 'running', 'running', 'pending', 'paused', 'cancelling'];

export function play(folder, operations, scopes) {
  let next = operations, event = 1, streams = new Set();
  const live = new Map();
  const made = (n) => {
    const parent = n >= scopes && n % 10 ? id_of(n - (n % 10)) : null;
    return {
      id: id_of(n), seq: n + 1, kind: 'task', name: 'sh', title: `operation ${n}`, scope: `team/s${n % scopes}`, parent, root: parent ?? id_of(n), owner: { id: 'alice', name: 'Alice' }, labels: {},
      supersede: null, status: statuses[n % statuses.length], waiting_for: null, worker: `w${n % 8}`, unreachable: null, timeout_ms: 0, deadline_at: null, grace_ms: 2000, on_parent_end: 'cancel',
      created_at: new Date().toISOString(), started_at: new Date().toISOString(), ended_at: null, stop: null, exit: null, result: null, error: null, late: null,
    };
  };
  for (let n = 0; n < operations; ++n) live.set(n, made(n));

  const tree = (query) => {
    const from = Number(query.get('cursor') ?? 0), limit = Number(query.get('limit') ?? 100), parent = query.get('parent'), scope = query.get('scope');
    if (query.get('by') === 'scope' && !scope) return { live: live.size, cancelling: 0, scopes: [{ scope: 'team', live: live.size, cancelling: 0, cutoff_seq: null, last_cancel: null }], operations: [], next_cursor: null };
    const all = [...live.values()].filter((op) => (parent ? op.parent === parent : query.get('by') === 'parent' || op.scope === scope));
    const page = all.slice(from, from + limit);
    return {
      live: live.size, cancelling: 0, next_cursor: from + limit < all.length ? String(from + limit) : null, operations: page.map((operation) => ({ operation, children: 0, below: 0 })),
      scopes: scope === 'team' && from === 0 ? Array.from({ length: scopes }, (_, i) => ({ scope: `team/s${i}`, live: Math.round(live.size / scopes), cancelling: 0, cutoff_seq: null, last_cancel: null })) : [],
    };
  };
  const answers = {
    '/v1/sessions/current': () => ({ id: null, created_at: null, expires_at: null, token: 'bench', role: 'admin', scope: null, owner: { id: 'admin', name: 'admin' } }),
    '/v1/status': () => ({ seq: next, version: '0', commit: '', started_at: new Date().toISOString(), cluster: id_of(0), epoch: 1, workers: { ready: 8 }, operations: { running: live.size, pending: 0, paused: 0, cancelling: 0 }, cancels_open: 0, oldest_open_cancel_ms: null }),
    '/v1/operations': () => ({ operations: [], next_cursor: null }), '/v1/cancels': () => ({ cancels: [], next_cursor: null }), '/v1/workers': () => ({ workers: [], next_cursor: null }),
    '/v1/mcp': () => ({ servers: [], next_cursor: null }), '/readyz': () => ({ ready: true }),
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://x');
    if (url.pathname === '/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      streams.add(response);
      return void request.on('close', () => streams.delete(response));
    }
    const answer = url.pathname === '/v1/tree' ? () => tree(url.searchParams) : answers[url.pathname];
    if (answer) return void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer()));
    const name = url.pathname.startsWith('/assets/') || url.pathname === '/icon.svg' ? url.pathname : '/index.html';
    response.writeHead(200, { 'Content-Type': types[name.split('.').pop()] }).end(readFileSync(join(folder, name)));
  });
  /** `many` changes: a third begin, a third move, a third end. */
  const change = (many) => {
    let text = '';
    const tell = (type, op) => (text += `id: ${event}\nevent: ${type}\ndata: ${JSON.stringify({ id: String(event++), type, at: new Date().toISOString(), scope: op.scope, operation: op.id, root: op.root, cancel: null, worker: op.worker, data: op })}\n\n`);
    for (let i = 0; i < many; ++i) {
      if (i % 3 === 0) {
        const op = made(next);
        live.set(next++, op);
        tell('operation_created', op);
        continue;
      }
      const at = Math.floor(Math.random() * next), op = live.get(at);
      if (!op) continue;
      if (i % 3 === 1) tell('operation_started', Object.assign(op, { status: 'running' }));
      else if (live.delete(at)) tell('operation_completed', { ...op, status: 'completed', ended_at: new Date().toISOString() });
    }
    for (const one of streams) one.write(text);
  };
  return { server, change, live };
}
