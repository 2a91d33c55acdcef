// A chart over time, drawn by uPlot, in the colours of the page: curves, or a bar for each day.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';

export interface Series {
  name: string;
  colour: string; // a custom property: --c-run
  values: (number | null)[];
}

/** Asked at each drawing: the evening makes an open page dark. */
const colour_of = (name: string) => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const is_dark = matchMedia('(prefers-color-scheme: dark)');
const height = 140;
/** A time of day stands below its line, half of it on each side. */
const half_time_px = 30;

const day_s = 86_400;
const least_span_s = 60; // of moments: so much is shown, also if less is known
/** Days of UTC, whatever the browser's zone is. */
const by_days = { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC') };
const day_axis = { incrs: [1, 2, 7, 14, 28, 56].map((days) => days * day_s), space: 60 };
const day_text = (at: number) => new Date(at * 1000).toISOString().slice(5, 10);

const whole_steps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

/** Of what is known; uPlot itself gives a day to a single moment. */
function span_of_moments(times: ArrayLike<number>): [number, number] {
  const last = times[times.length - 1] ?? least_span_s;
  return [Math.min(times[0] ?? 0, last - least_span_s), last];
}

interface ChartProps {
  title: string;
  times: number[];
  series: Series[];
  unit: (value: number) => string;
  each?: 'moment' | 'day';
  /** The least top of the scale, in the unit of the values: what is nearly nothing looks so. */
  least_top?: number;
  /** Only whole numbers stand at the side. */
  is_whole?: boolean;
}

export function Chart({ title, times, series, unit, each = 'moment', least_top = 1e-9, is_whole = false }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** Which moment the pointer is at; null = none: then the newest. */
  const [at, set_at] = useState<number | null>(null);
  const data = [times, ...series.map((s) => s.values)] as uPlot.AlignedData;
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const axis = { stroke: colour_of('--faint'), grid: { stroke: colour_of('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
    plot.current = new uPlot(
      {
        ...(each === 'day' ? by_days : {}), width: el.clientWidth || 300, height, legend: { show: false }, cursor: { y: false }, hooks: { setCursor: [(u) => set_at(u.cursor.idx ?? null)] }, padding: [10, each === 'day' ? 12 : half_time_px, 0, 0],
        axes: [{ ...axis, values: (_, ticks) => ticks.map(each === 'day' ? day_text : (at) => new Date(at * 1000).toLocaleTimeString('en-GB')), space: 90, size: 28, ...(each === 'day' ? day_axis : {}) }, { ...axis, size: 62, space: 34, values: (_, ticks) => ticks.map(unit), ...(is_whole ? { incrs: whole_steps } : {}) }],
        scales: { x: { range: each === 'day' ? (_, min, max) => [min - day_s / 2, max + day_s / 2] : (u) => span_of_moments(u.data[0]) }, y: { range: (_, __, max) => [0, Math.max((max || 0) * 1.15, least_top)] } },
        series: [{}, ...series.map((s) => ({ label: s.name, stroke: colour_of(s.colour), width: 2, spanGaps: true, points: { show: each === 'moment' && times.length < 3 }, ...(each === 'day' ? { fill: colour_of(s.colour), paths: uPlot.paths.bars!({ size: [0.7, 48] }) } : {}) }))],
      },
      data, el,
    );
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: el.clientWidth, height }));
    observer.observe(el);
    const draw_again = () => plot.current?.redraw(false);
    is_dark.addEventListener('change', draw_again);
    return () => {
      is_dark.removeEventListener('change', draw_again);
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [times]);
  const time = at === null ? undefined : times[at];
  return (
    <figure class="chart">
      <figcaption>{title}<span class="grow" />{time !== undefined && <time class="num" dateTime={new Date(time * 1000).toISOString()}>{each === 'day' ? new Date(time * 1000).toISOString().slice(0, 10) : new Date(time * 1000).toLocaleTimeString('en-GB')}</time>}{series.map((s) => <span key={s.name} class="key"><i style={{ background: `var(${s.colour})` }} />{s.name} <b class="num">{time === undefined ? last_of(s.values, unit) : value_at(s.values, at!, unit)}</b></span>)}</figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${series.map((s) => `${s.name} ${last_of(s.values, unit)}`).join(', ')}`} />
    </figure>
  );
}

function last_of(values: (number | null)[], unit: (value: number) => string): string {
  const last = values.findLast((v) => v !== null);
  return last === undefined || last === null ? '–' : unit(last);
}

function value_at(values: (number | null)[], at: number, unit: (value: number) => string): string {
  const value = values[at];
  return value === undefined || value === null ? '–' : unit(value);
}
