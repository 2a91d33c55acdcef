// The end of an output stream, and what comes: read as bytes, from the offset that was reached.
import { signal } from '@preact/signals';
import { ApiError, look, may_pass, send, words_of_repeated } from '../api/client.ts';
import { in_turn } from '../api/connections.ts';
import { connection } from '../api/feed.ts';
import { in_frame } from '../api/slices.ts';
import { api_path } from '../model/route.ts';
import { AnsiReader } from '../model/ansi.ts';

export type StreamName = 'stdout' | 'stderr';

const tail_bytes = 512 * 1024;
const pause_ms = 1000;

/** Output can be silent for hours; quelld cannot. What is read when its events are lost ends as one without an answer, and is read again from where it was. */
async function while_heard(turn: AbortSignal, read: (until: AbortSignal) => Promise<void>): Promise<void> {
  const mine = new AbortController();
  const end = () => mine.abort();
  turn.addEventListener('abort', end);
  if (turn.aborted) end();
  const first = connection.peek(); // one that is lost already is not a reason
  const forget = connection.subscribe((now) => now !== first && now.state === 'lost' && end());
  try {
    await read(mine.signal);
  } catch (error) {
    throw mine.signal.aborted && !turn.aborted ? new ApiError(0, 'silent', 'quelld does not answer.') : error;
  } finally {
    forget();
    turn.removeEventListener('abort', end);
  }
}

export class OutputTail {
  readonly reader = new AnsiReader();
  readonly version = signal(0);
  readonly trouble = signal('');
  /** Where what is shown begins. */
  readonly begin = signal(0);
  readonly is_over = signal(false);
  private readonly stop = new AbortController();
  private readonly decoder = new TextDecoder();
  private offset = -1;
  private is_planned = false;

  constructor(private readonly id: string, private readonly name: StreamName) {
    void this.follow();
  }

  close(): void {
    this.stop.abort();
  }

  private async follow(): Promise<void> {
    while (!this.stop.signal.aborted && !this.is_over.value) {
      try {
        // What is there already is brief; what follows is a stream among those of all tabs.
        if (this.offset < 0) await look((until) => (this.offset < 0 ? this.read(until) : Promise.resolve()), this.stop.signal);
        else await in_turn(this.stop.signal, (turn, has_opened) => while_heard(turn, (until) => this.read(until, has_opened)));
        this.trouble.value = '';
      } catch (error) {
        if (this.stop.signal.aborted) return;
        this.trouble.value = words_of_repeated(error);
        if (!may_pass(error)) return;
      }
      await new Promise((resolve) => setTimeout(resolve, pause_ms));
    }
  }

  private async read(until: AbortSignal, has_opened?: () => void): Promise<void> {
    const from = this.offset < 0 ? `tail_bytes=${tail_bytes}` : `offset=${this.offset}&follow=true`;
    const answer = await send('GET', `${api_path('operations', this.id, 'output')}?stream=${this.name}&${from}`, { signal: until });
    has_opened?.();
    const offset = Number(answer.headers.get('Quell-Offset') ?? 0);
    if (this.offset < 0) this.begin.value = offset;
    if (this.offset < 0 || offset > this.offset) this.offset = offset;
    const is_end = answer.headers.get('Quell-End') === 'true';
    const body = answer.body?.getReader();
    for (let part = await body?.read(); part && !part.done; part = await body?.read()) this.add(part.value);
    if (is_end) this.is_over.value = true;
  }

  private add(bytes: Uint8Array): void {
    this.offset += bytes.length;
    this.reader.add(this.decoder.decode(bytes, { stream: true }));
    if (this.is_planned) return;
    this.is_planned = true;
    in_frame(() => {
      this.is_planned = false;
      this.version.value += 1;
    });
  }
}
