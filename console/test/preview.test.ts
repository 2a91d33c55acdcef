import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preview_of, without_ended } from '../src/model/preview.ts';
import { cancel, report } from './made.ts';

const answer = (ids: string[], operations = ids.length, kind = 'task') =>
  cancel({ report: report({ operations, workers: ['w1'] }), would_stop: { operations: ids.map((id) => ({ id, kind })) as unknown as Record<string, never>[], truncated: operations > ids.length } });

test('a parent and its children that are chosen together are counted once', () => {
  const { words, operations } = preview_of([answer(['parent', 'a', 'b']), answer(['a']), answer(['b'])]);
  assert.equal(words, '3 operations on 1 worker');
  assert.deepEqual(operations.map((op) => op.id), ['parent', 'a', 'b']);
});

test('of lists that are not named to their end the sum is a bound', () => {
  assert.match(preview_of([answer(['a'], 1500)]).words, /^1,500 operations on 1 worker/);
  assert.match(preview_of([answer(['a'], 1500), answer(['a'])]).words, /^At most 1,500 operations/);
  assert.equal(preview_of([answer([])]).words, 'Nothing is live there now');
});

test('what has ended is not chosen any more', () => {
  const chosen = new Set(['a', 'b']);
  assert.deepEqual([...without_ended(chosen, ['b', 'c'])], ['a']);
  assert.equal(without_ended(chosen, ['c']), chosen);
});
