import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation, TreePage } from '../src/api/types.ts';
import { beside, TreeModel } from '../src/model/tree.ts';
import { event, operation } from './made.ts';

const page = (more: Partial<TreePage>): TreePage => ({ event: '0', live: 0, cancelling: 0, scopes: [], operations: [], next_cursor: null, ...more });
const scope = (name: string, live = 1) => ({ scope: name, live, cancelling: 0, cutoff_seq: null, last_cancel: null });
const entry = (op: Operation, children = 0, below = children) => ({ operation: op, children, below });
const keys = (tree: TreeModel) => tree.rows().map((n) => n.key);

test('pages become rows, in their order, below what is open', () => {
  const tree = new TreeModel('scope');
  tree.add_page(tree.root, page({ live: 3, scopes: [scope('team', 3)] }));
  const team = tree.nodes.get('s:team')!;
  tree.add_page(team, page({ live: 3, scopes: [scope('team/x', 1)], operations: [entry(operation('a', { scope: 'team' }), 1)] }));
  assert.deepEqual(keys(tree), ['s:team']);
  tree.toggle(team);
  assert.deepEqual(keys(tree), ['s:team', 's:team/x', 'o:a']);
  assert.equal(tree.rows()[2]!.depth, 1);
});

test('what begins is counted up to the top, and shown where it is open', () => {
  const tree = new TreeModel('scope');
  tree.add_page(tree.root, page({ live: 1, scopes: [scope('team', 1)] }));
  tree.apply([event('operation_created', operation('b', { scope: 'team/x' }))], 0);
  assert.equal(tree.root.children, 2);
  assert.equal(tree.nodes.get('s:team')!.children, 2);
  assert.equal(tree.nodes.has('o:b'), false);
  tree.apply([event('operation_created', operation('c', { scope: 'fresh' }))], 0);
  assert.deepEqual(keys(tree), ['s:fresh', 's:team']);
});

test('children are counted and inserted, and ends take them back', () => {
  const tree = new TreeModel('parent');
  tree.add_page(tree.root, page({ live: 1, operations: [entry(operation('a'))] }));
  const a = tree.nodes.get('o:a')!;
  tree.toggle(a);
  tree.add_page(a, page({}));
  const b = operation('b', { parent: 'a' });
  tree.apply([event('operation_created', b)], 0);
  assert.deepEqual(keys(tree), ['o:a', 'o:b']);
  assert.equal(a.children, 1);
  assert.equal(a.below, 1);
  const ended = { ...b, status: 'completed' as const };
  tree.apply([event('operation_completed', ended), event('operation_completed', ended)], 1000);
  assert.equal(a.children, 0);
  assert.deepEqual(keys(tree), ['o:a', 'o:b'], 'an end is shown for a while');
  assert.equal(tree.sweep(500), false);
  assert.equal(tree.sweep(1500), true);
  assert.deepEqual(keys(tree), ['o:a']);
});

const stop = (receipt: NonNullable<Operation['stop']>['receipt'] = null): Operation['stop'] =>
  ({ cause: 'cancel', cancel: 'c', reason: null, by: null, signalled_at: null, kill_at: null, receipt, proof: null });

test('what is being stopped is counted, whatever ends beside it that never began', () => {
  const counts = (tree: TreeModel) => [tree.root.children, tree.root.cancelling, tree.nodes.get('s:team')!.cancelling];
  const tree = new TreeModel('scope');
  tree.add_page(tree.root, page({ live: 28, scopes: [scope('team', 28)] }));
  const deaf = Array.from({ length: 8 }, (_, i) => operation(`deaf${i}`, { scope: 'team', status: 'cancelling', stop: stop() }));
  const pending = Array.from({ length: 20 }, (_, i) => operation(`pending${i}`, { scope: 'team', status: 'cancelled', stop: stop('never_started') }));
  const cancelling = deaf.map((op) => event('operation_cancelling', op));
  const batch = [...cancelling.slice(0, 4), ...pending.map((op) => event('operation_cancelled', op)), ...cancelling.slice(4)];
  tree.apply(batch, 0);
  tree.apply(cancelling, 0); // once more
  assert.deepEqual(counts(tree), [8, 8, 8]);
  // A worker may say of what was sent that it never began there.
  tree.apply(deaf.map((op, i) => event('operation_cancelled', { ...op, status: 'cancelled', stop: stop(i % 2 ? 'killed' : 'never_started') })), 0);
  assert.deepEqual(counts(tree), [0, 0, 0]);
});

