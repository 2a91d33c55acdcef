// The one stream of events: handed on in batches, once a frame, and taken up again where it broke off.
import { signal } from '@preact/signals';
import { ApiError, get } from './client.ts';
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

const listeners = new Set<(batch: Batch) => void>();
let source: EventSource | null = null;
let waiting: ApiEvent[] = [];
let is_planned = false;
let last_id = '';

/** Returns what ends it. */
export function listen(to: (batch: Batch) => void): () => void {
  listeners.add(to);
  return () => listeners.delete(to);
}

function hand_on(): void {
  is_planned = false;
  const batch = waiting;
  waiting = [];
  for (const listener of listeners) listener(batch);
}

function plan(): void {
  if (is_planned) return;
  is_planned = true;
  // A page in the background has no frames.
  if (document.hidden) setTimeout(hand_on, 250);
  else requestAnimationFrame(hand_on);
}

function receive(message: MessageEvent<string>): void {
  last_id = message.lastEventId;
  waiting.push(JSON.parse(message.data) as ApiEvent);
  plan();
}

function note(state: 'open' | 'lost'): void {
  if (connection.value.state !== state) connection.value = { state, since: Date.now() };
}

/** EventSource gives up on an answer that is not a stream: find out why, and begin anew. */
async function begin_again(): Promise<void> {
  try {
    if (last_id) await get(`/v1/events?after=${last_id}&limit=1`);
    else await get('/v1/sessions/current');
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;
    if (error instanceof ApiError && (error.code === 'events_expired' || error.status === 400)) {
      last_id = '';
      resync.value += 1;
    }
  }
  setTimeout(() => source && open_feed(), retry_ms);
}

export function open_feed(): void {
  source?.close();
  const after = last_id ? `&after=${last_id}` : '';
  const opened = new EventSource(`/v1/events?types=${types.join(',')}${after}`);
  source = opened;
  for (const type of types) opened.addEventListener(type, receive as (e: Event) => void);
  opened.onopen = () => {
    // Without an id nobody knows what happened meanwhile.
    if (connection.value.state === 'lost') resync.value += 1;
    note('open');
  };
  opened.onerror = () => {
    note('lost');
    if (opened.readyState === EventSource.CLOSED && source === opened) void begin_again();
  };
}

export function close_feed(): void {
  source?.close();
  source = null;
  last_id = '';
}
