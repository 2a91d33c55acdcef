import assert from 'node:assert/strict';
import { test } from 'node:test';
import './fast_time.ts';
import './played_page.ts';
import { closing, until } from './waiting.ts';

globalThis.requestAnimationFrame ??= ((act: () => void) => setTimeout(act, 1)) as never;
const { connection } = await import('../src/api/feed.ts');
const { OutputTail } = await import('../src/state/output.ts');

/** A stream that says this and then nothing, until somebody aborts it: the network has dropped the connection, and nobody was told. */
function silent_behind(text: string, offset: number, signal: AbortSignal): Response {
  const body = new ReadableStream<Uint8Array>({
    start(to) {
      if (text) to.enqueue(new TextEncoder().encode(text));
      signal.addEventListener('abort', () => to.error(new DOMException('aborted', 'AbortError')));
    },
  });
  return new Response(body, { headers: { 'Quell-Offset': String(offset), 'Quell-End': 'false' } });
}

test('output of a connection that nobody hears any more is read again from where it was', async () => {
  connection.value = { state: 'open', since: 0 };
  const asked: string[] = [];
  globalThis.fetch = (async (path: string, init: RequestInit) => {
    asked.push(path);
    if (path.includes('tail_bytes')) return new Response('one\n', { headers: { 'Quell-Offset': '0', 'Quell-End': 'false' } });
    return silent_behind(asked.length > 2 ? 'two\n' : '', 4, init.signal!);
  }) as typeof fetch;
  const tail = closing(new OutputTail('op', 'stdout'));
  await until(() => asked.length === 2, 'the stream to be followed');
  connection.value = { state: 'lost', since: 0 };
  await until(() => tail.trouble.value !== '', 'the trouble to be said');
  assert.equal(tail.trouble.value, 'quelld does not answer. It is asked again by itself.');
  await until(() => asked.length === 3, 'the stream to be followed again');
  assert.match(asked[2]!, /offset=4&follow=true/);
  await until(() => tail.reader.lines.length === 3, 'what was written meanwhile');
});
