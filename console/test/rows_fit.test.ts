// Whether the row of a list fits into the page: nothing of it may push the Stop button out of sight. Adds up what the styles say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import frame from '../src/style/frame.css';
import phone from '../src/style/phone.css';
import rows from '../src/style/rows.css';

/** Pixels of `property` in the rule of this selector. */
function pixels(css: string, selector: string, property: string): number {
  const rule = css.split('\n').find((line) => line.startsWith(`${selector} {`))!;
  return Number(new RegExp(`[ ;]${property}: (\\d+)px`).exec(rule)![1]);
}

/** The columns of a list that are hidden at this width of the window; `is_past`: of one of what has ended. */
function hidden(width: number, is_past: boolean): Set<string> {
  const gone = new Set<string>();
  for (const [, most, body] of rows.matchAll(/@media \(max-width: (\d+)px\) \{ (.*?display: none;) \} \}/g))
    if (width <= Number(most) && (is_past || !body!.includes('.row-past'))) for (const [, name] of body!.matchAll(/\.col\.(\w+)/g)) gone.add(name!);
  if (width <= 760) for (const [, name] of /^ {2}(\.col.*)display: none/m.exec(phone)![1]!.matchAll(/\.col\.(\w+)/g)) gone.add(name!);
  return gone;
}

const columns = ['scope', 'kind', 'owner', 'worker', 'status', 'age', 'when', 'short'];
const choose = 15, dot = 8, scrollbar = 15; // parts.css
const is_phone = (width: number) => width <= 760;

/** What title and detail share; `is_past`: in a list of what has ended, where nothing is chosen or stopped. */
function left_for_words(width: number, is_past: boolean): number {
  const page = is_phone(width) ? 2 * 14 : pixels(frame, '.nav', 'width') + 2 * 28;
  const most = pixels(frame, '.page', 'max-width') - 2 * 28;
  const gap = is_phone(width) ? 7 : pixels(rows, '.row', 'gap'), around = is_phone(width) ? 2 * 8 : 2 * 12;
  const inner = Math.min(width - page, most) - 2 - (is_phone(width) ? 0 : scrollbar) - around;
  const shown = columns.filter((name) => !hidden(width, is_past).has(name) && (name !== 'when' || is_past));
  const stop = is_phone(width) ? 48 : pixels(rows, '.stop', 'width');
  const others = [...shown.map((name) => pixels(rows, `.col.${name}`, 'width')), dot, ...(is_past ? [] : [choose, stop])];
  const words = is_past || !is_phone(width) ? 2 : 1; // the detail of what lives is not shown on a phone
  return inner - others.reduce((sum, px) => sum + px, 0) - (others.length + words - 1) * gap;
}

test('at every width of the window a row of a list has room for its title, its detail and its Stop button', () => {
  for (const [part, shares] of [['.row[role=listitem]', [3, 2]], ['.row-past[role=listitem]', [2, 3]]] as const)
    for (const [i, name] of ['title', 'detail'].entries())
      assert.ok(rows.split('\n').some((line) => line.startsWith(`${part} > .row-${name} {`) && line.includes(`flex: ${shares[i]} 1 0;`)), `${part}: the ${name} has its share of what is left, whatever it holds`);
  for (let width = 320; width <= 2560; ++width) {
    const least = is_phone(width) ? 60 : pixels(rows, '.row[role=listitem] > .row-title', 'min-width');
    const lives = left_for_words(width, false), past = left_for_words(width, true);
    assert.ok(lives - (is_phone(width) ? 0 : 50) >= least, `${width} px: ${lives} px for title and detail of what lives`);
    // "terminated, proof: cgroup empty" is not so wide.
    assert.ok(past - Math.max(least, 0.4 * past) >= (width < 390 ? 100 : width < 900 ? 130 : 170), `${width} px: ${past} px for title and detail of what has ended`);
  }
});

test('what is hidden is what the styles say', () => {
  assert.deepEqual([...hidden(1520, true)], []);
  assert.deepEqual([...hidden(1440, true)].sort(), ['owner', 'short']);
  assert.deepEqual([...hidden(1440, false)].sort(), ['short'], 'whose it is matters of what lives');
  for (const is_past of [true, false]) {
    assert.deepEqual([...hidden(1280, is_past)].sort(), ['kind', 'owner', 'short']);
    assert.deepEqual([...hidden(1024, is_past)].sort(), ['kind', 'owner', 'scope', 'short', 'worker']);
    assert.ok(hidden(400, is_past).has('status'));
  }
});
