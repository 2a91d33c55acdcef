// The configuration that quelld runs with, and its reload: what changed, or why nothing did.
import { useState } from 'preact/hooks';
import { get_text, post, words_of } from '../api/client.ts';
import { count } from '../model/format.ts';
import { Copy, Loading, Trouble } from '../parts/small.tsx';
import { use_resource } from '../state/resource.ts';

type Reload = { state: 'none' | 'running' } | { state: 'done'; changed: string[] } | { state: 'refused'; words: string };

function Outcome({ of }: { of: Reload }) {
  if (of.state === 'refused') return <Trouble words={`Nothing was changed. ${of.words}`} />;
  return (
    <div role="status">
      {of.state === 'running' && 'Reading the configuration…'}
      {of.state === 'done' && of.changed.length === 0 && 'Read again: nothing has changed.'}
      {of.state === 'done' && of.changed.length > 0 && <>{count(of.changed.length, 'setting')} changed: <ul class="plain">{of.changed.map((place) => <li key={place}><code>{place}</code></li>)}</ul></>}
    </div>
  );
}

export function Configuration() {
  const [state, read_again] = use_resource('config', () => get_text('/v1/config'));
  const [outcome, set_outcome] = useState<Reload>({ state: 'none' });
  const { value, trouble } = state.value;
  const reload = async () => {
    set_outcome({ state: 'running' });
    try {
      const { changed } = await post<{ changed: string[] }>('/v1/config/reload', {});
      set_outcome({ state: 'done', changed });
      read_again();
    } catch (error) {
      set_outcome({ state: 'refused', words: words_of(error) });
    }
  };
  return (
    <section class="card configuration">
      <header><h2>Configuration</h2>{value && <Copy text={value} label="Copy" />}<span class="grow" /><button type="button" class="button" disabled={outcome.state === 'running'} onClick={() => void reload()}>Reload configuration</button></header>
      <p class="faint">As <code>quelld --print-config</code> writes it: where secrets are, never what they are. A reload takes all of the file or nothing.</p>
      <Outcome of={outcome} />
      <Trouble words={trouble} retry={read_again} />
      {value === null && !trouble && <Loading what="the configuration" />}
      {value !== null && <pre class="json" tabIndex={0} role="group" aria-label="Configuration as TOML">{value}</pre>}
    </section>
  );
}
