// How long something took: a bar for each bucket of a histogram of /metrics, since quelld began.
import { exact_ms } from '../model/format.ts';
import { quantile, type Histogram } from '../model/metrics.ts';

const milliseconds = (seconds: number | null) => (seconds === null ? '–' : exact_ms(seconds * 1000));

/** Empty buckets at both ends are left out. */
export function shown_buckets(h: Histogram): { end: string; count: number }[] {
  const first = h.counts.findIndex((n) => n > 0), last = h.counts.findLastIndex((n) => n > 0);
  if (first < 0) return [];
  return h.counts.slice(first, last + 1).map((count, i) => {
    const end = h.ends[first + i]!;
    return { end: Number.isFinite(end) ? `≤ ${milliseconds(end)}` : `> ${milliseconds(h.ends[first + i - 1] ?? 0)}`, count };
  });
}

export function HistogramBars({ title, of }: { title: string; of: Histogram | null }) {
  const buckets = of ? shown_buckets(of) : [];
  const most = Math.max(1, ...buckets.map((b) => b.count));
  const summary = of && of.total > 0 ? `half within ${milliseconds(quantile(of, 0.5))}, 99 % within ${milliseconds(quantile(of, 0.99))}` : 'none yet';
  return (
    <figure class="histogram">
      <figcaption>{title} <b class="num">{(of?.total ?? 0).toLocaleString('en')}</b><span class="grow" /><span class="faint">{summary}</span></figcaption>
      <ul class="bars" role="list" aria-label={`${title}: ${summary}`}>
        {buckets.map((b) => (
          <li key={b.end}><span class="num faint">{b.end}</span><i aria-hidden="true"><b style={{ width: `${(b.count / most) * 100}%` }} /></i><span class="num">{b.count.toLocaleString('en')}</span></li>
        ))}
      </ul>
    </figure>
  );
}
