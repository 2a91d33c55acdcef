// The keyboard: one letter, one act. Nothing while somebody types, holds a modifier or a dialog is open, and nothing twice while a key is held.
import { useEffect, useRef } from 'preact/hooks';
import { may_repeat, presses_again } from '../model/held_key.ts';

export type Keys = Record<string, () => unknown>;

const stack: Keys[] = [];

export function use_keys(keys: Keys): void {
  const latest = useRef<Keys>({});
  for (const name of Object.keys(latest.current)) delete latest.current[name];
  Object.assign(latest.current, keys);
  useEffect(() => {
    const mine = latest.current;
    stack.push(mine);
    return () => void stack.splice(stack.indexOf(mine), 1);
  }, []);
}

const arrows: Record<string, string> = { ArrowDown: 'j', ArrowUp: 'k', ArrowRight: 'l', ArrowLeft: 'h' };

/** Goes on by so many rows of the list that the view has (needs, stops, conversations): the link of a row takes the focus, so that Enter opens it. */
export function step_through_list(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('#main :is(.needs, .cancels) > li')].flatMap((row) => row.querySelector('a') ?? []);
  const at = links.findIndex((one) => one.closest('li') === document.activeElement?.closest('li'));
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
}

export function begin_keys(global: Keys): void {
  // Before anybody else hears it: what the first press has opened must not be confirmed by the next.
  addEventListener('keydown', (event) => {
    if (presses_again(event, (event.target as Element).closest?.('a, button, dialog, summary') != null)) event.preventDefault();
  }, { capture: true });
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const is_typing = target.matches('textarea, select, input:not([type=checkbox])');
    if (is_typing) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    if ((event.key === 'Enter' || event.key === ' ') && target.closest('a, button')) return;
    const name = target.closest('.virtual') ? (arrows[event.key] ?? event.key) : event.key;
    if (event.repeat && !may_repeat(name)) return;
    for (const keys of [...stack.slice().reverse(), global]) {
      if (!keys[name]) continue;
      event.preventDefault();
      keys[name]!();
      return;
    }
  });
}
