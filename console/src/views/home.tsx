// The first page: what needs a person, and the cluster in one line.
import { useState } from 'preact/hooks';
import { post, words_of } from '../api/client.ts';
import type { Operation } from '../api/types.ts';
import { count, duration } from '../model/format.ts';
import type { Need } from '../model/needs.ts';
import { Page, Trouble, When } from '../parts/small.tsx';
import { findings_trouble, needs, status } from '../state/needs.ts';
import { may } from '../state/session.ts';
import { ask_to_stop } from '../state/stopping.ts';

export function Approval({ op }: { op: Operation }) {
  const [trouble, set_trouble] = useState('');
  const [said, set_said] = useState('');
  const [reason, set_reason] = useState('');
  const decide = async (what: 'approve' | 'deny') => {
    set_said(what === 'approve' ? 'Approving…' : 'Denying…');
    try {
      await post(`/v1/operations/${op.id}/${what}`, { reason: reason || null });
      set_said(what === 'approve' ? 'Approved' : 'Denied');
      set_trouble('');
    } catch (error) {
      set_said('');
      set_trouble(words_of(error));
    }
  };
  const input = op.tool?.input as { command?: unknown } | undefined;
  const command = typeof input?.command === 'string' ? input.command : null;
  return (
    <div class="approval">
      {op.tool?.approval && <p class="faint">Rule: {op.tool.approval}</p>}
      {command ? <pre class="command" tabIndex={0}><span class="prompt" aria-hidden="true">$ </span>{command}</pre> : <pre class="command" tabIndex={0}>{JSON.stringify(op.tool?.input ?? {}, null, 2)}</pre>}
      {may.converse.value && (
        <div class="approval-foot">
          <input aria-label="Reason" placeholder="Reason, if you like" maxLength={500} value={reason} onInput={(e) => set_reason(e.currentTarget.value)} />
          <button type="button" class="button" disabled={said !== ''} onClick={() => void decide('deny')}>Deny</button>
          <button type="button" class="button primary" disabled={said !== ''} onClick={() => void decide('approve')}>Approve</button>
        </div>
      )}
      <div role="status">{said}</div>
      <Trouble words={trouble} />
    </div>
  );
}

function NeedRow({ need }: { need: Need }) {
  return (
    <li class={`need need-${need.weight}`}>
      <div class="need-head">
        <i aria-hidden="true" />
        <a href={need.link}>{need.title}</a>
        <span class="grow" />
        <span class="faint"><When at={need.since} /></span>
      </div>
      <p class="faint">{need.detail}</p>
      {need.approval && <Approval op={need.approval} />}
    </li>
  );
}

function Tile({ name, value, tone, link }: { name: string; value: string; tone?: string; link: string }) {
  return <a class={`tile ${tone ?? ''}`} href={link}><b class="num">{value}</b><span>{name}</span></a>;
}

export function ClusterLine() {
  const s = status.value;
  if (!s) return null;
  const n = (key: string) => s.operations[key] ?? 0;
  const live = n('pending') + n('running') + n('paused') + n('cancelling');
  const ready = s.workers['ready'] ?? 0, all = Object.values(s.workers).reduce((sum, v) => sum + v, 0);
  return (
    <div class="tiles">
      <Tile name="live" value={live.toLocaleString('en')} link="/tree" />
      <Tile name="running" value={n('running').toLocaleString('en')} link="/tree?q=status:running" />
      <Tile name="starting" value={n('pending').toLocaleString('en')} link="/tree?q=status:pending" />
      <Tile name="cancelling" value={n('cancelling').toLocaleString('en')} tone={n('cancelling') ? 'tone-stop' : ''} link="/tree?q=status:cancelling" />
      <Tile name="open stops" value={String(s.cancels_open)} tone={s.cancels_open ? 'tone-stop' : ''} link="/cancels?open=1" />
      <Tile name="workers ready" value={`${ready} / ${all}`} tone={ready < all ? 'tone-warn' : ''} link="/workers" />
      {s.oldest_open_cancel_ms !== null && <Tile name="oldest unproven" value={duration(s.oldest_open_cancel_ms)} tone="tone-stop" link="/cancels?open=1" />}
    </div>
  );
}

function Notify() {
  const [state, set_state] = useState(typeof Notification === 'undefined' ? 'denied' : Notification.permission);
  if (state !== 'default') return null;
  return <button type="button" class="button quiet" onClick={() => void Notification.requestPermission().then(set_state)}>Notify me</button>;
}

export function Home() {
  const all = needs.value;
  const stop_all = may.cancel_everything.value && <button type="button" class="button danger quiet" onClick={() => ask_to_stop({ what: 'everything' })}>Stop everything…</button>;
  return (
    <Page title={all.length ? `${count(all.length, 'thing needs', 'things need')} you` : status.value ? 'Nothing needs you' : 'Needs me'} actions={<><Notify />{stop_all}</>}>
      <Trouble words={findings_trouble.value} />
      {all.length === 0 && status.value && <p class="all-well">Every stop is proven, every worker answers, and nobody waits for an approval.</p>}
      <ul class="needs">{all.map((need) => <NeedRow key={need.key} need={need} />)}</ul>
      <h2 class="section">Cluster</h2>
      <ClusterLine />
    </Page>
  );
}
