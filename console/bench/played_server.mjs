// A played quelld: the console's files, a tree of N live operations, and a recorded feed. For the benchmark alone.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Recording } from './recording.mjs';

const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
const id_of_cluster = '01a1f869-3df9-7303-8207-000000000000';
const at = '2026-11-20T10:00:00.000Z';

/** `change(N)` sends the next N changes of the recording to whoever listens; `live` = what lives then. */
export function play(folder, operations, scopes, seed = 1) {
  const recording = new Recording({ seed, operations, scopes }), { live } = recording;
  const streams = new Set();

  const tree = (query) => {
    const from = Number(query.get('cursor') ?? 0), limit = Number(query.get('limit') ?? 100), parent = query.get('parent'), scope = query.get('scope');
    if (query.get('by') === 'scope' && !scope) return { event: recording.newest_event, live: live.size, cancelling: 0, scopes: [{ scope: 'team', live: live.size, cancelling: 0, cutoff_seq: null, last_cancel: null }], operations: [], next_cursor: null };
    const page = [];
    let skipped = 0, has_more = false;
    for (const op of live.values()) {
      if (parent ? op.parent !== parent : query.get('by') === 'parent' ? op.parent !== null : op.scope !== scope) continue;
      if (skipped++ < from) continue;
      has_more = page.length === limit;
      if (has_more) break;
      page.push(op);
    }
    return {
      event: recording.newest_event, live: live.size, cancelling: 0, next_cursor: has_more ? String(from + limit) : null, operations: page.map((operation) => ({ operation, children: operation.parent ? 0 : 9, below: operation.parent ? 0 : 9 })),
      scopes: scope === 'team' && from === 0 ? Array.from({ length: scopes }, (_, i) => ({ scope: `team/s${i}`, live: Math.round(live.size / scopes), cancelling: 0, cutoff_seq: null, last_cancel: null })) : [],
    };
  };
  const answers = {
    '/v1/sessions/current': () => ({ id: null, created_at: null, expires_at: null, token: 'bench', role: 'admin', scope: null, owner: { id: 'admin', name: 'admin' } }),
    '/v1/status': () => ({ seq: live.size, version: '0', commit: '', started_at: at, cluster: id_of_cluster, epoch: 1, workers: { ready: 8 }, operations: { running: live.size, pending: 0, paused: 0, cancelling: 0 }, cancels_open: 0, oldest_open_cancel_ms: null }),
    '/v1/operations': () => ({ operations: [], next_cursor: null }), '/v1/cancels': () => ({ cancels: [], next_cursor: null }), '/v1/workers': () => ({ workers: [], next_cursor: null }),
    '/v1/mcp': () => ({ servers: [], next_cursor: null }), '/v1/cost': () => ({ by: 'day', scope: null, from: '2026-11-20', to: '2026-11-20', today: '2026-11-20', cost: [], total: {}, next_cursor: null }),
    '/v1/openapi.json': () => ({ paths: {} }), '/readyz': () => ({ ready: true }),
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://x');
    if (url.pathname === '/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      streams.add(response);
      return void request.on('close', () => streams.delete(response));
    }
    const answer = url.pathname === '/v1/tree' ? () => tree(url.searchParams) : answers[url.pathname];
    if (answer) return void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer()));
    const name = url.pathname.startsWith('/assets/') || url.pathname === '/icon.svg' ? url.pathname : '/index.html';
    response.writeHead(200, { 'Content-Type': types[name.split('.').pop()] }).end(readFileSync(join(folder, name)));
  });
  const change = (many) => {
    const text = recording.play(many);
    for (const one of streams) one.write(text);
  };
  return { server, change, live };
}
