// A chart over time, drawn by uPlot, in the colours of the page.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

export interface Series {
  name: string;
  colour: string; // a custom property: --c-run
  values: (number | null)[];
}

const colour_of = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const height = 140;

export function Chart({ title, times, series, unit }: { title: string; times: number[]; series: Series[]; unit: (value: number) => string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [times, ...series.map((s) => s.values)] as uPlot.AlignedData;
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const axis = { stroke: colour_of('--faint'), grid: { stroke: colour_of('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
    plot.current = new uPlot(
      {
        width: el.clientWidth || 300, height, legend: { show: false }, cursor: { y: false },
        axes: [{ ...axis, values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toLocaleTimeString('en-GB')), space: 90, size: 28 }, { ...axis, size: 62, values: (_, ticks) => ticks.map(unit) }],
        scales: { y: { range: (_, __, max) => [0, Math.max(max || 0, 1e-9) * 1.15] } },
        series: [{}, ...series.map((s) => ({ label: s.name, stroke: colour_of(s.colour), width: 2, spanGaps: true, points: { show: times.length < 3 } }))],
      },
      data, el,
    );
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: el.clientWidth, height }));
    observer.observe(el);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [times]);
  return (
    <figure class="chart">
      <figcaption>{title}<span class="grow" />{series.map((s) => <span key={s.name} class="key"><i style={{ background: `var(${s.colour})` }} />{s.name} <b class="num">{last_of(s.values, unit)}</b></span>)}</figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${series.map((s) => `${s.name} ${last_of(s.values, unit)}`).join(', ')}`} />
    </figure>
  );
}

function last_of(values: (number | null)[], unit: (value: number) => string): string {
  const last = values.findLast((v) => v !== null);
  return last === undefined || last === null ? '–' : unit(last);
}
