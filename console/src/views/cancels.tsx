// Stops: all of them, newest first, and one with its report and what it covered.
import { connection } from '../api/feed.ts';
import { read_newest } from '../api/pages.ts';
import type { Cancel } from '../api/types.ts';
import { count } from '../model/format.ts';
import { headline, verdict } from '../model/report.ts';
import { cancel_link } from '../model/route.ts';
import { term } from '../model/search.ts';
import { LiveReport } from '../parts/report.tsx';
import { Empty, Loading, Page, Trouble, When } from '../parts/small.tsx';
import { StopTarget } from '../parts/stop_target.tsx';
import { findings } from '../state/needs.ts';
import { use_many } from '../state/many.ts';
import { use_resource } from '../state/resource.ts';
import { route, set_query } from '../state/router.ts';
import { OperationList } from './operation_list.tsx';

const page_size = 200;

export function CancelsView() {
  const only_open = route.value.query.get('open') === '1';
  const many = use_many('stops', page_size, (n) => n + page_size);
  const [state, reload] = use_resource(`cancels ${only_open}`, () => read_newest<Cancel>(`/v1/cancels?order=desc${only_open ? '&status=open' : ''}`, 'cancels', many.current), { types: ['cancel_'], every_ms: 15_000 });
  const { value, trouble } = state.value;
  const unproven = findings.value.settled.unproven.length;
  const toggle = (
    <div class="switch" role="group" aria-label="Which">
      <button type="button" aria-pressed={!only_open} onClick={() => set_query('open', '')}>All</button>
      <button type="button" aria-pressed={only_open} onClick={() => set_query('open', '1')}>Not proven yet</button>
    </div>
  );
  return (
    <Page title="Stops" actions={toggle}>
      <Trouble words={trouble} retry={reload} />
      {!value && !trouble && <Loading what="stops" />}
      {value?.rows.length === 0 && !trouble && connection.value.state !== 'lost' && <Empty title={only_open ? 'No stop is open' : 'No stop yet'}>{only_open && unproven > 0 ? `${count(unproven, 'stop')} settled without proof: see All.` : 'A stop appears here the moment it is ordered, from wherever.'}</Empty>}
      <ul class="cancels">
        {value?.rows.map((c) => (
          <li key={c.id} class={`verdict-${verdict(c)}`}>
            <i aria-hidden="true" />
            <a href={cancel_link(c.id ?? '')}><StopTarget cancel={c} /></a>
            <span>{headline(c)}</span>
            <span class="grow" />
            <span class="faint">{c.by.name || c.by.id} via {c.via.channel}</span>
            <span class="faint"><When at={c.created_at} /></span>
          </li>
        ))}
      </ul>
      {value?.has_more && <button type="button" class="button" onClick={() => (many.grow(), reload())}>Older</button>}
    </Page>
  );
}

export function CancelView({ id }: { id: string }) {
  return (
    <Page tall title="Stop">
      <section class="card"><LiveReport key={id} id={id} /></section>
      <h2 class="section">What it covers</h2>
      <OperationList text={`${term('cancel', id)} status:live status:ended`} which="ended" />
    </Page>
  );
}
