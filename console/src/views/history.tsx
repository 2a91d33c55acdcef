// What may be done to a conversation as a whole: ask again, compact, fork, clear.
import { useState } from 'preact/hooks';
import { ApiError, post, words_of } from '../api/client.ts';
import type { HistoryChanged } from '../api/types.ts';
import { count } from '../model/format.ts';
import { link, operation_link } from '../model/route.ts';
import { Trouble } from '../parts/small.tsx';
import { use_one_at_a_time } from '../state/once.ts';
import { go } from '../state/router.ts';
import { may } from '../state/session.ts';

type Action = 'regenerate' | 'compact' | 'fork' | 'clear';

/** Why a change of a conversation was refused, for whoever wanted it. */
export function refused_words(error: unknown): string {
  return error instanceof ApiError && error.code === 'history_changed' ? 'Somebody has written meanwhile: read it, then decide again.' : words_of(error);
}

interface HistoryProps {
  scope: string;
  /** The newest message on the screen: if another is there, the server changes nothing. */
  newest: number;
  is_busy: boolean;
  changed: () => void;
}

export function HistoryActions({ scope, newest, is_busy, changed }: HistoryProps) {
  const [open, set_open] = useState<'' | 'fork' | 'clear'>('');
  const [to, set_to] = useState(`${scope}-fork`);
  const [done, set_done] = useState<{ words: string; operation: string | null } | null>(null);
  const [trouble, set_trouble] = useState('');
  const { is_busy: is_sending, once } = use_one_at_a_time();
  if (!may.converse.value || newest === 0) return null;
  const is_closed = is_busy || is_sending;
  const act = (action: Action) => once(async () => {
    set_trouble('');
    set_done(null);
    try {
      const answer = await post<HistoryChanged>('/v1/history', { scope, action, expect: newest, ...(action === 'fork' ? { to: to.trim() } : {}) });
      set_open('');
      if (action === 'fork') return go(link('/conversation', { scope: to.trim() }));
      const words = { regenerate: 'Asked again', compact: 'A summary is being written', clear: `Cleared: ${count(answer.messages, 'message')} no longer read` }[action];
      set_done({ words, operation: answer.operation });
      changed();
    } catch (error) {
      set_trouble(refused_words(error));
      changed();
    }
  });
  const button = (name: string, title: string, press: () => unknown) =>
    <button type="button" class="button quiet" disabled={is_closed} title={is_busy ? 'Not while an answer is being written or waits' : title} onClick={() => void press()}>{name}</button>;
  return (
    <div class="history">
      <div class="form-row" role="group" aria-label="This conversation">
        {button('Retry', 'Asks the newest request again; its old answer goes', () => act('regenerate'))}
        {button('Compact', 'The model writes a summary, which stands for the older messages', () => act('compact'))}
        {button('Fork…', 'Copies it to another scope', () => set_open(open === 'fork' ? '' : 'fork'))}
        {button('Clear…', 'Nothing of before is read any more', () => set_open(open === 'clear' ? '' : 'clear'))}
        <span class="faint" role="status">{done?.words}{done?.operation && <> · <a href={operation_link(done.operation)}>its operation</a></>}</span>
      </div>
      {open === 'fork' && (
        <form class="form-row" onSubmit={(e) => (e.preventDefault(), void act('fork'))}>
          <label class="stack">Scope of the copy <input required maxLength={512} value={to} onInput={(e) => set_to(e.currentTarget.value)} /></label>
          <button type="submit" class="button primary" disabled={is_closed}>Fork</button>
        </form>
      )}
      {open === 'clear' && (
        <div class="form-row">
          <span>The next answers know nothing of what stands here. The messages stay in the list.</span>
          <button type="button" class="button danger" disabled={is_closed} onClick={() => void act('clear')}>Clear</button>
          <button type="button" class="button" onClick={() => set_open('')}>Keep it</button>
        </div>
      )}
      <Trouble words={trouble} />
    </div>
  );
}
