// The address bar as a signal. Links are plain <a href>: clicks on them stay in the page.
import { batch, computed, signal } from '@preact/signals';
import { parse_route, split_address } from '../model/route.ts';
import { Visits } from '../model/visits.ts';

const place = signal(location.pathname + location.search);
export const route = computed(() => {
  const { path, search } = split_address(place.value);
  return parse_route(path, search);
});
export const address = computed(() => place.value);
/** Grows with each step to another place, also back. The query that changes while somebody types is not a step. */
export const steps = signal(0);

/** Each entry of the history has a name of its own, also over a reload. */
const visit_of = (state: unknown): string => (state as { visit?: string } | null)?.visit ?? '';
const this_page = Date.now().toString(36);
let visits_begun = 0;
/** What of this entry is kept for whoever comes back: how far lists were scrolled and read. */
export const places = new Visits(visit_of(history.state));
/** Called before the page goes elsewhere, while what is left still stands: an event of its scrolling can be on its way. */
export const before_leaving = new Set<() => void>();

function enter(visit: string): void {
  for (const keep of before_leaving) keep();
  places.enter(visit);
}

export function go(to: string, how: 'push' | 'replace' = 'push'): void {
  if (to === place.value) return;
  if (how === 'push') {
    const visit = `${this_page} ${++visits_begun}`;
    history.pushState({ visit }, '', to);
    enter(visit);
  } else history.replaceState(history.state, '', to);
  arrive(to, how === 'push');
}

function arrive(at: string, is_step: boolean): void {
  batch(() => {
    place.value = at;
    if (is_step) steps.value += 1;
  });
}

/** One parameter of the query, the others as they are. Typing does not fill the history. */
export function set_query(name: string, value: string): void {
  const query = new URLSearchParams(location.search);
  if (value) query.set(name, value);
  else query.delete(name);
  const search = query.toString();
  go(location.pathname + (search ? `?${search}` : ''), 'replace');
}

export function follow_links(): void {
  addEventListener('popstate', (event) => {
    enter(visit_of(event.state));
    arrive(location.pathname + location.search, true);
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.('a[href]');
    if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute('download')) return;
    if (link.origin !== location.origin || link.pathname.startsWith('/v1/')) return;
    event.preventDefault();
    go(link.pathname + link.search);
    document.getElementById('main')?.focus({ preventScroll: true });
  });
}
