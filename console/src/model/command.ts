// Operations and stops as `quell` commands to copy. Pure.
import type { Operation } from '../api/types.ts';
import { shown } from './format.ts';

export type StopTarget =
  | { what: 'operation'; id: string; title: string }
  | { what: 'operations'; ids: string[] }
  | { what: 'scope'; scope: string }
  | { what: 'owner'; owner: string; scope: string }
  | { what: 'everything' };

/** A terminal takes these for keys when they are pasted: ^C ends the line before, and what follows is a command of its own. */
// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f]/;
const octal = (byte: number) => `\\${byte.toString(8).padStart(3, '0')}`;

/** A word for a POSIX shell; with control characters in it, in the words of POSIX 2024 ($'…'), of bash, zsh and ksh. */
export function quoted(word: string): string {
  if (controls.test(word)) return `$'${[...word].map((one) => (one === "'" || one === '\\' ? `\\${one}` : controls.test(one) ? [...new TextEncoder().encode(one)].map(octal).join('') : one)).join('')}'`;
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** As it is typed in a shell. */
export function command_line(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

const shortest_lease_ms = 1000; // that a command may ask for

/**
 * Another task like this one. What was chosen for it (worker, lease, level of containment) is named as it is: the API does not say what was asked for.
 * Other work is begun by its owner, so its command shows it.
 */
export function run_command(op: Operation): string {
  if (op.kind !== 'task' || !op.task) return `quell show ${op.id}`;
  const { task } = op;
  const words = ['quell', 'run', '--scope', quoted(op.scope)];
  if (op.title) words.push('--title', quoted(op.title));
  for (const [key, value] of Object.entries(op.labels)) words.push('--label', quoted(`${key}=${value}`));
  for (const [key, value] of Object.entries(task.on)) words.push('--on', quoted(`${key}=${value}`));
  if (op.worker) words.push('--worker', quoted(op.worker));
  if (task.slots !== 1) words.push('--slots', String(task.slots));
  if (op.timeout_ms) words.push('--timeout', `${op.timeout_ms}ms`);
  if (op.grace_ms !== 2000) words.push('--grace', `${op.grace_ms}ms`);
  if (task.lease_ms >= shortest_lease_ms) words.push('--lease', `${task.lease_ms}ms`);
  if (task.stop_signal !== 'TERM') words.push('--stop-signal', task.stop_signal);
  if (task.containment) words.push('--containment', task.containment);
  if (op.on_parent_end !== 'cancel') words.push('--on-parent-end', op.on_parent_end);
  if (task.on_leader_exit !== 'wait') words.push('--on-leader-exit', task.on_leader_exit);
  if (op.supersede) words.push('--supersede', quoted(op.supersede));
  if (task.memory_bytes) words.push('--memory', String(task.memory_bytes));
  if (task.pids) words.push('--pids', String(task.pids));
  if (task.cpu) words.push('--cpu', String(task.cpu));
  if (task.user) words.push('--user', quoted(task.user));
  if (task.cwd) words.push('--cwd', quoted(task.cwd));
  if (task.pty) words.push('--pty');
  if (task.stdin) words.push('--input');
  for (const name of task.env_names) words.push('--env', quoted(name));
  for (const name of task.secret_names) words.push('--secret', quoted(`${name}=FILE`));
  return [...words, '--', command_line(task.command)].join(' ');
}

function target_flags(target: StopTarget): string {
  switch (target.what) {
    case 'operation':
      return target.id;
    case 'operations':
      return target.ids.join(' ');
    case 'scope':
      return `--scope ${quoted(target.scope)}`;
    case 'owner':
      return `--owner ${quoted(target.owner)}${target.scope ? ` --scope ${quoted(target.scope)}` : ''}`;
    case 'everything':
      return '--everything --yes';
  }
}

/** The same stop, as it was chosen; `seen_seq` is the number up to which the page had shown operations. */
export function stop_command(target: StopTarget, choice: { reason: string; at_once: boolean; only_seen: boolean }, seen_seq: number): string {
  return ['quell cancel', target_flags(target), ...(choice.reason.trim() ? ['--reason', quoted(choice.reason)] : []), ...(choice.at_once ? ['--kill'] : []), ...(choice.only_seen && seen_seq ? ['--up-to-seq', seen_seq] : [])].join(' ');
}

export function target_name(target: StopTarget): string {
  switch (target.what) {
    case 'operation':
      return shown(target.title) || `operation …${target.id.slice(-8)}`;
    case 'operations':
      return `${target.ids.length} chosen operations`;
    case 'scope':
      return `scope ${shown(target.scope)}`;
    case 'owner':
      return shown(`all of ${target.owner}${target.scope ? ` in ${target.scope}` : ''}`);
    case 'everything':
      return 'everything that you may see';
  }
}
