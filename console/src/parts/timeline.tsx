// The waterfall of an operation and all below it, with the phases of the cancels that stopped it, and its replay.
import { useState } from 'preact/hooks';
import { ApiError, get } from '../api/client.ts';
import type { Cancel, Operation } from '../api/types.ts';
import { clock, duration, exact_ms, plain } from '../model/format.ts';
import { cancels_among, phases_of } from '../model/phases.ts';
import { api_path, cancel_link, link, operation_link } from '../model/route.ts';
import { is_terminal } from '../model/tree.ts';
import { span_of, timeline, type Bar } from '../model/timeline.ts';
import { now } from '../state/clock.ts';
import { use_resource } from '../state/resource.ts';
import { Dot, op_title, Trouble } from './small.tsx';
import { Virtual } from './virtual.tsx';

const most_operations = 1000;
const most_cancels = 5;
const row_height = 26;
const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

function BarRow({ bar, place, of }: { bar: Bar; place: number; of: number }) {
  const { operation: op } = bar;
  const lasted = op.ended_at ? [duration(Date.parse(op.ended_at) - Date.parse(op.created_at))] : [];
  const told = [...lasted, ...bar.marks.map((mark) => `${mark.what} ${exact_ms(mark.after_ms)} after the stop`)].join(' · ');
  return (
    <div class={`bar-row${bar.state === 'not_yet' ? ' not-yet' : ''}`} role="listitem" aria-setsize={of} aria-posinset={place}>
      <a class="bar-name" href={operation_link(op.id)} title={`${op_title(op)} · ${plain(op.kind)} · ${plain(op.status)}`} style={{ paddingLeft: `${Math.min(bar.depth, 12) * 12}px` }}>
        {bar.state === 'not_yet' ? <span class="dot" /> : <Dot status={bar.state} />} <span class="bar-kind">{plain(op.kind)}</span> {op_title(op)}
      </a>
      <div class="bar-track" title={told}>
        {bar.parts.map((part) => (
          <i key={part.what} class={`part part-${part.what} st-${op.status}`} style={{ left: percent(part.from), width: `max(2px, ${percent(part.to - part.from)})` }} />
        ))}
        {bar.marks.map((mark) => <i key={mark.what} class={`mark mark-${mark.what}`} style={{ left: percent(mark.share) }} />)}
        {told && <span class="hidden">{told}</span>}
      </div>
    </div>
  );
}

/** The phases of each stop as far as it has come by `when`, with their milliseconds. */
function Stops({ cancels, when }: { cancels: readonly Cancel[]; when: number }) {
  return (
    <ul class="stop-phases">
      {cancels.map((cancel) => {
        const reached = phases_of(cancel).filter((phase) => phase.at <= when);
        if (reached.length === 0) return null;
        return <li key={cancel.id}><a href={cancel_link(cancel.id ?? '')}>The stop</a>{reached.map((phase) => <span key={phase.what}><i class={`mark mark-${phase.what}`} aria-hidden="true" /> {phase.what} <b class="num">{exact_ms(phase.after_ms)}</b></span>)}</li>;
      })}
    </ul>
  );
}

/** One that nobody may read, or that is no longer kept, is left out. */
async function read_cancels(ids: readonly string[]): Promise<Cancel[]> {
  const read = (id: string) => get<Cancel>(api_path('cancels', id)).catch((error) => {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return null;
    throw error;
  });
  return (await Promise.all(ids.map(read))).filter((cancel) => cancel !== null);
}

export function TimelinePane({ root }: { root: Operation }) {
  const path = link(api_path('operations'), { below: root.id, order: 'asc', limit: String(most_operations) });
  const is_over = is_terminal(root.status);
  const [state, reload] = use_resource(`timeline ${root.id} ${root.status}`, () => get<{ operations: Operation[]; next_cursor: string | null }>(path), is_over ? {} : { every_ms: 2000 });
  const [at, set_at] = useState(1);
  const found = state.value.value;
  const operations = found?.operations.length ? found.operations : [root];
  const stopped_by = cancels_among([root, ...operations], most_cancels);
  const [stops] = use_resource(`stops ${stopped_by.join()} ${is_over}`, () => read_cancels(stopped_by), { types: ['cancel_'] });
  const cancels = stops.value.value ?? [];
  const { begin, end } = span_of(operations, now.value);
  const when = at >= 1 ? Infinity : begin + at * (end - begin);
  const drawn = timeline(operations, root.id, when, now.value, new Map(cancels.map((cancel) => [cancel.id ?? '', cancel])));
  const shown = Math.min(drawn.bars.length, 14);
  return (
    <section class="card">
      <h2>Timeline <span class="faint">{duration(end - begin)}{found?.next_cursor ? ` · the first ${most_operations} of more` : ''}</span></h2>
      <Trouble words={state.value.trouble || stops.value.trouble} retry={reload} />
      <div style={{ height: `${shown * row_height}px` }}>
        <Virtual label="Timeline" count={drawn.bars.length} row_height={row_height} render={(i) => <BarRow key={drawn.bars[i]!.operation.id} bar={drawn.bars[i]!} place={i + 1} of={drawn.bars.length} />} />
      </div>
      {cancels.length > 0 && <Stops cancels={cancels} when={when} />}
      <div class="legend"><span><i class="part-waits" /> waits</span><span><i class="part-runs" /> runs</span><span><i class="part-stops" /> being stopped</span></div>
      {is_over && (
        <label class="replay">Replay
          <input type="range" min={0} max={1} step={0.001} value={at} onInput={(e) => set_at(Number(e.currentTarget.value))} />
          <span class="num">{at >= 1 ? 'to its end' : clock(new Date(when).toISOString(), now.value)}</span>
        </label>
      )}
    </section>
  );
}
