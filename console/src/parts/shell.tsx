// A command as it is typed in a shell, with its parts told apart, and nothing hidden in it.
import { revealed } from '../model/format.ts';
import { shell_pieces } from '../model/shell.ts';

/** `of`: what a screen reader calls it; '' = nothing. */
export function Shell({ text, of = '', tall = true }: { text: string; of?: string; tall?: boolean }) {
  return (
    <pre class={tall ? 'command' : 'command task-command'} tabIndex={0} {...(of ? { role: 'group' as const, 'aria-label': of } : {})}>
      <span class="prompt" aria-hidden="true">$ </span>
      {shell_pieces(revealed(text)).map((piece, i) => (piece.is === 'plain' ? piece.text : <span key={i} class={`sh-${piece.is}`}>{piece.text}</span>))}
    </pre>
  );
}
