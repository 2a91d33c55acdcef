// Time runs ten times as fast for whoever waits: turns, pauses and patience are of seconds. Import it before what is tested.
const in_time = { setTimeout: globalThis.setTimeout, setInterval: globalThis.setInterval };
const times_as_fast = 10;

/** The seconds and longer that somebody wanted to wait, in milliseconds. */
export const waits: number[] = [];

globalThis.setTimeout = ((act: () => void, ms = 0) => {
  if (ms >= 1000) waits.push(ms);
  return in_time.setTimeout(act, ms / times_as_fast);
}) as typeof setTimeout;
globalThis.setInterval = ((act: () => void, ms = 0) => in_time.setInterval(act, ms / times_as_fast)) as typeof setInterval;
