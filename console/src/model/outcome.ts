// What became of an operation, in one line of a list. Pure.
import type { Operation } from '../api/types.ts';
import { plain, shown } from './format.ts';
import { is_terminal } from './tree.ts';

/** How it was stopped, and what proves it; '' = it was not, or that is not known yet. */
export function proof_words(op: Operation): string {
  return op.stop?.receipt ? `${plain(op.stop.receipt)}, proof: ${plain(op.stop.proof ?? 'none')}` : '';
}

/**
 * Of a cancelled one the receipt and the proof: its error says only that it was cancelled. Of another one that was stopped (a timeout, a lost worker)
 * the error and the proof; of a live one what it waits for.
 */
export function outcome_words(op: Operation): string {
  if (!is_terminal(op.status)) return op.waiting_for?.detail ?? '';
  const error = op.error ? `${op.error.code}: ${op.error.message}` : '';
  const proof = proof_words(op);
  if (op.status === 'cancelled') return proof || error;
  return [error, proof].filter(Boolean).join(' · ');
}

/** A marked row of a list, for those who do not see it: its name, how it stands, and which of how many it is (-1 = unknown). */
export function marked_words(op: Operation, place: number, of: number): string {
  return `${shown(op.title || op.name || op.kind)}, ${plain(op.kind)}, ${plain(op.status)}, row ${place}${of > 0 ? ` of ${of}` : ''}`;
}
