// What needs a person, for the first page, the navigation and the tab's title.
import { computed, effect, signal } from '@preact/signals';
import { get, words_of } from '../api/client.ts';
import { connection, listen, resync } from '../api/feed.ts';
import type { Cancel, McpServer, Operation, Status, Worker } from '../api/types.ts';
import { chats_down, needs_of, type Findings } from '../model/needs.ts';
import { now } from './clock.ts';
import { may, session_state } from './session.ts';
import { saw } from './stopping.ts';

const nothing: Findings = { approvals: [], cancels: [], workers: [], mcp: [], not_ready: '', status: null, chats_down: new Map(), model_calls: [] };
export const findings = signal<Findings>(nothing);
export const status = computed(() => findings.value.status);
export const findings_trouble = signal('');
export const needs = computed(() => needs_of(findings.value, now.value));

const look_ms = 15_000;
const model_look_ms = 15_000;
const lately_ms = 10 * 60_000;

let looked_at_models = 0;

/** The model calls of the last minutes; a busy cluster is not asked each time that something happens. */
async function model_calls(): Promise<readonly Operation[]> {
  if (Date.now() - looked_at_models < model_look_ms - 1000) return findings.value.model_calls;
  looked_at_models = Date.now();
  const since = new Date(looked_at_models - lately_ms).toISOString();
  return (await get<{ operations: Operation[] }>(`/v1/operations?kind=model_call&status=ended&since=${since}&limit=200`)).operations;
}

/** quelld's own word on whether it takes work; its silence is shown elsewhere. */
async function not_ready(): Promise<string> {
  const answer = await fetch('/readyz').catch(() => null);
  if (!answer || answer.ok) return '';
  const problem = (await answer.json().catch(() => null)) as { detail?: string } | null;
  return problem?.detail ?? `readyz says ${answer.status}`;
}

async function look(): Promise<void> {
  try {
    const [approvals, cancels, workers, mcp, trouble, status, models] = await Promise.all([
      get<{ operations: Operation[] }>('/v1/operations?status=paused&limit=100'),
      get<{ cancels: Cancel[] }>('/v1/cancels?status=open&limit=100'),
      get<{ workers: Worker[] }>('/v1/workers?limit=1000'),
      may.run_cluster.value ? get<{ servers: McpServer[] }>('/v1/mcp').catch(() => ({ servers: [] })) : { servers: [] },
      not_ready(),
      get<Status>('/v1/status'),
      model_calls(),
    ]);
    findings.value = {
      approvals: approvals.operations, cancels: cancels.cancels, workers: workers.workers, mcp: mcp.servers, not_ready: trouble, status,
      chats_down: chats_down(status, findings.value.chats_down, Date.now()), model_calls: models,
    };
    saw(status.seq);
    findings_trouble.value = '';
  } catch (error) {
    findings_trouble.value = words_of(error);
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
    if (session_state.value !== 'in') return;
    void resync.value;
    void connection.value;
    look_soon();
  });
  setInterval(look_soon, look_ms);
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
