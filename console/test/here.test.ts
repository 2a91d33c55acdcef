import assert from 'node:assert/strict';
import { test } from 'node:test';
import { here_queries, what_is_here } from '../src/model/here.ts';
import { operation } from './made.ts';

test('a conversation asks for its turns, what waits for somebody and summaries, each apart', () => {
  const { turns, asks, summaries } = here_queries('chat/a b');
  const asked = [turns, asks, summaries].map((path) => new URL(path, 'http://x').searchParams);
  assert.deepEqual(asked.map((query) => [query.get('scope'), query.get('kind'), query.get('status')]), [['chat/a b', 'turn', 'live'], ['chat/a b', null, 'paused'], ['chat/a b', 'model_call', 'live']]);
});

test('the answer that is written, those that wait and the calls that ask are found among other work', () => {
  const scope = 'chat';
  const of = (id: string, more: Parameters<typeof operation>[1]) => operation(id, { scope, ...more });
  const asking = of('asking', { kind: 'tool_call', status: 'paused', parent: 'turn' });
  const found = what_is_here(scope, [
    of('below', { kind: 'turn', scope: 'chat/below' }), of('call', { kind: 'model_call', parent: 'turn' }), of('turn', { kind: 'turn' }), of('next', { kind: 'turn', status: 'pending' }),
    asking, asking, of('other', { kind: 'tool_call', status: 'paused', scope: 'chat/below' }),
  ]);
  assert.deepEqual([found.running?.id, found.queued.map((op) => op.id), found.asks.map((op) => op.id)], ['turn', ['next'], ['asking']]);
  assert.equal(what_is_here(scope, [of('summary', { kind: 'model_call' })]).running?.id, 'summary');
  assert.equal(what_is_here(scope, [of('stopped', { kind: 'turn', status: 'cancelling' })]).running?.id, 'stopped');
  assert.equal(what_is_here(scope, [of('task', {})]).running, undefined);
});
