// What failed for now is asked again by itself, with growing waits; not while the page is hidden, and not what quelld has refused.
import { may_pass } from '../api/client.ts';
import { until_shown } from '../api/connections.ts';

const first_wait_ms = 1000, most_wait_ms = 30_000;

/** Milliseconds before it is asked again behind so many failures in a row (from 1). */
export function wait_after(failures: number): number {
  return Math.min(most_wait_ms, first_wait_ms * 2 ** Math.min(failures - 1, 10));
}

export class Again {
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private planned: AbortController | null = null;

  constructor(private readonly ask: () => unknown) {}

  /** Plans the next time, once for all that fail before it. */
  failed(error: unknown): void {
    if (this.planned || !may_pass(error)) return;
    const mine = (this.planned = new AbortController());
    this.failures += 1;
    this.timer = setTimeout(() => {
      void until_shown(mine.signal).then(() => {
        if (mine.signal.aborted) return;
        this.planned = null;
        this.ask();
      });
    }, wait_after(this.failures));
  }

  worked(): void {
    this.failures = 0;
    this.end();
  }

  /** Forgets what is planned. */
  end(): void {
    clearTimeout(this.timer);
    this.planned?.abort();
    this.planned = null;
  }
}
