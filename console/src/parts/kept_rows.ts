// Rows that are made again only if something of them has changed: Preact passes over an element that is the same as before.
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';

const most_kept = 1000;

/** `facts`: all that the row shows. What its handlers need beyond that, they look up when they are called. */
export type KeepRow = (key: string, facts: readonly unknown[], make: () => VNode) => VNode;

export function use_kept_rows(): KeepRow {
  const kept = useRef(new Map<string, { facts: readonly unknown[]; row: VNode }>());
  return (key, facts, make) => {
    const before = kept.current.get(key);
    if (before && before.facts.every((fact, i) => fact === facts[i])) return before.row;
    if (kept.current.size >= most_kept) kept.current.clear();
    const row = make();
    kept.current.set(key, { facts, row });
    return row;
  };
}
