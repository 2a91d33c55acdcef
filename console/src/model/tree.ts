// The live tree as far as it is open: pages come in, events change it, rows come out. Pure.
//
// Only what somebody has opened is known here; of everything else there are counts. So 100,000 live operations cost what is on the screen.
import type { ApiEvent, Operation, ScopeView, TreePage } from '../api/types.ts';

export interface TreeNode {
  key: string; // `s:SCOPE` or `o:ID`
  above: TreeNode | null;
  depth: number;
  scope: string;
  operation: Operation | null; // null: a scope
  children: number; // live ones directly below; of a scope those in and below it
  below: number;
  cancelling: number; // of a scope
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
export const is_terminal = (status: Operation['status']) => status === 'completed' || status === 'failed' || status === 'cancelled';

/** How many stand beside it, itself included; -1 = unknown, as some were not read. For aria-setsize. */
export function beside(at: TreeNode): number {
  return at.above && at.above.is_loaded && at.above.cursor === null ? at.above.nodes.length : -1;
}

function node(key: string, above: TreeNode | null, scope: string): TreeNode {
  return {
    key, above, scope, depth: above ? above.depth + 1 : -1, operation: null, children: 0, below: 0, cancelling: 0, is_open: false, is_loaded: false,
    cursor: null, nodes: [], ended_at: 0, is_stale: false, place: 0,
  };
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
    this.add_counts(at, page);
    for (const scope of page.scopes) this.put_scope(at, scope);
    for (const { operation, children, below } of page.operations) {
      const now = this.news.get(operation.id) ?? operation;
      if (is_terminal(now.status) && !this.nodes.has(operation_key(now.id))) continue;
      const one = this.put_operation(at, now);
      one.children = children;
      one.below = below;
    }
    this.flat = null;
  }

  /** Of a list that is too long to be read again: its sum, and the counts of the rows that are there. */
  add_counts(at: TreeNode, page: TreePage): void {
    if (!at.operation) Object.assign(at, { children: page.live, cancelling: page.cancelling });
    for (const { scope, live, cancelling } of page.scopes) Object.assign(this.nodes.get(scope_key(scope)) ?? {}, { children: live, cancelling });
    for (const { operation, children, below } of page.operations) Object.assign(this.nodes.get(operation_key(operation.id)) ?? {}, { children, below });
  }

  /** `failed`: the pages are not all there, so nothing goes. */
  end_reading(at: TreeNode, failed = false): void {
    const begun = this.begun.get(at) ?? [];
    this.begun.delete(at);
    if (failed) for (const one of at.nodes) one.is_stale = false;
    this.drop_stale(at);
    if (at.is_loaded && !at.cursor) for (const id of begun) if (!is_terminal(this.news.get(id)!.status)) this.put_operation(at, this.news.get(id)!);
    if (this.begun.size === 0) this.news.clear();
    this.flat = null;
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
    for (const event of batch) if (event.type.startsWith('operation_') && event.data) this.apply_one(event.data as Operation, event.type, now);
  }

  private apply_one(op: Operation, type: string, now: number): void {
    this.seen_seq = Math.max(this.seen_seq, op.seq);
    if (this.begun.size > 0) this.news.set(op.id, op);
    const known = this.nodes.get(operation_key(op.id));
    if (type === 'operation_created') {
      if (!known) this.created(op);
      return;
    }
    const was_cancelling = known?.operation?.status === 'cancelling'; // by its page
    if (type === 'operation_cancelling') this.begins_to_stop(op, was_cancelling);
    if (known) {
      if (known.ended_at) return;
      known.operation = op;
    }
    if (is_terminal(op.status)) this.ended(op, known, was_cancelling, now);
  }

  private created(op: Operation): void {
    this.count_live(op.scope, 1);
    const parent = op.parent ? this.nodes.get(operation_key(op.parent)) : undefined;
    if (parent) {
      parent.children += 1;
      for (let at: TreeNode | null = parent; at?.operation; at = at.above) at.below += 1;
      if (parent.is_loaded || this.begun.has(parent)) this.put_operation(parent, op, 'first');
      if (this.by === 'parent' || parent.scope === op.scope) return;
    } else if (op.parent) return;
    const home = this.by === 'parent' ? this.root : this.home_of(op.scope);
    if (!home) return;
    const begun = this.begun.get(home);
    if (begun) begun.push(op.id);
    else if (home.is_loaded && !home.cursor) this.put_operation(home, op);
  }

  /** The node of this scope, made if the one above it is there. */
  private home_of(scope: string): TreeNode | null {
    if (scope === this.root.scope) return this.root;
    const known = this.nodes.get(scope_key(scope));
    if (known) return known;
    const cut = scope.lastIndexOf('/');
    const above = cut > 0 ? this.home_of(scope.slice(0, cut)) : this.root.scope === '' ? this.root : null;
    if (!above || !(above.is_loaded || this.begun.has(above))) return null;
    return this.put_scope(above, { scope, live: 1, cancelling: 0, cutoff_seq: null, last_cancel: null });
  }

  private begins_to_stop(op: Operation, is_counted: boolean): void {
    if (this.stopping.has(op.id)) return;
    if (this.stopping.size >= most_stopping) this.stopping.clear();
    this.stopping.add(op.id);
    if (!is_counted) this.count_cancelling(op.scope, 1);
  }

  private ended(op: Operation, known: TreeNode | undefined, was_cancelling: boolean, now: number): void {
    this.count_live(op.scope, -1);
    // What was never sent ends without having been counted as cancelling. Of the others a page may have counted it.
    const was_sent = op.stop !== null && op.stop.receipt !== 'never_started';
    if (this.stopping.delete(op.id) || was_cancelling || was_sent) this.count_cancelling(op.scope, -1);
    const parent = op.parent ? this.nodes.get(operation_key(op.parent)) : undefined;
    if (parent) {
      parent.children = Math.max(0, parent.children - 1);
      for (let at: TreeNode | null = parent; at?.operation; at = at.above) at.below = Math.max(0, at.below - 1);
    }
    if (known) {
      known.ended_at = now;
      this.over.push(known);
    }
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

  private put_scope(at: TreeNode, view: ScopeView): TreeNode {
    const one = this.put(at, scope_key(view.scope), view.scope);
    one.children = view.live;
    one.cancelling = view.cancelling;
    return one;
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

  private count_live(scope: string, change: number): void {
    this.each_scope(scope, (n) => {
      n.children = Math.max(0, n.children + change);
      n.cancelling = Math.min(n.cancelling, n.children);
    });
  }

  private count_cancelling(scope: string, change: number): void {
    this.each_scope(scope, (n) => (n.cancelling = Math.max(0, n.cancelling + change)));
  }

  private each_scope(scope: string, act: (n: TreeNode) => void): void {
    if (this.root.scope === '' || scope === this.root.scope || scope.startsWith(`${this.root.scope}/`)) act(this.root);
    for (let end = scope.length; end > 0; end = scope.lastIndexOf('/', end - 1)) {
      const at = this.nodes.get(scope_key(scope.slice(0, end)));
      if (at) act(at);
    }
  }
}
