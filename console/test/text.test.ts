import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../src/api/types.ts';
import { AnsiReader, text_of } from '../src/model/ansi.ts';
import { find_end } from '../src/model/audit.ts';
import { quoted, run_command, stop_command, target_name } from '../src/model/command.ts';
import { splice, apply_turn_event, type LiveTurn } from '../src/model/conversation.ts';
import { bytes, duration, exact_ms, revealed, shown, visible_json } from '../src/model/format.ts';
import { between, histogram_of, parse_metrics, quantile } from '../src/model/metrics.ts';
import { link, parse_route, split_address } from '../src/model/route.ts';
import { belongs, matches, parse_search, request_of } from '../src/model/search.ts';
import { timeline } from '../src/model/timeline.ts';
import { uuid7 } from '../src/model/uuid.ts';
import { operation } from './made.ts';

test('durations and sizes are short and exact enough', () => {
  assert.deepEqual([0, 999, 1500, 61_000, 3_840_000, 90_000_000, -5].map(duration), ['0ms', '999ms', '1.5s', '1m 01s', '1h 04m', '1d 01h', '0s']);
  assert.deepEqual([0, 1023, 1024, 5_000_000].map(bytes), ['0 B', '1023 B', '1.0 KiB', '4.8 MiB']);
  assert.deepEqual([0, 0.412, 12.34, 4321.4].map(exact_ms), ['0 ms', '0.41 ms', '12.3 ms', '4321 ms']);
});

