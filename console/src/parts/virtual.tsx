// A list of rows of one height, of which only those on the screen are made.
import type { ComponentChildren, Ref } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { whole_rows } from '../model/whole_rows.ts';
import { before_leaving, places } from '../state/router.ts';

export interface VirtualProps {
  count: number;
  row_height: number;
  /** `is_brief`: only what whoever scrolls past can read; the rest of the row comes when there is time. */
  render: (index: number, is_brief: boolean) => ComponentChildren;
  /** Its rows cost enough to be made brief first. */
  has_brief?: boolean;
  label: string;
  role?: 'list' | 'tree' | 'grid' | 'log';
  /** Kept in view when it changes; -1 = nothing. */
  focus?: number;
  /** What stands in the row `focus`: while it is the same, rows that come and go above it scroll nothing. */
  focus_key?: string;
  /** Stay at the end while it grows, unless somebody scrolls up. */
  follow?: boolean;
  /** The name of what it lists, if its place is to be kept for whoever comes back. */
  place?: string;
  on_range?: (first: number, last: number) => void;
  /** The id of the row `focus`, for a tree: whoever moves through it hears that row. */
  active?: string;
  /** Several rows of a tree can be chosen. */
  is_multiselectable?: boolean;
  class?: string;
  wide?: boolean;
}

/** Rows beyond the edges, so that a short way finds them drawn. Where most rows are new, they come when the scrolling rests: a frame makes only what is seen. */
const spare = 4, rest_ms = 100;
/** So many whole rows one frame makes at most, where others can be brief. */
const most_whole = 8;

export function Virtual(p: VirtualProps) {
  const box: Ref<HTMLDivElement> = useRef(null);
  const [top, set_top] = useState(0);
  const [height, set_height] = useState(600);
  const [is_at_rest, set_at_rest] = useState(true);
  const rest = useRef<ReturnType<typeof setTimeout>>(undefined);
  const at_end = useRef(true);

  // Whoever comes back finds it where it was.
  useLayoutEffect(() => {
    const el = box.current, place = p.place;
    if (!el || !place) return;
    el.scrollTop = places.get(place);
    const keep = () => places.put(place, el.scrollTop);
    before_leaving.add(keep);
    return () => void before_leaving.delete(keep);
  }, [p.place]);
  useLayoutEffect(() => {
    const measure = () => box.current && set_height(box.current.clientHeight);
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const focus = p.focus ?? -1, el = box.current;
    if (focus < 0 || !el) return;
    const y = focus * p.row_height;
    if (y < el.scrollTop) el.scrollTop = y;
    else if (y + p.row_height > el.scrollTop + el.clientHeight) el.scrollTop = y + p.row_height - el.clientHeight;
    // Only of what has the focus a screen reader says the active row.
    const at = document.activeElement;
    if (p.role === 'tree' && (at === document.body || at?.id === 'main' || (el.contains(at) && at?.matches('.twist')))) el.focus({ preventScroll: true });
  }, [p.focus_key ?? p.focus]);
  useLayoutEffect(() => {
    if (p.follow && at_end.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [p.count, p.follow, height]);

  useEffect(() => () => clearTimeout(rest.current), []);

  const beyond = is_at_rest ? spare : 0;
  const first = Math.max(0, Math.min(Math.floor(top / p.row_height) - beyond, p.count));
  const last = Math.min(p.count, Math.ceil((top + height) / p.row_height) + beyond);
  useEffect(() => p.on_range?.(first, last), [first, last]);
  const scrolled = (e: Event) => {
    const el = e.currentTarget as HTMLDivElement;
    at_end.current = el.scrollTop + el.clientHeight >= el.scrollHeight - 4;
    if (Math.abs(el.scrollTop - top) > height / 2) {
      clearTimeout(rest.current);
      rest.current = setTimeout(() => set_at_rest(true), rest_ms);
      set_at_rest(false);
    }
    set_top(el.scrollTop);
    if (p.place) places.put(p.place, el.scrollTop);
  };
  const whole = useRef({ first: 0, last: Infinity }); // of the rows in sight, at the first drawing all
  if (p.has_brief) whole.current = whole_rows(whole.current, first, last, is_at_rest ? most_whole : 0);
  const is_whole = whole.current.first <= first && whole.current.last >= last;
  const [, draw_again] = useState(0);
  useEffect(() => {
    if (is_whole || !is_at_rest) return;
    const next = requestAnimationFrame(() => draw_again((n) => n + 1));
    return () => cancelAnimationFrame(next);
  });
  const of_tree = p.role === 'tree' ? { 'aria-multiselectable': p.is_multiselectable ?? false, ...(p.active && (p.focus ?? -1) >= first && (p.focus ?? -1) < last ? { 'aria-activedescendant': p.active } : {}) } : {};
  const rows = [];
  for (let i = first; i < last; ++i) rows.push(p.render(i, i < whole.current.first || i >= whole.current.last));
  return (
    <div class={`virtual ${p.class ?? ''}`} ref={box} onScroll={scrolled} role={p.role ?? 'list'} aria-label={p.label} tabIndex={0} {...of_tree}>
      <div class={p.wide ? 'virtual-all wide' : 'virtual-all'} role="presentation" style={{ height: `${p.count * p.row_height}px` }}>
        <div class="virtual-seen" role="presentation" style={{ transform: `translateY(${first * p.row_height}px)` }}>{rows}</div>
      </div>
    </div>
  );
}
