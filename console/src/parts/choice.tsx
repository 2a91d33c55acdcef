// A choice of several operations, to stop them together.
import { useSignal, type Signal } from '@preact/signals';
import { ask_to_stop } from '../state/stopping.ts';

export interface Choice {
  ids: Signal<ReadonlySet<string>>;
  toggle: (id: string) => void;
  stop: () => void;
}

export function use_choice(): Choice {
  const ids = useSignal<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => {
    const next = new Set(ids.peek());
    if (!next.delete(id)) next.add(id);
    ids.value = next;
  };
  return { ids, toggle, stop: () => ask_to_stop({ what: 'operations', ids: [...ids.value] }) };
}

export function Chosen({ choice }: { choice: Choice }) {
  const { size } = choice.ids.value;
  if (size === 0) return null;
  return (
    <span class="chosen">
      {size} chosen
      <button type="button" class="button danger" onClick={choice.stop}>Stop them…</button>
      <button type="button" class="button quiet" onClick={() => (choice.ids.value = new Set())}>Clear</button>
    </span>
  );
}
