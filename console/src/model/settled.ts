// The stops that settled without proof, as far as this page has read. They stay until somebody has seen them: no clock ends them. Pure.
import type { Cancel } from '../api/types.ts';
import { verdict } from './report.ts';

export interface SettledStops {
  /** Newest first, at most `most_unproven`. */
  unproven: readonly Cancel[];
  /** The seq of the newest stop that was read; 0 = none. */
  newest: number;
  /** How many of the newest were read without a gap. */
  read: number;
  /** There are older ones, or some between, that were not read. */
  is_part: boolean;
}

export const none_settled: SettledStops = { unproven: [], newest: 0, read: 0, is_part: false };
const most_unproven = 500;

/** Newest first, and whether there are older ones. */
export interface NewestStops {
  cancels: readonly Cancel[];
  has_more: boolean;
}

/**
 * Whether these do not tell all that has happened since the look before: older ones are to be read, too.
 * `open_before`, `open`: ids of stops that were open then, and that are now. One that is open no more has settled, however old it is.
 */
export function leaves_gap_in_stops(before: SettledStops, page: NewestStops, open_before: readonly string[], open: readonly string[]): boolean {
  if (!page.has_more) return false;
  if (before.newest === 0 || (page.cancels.at(-1)?.seq ?? 0) > before.newest) return true;
  const told = new Set([...page.cancels.map((c) => c.id), ...open]);
  return open_before.some((id) => !told.has(id));
}

/** What is known after another look. `has_gap`: even the longer list did not reach back to the look before. */
export function after_look(before: SettledStops, page: NewestStops, has_gap: boolean): SettledStops {
  const seqs = new Set(page.cancels.map((c) => c.seq));
  const older = before.unproven.filter((c) => !seqs.has(c.seq));
  const unproven = [...page.cancels.filter((c) => verdict(c) === 'unproven'), ...older].sort((a, b) => (b.seq ?? 0) - (a.seq ?? 0));
  const came = page.cancels.filter((c) => (c.seq ?? 0) > before.newest).length;
  const read = has_gap || before.newest === 0 ? page.cancels.length : Math.max(page.cancels.length, before.read + came);
  const is_part = page.has_more && (has_gap || before.newest === 0 || before.is_part);
  return { unproven: unproven.slice(0, most_unproven), newest: Math.max(before.newest, page.cancels[0]?.seq ?? 0), read, is_part };
}
