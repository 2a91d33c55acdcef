// The words of a stop that quelld has not answered, or not wholly. They claim neither that it has arrived nor that it has not. Pure.
import { count } from './format.ts';

/** What came of sending it: how many orders have no answer, what quelld said of those that it refused, and why the newest round failed. */
export interface Answers {
  open: number;
  refused: readonly string[];
}

/** While it is sent again by itself; `trouble` = why, a sentence. */
export function waiting_words(open: number, all: number, trouble: string): string {
  const what = open < all ? `${open.toLocaleString('en')} of ${count(all, 'stop')} not sent yet, as far as this page knows.` : 'Not sent yet, as far as this page knows.';
  return `${what} ${trouble} It is sent again by itself until quelld answers or you give up.`;
}

/** Each answer once. */
function refusals(refused: readonly string[]): string {
  return [...new Set(refused)].join('; ');
}

const unknown = 'Nothing more is sent; what was sent before may have arrived.';

/** Nothing of it was taken. `why` = what ended the repeats before there was an answer, a sentence; '' = nothing did. */
export function failed_words(answers: Answers, why: string): string {
  return [refusals(answers.refused), answers.open > 0 && `${why} ${unknown}`].filter(Boolean).join('; ').trim();
}

/** A part of it was taken, of `all`; '' = all of it. */
export function left_words(answers: Answers, all: number, why: string): string {
  const of_all = (n: number) => `${n.toLocaleString('en')} of ${all.toLocaleString('en')}`;
  const parts = [];
  if (answers.refused.length > 0) parts.push(`${of_all(answers.refused.length)} refused: ${refusals(answers.refused)}`);
  if (answers.open > 0) parts.push(`${of_all(answers.open)} without an answer. ${why} ${unknown}`);
  return parts.join('; ');
}

/** One line for a stop whose dialog is closed. */
export function aside_words(name: string, phase: string, trouble: string): string {
  if (phase === 'sent') return trouble ? `Stop of ${name}: not sent yet, as far as this page knows. ${trouble} It is sent again by itself.` : `Stop of ${name}: it is being sent.`;
  if (phase === 'told') return `Stop of ${name}: quelld has taken ${trouble ? 'a part of it' : 'it'}.`;
  return `Stop of ${name}: not confirmed. ${trouble}`;
}
