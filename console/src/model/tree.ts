// The live tree as far as it is open: pages come in, events change it, rows come out. Pure.
//
// Only what somebody has opened is known here; of everything else there are counts. So 100,000 live operations cost what is on the screen.
// A page names the event that its counts were read at: of what comes by events, exactly what lies behind it changes them, also if it came before the page.
import type { ApiEvent, Operation, TreePage } from '../api/types.ts';

export interface TreeNode {
  key: string; // `s:SCOPE` or `o:ID`
  above: TreeNode | null;
  depth: number;
  scope: string;
  operation: Operation | null; // null: a scope
  children: number; // live ones directly below; of a scope those in and below it
  below: number;
  cancelling: number; // of a scope
  as_of: number; // its counts hold the events up to this id
  is_open: boolean;
  is_loaded: boolean; // its first page is there
  cursor: string | null; // of the next page
  nodes: TreeNode[];
  ended_at: number; // when we heard of its end; 0 = it lives
  is_stale: boolean; // not seen since its place was read again
  place: number; // among those beside it, from 1, as rows() has found it
}

export const scope_key = (scope: string) => `s:${scope}`;
export const operation_key = (id: string) => `o:${id}`;
/** By its type: what an event shows of the operation can be newer than the event. */
const is_end = (type: string) => type === 'operation_completed' || type === 'operation_failed' || type === 'operation_cancelled';
export const is_terminal = (status: Operation['status']) => status === 'completed' || status === 'failed' || status === 'cancelled';

/** How many stand beside it, itself included; -1 = unknown, as some were not read. For aria-setsize. */
export function beside(at: TreeNode): number {
  return at.above && at.above.is_loaded && at.above.cursor === null ? at.above.nodes.length : -1;
}

function node(key: string, above: TreeNode | null, scope: string): TreeNode {
  return {
    key, above, scope, depth: above ? above.depth + 1 : -1, operation: null, children: 0, below: 0, cancelling: 0, as_of: 0, is_open: false, is_loaded: false,
    cursor: null, nodes: [], ended_at: 0, is_stale: false, place: 0,
  };
}

/** What an event has changed. */
interface Change {
  event: number;
  op: Operation;
  live: -1 | 0 | 1;
  cancelling: -1 | 0 | 1;
}

/** Ends that were never heard leave an id each: from so many on they are forgotten. */
const most_stopping = 100_000;

export class TreeModel {
  readonly by: 'scope' | 'parent';
  readonly root: TreeNode;
  readonly nodes = new Map<string, TreeNode>();
  /** The highest seq that was seen: "only what I see" stops up to it. */
  seen_seq = 0;
  private flat: TreeNode[] | null = null;
  /** Shown for a while after their end, in its order. */
  private over: TreeNode[] = [];
  private readonly scopes = new Set<TreeNode>();
  /** Nodes whose list is being read, with the ids of what began there meanwhile. */
  private readonly begun = new Map<TreeNode, string[]>();
  /** Of whom it was heard that they are being stopped: each is counted once, and taken back at its end. */
  private readonly stopping = new Set<string>();
  /** What was heard meanwhile: a page can be older. */
  private readonly news = new Map<string, Operation>();
  private changes: Change[] = [];

  constructor(by: 'scope' | 'parent', scope = '') {
    this.by = by;
    this.root = node('', null, scope);
    this.root.is_open = true;
  }

  /** The request for the page of this node behind `cursor`. */
  path_of(at: TreeNode, limit: number, cursor: string | null = null): string {
    const query = new URLSearchParams({ limit: String(limit) });
    if (at.operation) query.set('parent', at.operation.id);
    else {
      query.set('by', this.by);
      if (at.scope) query.set('scope', at.scope);
    }
    if (cursor) query.set('cursor', cursor);
    return `/v1/tree?${query}`;
  }

  /** Before the first of some pages. `anew`: they are of the list's beginning, and what stands in none of them goes at the end. */
  begin_reading(at: TreeNode, anew: boolean): void {
    this.begun.set(at, []);
    if (anew) for (const one of at.nodes) one.is_stale = true;
  }

  add_page(at: TreeNode, page: TreePage): void {
    at.is_loaded = true;
    at.cursor = page.next_cursor;
    for (const { scope } of page.scopes) this.put(at, scope_key(scope), scope);
    for (const { operation } of page.operations) {
      const now = this.news.get(operation.id) ?? operation;
      if (!is_terminal(now.status) || this.nodes.has(operation_key(now.id))) this.put_operation(at, now);
    }
    this.add_counts(at, page);
    this.flat = null;
  }

