// One operation: what it is, how it goes, what it wrote, how it was stopped.
import { useState } from 'preact/hooks';
import { get, post, words_of } from '../api/client.ts';
import { listen } from '../api/feed.ts';
import type { Operation } from '../api/types.ts';
import { useEffect } from 'preact/hooks';
import { usage_of, usage_words } from '../model/cost.ts';
import { command_line, run_command } from '../model/command.ts';
import { bytes, duration, plain, shown, visible_json } from '../model/format.ts';
import { api_path, cancel_link, link, operation_link } from '../model/route.ts';
import { term } from '../model/search.ts';
import { is_terminal } from '../model/tree.ts';
import { LiveReport } from '../parts/report.tsx';
import { Shell } from '../parts/shell.tsx';
import { Copy, Field, Loading, op_title, Page, StatusBadge, Trouble, When, Elapsed } from '../parts/small.tsx';
import { OutputPane } from '../parts/output.tsx';
import { TimelinePane } from '../parts/timeline.tsx';
import { ask_for } from '../state/asking.ts';
import { now } from '../state/clock.ts';
import { use_keys } from '../state/keys.ts';
import { use_one_at_a_time } from '../state/once.ts';
import { use_resource } from '../state/resource.ts';
import { may } from '../state/session.ts';
import { ask_to_stop, saw } from '../state/stopping.ts';
import { Approval } from './approval.tsx';

/** What stopped it, and how it is known. */
function StopFacts({ op }: { op: Operation }) {
  const { stop } = op;
  if (!stop) return null;
  return (
    <section class="card">
      <h2>{is_terminal(op.status) ? 'How it was ended' : 'Being stopped'}</h2>
      <dl class="fields">
        <Field name="Cause">{plain(stop.cause)}</Field>
        {stop.by && <Field name="By">{stop.by.name || stop.by.id}</Field>}
        {stop.reason && <Field name="Reason">{stop.reason}</Field>}
        <Field name="Told"><When at={stop.signalled_at} how="clock" /></Field>
        {!is_terminal(op.status) && stop.kill_at && <Field name="Killed"><When at={stop.kill_at} /></Field>}
        {stop.receipt && <Field name="Receipt">{plain(stop.receipt)}</Field>}
        {stop.proof && <Field name="Proof"><b class={stop.proof === 'none' ? 'tone-stop' : 'tone-good'}>{plain(stop.proof)}</b></Field>}
        {stop.cancel && <Field name="Stop"><a href={cancel_link(stop.cancel)}>its report</a></Field>}
      </dl>
      {stop.cancel && !is_terminal(op.status) && <LiveReport id={stop.cancel} />}
    </section>
  );
}

function Labels({ labels }: { labels: Record<string, string> }) {
  const all = Object.entries(labels);
  if (all.length === 0) return <span class="faint">none</span>;
  return <>{all.map(([k, v]) => <a key={k} class="pill" href={link('/tree', { q: term('label', `${k}=${v}`) })}>{k}={v}</a>)}</>;
}

function TaskFields({ op }: { op: Operation }) {
  const { task } = op;
  if (!task) return null;
  return (
    <>
      {task.cwd && <Field name="Directory"><code>{task.cwd}</code></Field>}
      <Field name="Containment">{task.containment ?? <span class="faint">not placed yet</span>}</Field>
      <Field name="Lease">{task.lease_ms ? duration(task.lease_ms) : 'none'}</Field>
      {task.pid && <Field name="PID"><span class="num">{task.pid}</span></Field>}
      <Field name="Slots"><span class="num">{task.slots}</span></Field>
      {task.memory_bytes && <Field name="Memory">{bytes(task.memory_bytes)}</Field>}
      {task.user && <Field name="User">{task.user}</Field>}
    </>
  );
}

function Facts({ op }: { op: Operation }) {
  const usage = usage_of(op);
  return (
    <section class="card">
      <h2>Facts</h2>
      <dl class="fields">
        <Field name="Kind">{plain(op.kind)}{op.name && op.name !== op.title ? ` · ${shown(op.name)}` : ''}</Field>
        <Field name="Scope"><a href={link('/tree', { scope: op.scope })}>{op.scope}</a></Field>
        {op.parent && <Field name="Parent"><a href={operation_link(op.parent)}>…{op.parent.slice(-8)}</a></Field>}
        <Field name="Owner"><a href={link('/tree', { q: term('owner', op.owner.id) })}>{op.owner.name || op.owner.id}</a>{may.cancel.value && <> <button type="button" class="button quiet" onClick={() => ask_to_stop({ what: 'owner', owner: op.owner.id, scope: '' })}>Stop all of theirs…</button></>}</Field>
        <Field name="Worker">{op.worker ?? <span class="faint">none</span>}</Field>
        <TaskFields op={op} />
        {op.external && <Field name="Lease">{op.external.lease_ms ? <>{duration(op.external.lease_ms)}, ends <When at={op.external.lease_expires_at} /></> : 'none'}</Field>}
        {op.turn?.model && <Field name="Model">{op.turn.model}</Field>}
        {usage && <Field name="Used"><span class="num">{usage_words(usage)}</span>{op.kind === 'turn' && <span class="faint">with its sub-agents</span>}</Field>}
        <Field name="Created"><When at={op.created_at} how="clock" /></Field>
        {op.started_at && <Field name="Started"><When at={op.started_at} how="clock" /></Field>}
        {op.ended_at && <Field name="Ended"><When at={op.ended_at} how="clock" /></Field>}
        {op.deadline_at && <Field name="Deadline"><When at={op.deadline_at} /></Field>}
        <Field name="Grace">{op.grace_ms ? duration(op.grace_ms) : 'none'}</Field>
        {op.exit && <Field name="Exit"><span class="num">{op.exit.signal ? `signal ${op.exit.signal}` : `code ${op.exit.code}`}</span></Field>}
        <Field name="Labels"><Labels labels={op.labels} /></Field>
        <Field name="Id"><code class="wrap">{op.id}</code></Field>
      </dl>
    </section>
  );
}

