import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TreeModel } from '../src/model/tree.ts';
import { Visits } from '../src/model/visits.ts';
import './played_page.ts';
import { operation } from './made.ts';
import { closing, until } from './waiting.ts';

const { connection } = await import('../src/api/feed.ts');
const { forget_trees, leave_tree, take_up_tree } = await import('../src/state/kept_trees.ts');
const { LiveList } = await import('../src/state/live_list.ts');
const { places } = await import('../src/state/router.ts');
connection.value = { state: 'open', since: 0 };

const entry = (id: string, more = {}) => ({ operation: operation(id, more), children: 0, below: 0 });
const page = (...ids: string[]) => ({ event: '0', live: ids.length, cancelling: 0, scopes: [], operations: ids.map((id) => entry(id)), next_cursor: null });
const keys = (tree: { model: TreeModel }) => tree.model.rows().map((one) => one.key);

let asked: URL[] = [];
function answer(with_what: (url: URL) => object): void {
  asked = [];
  globalThis.fetch = (async (path: string) => {
    const url = new URL(path, 'http://quelld');
    asked.push(url);
    return new Response(JSON.stringify(with_what(url)));
  }) as typeof fetch;
}

test('each entry of the history keeps its own, and the oldest are forgotten', () => {
  const all = new Visits('first');
  all.put('view', 120);
  all.enter('second');
  assert.equal(all.get('view'), 0);
  all.put('view', 7);
  all.enter('first');
  assert.deepEqual([all.get('view'), all.get('else')], [120, 0]);
  for (let i = 0; i < 200; ++i) {
    all.enter(`more ${i}`);
    all.put('view', 1);
  }
  all.enter('first');
  assert.equal(all.get('view'), 0);
});

test('a tree that was left keeps its open branches; what was closed is read anew when it is opened', () => {
  const tree = new TreeModel('parent');
  tree.add_page(tree.root, { ...page('open', 'closed'), next_cursor: null });
  for (const name of ['open', 'closed']) {
    const at = tree.nodes.get(`o:${name}`)!;
    tree.toggle(at, true);
    tree.add_page(at, page(`below ${name}`));
  }
  tree.toggle(tree.nodes.get('o:closed')!, false);
  tree.rest();
  assert.deepEqual(tree.rows().map((one) => one.key), ['o:open', 'o:below open', 'o:closed']);
  assert.equal(tree.nodes.get('o:closed')!.is_loaded, false);
  assert.equal(tree.nodes.has('o:below closed'), false);
});

test('whoever comes back to a tree finds it open, with what has changed meanwhile', async () => {
  answer((url) => (url.searchParams.get('parent') === 'a' ? page('child') : page('a', 'b')));
  const tree = closing(take_up_tree('parent', ''));
  await until(() => keys(tree).length === 2, 'the rows');
  tree.toggle(tree.model.nodes.get('o:a')!, true);
  await until(() => keys(tree).length === 3, 'the child');
  leave_tree(tree);
  answer((url) => (url.searchParams.get('parent') === 'a' ? page('child', 'another') : page('a')));
  const again = closing(take_up_tree('parent', ''));
  assert.deepEqual([keys(again), again.is_loading.value], [['o:a', 'o:child', 'o:b'], false], 'at once, as it was');
  await until(() => keys(again).join() === 'o:a,o:child,o:another', 'what is there now');
  leave_tree(again);
  forget_trees();
  const anew = closing(take_up_tree('parent', ''));
  assert.deepEqual([keys(anew), anew.is_loading.value], [[], true], 'nothing is kept over a session');
  leave_tree(anew);
});

test('a list is read again as far as it was read when it was left', async () => {
  const rows = Array.from({ length: 500 }, (_, i) => operation(`o${i}`, { seq: 1000 - i }));
  answer((url) => {
    const from = Number(url.searchParams.get('cursor') ?? 0), to = from + Number(url.searchParams.get('limit'));
    return { operations: rows.slice(from, to), next_cursor: to < rows.length ? String(to) : null };
  });
  places.enter('here');
  const list = closing(new LiveList('', 'ended'));
  await until(() => list.state.value.rows.length === 200, 'the first page');
  list.more();
  await until(() => list.state.value.rows.length === 400, 'the second page');
  list.close();
  places.enter('elsewhere');
  const other = closing(new LiveList('', 'ended'));
  await until(() => other.state.value.look === 'rest', 'the list in another place');
  assert.equal(other.state.value.rows.length, 200);
  other.close();
  places.enter('here');
  const back = closing(new LiveList('', 'ended'));
  await until(() => back.state.value.look === 'rest', 'the list');
  assert.deepEqual([back.state.value.rows.length, back.state.value.cursor], [400, '400']);
  back.close();
});