test('what a page has counted as being stopped is taken back at its end, and not counted again', () => {
  const tree = new TreeModel('scope', 'team');
  const [shown, far] = ['shown', 'far'].map((id) => operation(id, { scope: 'team', status: 'cancelling', stop: stop() }));
  const before = event('operation_cancelling', shown!); // heard behind the page that holds it
  tree.add_page(tree.root, page({ event: before.id, live: 3, cancelling: 2, operations: [entry(shown!)] }));
  tree.apply([before], 0);
  assert.equal(tree.root.cancelling, 2);
  tree.apply([event('operation_cancelled', { ...far!, status: 'cancelled', stop: stop('killed') })], 0);
  assert.equal(tree.root.cancelling, 1);
  tree.apply([event('operation_cancelled', { ...shown!, status: 'cancelled', stop: stop('never_started') })], 0);
  assert.deepEqual([tree.root.children, tree.root.cancelling], [1, 0]);
});

test('what was missed is put right when its place is read again, and the rest keeps its place', () => {
  const tree = new TreeModel('parent');
  tree.add_page(tree.root, page({ operations: [entry(operation('a')), entry(operation('b'), 1)] }));
  tree.toggle(tree.nodes.get('o:b')!);
  tree.begin_reading(tree.root, true);
  tree.add_page(tree.root, page({ operations: [entry(operation('c'))], next_cursor: 'more' }));
  assert.deepEqual(keys(tree), ['o:a', 'o:b', 'o:c'], 'nothing goes before all is read');
  tree.add_page(tree.root, page({ operations: [entry(operation('b'))] }));
  tree.end_reading(tree.root);
  assert.deepEqual(keys(tree), ['o:b', 'o:c']);
  assert.ok(tree.nodes.get('o:b')!.is_open);
  assert.equal(tree.nodes.size, 2);
});

test('a place that could not be read again stays as it was', () => {
  const tree = new TreeModel('parent');
  tree.add_page(tree.root, page({ operations: [entry(operation('a')), entry(operation('b'))] }));
  tree.begin_reading(tree.root, true);
  tree.add_page(tree.root, page({ operations: [entry(operation('a'))], next_cursor: 'more' }));
  tree.end_reading(tree.root, true);
  assert.deepEqual(keys(tree), ['o:a', 'o:b']);
});

test('what is heard while a page is on its way is newer than the page', () => {
  const tree = new TreeModel('scope', 'team');
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => operation(id, { scope: 'team' }));
  tree.begin_reading(tree.root, true);
  tree.apply([
    event('operation_completed', { ...a!, status: 'completed' }), event('operation_cancelling', { ...b!, status: 'cancelling' }),
    event('operation_created', c!), event('operation_created', d!), event('operation_completed', { ...d!, status: 'completed' }),
  ], 0);
  tree.add_page(tree.root, page({ live: 2, operations: [entry(a!), entry(b!)] }));
  tree.end_reading(tree.root);
  assert.deepEqual(tree.rows().map((n) => [n.key, n.operation!.status]), [['o:b', 'cancelling'], ['o:c', 'running']]);
});

const of = (tree: TreeModel, ...keys: string[]) => [tree.root, ...keys.map((key) => tree.nodes.get(key)!)].map((one) => [one.children, one.cancelling]);

