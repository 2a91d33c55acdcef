// What may be done to one message: edit it and ask again, or delete it with its answer.
import { useState } from 'preact/hooks';
import { post } from '../api/client.ts';
import type { HistoryChanged, Message } from '../api/types.ts';
import { Trouble } from '../parts/small.tsx';
import { use_one_at_a_time } from '../state/once.ts';
import { may } from '../state/session.ts';
import { refused_words } from './history.tsx';

interface MessageActionsProps {
  scope: string;
  message: Message;
  /** The newest message on the screen: if another is there, the server changes nothing. */
  newest: number;
  is_busy: boolean;
  changed: () => void;
}

export function MessageActions({ scope, message, newest, is_busy, changed }: MessageActionsProps) {
  const [open, set_open] = useState<'' | 'edit' | 'delete'>('');
  const [text, set_text] = useState(message.text);
  const [trouble, set_trouble] = useState('');
  const { is_busy: is_sending, once } = use_one_at_a_time();
  if (message.role !== 'user' || message.discarded || !may.converse.value) return null;
  const is_closed = is_busy || is_sending;
  const run = (steps: () => Promise<unknown>) => once(async () => {
    set_trouble('');
    try {
      await steps();
      set_open('');
    } catch (error) {
      set_trouble(refused_words(error));
    }
    changed();
  });
  const change = (fields: object) => post<HistoryChanged>('/v1/history', { scope, ...fields });
  const edit = () => run(async () => {
    const { seq } = await change({ action: 'edit', id: message.message, text, expect: newest });
    await change({ action: 'regenerate', expect: seq });
  });
  const remove = () => run(() => change({ action: 'delete', id: message.message, expect: newest }));
  const title = (words: string) => (is_busy ? 'Not while an answer is being written or waits' : words);
  return (
    <div class="message-actions">
      {open === '' && (
        <>
          <button type="button" class="button quiet" disabled={is_busy} title={title('Replaces it and asks again; what came after it goes')} onClick={() => (set_text(message.text), set_open('edit'))}>Edit…</button>
          <button type="button" class="button quiet" disabled={is_busy} title={title('Takes it out with its answer')} onClick={() => set_open('delete')}>Delete…</button>
        </>
      )}
      {open === 'edit' && (
        <form class="say" onSubmit={(e) => (e.preventDefault(), void edit())}>
          <textarea aria-label="New text" rows={3} maxLength={65_536} value={text} onInput={(e) => set_text(e.currentTarget.value)} />
          <div class="say-foot"><span class="faint">Everything after it goes.</span><span class="grow" /><button type="button" class="button" onClick={() => set_open('')}>Keep it</button><button type="submit" class="button primary" disabled={is_closed || !text.trim()}>Ask again</button></div>
        </form>
      )}
      {open === 'delete' && (
        <div class="form-row">
          <span>This request and its answer are no longer read.</span>
          <button type="button" class="button danger" disabled={is_closed} onClick={() => void remove()}>Delete</button>
          <button type="button" class="button" onClick={() => set_open('')}>Keep it</button>
        </div>
      )}
      <Trouble words={trouble} />
    </div>
  );
}
