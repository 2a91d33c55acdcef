// What is said while the stream of events is lost. Pure.
import { clock, whole_seconds } from './format.ts';

/** All times are milliseconds since 1970, by one clock. `lost_at`: since when there are no events; `heard_at`: when quelld last said anything at all, 0 = never. */
export function silence_words(lost_at: number, heard_at: number, now: number): string {
  const since = `since ${clock(new Date(lost_at).toISOString(), now)}. What you see is from then; it goes on by itself`;
  return heard_at > lost_at ? `No events come, ${since} when they come again.` : `quelld does not answer, ${since} when quelld is back.`;
}

/** How long it is: at least a second, or nobody would call it lost. */
export function silence_age(lost_at: number, now: number): string {
  return whole_seconds(Math.max(1000, now - lost_at));
}
