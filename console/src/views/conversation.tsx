// A conversation: what was said, what is being said, the tools that run, what waits, and the stop.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { get, post, words_of } from '../api/client.ts';
import { read_newest } from '../api/pages.ts';
import type { Message, MessageDecision, Operation, Summary } from '../api/types.ts';
import { call_states, still_live, why_less, type CallState, type LiveTurn, type ToolRun } from '../model/conversation.ts';
import { money, usage_of, usage_words } from '../model/cost.ts';
import { message_of, rest_of, unanswered_words, type Outgoing } from '../model/draft.ts';
import { count, duration, revealed, shown, visible_json } from '../model/format.ts';
import { here_queries, what_is_here } from '../model/here.ts';
import { asks_words } from '../model/needs.ts';
import { link, operation_link } from '../model/route.ts';
import { uuid7 } from '../model/uuid.ts';
import { use_end_of } from '../parts/follow.ts';
import { Markdown } from '../parts/markdown.tsx';
import { Dot, Elapsed, Empty, Loading, Page, Trouble, When } from '../parts/small.tsx';
import { now } from '../state/clock.ts';
import { is_refusal, may_have_arrived, why_unanswered } from '../state/delivery.ts';
import { use_live_turns } from '../state/live_turns.ts';
import { use_one_at_a_time } from '../state/once.ts';
import { use_resource } from '../state/resource.ts';
import { go, route } from '../state/router.ts';
import { is_within, may, session } from '../state/session.ts';
import { ask_to_stop, saw } from '../state/stopping.ts';
import { Approval } from './approval.tsx';
import { HistoryActions } from './history.tsx';
import { MessageActions } from './message_actions.tsx';

function input_words(input: unknown): string {
  const command = (input as { command?: unknown } | null)?.command;
  return typeof command === 'string' ? revealed(command) : visible_json(input, 0);
}

function Tool({ tool }: { tool: ToolRun }) {
  const state = tool.ok === null ? 'running' : tool.ok ? 'completed' : tool.note === 'cancelled' ? 'cancelled' : 'failed';
  return (
    <div class={`tool st-${state}`}>
      <i aria-hidden="true" />
      {tool.operation ? <a href={operation_link(tool.operation)}>{tool.name}</a> : <b>{tool.name}</b>}
      <code>{input_words(tool.input)}</code>
      <span class="num faint">{duration(tool.elapsed_ms ?? Math.max(0, now.value - tool.began_at))}</span>
      {tool.note && <span class="faint">{tool.note}</span>}
    </div>
  );
}

function Live({ turn }: { turn: LiveTurn }) {
  return (
    <article class="message of-assistant" aria-live="polite" aria-busy={turn.end === ''}>
      <header><b>{turn.agent || 'assistant'}</b> <span class="faint">{turn.model}</span>{turn.end === 'aborted' && <span class="tone-stop"> broken off: {turn.reason}</span>}{turn.end === 'complete' && turn.reason && <span class="tone-stop"> {turn.reason}</span>}{turn.usage && <span class="faint num"> {usage_words(turn.usage)}</span>}</header>
      {turn.tools.map((tool) => <Tool key={tool.call} tool={tool} />)}
      <Markdown text={turn.text} is_written={turn.end === ''} />
    </article>
  );
}

/** Stands for what is older, or says that nothing of it is read any more. */
function SummaryRow({ message, summary }: { message: Message; summary: Summary }) {
  const words = summary.clear ? 'Cleared: nothing above is read any more' : `Summary of ${count(summary.messages, 'message')}, read in their place`;
  return (
    <article class="message of-summary">
      <header><b>{words}</b> <span class="faint"><When at={message.at} how="clock" /></span></header>
      {message.text && <details><summary>What it says</summary><Markdown text={message.text} /></details>}
    </article>
  );
}

