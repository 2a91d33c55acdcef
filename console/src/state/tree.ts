// The tree's model fed from the API and the events. What events change is shown ten times a second at most.
import { signal } from '@preact/signals';
import { get, words_of_repeated } from '../api/client.ts';
import { heard, listen, resync } from '../api/feed.ts';
import type { TreePage } from '../api/types.ts';
import { TreeModel, type TreeNode } from '../model/tree.ts';
import { Again } from './again.ts';
import { saw } from './stopping.ts';

const shown_after_end_ms = 4000;
const sweep_ms = 1000;
const refresh_ms = 30_000;
/** Changes are shown so often at most; more nobody can read, and each costs layout and paint. */
const show_ms = 100;
const page_rows = 200;
const reread_page_rows = 1000;
/** A list as long as this is read again now and then; of a longer one only the counts. */
const most_refreshed_rows = 1000;
/** Events were missed: so much of a list is read again, and the rest as somebody scrolls there. */
const most_reread_rows = 10_000;

export class LiveTree {
  readonly model: TreeModel;
  /** Grows when something to show has changed. */
  readonly version = signal(0);
  readonly trouble = signal('');
  readonly is_loading = signal(true);
  private readonly reading = new Set<TreeNode>();
  /** Of what could not be read: what is wrong. */
  private readonly troubles = new Map<TreeNode, string>();
  private readonly again = new Again(() => this.reload());
  private readonly over = new AbortController();
  private readonly ends: (() => void)[] = [];
  private showing: ReturnType<typeof setTimeout> | undefined;
  private shown_at = 0;

  /** `before`: a tree as it was left, with its open branches; it is shown at once and read again. */
  constructor(by: 'scope' | 'parent', scope: string, before?: TreeModel) {
    this.model = before ?? new TreeModel(by, scope);
    this.is_loading.value = !this.model.root.is_loaded;
    // Events before the first page are in it, and those behind it are heard.
    void heard().then(() => (this.model.root.is_loaded ? this.reload() : this.load(this.model.root)));
    this.ends.push(listen((batch) => {
      this.model.apply(batch, Date.now());
      this.changed_soon();
    }));
    const sweeper = setInterval(() => this.model.sweep(Date.now() - shown_after_end_ms) && this.changed(), sweep_ms);
    // Counts of what is not open are carried along from events; now and then they are read.
    const refresher = setInterval(() => !document.hidden && void this.refresh(), refresh_ms);
    const seen = resync.value;
    this.ends.push(() => clearInterval(sweeper), () => clearInterval(refresher), resync.subscribe((n) => n !== seen && void this.reload()));
  }

  close(): void {
    clearTimeout(this.showing);
    this.over.abort();
    this.again.end();
    for (const end of this.ends) end();
  }

  /** The next page of this node. */
  async load(at: TreeNode): Promise<void> {
    if (at.is_loaded && !at.cursor) return;
    await this.read(at, async () => this.model.add_page(at, await this.page(at, page_rows, at.is_loaded ? at.cursor : null)));
  }

  /** All that is open is read again, in its place: nobody loses the row that they look at. */
  async reload(): Promise<void> {
    for (const at of this.model.open_nodes()) {
      if (this.over.signal.aborted) return;
      if (at === this.model.root || this.model.nodes.get(at.key) === at) await this.reread(at);
    }
  }

  private async refresh(): Promise<void> {
    for (const at of this.model.open_nodes()) {
      if (at.nodes.length <= most_refreshed_rows) await this.reread(at);
      else await this.read(at, async () => this.model.add_counts(at, await this.page(at, page_rows, null)));
    }
  }

  private reread(at: TreeNode): Promise<void> {
    const rows = Math.min(at.nodes.length, most_reread_rows);
    const pages = async () => {
      let cursor: string | null = null, got = 0;
      do {
        const page: TreePage = await this.page(at, reread_page_rows, cursor);
        this.model.add_page(at, page);
        got += page.scopes.length + page.operations.length;
        cursor = page.next_cursor;
      } while (cursor && got < rows);
    };
    return this.read(at, pages, true);
  }

  private page(at: TreeNode, rows: number, cursor: string | null): Promise<TreePage> {
    return get<TreePage>(this.model.path_of(at, rows, cursor), this.over.signal);
  }

  private async read(at: TreeNode, pages: () => Promise<void>, anew = false): Promise<void> {
    if (this.reading.has(at)) return;
    this.reading.add(at);
    this.model.begin_reading(at, anew);
    let is_done = false;
    try {
      await pages();
      is_done = true;
      this.troubles.delete(at);
    } catch (error) {
      if (!this.over.signal.aborted) {
        this.troubles.set(at, words_of_repeated(error));
        this.again.failed(error);
      }
    } finally {
      this.model.end_reading(at, !is_done);
      this.say_trouble();
      this.reading.delete(at);
      this.is_loading.value = false;
      this.changed();
    }
  }

  /** The newest trouble of what is still there. */
  private say_trouble(): void {
    for (const at of this.troubles.keys()) if (at !== this.model.root && this.model.nodes.get(at.key) !== at) this.troubles.delete(at);
    this.trouble.value = [...this.troubles.values()].at(-1) ?? '';
    if (this.troubles.size === 0) this.again.worked();
  }

  toggle(at: TreeNode, open?: boolean): void {
    this.model.toggle(at, open);
    if (at.is_open && !at.is_loaded) void this.load(at);
    this.changed();
  }

  private changed_soon(): void {
    this.showing ??= setTimeout(() => this.changed(), Math.max(0, this.shown_at + show_ms - performance.now()));
  }

  private changed(): void {
    clearTimeout(this.showing);
    this.showing = undefined;
    this.shown_at = performance.now();
    saw(this.model.seen_seq);
    this.version.value += 1;
  }
}
