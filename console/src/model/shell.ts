// A shell command in pieces, so that whoever decides about it sees what runs: the programs, what joins them, what is quoted, put in or hidden. Pure; the pieces together are the text.

export type ShellPart = 'plain' | 'program' | 'joint' | 'quoted' | 'put_in' | 'unseen' | 'comment';

export interface Piece {
  is: ShellPart;
  text: string;
}

/** What is longer stays without colours behind so many characters: nobody reads it, and each piece is an element. */
const most_chars = 20_000;

/** In this order, each where the one before ended. A quote that is not closed goes to the end; `unseen` is what `revealed` writes. */
const kinds: readonly (readonly [ShellPart | 'space' | 'word', RegExp])[] = [
  ['unseen', /⟨U\+[0-9A-F]{4}⟩/y],
  ['space', /\s+/y],
  ['comment', /#[^\n]*/y],
  ['quoted', /'[^']*'?|"(?:[^"\\]|\\[^])*"?/y],
  ['put_in', /\$(?:\(|\{[^}\n]*\}?|\w+|[?#@*$!-])|`/y],
  ['joint', /[;&|]+|\d*[<>]+&?|[()]/y],
  ['word', /(?:[^\s'"$`;&|<>()\\⟨]|\\[^])+/y],
  ['plain', /[^]/y],
];
const assignment = /^\w+\+?=/;
/** Words behind which a program begins. */
const prefixes = new Set(['!', 'command', 'do', 'elif', 'else', 'env', 'exec', 'if', 'nohup', 'sudo', 'then', 'time', 'until', 'while', '{']);

export function shell_pieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  const put = (is: ShellPart, more: string) => {
    const last = pieces.at(-1);
    if (last?.is === is) last.text += more;
    else pieces.push({ is, text: more });
  };
  let begins = true, is_inside = false, is_ticked = false; // a program, of a word, between backticks
  const head = text.slice(0, most_chars);
  for (let at = 0; at < head.length; ) {
    const [kind, found] = next(head, at, is_inside);
    at += found.length;
    switch (kind) {
      case 'word':
        put(begins && !is_inside && !assignment.test(found) ? 'program' : 'plain', found);
        if (!is_inside && !assignment.test(found)) begins = begins && prefixes.has(found);
        break;
      case 'space':
        put('plain', found);
        begins ||= found.includes('\n');
        break;
      default:
        put(kind, found);
        if (kind === 'joint') begins = /[;&|(]$/.test(found) && !/[<>]/.test(found);
        else if (found === '$(') begins = true;
        else if (found === '`') begins = is_ticked = !is_ticked;
        else if (kind !== 'comment' && !is_inside) begins = false;
    }
    is_inside = kind === 'word' || kind === 'quoted' || kind === 'unseen' || (kind === 'put_in' && found !== '$(' && found !== '`');
  }
  if (text.length > most_chars) put('plain', text.slice(most_chars));
  return pieces;
}

function next(text: string, at: number, is_inside: boolean): [ShellPart | 'space' | 'word', string] {
  for (const [kind, pattern] of kinds) {
    if (kind === 'comment' && is_inside) continue;
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) return [kind, found[0]];
  }
  throw new Error('unreachable: the last pattern matches any character');
}
