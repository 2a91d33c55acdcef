import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api_path, cancel_link, link, operation_link, parse_route } from '../src/model/route.ts';
import { owner_of, parse_search, request_of, term } from '../src/model/search.ts';

const odd = ['two words', 'a"b', '"', '\\', 'back\\slash \\" and quote', 'c:\\dir\\', ' lead', 'tab\tand\nline', 'ünï/c?o#d%e&f=g+h', '"quoted"', "it's"];

test('what a link searches for is what its value was, whatever is in it', () => {
  for (const value of odd) {
    assert.deepEqual(parse_search(term('owner', value)).fields.get('owner'), [value], JSON.stringify(value));
    // Through the address, and beside other words.
    const to = new URL(link('/tree', { q: `${term('label', `key=${value}`)} status:live word` }), 'http://quelld');
    const search = parse_search(parse_route(to.pathname, to.search).query.get('q')!);
    assert.deepEqual([search.fields.get('label'), search.fields.get('status'), search.words], [[`key=${value}`], ['live'], ['word']], JSON.stringify(value));
    assert.deepEqual(request_of(search, 'live', 0).getAll('label'), [`key=${value}`]);
    assert.deepEqual(owner_of(parse_search(term('owner', value)), 'team'), { owner: value, scope: 'team' });
  }
});

test('what was typed before means what it meant', () => {
  assert.equal(term('owner', 'alice'), 'owner:alice');
  assert.equal(term('scope', 'team/build'), 'scope:team/build');
  assert.equal(term('owner', 'c:\\dir'), 'owner:c:\\dir');
  assert.deepEqual(parse_search('"two words" owner:"a b" label:"k=v w" c:\\dir\\ "open').words, ['two words', 'c:\\dir\\', 'open']);
  assert.deepEqual(parse_search('owner:"c:\\dir\\"').fields.get('owner'), ['c:\\dir\\'], 'a backslash at the end is not an escape where nothing would close the quotes');
});

test('an id in an address leads to itself and nowhere else', () => {
  for (const id of ['a/b', '../tokens', 'a?b#c', '100%', 'ü', 'a b', '%2e%2e', '%']) {
    for (const [to, view] of [[operation_link(id), 'operation'], [cancel_link(id), 'cancel']] as const) {
      const url = new URL(to, 'http://quelld');
      assert.deepEqual([url.search, url.hash], ['', '']);
      const found = parse_route(url.pathname, url.search);
      assert.deepEqual([found.view, found.id], [view, id]);
    }
    const asked = new URL(`${api_path('operations', id, 'output')}?stream=stdout`, 'http://quelld');
    assert.deepEqual(asked.pathname.split('/').map(decodeURIComponent), ['', 'v1', 'operations', id, 'output'], id);
  }
  for (const id of ['.', '..']) assert.equal(new URL(api_path('operations', id, 'output'), 'http://quelld').pathname, '/v1/operations/-/output');
  assert.equal(operation_link('01a1f869-3df9-7303-8207-dde70bee07dd'), '/operations/01a1f869-3df9-7303-8207-dde70bee07dd');
});

test('an address that nobody can decode is neither a view nor an error', () => {
  for (const path of ['/operations/%', '/%E0%A4%A', '/cancels/%zz']) assert.equal(parse_route(path, '').view, 'unknown', path);
});
