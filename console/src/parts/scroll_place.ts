// How far the view is scrolled: to its top in a new place, and where it was for whoever comes back, once so much of it is there.
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { steps, places } from '../state/router.ts';

const patience_ms = 5000;
const moves = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

export function use_scroll_place(box: RefObject<HTMLElement | null>): void {
  const step = steps.value;
  useEffect(() => {
    const el = box.current!;
    const keep = () => places.put('view', el.scrollTop);
    el.addEventListener('scroll', keep);
    return () => el.removeEventListener('scroll', keep);
  }, []);
  useLayoutEffect(() => {
    const el = box.current!, wanted = places.get('view');
    el.scrollTop = wanted;
    if (Math.abs(el.scrollTop - wanted) <= 1 || !el.firstElementChild) return;
    // It is still being read. Whoever moves it goes where they want.
    const observer = new ResizeObserver(() => {
      el.scrollTop = wanted;
      if (Math.abs(el.scrollTop - wanted) <= 1) end();
    });
    const limit = setTimeout(() => end(), patience_ms);
    const end = () => {
      observer.disconnect();
      clearTimeout(limit);
      for (const move of moves) el.removeEventListener(move, end);
    };
    observer.observe(el.firstElementChild);
    for (const move of moves) el.addEventListener(move, end);
    return end;
  }, [step]);
}
