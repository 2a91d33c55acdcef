// A confirmed stop is sent until quelld has answered it: again and again under the same ids, in rounds with growing pauses.
import { ApiError, post, words_of } from '../api/client.ts';
import { a_few_at_once, with_room } from '../api/connections.ts';
import type { Cancel } from '../api/types.ts';

/** A body of POST /v1/cancels. Its id is chosen here, so sending it again stops nothing twice. */
export interface Order {
  id: string;
  [field: string]: unknown;
}

export interface Delivery {
  /** What quelld has taken, in the order of the orders. */
  cancels: Cancel[];
  /** What quelld said of the orders that it refused: they stop nothing. */
  refused: string[];
  /** Orders without an answer; after a lost one nobody here knows whether it has arrived. */
  open: number;
  /** Why the newest round left some open. */
  trouble: string;
}

const patience_ms = 15_000;
const most_at_once = 6; // as many as a browser sends; each one's patience begins when it is sent
const first_pause_ms = 250, most_pause_ms = 3000;

/** Milliseconds between round `round` (from 0) and the next. */
export function pause_after(round: number): number {
  return Math.min(most_pause_ms, first_pause_ms * 2 ** Math.min(round, 10));
}

/** A decision about the order. Load, a proxy's error, half an answer and none at all decide nothing. */
export function is_refusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 408 && error.status !== 429;
}

/** Nobody here knows what became of the request. Of load quelld says itself that nothing was done. */
export function may_have_arrived(error: unknown): boolean {
  return !is_refusal(error) && !(error instanceof ApiError && [408, 429, 503].includes(error.status));
}

/** Why there is no decision, a sentence. */
export function why_unanswered(error: unknown): string {
  if (error instanceof DOMException) return `No answer for ${patience_ms / 1000} s.`;
  if (!(error instanceof ApiError)) return 'The answer broke off.';
  return error.status === 0 ? 'quelld does not answer.' : words_of(error);
}

async function ask(order: Order, stop: AbortSignal): Promise<Cancel> {
  const mine = new AbortController();
  const end = () => mine.abort();
  const limit = setTimeout(end, patience_ms);
  stop.addEventListener('abort', end);
  try {
    return await post<Cancel>('/v1/cancels', order, { priority: 'high', signal: mine.signal });
  } finally {
    clearTimeout(limit);
    stop.removeEventListener('abort', end);
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => (clearTimeout(timer), stop.removeEventListener('abort', end), resolve());
    const timer = setTimeout(end, ms);
    stop.addEventListener('abort', end);
  });
}

/** Sends the first request at once. Ends when every order has its answer, or when `stop` aborts. `tell` hears what each round has left open. */
export async function deliver(orders: readonly Order[], stop: AbortSignal, tell: (so_far: Delivery) => void): Promise<Delivery> {
  const taken = new Map<string, Cancel>();
  const refused: string[] = [];
  let waiting = orders;
  for (let round = 0; ; ++round) {
    const untried: Order[] = [], unanswered: Order[] = [];
    let trouble = '';
    const one = async (order: Order) => {
      if (trouble || stop.aborted) return void untried.push(order); // one lost answer ends the round: a silent quelld is not asked thousands of times
      try {
        taken.set(order.id, await ask(order, stop));
      } catch (error) {
        if (is_refusal(error)) return void refused.push(error.message);
        trouble = why_unanswered(error);
        unanswered.push(order);
      }
    };
    await with_room(() => a_few_at_once(waiting, most_at_once, one));
    waiting = [...untried, ...unanswered];
    const so_far = { cancels: orders.flatMap((o) => taken.get(o.id) ?? []), refused: [...refused], open: waiting.length, trouble };
    if (waiting.length === 0 || stop.aborted) return so_far;
    tell(so_far);
    await pause(pause_after(round), stop);
    if (stop.aborted) return so_far;
  }
}
