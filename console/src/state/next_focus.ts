// The focus of a row whose button was pressed: when the row goes, the next one has it; when its button can be pressed again, the button has it again. Else a person without a mouse would begin anew at the top each time.

const rows = '.needs > li, tbody > tr, .worker, .asks, .history, .message-actions';
const takes_focus = 'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled';

interface Held {
  element: HTMLElement;
  row: Element;
  /** Among the rows of the page, when it was there for the last time. */
  place: number;
  was_disabled: boolean;
}

let held: Held | null = null;
let observer: MutationObserver | undefined;
const all_rows = () => [...document.querySelectorAll(`#main :is(${rows})`)];

function forget(): void {
  held = null;
  observer?.disconnect();
}

function put(to: HTMLElement | null | undefined): void {
  forget();
  if (to) to.focus(); // `focusin` holds it
  else document.getElementById('main')?.focus({ preventScroll: true });
}

/** Gives the focus on if nothing has it: also for a dialog that has closed. */
export function give_focus_on(): void {
  if (!held) return;
  const { element, row } = held;
  const is_disabled = element.matches(':disabled');
  held.was_disabled ||= is_disabled;
  if (row.isConnected) held.place = all_rows().indexOf(row);
  if (document.activeElement !== document.body || document.querySelector('dialog[open]')) return;
  if (!row.isConnected) {
    const left = all_rows();
    return put(left[Math.min(held.place, left.length - 1)]?.querySelector<HTMLElement>(takes_focus));
  }
  if (!element.isConnected) return put(row.querySelector<HTMLElement>(takes_focus));
  if (held.was_disabled && !is_disabled) put(element);
}

export function begin_next_focus(): void {
  observer = new MutationObserver(give_focus_on);
  addEventListener('focusin', ({ target }) => {
    // A dialog of a row's button is a part of the row.
    if (!(target instanceof HTMLElement) || held?.element === target || target.closest('dialog')) return;
    forget();
    const row = target.closest('#main') ? target.closest(rows) : null;
    if (!row) return;
    held = { element: target, row, place: all_rows().indexOf(row), was_disabled: false };
    observer!.observe(document.getElementById('main')!, { childList: true, subtree: true, attributeFilter: ['disabled'] });
  });
  // Who presses beside everything wants no focus.
  addEventListener('pointerdown', forget, { capture: true });
}
