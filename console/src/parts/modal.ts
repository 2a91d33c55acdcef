// A dialog over the page, as long as it is drawn.
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { give_focus_on } from '../state/next_focus.ts';

/** When it goes, whatever closed it, the focus goes back to where it was before. The browser does so only for a dialog that it closes itself. */
export function use_modal(box: RefObject<HTMLDialogElement | null>): void {
  useEffect(() => {
    const before = document.activeElement;
    box.current!.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
      // Its button may be disabled by now, or gone with its row; the box itself goes behind this.
      setTimeout(give_focus_on);
    };
  }, []);
}
