// What a paused call waits for: whether it may begin, or the answer to what it asks. Shown wherever it is met.
import { useState } from 'preact/hooks';
import type { Operation } from '../api/types.ts';
import { revealed, shown, visible_json } from '../model/format.ts';
import { Shell } from '../parts/shell.tsx';
import { Field, Trouble } from '../parts/small.tsx';
import { use_decision } from '../state/decision.ts';
import { may } from '../state/session.ts';
import { QuestionForm } from './question.tsx';

/** The input as a person edits it: an object, or why it is none. */
function object_in(text: string): object | string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : 'The input must be one JSON object.';
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** How long an approval holds for this exact call in this scope. */
const hours = [['Only this time', 0], ['And for 8 hours', 8], ['And for 7 days', 7 * 24]] as const;

/** All of what would run: a command as such, and whatever else the call says beside it. */
export function Input({ of }: { of: unknown }) {
  const { command, ...others } = (of ?? {}) as Record<string, unknown>;
  if (typeof command !== 'string') return <pre class="command" tabIndex={0}>{visible_json(of)}</pre>;
  return (
    <>
      <Shell text={command} />
      {Object.keys(others).length > 0 && <dl class="fields input-fields">{Object.entries(others).map(([name, value]) => <Field key={name} name={shown(name)}><code>{typeof value === 'string' ? revealed(value) : visible_json(value, 0)}</code></Field>)}</dl>}
    </>
  );
}

function Permission({ op }: { op: Operation }) {
  const { note, trouble, set_trouble, decide: send } = use_decision(op.id);
  const [reason, set_reason] = useState('');
  const [hold, set_hold] = useState(0);
  /** The input as it is edited; null: it stays as it is. */
  const [edited, set_edited] = useState<string | null>(null);
  const decide = async (what: 'approve' | 'deny') => {
    const changed = what === 'approve' && edited !== null ? object_in(edited) : null;
    if (typeof changed === 'string') return set_trouble(changed);
    const body = { reason: reason || null, ...(changed ? { input: changed } : what === 'approve' && hold ? { always: { for_ms: hold * 3_600_000 } } : {}) };
    await (what === 'approve' ? send(what, body, 'Approving…', 'Approved') : send(what, body, 'Denying…', 'Denied'));
  };
  return (
    <div class="approval">
      {op.tool?.approval && <p class="faint">Rule: {op.tool.approval}</p>}
      {edited !== null ? <label class="stack"><span>Input</span><textarea class="code" aria-label="Input" rows={Math.min(16, edited.split('\n').length + 1)} spellcheck={false} value={edited} onInput={(e) => set_edited(e.currentTarget.value)} /></label> : <Input of={op.tool?.input} />}
      {may.decide.value && (
        <div class="approval-foot">
          <input aria-label="Reason" placeholder="Reason, if you like" maxLength={500} value={reason} onInput={(e) => set_reason(e.currentTarget.value)} />
          {op.tool?.approval && edited === null && <select aria-label="How long the approval holds" title="The same call of this agent, with the same input, in this scope" value={hold} onChange={(e) => set_hold(Number(e.currentTarget.value))}>{hours.map(([words, n]) => <option key={n} value={n}>{words}</option>)}</select>}
          {edited === null
            ? <button type="button" class="button quiet" disabled={note !== ''} title="Approve it with another input" onClick={() => set_edited(visible_json(op.tool?.input))}>Change…</button>
            : <button type="button" class="button quiet" disabled={note !== ''} onClick={() => (set_edited(null), set_trouble(''))}>Leave as it is</button>}
          <button type="button" class="button" disabled={note !== ''} onClick={() => void decide('deny')}>Deny</button>
          <button type="button" class="button primary" disabled={note !== ''} onClick={() => void decide('approve')}>{edited === null ? 'Approve' : 'Approve changed'}</button>
        </div>
      )}
      <div role="status">{note}</div>
      <Trouble words={trouble} />
    </div>
  );
}

/** A call may ask one question after the other: each has a form of its own. */
export function Approval({ op }: { op: Operation }) {
  const question = op.tool?.question;
  return question ? <QuestionForm key={question.id} op={op} question={question} /> : <Permission op={op} />;
}
