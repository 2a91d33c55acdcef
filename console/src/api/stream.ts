// One stream of events, for as long as somebody wants it: read as it comes in short tasks, in turns with the streams of all tabs, taken up again where it broke off.
//
// It is a fetch and not an EventSource, which dispatches all that has arrived in one task: 100 ms and more where 2,000 operations a second change.
import { StreamParser, type StreamEvent } from '../model/sse.ts';
import { ApiError, send } from './client.ts';
import { in_turn } from './connections.ts';
import { note_sign_of_life } from './sign_of_life.ts';
import { in_slices } from './slices.ts';

export interface Reader {
  /** Asked at each opening, so it names what has been read. */
  path: () => string;
  opened: () => void;
  heard: (event: StreamEvent) => void;
  /** It ended or failed; it is opened again after a second. Not called when only its turn was over. */
  lost: (error: unknown) => void;
}

const retry_ms = 1000;
const quiet_ms = 35_000; // a comment comes every 15 s: two are missing

async function read(turn: AbortSignal, has_opened: () => void, to: Reader): Promise<void> {
  const mine = new AbortController();
  const leave = () => mine.abort();
  turn.addEventListener('abort', leave);
  if (turn.aborted) leave();
  /** A server that takes the connection and says nothing is one that is away. */
  const heard = <T>(next: Promise<T>): Promise<T> => {
    const quiet = setTimeout(leave, quiet_ms);
    return next.finally(() => clearTimeout(quiet));
  };
  try {
    const answer = await heard(send('GET', to.path(), { headers: { Accept: 'text/event-stream' }, signal: mine.signal }));
    has_opened();
    to.opened();
    const reader = answer.body!.getReader(), decoder = new TextDecoder(), parser = new StreamParser();
    for (;;) {
      const { value, done } = await heard(reader.read());
      if (done) return;
      note_sign_of_life();
      parser.add(decoder.decode(value, { stream: true }));
      await in_slices(() => {
        const event = parser.next();
        if (!event || turn.aborted) return false;
        to.heard(event);
        return true;
      });
    }
  } finally {
    turn.removeEventListener('abort', leave);
    leave();
  }
}

/** Ends when `stop` aborts, or when nobody is signed in. */
export async function follow_stream(stop: AbortSignal, to: Reader): Promise<void> {
  while (!stop.aborted) {
    let trouble: unknown = null;
    try {
      if (!(await in_turn(stop, (turn, has_opened) => read(turn, has_opened, to)))) continue;
    } catch (error) {
      trouble = error;
    }
    if (stop.aborted || (trouble instanceof ApiError && trouble.status === 401)) return;
    to.lost(trouble);
    await new Promise((resolve) => setTimeout(resolve, retry_ms));
  }
}

/** The store no longer has what follows this id. */
export function is_expired(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'events_expired' || error.status === 400);
}
