// Output with ANSI colours as rows of styled pieces, of which a bounded number is kept. Only colours and weight are taken; every other escape is dropped. Pure.

export interface Piece {
  text: string;
  classes: string; // of style/output.css: `a-fg1 a-bold`
  colour: string; // of 256 or true colour, as CSS; '' = none
}
export type Line = Piece[];

interface Pen {
  fg: string;
  bg: string;
  colour: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

const plain_pen = (): Pen => ({ fg: '', bg: '', colour: '', bold: false, dim: false, italic: false, underline: false, inverse: false });
// CSI, OSC (ended by BEL or ST) and other two-character escapes; then control characters that mean nothing in a page.
// eslint-disable-next-line no-control-regex
const escapes = /\x1b\[([0-9;:]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|\x1b[()*+][A-Za-z0-9]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g;

function from_256(n: number): string {
  if (n >= 232) {
    const level = 8 + (n - 232) * 10;
    return `rgb(${level},${level},${level})`;
  }
  const step = (v: number) => (v ? 55 + v * 40 : 0);
  const cube = n - 16;
  return `rgb(${step(Math.floor(cube / 36))},${step(Math.floor(cube / 6) % 6)},${step(cube % 6)})`;
}

function choose(pen: Pen, codes: number[]): void {
  for (let i = 0; i < codes.length; ++i) {
    const code = codes[i]!;
    if (code === 0) Object.assign(pen, plain_pen());
    else if (code === 1) pen.bold = true;
    else if (code === 2) pen.dim = true;
    else if (code === 3) pen.italic = true;
    else if (code === 4) pen.underline = true;
    else if (code === 7) pen.inverse = true;
    else if (code === 22) pen.bold = pen.dim = false;
    else if (code === 23) pen.italic = false;
    else if (code === 24) pen.underline = false;
    else if (code === 27) pen.inverse = false;
    else if (code >= 30 && code <= 37) set_fg(pen, code - 30);
    else if (code >= 90 && code <= 97) set_fg(pen, code - 82);
    else if (code >= 40 && code <= 47) pen.bg = `a-bg${code - 40}`;
    else if (code >= 100 && code <= 107) pen.bg = `a-bg${code - 92}`;
    else if (code === 39) pen.fg = pen.colour = '';
    else if (code === 49) pen.bg = '';
    else if (code === 38 || code === 48) i += extended(pen, code, codes.slice(i + 1));
  }
}

function set_fg(pen: Pen, n: number): void {
  pen.fg = `a-fg${n}`;
  pen.colour = '';
}

/** How many codes it took. Backgrounds beyond the sixteen are dropped. */
function extended(pen: Pen, which: number, rest: number[]): number {
  if (rest[0] === 5 && rest[1] !== undefined) {
    if (which === 38 && rest[1] < 16) set_fg(pen, rest[1]);
    else if (which === 38) pen.colour = from_256(Math.min(255, rest[1]));
    return 2;
  }
  if (rest[0] === 2) {
    const [r, g, b] = [rest[1] ?? 0, rest[2] ?? 0, rest[3] ?? 0].map((v) => Math.min(255, v));
    if (which === 38) pen.colour = `rgb(${r},${g},${b})`;
    return 4;
  }
  return rest.length;
}

function classes_of(pen: Pen): string {
  const all = [pen.fg, pen.bg];
  for (const name of ['bold', 'dim', 'italic', 'underline', 'inverse'] as const) if (pen[name]) all.push(`a-${name}`);
  return all.filter(Boolean).join(' ');
}

/** A row may have so many characters: a longer line goes on in the next row. Beyond so many rows, or characters in all, the oldest rows are left out. */
const limits = { row: 2000, rows: 50_000, all: 4 * 1024 * 1024 };
export type Limits = typeof limits;

/** Reads a stream piece by piece; the last line may still grow. What is kept is bounded, whatever is written. */
export class AnsiReader {
  readonly lines: Line[] = [[]];
  /** Of each row the number of its line; 0: it goes on with the line of the row before. */
  readonly numbers: number[] = [1];
  /** What was left out of the beginning, in bytes of UTF-8 without escapes. */
  left_out_bytes = 0;
  private readonly pen = plain_pen();
  private held = ''; // an escape that is not whole yet
  private row_length = 0;
  private length = 0;
  private last_number = 1;
  private is_returned = false; // behind a carriage return: what comes paints over the line

  constructor(private readonly most: Limits = limits) {}

  add(text: string): void {
    let all = this.held + text;
    this.held = '';
    // eslint-disable-next-line no-control-regex
    const open = /\x1b(?:\[[0-9;:]{0,200}|\][^\x07\x1b]{0,200})?$/.exec(all);
    if (open) {
      this.held = open[0];
      all = all.slice(0, open.index);
    }
    let from = 0;
    for (const found of all.matchAll(escapes)) {
      this.put(all.slice(from, found.index));
      from = found.index + found[0].length;
      if (found[2] === 'm') choose(this.pen, found[1] ? found[1].split(/[;:]/).map(Number) : [0]);
    }
    this.put(all.slice(from));
    this.leave_out();
  }

  private put(text: string): void {
    text.split('\n').forEach((line, i) => {
      if (i > 0) {
        this.is_returned = false;
        this.begin_row(++this.last_number);
      }
      line.split('\r').forEach((part, j) => {
        if (j > 0) this.is_returned = true;
        if (part === '') return;
        if (this.is_returned) this.clear_line(); // a progress bar
        this.is_returned = false;
        this.write(part);
      });
    });
  }

  private begin_row(number: number): void {
    this.lines.push([]);
    this.numbers.push(number);
    this.row_length = 0;
  }

  private clear_line(): void {
    for (;;) {
      this.length -= length_of(this.lines.at(-1)!);
      if (this.numbers.at(-1) !== 0 || this.lines.length === 1) break;
      this.lines.pop();
      this.numbers.pop();
    }
    this.lines[this.lines.length - 1] = [];
    this.row_length = 0;
  }

  private write(text: string): void {
    const classes = classes_of(this.pen), { colour } = this.pen;
    for (let from = 0; from < text.length; ) {
      let to = Math.min(text.length, from + this.most.row - this.row_length);
      if (to < text.length && /[\ud800-\udbff]/.test(text[to - 1] ?? '')) to -= 1; // no character is cut in two
      if (to <= from) {
        this.begin_row(0);
        continue;
      }
      const row = this.lines.at(-1)!, last = row.at(-1), shown = text.slice(from, to);
      if (last && last.classes === classes && last.colour === colour) last.text += shown;
      else row.push({ text: shown, classes, colour });
      this.row_length += to - from;
      this.length += to - from;
      from = to;
    }
  }

  private leave_out(): void {
    let rows = 0;
    while (rows < this.lines.length - 1 && (this.lines.length - rows > this.most.rows || this.length > this.most.all)) {
      const text = text_of(this.lines[rows]!);
      this.length -= text.length;
      this.left_out_bytes += new TextEncoder().encode(text).length + (this.numbers[rows + 1] === 0 ? 0 : 1);
      rows += 1;
    }
    this.lines.splice(0, rows);
    this.numbers.splice(0, rows);
  }
}

function length_of(line: Line): number {
  return line.reduce((sum, piece) => sum + piece.text.length, 0);
}

export function text_of(line: Line): string {
  return line.map((piece) => piece.text).join('');
}
