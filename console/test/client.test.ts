import assert from 'node:assert/strict';
import { test } from 'node:test';
import './played_page.ts';

const { ApiError, get, post, remove } = await import('../src/api/client.ts');

const silent_ms = 30_000;
const really = globalThis.setTimeout;

/** A quelld that takes every request and never says anything; half a minute is over at once. Returns how many requests were sent. */
async function beside_a_frozen_quelld(act: () => Promise<unknown>): Promise<{ sent: number; error: unknown }> {
  let sent = 0;
  const before = globalThis.fetch;
  globalThis.fetch = ((_: string, { signal }: RequestInit) => new Promise((_, reject) => (++sent, signal!.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))))) as typeof fetch;
  globalThis.setTimeout = ((then: () => void, ms: number) => really(then, ms === silent_ms ? 0 : ms)) as typeof setTimeout;
  try {
    return { sent, error: await act().then(() => null, (error) => error) };
  } finally {
    globalThis.fetch = before;
    globalThis.setTimeout = really;
    assert.equal(sent, 1, 'it is sent once');
  }
}

test('an action that a frozen quelld does not answer ends, and does not claim to have failed', async () => {
  for (const act of [() => post('/v1/tokens', {}), () => remove('/v1/tokens/t')]) {
    const { error } = await beside_a_frozen_quelld(act);
    assert.ok(error instanceof ApiError && error.status === 0, String(error));
    assert.match(error.message, /^quelld does not answer\. Whether this has reached it is not known/);
  }
});

test('a read that a frozen quelld does not answer ends, and nothing of it is unknown', async () => {
  const { error } = await beside_a_frozen_quelld(() => get('/v1/status'));
  assert.equal((error as Error).message, 'quelld does not answer.');
});

test('who brings a patience waits by that', async () => {
  const mine = new AbortController();
  const { error } = await beside_a_frozen_quelld(() => (really(() => mine.abort(), 20), post('/v1/cancels', {}, { signal: mine.signal })));
  assert.ok(error instanceof DOMException, String(error));
});
