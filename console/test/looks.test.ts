import assert from 'node:assert/strict';
import { test } from 'node:test';
import { look_of, with_look, type Look } from '../src/model/looks.ts';
import { parse_metrics } from '../src/model/metrics.ts';

const page = (settled_fast: number, settled_slow: number, started: number, live: number) => parse_metrics(`quell_cancel_settled_seconds_bucket{le="0.1"} ${settled_fast}
quell_cancel_settled_seconds_bucket{le="5"} ${settled_fast + settled_slow}
quell_cancel_settled_seconds_bucket{le="+Inf"} ${settled_fast + settled_slow}
quell_events_total{type="operation_started"} ${started}
quell_events_total{type="operation_created"} ${started}
quell_operations_live ${live}
`);
const look = (fields: Partial<Look>): Look => ({ from: 0, at: 0, fenced: null, signalled: null, settled: null, commit: null, starts: 0, events: 0, live: 0, oldest: 0, ...fields });

test('a look tells of the time since the one before it', () => {
  const first = { at: 100, samples: page(10, 1, 50, 3) };
  assert.deepEqual(look_of(first, null), look({ from: 100, at: 100, settled: 5, starts: null, events: null, live: 3 }));
  assert.deepEqual(look_of({ at: 110, samples: page(20, 1, 70, 4) }, first), look({ from: 100, at: 110, settled: 0.1, starts: 2, events: 4, live: 4 }));
  assert.deepEqual(look_of({ at: 120, samples: page(10, 1, 50, 4) }, first), look({ from: 100, at: 120, settled: null, starts: 0, events: 0, live: 4 }), 'nothing was stopped');
});

test('a page that is open for days keeps all of them, and no more looks than it may', () => {
  let looks: Look[] = [];
  for (let i = 0; i < 20_000; ++i) {
    looks = with_look(looks, look({ from: i - 1, at: i, settled: i === 7 ? 9 : null, live: i === 9 ? 99 : 1, starts: 4 }), 100);
    assert.ok(looks.length <= 100);
  }
  assert.equal(looks.at(-1)!.at, 19_999);
  assert.ok(looks[0]!.at < 19_999 / 20, 'the first hours are there, too');
  assert.equal(looks[0]!.settled, 9, 'the slowest stop stays to be seen');
  assert.equal(looks[0]!.live, 99);
  assert.ok(looks.every((one, i) => one.starts === 4 && (i === 0 || one.at > looks[i - 1]!.at)), 'in their order');
});
