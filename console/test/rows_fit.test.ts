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

/** The columns that are hidden at this width of the window; `in_list`: in a list, or in any row. */
function hidden(width: number): Set<string> {
  const gone = new Set<string>();
  for (const [, most, body] of rows.matchAll(/@media \(max-width: (\d+)px\) \{ (.*?display: none;) \} \}/g))
    if (width <= Number(most)) for (const [, name] of body!.matchAll(/\.col\.(\w+)/g)) gone.add(name!);
  if (width <= 760) for (const [, name] of /^ {2}(\.col.*)display: none/m.exec(phone)![1]!.matchAll(/\.col\.(\w+)/g)) gone.add(name!);
  return gone;
}

const columns = ['scope', 'kind', 'owner', 'worker', 'status', 'age', 'when', 'short'];
const choose = 15, dot = 8, grow = 8, scrollbar = 15; // parts.css, and the least that `.row .grow` takes
const is_phone = (width: number) => width <= 760;

/** What is left for the title and what stands beside it, with its Stop button in sight. */
function left_for_title(width: number): number {
  const page = is_phone(width) ? 2 * 14 : pixels(frame, '.nav', 'width') + 2 * 28;
  const most = pixels(frame, '.page', 'max-width') - 2 * 28;
  const gap = is_phone(width) ? 7 : pixels(rows, '.row', 'gap'), around = is_phone(width) ? 2 * 8 : 2 * 12;
  const inner = Math.min(width - page, most) - 2 - (is_phone(width) ? 0 : scrollbar) - around;
  const shown = columns.filter((name) => !hidden(width).has(name));
  const stop = is_phone(width) ? 48 : pixels(rows, '.stop', 'width');
  const items = shown.length + 5 + (is_phone(width) ? 0 : 1); // choose, dot, title, grow, stop; the detail, which can shrink to nothing
  return inner - shown.reduce((sum, name) => sum + pixels(rows, `.col.${name}`, 'width'), 0) - choose - dot - grow - stop - (items - 1) * gap;
}

test('at every width of the window a row of a list has room for its title and its Stop button', () => {
  assert.match(rows, /^\.row\[role=listitem\] > \.row-title \{ flex: 0 1 /m, 'the title gives way');
  for (let width = 320; width <= 2560; ++width) {
    const least = is_phone(width) ? 60 : pixels(rows, '.row[role=listitem] > .row-title', 'min-width');
    assert.ok(left_for_title(width) >= least, `${width} px: ${left_for_title(width)} px for the title, of at least ${least}`);
  }
});

test('what is hidden is what the styles say', () => {
  assert.deepEqual([...hidden(1440)], []);
  assert.deepEqual([...hidden(1280)].sort(), ['kind', 'owner']);
  assert.deepEqual([...hidden(1024)].sort(), ['kind', 'owner', 'short', 'worker']);
  assert.ok(hidden(400).has('status'));
});
