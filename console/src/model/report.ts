// The words of a stop. The word "stopped" is said here alone, and only of a report that is proven. Pure.
import type { Cancel, Report, Unproven } from '../api/types.ts';
import { count, duration, plain, shown } from './format.ts';

export type Verdict = 'proven' | 'unproven' | 'under_way' | 'nothing';

export function verdict(cancel: Cancel): Verdict {
  if (cancel.outcome === 'unknown_id' || cancel.report.operations === 0) return 'nothing';
  if (cancel.status !== 'settled') return 'under_way';
  return cancel.report.proven ? 'proven' : 'unproven';
}

/** What was to be stopped, in words. `title`: of its one operation; '' = not known. */
export function target_words(cancel: Cancel, title = ''): string {
  const { target } = cancel;
  if (target.everything) return 'everything';
  if (target.owner) return `all of ${target.owner}${target.scope ? ` in ${target.scope}` : ''}`;
  if (target.scope) return `scope ${target.scope}`;
  const by_id = `operation …${(target.operation ?? '').slice(-8)}`;
  return title ? `${shown(title)} (${by_id})` : by_id;
}

export function headline(cancel: Cancel): string {
  const { report } = cancel;
  switch (verdict(cancel)) {
    case 'nothing':
      if (cancel.outcome === 'already_finished') return 'It had finished before the stop';
      if (cancel.outcome === 'unknown_id') return 'Nothing of this id is known; it may not start any more';
      return 'Nothing was live';
    case 'proven':
      return `Stopped: ${count(report.operations, 'operation')}, each with proof`;
    case 'unproven':
      return `Settled without full proof: ${count(unconfirmed(report), 'operation')} nobody can vouch for`;
    case 'under_way':
      return `Stopping: ${proven_count(report).toLocaleString('en')} of ${count(report.operations, 'operation')} proven`;
  }
}

/** What has ended is proven only if nobody had to give up on it, or to vouch for it. */
export function proven_count(report: Report): number {
  return Math.max(0, report.operations - report.unproven_total - unconfirmed(report));
}

export function unconfirmed(report: Report): number {
  return report.receipts.unconfirmed + report.receipts.declared;
}

const reasons: Record<Unproven['why'], string> = {
  signal_in_flight: 'its signal is on the way',
  in_grace: 'it has been asked and may still tidy up',
  kill_in_flight: 'the kill is on the way',
  stuck_in_kernel: 'a process hangs in the kernel and cannot die yet',
  no_permission: 'the guardian may not signal it',
  worker_unreachable: 'its worker is silent',
  awaiting_owner: 'its owner has been told and has not answered',
};
const actions: Record<Unproven['next']['action'], string> = {
  signal: 'it is signalled',
  kill: 'it is killed',
  kill_again: 'it is killed again',
  lease_expiry: 'its lease runs out, and the worker kills it by itself',
  settle_unconfirmed: 'it is settled as unconfirmed',
  resolve: 'an admin must look at it and declare it dead',
};

export function why_words(one: Unproven): string {
  return reasons[one.why] ?? plain(one.why);
}

/** What comes next, and when. `now` = milliseconds since 1970. */
export function next_words(one: Unproven, now: number): string {
  const action = actions[one.next.action] ?? plain(one.next.action);
  if (!one.next.at) return action;
  const left = Date.parse(one.next.at) - now;
  return left > 0 ? `${action} in ${duration(left)}` : `${action} any moment`;
}

const receipts: Record<keyof Report['receipts'], string> = {
  cooperative: 'ended by itself when asked',
  terminated: 'ended by the signal',
  killed: 'killed',
  never_started: 'never started',
  already_finished: 'had finished already',
  unconfirmed: 'unconfirmed: nobody knows',
  declared: 'declared dead by an admin',
};
const proofs: Record<keyof Report['proofs'], string> = {
  exit_status: 'exit status collected',
  cgroup_empty: 'control group empty',
  pidns_gone: 'PID namespace gone',
  group_empty: 'process group empty',
  lease_expired: 'lease ran out',
  never_ran: 'never ran',
  connection_closed: 'connection closed',
  internal: 'ended inside quelld',
  reported: 'reported by its owner',
  none: 'no proof',
};

export interface Share {
  key: string;
  words: string;
  count: number;
}

function shares<K extends string>(counts: Record<K, number>, words: Record<K, string>): Share[] {
  const found: Share[] = [];
  for (const [key, n] of Object.entries(counts) as [K, number][]) if (n > 0) found.push({ key, words: words[key] ?? plain(key), count: n });
  return found.sort((a, b) => b.count - a.count);
}

export function receipt_shares(report: Report): Share[] {
  return shares(report.receipts, receipts);
}

export function proof_shares(report: Report): Share[] {
  return shares(report.proofs, proofs);
}

/** `37 operations on 4 workers, 2 of them external`. `is_part`: of more operations than `external` was counted among. */
export function preview_words(report: Report, external: number, is_part = false): string {
  if (report.operations === 0) return 'Nothing is live there now';
  const where = report.workers.length ? ` on ${count(report.workers.length, 'worker')}` : '';
  const foreign = external ? `, ${is_part ? 'at least ' : ''}${external.toLocaleString('en')} of them external` : is_part ? '; whether some are external is not counted' : '';
  return `${count(report.operations, 'operation')}${where}${foreign}`;
}
