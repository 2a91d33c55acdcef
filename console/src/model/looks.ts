// What single looks at /metrics say of the time between them, over a day. Pure.
import { between, histogram_of, quantile, value_of, type Sample } from './metrics.ts';

/** Figures alone: what they were made of is forgotten with the next look. */
export interface Look {
  from: number; // seconds since 1970: the look before it
  at: number; // seconds since 1970
  fenced: number | null; // seconds, 99 %
  signalled: number | null;
  settled: number | null;
  commit: number | null;
  starts: number | null; // a second
  events: number | null; // a second
  live: number;
  oldest: number; // seconds
}

/** Samples of one look, to compare the next ones with. */
export interface Read {
  at: number;
  samples: readonly Sample[];
}

const share = 0.99;

export function look_of({ at, samples }: Read, before: Read | null): Look {
  const span = before ? Math.max(0.001, at - before.at) : 1;
  const of = (name: string) => {
    const now = histogram_of(samples, name);
    return now ? quantile(between(before ? histogram_of(before.samples, name) : null, now), share) : null;
  };
  const rate = (value: (s: readonly Sample[]) => number) => (before ? Math.max(0, value(samples) - value(before.samples)) / span : null);
  const started = (all: readonly Sample[]) => value_of(all.filter((s) => s.labels['type'] === 'operation_started'), 'quell_events_total');
  return {
    from: before?.at ?? at, at, fenced: of('quell_cancel_fenced_seconds'), signalled: of('quell_cancel_signalled_seconds'), settled: of('quell_cancel_settled_seconds'), commit: of('quell_journal_commit_seconds'),
    starts: rate(started), events: rate((all) => value_of(all, 'quell_events_total')), live: value_of(samples, 'quell_operations_live'), oldest: value_of(samples, 'quell_oldest_open_cancel_seconds'),
  };
}

const higher = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));
const mean = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : (a + b) / 2);

/** Two looks as one: the slowest stop and commit stay to be seen. */
function joined(a: Look, b: Look): Look {
  return {
    from: a.from, at: b.at, fenced: higher(a.fenced, b.fenced), signalled: higher(a.signalled, b.signalled), settled: higher(a.settled, b.settled), commit: higher(a.commit, b.commit),
    starts: mean(a.starts, b.starts), events: mean(a.events, b.events), live: Math.max(a.live, b.live), oldest: Math.max(a.oldest, b.oldest),
  };
}

/** With another look. Beyond `most`, the two that tell of the shortest time become one: a page that is open for days keeps all of them in as much memory. */
export function with_look(looks: readonly Look[], next: Look, most: number): Look[] {
  const all = [...looks, next];
  if (all.length <= most) return all;
  const span = (i: number) => all[i + 1]!.at - all[i]!.from;
  let at = 0;
  for (let i = 1; i + 1 < all.length; ++i) if (span(i) < span(at)) at = i;
  all.splice(at, 2, joined(all[at]!, all[at + 1]!));
  return all;
}
