// What model calls cost: amounts and tokens as people read them, and the days of a chart without gaps. Pure.
import type { CostPage, CostSums, ModelUsage, Operation } from '../api/types.ts';

export const cost_groups = ['day', 'scope', 'author', 'agent', 'model'] as const;
export type CostGroup = (typeof cost_groups)[number];

const day_ms = 86_400_000;

/** In the currency of the configured prices, which quell does not know: `0.0016`, `12.40`, `1,204.00`. */
export function money(amount: number): string {
  if (amount === 0) return '0';
  if (amount < 0.01) return amount < 0.000_001 ? '< 0.000001' : amount.toLocaleString('en', { maximumSignificantDigits: 2, maximumFractionDigits: 20 });
  return amount.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: amount < 1 ? 4 : 2 });
}

/** `940`, `1.2k`, `34k`, `5.6M`. */
export function tokens(n: number): string {
  if (n < 1000) return String(n);
  const [value, unit] = n < 999_500 ? [n / 1000, 'k'] : n < 999_500_000 ? [n / 1e6, 'M'] : [n / 1e9, 'G'];
  return `${value < 10 ? Math.floor(value * 10) / 10 : Math.round(value)}${unit}`;
}

/** Of a turn with its sub-agents, or of one model call; null: it has used nothing yet. */
export function usage_of(op: Operation): ModelUsage | null {
  const usage = op.turn?.usage ?? (op.result as { usage?: ModelUsage } | null | undefined)?.usage;
  return usage && typeof usage.input_tokens === 'number' ? usage : null;
}

/** `1.2k in, 100 out`, with the amount if there are prices. */
export function usage_words(usage: ModelUsage): string {
  const words = `${tokens(usage.input_tokens)} in, ${tokens(usage.output_tokens)} out`;
  return `${words}${usage.cost ? ` · cost ${money(usage.cost)}` : ''}${usage.estimated ? ', partly estimated' : ''}`;
}

/** Every day of the page, with zeros for those on which nothing was used. At most `most`, the newest. */
export function each_day(page: CostPage, most = 400): { day: string; at: number; cost: number; tokens: number }[] {
  const found = new Map(page.cost.map((row) => [row.day ?? '', row]));
  const last = Date.parse(`${page.to}T00:00:00Z`);
  const days = [];
  for (let at = Math.max(Date.parse(`${page.from}T00:00:00Z`), last - (most - 1) * day_ms); at <= last; at += day_ms) {
    const day = new Date(at).toISOString().slice(0, 10);
    const row = found.get(day);
    days.push({ day, at: at / 1000, cost: row?.cost ?? 0, tokens: row ? row.input_tokens + row.output_tokens : 0 });
  }
  return days;
}

export function cost_of_today(page: CostPage): number {
  return page.cost.find((row) => row.day === page.today)?.cost ?? 0;
}

export function key_of(row: CostSums, by: CostGroup): string {
  return row[by] ?? '';
}

/** Days from the newest, everything else from the dearest. */
export function in_order(rows: readonly CostSums[], by: CostGroup): CostSums[] {
  const used = (row: CostSums) => row.input_tokens + row.output_tokens;
  if (by === 'day') return [...rows].sort((a, b) => key_of(b, by).localeCompare(key_of(a, by)));
  return [...rows].sort((a, b) => b.cost - a.cost || used(b) - used(a));
}
