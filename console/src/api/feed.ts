// The one stream of events: read as it comes in short tasks, handed on in batches, once a frame, and taken up again where it broke off.
//
// It is a fetch and not an EventSource, which dispatches all that has arrived in one task: 100 ms and more where 2,000 operations a second change.
import { signal } from '@preact/signals';
import { StreamParser } from '../model/sse.ts';
import { ApiError, send } from './client.ts';
import { in_slices } from './slices.ts';
import type { ApiEvent } from './types.ts';

export type Batch = readonly ApiEvent[];

/** What is shown of the connection; `since` = milliseconds since 1970. */
export const connection = signal<{ state: 'opening' | 'open' | 'lost'; since: number }>({ state: 'opening', since: Date.now() });
/** Grows when events were missed: whoever shows something reads it again. */
export const resync = signal(0);

const types = [
  'operation_created', 'operation_started', 'operation_paused', 'operation_resumed', 'operation_cancelling', 'operation_completed',
  'operation_failed', 'operation_cancelled', 'cancel_fenced', 'cancel_signalled', 'cancel_progress', 'cancel_settled', 'worker_joined',
  'worker_unreachable', 'worker_lost', 'worker_draining', 'worker_removed', 'worker_disputed', 'approval_required', 'approval_resolved',
];
const retry_ms = 1000;
const quiet_ms = 45_000; // a comment comes every 15 s
const most_in_batch = 200;
const opening_ms = 3000; // readers wait for the stream so long at most

const listeners = new Set<(batch: Batch) => void>();
let running: AbortController | null = null;
let waiting: ApiEvent[] = [];
let is_planned = false;
let last_id = '';
let is_late = false;

/** Resolves when the stream is open, or cannot be for now: what is read after that misses no event. */
export function heard(): Promise<void> {
  if (connection.value.state !== 'opening') return Promise.resolve();
  return new Promise((resolve) => {
    const limit = setTimeout(() => ((is_late = true), done()), opening_ms);
    const forget = connection.subscribe(({ state }) => state !== 'opening' && done());
    function done(): void {
      clearTimeout(limit);
      forget();
      resolve();
    }
  });
}

/** Returns what ends it. */
export function listen(to: (batch: Batch) => void): () => void {
  listeners.add(to);
  return () => listeners.delete(to);
}

async function hand_on(): Promise<void> {
  try {
    await in_slices(() => {
      const batch = waiting.splice(0, most_in_batch);
      if (batch.length > 0) for (const listener of listeners) listener(batch);
      return waiting.length > 0;
    });
  } finally {
    is_planned = false;
    if (waiting.length > 0) plan();
  }
}

function plan(): void {
  if (is_planned) return;
  is_planned = true;
  // A page in the background has no frames.
  if (document.hidden) setTimeout(() => void hand_on(), 250);
  else requestAnimationFrame(() => void hand_on());
}

function note(state: 'open' | 'lost'): void {
  if (connection.value.state !== state) connection.value = { state, since: Date.now() };
}

async function read(stop: AbortController): Promise<void> {
  const after = last_id ? `&after=${last_id}` : '';
  const answer = await send('GET', `/v1/events?types=${types.join(',')}${after}`, { headers: { Accept: 'text/event-stream' }, signal: stop.signal });
  // Without an id nobody knows what happened meanwhile.
  if (connection.value.state === 'lost' || is_late) resync.value += 1;
  is_late = false;
  note('open');
  const reader = answer.body!.getReader(), decoder = new TextDecoder(), parser = new StreamParser();
  const leave = () => void reader.cancel().catch(() => {});
  try {
    for (;;) {
      const quiet = setTimeout(leave, quiet_ms);
      const { value, done } = await reader.read().finally(() => clearTimeout(quiet));
      if (done) return;
      parser.add(decoder.decode(value, { stream: true }));
      await in_slices(() => {
        const event = parser.next();
        if (!event || stop.signal.aborted) return false;
        last_id = event.id || last_id;
        waiting.push(JSON.parse(event.data) as ApiEvent);
        plan();
        return true;
      });
    }
  } finally {
    leave();
  }
}

/** Begins anew for as long as somebody is signed in; what the store no longer has is read as it is. */
async function keep_reading(stop: AbortController): Promise<void> {
  while (!stop.signal.aborted) {
    try {
      await read(stop);
    } catch (error) {
      if (stop.signal.aborted || (error instanceof ApiError && error.status === 401)) return;
      if (error instanceof ApiError && (error.code === 'events_expired' || error.status === 400)) {
        last_id = '';
        resync.value += 1;
      }
    }
    if (stop.signal.aborted) return;
    note('lost');
    await new Promise((resolve) => setTimeout(resolve, retry_ms));
  }
}

export function open_feed(): void {
  running?.abort();
  running = new AbortController();
  connection.value = { state: 'opening', since: Date.now() };
  void keep_reading(running);
}

export function close_feed(): void {
  running?.abort();
  running = null;
  last_id = '';
  waiting = [];
}
