// What model calls have used: a chart of days, totals, and a table by scope, day, author, agent or model.
import { useEffect, useState } from 'preact/hooks';
import { get, words_of } from '../api/client.ts';
import { server_now } from '../api/server_clock.ts';
import type { CostPage, CostSums } from '../api/types.ts';
import { cost_groups, each_day, in_order, key_of, money, tokens, type CostGroup } from '../model/cost.ts';
import { shown } from '../model/format.ts';
import { link } from '../model/route.ts';
import { term } from '../model/search.ts';
import { Chart } from '../parts/chart.tsx';
import { Empty, Loading, Page, Trouble } from '../parts/small.tsx';
import { use_resource } from '../state/resource.ts';
import { route, set_query } from '../state/router.ts';

const spans = [['7 days', 7], ['30 days', 30], ['90 days', 90]] as const;
const span_by_default = 30;
const most_days = 400; // as many as the charts show
const day_ms = 86_400_000;
const look_ms = 30_000;

type Filter = Record<'by' | 'scope' | 'from' | 'to', string>;

const request = (filter: Filter, by: string, cursor = '') => get<CostPage>(link('/v1/cost', { ...filter, by, limit: '1000', cursor }));
const whole = (n: number) => n.toLocaleString('en');

function Key({ row, filter }: { row: CostSums; filter: Filter }) {
  const key = key_of(row, filter.by as CostGroup);
  if (filter.by === 'scope') return <><a href={link('/cost', { ...filter, by: 'day', scope: key })}>{key}</a> <a class="faint" href={link('/tree', { scope: key })} aria-label={`Live operations of ${key}`}>live</a></>;
  if (filter.by === 'day') return <a href={link('/cost', { ...filter, by: 'scope', from: key, to: key })}>{key}</a>;
  if (filter.by === 'author') return <a href={link('/tree', { q: term('owner', key) })}>{key}</a>;
  return <>{key || <span class="faint">none</span>}</>;
}

function Table({ rows, filter, total }: { rows: readonly CostSums[]; filter: Filter; total: CostSums }) {
  const by = filter.by as CostGroup;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Table"><table>
      <thead><tr><th>{by[0]!.toUpperCase() + by.slice(1)}</th><th class="end">Cost</th><th class="end">Share</th><th class="end">Calls</th><th class="end">Input tokens</th><th class="end">of it cached</th><th class="end">Output tokens</th></tr></thead>
      <tbody>
        {in_order(rows, by).map((row) => (
          <tr key={key_of(row, by)}>
            <td><Key row={row} filter={filter} /></td>
            <td class="end num">{money(row.cost)}</td>
            <td class="end num faint">{total.cost > 0 ? `${Math.round((100 * row.cost) / total.cost)} %` : '–'}</td>
            <td class="end num">{whole(row.model_calls)}{row.estimated_calls > 0 && <span class="faint" title="calls whose usage is partly an estimate"> ({whole(row.estimated_calls)} estimated)</span>}</td>
            <td class="end num">{whole(row.input_tokens)}</td><td class="end num faint">{whole(row.cached_input_tokens)}</td><td class="end num">{whole(row.output_tokens)}</td>
          </tr>
        ))}
      </tbody>
    </table></div>
  );
}

function Totals({ page }: { page: CostPage }) {
  const { total } = page;
  const tiles = [['cost', money(total.cost)], ['model calls', whole(total.model_calls)], ['input tokens', tokens(total.input_tokens)], ['of them cached', tokens(total.cached_input_tokens)], ['output tokens', tokens(total.output_tokens)]] as const;
  return <div class="tiles">{tiles.map(([name, value]) => <div key={name} class="tile"><b class="num">{value}</b><span>{name}</span></div>)}</div>;
}

