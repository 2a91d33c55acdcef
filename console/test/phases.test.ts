import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../src/api/types.ts';
import { marked_words, outcome_words } from '../src/model/outcome.ts';
import { cancels_among, phases_of, phases_of_operation } from '../src/model/phases.ts';
import { timeline } from '../src/model/timeline.ts';
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

test('a marked row is said with its name, how it stands and its place', () => {
  assert.equal(marked_words(operation('a', { title: 'build\u202e', kind: 'model_call' }), 3, 40), 'build?, model call, running, row 3 of 40');
  assert.equal(marked_words(operation('a', { title: '' }), 1, -1), 'sh, task, running, row 1');
});
