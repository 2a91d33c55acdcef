// What has just moved takes no press: whoever aims at a button presses what they have read, or nothing.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Somebody who has begun to press needs as long to see that it moved, from the frame that shows it. */
const settle_ms = 600;
const fine_px = 2;

/** Whether rows of this list (by `data-key`) stand elsewhere than when they were last drawn, since a moment. */
export function use_moved(list: RefObject<HTMLElement | null>): boolean {
  const [is_moved, set_moved] = useState(false);
  const places = useRef(new Map<string, number>());
  const frame = useRef(0);
  const limit = useRef<ReturnType<typeof setTimeout>>(undefined);
  const wait_no_more = () => {
    cancelAnimationFrame(frame.current);
    clearTimeout(limit.current);
  };
  useLayoutEffect(() => {
    const now = new Map<string, number>(), el = list.current;
    for (const row of el?.children ?? []) now.set((row as HTMLElement).dataset['key'] ?? '', (row as HTMLElement).offsetTop);
    const has_moved = [...now].some(([key, top]) => Math.abs((places.current.get(key) ?? top) - top) > fine_px);
    places.current = now;
    if (!has_moved) return;
    wait_no_more();
    frame.current = requestAnimationFrame(() => {
      limit.current = setTimeout(() => set_moved(false), settle_ms);
    });
    set_moved(true);
  });
  useLayoutEffect(() => wait_no_more, []);
  return is_moved;
}