/** `used`: of the turn that ends with this message. `is_gone`: no longer read by the model. `runs`: the newest calls, by their operations. */
function Kept({ message, is_gone, used, calls, runs, actions }: { message: Message; is_gone: boolean; used: Operation | undefined; calls: ReadonlyMap<string, CallState>; runs: ReadonlyMap<string, Operation>; actions: ComponentChildren }) {
  const { summary } = message;
  if (message.role === 'tool' && message.results.length === 0 && !message.text) return null; // the results of calls that still run
  if (summary) return <SummaryRow message={message} summary={summary} />;
  const usage = used && usage_of(used);
  const less = why_less(used?.turn?.stop_reason);
  const who = message.role === 'assistant' ? 'assistant' : message.role === 'tool' ? 'tools' : message.author?.name || message.author?.id || 'user';
  return (
    <article class={`message of-${message.role}${is_gone ? ' discarded' : ''}`}>
      <header><b>{who}</b> <span class="faint"><When at={message.at} how="clock" /></span>{message.interrupted && <span class="tone-stop"> interrupted</span>}{less && <span class="tone-stop"> {less}</span>}{is_gone && <span class="faint"> not part of the conversation</span>}{usage && <a class="faint num" href={operation_link(used.id)} title="The turn, with its sub-agents">{usage_words(usage)}</a>}</header>
      {message.text && (message.role === 'assistant' ? <Markdown text={message.text} /> : <p class="said">{message.text}</p>)}
      {message.tool_calls.map((c) => {
        const run = runs.get(c.operation ?? '');
        return <div key={c.call} class="tool"><Dot status={calls.get(c.call ?? '') ?? 'running'} />{c.operation ? <a href={operation_link(c.operation)}>{c.name}</a> : <b>{c.name}</b>}<code>{input_words(c.input)}</code>{run && <span class="faint"><Elapsed op={run} /></span>}</div>;
      })}
      {message.results.map((r) => <details key={r.call}><summary>{r.name} {r.cancelled ? 'was cancelled' : r.ok ? 'answered' : 'failed'}</summary><pre class="json" tabIndex={0}>{typeof r.result === 'string' ? r.result : visible_json(r.result)}</pre></details>)}
      {actions}
    </article>
  );
}

/** What a message does while an answer is written. */
const during_turn_choices = [['Waits for its turn', 'queue'], ['Is told to the running answer', 'steer'], ['Stops the running answer', 'supersede'], ['Answers what it asks', 'answer']] as const;

const manner_words = { steer: 'Told before its next step', supersede: 'The running answer is being stopped', answer: 'Taken as the answer to its question' };

function decision_words(d: MessageDecision): string {
  if (d.duplicate) return 'It had arrived; it was taken once';
  if (d.decision === 'cancel') return `Taken as a stop: ${d.cancel?.operations ?? 0} operations`;
  if (d.decision === 'ignored') return `Not answered: ${d.why.replaceAll('_', ' ')}`;
  if (d.during_turn) return manner_words[d.during_turn.manner];
  return d.turn?.position ? `Waits behind ${d.turn.position}` : '';
}

function Say({ scope, is_running, said }: { scope: string; is_running: boolean; said: () => void }) {
  const [during_turn, set_during_turn] = useState<string>('queue');
  const [text, set_text] = useState('');
  const [note, set_note] = useState('');
  const [trouble, set_trouble] = useState('');
  const { is_busy, once } = use_one_at_a_time();
  const unanswered = useRef<Outgoing | null>(null);
  const say = () => once(async () => {
    const message = message_of(text, during_turn, unanswered.current, uuid7);
    if (!message) return;
    const author = session.value!.owner;
    try {
      const d = await post<MessageDecision>('/v1/messages', { id: message.id, scope, text: message.text, author, on_disconnect: 'continue', ...(is_running ? { during_turn: message.manner } : {}) });
      unanswered.current = null;
      set_note(decision_words(d));
      set_text((now) => rest_of(now, message.text));
      set_trouble('');
      said();
    } catch (error) {
      unanswered.current = is_refusal(error) ? null : message;
      set_trouble(may_have_arrived(error) ? unanswered_words(why_unanswered(error)) : words_of(error));
    }
  });
  return (
    <form class="say" onSubmit={(e) => (e.preventDefault(), void say())}>
      <Trouble words={trouble} />
      <textarea aria-label="Message" placeholder={`Say something in ${scope}. Enter sends.`} rows={2} maxLength={65_536} value={text} onInput={(e) => set_text(e.currentTarget.value)} onKeyDown={(e) => e.key === 'Enter' && !e.shiftKey && (e.preventDefault(), void say())} />
      <div class="say-foot"><span class="faint" role="status">{note}</span><span class="grow" />{is_running && <select aria-label="While an answer is written" value={during_turn} onChange={(e) => set_during_turn(e.currentTarget.value)}>{during_turn_choices.map(([words, name]) => <option key={name} value={name}>{words}</option>)}</select>}<button type="submit" class="button primary" disabled={is_busy || !text.trim()}>{is_busy ? 'Sending…' : 'Send'}</button></div>
    </form>
  );
}

