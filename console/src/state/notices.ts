// What the browser announces while nobody looks at the page: new needs, if the person wants that. A press on one leads to what needs them.
import { effect, signal } from '@preact/signals';
import { announced, new_needs, type Announcement } from '../model/needs.ts';
import { needs } from './needs.ts';
import { go } from './router.ts';

/** unasked: a press asks the browser; off: the person wants none; unable: this browser shows none, or may not. */
export type Notifying = 'unasked' | 'on' | 'off' | 'unable';

const off_key = 'quell.quiet';

function is_off(): boolean {
  try {
    return localStorage.getItem(off_key) !== null;
  } catch {
    return false; // no storage
  }
}

function begin(): Notifying {
  if (typeof Notification === 'undefined' || Notification.permission === 'denied') return 'unable';
  if (Notification.permission !== 'granted') return 'unasked';
  return is_off() ? 'off' : 'on';
}

export const notifying = signal<Notifying>(begin());

/** Browsers of phones have the permission, and no such notifications. */
function show({ title, body, tag, link }: Announcement): boolean {
  try {
    const notice = new Notification(title, { body, tag });
    notice.onclick = () => {
      window.focus();
      go(link);
      notice.close();
    };
    return true;
  } catch {
    notifying.value = 'unable';
    return false;
  }
}

function keep(is_quiet: boolean): void {
  try {
    if (is_quiet) localStorage.setItem(off_key, '1');
    else localStorage.removeItem(off_key);
  } catch {
    // for this page it holds
  }
}

export async function notify_me(): Promise<void> {
  const permission = Notification.permission === 'granted' ? 'granted' : await Notification.requestPermission();
  if (permission === 'default') return;
  if (permission === 'denied') return void (notifying.value = 'unable');
  keep(false);
  if (show({ title: 'quell', body: 'What needs you is announced like this while you look elsewhere.', tag: 'quell', link: '/' })) notifying.value = 'on';
}

export function notify_no_more(): void {
  keep(true);
  notifying.value = 'off';
}

export function begin_notices(): void {
  let before: ReadonlySet<string> = new Set();
  effect(() => {
    const all = needs.value;
    const news = new_needs(before, all);
    before = new Set(all.map((need) => need.key));
    if (document.hidden && notifying.peek() === 'on') for (const one of announced(news)) if (!show(one)) return;
  });
}
