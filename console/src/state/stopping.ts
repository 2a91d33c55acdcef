// What is being stopped from this page: one press opens it, one confirmation sends it, until quelld has answered it.
import { computed, signal } from '@preact/signals';
import type { Cancel } from '../api/types.ts';
import type { StopTarget } from '../model/command.ts';
import { failed_words, left_words } from '../model/unanswered.ts';
import { uuid7 } from '../model/uuid.ts';
import { deliver, type Order } from './delivery.ts';

export interface StopChoice {
  reason: string;
  at_once: boolean;
  only_seen: boolean;
}

export interface Stopping {
  target: StopTarget;
  /** What was on the screen when it was opened; 0 = unknown. */
  seen_seq: number;
  /** sent: confirmed, and sent again by itself while `trouble` says why; told: quelld has taken some of it; failed: none, and nothing is sent. */
  phase: 'asked' | 'sent' | 'told' | 'failed';
  choice: StopChoice;
  ids: string[]; // of the cancels, chosen here, so that sending again stops nothing twice
  cancels: Cancel[];
  /** How many of `ids` quelld has not answered, while they are sent. */
  open: number;
  trouble: string;
}

/** What the dialog shows. */
export const stopping = signal<Stopping | null>(null);
/** Stops whose dialog was closed before quelld had answered them; each stays until somebody has seen its answer. */
export const aside = signal<readonly Stopping[]>([]);
/** Only this page knows of them: whoever leaves it must be told. */
export const has_unsent = computed(() => stopping.value?.phase === 'sent' || aside.value.some((s) => s.phase === 'sent'));
/** The highest seq that any view has shown. */
export const seen_seq = signal(0);

export function saw(seq: number): void {
  if (seq > seen_seq.value) seen_seq.value = seq;
}

/** What one has seen is not what the next one sees. */
export function forget_seen(): void {
  seen_seq.value = 0;
}

function ids_for(target: StopTarget): string[] {
  return target.what === 'operations' ? target.ids.map(() => uuid7()) : [uuid7()];
}

export function ask_to_stop(target: StopTarget): void {
  close_stop();
  stopping.value = {
    target, seen_seq: seen_seq.value, phase: 'asked', choice: { reason: '', at_once: false, only_seen: false }, ids: ids_for(target), cancels: [], open: 0, trouble: '',
  };
}

/** Closes the dialog. A stop that is under way goes on. */
export function close_stop(): void {
  const shown = stopping.value;
  stopping.value = null;
  if (shown?.phase === 'sent') aside.value = [...aside.value, shown];
}

export function forget_aside(one: Stopping): void {
  aside.value = aside.value.filter((s) => s.ids !== one.ids);
}

/** Shows it in the dialog again. */
export function show_aside(one: Stopping): void {
  forget_aside(one);
  close_stop();
  stopping.value = one;
}

/** The bodies of POST /v1/cancels. */
export function bodies_of(s: Stopping, choice: StopChoice): Order[] {
  const common = {
    reason: choice.reason || null, wait: 'fenced', ...(choice.at_once ? { grace_ms: 0 } : {}), ...(choice.only_seen && s.seen_seq ? { up_to_seq: s.seen_seq } : {}),
  };
  const { target } = s;
  if (target.what === 'operations') return target.ids.map((operation, i) => ({ id: s.ids[i]!, operation, ...common }));
  const id = s.ids[0]!;
  if (target.what === 'operation') return [{ id, operation: target.id, ...common }];
  if (target.what === 'scope') return [{ id, scope: target.scope, ...common }];
  if (target.what === 'owner') return [{ id, owner: target.owner, ...(target.scope ? { scope: target.scope } : {}), ...common }];
  return [{ id, everything: true, ...common }];
}

/** What ends the repeats of a stop, by its ids. */
const sending = new Map<string[], AbortController>();

/** Wherever it is shown by now. */
function change(ids: string[], fields: Partial<Stopping>): void {
  const put = (s: Stopping) => (s.ids === ids ? { ...s, ...fields } : s);
  if (stopping.value) stopping.value = put(stopping.value);
  if (aside.value.some((s) => s.ids === ids)) aside.value = aside.value.map(put);
}

/** Sends the stop that the dialog shows. Each repeat is the same body under the same id, whatever the page shows meanwhile. */
export async function send_stop(choice: StopChoice): Promise<void> {
  const asked = stopping.value;
  if (!asked || asked.phase === 'sent' || asked.phase === 'told') return;
  const { ids } = asked;
  const stop = new AbortController();
  sending.set(ids, stop);
  change(ids, { phase: 'sent', choice, open: ids.length, trouble: '' });
  const done = await deliver(bodies_of(asked, choice), stop.signal, (so_far) => change(ids, { cancels: so_far.cancels, open: so_far.open, trouble: so_far.trouble }));
  sending.delete(ids);
  const why = stop.signal.aborted ? String(stop.signal.reason) : '';
  if (done.cancels.length > 0) return change(ids, { phase: 'told', cancels: done.cancels, open: 0, trouble: left_words(done, ids.length, why) });
  // What may still arrive keeps its ids; the form can be changed, and what is sent then is another stop.
  change(ids, { phase: 'failed', ids: ids_for(asked.target), open: 0, trouble: failed_words(done, why) });
}

/** Ends the repeats: nothing more is sent. What was sent before may have arrived. */
export function give_up(one: Stopping): void {
  sending.get(one.ids)?.abort('Given up.');
}

/** Whoever confirmed them is not signed in any more: nothing is sent in another's name, and each unanswered stop says `why`, a sentence. */
export function leave_stops(why: string): void {
  close_stop();
  for (const one of sending.values()) one.abort(why);
}
