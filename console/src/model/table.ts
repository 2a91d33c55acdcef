// Tables of Markdown: a line of names, a line of dashes below it, and rows. Pure; each line is read in a time like its length.

export type Align = 'left' | 'center' | 'right' | null;

/** With more columns it is words. */
const most_columns = 40;
/** Lines behind so many rows are words again. */
export const most_rows = 500;

/** What stands between the bars. `\|` is a bar within a cell, also in code. */
function cells_of(line: string): string[] {
  const text = line.trim();
  const cells: string[] = [];
  let from = text.startsWith('|') ? 1 : 0;
  for (let at = from; at < text.length; ++at) {
    if (text[at] === '\\') ++at;
    else if (text[at] === '|') {
      cells.push(text.slice(from, at));
      from = at + 1;
    }
  }
  if (from < text.length) cells.push(text.slice(from));
  return cells.map((cell) => cell.trim().replace(/\\./gs, (pair) => (pair === '\\|' ? '|' : pair)));
}

function align_of(dashes: string): Align {
  const is_left = dashes.startsWith(':'), is_right = dashes.endsWith(':');
  return is_left && is_right ? 'center' : is_left ? 'left' : is_right ? 'right' : null;
}

const only_dashes = /^ {0,3}[|:-][ \t|:-]*$/;
const dashes = /^:?-+:?$/;

export interface TableHead {
  names: string[];
  aligns: Align[];
}

/** The head of a table if one begins with these two lines. */
export function table_head(line: string, below: string | undefined): TableHead | null {
  if (below === undefined || !below.includes('|') || !line.includes('|') || !only_dashes.test(below)) return null;
  const marks = cells_of(below);
  if (marks.length === 0 || marks.length > most_columns || !marks.every((mark) => dashes.test(mark))) return null;
  const names = cells_of(line);
  return names.length === marks.length ? { names, aligns: marks.map(align_of) } : null;
}

/** The cells of a row; what is too much for the columns stands in the last one. */
export function table_row(line: string, columns: number): string[] {
  const cells = cells_of(line);
  return cells.length > columns ? [...cells.slice(0, columns - 1), cells.slice(columns - 1).join(' | ')] : cells;
}
