// What a held key does: the browser says again and again that it is pressed. Pure.

const moves = new Set(['j', 'k', 'h', 'l']);

/** Only going through a list goes on while the key is held; an act wants a press of its own. */
export function may_repeat(key: string): boolean {
  return moves.has(key);
}

/** A held Enter would press whatever has the focus by now: a button that opens a dialog, then the one that confirms it. */
export function presses_again(event: { key: string; repeat: boolean }, is_on_control: boolean): boolean {
  return event.repeat && event.key === 'Enter' && is_on_control;
}
