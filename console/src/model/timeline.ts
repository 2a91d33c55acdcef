// A tree of operations as bars over time: waiting, running, being stopped. Pure.
import type { Cancel, Operation } from '../api/types.ts';
import { duration } from './format.ts';
import { phases_of_operation, type Phase } from './phases.ts';

export interface Bar {
  operation: Operation;
  depth: number;
  /** Shares of the whole, 0 to 1, in order; `from` <= `to`. */
  parts: { what: 'waits' | 'runs' | 'stops'; from: number; to: number }[];
  /** The phases of the cancel that stopped it, as far as they are known. */
  marks: (Phase & { share: number })[];
  state: Operation['status'] | 'not_yet'; // at the instant that is shown
}

export interface Timeline {
  bars: Bar[];
  begin: number;
  end: number;
}

const at = (text: string | null | undefined) => (text ? Date.parse(text) : null);

/** When it ends: of what lives, `now`. */
export function span_of(operations: readonly Operation[], now: number): { begin: number; end: number } {
  let begin = Infinity, end = -Infinity;
  for (const op of operations) {
    begin = Math.min(begin, Date.parse(op.created_at));
    end = Math.max(end, at(op.ended_at) ?? now);
  }
  if (begin > end) return { begin: now, end: now + 1 };
  return { begin, end: Math.max(end, begin + 1) };
}

function state_at(op: Operation, when: number): Bar['state'] {
  const started = at(op.started_at), signalled = at(op.stop?.signalled_at), ended = at(op.ended_at);
  if (Date.parse(op.created_at) > when) return 'not_yet';
  if (ended !== null && ended <= when) return op.status;
  if (signalled !== null && signalled <= when) return 'cancelling';
  if (started !== null && started <= when) return op.status === 'paused' ? 'paused' : 'running';
  return 'pending';
}

/** Parents before their children, children by their beginning. `when`: nothing later is drawn. `cancels`: by id, those that are known. */
export function timeline(operations: readonly Operation[], root: string, when: number, now: number, cancels: ReadonlyMap<string, Cancel> = new Map()): Timeline {
  const { begin, end } = span_of(operations, now);
  const share = (ms: number) => Math.min(1, Math.max(0, (Math.min(ms, when) - begin) / (end - begin)));
  const marks_of = (op: Operation) => phases_of_operation(op, cancels.get(op.stop?.cancel ?? '')).filter((p) => p.at <= when).map((p) => ({ ...p, share: share(p.at) }));
  const known = new Map(operations.map((op) => [op.id, op]));
  const below = new Map<string, Operation[]>();
  for (const op of operations) {
    const above = op.id !== root && op.parent && known.has(op.parent) ? op.parent : '';
    below.set(above, [...(below.get(above) ?? []), op]);
  }
  const bars: Bar[] = [];
  const walk = (above: string, depth: number) => {
    for (const op of (below.get(above) ?? []).sort((a, b) => a.seq - b.seq)) {
      bars.push({ operation: op, depth, parts: parts_of(op, share, now), marks: marks_of(op), state: state_at(op, when) });
      if (depth < 64) walk(op.id, depth + 1);
    }
  };
  walk('', 0);
  return { bars, begin, end };
}

const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second,
  minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour];

export interface Tick {
  share: number; // 0 to 1
  text: string; // since the beginning
}

/** The marks of its axis, at round times: at most so many beside the one at 0. */
export function ticks_of(span_ms: number, most: number): Tick[] {
  const step = steps.find((one) => span_ms / one <= most) ?? day * Math.ceil(span_ms / most / day);
  return Array.from({ length: Math.floor(span_ms / step) + 1 }, (_, i) => ({ share: (i * step) / span_ms, text: i === 0 ? '0' : duration(i * step) }));
}

const least_play_ms = 2000, most_play_ms = 10_000;

/** How long the replay of so much time takes: as long as it took, but for what is very short or long. */
export function play_ms(span_ms: number): number {
  return Math.min(most_play_ms, Math.max(least_play_ms, span_ms));
}

/** The kinds that it shows, in the order of their first bars. */
export function kinds_of(bars: readonly Bar[]): Operation['kind'][] {
  return [...new Set(bars.map((bar) => bar.operation.kind))];
}

function parts_of(op: Operation, share: (ms: number) => number, now: number): Bar['parts'] {
  const created = Date.parse(op.created_at), ended = at(op.ended_at) ?? now;
  const started = at(op.started_at) ?? ended;
  const signalled = Math.min(ended, at(op.stop?.signalled_at) ?? ended);
  const parts: Bar['parts'] = [
    { what: 'waits', from: share(created), to: share(Math.min(started, signalled)) },
    { what: 'runs', from: share(Math.min(started, signalled)), to: share(signalled) },
    { what: 'stops', from: share(signalled), to: share(ended) },
  ];
  return parts.filter((part) => part.to > part.from || (part.what === 'runs' && ended === started));
}
