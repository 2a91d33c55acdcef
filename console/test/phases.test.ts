import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../src/api/types.ts';
import { marked_words, outcome_words } from '../src/model/outcome.ts';
import { cancels_among, phases_of, phases_of_operation } from '../src/model/phases.ts';
import { kinds_of, play_ms, ticks_of, timeline } from '../src/model/timeline.ts';
import { cancel, operation, report } from './made.ts';

const begin = Date.parse('2026-11-20T10:00:08.000Z');
const stop = (more: Partial<NonNullable<Operation['stop']>> = {}): NonNullable<Operation['stop']> =>
  ({ cause: 'cancel', cancel: 'c', reason: null, by: null, signalled_at: null, kill_at: null, receipt: null, proof: null, ...more });
const stopped = (id: string, more: Partial<Operation> = {}) =>
  operation(id, { status: 'cancelled', started_at: '2026-11-20T10:00:00.000Z', ended_at: '2026-11-20T10:00:10.000Z', stop: stop({ signalled_at: '2026-11-20T10:00:08.002Z', receipt: 'killed', proof: 'cgroup_empty' }), ...more });
const whole = cancel({ status: 'settled', created_at: '2026-11-20T10:00:08.000Z', report: report({ operations: 2, fenced_ms: 0.5, signalled_ms: 2, settled_ms: 2000, proven: true }) });

test('a cancelled operation is shown with its receipt and proof, not with the error that says that it was cancelled', () => {
  const error = { code: 'cancelled', message: 'cancelled by alice' };
  assert.equal(outcome_words(stopped('a', { error })), 'killed, proof: cgroup empty');
  assert.equal(outcome_words(stopped('a', { error, stop: stop({ receipt: 'unconfirmed' }) })), 'unconfirmed, proof: none');
  assert.equal(outcome_words(stopped('a', { error, stop: null })), 'cancelled: cancelled by alice');
});

test('what was stopped for another reason shows both; what failed by itself its error; what lives what it waits for', () => {
  const timeout = { code: 'timeout', message: 'ran for 5 s' };
  assert.equal(outcome_words(stopped('a', { status: 'failed', error: timeout })), 'timeout: ran for 5 s · killed, proof: cgroup empty');
  assert.equal(outcome_words(operation('a', { status: 'failed', error: { code: 'exit', message: 'code 2' } })), 'exit: code 2');
  assert.equal(outcome_words(operation('a', { status: 'completed' })), '');
  assert.equal(outcome_words(operation('a', { status: 'pending', waiting_for: { what: 'slot', since_at: '2026-11-20T10:00:00.000Z', detail: 'waits for a slot' } })), 'waits for a slot');
});

test('the phases of a cancel have instants, as far as it has come', () => {
  assert.deepEqual(phases_of(whole).map((p) => [p.what, p.at - begin]), [['fenced', 0.5], ['signalled', 2], ['settled', 2000]]);
  assert.deepEqual(phases_of(cancel({ created_at: '2026-11-20T10:00:08.000Z', report: report({ operations: 1, fenced_ms: 1 }) })).map((p) => p.what), ['fenced']);
  assert.deepEqual(phases_of(cancel({ created_at: null, report: report({ fenced_ms: 1 }) })), []);
});

test('an operation is signalled and settled by itself, and has nothing of the stop of others', () => {
  assert.deepEqual(phases_of_operation(stopped('a'), whole).map((p) => [p.what, p.after_ms]), [['fenced', 0.5], ['signalled', 2], ['settled', 2000]]);
  assert.deepEqual(phases_of_operation(stopped('a', { status: 'cancelling', ended_at: null }), whole).map((p) => p.what), ['fenced', 'signalled']);
  assert.deepEqual(phases_of_operation(stopped('a', { started_at: null, stop: stop({ receipt: 'never_started' }) }), whole).map((p) => p.what), ['fenced', 'settled']);
  assert.deepEqual(phases_of_operation(stopped('a'), undefined), []);
  assert.deepEqual(phases_of_operation(operation('a'), whole), []);
  assert.deepEqual(phases_of_operation(stopped('a'), cancel({ id: 'other' })), []);
});

test('a timeline marks the phases, and none later than its instant', () => {
  const operations = [stopped('r', { created_at: '2026-11-20T10:00:00.000Z' }), stopped('k', { parent: 'r', created_at: '2026-11-20T10:00:00.000Z', kind: 'model_call' })];
  assert.deepEqual(cancels_among([...operations, operation('x')], 5), ['c']);
  const cancels = new Map([['c', whole]]);
  const marks = (when: number) => timeline(operations, 'r', when, 0, cancels).bars.map((bar) => bar.marks.map((mark) => mark.what));
  assert.deepEqual(marks(Infinity), [['fenced', 'signalled', 'settled'], ['fenced', 'signalled', 'settled']]);
  assert.deepEqual(marks(begin + 1), [['fenced'], ['fenced']]);
  assert.deepEqual(marks(begin - 1), [[], []]);
  assert.equal(timeline(operations, 'r', Infinity, 0, cancels).bars[0]!.marks[2]!.share, 1);
});

test('the axis of a timeline has round times, and never too many', () => {
  assert.deepEqual(ticks_of(10_000, 6), [0, 1, 2, 3, 4, 5].map((i) => ({ share: i / 5, text: i === 0 ? '0' : i === 5 ? '10s' : `${2 * i}s` })));
  assert.deepEqual(ticks_of(7, 6).map((tick) => tick.text), ['0', '2ms', '4ms', '6ms']);
  assert.deepEqual(ticks_of(100 * 60_000, 6).map((tick) => tick.text), ['0', '30m', '1h', '1h 30m']);
  assert.deepEqual(ticks_of(20 * 86_400_000, 6).map((tick) => tick.text), ['0', '4d', '8d', '12d', '16d', '20d']);
  for (let span = 1; span < 4e9; span = Math.ceil(span * 1.3)) {
    const ticks = ticks_of(span, 6);
    assert.ok(ticks.length >= 2 && ticks.length <= 7 && ticks.every((tick) => tick.share >= 0 && tick.share <= 1) && new Set(ticks.map((tick) => tick.text)).size === ticks.length, `${span} ms`);
  }
});

test('a replay takes as long as it took, within limits, and names the kinds that it shows', () => {
  assert.deepEqual([5, 4000, 3_600_000].map(play_ms), [2000, 4000, 10_000]);
  const bars = timeline([operation('r', { kind: 'turn' }), operation('m', { kind: 'model_call', parent: 'r', seq: 2 }), operation('n', { kind: 'model_call', parent: 'r', seq: 3 })], 'r', Infinity, begin).bars;
  assert.deepEqual(kinds_of(bars), ['turn', 'model_call']);
});

test('a marked row is said with its name, how it stands and its place', () => {
  assert.equal(marked_words(operation('a', { title: 'build\u202e', kind: 'model_call' }), 3, 40), 'build?, model call, running, row 3 of 40');
  assert.equal(marked_words(operation('a', { title: '' }), 1, -1), 'sh, task, running, row 1');
});
