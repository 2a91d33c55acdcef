import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { PlayedChannel } from './played_page.ts';
import { identity_words, is_same_identity } from '../src/model/identity.ts';
import { link_in, sign_in_of } from '../src/model/sign_in.ts';
import { not_signed_out_words } from '../src/model/sign_out.ts';

/** What this browser keeps. */
const kept = new Map<string, string>();
Object.defineProperty(globalThis, 'localStorage', { value: { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) }, configurable: true });

const { go_on_as_other, is_within, other_session, session, session_state, sign_in, sign_in_trouble, sign_out, sign_out_trouble, visits } = await import('../src/state/session.ts');

const { kept_list } = await import('../src/state/kept_lists.ts');

const ann = { id: 's1', created_at: null, expires_at: null, token: 'ann', role: 'operator', scope: null, owner: { id: 'ann' } };

const bob = { ...ann, id: 's2', token: 'bob', role: 'observer', scope: 'team', owner: { id: 'bob' } };
const tabs = PlayedChannel.all.get('quell-session')!;

/** Whom the cookie stands for, as quelld answers; null = nobody. */
let current: typeof ann | typeof bob | null = ann;
/** What quelld does with each sign-out, in turn: its status, 0 = the request is lost. */
let plays: number[] = [];
/** What it answers to a sign-in; null = 401. */
let comes: typeof ann | typeof bob | null = ann;
globalThis.fetch = (async (path: string, init: RequestInit = {}) => {
  const { method = 'GET', signal } = init;
  if (path.startsWith('/v1/events')) return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))));
  if (method === 'POST') return comes ? Response.json(comes, { status: 201 }) : Response.json({ code: 'unauthenticated', title: 'No', detail: 'The link was used.' }, { status: 401 });
  if (method === 'GET') return current ? Response.json(current) : Response.json({ code: 'unauthenticated', title: 'No' }, { status: 401 });
  const status = plays.shift() ?? 204;
  if (status === 0) throw new TypeError('Failed to fetch');
  return status === 204 ? new Response(null, { status }) : Response.json({ code: 'some_code', title: 'No', detail: `Said ${status}.` }, { status });
}) as typeof fetch;

beforeEach(async () => {
  plays = [];
  current = comes = ann;
  if (session_state.value !== 'out' && session_state.value !== 'looking') await sign_out();
  await sign_in({ token: 't' });
  assert.deepEqual([session_state.value, session.value?.token], ['in', 'ann']);
});

after(sign_out); // it closes the feed, which would keep the test alive

test('who is signed out is whom quelld has signed out', async () => {
  for (const status of [204, 401]) {
    plays = [status];
    await sign_in({ token: 't' });
    await sign_out();
    assert.deepEqual([session_state.value, session.value, sign_out_trouble.value], ['out', null, ''], String(status));
  }
});

test('a sign-out without an answer leaves the page signed in and says so, until another one is answered', async () => {
  plays = [0, 503];
  await sign_out();
  assert.deepEqual([session_state.value, session.value?.token], ['in', 'ann']);
  assert.match(sign_out_trouble.value, /^Not signed out, as far as this page knows\. quelld does not answer\..* acts as ann\.$/);
  await sign_out();
  assert.match(sign_out_trouble.value, /Said 503\./);
  await sign_out();
  assert.deepEqual([session_state.value, sign_out_trouble.value], ['out', '']);
});

test('a refused sign-out is said as one', async () => {
  plays = [403];
  await sign_out();
  assert.equal(sign_out_trouble.value, not_signed_out_words('Said 403.', false, 'ann'));
  assert.match(sign_out_trouble.value, /^Not signed out\. Said 403\./);
  await sign_out();
});

test('two presses of sign out send one request', async () => {
  plays = [204, 500];
  await Promise.all([sign_out(), sign_out()]);
  assert.deepEqual([session_state.value, plays], ['out', [500]]);
});

async function until(what: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !what(); await new Promise((next) => setTimeout(next, 5))) assert.ok(Date.now() < end, 'waited');
}

test('another identity that another tab has signed in is noticed at once, and nothing goes on in its name unseen', async () => {
  tabs.onmessage!({ data: bob });
  assert.deepEqual([session_state.value, session.value?.token, other_session.value?.token], ['changed', 'ann', 'bob']);
  go_on_as_other();
  assert.deepEqual([session_state.value, session.value?.token, other_session.value], ['in', 'bob', null]);
});

