// How far the view is scrolled: to its top in a new place, and where it was for whoever comes back, once so much of it is there.
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { before_leaving, places, steps } from '../state/router.ts';

/** How long a view may be read before it stays at its top. */
const patience_ms = 30_000;
const moves = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

export function use_scroll_place(box: RefObject<HTMLElement | null>): void {
  const step = steps.value;
  /** Where it is going to be: what it is until then is not kept. */
  const awaited = useRef<number | null>(null);
  useEffect(() => {
    const el = box.current!;
    const keep = () => places.put('view', awaited.current ?? el.scrollTop);
    el.addEventListener('scroll', keep);
    before_leaving.add(keep);
    return () => (el.removeEventListener('scroll', keep), void before_leaving.delete(keep));
  }, []);
  useLayoutEffect(() => {
    const el = box.current!, wanted = places.get('view');
    el.scrollTop = wanted;
    if (Math.abs(el.scrollTop - wanted) <= 1) return;
    awaited.current = wanted;
    // It is still being read. Whoever moves it goes where they want.
    const observer = new ResizeObserver(() => {
      el.scrollTop = wanted;
      if (Math.abs(el.scrollTop - wanted) <= 1) end();
    });
    // What is shown while it is read is replaced.
    const replaced = new MutationObserver(() => watch());
    const watch = () => {
      observer.disconnect();
      for (const part of el.children) observer.observe(part);
    };
    const limit = setTimeout(() => end(), patience_ms);
    const end = () => {
      awaited.current = null;
      observer.disconnect();
      replaced.disconnect();
      clearTimeout(limit);
      for (const move of moves) el.removeEventListener(move, end);
    };
    watch();
    replaced.observe(el, { childList: true });
    for (const move of moves) el.addEventListener(move, end);
    return end;
  }, [step]);
}
