// What needs a person, worst first. Pure.
import type { Cancel, McpServer, Operation, Worker } from '../api/types.ts';
import { count, duration } from './format.ts';
import { target_words } from './report.ts';
import { operation_link, cancel_link } from './route.ts';

export interface Need {
  key: string;
  weight: 'bad' | 'warn' | 'ask';
  title: string;
  detail: string;
  link: string;
  since: string | null;
  approval: Operation | null;
}

export interface Findings {
  approvals: readonly Operation[];
  cancels: readonly Cancel[];
  workers: readonly Worker[];
  mcp: readonly McpServer[];
  not_ready: string; // what /readyz says; '' = ready
}

/** A cancel that has only just begun needs nobody. */
const patience_ms = 5000;

export function needs_of(found: Findings, now: number): Need[] {
  const all: Need[] = [];
  if (found.not_ready) all.push({ key: 'ready', weight: 'bad', title: 'quelld takes no new work', detail: found.not_ready, link: '/cluster', since: null, approval: null });
  for (const c of found.cancels) {
    const age = c.created_at ? now - Date.parse(c.created_at) : 0;
    if (age < patience_ms) continue;
    all.push({
      key: `cancel ${c.id}`, weight: 'bad', title: `Not proven yet: ${target_words(c)}`,
      detail: `${count(c.report.unproven_total, 'operation')} after ${duration(age)}`, link: cancel_link(c.id ?? ''), since: c.created_at, approval: null,
    });
  }
  for (const w of found.workers) all.push(...worker_needs(w));
  for (const server of found.mcp)
    if (server.login?.trouble)
      all.push({ key: `mcp ${server.name}`, weight: 'warn', title: `MCP server ${server.name}`, detail: server.login.trouble, link: '/cluster', since: null, approval: null });
  for (const op of found.approvals)
    all.push({
      key: `approval ${op.id}`, weight: 'ask', title: `${op.name} asks to go on`, detail: op.scope, link: operation_link(op.id), since: op.waiting_for?.since_at ?? op.created_at,
      approval: op,
    });
  return all;
}

function worker_needs(w: Worker): Need[] {
  const link = '/workers';
  const need = (weight: Need['weight'], title: string, detail: string, since: string | null): Need =>
    ({ key: `worker ${w.name} ${title}`, weight, title, detail, link, since, approval: null });
  if (w.status === 'lost') return [need('bad', `Worker ${w.name} is lost`, 'Its lease has run out; remove it or bring it back', w.last_heard_at)];
  const found: Need[] = [];
  if (w.status === 'unreachable' && w.unreachable) found.push(need('warn', `Worker ${w.name} is silent`, count(w.operations_live, 'operation') + ' there', w.unreachable.since_at));
  if (w.rival) found.push(need('bad', `Two processes hold the key of worker ${w.name}`, `the other one is at ${w.rival.address}`, w.rival.since_at));
  if (w.trouble) found.push(need('warn', `Worker ${w.name} starts nothing`, w.trouble.why, w.trouble.since_at));
  return found;
}

/** What stands before the name in the tab. */
export function tab_title(needs: number, view: string): string {
  return `${needs ? `(${needs}) ` : ''}${view ? `${view} · ` : ''}quell`;
}
