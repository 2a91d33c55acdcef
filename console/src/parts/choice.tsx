// A choice of several operations, to stop them together. Nobody chooses who may not stop.
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { listen } from '../api/feed.ts';
import type { Operation } from '../api/types.ts';
import { without_ended } from '../model/preview.ts';
import { is_terminal } from '../model/tree.ts';
import { may } from '../state/session.ts';
import { ask_to_stop } from '../state/stopping.ts';

export interface Choice {
  ids: Signal<ReadonlySet<string>>;
  toggle: (id: string) => void;
  stop: () => void;
}

export function use_choice(): Choice {
  const ids = useSignal<ReadonlySet<string>>(new Set());
  useEffect(() => listen((batch) => {
    const ended = batch.flatMap((e) => (e.type.startsWith('operation_') && e.operation && is_terminal((e.data as Operation).status) ? [e.operation] : []));
    if (ended.length) ids.value = without_ended(ids.peek(), ended);
  }), []);
  const toggle = (id: string) => {
    if (!may.cancel.value) return;
    const next = new Set(ids.peek());
    if (!next.delete(id)) next.add(id);
    ids.value = next;
  };
  return { ids, toggle, stop: () => may.cancel.value && ask_to_stop({ what: 'operations', ids: [...ids.value] }) };
}

export function Chosen({ choice }: { choice: Choice }) {
  const { size } = choice.ids.value;
  if (size === 0 || !may.cancel.value) return null;
  return (
    <span class="chosen">
      {size} chosen
      <button type="button" class="button danger" onClick={choice.stop}>Stop them…</button>
      <button type="button" class="button quiet" onClick={() => (choice.ids.value = new Set())}>Clear</button>
    </span>
  );
}