test('a title shows a mark for what nobody sees, and keeps every script', () => {
  assert.equal(shown('safe\u202egnp.exe'), 'safe?gnp.exe');
  assert.equal(shown('a\u200bb\u2066c\u2069\u200fd\u061c\ufeff\n\t\x1b[31m\x9b'), 'a?b?c??d????'.concat('?[31m?'));
  assert.equal(revealed('rm -rf /tmp/a\n\techo \u202etxt.x\u2066'), 'rm -rf /tmp/a\n\techo ⟨U+202E⟩txt.x⟨U+2066⟩');
  const input = { command: 'echo \u202e\u200b', list: ['a\nb'] };
  assert.match(visible_json(input), /^\{\n {2}"command": "echo \\u202e\\u200b"/);
  for (const indent of [0, 2]) assert.deepEqual(JSON.parse(visible_json(input, indent)), input);
  for (const text of ['build 4711', 'תפסיק عربي', 'می\u200cخواهم', '👩\u200d💻 ok', 'ＳＴＯＰ é', '']) assert.deepEqual([shown(text), revealed(text)], [text, text]);
  assert.equal(target_name({ what: 'operation', id: 'x', title: 'a\u202eb' }), 'a?b');
});

test('colours are kept over pieces, everything else of a terminal is dropped', () => {
  const reader = new AnsiReader();
  for (const part of ['plain \x1b[1;3', '1mred\nstill red\x1b[0m x\x1b]0;title\x07y\r\n', '10%\r50%\r100%\n\x1b[2J\x1b[38;5;196mz\x1b[38;2;1;2;300mq\x00']) reader.add(part);
  assert.deepEqual(reader.lines.map(text_of), ['plain red', 'still red xy', '100%', 'zq']);
  assert.equal(reader.lines[0]![1]!.classes, 'a-fg1 a-bold');
  assert.equal(reader.lines[1]![0]!.classes, 'a-fg1 a-bold');
  assert.equal(reader.lines[1]![1]!.classes, '');
  assert.deepEqual(reader.lines[3]!.map((p) => p.colour), ['rgb(255,0,0)', 'rgb(1,2,255)']);
});

test('routes go there and back', () => {
  assert.equal(parse_route('/', '').view, 'home');
  assert.deepEqual([parse_route('/operations/abc', '').view, parse_route('/operations/abc', '').id], ['operation', 'abc']);
  assert.equal(parse_route('/tree', '?q=kind:task').query.get('q'), 'kind:task');
  for (const path of ['/nothing', '/operations', '/tree/x', '/operations/a/b']) assert.equal(parse_route(path, '').view, 'unknown', path);
  for (const path of ['/operations/%zz', '/%', '/cancels/%e0%a4']) assert.equal(parse_route(path, '').view, 'unknown', path);
  assert.equal(parse_route('/operations/a%20b', '').id, 'a b');
  assert.deepEqual(split_address('/tree?q=what?x&by=parent'), { path: '/tree', search: 'q=what?x&by=parent' });
  assert.deepEqual([split_address('/tree'), split_address('/tree?')], [{ path: '/tree', search: '' }, { path: '/tree', search: '' }]);
  assert.equal(parse_route('/tree', split_address('/tree?q=what?x').search).query.get('q'), 'what?x');
  assert.equal(link('/tree', { scope: 'a/b', by: undefined }), '/tree?scope=a%2Fb');
});

test('a search becomes a query and words', () => {
  const search = parse_search('kind:task "two words" label:pr=4711 since:1h odd:thing');
  assert.deepEqual(search.words, ['two words', 'odd:thing']);
  const now = Date.parse('2026-11-20T10:00:00.000Z');
  assert.equal(request_of(search, 'live', now).toString(), 'kind=task&label=pr%3D4711&since=2026-11-20T09%3A00%3A00.000Z&status=live');
  assert.ok(matches(parse_search('ALICE w1'), operation('x')));
  // What a row shows is found by it: an owner without a name by the id, an error by its code.
  assert.ok(matches(parse_search('zoe'), operation('x', { owner: { id: 'zoe' } })));
  assert.ok(matches(parse_search('timeout'), operation('x', { status: 'failed', error: { code: 'timeout', message: 'too slow' } })));
  const is = (text: string, op: Operation) => belongs(parse_search(text), op, 'ended', now, false);
  const over = operation('x', { status: 'failed', error: { code: 'timeout', message: 'too slow' } });
  assert.deepEqual(['error:timeout', 'error:error', 'error:error error:timeout', 'error:timeout slow', 'error:timeout fast'].map((text) => is(text, over)), [true, false, true, true, false]);
  // What began long ago may have ended just now.
  const long = operation('x', { status: 'failed', created_at: '2026-11-01T00:00:00.000Z', ended_at: '2026-11-20T09:30:00.000Z' });
  assert.deepEqual(['ended:1h', 'ended:10m', 'ended:2026-11-20', 'ended:2026-11-21'].map((text) => is(text, long)), [true, false, true, false]);
  assert.ok(!is('ended:1h', operation('x')), 'it has not ended');
  assert.equal(request_of(parse_search('ended:1h ended:2h error:timeout error:error'), 'ended', now).toString(), 'ended_since=2026-11-20T08%3A00%3A00.000Z&error=timeout&error=error&status=ended');
});

test('a span beyond all calendars is left for quelld to refuse, and hides no event from others', () => {
  const search = parse_search('since:999999999999d ended:999999999999d');
  assert.equal(request_of(search, 'ended', 0).get('since'), '999999999999d');
  assert.equal(belongs(search, operation('x'), 'ended', 0, false), false);
});

test('commands are quoted for a shell', () => {
  assert.equal(quoted("it's $HOME"), `'it'\\''s $HOME'`);
  assert.equal(quoted("a\u0003b\n'\\\u009b"), `$'a\\003b\\012\\'\\\\\\302\\233'`, 'nothing of it is a key when it is pasted');
  const plainly = { reason: '', at_once: false, only_seen: false };
  assert.equal(stop_command({ what: 'scope', scope: 'team/build' }, plainly, 7), 'quell cancel --scope team/build');
  assert.equal(stop_command({ what: 'operation', id: 'x', title: '' }, { reason: "it's wrong", at_once: true, only_seen: false }, 7), "quell cancel x --reason 'it'\\''s wrong' --kill");
  assert.equal(stop_command({ what: 'everything' }, { ...plainly, only_seen: true }, 7), 'quell cancel --everything --yes --up-to-seq 7');
  for (const kind of ['turn', 'external', 'model_call'] as const) assert.equal(run_command(operation('x', { kind })), 'quell show x', kind);
});

test('the command of a task names all that makes it what it is', () => {
  const task: NonNullable<Operation['task']> = {
    command: ['sh', '-c', 'exit 0'], cwd: null, env_names: [], pty: false, stdin: false, stop_signal: 'TERM', slots: 1, on_leader_exit: 'wait', lease_ms: 10_000, containment: null, pid: null, on: {},
    user: null, memory_bytes: null, pids: null, cpu: null, secret_names: [], output: { stdout_bytes: 0, stderr_bytes: 0, dropped_bytes: 0 },
  };
  assert.equal(run_command(operation('x', { title: '', worker: null, task })), "quell run --scope s --lease 10000ms -- sh -c 'exit 0'");
  const odd = { ...task, stop_signal: 'INT', lease_ms: 0, containment: 'cgroup' as const, on_leader_exit: 'kill' as const, memory_bytes: 1048576, pids: 5, cpu: 1.5, user: 'ann', stdin: true, secret_names: ['KEY'] };
  assert.equal(
    run_command(operation('x', { title: '', supersede: 'a b', on_parent_end: 'detach', task: odd })),
    "quell run --scope s --worker w1 --stop-signal INT --containment cgroup --on-parent-end detach --on-leader-exit kill --supersede 'a b' --memory 1048576 --pids 5 --cpu 1.5 --user ann --input --secret KEY=FILE -- sh -c 'exit 0'",
  );
});

test('text that comes twice is said once', () => {
  assert.equal(splice('héllo', 5, ' you'), 'héllo you');
  assert.equal(splice('héllo you', 5, ' you'), 'héllo you');
  const turns = new Map<string, LiveTurn>();
  const say = (type: string, data: object) => apply_turn_event(turns, { id: '1', type, at: '2026-11-20T10:00:00.000Z', scope: 's', operation: 't', root: 't', cancel: null, worker: null, data });
  say('turn_start', { turn: 't', agent: 'helper', model: 'm' });
  say('text_delta', { offset: 0, text: 'Hi' });
  say('text_delta', { offset: 0, text: 'Hi' });
  say('tool_start', { call: '1', name: 'exec', input: { command: 'ls' } });
  say('tool_result', { call: '1', name: 'exec', ok: true, duration_ms: 5 });
  say('turn_abort', { reason: 'user' });
  const turn = turns.get('t')!;
  assert.deepEqual([turn.text, turn.tools[0]!.elapsed_ms, turn.end, turn.reason], ['Hi', 5, 'aborted', 'user']);
});

test('histograms: what came between two looks, and its quantile', () => {
  const text = (a: number, b: number) => `# HELP x\nf_bucket{le="0.001"} ${a}\nf_bucket{le="0.01"} ${b}\nf_bucket{le="+Inf"} ${b}\nf_count ${b}\ng{name="a\\"b"} 2\n`;
  const before = histogram_of(parse_metrics(text(5, 6)), 'f')!, after = histogram_of(parse_metrics(text(5, 16)), 'f')!;
  const grown = between(before, after);
  assert.deepEqual(grown.counts, [0, 10, 0]);
  assert.equal(quantile(grown, 0.99), 0.01);
  assert.equal(quantile(between(after, after), 0.99), null);
  assert.equal(histogram_of([], 'f'), null);
});

test('a timeline has parents first, phases in order, and nothing later than its instant', () => {
  const root = operation('r', { created_at: '2026-11-20T10:00:00.000Z', started_at: '2026-11-20T10:00:01.000Z', ended_at: '2026-11-20T10:00:10.000Z', status: 'cancelled', stop: { cause: 'cancel', cancel: null, reason: null, by: null, signalled_at: '2026-11-20T10:00:08.000Z', kill_at: null, receipt: 'terminated', proof: 'cgroup_empty' } });
  const child = operation('c', { parent: 'r', created_at: '2026-11-20T10:00:05.000Z', started_at: '2026-11-20T10:00:05.000Z', ended_at: '2026-11-20T10:00:07.000Z', status: 'completed' });
  const whole = timeline([child, root], 'r', Infinity, 0);
  assert.deepEqual(whole.bars.map((b) => [b.operation.id, b.depth]), [['r', 0], ['c', 1]]);
  assert.deepEqual(whole.bars[0]!.parts.map((p) => [p.what, p.from, p.to]), [['waits', 0, 0.1], ['runs', 0.1, 0.8], ['stops', 0.8, 1]]);
  const early = timeline([child, root], 'r', Date.parse('2026-11-20T10:00:04.000Z'), 0);
  assert.deepEqual(early.bars.map((b) => b.state), ['running', 'not_yet']);
  assert.equal(early.bars[0]!.parts.at(-1)!.to, 0.4);
});

test('the end of the audit is found', async () => {
  for (const end of [0, 1, 2, 3, 7, 8, 9, 1000, 123_457]) {
    let asked = 0;
    assert.equal(await find_end(async (n) => (++asked, n < end)), end);
    assert.ok(asked < 50);
  }
});

test('ids are UUIDv7 of now', () => {
  const id = uuid7(0x01a1f8693df9);
  assert.match(id, /^01a1f869-3df9-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(uuid7(), uuid7());
});
