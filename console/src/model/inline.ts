// The words of one block of Markdown: emphasis, code, links. Pure; linear in the length of the text, whatever is in it.

/** What a block holds: plain words, or a part of its own. A link is http or https, and nothing else. */
export type Inline = string | { is: 'strong'; of: readonly Inline[] } | { is: 'em'; of: readonly Inline[] } | { is: 'code'; text: string } | { is: 'link'; href: string; of: readonly Inline[] };

/** A run of marks that may begin emphasis, and what stands behind it; the outermost frame has no mark. */
interface Frame {
  mark: string; // `*` or `_`
  left: number; // marks that no emphasis has used yet
  length: number; // of the whole run
  may_close: boolean;
  of: Inline[];
}

/** So many runs may be open at once: of more, the oldest is shown as it is. So emphasis has a greatest depth. */
const most_open = 16;
const most_link_chars = 2000;
const words_of_link = /\[((?:[^[\]\\`\n]|\\.){1,1000})\]\(\s?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?)(?:\s"[^"\n]{0,300}")?\s?\)/y;
const bare_link = /https?:\/\/[^\s<>"`]{1,2000}/y;
const punctuation = /[\p{P}\p{S}]/u;
const special = /[\\`*_[!h]/g;

/** The address if a browser may open it from here, else null. */
export function safe_href(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || text.length > most_link_chars) return null;
  try {
    const url = new URL(text);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

function add(of: Inline[], more: Inline): void {
  const last = of.at(-1);
  if (typeof more === 'string' && typeof last === 'string') of[of.length - 1] = last + more;
  else if (more !== '') of.push(more);
}

/** Without what ends the sentence around it. */
function trimmed_link(text: string): string {
  let end = text.length;
  while (end > 0 && '.,:;!?\'*_~'.includes(text[end - 1]!)) --end;
  if (text[end - 1] === ')' && !text.slice(0, end).includes('(')) --end;
  if (text[end - 1] === ']' && !text.slice(0, end).includes('[')) --end;
  return text.slice(0, end);
}

const is_space = (one: string) => one === '' || /\s/.test(one);
const is_punctuation = (one: string) => one !== '' && punctuation.test(one);

class Reader {
  private readonly stack: Frame[] = [{ mark: '', left: 0, length: 0, may_close: false, of: [] }];
  private at = 0;
  private readonly unclosed = new Set<number>(); // lengths of runs of backticks that no later one closes

  constructor(private readonly text: string, private readonly may_link: boolean) {}

  read(): readonly Inline[] {
    while (this.at < this.text.length) this.step();
    this.give_up_above(0);
    return this.stack[0]!.of;
  }

  private step(): void {
    special.lastIndex = this.at;
    const next = special.exec(this.text)?.index ?? this.text.length;
    this.words(this.text.slice(this.at, next));
    this.at = next;
    const one = this.text[next];
    if (one === '\\') this.escape();
    else if (one === '`') this.code();
    else if (one === '*' || one === '_') this.emphasis(one);
    else if (one !== undefined && !this.link()) this.literal(1);
  }

  private words(more: Inline): void {
    add(this.stack.at(-1)!.of, more);
  }

  private literal(length: number): void {
    this.words(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  private escape(): void {
    const next = this.text[this.at + 1] ?? '';
    if (/[!-/:-@[-`{-~]/.test(next)) this.at += 1;
    this.literal(1);
  }

  /** How often the character at `at` stands there in a row. */
  private run(): number {
    let end = this.at;
    while (this.text[end] === this.text[this.at]) ++end;
    return end - this.at;
  }

  private code(): void {
    const length = this.run();
    if (this.unclosed.has(length)) return this.literal(length);
    for (let end = this.at + length; (end = this.text.indexOf('`', end)) >= 0;) {
      let after = end;
      while (this.text[after] === '`') ++after;
      if (after - end === length) {
        const inner = this.text.slice(this.at + length, end);
        this.words({ is: 'code', text: /^ .*\S.* $/s.test(inner) ? inner.slice(1, -1) : inner });
        this.at = after;
        return;
      }
      end = after;
    }
    this.unclosed.add(length);
    this.literal(length);
  }

  private emphasis(mark: string): void {
    const length = this.run();
    if (length > 3) return this.literal(length);
    const before = [...this.text.slice(Math.max(0, this.at - 2), this.at)].at(-1) ?? '';
    const after = [...this.text.slice(this.at + length, this.at + length + 2)][0] ?? '';
    const begins = !is_space(after) && (!is_punctuation(after) || is_space(before) || is_punctuation(before));
    const ends = !is_space(before) && (!is_punctuation(before) || is_space(after) || is_punctuation(after));
    const may_open = begins && (mark === '*' || !ends || is_punctuation(before));
    const may_close = ends && (mark === '*' || !begins || is_punctuation(after));
    const left = may_close ? this.close(mark, length, may_open) : length;
    if (may_open && left > 0) this.open({ mark, left, length, may_close, of: [] });
    else this.words(mark.repeat(left));
    this.at += length;
  }

  private open(frame: Frame): void {
    if (this.stack.length > most_open) this.give_up_above(0, 1);
    this.stack.push(frame);
  }

  /** Ends what these marks end, the nearest first; returns how many are left. The rules are CommonMark's: a run that could also do the other does not pair if both together have a multiple of three marks. */
  private close(mark: string, length: number, may_open: boolean): number {
    const pairs = (one: Frame) => one.mark === mark && !((may_open || one.may_close) && length % 3 !== 0 && (one.length + length) % 3 === 0);
    let left = length;
    while (left > 0) {
      const place = this.stack.findLastIndex(pairs);
      const frame = this.stack[place];
      if (!frame) return left;
      this.give_up_above(place);
      const used = Math.min(left, frame.left, 2);
      const drawn: Inline = used === 2 ? { is: 'strong', of: frame.of } : { is: 'em', of: frame.of };
      left -= used;
      frame.left -= used;
      frame.of = [drawn];
      if (frame.left === 0) this.give_up_above(place - 1);
    }
    return 0;
  }

  /** What was open above this frame (all, or so many), and is not closed: its marks are words. */
  private give_up_above(place: number, count = this.stack.length): void {
    const { of } = this.stack[place]!;
    for (const frame of this.stack.splice(place + 1, count)) {
      add(of, frame.mark.repeat(frame.left));
      for (const one of frame.of) add(of, one);
    }
  }

  /** False: there is none, and the character is a word. */
  private link(): boolean {
    if (!this.may_link) return false;
    const is_picture = this.text[this.at] === '!'; // shown as a link: the page loads nothing from others
    if (this.text[this.at] === 'h') return this.bare();
    words_of_link.lastIndex = this.at + (is_picture ? 1 : 0);
    const found = words_of_link.exec(this.text);
    const href = found && safe_href(found[2]!);
    if (!found || !href) return false;
    this.words({ is: 'link', href, of: new Reader(found[1]!, false).read() });
    this.at = words_of_link.lastIndex;
    return true;
  }

  private bare(): boolean {
    if (/[\p{L}\p{N}:/]/u.test(this.text[this.at - 1] ?? '')) return false;
    bare_link.lastIndex = this.at;
    const found = bare_link.exec(this.text);
    const text = found ? trimmed_link(found[0]) : '';
    const href = safe_href(text);
    if (!href) return false;
    this.words({ is: 'link', href, of: [text] });
    this.at += text.length;
    return true;
  }
}

export function read_inline(text: string): readonly Inline[] {
  return new Reader(text, true).read();
}
