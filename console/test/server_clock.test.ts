import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerClock } from '../src/model/server_clock.ts';
import './played_page.ts';

const { get } = await import('../src/api/client.ts');
const { clock_offset, learn_from_event, server_now } = await import('../src/api/server_clock.ts');

const hour = 3_600_000;

test('clocks that may agree are not corrected', () => {
  const clock = new ServerClock();
  assert.equal(clock.offset, 0);
  clock.answered(10_000, 10_150, 10_900); // written in the second that began at 10,000
  clock.heard(10_880, 10_900);
  assert.equal(clock.offset, 0);
});

test('a browser that is an hour behind, or ahead, is corrected to about a second, and by more answers to less', () => {
  for (const skew of [hour, -hour]) {
    const clock = new ServerClock();
    const ask = (at: number) => clock.answered(Math.floor((at + skew + 10) / 1000) * 1000, at, at + 20);
    ask(50_400);
    assert.ok(Math.abs(clock.offset - skew) <= 1000, `${clock.offset}`);
    for (let at = 60_000; at < 90_000; at += 970) ask(at);
    assert.ok(Math.abs(clock.offset - skew) <= 60, `${clock.offset}`);
  }
});

test('an event tells the clock, too, and an old one that is brought late says nothing wrong', () => {
  const clock = new ServerClock();
  clock.heard(hour + 5000, 5010);
  assert.equal(clock.offset, hour - 10);
  clock.heard(hour - 600_000, 6000);
  assert.equal(clock.offset, hour - 10);
  clock.heard(NaN, 6000);
  assert.equal(clock.offset, hour - 10);
});

test('a proxy with a clock of its own does not make the present jump', () => {
  const clock = new ServerClock();
  clock.heard(9 * hour, 1000);
  for (let at = 2000; at < 5000; at += 100) {
    clock.answered(at - (at % 1000), at, at + 5);
    clock.heard(at + 9 * hour, at + 6);
    assert.equal(clock.offset, 0);
  }
});

test('a clock that was set is learnt anew', () => {
  const clock = new ServerClock();
  clock.answered(hour, 100, 200);
  clock.answered(2 * hour, 300, 400);
  assert.ok(Math.abs(clock.offset - 2 * hour) <= 1000);
  clock.answered(1000, 500, 600);
  assert.ok(Math.abs(clock.offset) <= 1000);
});

test('answers of quelld set the present of the page; those of a cache do not', async () => {
  const dated = (at: number, more = {}) => ((globalThis.fetch as unknown) = async () => new Response('{}', { headers: { Date: new Date(at).toUTCString(), ...more } }));
  dated(Date.now() + 2 * hour, { Age: '7200' });
  await get('/v1/status');
  assert.equal(clock_offset.value, 0);
  dated(Date.now() + hour);
  await get('/v1/status');
  assert.ok(Math.abs(server_now() - Date.now() - hour) <= 1100, `${clock_offset.value}`);
  const { value } = clock_offset;
  learn_from_event(new Date(Date.now() + 5 * hour).toISOString());
  assert.equal(clock_offset.value, value, 'no event contradicts a Date');
});
