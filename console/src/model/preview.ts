// What several stops together would stop: an operation that two of them reach is one operation. Pure.
import type { Cancel, WouldStop } from '../api/types.ts';
import { preview_words } from './report.ts';

export interface Preview {
  words: string;
  operations: readonly WouldStop[];
}

export function preview_of(answers: readonly Cancel[]): Preview {
  const listed = (answer: Cancel) => (answer.would_stop?.operations ?? []) as unknown as WouldStop[];
  const operations = [...new Map(answers.flatMap(listed).map((op) => [op.id, op])).values()];
  // Of a long list only the beginning is named: the rest may be reached by another stop, too.
  const unnamed = answers.reduce((sum, a) => sum + Math.max(0, a.report.operations - listed(a).length), 0);
  const report = { ...answers[0]!.report, operations: operations.length + unnamed, workers: [...new Set(answers.flatMap((a) => a.report.workers))] };
  const words = preview_words(report, operations.filter((op) => op.kind === 'external').length, unnamed > 0);
  return { words: unnamed > 0 && answers.length > 1 ? `At most ${words}` : words, operations };
}

/** Those of the chosen that are not known to have ended. */
export function without_ended(chosen: ReadonlySet<string>, ended: readonly string[]): ReadonlySet<string> {
  if (!ended.some((id) => chosen.has(id))) return chosen;
  const left = new Set(chosen);
  for (const id of ended) left.delete(id);
  return left;
}
