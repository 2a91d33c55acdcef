// A flat list of operations that match a search, page by page: fed from the API and the events. What failed is asked again by itself.
import { signal } from '@preact/signals';
import { get, words_of_repeated } from '../api/client.ts';
import { heard, listen, resync } from '../api/feed.ts';
import { server_now } from '../api/server_clock.ts';
import type { ApiEvent, Operation } from '../api/types.ts';
import { read_to_with, with_changes, with_page } from '../model/listing.ts';
import { look_back } from '../model/look_back.ts';
import { belongs, matches, parse_search, request_of, type Search } from '../model/search.ts';
import { Again } from './again.ts';
import { places } from './router.ts';
import { saw } from './stopping.ts';

const page_size = 200, most_in_page = 1000;
export const most_rows = 20_000;
/** What does not match any more is shown for a moment, as in the tree. */
const shown_after_end_ms = 4000;
const sweep_ms = 1000;

export interface Found {
  rows: readonly Operation[];
  cursor: string | null;
  read_to: number;
  /** When the oldest operation began that was read, whether it matches or not; '' = unknown. */
  back_to: string;
  /** first: a page is awaited; on: others before it were not enough; limit: a look back has ended at its limit; rest: nothing is awaited. */
  look: 'first' | 'on' | 'limit' | 'rest';
  /** A bad word in the search is an answer of the server, shown as it is. */
  trouble: string;
}

interface OperationPage {
  operations: Operation[];
  next_cursor: string | null;
}

const nothing_yet: Found = { rows: [], cursor: null, read_to: Infinity, back_to: '', look: 'first', trouble: '' };
const is_looking = ({ look }: Found) => look === 'first' || look === 'on';

export class LiveList {
  readonly state = signal<Found>(nothing_yet);
  private readonly search: Search;
  /** What events said since a page was asked for: the page may be older than that. */
  private meanwhile = new Map<string, Operation>();
  private readonly rows_to_leave = new Map<string, number>(); // and when they leave
  private readonly over = new AbortController();
  private readonly again = new Again(() => this.retry());
  private readonly ends: (() => void)[] = [];
  private asked_for: string | null = null; // the cursor of the newest page
  private read_rows = 0; // so many were read, those that do not match included
  private newest_load = 0; // pages of an older one are not shown any more

  constructor(private readonly text: string, private readonly which: 'live' | 'ended') {
    this.search = parse_search(text);
    void heard().then(() => this.load(null));
    const sweeper = setInterval(() => this.sweep(), sweep_ms);
    const seen = resync.value;
    this.ends.push(listen((batch) => this.apply(batch)), () => clearInterval(sweeper), resync.subscribe((n) => n !== seen && void this.load(null)));
  }

  close(): void {
    this.over.abort();
    this.again.end();
    for (const end of this.ends) end();
  }

  /** Older ones, until there is enough to look at. */
  more(): void {
    if (this.state.value.cursor && !is_looking(this.state.value)) void this.load(this.state.value.cursor);
  }

  /** The page that could not be read. */
  retry(): void {
    void this.load(this.asked_for);
  }

  private place(): string {
    return `read of ${this.which} ${this.text}`;
  }

  private is_here(op: Operation, is_listed: boolean): boolean {
    return belongs(this.search, op, this.which, server_now(), is_listed);
  }

  private is_wanted(load: number): boolean {
    return load === this.newest_load && !this.over.signal.aborted;
  }

  private async load(from: string | null): Promise<void> {
    if (this.over.signal.aborted) return;
    const mine = ++this.newest_load;
    this.again.end();
    this.state.value = { ...this.state.value, look: 'first' };
    try {
      const how = await look_back(from, (cursor) => this.read(cursor), (page, cursor) => (this.is_wanted(mine) ? this.take(page, cursor) : null));
      if (how !== 'unwanted') this.state.value = { ...this.state.value, look: how === 'limit' ? 'limit' : 'rest' };
    } catch (error) {
      if (!this.is_wanted(mine)) return;
      this.again.failed(error);
      this.state.value = { ...this.state.value, look: 'rest', trouble: words_of_repeated(error) };
    }
  }

  private read(cursor: string | null): Promise<OperationPage> {
    this.asked_for = cursor;
    this.meanwhile = new Map();
    const query = request_of(this.search, this.which, server_now());
    // From the beginning as far as it was read before, or when this entry of the history was left.
    const known = cursor ? 0 : Math.max(this.read_rows, places.get(this.place()));
    query.set('limit', String(Math.min(most_in_page, Math.max(page_size, known))));
    if (cursor) query.set('cursor', cursor);
    return get<OperationPage>(`/v1/operations?${query}`, this.over.signal);
  }

  /** How many of the page match. */
  private take({ operations, next_cursor }: OperationPage, cursor: string | null): number {
    this.again.worked();
    this.read_rows = operations.length + (cursor ? this.read_rows : 0);
    places.put(this.place(), this.read_rows);
    for (const op of operations) saw(op.seq);
    const before = cursor ? this.state.value : nothing_yet;
    const found = operations.filter((op) => matches(this.search, op));
    const read_to = read_to_with(before.read_to, operations, next_cursor === null);
    const rows = this.with_news({ rows: with_page(before.rows, found), read_to }, this.meanwhile);
    this.state.value = { rows, read_to, back_to: operations.at(-1)?.created_at ?? before.back_to, cursor: rows.length < most_rows ? next_cursor : null, look: 'on', trouble: '' };
    return found.length;
  }

  private apply(batch: readonly ApiEvent[]): void {
    const changed = new Map<string, Operation>();
    for (const event of batch) if (event.operation && event.type.startsWith('operation_')) changed.set(event.operation, event.data as Operation);
    if (is_looking(this.state.value)) for (const [id, op] of changed) this.meanwhile.set(id, op);
    for (const id of changed.keys()) this.rows_to_leave.delete(id);
    const rows = this.with_news(this.state.value, changed);
    if (rows === this.state.value.rows) return;
    for (const op of rows) if (changed.has(op.id)) saw(op.seq);
    this.state.value = { ...this.state.value, rows: rows.slice(0, most_rows) };
  }

  private with_news(list: { rows: readonly Operation[]; read_to: number }, news: ReadonlyMap<string, Operation>): readonly Operation[] {
    const next = with_changes(list, news, (op, is_listed) => this.is_here(op, is_listed));
    for (const id of next.leaving) this.rows_to_leave.set(id, Date.now() + shown_after_end_ms);
    return next.rows;
  }

  private sweep(): void {
    const gone = new Set([...this.rows_to_leave].filter(([, at]) => at <= Date.now()).map(([id]) => id));
    if (gone.size === 0) return;
    for (const id of gone) this.rows_to_leave.delete(id);
    this.state.value = { ...this.state.value, rows: this.state.value.rows.filter((op) => !gone.has(op.id)) };
  }
}
