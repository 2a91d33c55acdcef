import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StreamParser } from '../src/model/sse.ts';

test('events come out whole, however their text is cut', () => {
  const text = ': hello\n\nid: 7\nevent: operation_created\ndata: {"a":1}\n\nid: 8\ndata: one\ndata: two\n\n: again\n\nid: 9\ndata: x\n\n';
  const expected = [{ id: '7', data: '{"a":1}' }, { id: '8', data: 'one\ntwo' }, { id: '9', data: 'x' }];
  for (let size = 1; size <= text.length; ++size) {
    const parser = new StreamParser(), found = [];
    for (let at = 0; at < text.length; at += size) {
      parser.add(text.slice(at, at + size));
      for (let one = parser.next(); one; one = parser.next()) found.push(one);
    }
    assert.deepEqual(found, expected, `pieces of ${size}`);
  }
});

test('what is cut off waits for its rest, and an event without data is none', () => {
  const parser = new StreamParser();
  parser.add('id: 1\ndata: half');
  assert.equal(parser.next(), null);
  parser.add(' an event\n\nid: 2\n\n');
  assert.deepEqual(parser.next(), { id: '1', data: 'half an event' });
  assert.equal(parser.next(), null);
});
