import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read_inline, safe_href, type Inline } from '../src/model/inline.ts';
import { GrowingMarkdown, read_markdown, type Block } from '../src/model/markdown.ts';

/** What it is, in brackets: `strong[a em[b]]`. */
function words(of: readonly Inline[]): string {
  return of.map((one) => (typeof one === 'string' ? one : one.is === 'code' ? `code[${one.text}]` : one.is === 'link' ? `link(${one.href})[${words(one.of)}]` : `${one.is}[${words(one.of)}]`)).join('');
}
function outline(block: Block): string {
  switch (block.is) {
    case 'paragraph': return `p[${words(block.of)}]`;
    case 'heading': return `h${block.level}[${words(block.of)}]`;
    case 'code': return `pre(${block.language})[${block.text}]`;
    case 'quote': return `quote[${block.of.map(outline).join('')}]`;
    case 'rule': return 'rule';
    case 'table': return `table(${block.aligns.map((align) => align ?? '-').join(' ')})[${[block.head, ...block.rows].map((row) => row.map(words).join('|')).join('/')}]`;
    case 'list': return `${block.first === null ? 'ul' : `ol${block.first}`}[${block.items.map((item) => `li[${item.map(outline).join('')}]`).join('')}]`;
  }
}
const all = (text: string) => read_markdown(text).map(outline).join('');

test('words are marked, set as code and linked', () => {
  for (const [text, drawn] of [
    ['a **bold** and *slanted* word', 'a strong[bold] and em[slanted] word'],
    ['**bold with *both* in it**', 'strong[bold with em[both] in it]'],
    ['***both***', 'em[strong[both]]'],
    ['**all {7*7} of it**', 'strong[all {7*7} of it]'],
    ['**2*3 = 6** and *a**b*', 'strong[2*3 = 6] and em[a**b]'],
    ['**a *b***', 'strong[a em[b]]'],
    ['***a** b*', 'em[strong[a] b]'],
    ['*a **b***', 'em[a strong[b]]'],
    ['**a*, *b** and **c', 'em[em[a], em[b]] and **c'],
    ['*a _b* c_ and __d__ e__f', 'em[a _b] c_ and strong[d] e__f'],
    [`${'*a '.repeat(40)}**b**`, `${'*a '.repeat(40)}strong[b]`],
    ['snake_case_name and _this_', 'snake_case_name and em[this]'],
    ['2 * 3 * 4, src/** and a*', '2 * 3 * 4, src/** and a*'],
    ['**not closed', '**not closed'],
    ['*a **b*', '*a *em[b]'],
    ['`a **b** <i>` and ``a ` b``', 'code[a **b** <i>] and code[a ` b]'],
    ['`not closed', '`not closed'],
    ['\\*not slanted\\* \\n', '*not slanted* \\n'],
    ['[the *docs*](https://example.org/a_(b) "title")', 'link(https://example.org/a_(b))[the em[docs]]'],
    ['see https://example.org/x_y, or (http://example.org).', 'see link(https://example.org/x_y)[https://example.org/x_y], or (link(http://example.org/)[http://example.org]).'],
    ['**https://example.org**', 'strong[link(https://example.org/)[https://example.org]]'],
    ['![a picture](https://example.org/p.png)', 'link(https://example.org/p.png)[a picture]'],
    ['<b>as it is</b> &amp; <img src=x onerror=alert(1)>', '<b>as it is</b> &amp; <img src=x onerror=alert(1)>'],
  ] as const) assert.equal(words(read_inline(text)), drawn, text);
});

test('a link is http or https, and nothing else', () => {
  for (const href of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\nscript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', 'blob:https://x/y', '//example.org', '/tokens', '#link=ql_x', 'https:', 'https://', 'http://[', 'ftp://example.org', '\u0001javascript:alert(1)']) {
    assert.equal(safe_href(href), null, href);
    for (const text of [`[x](${href})`, `![x](${href})`, `[x](<${href}>)`, `[x]: ${href}`, `<${href}>`])
      assert.ok(read_inline(text).every((one) => typeof one === 'string'), text);
  }
  assert.equal(safe_href('https://example.org/" onclick="alert(1)'), 'https://example.org/%22%20onclick=%22alert(1)');
});

