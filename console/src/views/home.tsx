// The first page: what needs a person, and the cluster in one line.
import { useEffect, useRef } from 'preact/hooks';
import { money } from '../model/cost.ts';
import { count, duration } from '../model/format.ts';
import type { Need } from '../model/needs.ts';
import { Page, Trouble, When } from '../parts/small.tsx';
import { now } from '../state/clock.ts';
import { cost_today, watch_cost } from '../state/cost.ts';
import { calm, findings, findings_trouble, needs, needs_number, note_seen, status } from '../state/needs.ts';
import { notifying, notify_me, notify_no_more } from '../state/notices.ts';
import { may } from '../state/session.ts';
import { use_moved } from '../state/steady.ts';
import { ask_to_stop } from '../state/stopping.ts';
import { Approval } from './approval.tsx';
import { StandingRules } from './standing_rules.tsx';

function NeedRow({ need }: { need: Need }) {
  return (
    <li class={`need need-${need.weight}`} data-key={need.key}>
      <div class="need-head">
        <i aria-hidden="true" />
        <a href={need.link}>{need.title}</a>
        <span class="grow" />
        <span class="faint"><When at={need.since} /></span>
        {need.key.startsWith('unproven ') && <button type="button" class="button quiet" title="Takes it from this list; the report stays under Stops" onClick={() => note_seen(need.key)}>Seen</button>}
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
  useEffect(watch_cost, []);
  const s = status.value;
  if (!s) return null;
  const of_scope = s.operations?.['live']; // a token with a scope is told of it no more than this
  const n = (key: string) => s.operations?.[key] ?? 0;
  const live = of_scope ?? n('pending') + n('running') + n('paused') + n('cancelling');
  const ready = s.workers?.['ready'] ?? 0, all = Object.values(s.workers ?? {}).reduce((sum, v) => sum + v, 0);
  return (
    <div class="tiles">
      <Tile name="live" value={live.toLocaleString('en')} link="/tree" />
      {of_scope === undefined && <Tile name="running" value={n('running').toLocaleString('en')} link="/tree?q=status:running" />}
      {of_scope === undefined && <Tile name="starting" value={n('pending').toLocaleString('en')} link="/tree?q=status:pending" />}
      <Tile name="cancelling" value={n('cancelling').toLocaleString('en')} tone={n('cancelling') ? 'tone-stop' : ''} link="/tree?q=status:cancelling" />
      {s.cancels_open !== null && <Tile name="open stops" value={String(s.cancels_open)} tone={s.cancels_open ? 'tone-stop' : ''} link="/cancels?open=1" />}
      <Tile name="workers ready" value={`${ready} / ${all}`} tone={ready < all ? 'tone-warn' : ''} link="/workers" />
      {cost_today.value !== null && <Tile name="cost today" value={money(cost_today.value)} link="/cost" />}
      {s.oldest_open_cancel_ms !== null && <Tile name="oldest unproven" value={duration(s.oldest_open_cancel_ms + Math.max(0, now.value - findings.value.looked_at))} tone="tone-stop" link="/cancels?open=1" />}
    </div>
  );
}

function Notify() {
  switch (notifying.value) {
    case 'unable':
      return null;
    case 'on':
      return <button type="button" class="button quiet" title="Announces what needs you while you look elsewhere" aria-pressed onClick={notify_no_more}>Notifying you</button>;
    default:
      return <button type="button" class="button quiet" title="Announces what needs you while you look elsewhere" onClick={() => void notify_me()}>Notify me</button>;
  }
}

export function Home() {
  const all = needs.value;
  const list = useRef<HTMLUListElement>(null);
  const is_moved = use_moved(list);
  const unproven = all.map((need) => need.key).filter((key) => key.startsWith('unproven '));
  const title = all.length === 0 ? calm.value.title : findings.value.is_part ? `${needs_number.value} things need you` : `${count(all.length, 'thing needs', 'things need')} you`;
  const stop_all = may.cancel_everything.value && <button type="button" class="button danger quiet" onClick={() => ask_to_stop({ what: 'everything' })}>Stop everything…</button>;
  return (
    <Page title={title} actions={<><Notify />{stop_all}</>}>
      <Trouble words={findings_trouble.value} />
      {all.length === 0 && calm.value.detail && <p class="all-well">{calm.value.detail}</p>}
      {unproven.length > 1 && <p><button type="button" class="button quiet" title="Takes them from this list; their reports stay under Stops" onClick={() => note_seen(...unproven)}>All {unproven.length} stops without proof seen</button></p>}
      <ul class={is_moved ? 'needs moved' : 'needs'} ref={list}>{all.map((need) => <NeedRow key={need.key} need={need} />)}</ul>
      <StandingRules />
      <h2 class="section">Cluster</h2>
      <ClusterLine />
    </Page>
  );
}
