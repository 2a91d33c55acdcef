// When quelld was last heard: an answer to anything, or anything of a stream, be it a comment.
import { signal } from '@preact/signals';

const fine_ms = 1000;

/** Milliseconds since 1970 by the browser's clock, to about a second; 0 = never. */
export const last_sign_of_life = signal(0);

export function note_sign_of_life(): void {
  const now = Date.now();
  if (Math.abs(now - last_sign_of_life.peek()) >= fine_ms) last_sign_of_life.value = now;
}