test('blocks are what they look like', () => {
  for (const [text, drawn] of [
    ['one\ntwo\n\nthree', 'p[one\ntwo]p[three]'],
    ['# Title #\ntext\n## More', 'h1[Title]p[text]h2[More]'],
    ['#hashtag\n####### seven', 'p[#hashtag\n####### seven]'],
    ['text\n```sh run\nrm *\n\n# no heading\n```\nend', 'p[text]pre(sh)[rm *\n\n# no heading]p[end]'],
    ['```\nnot closed\n**still code**', 'pre()[not closed\n**still code**]'],
    ['~~~\n```\n~~~', 'pre()[```]'],
    ['- a\n- b\n  more\n  - c\n\n- d\n\nend', 'ul[li[p[a]]li[p[b\nmore]ul[li[p[c]]]]li[p[d]]]p[end]'],
    ['3. a\n   ```\n   code\n   ```\n4. b', 'ol3[li[p[a]pre()[code]]li[p[b]]]'],
    ['1. a\n  - b\n2. c', 'ol1[li[p[a]ul[li[p[b]]]]li[p[c]]]'],
    ['- a\n* b', 'ul[li[p[a]]]ul[li[p[b]]]'],
    ['Well:\n- a\n- b', 'p[Well:]ul[li[p[a]]li[p[b]]]'],
    ['In\n2026. A year', 'p[In\n2026. A year]'],
    ['> said\n> - a\n\nend', 'quote[p[said]ul[li[p[a]]]]p[end]'],
    ['a\n\n---\n\n* * *', 'p[a]rulerule'],
    ['a\r\n\r\nb\r\n', 'p[a]p[b]'],
    ['| a | b |\n|---|---|\n| 1 | **2** |\n\nend', 'table(- -)[a|b/1|strong[2]]p[end]'],
    ['a | b | c | d\n:- | -: | :-: | -\n1 | 2 | 3 | 4', 'table(left right center -)[a|b|c|d/1|2|3|4]'],
    ['Here:\n| a |\n| - |\n| 1 |\ntext', 'p[Here:]table(-)[a/1]p[text]'],
    ['| a | b |\n|-|-|\n| 1 |\n| 1 | 2 | 3 | <b>4</b> |\n||\n| `x \\| y` | \\* \\\\| z', 'table(- -)[a|b/1/1|2 | 3 | <b>4</b>//code[x | y]|* \\ | z]'],
    ['- one\n  | a |\n  |---|\n  | 1 |\n- two\n| b |\n|---|', 'ul[li[p[one]table(-)[a/1]]li[p[two]]]table(-)[b]'],
    ['> | a |\n> |:--|\n> - b', 'quote[table(left)[a]ul[li[p[b]]]]'],
    ['| a | b |\n|---|', 'p[| a | b |\n|---|]'],
    ['a\n---\n|\n|', 'p[a]rulep[|\n|]'],
    ['| a |\n|- -|\n\nb|\n|*|', 'p[| a |\n|- -|]p[b|\n|*|]'],
    ['', ''],
    ['\n \n', ''],
  ] as const) assert.equal(all(text), drawn, text);
});

