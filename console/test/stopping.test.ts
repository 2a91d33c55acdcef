import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import './fast_time.ts';
import './played_page.ts';
import { until } from './waiting.ts';
import { failed_words, left_words, waiting_words } from '../src/model/unanswered.ts';

if (!globalThis.crypto) Object.defineProperty(globalThis, 'crypto', { value: webcrypto });
const { words_of, words_of_repeated, get, post } = await import('../src/api/client.ts');
const { is_refusal, may_have_arrived, pause_after } = await import('../src/state/delivery.ts');
const { aside, ask_to_stop, close_stop, give_up, has_unsent, leave_stops, send_stop, show_aside, stopping } = await import('../src/state/stopping.ts');

type Body = { id: string; operation?: string; reason: string | null };
type Answer = 'gone' | 'broken' | number;

/** What quelld does with each request, in turn; the last for all that follow. */
let plays: Answer[] = [];
let sent: Body[] = [];
globalThis.fetch = (async (_: unknown, init: RequestInit) => {
  const body = JSON.parse(String(init.body)) as Body;
  sent.push(body);
  const play = plays.length > 1 ? plays.shift()! : plays[0]!;
  if (play === 'gone') throw new TypeError('Failed to fetch');
  if (play === 'broken') return new Response('{"id":');
  const answer = play < 300 ? { id: body.id, status: 'fenced' } : { code: 'some_code', title: 'No', detail: `said ${play}` };
  return new Response(JSON.stringify(answer), { status: play });
}) as typeof fetch;

const plain = { reason: 'wrong branch', at_once: false, only_seen: false };

beforeEach(() => {
  stopping.value = null;
  aside.value = [];
  sent = [];
});

test('a confirmed stop is sent again by itself, the same body under the same id, until quelld has taken it', async () => {
  plays = ['gone', 'broken', 503, 200];
  ask_to_stop({ what: 'operation', id: 'op', title: 'work' });
  const id = stopping.value!.ids[0];
  const over = send_stop(plain);
  assert.equal(sent.length, 1, 'the first request waits for nothing');
  await until(() => stopping.value!.trouble !== '', 'the trouble to be said');
  assert.deepEqual([stopping.value!.phase, stopping.value!.open, stopping.value!.trouble, has_unsent.value], ['sent', 1, 'quelld does not answer.', true]);
  await over;
  assert.deepEqual([stopping.value!.phase, stopping.value!.trouble, has_unsent.value], ['told', '', false]);
  assert.deepEqual(stopping.value!.cancels.map((c) => c.id), [id]);
  assert.equal(sent.length, 4);
  assert.equal(new Set(sent.map((body) => JSON.stringify(body))).size, 1);
  assert.equal(sent[0]!.id, id);
});

test('a refusal ends the repeats and is shown', async () => {
  for (const status of [400, 401, 403, 404, 409, 422]) {
    plays = ['gone', status];
    sent = [];
    ask_to_stop({ what: 'scope', scope: 'a' });
    await send_stop(plain);
    assert.deepEqual([stopping.value!.phase, stopping.value!.trouble, has_unsent.value, sent.length], ['failed', `said ${status}`, false, 2]);
    assert.deepEqual(stopping.value!.choice, plain, 'the form comes back as it was');
    assert.notEqual(stopping.value!.ids[0], sent[0]!.id, 'what is sent from it is another stop');
  }
});

test('of many, only those without an answer are sent again', async () => {
  plays = [200, 403, 'gone', 200];
  ask_to_stop({ what: 'operations', ids: Array.from({ length: 9 }, (_, i) => `op${i}`) });
  const { ids } = stopping.value!;
  await send_stop(plain);
  assert.deepEqual([stopping.value!.phase, stopping.value!.trouble], ['told', '1 of 9 refused: said 403']);
  assert.deepEqual(stopping.value!.cancels.map((c) => c.id), ids.filter((_, i) => i !== 1));
  const times = ids.map((id) => sent.filter((body) => body.id === id).length);
  assert.deepEqual([times[0], times[1], times[2]], [1, 1, 2]);
  assert.ok(times.every((n) => n >= 1), String(times));
});

