// The events that every view hears: one stream for each tab, handed on in batches, once a frame.
import { signal } from '@preact/signals';
import type { StreamEvent } from '../model/sse.ts';
import { last_sign_of_life } from './sign_of_life.ts';
import { clock_offset, learn_from_event, server_now } from './server_clock.ts';
import { in_frame, in_slices } from './slices.ts';
import { follow_stream, is_expired } from './stream.ts';
import type { ApiEvent } from './types.ts';

export type Batch = readonly ApiEvent[];

/** What is shown of the connection; `since` = milliseconds since 1970, by quelld's clock. */
export const connection = signal<{ state: 'opening' | 'open' | 'lost'; since: number }>({ state: 'opening', since: server_now() });
/** Grows when events were missed: whoever shows something reads it again. */
export const resync = signal(0);

const types = [
  'operation_created', 'operation_started', 'operation_paused', 'operation_resumed', 'operation_cancelling', 'operation_completed',
  'operation_failed', 'operation_cancelled', 'cancel_fenced', 'cancel_signalled', 'cancel_progress', 'cancel_settled', 'worker_joined',
  'worker_unreachable', 'worker_lost', 'worker_draining', 'worker_removed', 'worker_disputed', 'approval_required', 'approval_resolved',
];
const most_in_batch = 200;
const opening_ms = 3000; // readers wait for the stream so long at most
/** What a page has missed for longer than this is not replayed: all that it shows is read again. */
const most_replayed_ms = 60_000;

const listeners = new Set<(batch: Batch) => void>();
let running: AbortController | null = null;
let waiting: ApiEvent[] = [];
let is_planned = false;
let last_id = '';
let is_late = false;
let has_opened = false;
let hidden_since = 0;

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

/** A fault of one view does not keep events from the others. */
function tell(listener: (batch: Batch) => void, batch: Batch): void {
  try {
    listener(batch);
  } catch (error) {
    queueMicrotask(() => { throw error; });
  }
}

async function hand_on(): Promise<void> {
  try {
    await in_slices(() => {
      const batch = waiting.splice(0, most_in_batch);
      if (batch.length > 0) for (const listener of listeners) tell(listener, batch);
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
  in_frame(() => void hand_on());
}

/** Nobody knows when quelld fell silent: it is lost since it was last heard. */
function note(state: 'open' | 'lost'): void {
  if (connection.value.state === state) return;
  const heard_at = last_sign_of_life.peek();
  connection.value = { state, since: state === 'lost' && heard_at > 0 ? heard_at + clock_offset.peek() : server_now() };
}

function opened(): void {
  // Without an id nobody knows what happened meanwhile.
  if (connection.value.state === 'lost' || is_late || (has_opened && last_id === '')) resync.value += 1;
  is_late = false;
  has_opened = true;
  note('open');
}

function heard_one(event: StreamEvent): void {
  last_id = event.id || last_id;
  const told = JSON.parse(event.data) as ApiEvent;
  learn_from_event(told.at);
  waiting.push(told);
  plan();
}

/** What the store no longer has is read as it is. */
function lost(error: unknown): void {
  if (is_expired(error)) {
    last_id = '';
    resync.value += 1;
  }
  note('lost');
}

function path(): string {
  return `/v1/events?types=${types.join(',')}${last_id ? `&after=${last_id}` : ''}`;
}

/** The id of the newest event that this page has heard of; '' = none. Ids of all streams are of one row. */
export function newest_id(): string {
  return last_id;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) hidden_since = Date.now();
  else if (Date.now() - hidden_since > most_replayed_ms) last_id = '';
});

export function open_feed(): void {
  running?.abort();
  running = new AbortController();
  connection.value = { state: 'opening', since: server_now() };
  has_opened = false;
  void follow_stream(running.signal, { path, opened, heard: heard_one, lost });
}

export function close_feed(): void {
  running?.abort();
  running = null;
  last_id = '';
  waiting = [];
}
