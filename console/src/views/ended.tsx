// Ended work: searched by time, status, error, label, owner and words.
import { SavedViews, SearchBox } from '../parts/search_box.tsx';
import { Page } from '../parts/small.tsx';
import { route, set_query } from '../state/router.ts';
import { OperationList } from './operation_list.tsx';

const shortcuts = [['Last hour', 'ended:1h'], ['Last day', 'ended:24h'], ['Failed', 'status:failed'], ['Cancelled', 'status:cancelled'], ['Timed out', 'error:timeout'], ['Worker lost', 'error:worker_lost']] as const;

export function EndedView() {
  const text = route.value.query.get('q') ?? '';
  const has = (part: string) => ` ${text} `.includes(` ${part} `);
  const toggle = (part: string) => set_query('q', has(part) ? ` ${text} `.replace(` ${part} `, ' ').trim() : `${text} ${part}`.trim());
  return (
    <Page tall title="Ended">
      <div class="toolbar">
        <SearchBox value={text} on_change={(value) => set_query('q', value)} hint="Search: words, ended:2h since:2026-11-20 until:2026-11-21 error:timeout owner:alice label:pr=1 scope:team" />
        <SavedViews />
      </div>
      <div class="chips">{shortcuts.map(([name, part]) => <button type="button" key={part} class="chip" aria-pressed={has(part)} onClick={() => toggle(part)}>{name}</button>)}</div>
      <OperationList text={text} which="ended" />
    </Page>
  );
}
