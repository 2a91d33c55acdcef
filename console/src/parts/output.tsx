// What a task wrote: the tail with its colours, a search, and the whole to download.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Operation } from '../api/types.ts';
import { text_of, type Line } from '../model/ansi.ts';
import { bytes } from '../model/format.ts';
import { api_path } from '../model/route.ts';
import { OutputTail, type StreamName } from '../state/output.ts';
import { Trouble } from './small.tsx';
import { Virtual } from './virtual.tsx';

const line_height = 19;

function OutputLine({ line, number, is_hit }: { line: Line; number: number; is_hit: boolean }) {
  return (
    <div class={is_hit ? 'line hit' : 'line'}>
      <span class="line-number" aria-hidden="true">{number === 0 ? '↪' : number}</span>
      {line.map((piece, i) => <span key={i} class={piece.classes} {...(piece.colour ? { style: { color: piece.colour } } : {})}>{piece.text}</span>)}
    </div>
  );
}

function hits_of(lines: readonly Line[], words: string): number[] {
  if (!words) return [];
  const wanted = words.toLowerCase();
  const found: number[] = [];
  lines.forEach((line, i) => text_of(line).toLowerCase().includes(wanted) && found.push(i));
  return found;
}

export function OutputPane({ op }: { op: Operation }) {
  const [chosen, set_name] = useState<StreamName | null>(null);
  const first = useRef<StreamName | null>(null);
  const [words, set_words] = useState('');
  const [hit, set_hit] = useState(0);
  const { stdout_bytes, stderr_bytes, dropped_bytes } = op.task!.output;
  // Until somebody chooses: where something was written first.
  if (!first.current && stdout_bytes + stderr_bytes > 0) first.current = stdout_bytes > 0 ? 'stdout' : 'stderr';
  const name = chosen ?? first.current ?? 'stdout';
  const has_begun = op.started_at !== null;
  const tail = useMemo(() => (has_begun ? new OutputTail(op.id, name) : null), [op.id, name, has_begun]);
  useEffect(() => () => tail?.close(), [tail]);
  const version = tail?.version.value ?? 0;
  const lines = tail?.reader.lines ?? [];
  const count = lines.length > 0 && lines.at(-1)!.length === 0 ? lines.length - 1 : lines.length;
  const hits = useMemo(() => hits_of(lines, words), [words, version, tail]);
  const at = hits.length ? hits[hit % hits.length]! : -1;
  const left_out = tail?.reader.left_out_bytes ?? 0, before = (tail?.begin.value ?? 0) + left_out;
  const sizes = { stdout: stdout_bytes, stderr: stderr_bytes };
  return (
    <section class="card">
      <div class="output-head">
        <h2>Output</h2>
        <div class="switch" role="group" aria-label="Stream">
          {(['stdout', 'stderr'] as const).map((one) => <button type="button" key={one} aria-pressed={name === one} onClick={() => set_name(one)}>{one} <span class="faint">{bytes(sizes[one])}</span></button>)}
        </div>
        <span class="grow" />
        <input type="search" aria-label="Search the output" placeholder="Search the output" value={words} onInput={(e) => (set_words(e.currentTarget.value), set_hit(0))} onKeyDown={(e) => e.key === 'Enter' && set_hit(hit + (e.shiftKey ? Math.max(hits.length, 1) - 1 : 1))} />
        {words && <span class="faint num" role="status">{hits.length ? `${(hit % hits.length) + 1} of ${hits.length}` : 'no match'}</span>}
        <a class="button quiet" href={`${api_path('operations', op.id, 'output')}?stream=${name}`} download={`${op.id.slice(-8)}.${name}`}>Download</a>
      </div>
      <Trouble words={tail?.trouble.value ?? ''} />
      {before > 0 && <p class="faint left-out">The end of it: {left_out > 0 && 'about '}{bytes(before)} before are not shown here; the download has them.</p>}
      {dropped_bytes > 0 && <p class="warn">{bytes(dropped_bytes)} were dropped.</p>}
      {count <= 0 ? <p class="faint">{!has_begun ? 'It has not started.' : op.ended_at ? `It wrote nothing to ${name}.` : 'Nothing written yet.'}</p> : (
        <div class="output" style={{ height: `${Math.min(24, Math.max(3, count)) * line_height + 16}px` }}>
          <Virtual label={`Output, ${name}`} role="log" wide count={count} row_height={line_height} focus={at} follow={!words} render={(i) => <OutputLine key={i} line={lines[i]!} number={tail!.reader.numbers[i]!} is_hit={i === at} />} />
        </div>
      )}
    </section>
  );
}
