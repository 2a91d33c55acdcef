// The present by quelld's clock, for ages and countdowns: one timer for all of the page.
import { effect, signal } from '@preact/signals';
import { clock_offset, server_now } from '../api/server_clock.ts';

export const now = signal(server_now());
setInterval(() => {
  if (!document.hidden) now.value = server_now();
}, 1000);
document.addEventListener('visibilitychange', () => (now.value = server_now()));
effect(() => {
  void clock_offset.value;
  now.value = server_now();
});
