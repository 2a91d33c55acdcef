import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../src/api/types.ts';
import { read_to_with, with_changes, with_page } from '../src/model/listing.ts';
import { enough_rows, look_back, most_pages } from '../src/model/look_back.ts';
import { belongs, parse_search } from '../src/model/search.ts';
import { operation } from './made.ts';

const at = (seq: number, more: Partial<Operation> = {}) => operation(`o${seq}`, { seq, ...more });
const ids = (rows: readonly Operation[]) => rows.map((op) => op.id).join();
const changes = (...ops: Operation[]) => new Map(ops.map((op) => [op.id, op]));
const running = (op: Operation) => op.status === 'running';

test('what begins and belongs to a list gets a row, newest first', () => {
  const list = { rows: [at(9), at(5)], read_to: -Infinity };
  assert.equal(ids(with_changes(list, changes(at(10), at(7), at(1), at(11, { status: 'paused' })), running).rows), 'o10,o9,o7,o5,o1');
  assert.equal(ids(with_changes({ ...list, read_to: 5 }, changes(at(10), at(1)), running).rows), 'o10,o9,o5', 'the older one comes with its page');
  assert.equal(with_changes(list, changes(at(11, { status: 'paused' })), running).rows, list.rows, 'nothing changes');
  assert.equal(ids(with_changes({ rows: [], read_to: -Infinity }, changes(at(3)), running).rows), 'o3');
  assert.equal(ids(with_changes({ rows: [], read_to: 2 }, changes(at(3), at(1)), running).rows), 'o3', 'what did not match when its page was read, and does now, gets its row');
  assert.equal(ids(with_changes({ rows: [], read_to: Infinity }, changes(at(3)), running).rows), '', 'no page has been read');
});

test('what does not belong to a list any more is shown as it is, and leaves', () => {
  const ended = at(9, { status: 'completed' });
  const next = with_changes({ rows: [at(9), at(5)], read_to: -Infinity }, changes(ended), running);
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

test('how far a list was read counts what did not match, and an empty page changes nothing', () => {
  assert.equal(read_to_with(Infinity, [at(9), at(4)], false), 4);
  assert.equal(read_to_with(4, [], false), 4);
  assert.equal(read_to_with(4, [at(2)], true), -Infinity);
});

/** A list of pages with so many matches each; `shown` = what was taken of them. */
function pages_with(matches: number[]) {
  const shown: number[] = [];
  const read = async (cursor: string | null) => {
    const place = Number(cursor ?? 0);
    return { place, next_cursor: place + 1 < matches.length ? String(place + 1) : null };
  };
  const take = ({ place }: { place: number }) => (shown.push(place), matches[place]!);
  return { shown, read, take };
}

test('matches behind pages without any are found', async () => {
  const some = pages_with([0, 0, 3, 0, 1]);
  assert.equal(await look_back(null, some.read, some.take), 'ended');
  assert.deepEqual(some.shown, [0, 1, 2, 3, 4]);
  const plenty = pages_with([0, enough_rows, 7]);
  assert.equal(await look_back(null, plenty.read, plenty.take), 'enough');
  assert.deepEqual(plenty.shown, [0, 1]);
  assert.equal(await look_back('2', plenty.read, plenty.take), 'ended');
});

test('a long list without matches is not read to its end unasked', async () => {
  const none = pages_with(Array.from({ length: 1000 }, () => 0));
  assert.equal(await look_back(null, none.read, none.take), 'limit');
  assert.equal(none.shown.length, most_pages);
});

test('what nobody wants any more is neither shown nor read on', async () => {
  const some = pages_with([0, 0, 3]);
  let asks = 0;
  assert.equal(await look_back(null, (cursor) => (asks++, some.read(cursor)), () => null), 'unwanted');
  assert.equal(asks, 1);
  await assert.rejects(look_back(null, async () => Promise.reject(new Error('gone')), some.take), /gone/);
});
