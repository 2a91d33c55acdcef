import assert from 'node:assert/strict';
import { test } from 'node:test';
import { body_of, token_of, unmade_words } from '../src/model/new_token.ts';

test('a token without an answer is the same when it is sent again unchanged, also at its end', () => {
  let made = 0;
  const new_id = () => `id${++made}`;
  const form = { name: 'for mia', role: 'operator', scope: 'team', days: 30, expires_at: '2026-12-27T00:00:00.000Z' };
  const first = token_of(form, null, new_id);
  assert.deepEqual(body_of(first), { id: 'id1', name: 'for mia', role: 'operator', scope: 'team', expires_at: form.expires_at });
  assert.equal(token_of({ ...form, expires_at: '2026-12-27T00:01:00.000Z' }, first, new_id), first);
  for (const change of [{ name: 'x' }, { role: 'admin' }, { scope: null }, { days: 7 }]) assert.notEqual(token_of({ ...form, ...change }, first, new_id).id, 'id1', JSON.stringify(change));
  assert.equal(token_of(form, null, new_id).id, 'id6', 'what was answered is another one');
  assert.match(unmade_words('quelld does not answer.'), /^quelld does not answer\. Whether .* not known\./);
});