test('a closed dialog does not end the repeats; the stop stays beside until its answer is seen', async () => {
  plays = ['gone', 200];
  ask_to_stop({ what: 'operation', id: 'op', title: 'work' });
  const over = send_stop(plain);
  close_stop();
  assert.deepEqual([stopping.value, aside.value.length, has_unsent.value], [null, 1, true]);
  ask_to_stop({ what: 'scope', scope: 'another' });
  await over;
  assert.equal(aside.value[0]!.phase, 'told');
  assert.equal(stopping.value!.phase, 'asked', 'the dialog of another stop is left alone');
  show_aside(aside.value[0]!);
  assert.deepEqual([aside.value.length, stopping.value!.phase], [0, 'told']);
});

test('giving up and signing out end the repeats and say so', async () => {
  plays = ['gone'];
  ask_to_stop({ what: 'operation', id: 'op', title: 'work' });
  let over = send_stop(plain);
  await until(() => stopping.value!.trouble !== '', 'the trouble to be said');
  give_up(stopping.value!);
  await over;
  assert.equal(stopping.value!.phase, 'failed');
  assert.match(stopping.value!.trouble, /^Given up\..*may have arrived/);
  over = send_stop(plain);
  leave_stops('Nobody is signed in.');
  await over;
  assert.deepEqual([stopping.value, aside.value.map((s) => s.phase), has_unsent.value], [null, ['failed'], false]);
  assert.match(aside.value[0]!.trouble, /^Nobody is signed in\./);
  const many = sent.length;
  await new Promise((next) => setTimeout(next, 700));
  assert.equal(sent.length, many, 'nothing is sent behind that');
});

test('pauses grow to a few seconds; load and lost answers are not refusals', async () => {
  const pauses = Array.from({ length: 2000 }, (_, round) => pause_after(round));
  assert.deepEqual(pauses.slice(0, 6), [250, 500, 1000, 2000, 3000, 3000]);
  assert.equal(Math.max(...pauses), 3000);
  const { ApiError } = await import('../src/api/client.ts');
  const of = (status: number) => is_refusal(new ApiError(status, 'c', 'd'));
  assert.deepEqual([0, 401, 403, 408, 429, 500, 502, 503].map(of), [false, true, true, false, false, false, false, false]);
  assert.equal(is_refusal(new TypeError('broken off')), false);
  const unknown = (status: number) => may_have_arrived(new ApiError(status, 'c', 'd'));
  assert.deepEqual([0, 403, 409, 429, 500, 502, 503].map(unknown), [true, false, false, false, true, true, false]);
  assert.equal(may_have_arrived(new TypeError('broken off')), true);
});

test('only what is asked again says so', async () => {
  plays = ['gone'];
  const of_action = await post('/v1/operations/o/approve', {}).catch((error: unknown) => error);
  assert.equal(words_of(of_action), 'quelld does not answer. Whether this has reached it is not known: look before you try again.');
  const of_read = await get('/v1/status').catch((error: unknown) => error);
  assert.equal(words_of(of_read), 'quelld does not answer.');
  assert.equal(words_of_repeated(of_read), 'quelld does not answer. It is asked again by itself.');
});

test('the words of what is not answered', () => {
  assert.match(waiting_words(1, 1, 'quelld does not answer.'), /^Not sent yet, as far as this page knows\. quelld does not answer\. It is sent again by itself/);
  assert.match(waiting_words(2, 5, 'w'), /^2 of 5 stops not sent yet/);
  assert.equal(left_words({ open: 0, refused: [] }, 3, ''), '');
  assert.equal(left_words({ open: 2, refused: [] }, 3, 'Given up.'), '2 of 3 without an answer. Given up. Nothing more is sent; what was sent before may have arrived.');
  assert.equal(failed_words({ open: 0, refused: ['no', 'no', 'never'] }, ''), 'no; never');
});