function Days({ filter }: { filter: Filter }) {
  const [state] = use_resource(`days ${JSON.stringify(filter)}`, () => request(filter, 'day'), { every_ms: look_ms });
  const { value } = state.value;
  if (!value) return null;
  const days = each_day(value), times = days.map((d) => d.at);
  return (
    <>
      <Totals page={value} />
      <div class="charts" key={`${value.from} ${value.to}`}>
        <Chart each="day" title="Cost of each day" times={times} unit={money} least_top={0.01} series={[{ name: 'cost', colour: '--c-run', values: days.map((d) => d.cost) }]} />
        <Chart each="day" title="Tokens of each day" times={times} unit={tokens} least_top={10} is_whole series={[{ name: 'tokens', colour: '--c-wait', values: days.map((d) => d.tokens) }]} />
      </div>
    </>
  );
}

/** The first page is read again by itself; what was added below stays until the filter changes. */
function Sums({ filter }: { filter: Filter }) {
  const key = `sums ${JSON.stringify(filter)}`;
  const [state, reload] = use_resource(key, () => request(filter, filter.by), { every_ms: look_ms });
  const [more, set_more] = useState<CostPage[]>([]);
  const [trouble, set_trouble] = useState('');
  useEffect(() => set_more([]), [key]);
  const { value } = state.value;
  if (!value) return state.value.trouble ? <Trouble words={state.value.trouble} retry={reload} /> : <Loading what="costs" />;
  const cursor = (more.at(-1) ?? value).next_cursor;
  const read_more = () => request(filter, filter.by, cursor!).then((page) => (set_more([...more, page]), set_trouble('')), (error) => set_trouble(words_of(error)));
  const rows = [...value.cost, ...more.flatMap((page) => page.cost)];
  return (
    <>
      <Trouble words={state.value.trouble || trouble} retry={reload} />
      {rows.length === 0 ? <Empty title="Nothing used">No model was called {filter.scope ? `in ${filter.scope} ` : ''}from {value.from} to {value.to}.</Empty> : <Table rows={rows} filter={filter} total={value.total} />}
      {cursor && <button type="button" class="button" onClick={() => void read_more()}>More</button>}
    </>
  );
}

export function CostView() {
  const { query } = route.value;
  const [scope, set_scope] = useState(query.get('scope') ?? '');
  useEffect(() => set_scope(query.get('scope') ?? ''), [query.get('scope')]);
  const by = cost_groups.find((one) => one === query.get('by')) ?? 'day';
  const span = Math.min(most_days, Math.max(1, Math.round(Number(query.get('days'))) || span_by_default));
  const to = query.get('to') ?? '';
  const from = query.get('from') ?? new Date((to ? Date.parse(to) || server_now() : server_now()) - (span - 1) * day_ms).toISOString().slice(0, 10);
  const filter = { by, scope: query.get('scope') ?? '', from, to };
  const is_one_day = from === to;
  return (
    <Page title={filter.scope ? <><a href={link('/cost', { by })}>Cost</a> <span class="faint">/</span> {shown(filter.scope)}</> : 'Cost'}>
      <div class="toolbar">
        <form onSubmit={(e) => (e.preventDefault(), set_query('scope', scope.trim()))}>
          <input aria-label="Scope" placeholder="all scopes" value={scope} onInput={(e) => set_scope(e.currentTarget.value)} onBlur={() => set_query('scope', scope.trim())} />
        </form>
        <div class="switch" role="group" aria-label="Sums by">{cost_groups.map((one) => <button type="button" key={one} aria-pressed={by === one} onClick={() => set_query('by', one === 'day' ? '' : one)}>By {one}</button>)}</div>
        {query.has('from') || to
          ? <span><b>{is_one_day ? from : `${from} to ${to || 'today'}`}</b> <a href={link('/cost', { by, scope: filter.scope })}>All days</a></span>
          : <div class="switch" role="group" aria-label="Days">{spans.map(([words, days]) => <button type="button" key={days} aria-pressed={span === days} onClick={() => set_query('days', days === span_by_default ? '' : String(days))}>{words}</button>)}</div>}
      </div>
      <Days filter={{ ...filter, by: 'day' }} />
      <Sums filter={filter} />
      <p class="faint">In the currency of the prices that the models have in the configuration; a model without a price costs 0. Days are days of UTC.</p>
    </Page>
  );
}
