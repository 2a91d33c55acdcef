// The search box (key /), whose text stands in the address; and views that a person has saved in this browser.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask_for } from '../state/asking.ts';
import { kept_list } from '../state/kept_lists.ts';
import { address } from '../state/router.ts';

const pause_ms = 250;

export function SearchBox({ value, on_change, hint }: { value: string; on_change: (text: string) => void; hint: string }) {
  const [text, set_text] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const told = useRef(value);
  // The address follows what is typed, which may have gone on meanwhile. Another address, as of a link or of Back, is shown.
  useEffect(() => {
    if (value === told.current) return;
    clearTimeout(timer.current);
    told.current = value;
    set_text(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (next: string) => {
    set_text(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => on_change((told.current = next.trim())), pause_ms);
  };
  return <input id="search" class="search" type="search" placeholder={hint} aria-label="Search" spellcheck={false} value={text} onInput={(e) => typed(e.currentTarget.value)} />;
}

interface Saved {
  name: string;
  to: string;
}
const most_views = 30;
const is_saved_view = (v: unknown): v is Saved => {
  const { name, to } = (v ?? {}) as Partial<Saved>;
  return typeof name === 'string' && typeof to === 'string' && to.startsWith('/') && !to.startsWith('//');
};
const { value: saved_views, put: keep } = kept_list<Saved>('quell.views', most_views, is_saved_view);
export { saved_views };

export function SavedViews() {
  const here = address.value;
  const is_saved = saved_views.value.some((v) => v.to === here);
  const save = async () => {
    const name = await ask_for({ title: 'Save this view', words: 'It stands in the navigation of this browser from then on.', line: 'Name', most_length: 60, yes: 'Save' });
    if (name !== null) keep([...saved_views.value, { name, to: here }]);
  };
  if (is_saved) return <button type="button" class="button quiet" onClick={() => keep(saved_views.value.filter((v) => v.to !== here))}>Forget view</button>;
  return <button type="button" class="button quiet" onClick={() => void save()}>Save view</button>;
}
