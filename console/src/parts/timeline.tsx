// The waterfall of an operation and all below it, with the phases of the cancels that stopped it, and its replay.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from '../api/client.ts';
import type { Cancel, Operation } from '../api/types.ts';
import { clock, duration, exact_ms, plain } from '../model/format.ts';
import { cancels_among, phases_of } from '../model/phases.ts';
import { api_path, cancel_link, link, operation_link } from '../model/route.ts';
import { is_terminal } from '../model/tree.ts';
import { kinds_of, play_ms, span_of, ticks_of, timeline, type Bar, type Tick } from '../model/timeline.ts';
import { now } from '../state/clock.ts';
import { use_resource } from '../state/resource.ts';
import { Dot, op_title, Trouble } from './small.tsx';
import { Virtual } from './virtual.tsx';

const most_operations = 1000;
const most_cancels = 5;
const row_height = 26;
const most_ticks = 6, most_ticks_of_phone = 3;
const is_narrow = () => matchMedia('(max-width: 760px)').matches;
const frame_ms = 50;
const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

function BarRow({ bar, place, of }: { bar: Bar; place: number; of: number }) {
  const { operation: op } = bar;
  const lasted = op.ended_at ? [duration(Date.parse(op.ended_at) - Date.parse(op.created_at))] : [];
  const told = [...lasted, ...bar.marks.map((mark) => `${mark.what} ${exact_ms(mark.after_ms)} after the stop`)].join(' · ');
  return (
    <div class={`bar-row k-${op.kind}${bar.state === 'not_yet' ? ' not-yet' : ''}`} role="listitem" aria-setsize={of} aria-posinset={place}>
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

/** Round times since its beginning, above the bars. */
function Axis({ ticks }: { ticks: readonly Tick[] }) {
  return (
    <div class="bar-row bar-axis" aria-hidden="true">
      <span />
      <div>{ticks.map((tick) => <span key={tick.text} class={`num${tick.share > 0.94 ? ' at-end' : ''}`} style={{ left: percent(tick.share) }}>{tick.text}</span>)}</div>
    </div>
  );
}

function Legend({ bars }: { bars: readonly Bar[] }) {
  return (
    <div class="legend">
      {kinds_of(bars).map((kind) => <span key={kind} class={`k-${kind}`}><i class="part-runs" /> {plain(kind)}</span>)}
      <span><i class="part-waits" /> waits</span><span><i class="part-stops" /> being stopped</span>
      {bars.some((bar) => bar.state === 'failed') && <span><i class="part-failed" /> failed</span>}
    </div>
  );
}

/** The instant that is shown, as a share of the whole: dragged, or played. */
function Replay({ at, set_at, span_ms, words }: { at: number; set_at: (at: number) => void; span_ms: number; words: string }) {
  const [is_playing, set_playing] = useState(false);
  const shown = useRef(at);
  shown.current = at;
  useEffect(() => {
    if (!is_playing) return;
    let before = performance.now();
    const timer = setInterval(() => {
      const now = performance.now(), next = Math.min(1, shown.current + (now - before) / play_ms(span_ms));
      before = now;
      set_at(next);
      if (next >= 1) set_playing(false);
    }, frame_ms);
    return () => clearInterval(timer);
  }, [is_playing, span_ms]);
  const play = () => {
    if (!is_playing && at >= 1) set_at(0);
    set_playing(!is_playing);
  };
  return (
    <div class="replay">
      <button type="button" class="button" onClick={play}>{is_playing ? 'Pause' : 'Replay'}</button>
      <input type="range" aria-label="Instant of the replay" min={0} max={1} step={0.001} value={at} onInput={(e) => (set_playing(false), set_at(Number(e.currentTarget.value)))} />
      <span class="num">{words}</span>
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
  const ticks = ticks_of(end - begin, is_narrow() ? most_ticks_of_phone : most_ticks);
  return (
    <section class="card">
      <h2>Timeline <span class="faint">{duration(end - begin)}{found?.next_cursor ? ` · the first ${most_operations} of more` : ''}</span></h2>
      <Trouble words={state.value.trouble || stops.value.trouble} retry={reload} />
      <div class="waterfall" style={{ '--step': percent(ticks[1]?.share ?? 1), '--rows': String(shown) }}>
        <Axis ticks={ticks} />
        <Virtual label="Timeline" count={drawn.bars.length} row_height={row_height} render={(i) => <BarRow key={drawn.bars[i]!.operation.id} bar={drawn.bars[i]!} place={i + 1} of={drawn.bars.length} />} />
      </div>
      {cancels.length > 0 && <Stops cancels={cancels} when={when} />}
      <Legend bars={drawn.bars} />
      {is_over && <Replay at={at} set_at={set_at} span_ms={end - begin} words={at >= 1 ? 'to its end' : clock(new Date(when).toISOString(), now.value)} />}
    </section>
  );
}
