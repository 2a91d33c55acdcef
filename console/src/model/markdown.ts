// Markdown as models write it, as a tree: paragraphs, headings, lists, quotes, code, tables, rules. Pure. HTML is words like all others.
//
// An answer that is being written is read again with each word: blocks that can no longer change are kept, so that a step costs what its last two blocks cost.
import { read_inline, type Inline } from './inline.ts';
import { most_rows, table_head, table_row, type Align, type TableHead } from './table.ts';

export type Block =
  | { is: 'paragraph'; of: readonly Inline[] }
  | { is: 'heading'; level: number; of: readonly Inline[] }
  | { is: 'code'; language: string; text: string }
  | { is: 'list'; first: number | null; items: readonly (readonly Block[])[] } // first: of a numbered one
  | { is: 'quote'; of: readonly Block[] }
  | { is: 'table'; aligns: readonly Align[]; head: readonly Cell[]; rows: readonly (readonly Cell[])[] } // a row has at most as many cells as the head
  | { is: 'rule' };

type Cell = readonly Inline[];

interface Placed {
  block: Block;
  line: number; // on which it begins
}

/** Lists and quotes stand in each other so deep; below that they are words. */
const most_depth = 8;

const fence = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,}(?!~))(.*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quote = /^ {0,3}> ?/;
const bullet = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:[ \t]|$)/;

const is_blank = (line: string) => line.trim() === '';
const indent_of = (line: string) => line.length - line.trimStart().length;

/** Whether a paragraph ends in front of this line. */
function interrupts(line: string): boolean {
  if (fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line)) return true;
  const item = bullet.exec(line);
  return item !== null && line.length > item[0].length && (item[3] === undefined || item[3] === '1');
}

/** Without the marks at its end. */
function words_of_heading(text: string): string {
  const words = text.trim();
  let end = words.length;
  while (words[end - 1] === '#') --end;
  return end === 0 || is_blank(words[end - 1]!) ? words.slice(0, end).trimEnd() : words;
}

class BlockReader {
  readonly found: Placed[] = [];

  constructor(private readonly lines: readonly string[], private at: number, private readonly depth: number) {}

  read(): Placed[] {
    while (this.at < this.lines.length) {
      const line = this.at;
      const block = this.next();
      if (block) this.found.push({ block, line });
    }
    return this.found;
  }

  private next(): Block | null {
    const line = this.lines[this.at]!;
    if (is_blank(line)) return ++this.at, null;
    const opening = fence.exec(line);
    if (opening) return this.code(opening[1]!, opening[2]!.trim(), indent_of(line));
    const marks = heading.exec(line);
    if (marks) return ++this.at, { is: 'heading', level: marks[1]!.length, of: read_inline(words_of_heading(line.slice(marks[0].length))) };
    if (rule.test(line)) return ++this.at, { is: 'rule' };
    if (this.depth < most_depth) {
      if (quote.test(line)) return this.quoted();
      const item = bullet.exec(line);
      if (item) return this.list(item);
    }
    const head = this.head();
    return head ? this.table(head) : this.paragraph();
  }

  /** Of the table that begins here. */
  private head(): TableHead | null {
    return table_head(this.lines[this.at]!, this.lines[this.at + 1]);
  }

  private table({ names, aligns }: TableHead): Block {
    const rows: Cell[][] = [];
    for (this.at += 2; this.at < this.lines.length && rows.length < most_rows; ++this.at) {
      const line = this.lines[this.at]!;
      if (!line.includes('|') || interrupts(line)) break;
      rows.push(table_row(line, names.length).map(read_inline));
    }
    return { is: 'table', aligns, head: names.map(read_inline), rows };
  }

  private code(mark: string, info: string, indent: number): Block {
    const text: string[] = [];
    for (++this.at; this.at < this.lines.length; ++this.at) {
      const line = this.lines[this.at]!, words = line.trim();
      const closes = words.length >= mark.length && words.startsWith(mark) && [...words].every((one) => one === mark[0]);
      if (closes) {
        ++this.at;
        break;
      }
      text.push(line.slice(Math.min(indent, indent_of(line))));
    }
    return { is: 'code', language: info.split(/\s/)[0] ?? '', text: text.join('\n') };
  }

  private quoted(): Block {
    const inner: string[] = [];
    for (; this.at < this.lines.length && quote.test(this.lines[this.at]!); ++this.at) inner.push(this.lines[this.at]!.replace(quote, ''));
    return { is: 'quote', of: blocks_of(inner, this.depth + 1) };
  }

  /** Items of one kind of mark. What is indented by two belongs to the item above it, as models write it. */
  private list(first: RegExpExecArray): Block {
    const base = first[1]!.length, kind = first[2]!.at(-1);
    const items: string[][] = [];
    let is_behind_blank = false;
    for (; this.at < this.lines.length; ++this.at) {
      const line = this.lines[this.at]!, item = bullet.exec(line);
      const inner = items.at(-1);
      if (is_blank(line)) {
        inner?.push('');
        is_behind_blank = true;
        continue;
      }
      const is_inner = inner !== undefined && indent_of(line) >= base + 2;
      if (!is_inner && item && item[2]!.at(-1) === kind && !rule.test(line)) items.push([line.slice(item[0].length)]);
      else if (is_inner) inner.push(line.slice(Math.min(indent_of(line), base + first[2]!.length + 1)));
      else if (inner && !is_behind_blank && !interrupts(line) && !item && !this.head()) inner.push(line.trimStart());
      else break;
      is_behind_blank = false;
    }
    return { is: 'list', first: first[3] === undefined ? null : Number(first[3]), items: items.map((inner) => blocks_of(inner, this.depth + 1)) };
  }

  private paragraph(): Block {
    const text = [this.lines[this.at]!.trimStart()];
    for (++this.at; this.at < this.lines.length; ++this.at) {
      const line = this.lines[this.at]!;
      if (is_blank(line) || interrupts(line) || this.head()) break;
      text.push(line.trimStart());
    }
    return { is: 'paragraph', of: read_inline(text.join('\n').trimEnd()) };
  }
}

function blocks_of(lines: readonly string[], depth: number): Block[] {
  return new BlockReader(lines, 0, depth).read().map(({ block }) => block);
}

/** A text that may grow. Each block that is the same as before is the same value. */
export class GrowingMarkdown {
  private text = '';
  private placed: Placed[] = [];
  private lines: string[] = [];

  read(text: string): readonly Block[] {
    if (text !== this.text) {
      const goes_on = text.startsWith(this.text);
      // The last line can still become something else, and then belong to the block above it.
      const kept = goes_on ? this.placed.slice(0, -2) : [];
      const from = goes_on ? (this.placed.at(-2)?.line ?? 0) : 0;
      this.take(goes_on ? text.slice(this.text.length) : text, goes_on);
      this.text = text;
      this.placed = [...kept, ...new BlockReader(this.lines, from, 0).read()];
    }
    return this.placed.map(({ block }) => block);
  }

  private take(more: string, goes_on: boolean): void {
    const lines = more.split('\n');
    if (!goes_on) this.lines = lines;
    else {
      const last = this.lines.pop() ?? '';
      this.lines.push(last + lines[0]!);
      for (const line of lines.slice(1)) this.lines.push(line);
    }
    // Only here a line has its end.
    for (let i = Math.max(0, this.lines.length - lines.length - 1); i < this.lines.length - 1; ++i) if (this.lines[i]!.endsWith('\r')) this.lines[i] = this.lines[i]!.slice(0, -1);
  }
}

export function read_markdown(text: string): readonly Block[] {
  return new GrowingMarkdown().read(text);
}
