// A log that is read from its end: opened there, and kept there while it grows, unless somebody has scrolled up. Whoever comes back finds it where it was.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { before_leaving, places } from '../state/router.ts';

const near_px = 40;

/** `first`: what stands at its top; if older things come above it, what is in sight stays. Returns whether its end is out of sight, and what brings it back. */
export function use_end_of(box: RefObject<HTMLElement | null>, place: string, first: string): { is_away: boolean; to_end: () => void } {
  const [is_away, set_away] = useState(false);
  /** Where somebody who comes back was: from its end, which is where it grows. 0 = at its end. */
  const from_end = useRef(places.get(place));
  const before = useRef({ first, height: 0 });
  const top = useRef(0); // where it stood when it was last looked at
  const put = (el: HTMLElement) => {
    from_end.current = el.scrollHeight - el.clientHeight - el.scrollTop;
    if (from_end.current < near_px) from_end.current = 0;
    top.current = el.scrollTop;
    set_away(from_end.current > 0);
  };
  useLayoutEffect(() => {
    const el = box.current!;
    const scrolled = () => put(el);
    const keep = () => places.put(place, from_end.current);
    el.addEventListener('scroll', scrolled);
    before_leaving.add(keep);
    // What it holds may grow without a drawing of the whole, and the window may change.
    const observer = new ResizeObserver(() => from_end.current === 0 && (el.scrollTop = el.scrollHeight));
    observer.observe(el);
    return () => (el.removeEventListener('scroll', scrolled), observer.disconnect(), void before_leaving.delete(keep));
  }, [place]);
  useLayoutEffect(() => {
    const el = box.current!;
    const { height } = before.current, grown = el.scrollHeight - height;
    // Somebody has scrolled up, which is heard only behind this drawing.
    if (from_end.current === 0 && el.scrollTop < top.current - near_px && el.scrollTop + el.clientHeight < height - near_px) put(el);
    if (from_end.current === 0) el.scrollTop = el.scrollHeight;
    else if (height === 0 || before.current.first === '') el.scrollTop = el.scrollHeight - el.clientHeight - from_end.current; // it is read now
    else if (before.current.first !== first) el.scrollTop += grown;
    before.current = { first, height: el.scrollHeight };
    top.current = el.scrollTop;
  });
  return { is_away, to_end: () => void (box.current!.scrollTop = box.current!.scrollHeight) };
}
