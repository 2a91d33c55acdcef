// The text of /metrics: samples by name, and histograms with their quantiles. Pure.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function parse_metrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const found = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? '').matchAll(/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g)) labels[name!] = value!;
    samples.push({ name: found[1]!, labels, value: Number(found[3] === '+Inf' ? Infinity : found[3]) });
  }
  return samples;
}

export interface Histogram {
  /** Upper ends, ascending, the last Infinity. */
  ends: number[];
  /** How many fell into each, not cumulated. */
  counts: number[];
  total: number;
}

export function histogram_of(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): Histogram | null {
  const buckets = samples
    .filter((s) => s.name === `${name}_bucket` && Object.entries(labels).every(([k, v]) => s.labels[k] === v))
    .map((s) => [s.labels['le'] === '+Inf' ? Infinity : Number(s.labels['le']), s.value] as const)
    .sort((a, b) => a[0] - b[0]);
  if (buckets.length === 0) return null;
  const counts = buckets.map(([, value], i) => value - (i > 0 ? buckets[i - 1]![1] : 0));
  return { ends: buckets.map(([end]) => end), counts, total: buckets.at(-1)![1] };
}

/** What came between two looks; a restart between them counts from nothing. */
export function between(before: Histogram | null, after: Histogram): Histogram {
  if (!before || before.total > after.total) return after;
  return { ends: after.ends, counts: after.counts.map((n, i) => n - (before.counts[i] ?? 0)), total: after.total - before.total };
}

/** The upper end of the bucket in which this share lies; null without samples. */
export function quantile(h: Histogram, share: number): number | null {
  if (h.total === 0) return null;
  let below = 0;
  for (let i = 0; i < h.ends.length; ++i) {
    below += h.counts[i]!;
    if (below >= share * h.total) return Number.isFinite(h.ends[i]!) ? h.ends[i]! : (h.ends[i - 1] ?? null);
  }
  return null;
}

export function value_of(samples: readonly Sample[], name: string): number {
  return samples.filter((s) => s.name === name).reduce((sum, s) => sum + s.value, 0);
}