/** An admin's word, where there will be no proof. */
function Resolve({ op }: { op: Operation }) {
  const [trouble, set_trouble] = useState('');
  const { is_busy, once } = use_one_at_a_time();
  const declare = async () => {
    const reason = await ask_for({ title: `Declare ${op_title(op)} dead?`, words: 'It ends as declared dead, without proof: quell does not check it. What you say is recorded.', line: 'How you know', yes: 'Declare dead', is_danger: true });
    if (reason === null) return;
    await once(() => post(api_path('operations', op.id, 'resolve'), { declare: 'dead', reason }).then(() => set_trouble(''), (error) => set_trouble(words_of(error))));
  };
  const told = op.stop?.kill_at ? Date.parse(op.stop.kill_at) : Infinity;
  if (op.status !== 'cancelling' || !may.administer.value || now.value < told) return null;
  return <><button type="button" class="button" disabled={is_busy} onClick={() => void declare()}>Declare dead…</button><Trouble words={trouble} /></>;
}

function use_operation(id: string) {
  const [state, reload] = use_resource(`operation ${id}`, () => get<Operation>(api_path('operations', id)), { every_ms: 10_000 });
  const [heard, set_heard] = useState<Operation | null>(null);
  useEffect(() => {
    set_heard(null);
    return listen((batch) => {
      for (const event of batch) if (event.operation === id && event.type.startsWith('operation_')) set_heard(event.data as Operation);
      if (batch.some((e) => e.operation === id)) reload();
    });
  }, [id]);
  const read = state.value.value;
  const op = heard && read && is_terminal(heard.status) && !is_terminal(read.status) ? heard : read;
  if (op) saw(op.seq);
  return { op, trouble: state.value.trouble, reload };
}

export function OperationView({ id }: { id: string }) {
  const { op, trouble, reload } = use_operation(id);
  const stop = () => op && ask_to_stop({ what: 'operation', id: op.id, title: op.title });
  use_keys({ c: () => op && may.cancel.value && !is_terminal(op.status) && stop() });
  if (!op) return <Page title="Operation"><Trouble words={trouble} retry={reload} />{!trouble && <Loading what="the operation" />}</Page>;
  const actions = (
    <>
      <Copy text={run_command(op)} label="Copy as quell command" />
      {op.kind === 'turn' && <a class="button" href={link('/conversation', { scope: op.scope })}>Conversation</a>}
      <Resolve op={op} />
      {may.cancel.value && !is_terminal(op.status) && <button type="button" class="button danger" onClick={stop}>Stop…</button>}
    </>
  );
  return (
    <Page title={<>{op_title(op)} <StatusBadge status={op.status} /></>} actions={actions}>
      <Trouble words={trouble} retry={reload} />
      <p class="lead faint"><Elapsed op={op} />{op.waiting_for && <> · waits for a {op.waiting_for.what} since <When at={op.waiting_for.since_at} how="clock" />: {op.waiting_for.detail}</>}{op.unreachable && <> · its worker is silent since <When at={op.unreachable.since_at} how="clock" />, dead by <When at={op.unreachable.dead_by} how="clock" /></>}</p>
      {op.error && <div class="trouble"><b>{plain(op.error.code)}</b> <span>{op.error.message}</span></div>}
      {op.status === 'paused' && op.tool && <section class="card asks"><h2>{op.tool.question ? 'Asks something' : 'Asks to go on'}</h2><Approval op={op} /></section>}
      {op.task && <Shell text={command_line(op.task.command)} of="Command" tall={false} />}
      <div class="operation">
        <div class="operation-main">
          <TimelinePane root={op} />
          {op.task && <OutputPane key={op.id} op={op} />}
          {op.result !== null && op.result !== undefined && <section class="card"><h2>Result</h2><pre class="json" tabIndex={0}>{visible_json(op.result)}</pre></section>}
          {op.tool?.input !== undefined && op.status !== 'paused' && <section class="card"><h2>Input</h2><pre class="json" tabIndex={0}>{visible_json(op.tool.input)}</pre></section>}
          {op.tool?.changed && <section class="card"><h2>Input that it ran with</h2><p class="faint">Changed by {op.tool.changed.by.name || op.tool.changed.by.id}</p><pre class="json" tabIndex={0}>{visible_json(op.tool.changed.input)}</pre></section>}
        </div>
        <div class="operation-side"><StopFacts op={op} /><Facts op={op} /></div>
      </div>
    </Page>
  );
}
