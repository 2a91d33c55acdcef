import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import './played_page.ts';
import { not_signed_out_words } from '../src/model/sign_out.ts';

const { session, session_state, sign_in, sign_out, sign_out_trouble } = await import('../src/state/session.ts');

const ann = { id: 's1', created_at: null, expires_at: null, token: 'ann', role: 'operator', scope: null, owner: { id: 'ann' } };

/** What quelld does with each sign-out, in turn: its status, 0 = the request is lost. */
let plays: number[] = [];
globalThis.fetch = (async (path: string, init: RequestInit = {}) => {
  const { method = 'GET', signal } = init;
  if (path.startsWith('/v1/events')) return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))));
  if (method === 'POST') return Response.json(ann, { status: 201 });
  const status = plays.shift() ?? 204;
  if (status === 0) throw new TypeError('Failed to fetch');
  return status === 204 ? new Response(null, { status }) : Response.json({ code: 'some_code', title: 'No', detail: `Said ${status}.` }, { status });
}) as typeof fetch;

beforeEach(async () => {
  plays = [];
  await sign_in({ token: 't' });
  assert.deepEqual([session_state.value, session.value?.token], ['in', 'ann']);
});

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
