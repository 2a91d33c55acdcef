// A conversation as it grows: what is kept of it, and what the events of its turns add. Pure.
import type { ApiEvent, Message, ModelUsage, Operation } from '../api/types.ts';
import { is_terminal } from './tree.ts';

export interface ToolRun {
  call: string;
  name: string;
  input: unknown;
  operation: string | null;
  began_at: number;
  elapsed_ms: number | null; // null: it runs
  ok: boolean | null;
  note: string;
}

export interface LiveTurn {
  turn: string;
  agent: string;
  model: string;
  text: string;
  tools: ToolRun[];
  end: '' | 'complete' | 'aborted';
  reason: string;
  usage: ModelUsage | null;
}

interface TurnData {
  turn?: string;
  agent?: string;
  model?: string;
  offset?: number;
  text?: string | null;
  call?: string;
  name?: string;
  input?: unknown;
  operation?: string | null;
  elapsed_ms?: number;
  duration_ms?: number;
  timeout_ms?: number;
  ok?: boolean;
  cancelled?: boolean;
  reason?: string;
  stop_reason?: string;
  still_running?: string[];
  usage?: ModelUsage;
  tree?: ModelUsage; // of a turn with all its sub-agents so far
}

/** An answer can be long, and each of its words asks this: most texts have no character of two units. */
const has_pairs = (text: string) => /[\ud800-\udbff]/.test(text);
const points_of = (text: string) => (has_pairs(text) ? [...text].length : text.length);
const first_points = (text: string, count: number) => (has_pairs(text) ? [...text].slice(0, count).join('') : text.slice(0, count));

/** Why an answer that ended by itself is less than was wanted; '' = it is whole. */
export function why_less(stop_reason: string | null | undefined): string {
  if (stop_reason === 'length') return 'cut: it reached the limit of one answer';
  if (stop_reason === 'content_filter') return 'cut by the content filter of the provider';
  return stop_reason === 'refusal' ? 'the model refused to answer' : '';
}

/** Text at an offset in code points: what comes twice is not shown twice. */
export function splice(text: string, offset: number, more: string): string {
  return offset >= points_of(text) ? text + more : first_points(text, offset) + more;
}

/** True if words before these have not been heard. */
export function leaves_gap(turns: ReadonlyMap<string, LiveTurn>, event: ApiEvent): boolean {
  const data = (event.data ?? {}) as TurnData;
  const turn = turns.get(turn_of(event, turns) ?? '');
  return event.type === 'text_delta' && turn !== undefined && (data.offset ?? 0) > points_of(turn.text);
}

/** The turn that an event belongs to: the operation itself, or, for what a tool says, its root. */
function turn_of(event: ApiEvent, turns: ReadonlyMap<string, LiveTurn>): string | null {
  if (event.operation && turns.has(event.operation)) return event.operation;
  return event.root && turns.has(event.root) ? event.root : event.operation;
}

export function apply_turn_event(turns: Map<string, LiveTurn>, event: ApiEvent): void {
  const data = (event.data ?? {}) as TurnData;
  const at = Date.parse(event.at);
  const id = event.type === 'turn_start' ? (data.turn ?? event.operation) : turn_of(event, turns);
  if (!id) return;
  if (event.type === 'turn_start' && !turns.has(id)) turns.set(id, { turn: id, agent: data.agent ?? '', model: data.model ?? '', text: '', tools: [], end: '', reason: '', usage: null });
  const turn = turns.get(id);
  if (!turn) return;
  const tool = turn.tools.find((t) => t.call === data.call);
  switch (event.type) {
    case 'text_delta':
      turn.text = splice(turn.text, data.offset ?? turn.text.length, data.text ?? '');
      break;
    case 'turn_resumed': // after a restart: what stood behind the offset is said anew
      turn.text = first_points(turn.text, data.offset ?? 0);
      break;
    case 'tool_start':
      if (!tool) turn.tools.push({ call: data.call ?? '', name: data.name ?? '', input: data.input, operation: data.operation ?? null, began_at: at, elapsed_ms: null, ok: null, note: '' });
      break;
    case 'tool_timeout':
      if (tool) tool.note = `timed out after ${data.timeout_ms} ms`;
      break;
    case 'tool_result':
      if (tool) Object.assign(tool, { elapsed_ms: data.duration_ms ?? at - tool.began_at, ok: data.ok ?? false, note: data.cancelled ? 'cancelled' : tool.note });
      break;
    case 'model_usage':
      turn.usage = data.tree ?? turn.usage;
      break;
    case 'turn_abort':
      turn.end = 'aborted';
      turn.reason = `${data.reason ?? ''}${data.still_running?.length ? `, and ${data.still_running.length} in the background go on` : ''}`;
      break;
    case 'turn_complete':
      turn.end = 'complete';
      turn.reason = why_less(data.stop_reason);
      if (data.text) turn.text = data.text;
      break;
  }
}

const most_heard = 100;

/** Of turns that were heard and have ended, the oldest are forgotten: their words are in what is kept, and a conversation may be open all day. */
export function forget_old_turns(turns: Map<string, LiveTurn>, most = most_heard): void {
  for (const [id, turn] of turns) {
    if (turns.size <= most) return;
    if (turn.end !== '') turns.delete(id);
  }
}

export type CallState = 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** How the calls of kept answers stand, by their ids: one without a result runs, or waits for somebody (`asks`). */
export function call_states(kept: readonly Message[], asks: readonly Operation[]): Map<string, CallState> {
  const states = new Map<string, CallState>();
  for (const { tool_calls } of kept) for (const { call } of tool_calls) states.set(call ?? '', 'running');
  for (const op of asks) if (op.tool?.call) states.set(op.tool.call, 'paused');
  for (const { results } of kept) for (const { call, ok, cancelled } of results) states.set(call ?? '', cancelled ? 'cancelled' : ok ? 'completed' : 'failed');
  return states;
}

/** Without what the kept messages of the turn say already: its words so far, and its calls. Words that they do not begin with stay. */
function not_kept_yet(turn: LiveTurn, kept: readonly Message[]): LiveTurn {
  const mine = kept.filter((m) => m.role === 'assistant' && m.turn === turn.turn);
  if (mine.length === 0) return turn;
  let { text } = turn;
  for (const m of mine) if (m.text && text.trimStart().startsWith(m.text)) text = text.trimStart().slice(m.text.length).trimStart();
  const calls = new Set(mine.flatMap((m) => m.tool_calls.map((one) => one.call)));
  return { ...turn, text, tools: turn.tools.filter((tool) => !calls.has(tool.call)) };
}

/** Ended turns whose end was not heard are shown as their rows say; a turn whose words are in the kept history needs no live one. */
export function still_live(turns: ReadonlyMap<string, LiveTurn>, kept: readonly Message[], rows: readonly Operation[]): LiveTurn[] {
  const told = new Set(kept.filter((m) => m.role === 'assistant').map((m) => m.turn));
  const ended = new Map(rows.filter((op) => is_terminal(op.status)).map((op) => [op.id, op]));
  const as_kept = (turn: LiveTurn): LiveTurn => {
    const row = ended.get(turn.turn);
    if (turn.end !== '' || !row) return turn;
    return row.status === 'completed' ? { ...turn, end: 'complete', reason: why_less(row.turn?.stop_reason) } : { ...turn, end: 'aborted', reason: row.status };
  };
  return [...turns.values()].map(as_kept).filter((t) => t.end === '' || !told.has(t.turn)).map((t) => (t.end === '' ? not_kept_yet(t, kept) : t));
}
