// How many rows of a list are asked for: more with each press of Older, and as many for whoever comes back.
import { useRef } from 'preact/hooks';
import { places } from './router.ts';

export interface Many {
  /** The present number, also for who asks later. */
  readonly current: number;
  grow: () => void;
}

/** `next`: the number behind the present one. */
export function use_many(name: string, first: number, next: (now: number) => number): Many {
  const many = useRef<Many & { current: number }>(null);
  many.current ??= {
    current: Math.max(first, places.get(`many ${name}`)),
    grow() {
      this.current = next(this.current);
      places.put(`many ${name}`, this.current);
    },
  };
  return many.current;
}
