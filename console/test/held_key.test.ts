import assert from 'node:assert/strict';
import { test } from 'node:test';
import { may_repeat, presses_again } from '../src/model/held_key.ts';

test('a held Enter presses a control once, and goes on in a text', () => {
  assert.equal(presses_again({ key: 'Enter', repeat: false }, true), false);
  assert.equal(presses_again({ key: 'Enter', repeat: true }, true), true);
  assert.equal(presses_again({ key: 'Enter', repeat: true }, false), false);
  assert.equal(presses_again({ key: 'ArrowDown', repeat: true }, true), false);
});

test('a held letter moves on, and acts once', () => {
  assert.deepEqual(['j', 'k', 'h', 'l', 'c', 'x', 'Enter', 'g'].map(may_repeat), [true, true, true, true, false, false, false, false]);
});
