import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation, Unproven } from '../src/api/types.ts';
import { diagnosis } from '../src/model/doctor.ts';
import { announced, calm_words, chats_down, needs_of, new_needs, nothing_found, number_words, tab_title, type Findings } from '../src/model/needs.ts';
import { owner_of, parse_search } from '../src/model/search.ts';
import { none_settled } from '../src/model/settled.ts';
import { cancel, operation, report, status, worker } from './made.ts';

test('needs: a stop is one once it takes long, and approvals always', () => {
  const now = Date.parse('2026-11-20T10:00:10.000Z');
  const quiet = nothing_found;
  assert.deepEqual(needs_of(quiet, now), []);
  const slow = cancel({ report: report({ operations: 2, unproven_total: 1 }) });
  assert.equal(needs_of({ ...quiet, cancels: [slow] }, now).length, 1);
  assert.equal(needs_of({ ...quiet, cancels: [slow] }, now - 8000).length, 0);
  const of_one = cancel({ target: { operation: 'id-12345678' }, report: report({ unproven: [{ operation: 'id-12345678', title: 'lead' } as Unproven] }) });
  assert.deepEqual(needs_of({ ...quiet, cancels: [of_one, slow] }, now).map((n) => n.title), ['Not proven yet: lead (operation …12345678)', 'Not proven yet: scope s']);
  assert.equal(needs_of({ ...quiet, approvals: [operation('a', { status: 'paused' })], not_ready: 'disk' }, now).map((n) => n.weight).join(), 'bad,ask');
  assert.equal(tab_title(number_words(2, false), 'Live'), '(2) Live · quell');
  assert.deepEqual([number_words(0, false), number_words(100, true), tab_title('', '')], ['', '100+', 'quell']);
});

test('that all is well is said only if it is known and true', () => {
  const now = Date.parse('2026-11-20T10:00:10.000Z');
  const well = { ...nothing_found, looked_at: now, status: status() };
  assert.match(calm_words(well, true, now).detail, /^Every stop is proven/);
  assert.match(calm_words({ ...well, workers: [worker(), worker()], has_more_workers: true }, true, now).detail, /, the first 2 workers answer, and /, 'of the others nothing is known');
  const unproven = cancel({ status: 'settled', report: report({ operations: 1, proven: false, settled_ms: 2000 }) });
  const others: [string, Findings, boolean, number][] = [
    ['a stop of any age is open', { ...well, cancels: [cancel()] }, true, now],
    ['one that this token does not list is open', { ...well, status: status({ cancels_open: 1 }) }, true, now],
    ['one settled without proof', { ...well, settled: { ...none_settled, unproven: [unproven] } }, true, now],
    ['not all were read', { ...well, settled: { ...none_settled, read: 1000, is_part: true } }, true, now],
    ['the connection is lost', well, false, now],
    ['nobody has looked for long', well, true, now + 120_000],
    ['nobody has looked', nothing_found, true, now],
  ];
  for (const [why, found, is_heard, at] of others) {
    const said = calm_words(found, is_heard, at);
    assert.doesNotMatch(`${said.title} ${said.detail}`, /every stop is proven/i, why);
    if (!/^(one settled without proof|not all)/.test(why)) assert.notEqual(said.title, 'Nothing needs you', why);
  }
});

test('needs: a stop that settled without proof, whatever the clock says', () => {
  const one = cancel({ status: 'settled', report: report({ operations: 1, proven: false, settled_ms: 2000 }) });
  const found = { ...nothing_found, settled: { ...none_settled, unproven: [one] } };
  for (const now of [0, Date.parse('2026-11-20T10:00:10.000Z'), Date.parse('2036-11-20T10:00:10.000Z')])
    assert.deepEqual(needs_of(found, now).map((n) => [n.key, n.weight]), [['unproven c', 'bad']]);
  const of_one = { ...found, settled: { ...none_settled, unproven: [cancel({ ...one, target: { operation: '0198c7a0-0000-7000-8000-000012345678' } })] } };
  assert.equal(needs_of(of_one, 0, (id) => `title of ${id.slice(-1)}`)[0]!.title, 'Settled without proof: title of 8 (operation …12345678)');
});

test('a need that goes and comes again is said again', () => {
  const need = needs_of({ ...nothing_found, not_ready: 'disk' }, 0);
  assert.equal(new_needs(new Set(), need).length, 1);
  assert.equal(new_needs(new Set(['ready']), need).length, 0);
  assert.equal(new_needs(new Set(['worker w1']), need).length, 1);
});

