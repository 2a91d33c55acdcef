// Workers: slots, leases, what their containment promises and what it cannot; drain and resume.
import { useState } from 'preact/hooks';
import { post, words_of } from '../api/client.ts';
import { read_newest } from '../api/pages.ts';
import type { Worker } from '../api/types.ts';
import { count, duration } from '../model/format.ts';
import { api_path, link } from '../model/route.ts';
import { term } from '../model/search.ts';
import { Empty, Field, Loading, Page, StatusBadge, Trouble, When } from '../parts/small.tsx';
import { ask_for } from '../state/asking.ts';
import { now } from '../state/clock.ts';
import { use_many } from '../state/many.ts';
import { use_one_at_a_time } from '../state/once.ts';
import { use_resource } from '../state/resource.ts';
import { may } from '../state/session.ts';

function Lease({ worker }: { worker: Worker }) {
  if (!worker.lease_expires_at) return <span class="faint">none</span>;
  const left = Date.parse(worker.lease_expires_at) - now.value;
  return <time class={`num${left < 3000 ? ' tone-stop' : ''}`} dateTime={worker.lease_expires_at} title={worker.lease_expires_at}>{left > 0 ? `${duration(Math.round(left / 1000) * 1000)} left` : 'run out'}</time>;
}

function Slots({ worker }: { worker: Worker }) {
  const part = worker.slots ? (worker.slots_used / worker.slots) * 100 : 0;
  return (
    <div class="slots">
      <div class="bar" role="meter" aria-label="slots in use" aria-valuemin={0} aria-valuemax={worker.slots} aria-valuenow={worker.slots_used}><i class="load" style={{ width: `${part}%` }} /></div>
      <span class="num">{worker.slots_used} of {count(worker.slots, 'slot')}</span>
    </div>
  );
}

function WorkerCard({ worker, reload }: { worker: Worker; reload: () => void }) {
  const [trouble, set_trouble] = useState('');
  const { is_busy, once } = use_one_at_a_time();
  const act = (action: string, body: object) => once(async () => {
    try {
      await post(api_path('workers', worker.name, action), body);
      set_trouble('');
      reload();
    } catch (error) {
      set_trouble(words_of(error));
    }
  });
  const drain = async () => {
    const reason = await ask_for({ title: `Drain ${worker.name}?`, words: 'What runs there goes on; nothing more is started there until somebody resumes it.', line: 'Why, if you like', is_optional: true, yes: 'Drain' });
    if (reason !== null) await act('drain', { reason });
  };
  return (
    <article class="card worker">
      <header>
        <h2>{worker.name}</h2>
        <StatusBadge status={worker.status} />
        <span class="grow" />
        {may.run_cluster.value && (worker.drain ? <button type="button" class="button" disabled={is_busy} onClick={() => void act('resume', {})}>Resume</button> : worker.status === 'ready' && <button type="button" class="button" disabled={is_busy} onClick={() => void drain()}>Drain…</button>)}
      </header>
      <Trouble words={trouble} />
      {worker.trouble && <p class="warn">Starts nothing since <When at={worker.trouble.since_at} how="clock" />: {worker.trouble.why}</p>}
      {worker.rival && <p class="warn">Another process at {worker.rival.address} holds its key, since <When at={worker.rival.since_at} how="clock" /></p>}
      {worker.unreachable && <p class="warn">Silent since <When at={worker.unreachable.since_at} how="clock" />; all there is dead by <When at={worker.unreachable.dead_by} how="clock" /></p>}
      {worker.drain && <p class="warn">Draining since <When at={worker.drain.since_at} how="clock" />{worker.drain.reason ? `: ${worker.drain.reason}` : ''}</p>}
      <Slots worker={worker} />
      <dl class="fields">
        <Field name="Live"><a href={link('/tree', { q: term('worker', worker.name) })}>{count(worker.operations_live, 'operation')}</a></Field>
        <Field name="Lease"><Lease worker={worker} /></Field>
        <Field name="Containment">{worker.containment ?? <span class="faint">unknown</span>}</Field>
        <Field name="Last heard"><When at={worker.last_heard_at} /></Field>
        <Field name="Address">{worker.address ?? '–'}</Field>
        <Field name="Version">{worker.version ?? '–'}</Field>
        <Field name="Labels">{Object.entries(worker.labels).map(([k, v]) => <span key={k} class="pill">{k}={v}</span>)}</Field>
      </dl>
      {worker.containment_limits.length > 0 && <div class="limits"><h3>What it cannot promise</h3><ul>{worker.containment_limits.map((words) => <li key={words}>{words}</li>)}</ul></div>}
    </article>
  );
}

const at_once = 500;

export function WorkersView() {
  const many = use_many('workers', at_once, (n) => n + at_once);
  const [state, reload] = use_resource('workers', () => read_newest<Worker>('/v1/workers?order=asc', 'workers', many.current), { every_ms: 2000, types: ['worker_'] });
  const { value, trouble } = state.value;
  return (
    <Page title="Workers">
      <Trouble words={trouble} retry={reload} />
      {!value && !trouble && <Loading what="workers" />}
      {value?.rows.length === 0 && <Empty title="No worker has joined"><code>quell worker add w1</code> prints the line that starts one.</Empty>}
      <div class="cards">{value?.rows.map((w) => <WorkerCard key={w.name} worker={w} reload={reload} />)}</div>
      {value?.has_more && <p class="faint">The first {value.rows.length.toLocaleString('en')} by name. <button type="button" class="button quiet" onClick={() => (many.grow(), reload())}>More</button></p>}
    </Page>
  );
}