  /** Of a list that is too long to be read again: its sum, and the counts of the rows that are there. */
  add_counts(at: TreeNode, page: TreePage): void {
    const as_of = Number(page.event), fresh = new Set<TreeNode>();
    const set = (one: TreeNode | undefined, counts: Partial<TreeNode>) => one && fresh.add(Object.assign(one, counts, { as_of }));
    if (!at.operation) set(at, { children: page.live, cancelling: page.cancelling });
    for (const { scope, live, cancelling } of page.scopes) set(this.nodes.get(scope_key(scope)), { children: live, cancelling });
    for (const { operation, children, below } of page.operations) set(this.nodes.get(operation_key(operation.id)), { children, below });
    for (const change of this.changes) this.count(change, fresh);
  }

  /** `failed`: the pages are not all there, so nothing goes. */
  end_reading(at: TreeNode, failed = false): void {
    const begun = this.begun.get(at) ?? [];
    this.begun.delete(at);
    if (failed) for (const one of at.nodes) one.is_stale = false;
    this.drop_stale(at);
    if (at.is_loaded && !at.cursor) this.put_begun(at, begun.map((id) => this.news.get(id)!));
    if (this.begun.size === 0) {
      this.news.clear();
      this.changes = [];
    }
    this.flat = null;
  }

  /** What began while the list was read; what stands below it has begun since, too. */
  private put_begun(at: TreeNode, begun: readonly Operation[]): void {
    const fresh = new Set<TreeNode>();
    for (const op of begun) if (!is_terminal(op.status) && !this.nodes.has(operation_key(op.id))) fresh.add(this.put_operation(at, op));
    if (fresh.size > 0) for (const change of this.changes) this.count(change, fresh);
  }

  /** The open nodes, from above, to be read again. */
  open_nodes(): TreeNode[] {
    return [this.root, ...[...this.nodes.values()].filter((n) => n.is_open)];
  }

  toggle(at: TreeNode, open = !at.is_open): void {
    at.is_open = open;
    this.flat = null;
  }

  /** Whether rows were added or taken away. */
  apply(batch: readonly ApiEvent[], now: number): void {
    for (const event of batch) if (event.type.startsWith('operation_') && event.data) this.apply_one(event.data as Operation, event.type, Number(event.id), now);
  }

  private apply_one(op: Operation, type: string, event: number, now: number): void {
    this.seen_seq = Math.max(this.seen_seq, op.seq);
    const known = this.nodes.get(operation_key(op.id));
    if (known?.ended_at) return;
    const change: Change = { event, op, live: type === 'operation_created' ? 1 : is_end(type) ? -1 : 0, cancelling: this.stop_counted(op, type, known) };
    if (this.begun.size > 0) {
      this.news.set(op.id, op);
      this.changes.push(change);
    }
    this.count(change);
    if (type === 'operation_created') {
      if (!known) this.created(op, event);
      return;
    }
    if (!known) return;
    if (event > known.as_of || is_end(type)) known.operation = op;
    if (!is_end(type)) return;
    known.ended_at = now;
    this.over.push(known);
  }

  private created(op: Operation, event: number): void {
    const parent = op.parent ? this.nodes.get(operation_key(op.parent)) : undefined;
    if (parent) {
      if (parent.is_loaded || this.begun.has(parent)) this.put_operation(parent, op, 'first').as_of = event;
      if (this.by === 'parent' || parent.scope === op.scope) return;
    } else if (op.parent) return;
    const home = this.by === 'parent' ? this.root : this.home_of(op.scope, event);
    if (!home) return;
    const begun = this.begun.get(home);
    if (begun) begun.push(op.id);
    else if (home.is_loaded && !home.cursor) this.put_operation(home, op).as_of = event;
  }

  /** The node of this scope, made if the one above it is there. */
  private home_of(scope: string, event: number): TreeNode | null {
    if (scope === this.root.scope) return this.root;
    const known = this.nodes.get(scope_key(scope));
    if (known) return known;
    const cut = scope.lastIndexOf('/');
    const above = cut > 0 ? this.home_of(scope.slice(0, cut), event) : this.root.scope === '' ? this.root : null;
    if (!above || !(above.is_loaded || this.begun.has(above))) return null;
    return Object.assign(this.put(above, scope_key(scope), scope), { children: 1, as_of: event });
  }

  /** What an event changes of how many are being stopped: each begins once, and is taken back at its end. */
  private stop_counted(op: Operation, type: string, known: TreeNode | undefined): -1 | 0 | 1 {
    if (type === 'operation_cancelling' && !this.stopping.has(op.id)) {
      if (this.stopping.size >= most_stopping) this.stopping.clear();
      this.stopping.add(op.id);
      return 1;
    }
    if (!is_end(type)) return 0;
    // What was never sent ends without having been counted. Of the others it was heard, or happened before the page.
    const was_sent = op.stop !== null && op.stop.receipt !== 'never_started';
    return this.stopping.delete(op.id) || known?.operation?.status === 'cancelling' || was_sent ? -1 : 0;
  }

