// Something that is read from the API: the last good answer, whether it is being read, and what went wrong.
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import { words_of_repeated } from '../api/client.ts';
import { connection, heard, listen, resync } from '../api/feed.ts';
import { Again } from './again.ts';

export interface Resource<T> {
  value: T | null;
  trouble: string;
  is_loading: boolean;
}

/** Reads at once, when `key` changes, every `every_ms`, soon after an event whose type begins with one of `types`, and again behind an error that may pass. */
export function use_resource<T>(key: string, read: () => Promise<T>, how: { every_ms?: number; types?: readonly string[] } = {}): [ReadonlySignal<Resource<T>>, () => void] {
  const state = useSignal<Resource<T>>({ value: null, trouble: '', is_loading: true });
  const latest = useRef(0);
  const shown = useRef(0); // answers can overtake each other: an older one is not shown behind a newer one
  const reader = useRef(read);
  reader.current = read;
  const again = useRef<Again | null>(null);
  const reload = useCallback(() => {
    again.current ??= new Again(() => reload());
    const mine = ++latest.current;
    const is_newest = () => mine > shown.current && ((shown.current = mine), true);
    reader.current().then(
      (value) => {
        if (!is_newest()) return;
        again.current?.worked();
        state.value = { value, trouble: '', is_loading: false };
      },
      (error) => {
        if (!is_newest()) return;
        again.current?.failed(error);
        state.value = { ...state.value, trouble: words_of_repeated(error), is_loading: false };
      },
    );
  }, []);
  useEffect(() => {
    state.value = { value: null, trouble: '', is_loading: true };
    reload();
    const timer = how.every_ms ? setInterval(() => !document.hidden && reload(), how.every_ms) : undefined;
    let soon: ReturnType<typeof setTimeout> | undefined;
    const later = () => (soon ??= setTimeout(() => ((soon = undefined), reload()), 300));
    let is_over = false;
    const { types } = how;
    // An event between the first read and the opening of the stream is not heard.
    if (types && connection.value.state === 'opening') void heard().then(() => !is_over && later());
    const unlisten = types ? listen((batch) => batch.some((e) => types.some((t) => e.type.startsWith(t))) && later()) : () => {};
    const seen = resync.value;
    const unsubscribe = resync.subscribe((n) => n !== seen && later());
    return () => {
      is_over = true;
      clearInterval(timer);
      clearTimeout(soon);
      again.current?.worked(); // the next key begins without failures
      unlisten();
      unsubscribe();
      shown.current = ++latest.current;
    };
  }, [key]);
  return [state, reload];
}
