import assert from 'node:assert/strict';
import { test } from 'node:test';
import './fast_time.ts';
import { page } from './played_page.ts';
import { until } from './waiting.ts';

const { a_few_at_once, giving_way_to_stops, in_turn, with_room } = await import('../src/api/connections.ts');

/** A stream that nobody ends but its signal. */
function endless(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    const end = () => reject(new DOMException('aborted', 'AbortError'));
    if (signal.aborted) end();
    signal.addEventListener('abort', end);
  });
}

test('streams of many tabs: three at once, and every one has its turn', async () => {
  const stop = new AbortController();
  const turns = [0, 0, 0, 0, 0, 0, 0];
  let open = 0, most = 0;
  const tabs = turns.map(async (_, tab) => {
    while (!stop.signal.aborted)
      await in_turn(stop.signal, (turn, has_opened) => {
        has_opened();
        turns[tab]! += 1;
        most = Math.max(most, ++open);
        return endless(turn).finally(() => --open);
      });
  });
  await until(() => turns.every((n) => n > 0), 'a turn for each tab');
  assert.equal(most, 3);
  stop.abort();
  await Promise.all(tabs);
  assert.equal(open, 0);
});

test('a stream that nobody waits for goes on; a hidden page has none', async () => {
  const stop = new AbortController();
  let open = 0, turns = 0;
  const tab = (async () => {
    while (!stop.signal.aborted) await in_turn(stop.signal, (turn, has_opened) => (has_opened(), (turns += 1), (open += 1), endless(turn).finally(() => (open -= 1))));
  })();
  await until(() => open === 1, 'the stream');
  await new Promise((later) => setTimeout(later, 2500)); // longer than a turn
  assert.deepEqual([open, turns], [1, 1]);
  page.show(false);
  await until(() => open === 0, 'the stream to end');
  page.show(true);
  await until(() => open === 1, 'the stream to be back');
  assert.equal(turns, 2);
  stop.abort();
  await tab;
});

test('a stream that opens late has its turn all the same', async () => {
  const stop = new AbortController();
  let brought = 0;
  const tabs = [0, 1, 2, 3].map(async () => {
    while (!stop.signal.aborted)
      await in_turn(stop.signal, async (turn, has_opened) => {
        await new Promise((open) => setTimeout(open, 2500)); // longer than a turn
        if (turn.aborted) return;
        has_opened();
        brought += 1;
        await endless(turn);
      });
  });
  await until(() => brought >= 4, 'every stream to open');
  stop.abort();
  await Promise.all(tabs);
});

test('an error of a stream is its reader\'s to see', async () => {
  await assert.rejects(in_turn(new AbortController().signal, () => Promise.reject(new Error('refused'))), /refused/);
  assert.equal(await in_turn(new AbortController().signal, () => Promise.resolve()), true, 'it ended by itself');
});

test('what can be asked again gives way to a stop and is asked again behind it', async () => {
  let asked = 0, open = 0;
  const hanging = giving_way_to_stops(async (signal) => {
    asked += 1;
    if (asked > 1) return 'answered';
    open += 1;
    await endless(signal).finally(() => (open -= 1));
    return 'never';
  });
  await until(() => open === 1, 'the request to hang');
  let late: Promise<string> | null = null;
  const told = await with_room(async () => {
    await until(() => open === 0, 'the request to give way');
    late = giving_way_to_stops(async () => ((asked += 1), 'late'));
    await new Promise((next) => setTimeout(next, 50));
    assert.equal(asked, 1, 'nothing is asked while the stop is sent');
    return 'stopped';
  });
  assert.equal(told, 'stopped');
  assert.equal(await hanging, 'answered');
  assert.equal(await late, 'late');
});

test('what its own caller ends is not asked again', async () => {
  const gone = new AbortController();
  let asked = 0;
  const request = giving_way_to_stops((signal) => ((asked += 1), endless(signal)), gone.signal);
  await until(() => asked === 1, 'the request');
  gone.abort();
  await assert.rejects(request, { name: 'AbortError' });
  assert.equal(asked, 1);
});

test('many are asked a few at once and answered in their order', async () => {
  let open = 0, most = 0;
  const answers = await a_few_at_once([30, 10, 20, 1, 1], 2, async (ms) => {
    most = Math.max(most, ++open);
    await new Promise((next) => setTimeout(next, ms));
    open -= 1;
    return ms;
  });
  assert.deepEqual([answers, most], [[30, 10, 20, 1, 1], 2]);
  await assert.rejects(a_few_at_once([1, 2, 3], 2, (n) => (n === 2 ? Promise.reject(new Error('no')) : Promise.resolve(n))), /no/);
  assert.deepEqual(await a_few_at_once([], 2, () => Promise.reject(new Error('never'))), []);
});
