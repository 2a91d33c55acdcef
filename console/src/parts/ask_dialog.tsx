// The dialog of a question (state/asking.ts): a line to fill in, or yes and no. Enter says yes, Escape no.
import { useEffect, useRef, useState } from 'preact/hooks';
import { use_modal } from './modal.ts';
import { asked, leave_question, type Asked } from '../state/asking.ts';

function Form({ of }: { of: Asked }) {
  const [text, set_text] = useState(of.value ?? '');
  const is_empty = of.line !== undefined && !of.is_optional && !text.trim();
  const line = { value: text, maxLength: of.most_length ?? 500, onInput: (e: Event) => set_text((e.currentTarget as HTMLInputElement).value) };
  return (
    <form onSubmit={(e) => (e.preventDefault(), is_empty || of.answer(text.trim()))}>
      <p>{of.words}</p>
      {of.line !== undefined && <label class="stack">{of.line} {of.value?.includes('\n') ? <textarea rows={8} {...line} /> : <input {...line} />}</label>}
      <div class="dialog-foot">
        <span class="grow" />
        <button type="button" class="button" onClick={leave_question}>Leave it</button>
        <button type="submit" class={of.is_danger ? 'button danger' : 'button primary'} disabled={is_empty}>{of.yes}</button>
      </div>
    </form>
  );
}

function Box({ of }: { of: Asked }) {
  const box = useRef<HTMLDialogElement>(null);
  use_modal(box);
  useEffect(() => box.current!.querySelector<HTMLElement>('input, textarea, [type=submit]')?.focus(), []);
  return (
    <dialog ref={box} class="dialog ask" aria-labelledby="ask-title" onClose={() => of.answer(null)}>
      <h2 id="ask-title">{of.title}</h2>
      <Form of={of} />
    </dialog>
  );
}

/** Each question has a dialog of its own. */
export function AskDialog() {
  const of = asked.value;
  return of && <Box key={of.n} of={of} />;
}
