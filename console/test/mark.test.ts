import assert from 'node:assert/strict';
import { test } from 'node:test';
import { next_place, place_of } from '../src/model/mark.ts';

const place = (key: string, last: number, rows: string[]) => place_of({ key, last }, rows.length, (i) => rows[i]!);

test('a mark stays at what was marked, wherever its row goes', () => {
  assert.equal(place('first', 0, ['first']), 0);
  assert.equal(place('first', 0, ['second', 'first']), 1, 'a newer row above it is not marked');
  assert.equal(place('first', 1, ['first', 'second']), 0);
});

test('when the row goes nothing is marked', () => {
  assert.equal(place('first', 0, ['second']), -1);
  assert.equal(place('first', 0, []), -1);
  assert.equal(place('', 0, ['second', '']), -1);
});

test('down and up go from the mark, and from where it was when its row is gone', () => {
  assert.deepEqual([next_place(-1, -1, 3, 1), next_place(-1, -1, 3, -1)], [0, 0], 'nothing was marked yet');
  assert.deepEqual([next_place(1, 1, 3, 1), next_place(1, 1, 3, -1), next_place(2, 2, 3, 1), next_place(0, 0, 3, -1)], [2, 0, 2, 0]);
  assert.deepEqual([next_place(-1, 1, 3, 1), next_place(-1, 1, 3, -1), next_place(-1, 9, 3, 1), next_place(-1, 0, 3, -1)], [1, 0, 2, 0]);
  assert.equal(next_place(-1, 2, 0, 1), -1);
});
