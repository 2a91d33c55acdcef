// Long work in short tasks, so that keys, clicks and frames come between.

/** One task may take so long before it lets others in. */
export const slice_ms = 6;

const channel = new MessageChannel();
const waiting: (() => void)[] = [];
channel.port1.onmessage = () => waiting.shift()?.();

/** In a task of its own: soon, but behind what the browser has to do first. */
export function next_task(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
}

/** Does `step` until it returns false, with room for other tasks in between. */
export async function in_slices(step: () => boolean): Promise<void> {
  let end = performance.now() + slice_ms;
  while (step()) {
    if (performance.now() < end) continue;
    await next_task();
    end = performance.now() + slice_ms;
  }
}

const frame_ms = 250;

/** Before the next frame, or without one: a page in the background, or one that is covered, has none. */
export function in_frame(act: () => void): void {
  let is_done = false;
  const once = () => {
    if (is_done) return;
    is_done = true;
    act();
  };
  if (!document.hidden) requestAnimationFrame(once);
  setTimeout(once, frame_ms);
}