test('needs: chat services, models, MCP servers and the disk, while they are in trouble', () => {
  const now = Date.parse('2026-11-20T10:00:10.000Z');
  const quiet = nothing_found;
  const keys_of = (more: Partial<Findings>) => needs_of({ ...quiet, ...more }, now).map((n) => n.key);
  const down = status({ chat_services: [{ name: 'irc', working: false, state: 'retrying' }, { name: 'slack', working: true, state: 'connected' }] });
  const seen = chats_down(down, new Map(), now - 10_000);
  assert.deepEqual(keys_of({ status: down, chats_down: seen }), ['chat irc']);
  assert.deepEqual(keys_of({ status: down, chats_down: chats_down(down, new Map(), now - 9000) }), [], 'it connects again by itself');
  assert.equal(chats_down(down, seen, now).get('irc'), now - 10_000);
  assert.equal(chats_down(status(), seen, now).size, 0);
  const server = { name: 'locked', kind: 'url' as const, url: null, per: 'cluster' as const, login: null, trouble: 'out of reach' };
  assert.deepEqual(keys_of({ mcp: [server, { ...server, name: 'well', trouble: null }] }), ['mcp locked']);
  const store = (free_bytes: number | null, low = false) => keys_of({ status: status({ store: { low, free_bytes, reserve_bytes: 100 } }) });
  assert.deepEqual([store(999), store(1000), store(null), store(50, true)], [['store'], [], [], []], 'of the full disk /readyz speaks');
  const call = (id: string, how: Operation['status'], name = 'big') => operation(id, { kind: 'model_call', name, status: how, ended_at: '2026-11-20T10:00:00.000Z' });
  assert.deepEqual(keys_of({ model_calls: [call('d', 'cancelled'), call('c', 'failed'), call('b', 'completed'), call('a', 'failed', 'small')] }), ['model big', 'model small']);
  assert.deepEqual(keys_of({ model_calls: [call('c', 'completed'), call('b', 'failed')] }), [], 'it has recovered');
  assert.match(needs_of({ ...quiet, model_calls: [call('c', 'failed'), call('b', 'completed')] }, now)[0]!.detail, /1 of its last 2 calls/);
});

test('whose work a search shows, if it shows all of it', () => {
  const of = (text: string, around = '') => owner_of(parse_search(text), around);
  assert.deepEqual(of('owner:alice'), { owner: 'alice', scope: '' });
  assert.deepEqual(of('owner:alice scope:team'), { owner: 'alice', scope: 'team' });
  assert.deepEqual(of('owner:alice', 'team/a'), { owner: 'alice', scope: 'team/a' });
  for (const text of ['', 'alice', 'owner:alice words', 'owner:alice kind:task', 'owner:alice owner:bob', 'scope:team']) assert.equal(of(text), null, text);
  assert.equal(of('owner:alice scope:other', 'team'), null);
});

test('the words of the doctor: what is well, what is not, and what nobody can promise', () => {
  const made = status({ version: '2', store: { low: true, free_bytes: 10, reserve_bytes: 20 }, chat_services: [{ name: 'irc', working: false, state: 'retrying' }] });
  const w = worker({ version: '1', containment_limits: ['cannot see setsid'], knows_controller_key: false });
  const said = diagnosis({ status: made, workers: [w], mcp: [], not_ready: 'almost full', is_encrypted: false }).map((f) => `${f.level} ${f.what}: ${f.text}`);
  assert.match(said.at(-1)!, /^note secrets: tasks of one user id can read each other's environment/);
  assert.deepEqual(said.slice(0, -1), [
    'bad controller: almost full', 'warning transport: the session travels without TLS: use https, or a tunnel', 'warning worker: w1: ready, containment cgroup, version 1 (the controller has 2); it does not know the controller\'s next key yet (quelld --rotate-key)',
    'note worker: w1 cannot promise: cannot see setsid', 'bad space: 10 B free, less than the reserve of 20 B: starts are refused; free some', 'warning chat: irc: retrying',
  ]);
  assert.equal(diagnosis({ status: status(), workers: [], mcp: [], not_ready: '', is_encrypted: true })[1]!.text, 'none is enrolled: quell worker add NAME');
});

test('many new needs at once are announced as few', () => {
  const need = (key: string) => ({ key, weight: 'bad' as const, title: `Need ${key}`, detail: 'so', link: `/${key}`, since: null, approval: null });
  assert.deepEqual(announced([need('a')]), [{ title: 'Need a', body: 'so', tag: 'a', link: '/a' }]);
  assert.deepEqual(announced([]), []);
  const titles = (many: number) => announced(Array.from({ length: many }, (_, i) => need(String(i)))).map((one) => one.title);
  assert.deepEqual(titles(3), ['Need 0', 'Need 1', 'Need 2']);
  assert.deepEqual(titles(40), ['Need 0', 'Need 1', '38 more things need you']);
});
