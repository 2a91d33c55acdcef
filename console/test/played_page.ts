// What the streams, their readers and the views' state need of a page: its address, its visibility, the locks of all tabs, the channels between them, and tasks. Import it first.

type Grant = { name: string; run: () => Promise<void> };

/** Web Locks, as far as one exclusive lock after the other is asked for. */
export class PlayedLocks {
  private held: Grant[] = [];
  private pending: Grant[] = [];

  async query() {
    return { held: this.held.map(({ name }) => ({ name })), pending: this.pending.map(({ name }) => ({ name })) };
  }

  request(name: string, { signal }: { signal: AbortSignal }, act: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const grant = { name, run: async () => {} };
      grant.run = async () => {
        this.held.push(grant);
        await act().then(resolve, reject);
        this.held.splice(this.held.indexOf(grant), 1);
        const next = this.pending.findIndex((one) => one.name === name);
        if (next >= 0) void this.pending.splice(next, 1)[0]!.run();
      };
      if (!this.held.some((one) => one.name === name)) return void grant.run();
      this.pending.push(grant);
      signal.addEventListener('abort', () => {
        const at = this.pending.indexOf(grant);
        if (at < 0) return;
        this.pending.splice(at, 1);
        reject(new DOMException('aborted', 'AbortError'));
      });
    });
  }
}

class PlayedDocument extends EventTarget {
  hidden = false;
  show(is_shown: boolean): void {
    this.hidden = !is_shown;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

/** A channel between tabs, of which a test plays the others: it hears what they say by `onmessage`. */
export class PlayedChannel {
  static readonly all = new Map<string, PlayedChannel>();
  readonly said: unknown[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor(name: string) {
    PlayedChannel.all.set(name, this);
  }

  postMessage(words: unknown): void {
    this.said.push(words);
  }
}

/** Node's own keeps the test alive for ever. */
class PlayedMessageChannel {
  readonly port1: { onmessage: (() => void) | null } = { onmessage: null };
  readonly port2 = { postMessage: () => void setImmediate(() => this.port1.onmessage?.()) };
}

export const page = new PlayedDocument();
Object.defineProperty(globalThis, 'document', { value: page, configurable: true });
Object.defineProperty(globalThis, 'navigator', { value: { locks: new PlayedLocks() }, configurable: true });
Object.defineProperty(globalThis, 'BroadcastChannel', { value: PlayedChannel, configurable: true });
Object.defineProperty(globalThis, 'MessageChannel', { value: PlayedMessageChannel, configurable: true });
Object.defineProperty(globalThis, 'location', { value: { pathname: '/', search: '', origin: 'http://quelld' }, configurable: true });
Object.defineProperty(globalThis, 'history', { value: { state: null, pushState: () => {}, replaceState: () => {} }, configurable: true });
