import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../src/api/types.ts';
import { waits } from './fast_time.ts';
import { page } from './played_page.ts';
import { operation } from './made.ts';
import { closing, until } from './waiting.ts';

const { ApiError, words_of_repeated } = await import('../src/api/client.ts');
const { connection } = await import('../src/api/feed.ts');
const { Again, wait_after } = await import('../src/state/again.ts');
const { LiveList } = await import('../src/state/live_list.ts');
const { LiveTree } = await import('../src/state/tree.ts');
connection.value = { state: 'open', since: 0 };

const asks = /It is asked again by itself\.$/;

/** What quelld does with each request, in turn; the last for all that follow. */
let plays: (object | number)[] = [];
let asked: string[] = [];
globalThis.fetch = (async (path: string) => {
  asked.push(path);
  const play = plays.length > 1 ? plays.shift()! : plays[0]!;
  if (play === 0) throw new TypeError('Failed to fetch');
  return typeof play === 'number' ? new Response(JSON.stringify({ code: 'some_code', title: 'No', detail: `said ${play}` }), { status: play }) : new Response(JSON.stringify(play));
}) as typeof fetch;

const found = (operations: Operation[], next_cursor: string | null = null) => ({ operations, next_cursor });

function begin(...next: (object | number)[]): void {
  plays = next;
  asked = [];
}

test('the waits grow, up to half a minute', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 99].map(wait_after), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test('only what is asked again says so', () => {
  for (const status of [0, 408, 429, 500, 503]) assert.match(words_of_repeated(new ApiError(status, 'x', 'Busy.')), asks, String(status));
  for (const status of [400, 401, 403, 404, 409]) assert.equal(words_of_repeated(new ApiError(status, 'x', 'No.')), 'No.');
  assert.equal(words_of_repeated(new SyntaxError('Unexpected end of JSON input')), 'The answer broke off. It is asked again by itself.');
});

test('many failures at once are one repeat; a refusal is none; success begins anew', async () => {
  let asked_again = 0;
  const again = new Again(() => ++asked_again);
  again.failed(new ApiError(404, 'x', 'No.'));
  for (let i = 0; i < 5; ++i) again.failed(new ApiError(0, 'x', 'No answer.'));
  await until(() => asked_again === 1, 'the repeat');
  again.worked();
  waits.length = 0;
  again.failed(new ApiError(503, 'x', 'Later.'));
  await until(() => asked_again === 2, 'the second repeat');
  assert.deepEqual(waits, [1000], 'the first wait again');
  again.failed(new ApiError(503, 'x', 'Later.'));
  again.end();
  await new Promise((later) => setTimeout(later, 2200));
  assert.equal(asked_again, 2);
});

test('a hidden page asks when it is shown', async () => {
  let asked_again = 0;
  const again = new Again(() => ++asked_again);
  page.show(false);
  again.failed(new ApiError(0, 'x', 'No answer.'));
  await new Promise((later) => setTimeout(later, 1200));
  assert.equal(asked_again, 0);
  page.show(true);
  await until(() => asked_again === 1, 'the repeat');
});

test('a list that could not be read is asked for again by itself', async () => {
  begin(0, 503, found([operation('a', { seq: 2 })]));
  const list = closing(new LiveList('', 'live'));
  await until(() => list.state.value.trouble !== '', 'the trouble');
  assert.equal(list.state.value.trouble, 'quelld does not answer. It is asked again by itself.');
  await until(() => list.state.value.trouble.startsWith('said 503'), 'the second trouble');
  await until(() => list.state.value.rows.length === 1, 'the rows');
  assert.deepEqual([list.state.value.trouble, asked.length], ['', 3]);
  list.close();
});

test('a page that could not be read is asked for again behind the rows that are there', async () => {
  begin(found([operation('b', { seq: 9 })], 'older'), 0, found([operation('a', { seq: 2 })]));
  const list = closing(new LiveList('', 'live'));
  await until(() => list.state.value.rows.length === 1, 'the first page');
  list.more();
  await until(() => list.state.value.trouble !== '', 'the trouble');
  assert.deepEqual(list.state.value.rows.map((op) => op.id), ['b'], 'what was read stays');
  await until(() => list.state.value.rows.length === 2, 'the second page');
  assert.deepEqual(asked.map((path) => path.includes('cursor=older')), [false, true, true]);
  list.close();
});

test('a search that is refused is not asked again, and a closed list is silent', async () => {
  begin(400);
  const list = closing(new LiveList('kind:nothing', 'live'));
  await until(() => list.state.value.trouble === 'said 400', 'the refusal');
  const closed = closing(new LiveList('', 'live'));
  plays = [0];
  await until(() => closed.state.value.trouble !== '', 'the trouble of the other');
  closed.close();
  const many = asked.length;
  await new Promise((later) => setTimeout(later, 1300));
  assert.equal(asked.length, many);
  list.close();
});

test('a tree that could not be read is asked for again by itself', async () => {
  begin(0, { live: 1, cancelling: 0, scopes: [], operations: [{ operation: operation('a'), children: 0, below: 0 }], next_cursor: null });
  const tree = closing(new LiveTree('parent', ''));
  await until(() => tree.trouble.value !== '', 'the trouble');
  assert.match(tree.trouble.value, asks);
  assert.equal(tree.model.root.is_loaded, false, 'nobody says that nothing lives');
  await until(() => tree.model.rows().length === 1, 'the row');
  assert.equal(tree.trouble.value, '');
  tree.close();
});
