// quelld's clock, learnt from the Date of its answers and from its events. Ages and countdowns are by it.
import { signal } from '@preact/signals';
import { ServerClock } from '../model/server_clock.ts';

const clock = new ServerClock();
/** Milliseconds that quelld's clock is ahead. */
export const clock_offset = signal(0);

/** Milliseconds since 1970, by quelld's clock. */
export function server_now(): number {
  return Date.now() + clock_offset.peek();
}

/** Each change is drawn: smaller ones are not worth it. */
const least_change_ms = 100;

function publish(): void {
  const { offset } = clock;
  if (Math.abs(offset - clock_offset.peek()) >= least_change_ms || offset === 0) clock_offset.value = offset;
}

/** `asked_at`: by the browser's clock. */
export function learn_from_answer(answer: Response, asked_at: number): void {
  const date = answer.headers.get('Date');
  if (!date || answer.headers.has('Age')) return; // of a cache: it was written long ago
  clock.answered(Date.parse(date), asked_at, Date.now());
  publish();
}

/** The `at` of an event. */
export function learn_from_event(at: string): void {
  clock.heard(Date.parse(at), Date.now());
  publish();
}
