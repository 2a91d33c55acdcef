// The present, for ages and countdowns: one timer for all of the page.
import { signal } from '@preact/signals';

export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => (now.value = Date.now()));
