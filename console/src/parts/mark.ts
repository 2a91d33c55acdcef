// The marked row of a list on the page. When its row goes, nothing is marked, also if it comes back.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { next_place, place_of } from '../model/mark.ts';

export interface RowMark {
  /** '' = nothing is marked. */
  key: string;
  /** Of the marked row among those of this drawing; -1 = none. */
  place: number;
  put: (key: string) => void;
  move: (by: 1 | -1) => void;
}

export function use_mark(count: number, key_at: (place: number) => string): RowMark {
  const key = useSignal('');
  const last = useRef(-1);
  const place = place_of({ key: key.value, last: last.current }, count, key_at);
  useEffect(() => {
    if (place >= 0) last.current = place;
    else key.value = '';
  }, [place, key.value]);
  const put = (next: string) => (key.value = next);
  const move = (by: 1 | -1) => {
    const next = next_place(place, last.current, count, by);
    if (next >= 0) put(key_at(next));
  };
  return { key: place < 0 ? '' : key.value, place, put, move };
}
