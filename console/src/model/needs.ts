// What needs a person, worst first. Pure.
import type { Cancel, McpServer, Operation, Status, Worker } from '../api/types.ts';
import { bytes, count, duration, shown } from './format.ts';
import { headline, target_words } from './report.ts';
import { operation_link, cancel_link } from './route.ts';
import { none_settled, type SettledStops } from './settled.ts';

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
  cancels: readonly Cancel[]; // that are open
  settled: SettledStops;
  /** There are more approvals or open cancels than were read. */
  is_part: boolean;
  looked_at: number; // milliseconds since 1970, by quelld's clock, as all times here; 0 = never
  workers: readonly Worker[];
  /** There are more than were read. */
  has_more_workers: boolean;
  mcp: readonly McpServer[];
  not_ready: string; // what /readyz says; '' = ready
  status: Status | null;
  /** Since when each chat service was seen not to work; milliseconds since 1970. */
  chats_down: ReadonlyMap<string, number>;
  /** Model calls that ended lately, newest first. */
  model_calls: readonly Operation[];
}

export const nothing_found: Findings = {
  approvals: [], cancels: [], settled: none_settled, is_part: false, looked_at: 0, workers: [], has_more_workers: false, mcp: [], not_ready: '', status: null, chats_down: new Map(), model_calls: [],
};

/** What was found longer ago is not said to hold. A look is taken every 15 s, in a hidden page every minute. */
const stale_ms = 90_000;
/** A cancel that has only just begun needs nobody. */
const patience_ms = 5000;
/** Nor one that connects again. */
const chat_patience_ms = 10_000;
/** With less free space than so many reserves, somebody should look before starts are refused. */
const near_reserve = 10;

/** `title_of`: an operation's; '' = not known. */
export function needs_of(found: Findings, now: number, title_of: (operation: string) => string = () => ''): Need[] {
  const all: Need[] = [];
  if (found.not_ready) all.push({ key: 'ready', weight: 'bad', title: 'quelld takes no new work', detail: found.not_ready, link: '/cluster', since: null, approval: null });
  for (const c of found.cancels) {
    const age = c.created_at ? now - Date.parse(c.created_at) : 0;
    if (age < patience_ms) continue;
    all.push({
      key: `cancel ${c.id}`, weight: 'bad', title: `Not proven yet: ${target_words(c, c.report.unproven.find((one) => one.operation === c.target.operation)?.title)}`,
      detail: `${count(c.report.unproven_total, 'operation')} after ${duration(age)}`, link: cancel_link(c.id ?? ''), since: c.created_at, approval: null,
    });
  }
  for (const c of found.settled.unproven)
    all.push({ key: `unproven ${c.id}`, weight: 'bad', title: `Settled without proof: ${target_words(c, title_of(c.target.operation ?? ''))}`, detail: headline(c), link: cancel_link(c.id ?? ''), since: c.created_at, approval: null });
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
  return shown(op.tool?.question ? `${op.tool.question.server || op.name} asks something` : `${op.name} asks to go on`);
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

export interface Calm {
  title: string;
  detail: string;
}

/** What the first page says where no need is shown: that all is well only if it is known to be. `is_heard`: quelld answers. */
export function calm_words(found: Findings, is_heard: boolean, now: number): Calm {
  if (found.looked_at === 0 && is_heard) return { title: 'Needs me', detail: '' };
  if (!is_heard || now - found.looked_at > stale_ms) return { title: 'What needs you is not known', detail: 'quelld does not answer. This page looks again by itself.' };
  const open = Math.max(found.status?.cancels_open ?? 0, found.cancels.length);
  const every_worker = found.has_more_workers ? `the first ${found.workers.length.toLocaleString('en')} workers answer` : 'every worker answers';
  if (open > 0) return { title: `${count(open, 'stop is', 'stops are')} under way`, detail: `What is being stopped is not proven yet. ${every_worker[0]!.toUpperCase()}${every_worker.slice(1)}, and nobody waits for an approval.` };
  const { unproven, read, is_part } = found.settled;
  const stops = unproven.length ? 'No stop is open; one or more settled without proof'
    : is_part ? `No stop is open; the newest ${read.toLocaleString('en')} are proven` : 'Every stop is proven';
  return { title: 'Nothing needs you', detail: `${stops}, ${every_worker}, and nobody waits for an approval.` };
}

/** The needs that were not there at the look before: one that goes and comes again is said again. */
export function new_needs(before: ReadonlySet<string>, needs: readonly Need[]): Need[] {
  return needs.filter((need) => !before.has(need.key));
}

export interface Announcement {
  title: string;
  body: string;
  tag: string; // a later one with the same tag takes its place, also of another tab
  link: string;
}

const most_announced = 3;

/** What is said aloud of new needs: each, or the worst and how many more. */
export function announced(news: readonly Need[]): Announcement[] {
  const each = (need: Need) => ({ title: need.title, body: need.detail, tag: need.key, link: need.link });
  if (news.length <= most_announced) return news.map(each);
  const shown = news.slice(0, most_announced - 1), more = news.length - shown.length;
  return [...shown.map(each), { title: `${count(more, 'more thing needs', 'more things need')} you`, body: news[shown.length]!.title + ', …', tag: 'more', link: '/' }];
}

/** `100+` if there are more than were read. */
export function number_words(needs: number, is_part: boolean): string {
  return needs === 0 ? '' : `${needs.toLocaleString('en')}${is_part ? '+' : ''}`;
}

/** What stands before the name in the tab. */
export function tab_title(number: string, view: string): string {
  return `${number ? `(${number}) ` : ''}${view ? `${view} · ` : ''}quell`;
}
