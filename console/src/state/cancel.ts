// One cancel, asked for again and again with long polls until it is settled; a server that is away is asked until it is back.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, get, words_of } from '../api/client.ts';
import { listen } from '../api/feed.ts';
import type { ApiEvent, Cancel } from '../api/types.ts';

const pause_ms = 1000;

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
      while (!stop.signal.aborted && best?.status !== 'settled') {
        try {
          const wait = best ? '?wait=settled&wait_ms=1000' : '';
          take(await get<Cancel>(`/v1/cancels/${id}${wait}`, stop.signal));
          continue;
        } catch (error) {
          if (stop.signal.aborted) return;
          set_trouble(words_of(error));
          if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) return;
        }
        await new Promise((resolve) => setTimeout(resolve, pause_ms));
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
