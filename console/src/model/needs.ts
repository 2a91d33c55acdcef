// What needs a person, worst first. Pure.
import type { Cancel, McpServer, Operation, Status, Worker } from '../api/types.ts';
import { bytes, count, duration } from './format.ts';
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
  status: Status | null;
  /** Since when each chat service was seen not to work; milliseconds since 1970. */
  chats_down: ReadonlyMap<string, number>;
  /** Model calls that ended lately, newest first. */
  model_calls: readonly Operation[];
}

/** A cancel that has only just begun needs nobody. */
const patience_ms = 5000;
/** Nor one that connects again. */
const chat_patience_ms = 10_000;
/** With less free space than so many reserves, somebody should look before starts are refused. */
const near_reserve = 10;

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
  for (const server of found.mcp) {
    const trouble = server.login?.trouble ?? server.trouble;
    if (trouble) all.push({ key: `mcp ${server.name}`, weight: 'warn', title: `MCP server ${server.name}`, detail: trouble, link: '/cluster', since: null, approval: null });
  }
  all.push(...chat_needs(found, now), ...model_needs(found.model_calls), ...store_needs(found));
  for (const op of found.approvals)
    all.push({
      key: `approval ${op.id}`, weight: 'ask', title: asks_words(op), detail: op.scope, link: operation_link(op.id), since: op.waiting_for?.since_at ?? op.created_at,
      approval: op,
    });
  return all;
}

/** A call waits for leave to begin, or for an answer. */
export function asks_words(op: Operation): string {
  return op.tool?.question ? `${op.tool.question.server || op.name} asks something` : `${op.name} asks to go on`;
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

function chat_needs(found: Findings, now: number): Need[] {
  return (found.status?.chat_services ?? []).filter((chat) => !chat.working && now - (found.chats_down.get(chat.name) ?? now) >= chat_patience_ms).map((chat) => ({
    key: `chat ${chat.name}`, weight: 'warn', title: `Chat service ${chat.name} does not work`, detail: chat.state, link: '/cluster', since: new Date(found.chats_down.get(chat.name)!).toISOString(), approval: null,
  }));
}

/** A model is in trouble while its last call that somebody let end has failed. */
function model_needs(calls: readonly Operation[]): Need[] {
  const by_name = new Map<string, Operation[]>();
  for (const call of calls) if (call.status !== 'cancelled') by_name.set(call.name, [...(by_name.get(call.name) ?? []), call]);
  const needs: Need[] = [];
  for (const [name, ended] of by_name) {
    const last = ended[0]!, failed = ended.filter((call) => call.status === 'failed').length;
    if (last.status !== 'failed') continue;
    needs.push({
      key: `model ${name}`, weight: 'warn', title: `Model ${name} fails`, detail: `${last.error?.message ?? 'without a reason'} (${failed} of its last ${count(ended.length, 'call')})`,
      link: operation_link(last.id), since: last.ended_at, approval: null,
    });
  }
  return needs;
}

/** The full disk itself is what /readyz says. */
function store_needs(found: Findings): Need[] {
  const store = found.status?.store;
  if (!store || store.low || store.free_bytes === null || store.free_bytes >= near_reserve * store.reserve_bytes) return [];
  const detail = `${bytes(store.free_bytes)} free; below ${bytes(store.reserve_bytes)} starts are refused (store.reserve)`;
  return [{ key: 'store', weight: 'warn', title: 'The disk is nearly full', detail, link: '/cluster', since: null, approval: null }];
}

/** Since when each chat service does not work, as far as this page has seen. */
export function chats_down(status: Status | null, before: ReadonlyMap<string, number>, now: number): Map<string, number> {
  return new Map((status?.chat_services ?? []).filter((chat) => !chat.working).map((chat) => [chat.name, before.get(chat.name) ?? now]));
}

/** What stands before the name in the tab. */
export function tab_title(needs: number, view: string): string {
  return `${needs ? `(${needs}) ` : ''}${view ? `${view} · ` : ''}quell`;
}
