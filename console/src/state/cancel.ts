// One cancel, asked for again and again until it is settled; a server that is away is asked until it is back. No long polls: they would hold connections.
import { useEffect, useState } from 'preact/hooks';
import { get, may_pass, words_of_repeated } from '../api/client.ts';
import { until_shown } from '../api/connections.ts';
import { listen } from '../api/feed.ts';
import type { ApiEvent, Cancel } from '../api/types.ts';
import { api_path } from '../model/route.ts';

const pause_ms = 1000;
/** Most stops settle within a second. */
const first_pause_ms = 150, brief_asks = 8;

export function use_cancel(id: string, first: Cancel | null): { cancel: Cancel | null; trouble: string } {
  const [cancel, set_cancel] = useState<Cancel | null>(first);
  const [trouble, set_trouble] = useState('');
  useEffect(() => {
    const stop = new AbortController();
    // A status never goes back, and neither does what is shown.
    const rank = { fenced: 0, signalled: 1, settled: 2 } as const;
    let best = first;
    const take = (one: Cancel) => {
      if (best && rank[one.status ?? 'fenced'] < rank[best.status ?? 'fenced']) return;
      best = one;
      set_cancel(one);
      set_trouble('');
    };
    const ask = async () => {
      for (let asks = 0; !stop.signal.aborted && best?.status !== 'settled'; ++asks) {
        let pause = asks < brief_asks ? first_pause_ms : pause_ms;
        try {
          await until_shown(stop.signal);
          take(await get<Cancel>(api_path('cancels', id), stop.signal));
        } catch (error) {
          if (stop.signal.aborted) return;
          set_trouble(words_of_repeated(error));
          if (!may_pass(error)) return;
          pause = pause_ms;
        }
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    };
    void ask();
    const unlisten = listen((batch) => {
      for (const event of batch as readonly ApiEvent[]) if (event.type.startsWith('cancel_') && event.cancel === id) take(event.data as Cancel);
    });
    return () => {
      stop.abort();
      unlisten();
    };
  }, [id]);
  return { cancel, trouble };
}
