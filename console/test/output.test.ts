import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnsiReader, text_of } from '../src/model/ansi.ts';

const rows = (reader: AnsiReader) => reader.lines.map(text_of);

test('a line without end is shown in rows, and only so much of it is kept', () => {
  const reader = new AnsiReader({ row: 10, rows: 100, all: 50 });
  for (let i = 0; i < 1000; ++i) reader.add('abcdefg');
  const kept = rows(reader);
  assert.ok(kept.join('').length <= 50, kept.join(''));
  assert.ok(kept.slice(0, -1).every((row) => row.length === 10));
  assert.equal(reader.left_out_bytes + kept.join('').length, 7000, 'nothing is lost silently');
  assert.ok('abcdefg'.repeat(1000).endsWith(kept.join('')));
  assert.deepEqual(new Set(reader.numbers), new Set([0]), 'all of it goes on with the first line');
});

test('many short writes are one piece, not one each', () => {
  const reader = new AnsiReader();
  for (let i = 0; i < 500; ++i) reader.add('.');
  assert.equal(reader.lines[0]!.length, 1);
  reader.add('\x1b[31mred\x1b[0m');
  assert.deepEqual(reader.lines[0]!.map((piece) => piece.classes), ['', 'a-fg1']);
});

test('the oldest of many lines are left out, and those that stay keep their numbers', () => {
  const reader = new AnsiReader({ row: 10, rows: 4, all: 1000 });
  for (let i = 1; i <= 10; ++i) reader.add(`line ${i}\n`);
  assert.deepEqual(rows(reader), ['line 8', 'line 9', 'line 10', '']);
  assert.deepEqual(reader.numbers, [8, 9, 10, 11]);
  assert.equal(reader.left_out_bytes, 'line 1\n'.length * 7);
});

test('a long line has one number, and no character is cut in two', () => {
  const reader = new AnsiReader({ row: 5, rows: 100, all: 1000 });
  reader.add('ab\n1234👩6789\nz');
  assert.deepEqual(rows(reader), ['ab', '1234', '👩678', '9', 'z']);
  assert.deepEqual(reader.numbers, [1, 2, 0, 0, 3]);
});

test('a progress bar paints over its line, however it is cut, also over several rows', () => {
  const reader = new AnsiReader({ row: 5, rows: 100, all: 1000 });
  for (const part of ['10%\r', '50%', '\r', '\x1b[32m100%', '\r', '\n', 'long long long\r', 'done\r\n', 'end']) reader.add(part);
  assert.deepEqual(rows(reader), ['100%', 'done', 'end']);
  assert.deepEqual(reader.numbers, [1, 2, 3]);
  for (let i = 0; i < 10_000; ++i) reader.add(`\r${i} of 10000`);
  assert.equal(rows(reader).slice(2).join(''), '9999 of 10000');
  assert.equal(reader.left_out_bytes, 0);
});

test('an escape without end is not kept for ever', () => {
  const reader = new AnsiReader({ row: 100, rows: 100, all: 1000 });
  reader.add('\x1b[');
  for (let i = 0; i < 5000; ++i) reader.add('11111');
  assert.ok(rows(reader).join('').length <= 1000);
  reader.add('m\x1b[0m ok');
  assert.ok(rows(reader).join('').endsWith(' ok'));
});

test('the usual limits are far beyond what fits on a screen', () => {
  const reader = new AnsiReader();
  reader.add('x'.repeat(6 * 1024 * 1024));
  assert.ok(rows(reader).join('').length <= 4 * 1024 * 1024);
  assert.ok(reader.left_out_bytes >= 2 * 1024 * 1024);
});