test('of what is heard before, at and behind the event of a page, exactly what lies behind it changes its counts', () => {
  for (const heard of ['before the page', 'behind the page']) {
    const tree = new TreeModel('scope');
    const [held, ended, late] = ['held', 'ended', 'late'].map((id) => operation(id, { scope: 'team' }));
    const stopped = { ...held!, status: 'cancelling' as const, stop: stop() };
    const events = [
      event('operation_created', held!), event('operation_created', ended!), event('operation_cancelling', stopped), event('operation_completed', { ...ended!, status: 'completed' }),
      event('operation_created', late!), event('operation_cancelled', { ...stopped, status: 'cancelled', stop: stop('killed') }),
    ];
    tree.begin_reading(tree.root, true);
    if (heard === 'before the page') tree.apply(events, 0);
    // It was read at the fourth: one lives, and is being stopped.
    tree.add_page(tree.root, page({ event: events[3]!.id, live: 1, cancelling: 1, scopes: [{ ...scope('team', 1), cancelling: 1 }] }));
    tree.end_reading(tree.root);
    if (heard === 'behind the page') {
      assert.deepEqual(of(tree, 's:team'), [[1, 1], [1, 1]]);
      tree.apply(events, 0);
    }
    assert.deepEqual(of(tree, 's:team'), [[1, 0], [1, 0]], heard);
  }
});

test('each page has its own event: what it lists is counted once in what stands above it', () => {
  const tree = new TreeModel('scope');
  const [a, b] = ['a', 'b'].map((id) => operation(id, { scope: 'team' }));
  const begins = event('operation_created', b!);
  tree.add_page(tree.root, page({ event: '0', live: 1, scopes: [scope('team', 1)] }));
  const team = tree.nodes.get('s:team')!;
  tree.add_page(team, page({ event: begins.id, live: 2, operations: [entry(a!), entry(b!)] }));
  tree.apply([begins], 0);
  assert.deepEqual(of(tree, 's:team'), [[2, 0], [2, 0]]);
});

test('what an event shows can be newer than the event: an end is counted once', () => {
  const tree = new TreeModel('scope');
  tree.add_page(tree.root, page({ live: 2, scopes: [scope('team', 2)] }));
  const over = operation('a', { scope: 'team', status: 'completed' });
  tree.apply([event('operation_started', over), event('operation_completed', over)], 0);
  assert.deepEqual(of(tree, 's:team'), [[1, 0], [1, 0]]);
});

test('children are counted from the event of their parent\'s page, detached ones not below it', () => {
  const tree = new TreeModel('parent');
  const [b, c, d] = ['b', 'c', 'd'].map((id) => operation(id, { parent: 'a', on_parent_end: id === 'd' ? 'detach' : 'cancel' }));
  const events = [b, c, d].map((op) => event('operation_created', op!));
  tree.add_page(tree.root, page({ event: events[0]!.id, live: 2, operations: [entry(operation('a'), 1)] }));
  tree.apply(events, 0);
  const a = tree.nodes.get('o:a')!;
  assert.deepEqual([a.children, a.below, tree.root.children], [3, 2, 4]);
});

test('what begins below something that began while its list was read is counted', () => {
  const tree = new TreeModel('parent');
  const a = operation('a'), b = operation('b', { parent: 'a' });
  tree.begin_reading(tree.root, false);
  tree.apply([event('operation_created', a), event('operation_created', b)], 0);
  tree.add_page(tree.root, page({ live: 0 }));
  tree.end_reading(tree.root);
  assert.deepEqual(tree.rows().map((one) => [one.key, one.children, one.below]), [['o:a', 1, 1]]);
  assert.equal(tree.root.children, 2);
});

test('of a long list the counts are read alone', () => {
  const tree = new TreeModel('scope');
  tree.add_page(tree.root, page({ live: 2, scopes: [scope('team', 2)], operations: [entry(operation('a'))], next_cursor: 'more' }));
  tree.add_counts(tree.root, page({ live: 9, cancelling: 1, scopes: [scope('team', 5)], operations: [entry(operation('a'), 3, 4), entry(operation('b'))] }));
  assert.deepEqual([tree.root.children, tree.root.cancelling, tree.nodes.get('s:team')!.children, tree.nodes.get('o:a')!.below], [9, 1, 5, 4]);
  assert.deepEqual([keys(tree), tree.root.cursor], [['s:team', 'o:a'], 'more']);
});

