// Looks at /metrics for as long as the page is open, so that the charts of a day are there when somebody opens them; often while somebody does.
import { effect, signal } from '@preact/signals';
import { get_text, words_of_repeated } from '../api/client.ts';
import { server_now } from '../api/server_clock.ts';
import { look_of, with_look, type Look, type Read } from '../model/looks.ts';
import { parse_metrics, type Sample } from '../model/metrics.ts';
import { may, session_state } from './session.ts';

export const looks = signal<readonly Look[]>([]);
/** Those of the last look. */
export const samples = signal<readonly Sample[] | null>(null);
export const measures_trouble = signal('');

const look_ms = 5000, unwatched_look_ms = 15_000;
const most_looks = 1440;

let last: Read | null = null;
let sessions = 0; // grows when somebody else may sign in
let watchers = 0;
let is_looking = false;
let looked_at = -Infinity; // on the page's own clock, which nobody sets

async function look(): Promise<void> {
  if (is_looking || !may.measure_cluster.value) return;
  is_looking = true;
  looked_at = performance.now();
  const mine = sessions;
  try {
    const read: Read = { samples: parse_metrics(await get_text('/metrics')), at: Math.max(server_now() / 1000, (last?.at ?? 0) + 0.001) };
    if (mine !== sessions) return;
    looks.value = with_look(looks.value, look_of(read, last), most_looks);
    last = read;
    samples.value = read.samples;
    measures_trouble.value = '';
  } catch (error) {
    if (mine === sessions) measures_trouble.value = words_of_repeated(error);
  } finally {
    is_looking = false;
  }
}

function look_if_due(): void {
  if (document.hidden || session_state.value !== 'in') return;
  if (performance.now() - looked_at >= (watchers > 0 ? look_ms : unwatched_look_ms) - 500) void look();
}

export function begin_measures(): void {
  effect(() => {
    if (session_state.value === 'in') return;
    ++sessions;
    last = samples.value = null;
    looks.value = [];
  });
  setInterval(look_if_due, look_ms);
}

/** Looks at once, and oftener while somebody watches. */
export function watch_measures(): () => void {
  watchers += 1;
  void look();
  return () => void (watchers -= 1);
}