/** The seq of the last answer of each turn. */
function last_of_turns(messages: readonly Message[]): Map<string, number> {
  return new Map(messages.flatMap((m) => (m.turn && m.role === 'assistant' ? [[m.turn, m.seq] as const] : [])));
}

/** So many messages are read at first, and more with each press of Older. */
const page_size = 200;

/** So many live turns, waiting calls and summaries are read, those of the scopes below included. */
const most_here = 2000;

/** `newest`: the seq of what began last. `is_part`: there are more live turns than were read. */
async function read_here(scope: string): Promise<{ operations: Operation[]; newest: number; is_part: boolean }> {
  const paths = here_queries(scope);
  const read = (path: string) => read_newest<Operation>(path, 'operations', most_here);
  const last = get<{ operations: Operation[] }>(`/v1/operations?${new URLSearchParams({ scope, status: 'live', limit: '1' })}`);
  const [turns, asks, newest] = await Promise.all([read(paths.turns), read(paths.asks), last]);
  const summaries = what_is_here(scope, turns.rows).running ? [] : (await read(paths.summaries)).rows;
  return { operations: [...turns.rows, ...asks.rows, ...summaries], newest: newest.operations[0]?.seq ?? 0, is_part: turns.has_more };
}

function Talk({ scope }: { scope: string }) {
  const many = useRef(page_size);
  const [kept, reload] = use_resource(`messages ${scope}`, () => read_newest<Message>(`/v1/messages?${new URLSearchParams({ scope, order: 'desc' })}`, 'messages', many.current));
  const [waiting, reload_waiting] = use_resource(`talk ${scope}`, () => read_here(scope), { every_ms: 5000 });
  const [turn_rows, reload_turns] = use_resource(`turns ${scope}`, () => get<{ operations: Operation[] }>(`/v1/operations?${new URLSearchParams({ scope, kind: 'turn' })}&limit=200`));
  const [call_rows, reload_calls] = use_resource(`calls ${scope}`, () => get<{ operations: Operation[] }>(`/v1/operations?${new URLSearchParams({ scope, kind: 'tool_call' })}&limit=200`));
  const changed = () => (reload(), reload_waiting(), reload_turns(), reload_calls());
  const messages = [...(kept.value.value?.rows ?? [])].sort((a, b) => a.seq - b.seq);
  // What is shown here may be stopped as what was seen.
  saw(waiting.value.value?.newest ?? 0);
  const { running, queued, asks } = what_is_here(scope, waiting.value.value?.operations ?? []);
  const all_turns = (turn_rows.value.value?.operations ?? []).filter((op) => op.scope === scope);
  const runs = new Map((call_rows.value.value?.operations ?? []).map((op) => [op.id, op]));
  const last_words = last_of_turns(messages);
  // A request that is taken out takes its answer with it.
  const gone = new Set(messages.filter((m) => m.discarded).map((m) => m.turn ?? m.message));
  const cost = all_turns.reduce((sum, op) => sum + (usage_of(op)?.cost ?? 0), 0);
  const turns = use_live_turns(scope, running?.kind === 'turn' ? running.id : null, changed);
  const live = still_live(turns.value, messages, all_turns);
  const calls = call_states(messages, asks);
  const talk = useRef<HTMLDivElement>(null);
  const { is_away, to_end } = use_end_of(talk, `talk ${scope}`, messages[0]?.message ?? '');
  const newest = messages.at(-1)?.seq ?? 0;
  // An answer that is not read yet: what may be done names the newest message. One without words is not a message.
  const is_behind = live.some((turn) => turn.end === '' || (turn.end === 'complete' && turn.text !== ''));
  // Until it is read what lives here, nobody says that nothing does.
  const is_unknown = waiting.value.value === null || waiting.value.value.is_part;
  const is_busy = running !== undefined || queued.length > 0 || is_behind || is_unknown;
  return (
    <>
      <Trouble words={kept.value.trouble || waiting.value.trouble} retry={changed} />
      <div ref={talk} class="talk" role="log" aria-label={`Conversation in ${scope}`} tabIndex={0}>
        {kept.value.is_loading && messages.length === 0 && <Loading what="the conversation" />}
        {!kept.value.is_loading && !kept.value.trouble && messages.length === 0 && live.length === 0 && <Empty title="Nothing said yet">Whatever is said in {scope} appears here.</Empty>}
        {kept.value.value?.has_more && <p><button type="button" class="button quiet" onClick={() => ((many.current += page_size), reload())}>Older messages</button></p>}
        {messages.map((m) => <Kept key={m.message} message={m} is_gone={gone.has(m.turn ?? m.message)} used={last_words.get(m.turn ?? '') === m.seq && !live.some((turn) => turn.turn === m.turn) ? all_turns.find((op) => op.id === m.turn) : undefined} calls={calls} runs={runs} actions={<MessageActions scope={scope} message={m} newest={newest} is_busy={is_busy} changed={changed} />} />)}
        {live.map((t) => <Live key={t.turn} turn={t} />)}
        {asks.map((op) => <section key={op.id} class="card asks"><h2>{asks_words(op)}</h2><Approval op={op} /></section>)}
        {is_away && <button type="button" class="button to-newest" onClick={to_end}>To the newest</button>}
      </div>
      {(running || queued.length > 0) && (
        <div class="turn-bar">
          {running && <span>{running.status === 'cancelling' ? 'Being stopped, not proven yet' : `${running.kind === 'turn' ? 'Answering' : 'Writing a summary'} for ${duration(Math.max(0, now.value - Date.parse(running.started_at ?? running.created_at)))}`}</span>}
          {queued.length > 0 && <span class="faint">{queued.length} waiting</span>}
          <span class="grow" />
          {may.cancel.value && running && <button type="button" class="button danger" onClick={() => ask_to_stop({ what: 'operation', id: running.id, title: running.kind === 'turn' ? 'this answer' : 'this summary' })}>{running.kind === 'turn' ? 'Stop this answer…' : 'Stop this summary…'}</button>}
          {may.cancel.value && queued.length > 0 && <button type="button" class="button danger" onClick={() => ask_to_stop({ what: 'scope', scope })}>Stop all here…</button>}
        </div>
      )}
      <div class="talk-foot">
        <HistoryActions scope={scope} newest={newest} is_busy={is_busy} changed={changed} />
        {cost > 0 && <a class="faint num" href={link('/cost', { scope })}>{all_turns.length < 200 ? 'cost so far' : 'cost of the last 200 turns'} {money(cost)}</a>}
      </div>
      {may.converse.value && is_within(scope) && <Say scope={scope} is_running={running?.kind === 'turn'} said={() => (reload(), reload_waiting())} />}
    </>
  );
}

