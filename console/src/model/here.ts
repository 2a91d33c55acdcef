// What lives in a conversation, as far as it decides what may be done there: its turns, the summary that is written, the calls that wait for somebody. Pure.
import type { Operation } from '../api/types.ts';

/** What the server is asked for, each list apart: the other work of a large swarm hides none of it. Summaries only if no turn runs: turns wait for them. */
export function here_queries(scope: string): { turns: string; asks: string; summaries: string } {
  const path = (more: Record<string, string>) => `/v1/operations?${new URLSearchParams({ scope, ...more, order: 'asc' })}`;
  return { turns: path({ kind: 'turn', status: 'live' }), asks: path({ status: 'paused' }), summaries: path({ kind: 'model_call', status: 'live' }) };
}

export interface Here {
  /** The turn, or the summary, that is under way. */
  running: Operation | undefined;
  queued: readonly Operation[];
  asks: readonly Operation[];
}

/** Operations of scopes below are in the lists, too: they are conversations of their own. */
export function what_is_here(scope: string, operations: readonly Operation[]): Here {
  const here = [...new Map(operations.filter((op) => op.scope === scope).map((op) => [op.id, op])).values()];
  // A model call of the scope itself writes a summary: turns wait for it.
  const is_answer = (op: Operation) => op.kind === 'turn' || (op.kind === 'model_call' && op.parent === null);
  return {
    running: here.find((op) => is_answer(op) && (op.status === 'running' || op.status === 'cancelling')),
    queued: here.filter((op) => op.kind === 'turn' && op.status === 'pending'),
    asks: here.filter((op) => op.status === 'paused'),
  };
}
