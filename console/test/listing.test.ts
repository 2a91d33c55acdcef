import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../src/api/types.ts';
import { with_changes, with_page } from '../src/model/listing.ts';
import { belongs, parse_search } from '../src/model/search.ts';
import { operation } from './made.ts';

const at = (seq: number, more: Partial<Operation> = {}) => operation(`o${seq}`, { seq, ...more });
const ids = (rows: readonly Operation[]) => rows.map((op) => op.id).join();
const changes = (...ops: Operation[]) => new Map(ops.map((op) => [op.id, op]));
const running = (op: Operation) => op.status === 'running';

test('what begins and belongs to a list gets a row, newest first', () => {
  const list = { rows: [at(9), at(5)], has_more: false };
  assert.equal(ids(with_changes(list, changes(at(10), at(7), at(1), at(11, { status: 'paused' })), running).rows), 'o10,o9,o7,o5,o1');
  assert.equal(ids(with_changes({ ...list, has_more: true }, changes(at(10), at(1)), running).rows), 'o10,o9,o5', 'the older one comes with its page');
  assert.equal(with_changes(list, changes(at(11, { status: 'paused' })), running).rows, list.rows, 'nothing changes');
  assert.equal(ids(with_changes({ rows: [], has_more: false }, changes(at(3)), running).rows), 'o3');
});

test('what does not belong to a list any more is shown as it is, and leaves', () => {
  const ended = at(9, { status: 'completed' });
  const next = with_changes({ rows: [at(9), at(5)], has_more: false }, changes(ended), running);
  assert.deepEqual([next.rows[0], next.leaving], [ended, ['o9']]);
});

test('a page brings no row twice', () => {
  const known = at(5, { status: 'cancelling' });
  assert.deepEqual(with_page([at(9), at(5)], [known, at(4)]).map((op) => [op.id, op.status]), [['o9', 'running'], ['o5', 'cancelling'], ['o4', 'running']]);
});

test('what a search asks the server for is what its events are held to', () => {
  const now = Date.parse('2026-11-20T12:00:00.000Z');
  const op = operation('o', { scope: 'team/a', labels: { pr: '1' }, parent: 'p' });
  const is = (text: string) => belongs(parse_search(text), op, 'live', now, false);
  for (const text of ['', 'scope:team', 'scope:team/a', 'kind:task kind:turn', 'status:running status:paused', 'status:live', 'owner:alice', 'label:pr=1', 'worker:w1', 'parent:p', 'since:3h', 'until:2026-11-21', 'name:sh'])
    assert.ok(is(text), text);
  for (const text of ['scope:tea', 'scope:team/a/b', 'kind:turn', 'status:ended', 'status:paused', 'owner:Alice', 'label:pr=2', 'worker:w2', 'parent:q', 'since:1h', 'until:2026-11-20', 'name:s', 'nowhere'])
    assert.ok(!is(text), text);
  assert.ok(!belongs(parse_search(''), { ...op, status: 'failed' }, 'live', now, true));
  assert.ok(belongs(parse_search(''), { ...op, status: 'failed' }, 'ended', now, true));
  assert.deepEqual([true, false].map((is_listed) => belongs(parse_search('cancel:c'), op, 'live', now, is_listed)), [true, false], 'an earlier stop is named at it');
});
