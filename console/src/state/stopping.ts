// What is being stopped from this page: one press opens it, one confirmation sends it.
import { signal } from '@preact/signals';
import { post, words_of } from '../api/client.ts';
import { a_few_at_once, with_room } from '../api/connections.ts';
import type { Cancel } from '../api/types.ts';
import type { StopTarget } from '../model/command.ts';
import { uuid7 } from '../model/uuid.ts';

export interface Stopping {
  target: StopTarget;
  /** What was on the screen when it was opened; 0 = unknown. */
  seen_seq: number;
  phase: 'asked' | 'sent' | 'told' | 'failed';
  ids: string[]; // of the cancels, chosen here, so that sending again stops nothing twice
  cancels: Cancel[];
  trouble: string;
}

export interface StopChoice {
  reason: string;
  at_once: boolean;
  only_seen: boolean;
}

const patience_ms = 15_000;
const most_at_once = 6; // as many as a browser sends; each one's patience begins when it is sent
const no_answer = 'No answer for 15 s. Try again: it is the same stop, and nothing is stopped twice.';

export const stopping = signal<Stopping | null>(null);
/** The highest seq that any view has shown. */
export const seen_seq = signal(0);

export function saw(seq: number): void {
  if (seq > seen_seq.value) seen_seq.value = seq;
}

export function ask_to_stop(target: StopTarget): void {
  const ids = target.what === 'operations' ? target.ids.map(() => uuid7()) : [uuid7()];
  stopping.value = { target, seen_seq: seen_seq.value, phase: 'asked', ids, cancels: [], trouble: '' };
}

/** The bodies of POST /v1/cancels. */
export function bodies_of(s: Stopping, choice: StopChoice): object[] {
  const common = {
    reason: choice.reason || null, wait: 'fenced', ...(choice.at_once ? { grace_ms: 0 } : {}), ...(choice.only_seen && s.seen_seq ? { up_to_seq: s.seen_seq } : {}),
  };
  const { target } = s;
  if (target.what === 'operations') return target.ids.map((operation, i) => ({ id: s.ids[i], operation, ...common }));
  const id = s.ids[0];
  if (target.what === 'operation') return [{ id, operation: target.id, ...common }];
  if (target.what === 'scope') return [{ id, scope: target.scope, ...common }];
  if (target.what === 'owner') return [{ id, owner: target.owner, ...(target.scope ? { scope: target.scope } : {}), ...common }];
  return [{ id, everything: true, ...common }];
}

export async function send_stop(choice: StopChoice): Promise<void> {
  const asked = stopping.value;
  if (!asked || asked.phase === 'sent') return;
  stopping.value = { ...asked, phase: 'sent', trouble: '' };
  try {
    const order = (body: object) => post<Cancel>('/v1/cancels', body, { priority: 'high', signal: AbortSignal.timeout(patience_ms) });
    const cancels = await with_room(() => a_few_at_once(bodies_of(asked, choice), most_at_once, order));
    if (stopping.value?.ids === asked.ids) stopping.value = { ...stopping.value, phase: 'told', cancels };
  } catch (error) {
    if (stopping.value?.ids === asked.ids) stopping.value = { ...stopping.value, phase: 'failed', trouble: error instanceof DOMException ? no_answer : words_of(error) };
  }
}
