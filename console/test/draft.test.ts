import assert from 'node:assert/strict';
import { test } from 'node:test';
import { message_of, rest_of, unanswered_words } from '../src/model/draft.ts';
import { OneAtATime } from '../src/model/once.ts';

let ids = 0;
const next = () => `id${++ids}`;

test('a message has an id of its own, which it keeps when it is sent again unchanged', () => {
  const first = message_of('hello', 'queue', null, next)!;
  assert.deepEqual(first, { id: 'id1', text: 'hello', manner: 'queue' });
  assert.equal(message_of('hello', 'queue', first, next), first, 'its answer was lost');
  assert.notEqual(message_of('hello', 'queue', null, next)!.id, first.id, 'it was answered: the same words again are another message');
  assert.notEqual(message_of('hello you', 'queue', first, next)!.id, first.id, 'a repeat of an id does nothing, so other words need another one');
  assert.notEqual(message_of('hello', 'supersede', first, next)!.id, first.id);
  assert.equal(message_of(' \n', 'queue', null, next), null);
});

test('only what was sent is wiped', () => {
  assert.equal(rest_of('hello', 'hello'), '');
  assert.equal(rest_of('hello\nand more', 'hello'), 'and more');
  assert.equal(rest_of('hallo', 'hello'), 'hallo', 'somebody has changed it meanwhile');
  assert.equal(rest_of('', 'hello'), '');
  assert.match(unanswered_words('quelld does not answer.'), /^quelld does not answer\. .* not known\. .* once\.$/);
});

test('of two presses one sends, and the next can once it is over, also if it failed', async () => {
  const told: boolean[] = [];
  const one = new OneAtATime((is_busy) => told.push(is_busy));
  let calls = 0, end = (_: string) => {};
  const act = () => new Promise<void>((resolve, reject) => ((calls += 1), (end = (why) => (why ? reject(new Error(why)) : resolve()))));
  const first = one.run(act);
  assert.equal(await one.run(act), false);
  assert.deepEqual([calls, told], [1, [true]]);
  end('');
  assert.equal(await first, true);
  const second = one.run(act);
  end('no');
  await assert.rejects(second, /no/);
  const third = one.run(act);
  end('');
  assert.deepEqual([await third, calls, told], [true, 3, [true, false, true, false, true, false]]);
});