/** Numbers from a seed: the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % below;
}
const parts = ['a', 'word ', ' ', '\n', '\n\n', '\r\n', '*', '**', '_', '`', '```', '```\n', '~~~', '- ', '\n- ', '  - ', '1. ', '\n2) ', '# ', '\n## ', '> ', '\n> ', '---', '| a |', ' | ', '\n|---|\n', '\n|:-|-:|\n', '\n| b | c |\n', '[x](https://e.org)', '[', '](', ')', 'https://e.org', '<b>', '\\', '!', 'é', '😀'];
const at_random = (next: (below: number) => number, length: number) => Array.from({ length }, () => parts[next(parts.length)]!).join('');

test('a text that grows is at each step what it would be at once, and what cannot change is not read again', () => {
  const next = numbers(7);
  let kept = 0;
  for (let round = 0; round < 400; ++round) {
    const text = at_random(next, 40), growing = new GrowingMarkdown();
    let before: readonly Block[] = [];
    for (let end = 0; end < text.length; end += 1 + next(5)) {
      const blocks = growing.read(text.slice(0, end));
      assert.deepEqual(blocks, read_markdown(text.slice(0, end)), JSON.stringify(text.slice(0, end)));
      for (const [i, block] of before.slice(0, -2).entries()) assert.equal(blocks[i], block, 'the same value, so the same element');
      kept += Math.max(0, before.length - 2);
      before = blocks;
    }
    const other = at_random(next, 10);
    assert.deepEqual(growing.read(other), read_markdown(other), 'a text that does not go on is read anew');
  }
  assert.ok(kept > 1000, String(kept));
});

test('no word is lost, whatever the marks', () => {
  const next = numbers(11);
  const plain = (of: readonly Inline[]): string => of.map((one) => (typeof one === 'string' ? one : one.is === 'code' ? one.text : plain(one.of))).join('');
  const letters = (text: string) => text.replaceAll('https://e.org', '').replace(/[^a-zé😀]/gu, '');
  for (let round = 0; round < 2000; ++round) {
    const text = at_random(next, 30).replaceAll('\n', ' ');
    assert.equal(letters(plain(read_inline(text))), letters(text), text);
  }
});

test('a table has at most so many columns and rows, and what is behind them is not lost', () => {
  const row = (of: number) => '| a '.repeat(of) + '|', dashes = (of: number) => '|-'.repeat(of) + '|';
  const [wide] = read_markdown(`${row(41)}\n${dashes(41)}\n`);
  assert.equal(wide!.is, 'paragraph');
  const [table, rest] = read_markdown(`${row(40)}\n${dashes(40)}\n${`${row(80)}\n`.repeat(501)}`);
  assert.ok(table?.is === 'table' && table.rows.length === 500 && table.rows.every((cells) => cells.length === 40));
  assert.equal(table.rows[0]!.map(words).join('').replace(/[^a]/g, '').length, 80);
  assert.ok(rest?.is === 'paragraph' && words(rest.of).replace(/[^a]/g, '').length === 80);
});

// Each is some 60,000 characters: what took the square of that would not end within the time of the tests.
test('a hostile text is read in a time like its length', () => {
  const long = (part: string) => part.repeat(Math.ceil(60_000 / part.length));
  for (const part of ['*', '*a', '**a ', '_a*', '`', '`a', '``a`', '[', '[a](', '[x](https://', '![', '](', 'http://', 'http://[', '\\', '> ', '- ', '  - ', '# ', '#', '~', '1. ', '\n- a\n', '\n> a\n', '\n\n', ' ', '* ', '<', 'a_*b`[', '-', '|', '|-', '| a', '\\|', 'a|\n', 'a|\n-|\n', '|a|b\n|-|-\n', '\n- a|\n', '|\n|-'])
    for (const text of [long(part), `${long(part)}\``, `${long(part)}x`, `x${long(part)}\n${long(part)}`]) assert.ok(read_markdown(text).length >= 0);
});

test('a long answer that grows word by word costs what its last blocks cost', () => {
  const growing = new GrowingMarkdown();
  let text = '';
  for (let i = 0; i < 4000; ++i) growing.read((text += i % 20 ? `word ${i} ` : `\n\n- **item** ${i}\n\n`));
  assert.deepEqual(growing.read(text), read_markdown(text));
});
