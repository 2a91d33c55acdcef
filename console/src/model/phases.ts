// When each phase of a cancel was reached: fenced, signalled, settled; for the whole cancel and for each operation that it covers. Pure.
import type { Cancel, Operation } from '../api/types.ts';
import { is_terminal } from './tree.ts';

export const phase_names = ['fenced', 'signalled', 'settled'] as const;

export interface Phase {
  what: (typeof phase_names)[number];
  at: number; // milliseconds since 1970, by quelld's clock
  after_ms: number; // since the cancel was received
}

const instant = (text: string | null | undefined) => (text ? Date.parse(text) : NaN);

/** Those that it has reached, in their order. */
export function phases_of(cancel: Cancel): Phase[] {
  const begin = instant(cancel.created_at);
  return phase_names.flatMap((what) => {
    const after_ms = cancel.report[`${what}_ms`];
    return after_ms === null || Number.isNaN(begin) ? [] : [{ what, at: begin + after_ms, after_ms }];
  });
}

/** The same of one operation that the cancel covers: it is fenced with all others, signalled by itself, and settled when it has ended. */
export function phases_of_operation(op: Operation, cancel: Cancel | undefined): Phase[] {
  if (!cancel || op.stop?.cancel !== cancel.id) return [];
  const begin = instant(cancel.created_at);
  const at = { fenced: phases_of(cancel).find((p) => p.what === 'fenced')?.at ?? NaN, signalled: instant(op.stop?.signalled_at), settled: is_terminal(op.status) ? instant(op.ended_at) : NaN };
  return phase_names.flatMap((what) => (Number.isNaN(at[what]) ? [] : [{ what, at: at[what], after_ms: Math.max(0, at[what] - begin) }]));
}

/** The cancels that stopped some of these operations, at most `most`. */
export function cancels_among(operations: readonly Operation[], most: number): string[] {
  return [...new Set(operations.flatMap((op) => op.stop?.cancel ?? []))].slice(0, most);
}