  /** Takes away what ended before `before`, and scopes in which nothing is left. */
  sweep(before: number): boolean {
    const gone = new Set<TreeNode>();
    this.over = this.over.filter((one) => {
      if (this.nodes.get(one.key) !== one) return false; // its place was read again
      const stays = one.ended_at >= before || one.nodes.some((below) => !gone.has(below));
      if (!stays) gone.add(one);
      return stays;
    });
    for (const one of this.scopes) if (one.children === 0 && one.nodes.every((below) => gone.has(below))) gone.add(one);
    if (gone.size === 0) return false;
    // One pass over each list that loses something, however much it loses.
    for (const above of new Set([...gone].map((one) => one.above))) if (above) above.nodes = above.nodes.filter((one) => !gone.has(one));
    for (const one of gone) this.drop(one);
    this.flat = null;
    return true;
  }

  /** The rows from top to bottom. */
  rows(): readonly TreeNode[] {
    if (this.flat) return this.flat;
    const rows: TreeNode[] = [];
    const walk = (at: TreeNode) => {
      for (const [i, below] of at.nodes.entries()) {
        below.place = i + 1;
        rows.push(below);
        if (below.is_open) walk(below);
      }
    };
    walk(this.root);
    this.flat = rows;
    return rows;
  }

  /** Before it is put away: what is not open is not kept, so it is read when it is opened. Whoever takes it up reads the rest again. */
  rest(): void {
    for (const one of [...this.nodes.values()]) {
      if (one.is_open || !one.is_loaded || this.nodes.get(one.key) !== one) continue;
      for (const below of one.nodes) this.drop(below);
      Object.assign(one, { nodes: [], is_loaded: false, cursor: null });
    }
    this.stopping.clear();
    this.flat = null;
  }

  private drop(one: TreeNode): void {
    for (const below of one.nodes) this.drop(below);
    this.nodes.delete(one.key);
    this.scopes.delete(one);
  }

  private drop_stale(at: TreeNode): void {
    const goes = (one: TreeNode) => one.is_stale && !one.ended_at; // what has ended is swept
    for (const one of at.nodes) if (goes(one)) this.drop(one);
    at.nodes = at.nodes.filter((one) => !goes(one));
  }

  private put_operation(at: TreeNode, op: Operation, where: 'first' | 'last' = 'last'): TreeNode {
    this.seen_seq = Math.max(this.seen_seq, op.seq);
    const one = this.put(at, operation_key(op.id), op.scope, where);
    one.operation = op;
    return one;
  }

  private put(at: TreeNode, key: string, scope: string, where: 'first' | 'last' = 'last'): TreeNode {
    const known = this.nodes.get(key);
    if (known) known.is_stale = false;
    if (known) return known;
    const made = node(key, at, scope);
    this.nodes.set(key, made);
    if (key.startsWith('s:')) {
      this.scopes.add(made);
      const before = at.nodes.findIndex((n) => n.operation !== null || n.scope > scope);
      at.nodes.splice(before < 0 ? at.nodes.length : before, 0, made);
    } else if (where === 'first') at.nodes.unshift(made);
    else at.nodes.push(made);
    this.flat = null;
    return made;
  }

  /** Into all counts that do not hold it yet, or into these alone. */
  private count({ event, op, live, cancelling }: Change, into?: ReadonlySet<TreeNode>): void {
    if (live === 0 && cancelling === 0) return;
    const misses = (one: TreeNode) => event > one.as_of && (!into || into.has(one));
    this.each_scope(op.scope, (one) => {
      if (!misses(one)) return;
      one.children = Math.max(0, one.children + live);
      one.cancelling = Math.min(Math.max(0, one.cancelling + cancelling), one.children);
    });
    const parent = op.parent && live !== 0 ? this.nodes.get(operation_key(op.parent)) : undefined;
    if (!parent) return;
    if (misses(parent)) parent.children = Math.max(0, parent.children + live);
    let edge = op.on_parent_end;
    for (let at: TreeNode | null = parent; at?.operation && edge !== 'detach'; at = at.above) {
      if (misses(at)) at.below = Math.max(0, at.below + live);
      edge = at.operation.on_parent_end;
    }
  }

  private each_scope(scope: string, act: (n: TreeNode) => void): void {
    if (this.root.scope === '' || scope === this.root.scope || scope.startsWith(`${this.root.scope}/`)) act(this.root);
    for (let end = scope.length; end > 0; end = scope.lastIndexOf('/', end - 1)) {
      const at = this.nodes.get(scope_key(scope.slice(0, end)));
      if (at) act(at);
    }
  }
}
