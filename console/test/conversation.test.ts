import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply_turn_event, call_states, forget_old_turns, still_live, type LiveTurn } from '../src/model/conversation.ts';
import type { ApiEvent, Message } from '../src/api/types.ts';
import { operation } from './made.ts';

const live = (turn: string, more: Partial<LiveTurn> = {}): [string, LiveTurn] => [turn, { turn, agent: 'main', model: 'm', text: 'So far', tools: [], end: '', reason: '', usage: null, ...more }];
const words_of_turn = (turn: string) => ({ role: 'assistant', turn, text: 'All of it' }) as Message;
const ends_of = (turns: readonly LiveTurn[]) => turns.map((t) => [t.turn, t.end, t.reason]);

test('a turn is shown as live until its words are kept', () => {
  const turns = new Map([live('runs'), live('told', { end: 'complete' }), live('not read yet', { end: 'complete' })]);
  assert.deepEqual(ends_of(still_live(turns, [words_of_turn('told')], [])), [['runs', '', ''], ['not read yet', 'complete', '']]);
});

test('what is kept of a turn that goes on is not shown twice', () => {
  const tool = (call: string) => ({ call, name: 'exec', input: {}, operation: null, began_at: 0, elapsed_ms: null, ok: null, note: '' });
  const kept = [{ ...words_of_turn('runs'), text: 'I look.', tool_calls: [{ call: 'a' }] }, { ...words_of_turn('other'), text: 'More', tool_calls: [] }, { ...words_of_turn('runs'), text: '', tool_calls: [{ call: 'b' }] }] as unknown as Message[];
  const shown = (text: string) => still_live(new Map([live('runs', { text, tools: [tool('a'), tool('b'), tool('c')] })]), kept, []).map((turn) => [turn.text, turn.tools.map((one) => one.call).join()]);
  assert.deepEqual(shown('I look.\n\nMore words'), [['More words', 'c']]);
  assert.deepEqual(shown('I look.'), [['', 'c']]);
  assert.deepEqual(shown('Said otherwise'), [['Said otherwise', 'c']]);
});

test('a turn whose end was not heard ends as its row says', () => {
  const turns = new Map([live('told'), live('done'), live('stopped'), live('runs')]);
  const rows = [operation('told', { status: 'completed' }), operation('done', { status: 'completed' }), operation('stopped', { status: 'cancelled' }), operation('runs')];
  assert.deepEqual(ends_of(still_live(turns, [words_of_turn('told')], rows)), [['done', 'complete', ''], ['stopped', 'aborted', 'cancelled'], ['runs', '', '']]);
});

test('a call stands as its result says, and without one it runs or waits for somebody', () => {
  const message = (calls: string[], results: object[]) => ({ tool_calls: calls.map((call) => ({ call })), results }) as Message;
  const kept = [message(['good', 'bad', 'stopped', 'asks', 'runs'], []), message([], [{ call: 'good', ok: true }, { call: 'bad', ok: false }, { call: 'stopped', ok: false, cancelled: true }])];
  const asks = [operation('a', { kind: 'tool_call', status: 'paused', tool: { call: 'asks' } })];
  assert.deepEqual(Object.fromEntries(call_states(kept, asks)), { good: 'completed', bad: 'failed', stopped: 'cancelled', asks: 'paused', runs: 'running' });
});

test('of what was heard all day, only so much is kept, and all of what is not over', () => {
  const turns = new Map([live('runs'), ...Array.from({ length: 9 }, (_, i) => live(`told ${i}`, { end: 'complete' }))]);
  forget_old_turns(turns, 4);
  assert.deepEqual([...turns.keys()], ['runs', 'told 6', 'told 7', 'told 8']);
  forget_old_turns(turns, 1);
  assert.deepEqual([...turns.keys()], ['runs']);
});

test('an answer that is less than was wanted says why, and a stop says what it passed by', () => {
  const turns = new Map([live('cut'), live('whole'), live('stopped'), live('left')]);
  const tell = (turn: string, type: string, data: object) => apply_turn_event(turns, { type, operation: turn, root: turn, at: '2026-01-01T00:00:00Z', data } as unknown as ApiEvent);
  tell('cut', 'turn_complete', { stop_reason: 'length' });
  tell('whole', 'turn_complete', { stop_reason: 'end' });
  tell('stopped', 'turn_abort', { reason: 'user' });
  tell('left', 'turn_abort', { reason: 'user', still_running: ['a', 'b'] });
  const cut = 'cut: it reached the limit of one answer';
  assert.deepEqual(ends_of([...turns.values()]), [['cut', 'complete', cut], ['whole', 'complete', ''], ['stopped', 'aborted', 'user'], ['left', 'aborted', 'user, and 2 in the background go on']]);
  const row = operation('filtered', { status: 'completed', turn: { stop_reason: 'content_filter' } as never });
  assert.deepEqual(ends_of(still_live(new Map([live('filtered')]), [], [row])), [['filtered', 'complete', 'cut by the content filter of the provider']]);
});