test('the same identity in another tab changes nothing', () => {
  tabs.onmessage!({ data: { ...ann, id: 's9' } });
  assert.deepEqual([session_state.value, session.value?.id], ['in', 's9']);
});

test('if the first identity signs in again, its page goes on', () => {
  tabs.onmessage!({ data: bob });
  tabs.onmessage!({ data: ann });
  assert.deepEqual([session_state.value, session.value?.token, other_session.value], ['in', 'ann', null]);
});

test('a sign-out in another tab is believed once quelld says so', async () => {
  current = null;
  tabs.onmessage!({ data: null });
  await until(() => session_state.value === 'out');
  tabs.onmessage!({ data: bob });
  assert.equal(session_state.value, 'out', 'a page where nobody is signed in shows its form');
});

test('a sign-in and a sign-out are told to the other tabs', async () => {
  tabs.said.length = 0;
  await sign_out();
  await sign_in({ token: 't' });
  assert.deepEqual(tabs.said, [null, ann]);
});

test('who somebody is', () => {
  assert.equal(is_same_identity(ann as never, { ...ann, id: 'another' } as never), true);
  for (const other of [{ token: 'x' }, { role: 'admin' }, { scope: 'a' }, { owner: { id: 'x' } }]) assert.equal(is_same_identity(ann as never, { ...ann, ...other } as never), false, JSON.stringify(other));
  assert.deepEqual([identity_words(ann as never), identity_words(bob as never)], ['ann (operator)', 'bob (observer in team)']);
});

test('a link that is opened in a page of somebody else begins it anew, and one that fails leaves it as it is', async () => {
  const before = visits.value;
  comes = bob;
  await sign_in({ link: 'ql_a' });
  assert.deepEqual([session_state.value, session.value?.token, visits.value], ['in', 'bob', before + 1]);
  await sign_in({ link: 'ql_b' });
  assert.equal(visits.value, before + 1, 'the same person goes on');
  comes = null;
  await sign_in({ link: 'ql_b' });
  assert.deepEqual([session_state.value, session.value?.token, sign_in_trouble.value], ['in', 'bob', 'The link was used.']);
});

test('a link is known behind an address, and wherever it is pasted', () => {
  assert.deepEqual([link_in('#link=ql_a-b_1'), link_in('#link='), link_in('#main'), link_in('')], ['ql_a-b_1', null, null, null]);
  assert.deepEqual(sign_in_of(' http://127.0.0.1:7007/#link=ql_a-b_1\n'), { link: 'ql_a-b_1' });
  assert.deepEqual(sign_in_of('/#link=ql_a'), { link: 'ql_a' });
  assert.deepEqual(sign_in_of('ql_a'), { link: 'ql_a' });
  for (const token of ['qk_abc', 'qk_a#b', 'word']) assert.deepEqual(sign_in_of(` ${token} `), { token });
});

test('what lies outside the scope of a token is not offered to it', async () => {
  assert.ok(['', 'team', 'other/a'].every(is_within), 'ann has no scope');
  await sign_out();
  comes = current = bob;
  await sign_in({ token: 't' });
  assert.deepEqual(['', 'team', 'team/a', 'teams', 'tea', 'other', 'other/team'].map(is_within), [true, true, true, false, false, false, false]);
});

test('what a browser keeps is of the person: another one sees nothing of it, and the same one finds it again', async () => {
  const is_text = (one: unknown): one is string => typeof one === 'string';
  const list = kept_list('quell.test', 2, is_text);
  assert.deepEqual(list.value.value, []);
  list.put(['a', 'b', 'c']);
  assert.deepEqual(list.value.value, ['b', 'c'], 'the newest');
  comes = bob;
  await sign_in({ token: 't' });
  assert.deepEqual(list.value.value, []);
  list.put(['of bob']);
  comes = { ...ann, token: 'another token of ann' };
  await sign_in({ token: 't' });
  assert.deepEqual(list.value.value, ['b', 'c']);
  await sign_out();
  assert.deepEqual(list.value.value, [], 'nobody is signed in');
  for (const [key, text] of kept) kept.set(key, text.includes('of bob') ? '{"not": "a list"}' : text.replace('"c"', '7'));
  comes = bob;
  await sign_in({ token: 't' });
  assert.deepEqual(list.value.value, []);
  comes = ann;
  await sign_in({ token: 't' });
  assert.deepEqual(list.value.value, ['b'], 'what is not of the list is left out');
});
