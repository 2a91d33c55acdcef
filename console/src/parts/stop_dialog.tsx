// Stop: one press opens this, one confirmation sends it. The preview loads beside and is never waited for.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, post, words_of } from '../api/client.ts';
import { a_few_at_once, giving_way_to_stops } from '../api/connections.ts';
import type { Cancel, WouldStop } from '../api/types.ts';
import { stop_command, target_name } from '../model/command.ts';
import { shown } from '../model/format.ts';
import { preview_of } from '../model/preview.ts';
import { waiting_words } from '../model/unanswered.ts';
import { bodies_of, close_stop, give_up, send_stop, stopping, type StopChoice, type Stopping } from '../state/stopping.ts';
import { use_modal } from './modal.ts';
import { LiveReport } from './report.tsx';
import { Copy, Dot, Trouble } from './small.tsx';

const most_previews = 20;
const patience_ms = 30_000;
const most_at_once = 2; // of a browser's six connections
const no_preview = 'No preview yet. The stop does not need one.';

function usePreview(asked: Stopping, only_seen: boolean) {
  const [text, set_text] = useState('Counting what is live…');
  const [some, set_some] = useState<WouldStop[]>([]);
  const is_sent = asked.phase === 'sent';
  useEffect(() => {
    if (is_sent) return;
    const stop = new AbortController();
    const limit = setTimeout(() => (stop.abort(), set_text(no_preview)), patience_ms);
    const bodies = bodies_of(asked, { reason: '', at_once: false, only_seen }).slice(0, most_previews);
    const preview = (body: object) => giving_way_to_stops((signal) => post<Cancel>('/v1/cancels', { ...body, id: null, dry_run: true }, { signal }), stop.signal);
    a_few_at_once(bodies, most_at_once, preview).then(
      (answers) => {
        const { words, operations } = preview_of(answers);
        set_some(operations.slice(0, 6));
        set_text(asked.ids.length > most_previews ? `${words} (the first ${most_previews} of ${asked.ids.length} chosen)` : words);
      },
      (error) => stop.signal.aborted || set_text(error instanceof ApiError && error.status === 0 ? no_preview : words_of(error)),
    ).finally(() => clearTimeout(limit));
    return () => (clearTimeout(limit), stop.abort());
  }, [asked.ids, only_seen, is_sent]);
  return { text, some };
}

function CopyCommand({ asked, choice }: { asked: Stopping; choice: StopChoice }) {
  return <Copy text={stop_command(asked.target, choice, asked.seen_seq)} label="Copy as quell command" />;
}

function Ask({ asked }: { asked: Stopping }) {
  const [reason, set_reason] = useState(asked.choice.reason);
  const [at_once, set_at_once] = useState(asked.choice.at_once);
  const [only_seen, set_only_seen] = useState(asked.choice.only_seen);
  const preview = usePreview(asked, only_seen);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  const confirm = (event: Event) => {
    event.preventDefault();
    void send_stop({ reason, at_once, only_seen });
  };
  return (
    <form onSubmit={confirm}>
      <p class="preview" aria-live="polite">{preview.text}</p>
      {preview.some.length > 0 && (
        <ul class="preview-list">
          {preview.some.map((o) => <li key={o.id}><Dot status={o.status} /> {shown(o.title || o.kind)} <span class="faint">{o.scope}{o.worker ? ` · ${o.worker}` : ''}</span></li>)}
        </ul>
      )}
      <label class="stack">Why <input value={reason} maxLength={500} placeholder="for the record, if you like" onInput={(e) => set_reason(e.currentTarget.value)} /></label>
      <label class="check"><input type="checkbox" checked={at_once} onChange={(e) => set_at_once(e.currentTarget.checked)} /> Kill at once, without grace</label>
      <label class="check"><input type="checkbox" disabled={asked.seen_seq === 0} checked={only_seen} onChange={(e) => set_only_seen(e.currentTarget.checked)} /> {asked.seen_seq === 0 ? 'Only what I see: this page has shown no operation yet' : 'Only what I see: leave what began since'}</label>
      <Trouble words={asked.trouble} />
      <div class="dialog-foot">
        <CopyCommand asked={asked} choice={{ reason, at_once, only_seen }} />
        <span class="grow" />
        <button type="button" class="button" onClick={close_stop}>{asked.phase === 'sent' ? 'Close, and go on' : 'Keep it running'}</button>
        <button autofocus ref={button} type="submit" class="button danger" disabled={asked.phase === 'sent'}>{asked.phase === 'sent' ? 'Sending…' : asked.phase === 'failed' ? 'Try again' : 'Stop'}</button>
      </div>
    </form>
  );
}

/** Confirmed, and no answer: it is sent again by itself, also when this is closed. */
function Unanswered({ asked }: { asked: Stopping }) {
  return (
    <>
      <p class="warn unanswered" role="status">{waiting_words(asked.open, asked.ids.length, asked.trouble)}</p>
      <p class="faint">Keep this page: nobody else knows of this stop. Sending it again stops nothing twice.</p>
      {asked.cancels.map((c) => <LiveReport key={c.id} id={c.id ?? ''} first={c} with_link />)}
      <div class="dialog-foot">
        <CopyCommand asked={asked} choice={asked.choice} />
        <span class="grow" />
        <button type="button" class="button" onClick={() => give_up(asked)}>Give up</button>
        <button type="button" class="button" onClick={close_stop}>Close, and go on</button>
      </div>
    </>
  );
}

function Told({ asked }: { asked: Stopping }) {
  return (
    <>
      <Trouble words={asked.trouble} />
      {asked.cancels.map((c) => <LiveReport key={c.id} id={c.id ?? ''} first={c} with_link />)}
      <div class="dialog-foot"><span class="grow" /><button type="button" class="button" onClick={close_stop}>Close</button></div>
    </>
  );
}

/** A button that goes with what it did leaves the focus to the dialog. */
function Box({ asked }: { asked: Stopping }) {
  const box = useRef<HTMLDialogElement>(null);
  use_modal(box);
  const is_unanswered = asked.phase === 'sent' && asked.trouble !== '';
  const is_asked = asked.phase !== 'told' && !is_unanswered;
  useEffect(() => {
    if (!box.current!.contains(document.activeElement)) box.current!.focus();
  }, [is_asked, is_unanswered]);
  return (
    <dialog ref={box} class="dialog" tabIndex={-1} aria-labelledby="stop-title" onClose={() => stopping.peek()?.ids === asked.ids && close_stop()}>
      <h2 id="stop-title">{is_asked ? `Stop ${target_name(asked.target)}?` : `Stop of ${target_name(asked.target)}`}</h2>
      {asked.phase === 'told' ? <Told asked={asked} /> : is_unanswered ? <Unanswered asked={asked} /> : <Ask key={asked.ids[0]} asked={asked} />}
    </dialog>
  );
}

export function StopDialog() {
  const asked = stopping.value;
  return asked && <Box asked={asked} />;
}
