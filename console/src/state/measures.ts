// Looks at /metrics every few seconds, and what they say of the time between: for as long as the page is open.
import { signal } from '@preact/signals';
import { get_text, words_of_repeated } from '../api/client.ts';
import { between, histogram_of, parse_metrics, quantile, value_of, type Sample } from '../model/metrics.ts';

export interface Look {
  at: number; // seconds since 1970
  samples: Sample[];
  fenced: number | null; // seconds, 99 %
  signalled: number | null;
  settled: number | null;
  commit: number | null;
  starts: number | null; // a second
  events: number | null; // a second
  live: number;
  oldest: number;
}

export const looks = signal<Look[]>([]);
export const measures_trouble = signal('');

const look_ms = 5000;
const most_looks = 720;
const share = 0.99;

function look_of(samples: Sample[], before: Look | undefined): Look {
  const at = Date.now() / 1000;
  const span = before ? Math.max(0.001, at - before.at) : 1;
  const of = (name: string) => {
    const now = histogram_of(samples, name);
    return now ? quantile(between(before ? histogram_of(before.samples, name) : null, now), share) : null;
  };
  const rate = (value: (s: Sample[]) => number) => (before ? Math.max(0, value(samples) - value(before.samples)) / span : null);
  const started = (all: Sample[]) => value_of(all.filter((s) => s.labels['type'] === 'operation_started'), 'quell_events_total');
  return {
    at, samples, fenced: of('quell_cancel_fenced_seconds'), signalled: of('quell_cancel_signalled_seconds'), settled: of('quell_cancel_settled_seconds'), commit: of('quell_journal_commit_seconds'),
    starts: rate(started), events: rate((all) => value_of(all, 'quell_events_total')), live: value_of(samples, 'quell_operations_live'), oldest: value_of(samples, 'quell_oldest_open_cancel_seconds'),
  };
}

async function look(): Promise<void> {
  try {
    const samples = parse_metrics(await get_text('/metrics'));
    looks.value = [...looks.value.slice(1 - most_looks), look_of(samples, looks.value.at(-1))];
    measures_trouble.value = '';
  } catch (error) {
    measures_trouble.value = words_of_repeated(error);
  }
}

let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Looks while somebody watches. */
export function watch_measures(): () => void {
  if (watchers++ === 0) {
    void look();
    timer = setInterval(() => !document.hidden && void look(), look_ms);
  }
  return () => {
    if (--watchers === 0) clearInterval(timer);
  };
}
