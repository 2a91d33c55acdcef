// A browser has six HTTP/1.1 connections to a host, for all of its tabs together, and a stop must always find one. So:
// streams take turns, at most three in all tabs, none in a hidden one; and what can be asked again gives way to a stop.
//
// Web Locks hold the turns over all tabs. Browsers offer them on https and on localhost alone; elsewhere the tab with the
// focus streams, and each other visible tab for about one second in eleven.

const most_streams = 3;
/** A stream that others wait for ends after so long and queues again; it resumes by the id of its last event. */
const turn_ms = 1000;
/** For a stream that does not open: a slow server must not end every turn before it has brought anything. */
const most_opening_ms = 8000;
const unfocused_pause_ms = 10_000;
const most_hold_ms = 5000;
/** Other tabs hold back for so long: the request of the stop has its connection by then. */
const others_hold_ms = 1000;

/** Resolves once the page is visible, or `stop` has aborted. */
export function until_shown(stop: AbortSignal): Promise<void> {
  if (!document.hidden || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !stop.aborted) return;
      document.removeEventListener('visibilitychange', look);
      stop.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    stop.addEventListener('abort', look);
  });
}

const lock_name = (slot: number) => `quell-stream-${slot}`;

/** The slot with the fewest streams, those that wait for it included. */
async function emptiest_slot(locks: LockManager): Promise<string> {
  const { held = [], pending = [] } = await locks.query();
  const used = (name: string) => [...held, ...pending].filter((lock) => lock.name === name).length;
  const names = Array.from({ length: most_streams }, (_, slot) => lock_name(slot));
  return names.reduce((best, name) => (used(name) < used(best) ? name : best));
}

/** Reads a stream and calls `has_opened` once it is open; ends when `turn` aborts. */
export type ReadStream = (turn: AbortSignal, has_opened: () => void) => Promise<void>;

/** Does `read`, and `look` each time that its turn may be over. */
async function timed(turn: AbortSignal, read: ReadStream, look: () => unknown): Promise<void> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const begin = () => void (timer ??= setInterval(look, turn_ms));
  const limit = setTimeout(begin, most_opening_ms);
  await read(turn, begin).finally(() => (clearTimeout(limit), clearInterval(timer)));
}

async function with_lock(locks: LockManager, turn: AbortController, read: ReadStream): Promise<void> {
  const name = await emptiest_slot(locks);
  const look = async () => (await locks.query()).pending?.some((lock) => lock.name === name) && turn.abort();
  await locks.request(name, { signal: turn.signal }, () => timed(turn.signal, read, look));
}

async function without_locks(turn: AbortController, read: ReadStream): Promise<void> {
  if (!document.hasFocus())
    await new Promise<void>((resolve) => {
      const end = () => (clearTimeout(limit), removeEventListener('focus', end), resolve());
      const limit = setTimeout(end, unfocused_pause_ms);
      addEventListener('focus', end);
      turn.signal.addEventListener('abort', end);
    });
  if (!turn.signal.aborted) await timed(turn.signal, read, () => !document.hasFocus() && turn.abort());
}

/** Waits for a turn, then does `read` once; `read` must end when its signal aborts: the page is hidden, others wait, or `stop`. False: it was ended so. */
export async function in_turn(stop: AbortSignal, read: ReadStream): Promise<boolean> {
  await until_shown(stop);
  if (stop.aborted) return false;
  const turn = new AbortController();
  const end = () => turn.abort();
  const look = () => document.hidden && end();
  stop.addEventListener('abort', end);
  document.addEventListener('visibilitychange', look);
  try {
    const locks = navigator.locks as LockManager | undefined;
    await (locks ? with_lock(locks, turn, read) : without_locks(turn, read));
    return !turn.signal.aborted;
  } catch (error) {
    if (!turn.signal.aborted) throw error;
    return false;
  } finally {
    stop.removeEventListener('abort', end);
    document.removeEventListener('visibilitychange', look);
  }
}

const giving_way = new Set<AbortController>();
let holds = 0;
let held_back: (() => void)[] = [];
const other_tabs = new BroadcastChannel('quell-stop');
other_tabs.onmessage = () => void setTimeout(hold_back(), others_hold_ms);

/** Aborts what gives way and keeps the rest of it waiting; returns what ends that. */
function hold_back(): () => void {
  holds += 1;
  for (const one of giving_way) one.abort();
  let is_over = false;
  const leave = () => {
    if (is_over) return;
    is_over = true;
    clearTimeout(limit);
    holds -= 1;
    if (holds === 0) for (const go of held_back.splice(0)) go();
  };
  const limit = setTimeout(leave, most_hold_ms);
  return leave;
}

/** For requests that change nothing: `ask` is aborted when a stop of any tab is sent, and asked again behind it. */
export async function giving_way_to_stops<T>(ask: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    while (holds > 0) await new Promise<void>((go) => held_back.push(go));
    const mine = new AbortController();
    const end = () => mine.abort();
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end);
    giving_way.add(mine);
    try {
      return await ask(mine.signal);
    } catch (error) {
      if (!mine.signal.aborted || signal?.aborted) throw error;
    } finally {
      giving_way.delete(mine);
      signal?.removeEventListener('abort', end);
    }
  }
}

/** Does `act` with connections that nothing else of this console holds. */
export async function with_room<T>(act: () => Promise<T>): Promise<T> {
  other_tabs.postMessage('room');
  const leave = hold_back();
  return act().finally(leave);
}

/** The answers in the order of `all`; `ask` is under way for at most `many` of them. */
export async function a_few_at_once<In, Out>(all: readonly In[], many: number, ask: (one: In) => Promise<Out>): Promise<Out[]> {
  const answers: Out[] = [];
  let at = 0;
  const next = async (): Promise<void> => {
    while (at < all.length) {
      const mine = at++;
      answers[mine] = await ask(all[mine]!);
    }
  };
  await Promise.all(Array.from({ length: many }, next));
  return answers;
}
