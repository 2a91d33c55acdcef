// The titles of operations that stops name by their id, read once each when somebody comes to see them.
import { signal, type Signal } from '@preact/signals';
import { get, may_pass } from '../api/client.ts';
import type { Operation } from '../api/types.ts';
import { api_path } from '../model/route.ts';

const most_kept = 5000, at_once = 2;

/** By operation. null: not known; '': it has none that this token may see. */
const titles = new Map<string, Signal<string | null>>();
const wanted = new Set<string>();
let readers = 0;

function of(operation: string): Signal<string | null> {
  let one = titles.get(operation);
  if (!one) {
    titles.set(operation, (one = signal(null)));
    if (titles.size > most_kept) titles.delete(titles.keys().next().value!);
  }
  return one;
}

/** '' while it is not known. */
export function title_of(operation: string): string {
  return of(operation).value ?? '';
}

async function read_wanted(): Promise<void> {
  for (let id: string | undefined; (id = wanted.values().next().value) !== undefined;) {
    wanted.delete(id);
    const to = of(id);
    try {
      const op = await get<Operation>(api_path('operations', id));
      to.value = op.title || op.name;
    } catch (error) {
      if (!may_pass(error)) to.value = ''; // what may pass is wanted again when it is seen again
    }
  }
}

export function want_title(operation: string): void {
  if (of(operation).peek() !== null) return;
  wanted.add(operation);
  if (readers >= at_once) return;
  ++readers;
  void read_wanted().finally(() => --readers);
}

/** What one may see is not shown to the next. */
export function forget_titles(): void {
  wanted.clear();
  titles.clear();
}
