// A list of operations, newest first, that is read page by page and changes meanwhile. Pure.
import type { Operation } from '../api/types.ts';

export interface Listing {
  rows: readonly Operation[];
  /** All that belongs here has been read down to this seq, whether any of it matched or not; Infinity = nothing yet, -Infinity = everything. */
  read_to: number;
}

/** How far back a list has been read with this page. A page can be empty and not be the last. */
export function read_to_with(read_to: number, page: readonly Operation[], is_last: boolean): number {
  return is_last ? -Infinity : Math.min(read_to, ...page.map((op) => op.seq));
}

/** Another page; what is shown already is shown as it is in the page. */
export function with_page(rows: readonly Operation[], page: readonly Operation[]): Operation[] {
  const read = new Map(page.map((op) => [op.id, op]));
  const shown = rows.map((op) => read.get(op.id) ?? op);
  const known = new Set(rows.map((op) => op.id));
  return in_order([...shown, ...page.filter((op) => !known.has(op.id))]);
}

/**
 * What has changed takes its row or, if it belongs here, gets one. What does not belong here any more keeps its row; `leaving` names it.
 * Older than what has been read is left to its page.
 */
export function with_changes(list: Listing, changed: ReadonlyMap<string, Operation>, belongs: (op: Operation, is_listed: boolean) => boolean): { rows: readonly Operation[]; leaving: string[] } {
  const leaving: string[] = [], shown = new Set<string>();
  for (const { id } of list.rows) if (changed.has(id)) shown.add(id);
  const come = [...changed.values()].filter((op) => !shown.has(op.id) && op.seq > list.read_to && belongs(op, false));
  for (const id of shown) if (!belongs(changed.get(id)!, true)) leaving.push(id);
  if (shown.size === 0 && come.length === 0) return { rows: list.rows, leaving };
  const rows = shown.size ? list.rows.map((op) => changed.get(op.id) ?? op) : [...list.rows];
  return { rows: come.length ? in_order([...come, ...rows]) : rows, leaving };
}

function in_order(rows: Operation[]): Operation[] {
  return rows.sort((a, b) => b.seq - a.seq);
}
