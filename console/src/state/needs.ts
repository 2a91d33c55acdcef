// What needs a person, for the first page, the navigation and the tab's title.
import { computed, effect, signal } from '@preact/signals';
import { ApiError, get, look as look_at, words_of_repeated } from '../api/client.ts';
import { connection, listen, resync } from '../api/feed.ts';
import { read_newest } from '../api/pages.ts';
import { server_now } from '../api/server_clock.ts';
import type { Cancel, McpServer, Operation, Status, Worker } from '../api/types.ts';
import { calm_words, chats_down, needs_of, nothing_found, number_words, type Findings } from '../model/needs.ts';
import { after_look, leaves_gap_in_stops, type NewestStops, type SettledStops } from '../model/settled.ts';
import { now } from './clock.ts';
import { kept_list } from './kept_lists.ts';
import { may, session_state } from './session.ts';
import { title_of, want_title } from './titles.ts';

export const findings = signal<Findings>(nothing_found);
export const status = computed(() => findings.value.status);
export const findings_trouble = signal('');
const { value: has_seen, put: keep_seen } = kept_list('quell.seen', 1000, (key): key is string => typeof key === 'string');
export const needs = computed(() => needs_of(findings.value, now.value, title_of).filter((need) => !has_seen.value.includes(need.key)));
export const needs_number = computed(() => number_words(needs.value.length, findings.value.is_part));
export const calm = computed(() => calm_words(findings.value, connection.value.state !== 'lost' && findings_trouble.value === '', now.value));

/** Takes needs that nothing else ends from the page, for whoever is signed in. */
export function note_seen(...keys: string[]): void {
  keep_seen([...has_seen.value, ...keys]);
}

const look_ms = 15_000;
const model_look_ms = 15_000;
const most_stops = 1000, most_titles = 100, most_workers = 20_000;
const lately_ms = 10 * 60_000;

let looked_at_models = -Infinity; // on the page's own clock, which nobody sets

/** The model calls of the last minutes; a busy cluster is not asked each time that something happens. */
async function model_calls(): Promise<readonly Operation[]> {
  if (performance.now() - looked_at_models < model_look_ms - 1000) return findings.value.model_calls;
  looked_at_models = performance.now();
  const since = new Date(server_now() - lately_ms).toISOString();
  return (await get<{ operations: Operation[] }>(`/v1/operations?kind=model_call&status=ended&since=${since}&limit=200`)).operations;
}

/** quelld's own word on whether it takes work; its silence is shown elsewhere. */
async function not_ready(): Promise<string> {
  const answer = await look_at((signal) => fetch('/readyz', { signal })).catch(() => null);
  if (!answer || answer.ok) return '';
  const problem = (await answer.json().catch(() => null)) as { detail?: string } | null;
  return problem?.detail ?? `readyz says ${answer.status}`;
}

/** That none are configured is an answer; that quelld could not say is none: what was known before stays, and the page says that it is not known. */
async function mcp_servers(): Promise<{ servers: McpServer[] }> {
  try {
    return await get<{ servers: McpServer[] }>('/v1/mcp?limit=1000');
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { servers: [] };
    throw error;
  }
}

interface CancelPage {
  cancels: Cancel[];
  next_cursor: string | null;
}

async function newest_stops(limit: number): Promise<NewestStops> {
  const page = await get<CancelPage>(`/v1/cancels?limit=${limit}`);
  return { cancels: page.cancels, has_more: page.next_cursor !== null };
}

/** How the stops settled, further back if the newest do not reach to the look before. */
async function settled_stops(newest: NewestStops, open: CancelPage): Promise<SettledStops> {
  const ids = (cancels: readonly Cancel[]) => cancels.map((c) => c.id ?? '');
  const were_open = open.next_cursor === null ? ids(findings.value.cancels) : []; // of a part of them nobody can say which have settled
  const leaves_gap = (page: NewestStops) => leaves_gap_in_stops(findings.value.settled, page, were_open, ids(open.cancels));
  const page = leaves_gap(newest) ? await newest_stops(most_stops) : newest;
  return after_look(findings.value.settled, page, leaves_gap(page) || open.next_cursor !== null);
}

/** Grows when somebody else may sign in: what one may see is not shown to the next. */
let sessions = 0;
/** Looks that were begun, and the newest one that is shown: answers can overtake each other. */
let looks = 0, newest_look = 0;

async function look(): Promise<void> {
  const began = server_now(), nth = ++looks, mine = sessions;
  try {
    // The oldest approval first: one that comes stands below the others, and moves none of their buttons.
    const [approvals, cancels, newest, workers, mcp, trouble, status, models] = await Promise.all([
      get<{ operations: Operation[]; next_cursor: string | null }>('/v1/operations?status=paused&order=asc&limit=100'),
      get<CancelPage>('/v1/cancels?status=open&limit=100'),
      newest_stops(100),
      read_newest<Worker>('/v1/workers?order=asc', 'workers', most_workers),
      may.run_cluster.value ? mcp_servers() : { servers: [] },
      not_ready(),
      get<Status>('/v1/status'),
      model_calls(),
    ]);
    const settled = await settled_stops(newest, cancels);
    if (nth < newest_look || mine !== sessions) return;
    newest_look = nth;
    findings.value = {
      approvals: approvals.operations, cancels: cancels.cancels, settled, looked_at: began,
      is_part: approvals.next_cursor !== null || cancels.next_cursor !== null, workers: workers.rows, has_more_workers: workers.has_more, mcp: mcp.servers, not_ready: trouble, status,
      chats_down: chats_down(status, findings.value.chats_down, server_now()), model_calls: models,
    };
    findings_trouble.value = '';
    for (const { target } of settled.unproven.slice(0, most_titles)) if (target.operation) want_title(target.operation);
  } catch (error) {
    findings_trouble.value = words_of_repeated(error);
  }
}

let is_planned = false;
function look_soon(): void {
  if (is_planned) return;
  is_planned = true;
  setTimeout(() => {
    is_planned = false;
    if (session_state.value === 'in') void look();
  }, 400);
}

export function begin_needs(): void {
  effect(() => {
    if (session_state.value !== 'in') {
      ++sessions;
      findings.value = nothing_found;
      return;
    }
    void resync.value;
    void connection.value;
    look_soon();
  });
  setInterval(look_soon, look_ms);
  document.addEventListener('visibilitychange', look_soon);
  listen((batch) => {
    if (batch.some((e) => !e.type.startsWith('operation_') || e.type === 'operation_paused' || e.type === 'operation_resumed')) look_soon();
    else look_lazily();
  });
}

/** Counts of a busy cluster: every few seconds is enough. */
let lazily: ReturnType<typeof setTimeout> | undefined;
function look_lazily(): void {
  lazily ??= setTimeout(() => {
    lazily = undefined;
    look_soon();
  }, 2000);
}
