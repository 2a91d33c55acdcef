// Small things that every view uses: statuses, times, ids, buttons that copy, empty and error states.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Operation, OperationStatus } from '../api/types.ts';
import { age, clock, duration, plain, relative, short_id, shown, whole_seconds } from '../model/format.ts';
import { ask_for } from '../state/asking.ts';
import { now } from '../state/clock.ts';

export function StatusBadge({ status }: { status: OperationStatus | string }) {
  return (
    <span class={`badge st-${status}`}>
      <i aria-hidden="true" />
      {plain(status)}
    </span>
  );
}

export function Dot({ status }: { status: string }) {
  return <span class={`dot st-${status}`} role="img" aria-label={plain(status)} title={plain(status)} />;
}

const time_words = { relative, clock, age };

/** A time as people say it; the exact one on hover. */
export function When({ at, how = 'relative' }: { at: string | null | undefined; how?: keyof typeof time_words }) {
  if (!at) return <span class="faint">–</span>;
  return <time dateTime={at} title={`${new Date(at).toLocaleString()} · ${at}`}>{time_words[how](at, now.value)}</time>;
}

/** How long it has lived, or did; the older the warmer. */
export function Elapsed({ op }: { op: Operation }) {
  const from = Date.parse(op.started_at ?? op.created_at);
  const ms = (op.ended_at ? Date.parse(op.ended_at) : now.value) - from;
  const warmth = op.ended_at ? '' : ms > 3_600_000 ? 'age-3' : ms > 600_000 ? 'age-2' : ms > 60_000 ? 'age-1' : '';
  return <time class={`num ${warmth}`} dateTime={op.started_at ?? op.created_at} title={`since ${op.started_at ?? op.created_at}`}>{(op.ended_at || ms < 10_000 ? duration : whole_seconds)(ms)}</time>;
}

export function Id({ id }: { id: string }) {
  return <code class="id" title={id}>{short_id(id)}</code>;
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, set_done] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      set_done(true);
      setTimeout(() => set_done(false), 1500);
    } catch {
      await ask_for({ title: 'Copy it by hand', words: 'The browser gives its clipboard only to pages of https or of this machine.', line: label, value: text, most_length: text.length, yes: 'I have it' });
    }
  };
  return <button type="button" class="button quiet" onClick={() => void copy()} title={text}>{done ? 'Copied' : label}</button>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><h2>{title}</h2><p>{children}</p></div>;
}

export function Trouble({ words, retry }: { words: string; retry?: () => void }) {
  if (!words) return null;
  return (
    <div class="trouble" role="alert">
      <span>{words}</span>
      {retry && <button type="button" class="button quiet" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return <div class="loading" role="status">Reading {what}…</div>;
}

export function Field({ name, children }: { name: string; children: ComponentChildren }) {
  return <div class="field"><dt>{name}</dt><dd>{children}</dd></div>;
}

export function Page({ title, actions, children, tall }: { title: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; tall?: boolean }) {
  return (
    <div class={tall ? 'page tall' : 'page'}>
      <header class="page-head"><h1>{title}</h1><div class="actions">{actions}</div></header>
      {children}
    </div>
  );
}

export function op_title(op: Operation): string {
  return shown(op.title || op.name || op.kind);
}
