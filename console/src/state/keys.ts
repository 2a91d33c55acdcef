// The keyboard: one letter, one act. Nothing while somebody types, holds a modifier or a dialog is open.
import { useEffect, useRef } from 'preact/hooks';

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

export function begin_keys(global: Keys): void {
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
    for (const keys of [...stack.slice().reverse(), global]) {
      if (!keys[name]) continue;
      event.preventDefault();
      keys[name]!();
      return;
    }
  });
}
