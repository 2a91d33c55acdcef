import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whole_rows } from '../src/model/whole_rows.ts';

const rows = (first: number, last: number) => ({ first, last });

test('what is in sight is whole at first, and stays so while little of it is new', () => {
  assert.deepEqual(whole_rows(rows(0, Infinity), 0, 30, 8), rows(0, 30));
  assert.deepEqual(whole_rows(rows(0, 30), 5, 35, 8), rows(5, 35));
  assert.deepEqual(whole_rows(rows(5, 35), 0, 30, 8), rows(0, 30));
});

test('a long way makes no whole rows, and where it ends they come a few at a time, until all are', () => {
  let at = whole_rows(rows(0, 30), 20, 50, 0);
  assert.deepEqual(at, rows(20, 30), 'those that were seen before');
  at = whole_rows(at, 500, 530, 0);
  assert.equal(at.last - at.first, 0);
  const many = [];
  while (at.first > 500 || at.last < 530) many.push((at = whole_rows(at, 500, 530, 8)).last - at.first);
  assert.deepEqual(many, [8, 16, 24, 30]);
  assert.deepEqual(whole_rows(at, 510, 540, 0), rows(510, 530));
  assert.deepEqual(whole_rows(rows(510, 530), 490, 540, 20), rows(500, 540), 'downwards first, then up');
});

test('no row is whole that is not in sight, whatever was before', () => {
  for (const before of [rows(0, 0), rows(7, 3), rows(-5, 900), rows(40, 60)])
    for (const [first, last] of [[0, 0], [0, 10], [50, 55]] as const) {
      const { first: from, last: to } = whole_rows(before, first, last, 8);
      assert.ok(from >= first && to <= last && from <= to, JSON.stringify([before, first, last, from, to]));
    }
});
