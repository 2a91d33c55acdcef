// Lists that this browser keeps of a person: another one who signs in has others, and sees nothing of these.
import { effect, signal, untracked, type ReadonlySignal } from '@preact/signals';
import { person_key } from '../model/identity.ts';
import { session } from './session.ts';

export interface KeptList<T> {
  readonly value: ReadonlySignal<readonly T[]>;
  /** The newest `most` of these, in all tabs of this browser from their next load on. */
  put: (all: readonly T[]) => void;
}

export function kept_list<T>(name: string, most: number, is_one: (value: unknown) => value is T): KeptList<T> {
  const value = signal<readonly T[]>([]);
  let key = '';
  const read = (): T[] => {
    try {
      const all: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
      return Array.isArray(all) ? all.filter(is_one) : [];
    } catch {
      return []; // no storage, or not what was kept
    }
  };
  effect(() => {
    const next = session.value ? `${name} ${person_key(session.value)}` : '';
    if (next === key) return; // where nothing can be kept, it holds for this page
    key = next;
    value.value = untracked(() => (key ? read() : []));
  });
  const put = (all: readonly T[]) => {
    value.value = all.slice(-most);
    try {
      if (key) localStorage.setItem(key, JSON.stringify(value.value));
    } catch {
      // for this page it holds
    }
  };
  return { value, put };
}
