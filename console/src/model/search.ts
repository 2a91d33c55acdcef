// What is typed in a search box: `kind:task status:running worker:w1 some words`. Pure.
import type { Operation } from '../api/types.ts';
import { is_terminal } from './tree.ts';

const fields = ['scope', 'kind', 'status', 'name', 'owner', 'label', 'worker', 'parent', 'root', 'cancel', 'error', 'since', 'until', 'ended'] as const;
export type Field = (typeof fields)[number];

export interface Search {
  fields: Map<Field, string[]>;
  words: string[]; // in lower case
}

/** `field:value` as it is typed: with quotes around what has spaces or quotes, and `\\` before a quote in it. */
export function term(field: Field, value: string): string {
  return `${field}:${/[\s"]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value}`;
}

/** Without its quotes. */
function unquoted(part: string): string {
  return part.replace(/"((?:\\["\\]|[^"])*)"/g, (_, inner: string) => inner.replace(/\\(["\\])/g, '$1'));
}

export function parse_search(text: string): Search {
  const search: Search = { fields: new Map(), words: [] };
  for (const part of text.match(/(?:[^\s"]+|"(?:\\["\\]|[^"])*")+/g) ?? []) {
    const bare = unquoted(part);
    const colon = bare.indexOf(':');
    const field = fields.find((name) => name === bare.slice(0, colon));
    if (field && colon < bare.length - 1) search.fields.set(field, [...(search.fields.get(field) ?? []), bare.slice(colon + 1)]);
    else if (bare) search.words.push(bare.toLowerCase());
  }
  return search;
}

export function is_empty(search: Search): boolean {
  return search.fields.size === 0 && search.words.length === 0;
}

/** Whose work it is that is searched for, if it is all of it, or all in one scope. `around`: the scope that the page shows. */
export function owner_of(search: Search, around: string): { owner: string; scope: string } | null {
  const owners = search.fields.get('owner') ?? [], scopes = [...(around ? [around] : []), ...(search.fields.get('scope') ?? [])];
  const is_all = search.words.length === 0 && [...search.fields.keys()].every((field) => field === 'owner' || field === 'scope');
  return is_all && owners.length === 1 && scopes.length <= 1 ? { owner: owners[0]!, scope: scopes[0] ?? '' } : null;
}

/** `1h`, `2d` before `now`, or an instant as it is. */
export function instant_of(text: string, now: number): string {
  const span = /^(\d+)(m|h|d)$/.exec(text);
  if (!span) return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00.000Z` : text;
  const size = { m: 60_000, h: 3_600_000, d: 86_400_000 }[span[2] as 'm' | 'h' | 'd'];
  const then = new Date(now - Number(span[1]) * size);
  return Number.isNaN(then.getTime()) ? text : then.toISOString(); // before all calendars: quelld says what is wrong with it
}

/** The query of GET /v1/operations. `otherwise`: the status if none is asked for. */
export function request_of(search: Search, otherwise: 'live' | 'ended', now: number): URLSearchParams {
  const query = new URLSearchParams();
  for (const [field, values] of search.fields) {
    if (field === 'ended') query.append('ended_since', values.map((value) => instant_of(value, now)).sort()[0]!);
    else for (const value of values) query.append(field, field === 'since' || field === 'until' ? instant_of(value, now) : value);
  }
  if (!search.fields.has('status')) query.append('status', otherwise);
  return query;
}

/** What the API does not filter: free words. */
export function matches(search: Search, op: Operation): boolean {
  if (search.words.length === 0) return true;
  const labels = Object.entries(op.labels).map(([k, v]) => `${k}=${v}`).join(' ');
  const text = `${op.title} ${op.name} ${op.scope} ${op.id} ${op.worker ?? ''} ${op.owner.id} ${op.owner.name ?? ''} ${labels} ${op.error?.code ?? ''} ${op.error?.message ?? ''} ${op.task?.command.join(' ') ?? ''}`.toLowerCase();
  return search.words.every((word) => text.includes(word));
}

const tests: Partial<Record<Exclude<Field, 'cancel'>, (op: Operation, value: string, now: number) => boolean>> = {
  scope: (op, value) => op.scope === value || op.scope.startsWith(`${value}/`),
  kind: (op, value) => op.kind === value,
  status: (op, value) => (value === 'live' || value === 'ended' ? is_terminal(op.status) === (value === 'ended') : op.status === value),
  name: (op, value) => op.name === value,
  owner: (op, value) => op.owner.id === value,
  label: (op, value) => Object.entries(op.labels).some(([k, v]) => `${k}=${v}` === value),
  worker: (op, value) => op.worker === value,
  parent: (op, value) => op.parent === value,
  root: (op, value) => op.root === value,
  error: (op, value) => op.error?.code === value,
  ended: (op, value, now) => op.ended_at !== null && Date.parse(op.ended_at) >= Date.parse(instant_of(value, now)),
  since: (op, value, now) => Date.parse(op.created_at) >= Date.parse(instant_of(value, now)),
  until: (op, value, now) => Date.parse(op.created_at) < Date.parse(instant_of(value, now)),
};

/**
 * Whether an operation belongs to what `request_of` asks for: values of one field are OR, fields are AND.
 * It names only one of the cancels that covered it, so one that the server has listed (`is_listed`) is believed to be covered.
 */
export function belongs(search: Search, op: Operation, otherwise: 'live' | 'ended', now: number, is_listed: boolean): boolean {
  const fields = new Map(search.fields);
  const cancels = fields.get('cancel');
  if (cancels && !is_listed && !cancels.includes(op.stop?.cancel ?? '')) return false;
  fields.delete('cancel');
  if (!fields.has('status')) fields.set('status', [otherwise]);
  return [...fields].every(([field, values]) => {
    const holds = field === 'cancel' ? undefined : tests[field];
    return !holds || values.some((value) => holds(op, value, now));
  }) && matches(search, op);
}
