// What tests of views' state wait for, and close behind them.
import assert from 'node:assert/strict';
import { afterEach } from 'node:test';

const open: { close: () => void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

/** Closed behind its test, also if that fails: what asks again by itself would keep it from ending. */
export function closing<T extends { close: () => void }>(one: T): T {
  open.push(one);
  return one;
}

export async function until(what: () => boolean, words: string): Promise<void> {
  for (const end = Date.now() + 20_000; !what(); await new Promise((next) => setTimeout(next, 5))) assert.ok(Date.now() < end, `waited for ${words}`);
}
