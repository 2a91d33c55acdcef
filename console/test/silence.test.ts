import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { silence_age, silence_words } from '../src/model/silence.ts';
import './played_page.ts';

// Time runs a hundred times as fast for whoever waits.
const in_time = globalThis.setTimeout;
globalThis.setTimeout = ((act: () => void, ms = 0) => in_time(act, ms / 100)) as typeof setTimeout;
after(() => void (globalThis.setTimeout = in_time));

const { ApiError, get } = await import('../src/api/client.ts');
const { close_feed, connection, open_feed } = await import('../src/api/feed.ts');
const { last_sign_of_life } = await import('../src/api/sign_of_life.ts');

async function until(what: () => boolean, words: string): Promise<void> {
  for (const end = Date.now() + 20_000; !what(); await new Promise((next) => in_time(next, 5))) assert.ok(Date.now() < end, `waited for ${words}`);
}

const never = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError'))));

/** An open stream that says one comment and then nothing, as of a quelld that is stopped (SIGSTOP). */
function frozen_stream(signal: AbortSignal): Response {
  const body = new ReadableStream<Uint8Array>({
    start(to) {
      to.enqueue(new TextEncoder().encode(': here\n\n'));
      signal.addEventListener('abort', () => to.error(new DOMException('aborted', 'AbortError')));
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

test('since when nothing was heard is said, and for how long', () => {
  const at = Date.parse('2026-11-20T10:00:00.000Z'), time = new Date(at).toLocaleTimeString('en-GB');
  assert.equal(silence_words(at, at, at + 47_300), `quelld does not answer, since ${time}. What you see is from then; it goes on by itself when quelld is back.`);
  assert.equal(silence_words(at, 0, at + 47_300), silence_words(at, at, at + 47_300));
  assert.ok(silence_words(at, at + 5000, at + 47_300).startsWith(`No events come, since ${time}.`), 'it answers others');
  assert.deepEqual([0, 900, 47_300, 3_700_000].map((ms) => silence_age(at, at + ms)), ['1s', '1s', '47s', '1h 01m']);
});

test('a frozen quelld is lost since its last word, not since somebody noticed', async () => {
  globalThis.fetch = ((_: string, init: RequestInit) => Promise.resolve(frozen_stream(init.signal!))) as typeof fetch;
  last_sign_of_life.value = 0;
  open_feed();
  await until(() => connection.value.state === 'open', 'the stream');
  await until(() => last_sign_of_life.value > 0, 'the comment');
  const heard_at = last_sign_of_life.value;
  globalThis.fetch = ((_: string, init: RequestInit) => never(init.signal!)) as typeof fetch;
  await until(() => connection.value.state === 'lost', 'the silence to be noticed');
  assert.ok(Date.now() - heard_at >= 300, 'that takes a while');
  assert.equal(connection.value.since, heard_at);
  close_feed();
});

test('a quelld that takes the connection and never answers is lost, too', async () => {
  globalThis.fetch = ((_: string, init: RequestInit) => never(init.signal!)) as typeof fetch;
  open_feed();
  await until(() => connection.value.state === 'lost', 'the silence to be noticed');
  close_feed();
});

test('a read of a frozen quelld ends as one without an answer; what its caller ends does not', async () => {
  globalThis.fetch = ((_: string, init: RequestInit) => never(init.signal!)) as typeof fetch;
  await assert.rejects(get('/v1/status'), (error) => error instanceof ApiError && error.status === 0 && error.message === 'quelld does not answer.');
  const gone = new AbortController();
  const read = get('/v1/status', gone.signal);
  gone.abort();
  await assert.rejects(read, { name: 'AbortError' });
});