const turns_at_once = 500;

function Choose() {
  const many = useRef(turns_at_once);
  const [state, reload] = use_resource('conversations', () => read_newest<Operation>('/v1/operations?kind=turn', 'operations', many.current), { every_ms: 10_000 });
  const [scope, set_scope] = useState('');
  const last = new Map<string, Operation>();
  for (const op of state.value.value?.rows ?? []) if (!last.has(op.scope)) last.set(op.scope, op);
  return (
    <>
      <Trouble words={state.value.trouble} />
      <form class="form-row" onSubmit={(e) => (e.preventDefault(), scope.trim() && go(link('/conversation', { scope: scope.trim() })))}>
        <label class="stack">Scope <input value={scope} placeholder="chat/alice" onInput={(e) => set_scope(e.currentTarget.value)} /></label>
        <button type="submit" class="button">Open</button>
      </form>
      {last.size === 0 && !state.value.is_loading && <Empty title="No conversations yet">They begin with a message, from here, a chat, or <code>quell chat</code>.</Empty>}
      <ul class="cancels">{[...last].map(([name, op]) => <li key={name}><i class={`dot st-${op.status}`} aria-hidden="true" /><a href={link('/conversation', { scope: name })}>{name}</a><span class="faint">{op.turn?.agent}</span><span class="said-last">{shown(op.title)}</span><span class="grow" /><span class="faint">{op.owner.name || op.owner.id}</span><span class="faint"><When at={op.created_at} /></span></li>)}</ul>
      {state.value.value?.has_more && <p class="faint">Those of the newest {state.value.value.rows.length.toLocaleString('en')} turns. <button type="button" class="button quiet" onClick={() => ((many.current += turns_at_once), reload())}>Older</button></p>}
    </>
  );
}

export function ConversationView() {
  const scope = route.value.query.get('scope') ?? '';
  return <Page tall={scope !== ''} title={shown(scope) || 'Conversations'}>{scope ? <Talk key={scope} scope={scope} /> : <Choose />}</Page>;
}
