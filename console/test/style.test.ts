import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

// The tests run in the folder of the console.
const folder = 'src/style';
const rules = readdirSync(folder).filter((name) => name.endsWith('.css')).flatMap((name) => {
  const text = readFileSync(`${folder}/${name}`, 'utf8').replace(/\/\*[^]*?\*\//g, '');
  return [...text.matchAll(/([^{}]+)\{([^{}]*)\}/g)].map(([, selector, body]) => ({ name, selector: selector!.trim(), body: body! }));
});

/** A page of 320 px has 292 inside its margins, and a card in it 254. */
const most_px = 254;
/** Replaced by one column where there is no room for it. */
const narrowed = ['.operation'];

test('nothing is wider by rule than the narrowest screen has room for', () => {
  for (const { name, selector, body } of rules) {
    if (narrowed.includes(selector)) continue;
    const bounded = body.replace(/min\((?:[^()]|\([^()]*\))*\)/g, ''); // at most the room that there is
    for (const [, property, value] of bounded.matchAll(/(?<![-\w])((?:min-)?width|grid-template-columns|flex-basis|flex)\s*:\s*([^;]*)/g))
      for (const [, px] of value!.matchAll(/(\d+)px/g)) assert.ok(Number(px) <= most_px, `${name}: ${selector} { ${property}: ${value} }`);
  }
});

test('a column that is asked for has its fallback', () => {
  const views = readFileSync(`${folder}/views.css`, 'utf8');
  for (const selector of narrowed) assert.ok(new RegExp(`@media \\(max-width: \\d+px\\) \\{ \\${selector} \\{ grid-template-columns: minmax\\(0, 1fr\\)`).test(views), selector);
});

test('what has no space breaks anywhere, and nothing takes that back', () => {
  assert.match(rules.find((rule) => rule.selector === 'body')!.body, /overflow-wrap: anywhere/);
  for (const { name, selector, body } of rules) assert.doesNotMatch(body, /overflow-wrap: (normal|break-word)|word-break/, `${name}: ${selector}`);
  // Rows of what somebody else named wrap, or cut it off.
  for (const selector of ['.card header', '.message header', '.turn-bar', '.say-foot', '.tree-count', '.switch', '.actions', '.page-head', '.unproven-head', '.cancels li', '.dialog-foot', '.toolbar'])
    assert.ok(rules.some((rule) => rule.selector === selector && /flex-wrap: wrap/.test(rule.body)), `${selector} wraps`);
});
