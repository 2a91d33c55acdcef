// The search box (key /), whose text stands in the address; and views that this browser has saved.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask_for } from '../state/asking.ts';
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
const storage_key = 'quell.views';
const most_views = 30;

function read_saved(): Saved[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(storage_key) ?? '[]');
    return Array.isArray(all) ? all.filter((v): v is Saved => typeof v?.name === 'string' && typeof v?.to === 'string' && v.to.startsWith('/') && !v.to.startsWith('//')) : [];
  } catch {
    return [];
  }
}

export const saved_views = signal(read_saved());

function keep(views: Saved[]): void {
  saved_views.value = views.slice(-most_views);
  try {
    localStorage.setItem(storage_key, JSON.stringify(saved_views.value));
  } catch {} // a browser that keeps nothing: then for this page only
}

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
