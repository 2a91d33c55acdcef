import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { headline, next_words, preview_words, proof_shares, proven_count, receipt_shares, target_words, verdict } from '../src/model/report.ts';
import { cancel, report } from './made.ts';

test('the word "stopped" is said with proof alone', () => {
  const statuses = ['fenced', 'signalled', 'settled'] as const;
  const outcomes = ['stopping', 'nothing_live', 'already_finished', 'joined', 'unknown_id'] as const;
  for (const status of statuses)
    for (const outcome of outcomes)
      for (const proven of [true, false])
        for (const operations of [0, 3])
          for (const unproven_total of [0, 1]) {
            const one = cancel({ status, outcome, report: report({ operations, proven, unproven_total: operations ? unproven_total : 0 }) });
            const says = /\bstopped\b/i.test(headline(one));
            assert.equal(says, verdict(one) === 'proven', headline(one));
            if (says) assert.ok(status === 'settled' && proven && operations > 0);
          }
});

// The tests run in the folder of the console.
test('no other file says "stopped": what it shows is being stopped, or has ended somehow', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name) && !['model/report.ts', 'api/schema.d.ts'].includes(name));
  assert.ok(files.length > 100, String(files.length));
  for (const name of files) {
    const text = readFileSync(`src/${name}`, 'utf8').replace(/\/\*[^]*?\*\//g, '').replace(/(?<!:)\/\/.*/g, '');
    assert.doesNotMatch(text, /(?<!being )\bstopped\b/i, name);
  }
});

test('what is settled without proof says how many nobody vouches for', () => {
  const one = cancel({ status: 'settled', report: report({ operations: 5, receipts: { ...report().receipts, killed: 3, unconfirmed: 1, declared: 1 } }) });
  assert.equal(verdict(one), 'unproven');
  assert.match(headline(one), /2 operations nobody can vouch for/);
});

test('a stop of one operation is named by its title once that is known, on one line', () => {
  const of_one = cancel({ target: { operation: '0198c7a0-0000-7000-8000-000012345678' } });
  assert.equal(target_words(of_one), 'operation …12345678');
  assert.equal(target_words(of_one, 'le\u202ead\n'), 'le?ad? (operation …12345678)');
  assert.equal(target_words(cancel(), 'of another'), 'scope s');
});

test('a stop under way counts what is proven', () => {
  assert.equal(headline(cancel({ report: report({ operations: 1037, unproven_total: 37 }) })), 'Stopping: 1,000 of 1,037 operations proven');
});

test('what nobody can vouch for is not counted as proven, while others end and behind it', () => {
  const receipts = { ...report().receipts, killed: 3, unconfirmed: 1, declared: 1 };
  assert.equal(headline(cancel({ report: report({ operations: 7, unproven_total: 2, receipts }) })), 'Stopping: 3 of 7 operations proven');
  assert.equal(proven_count(report({ operations: 5, receipts })), 3);
  assert.equal(proven_count(report({ operations: 1, receipts: { ...report().receipts, unconfirmed: 1 } })), 0);
});

test('shares leave out what is zero, the largest first', () => {
  const r = report({ receipts: { ...report().receipts, killed: 2, terminated: 9 }, proofs: { ...report().proofs, cgroup_empty: 11 } });
  assert.deepEqual(receipt_shares(r).map((s) => [s.key, s.count]), [['terminated', 9], ['killed', 2]]);
  assert.deepEqual(proof_shares(r).map((s) => s.words), ['control group empty']);
});

test('the next step says when', () => {
  const one = { operation: 'o', title: '', scope: 's', worker: 'w', why: 'in_grace', since_at: '', processes_total: 0, processes: [], next: { action: 'kill', at: '2026-11-20T10:00:02.000Z' }, dead_by: null } as const;
  const now = Date.parse('2026-11-20T10:00:00.500Z');
  assert.equal(next_words({ ...one, processes: [] }, now), 'it is killed in 1.5s');
  assert.equal(next_words({ ...one, processes: [] }, now + 5000), 'it is killed any moment');
});

test('the preview counts operations, workers and what is external', () => {
  assert.equal(preview_words(report({ operations: 37, workers: ['a', 'b', 'c', 'd'] }), 2), '37 operations on 4 workers, 2 of them external');
  assert.equal(preview_words(report({ operations: 5000 }), 1000, true), '5,000 operations, at least 1,000 of them external');
  assert.equal(preview_words(report({ operations: 5000 }), 0, true), '5,000 operations; whether some are external is not counted');
  assert.equal(preview_words(report(), 0), 'Nothing is live there now');
});
