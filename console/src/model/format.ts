// Numbers, sizes and times as people read them. Pure.

const units: readonly (readonly [number, string])[] = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'm'], [1000, 's']];

/** `1h 04m`, `12s`, `340ms`: at most two units. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '';
  if (ms < 0) return '0s';
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 10_000) return `${Math.floor(ms / 100) / 10}s`;
  for (let i = 0; i < units.length; ++i) {
    const [size, name] = units[i]!;
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const next = units[i + 1];
    if (!next) return `${whole}${name}`;
    const rest = Math.floor((ms - whole * size) / next[0]);
    return rest ? `${whole}${name} ${String(rest).padStart(2, '0')}${next[1]}` : `${whole}${name}`;
  }
  return `${Math.round(ms)}ms`;
}

/** The same without parts of a second: what is counted up before one's eyes. */
export function whole_seconds(ms: number): string {
  return duration(Math.floor(ms / 1000) * 1000);
}

/** A time of a report: milliseconds with what matters of the decimals. */
export function exact_ms(ms: number): string {
  if (ms === 0) return '0 ms';
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  if (ms < 10_000) return `${Math.round(ms)} ms`;
  return duration(ms);
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  let value = count;
  for (const unit of ['KiB', 'MiB', 'GiB', 'TiB']) {
    value /= 1024;
    if (value < 1024 || unit === 'TiB') return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
  }
  return `${count} B`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** The tail by which the command line names it. */
export function short_id(id: string): string {
  return id.slice(-8);
}

/** `14:03:07`, with the date if it is not today's. */
export function clock(at: string, now: number): string {
  const when = new Date(at), today = new Date(now);
  const time = when.toLocaleTimeString('en-GB');
  const is_today = when.toDateString() === today.toDateString();
  return is_today ? time : `${when.toLocaleDateString('en-CA')} ${time}`;
}

/** `3m ago`, `in 4s`. */
export function relative(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (Math.abs(ms) < 1000) return 'now';
  return ms > 0 ? `${whole_seconds(ms)} ago` : `in ${duration(Math.ceil(-ms / 1000) * 1000)}`;
}

/** `3m`: how long ago it is. */
export function age(at: string, now: number): string {
  return whole_seconds(Math.max(0, now - Date.parse(at)));
}

/** Controls, direction marks and zero-width characters: they let a name look like another one. The joiners of emoji and of Persian stay. */
const disguises = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** What somebody else wrote, as a title on one line: `?` for each character that nobody sees, as on a terminal. */
export function shown(text: string): string {
  return text.replace(disguises, '?');
}

/** The same in a text of several lines that somebody decides about, as a command: each such character by its number, so that the rest is where it looks to be. */
export function revealed(text: string): string {
  return text.replace(disguises, (one) => (one === '\n' || one === '\t' ? one : `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`));
}

/** JSON in which nothing is hidden: still the same value. */
export function visible_json(value: unknown, indent = 2): string {
  return JSON.stringify(value ?? {}, null, indent).replace(disguises, (one) => (one === '\n' ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`));
}

/** A word with its underscores as spaces. */
export function plain(word: string): string {
  return word.replaceAll('_', ' ');
}