test('a page goes on behind the one before', () => {
  const tree = new TreeModel('scope', 'team');
  assert.equal(tree.path_of(tree.root, 2), '/v1/tree?limit=2&by=scope&scope=team');
  tree.add_page(tree.root, page({ operations: [entry(operation('a'))], next_cursor: 'more' }));
  assert.match(tree.path_of(tree.root, 2, 'more'), /cursor=more/);
  tree.add_page(tree.root, page({ operations: [entry(operation('b'))] }));
  assert.deepEqual(keys(tree), ['o:a', 'o:b']);
});

test('each row knows its place among those beside it, and how many they are once all are read', () => {
  const tree = new TreeModel('parent');
  tree.add_page(tree.root, page({ operations: [entry(operation('a'), 2), entry(operation('b'))], next_cursor: 'more' }));
  const places = () => tree.rows().map((one) => [one.key, one.place, beside(one)]);
  assert.deepEqual(places(), [['o:a', 1, -1], ['o:b', 2, -1]]);
  tree.add_page(tree.root, page({ operations: [entry(operation('c'))] }));
  const a = tree.nodes.get('o:a')!;
  tree.toggle(a);
  tree.add_page(a, page({ operations: [entry(operation('x', { parent: 'a' })), entry(operation('y', { parent: 'a' }))] }));
  assert.deepEqual(places(), [['o:a', 1, 3], ['o:x', 1, 2], ['o:y', 2, 2], ['o:b', 2, 3], ['o:c', 3, 3]]);
  tree.apply([event('operation_completed', operation('a', { status: 'completed' })), event('operation_completed', operation('x', { parent: 'a', status: 'completed' }))], 1000);
  tree.sweep(2000);
  assert.deepEqual(places().at(-1), ['o:c', 3, 3], 'one that ended stays while something lives below it');
});

test('100,000 rows and a batch of 2,000 changes take well under a frame or two', () => {
  const tree = new TreeModel('parent');
  const all = Array.from({ length: 100_000 }, (_, i) => operation(`op${i}`));
  tree.add_page(tree.root, page({ live: all.length, operations: all.map((op) => entry(op)) }));
  assert.equal(tree.rows().length, 100_000);
  const batch = all.slice(0, 2000).map((op) => event('operation_cancelling', { ...op, status: 'cancelling' }));
  const begin = performance.now();
  tree.apply(batch, 0);
  tree.rows();
  assert.ok(performance.now() - begin < 1000);
  assert.equal(tree.rows()[5]!.operation!.status, 'cancelling');
});

test('many ends at once are swept in one pass, with the scopes in which nothing is left', () => {
  const tree = new TreeModel('scope');
  tree.add_page(tree.root, page({ live: 100_001, scopes: [scope('left', 1), scope('team', 100_000)] }));
  const team = tree.nodes.get('s:team')!;
  tree.toggle(team);
  const all = Array.from({ length: 100_000 }, (_, i) => operation(`op${i}`, { scope: 'team' }));
  tree.add_page(team, page({ live: all.length, operations: all.map((op) => entry(op)) }));
  const ended = (op: Operation) => event('operation_completed', { ...op, status: 'completed' });
  tree.apply(all.filter((_, i) => i % 2 === 0).map(ended), 1000);
  const begin = process.cpuUsage();
  assert.equal(tree.sweep(2000), true);
  const { user } = process.cpuUsage(begin);
  assert.ok(user < 500_000, `no search for each one that has ended: ${user} µs`);
  assert.equal(tree.rows().length, 2 + 50_000);
  assert.equal(tree.sweep(2000), false);
  tree.apply(all.filter((_, i) => i % 2 === 1).map(ended), 3000);
  tree.sweep(4000);
  tree.sweep(4000);
  assert.deepEqual(keys(tree), ['s:left']);
});
