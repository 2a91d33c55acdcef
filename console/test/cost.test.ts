import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CostPage, CostSums } from '../src/api/types.ts';
import { cost_of_today, each_day, in_order, money, tokens, usage_of, usage_words } from '../src/model/cost.ts';
import { operation } from './made.ts';

const sums = (more: Partial<CostSums>): CostSums => ({ model_calls: 1, estimated_calls: 0, input_tokens: 10, output_tokens: 1, cached_input_tokens: 0, cache_written_tokens: 0, cost: 0, ...more });
const page = (cost: CostSums[]): CostPage => ({ by: 'day', scope: null, from: '2026-02-27', to: '2026-03-02', today: '2026-03-02', cost, total: sums({}), next_cursor: null });

test('amounts keep what matters of them', () => {
  assert.deepEqual([0, 0.0000001, 0.00162, 0.5, 12.4, 1204].map(money), ['0', '< 0.000001', '0.0016', '0.50', '12.40', '1,204.00']);
  assert.deepEqual([0, 940, 1290, 34_400, 999_600, 5_600_000].map(tokens), ['0', '940', '1.2k', '34k', '0.9M', '5.6M']);
});

test('days without calls are zeros, and today is found', () => {
  const one = page([sums({ day: '2026-02-28', cost: 1 }), sums({ day: '2026-03-02', cost: 2 })]);
  assert.deepEqual(each_day(one).map((d) => [d.day, d.cost]), [['2026-02-27', 0], ['2026-02-28', 1], ['2026-03-01', 0], ['2026-03-02', 2]]);
  assert.equal(each_day(one, 2).length, 2);
  assert.equal(cost_of_today(one), 2);
  assert.equal(cost_of_today(page([])), 0);
});

test('days go from the newest, everything else from the dearest', () => {
  assert.deepEqual(in_order([sums({ day: '2026-02-28' }), sums({ day: '2026-03-02' })], 'day').map((r) => r.day), ['2026-03-02', '2026-02-28']);
  assert.deepEqual(in_order([sums({ scope: 'a', cost: 1 }), sums({ scope: 'b', cost: 2 }), sums({ scope: 'c', cost: 1, input_tokens: 99 })], 'scope').map((r) => r.scope), ['b', 'c', 'a']);
});

test('what an operation has used is said in one line', () => {
  assert.equal(usage_of(operation('a')), null);
  assert.equal(usage_of(operation('a', { result: { text: 'no usage' } })), null);
  const usage = { input_tokens: 1200, output_tokens: 100, cached_input_tokens: 0 };
  assert.equal(usage_words(usage_of(operation('a', { kind: 'model_call', result: { usage } }))!), '1.2k in, 100 out');
  assert.equal(usage_words({ ...usage, cost: 0.0024, estimated: true }), '1.2k in, 100 out · cost 0.0024, partly estimated');
});
