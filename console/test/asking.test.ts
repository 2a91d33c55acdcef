import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { ask_for, asked, leave_question } from '../src/state/asking.ts';

const drain = { title: 'Drain w1?', words: 'Nothing more is started there.', line: 'Why', yes: 'Drain' };
afterEach(leave_question);

test('a question is shown until it is answered', async () => {
  const answer = ask_for(drain);
  assert.equal(asked.value?.title, 'Drain w1?');
  asked.value!.answer('new disks');
  assert.equal(await answer, 'new disks');
  assert.equal(asked.value, null);
});

test('whoever leaves a question has said no', async () => {
  const answer = ask_for(drain);
  leave_question();
  assert.equal(await answer, null);
});

test('another question takes the place of the one before, whose late end does not end it', async () => {
  const first = ask_for(drain);
  const dialog = asked.value!;
  const second = ask_for({ ...drain, title: 'Drain w2?' });
  assert.equal(await first, null);
  dialog.answer(null); // its dialog closes now
  assert.equal(asked.value?.title, 'Drain w2?');
  asked.value!.answer('');
  assert.equal(await second, '');
});
