import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cancel } from '../src/api/types.ts';
import { after_look, leaves_gap_in_stops, none_settled } from '../src/model/settled.ts';
import { cancel, report } from './made.ts';

const proven = (seq: number) => cancel({ id: `c${seq}`, seq, status: 'settled', report: report({ operations: 1, proven: true }) });
const unproven = (seq: number) => cancel({ id: `c${seq}`, seq, status: 'settled', report: report({ operations: 1, proven: false }) });
const under_way = (seq: number) => cancel({ id: `c${seq}`, seq, report: report({ operations: 1 }) });
const look = (cancels: Cancel[], has_more = false) => ({ cancels, has_more });
const seqs = (cancels: readonly Cancel[]) => cancels.map((c) => c.seq);

test('a stop without proof stays known when newer ones push it out of the list', () => {
  let known = after_look(none_settled, look([proven(9), unproven(5)]), false);
  assert.deepEqual([seqs(known.unproven), known.is_part, known.newest, known.read], [[5], false, 9, 2]);
  known = after_look(known, look([under_way(12), proven(11)], true), false);
  assert.deepEqual([seqs(known.unproven), known.is_part, known.newest, known.read], [[5], false, 12, 4]);
  known = after_look(known, look([unproven(12), proven(11)], true), false);
  assert.deepEqual(seqs(known.unproven), [12, 5]);
  assert.deepEqual(seqs(after_look(known, look([unproven(12), proven(5)]), false).unproven), [12], 'as it is read now');
});

test('what was not read is not vouched for', () => {
  const first = after_look(none_settled, look([proven(9)], true), true);
  assert.deepEqual([first.is_part, first.read], [true, 1]);
  assert.equal(after_look(first, look([proven(10), proven(9)], true), false).is_part, true, 'what is older was never read');
  assert.equal(after_look(first, look([proven(10), proven(9)]), false).is_part, false);
  const whole = after_look(none_settled, look([proven(9)]), false);
  assert.equal(after_look(whole, look([proven(99)], true), true).is_part, true);
});

test('the list is read further back if it does not reach to the look before, or if an older stop has settled since', () => {
  const known = after_look(none_settled, look([proven(9)]), false);
  const gap = (cancels: Cancel[], has_more: boolean, before: string[] = [], open: string[] = []) => leaves_gap_in_stops(known, look(cancels, has_more), before, open);
  assert.equal(gap([proven(20), proven(10)], true), true);
  assert.equal(gap([proven(20), proven(10)], false), false, 'there are no others');
  assert.equal(gap([proven(20), proven(9)], true), false);
  assert.equal(gap([proven(20), proven(9)], true, ['c3']), true);
  assert.equal(gap([proven(20), proven(9)], true, ['c3'], ['c3']), false);
  assert.equal(gap([proven(20), proven(9)], true, ['c20']), false);
  assert.equal(leaves_gap_in_stops(none_settled, look([proven(1)], true), [], []), true);
});
