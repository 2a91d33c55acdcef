// A flat list of operations that match a search, page by page: live ones as they change, ended ones as they are.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get, words_of } from '../api/client.ts';
import { listen } from '../api/feed.ts';
import type { Operation } from '../api/types.ts';
import { plain } from '../model/format.ts';
import { operation_link } from '../model/route.ts';
import { matches, parse_search, request_of } from '../model/search.ts';
import { is_terminal } from '../model/tree.ts';
import { Dot, Elapsed, Empty, Id, Loading, op_title, Trouble, When } from '../parts/small.tsx';
import { StopButton } from '../parts/tree_row.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { use_keys } from '../state/keys.ts';
import { go } from '../state/router.ts';
import { may } from '../state/session.ts';
import { ask_to_stop, saw } from '../state/stopping.ts';

const page_size = 200;
const most_rows = 20_000;

interface Found {
  rows: Operation[];
  cursor: string | null;
  is_loading: boolean;
  trouble: string;
}

/** A bad word in the search is an answer of the server, shown as it is. */
function use_operations(text: string, which: 'live' | 'ended') {
  const state = useSignal<Found>({ rows: [], cursor: null, is_loading: true, trouble: '' });
  const search = parse_search(text);
  const load = async (cursor: string | null, is_wanted: () => boolean) => {
    try {
      const query = request_of(search, which, Date.now());
      query.set('limit', String(page_size));
      if (cursor) query.set('cursor', cursor);
      const page = await get<{ operations: Operation[]; next_cursor: string | null }>(`/v1/operations?${query}`);
      if (!is_wanted()) return;
      for (const op of page.operations) saw(op.seq);
      const rows = [...(cursor ? state.value.rows : []), ...page.operations.filter((op) => matches(search, op))];
      state.value = { rows, cursor: rows.length < most_rows ? page.next_cursor : null, is_loading: false, trouble: '' };
    } catch (error) {
      if (is_wanted()) state.value = { ...state.value, is_loading: false, trouble: words_of(error) };
    }
  };
  useEffect(() => {
    let is_mine = true;
    state.value = { rows: [], cursor: null, is_loading: true, trouble: '' };
    void load(null, () => is_mine);
    const unlisten = listen((batch) => {
      const changed = new Map<string, Operation>();
      for (const event of batch) if (event.operation && event.type.startsWith('operation_')) changed.set(event.operation, event.data as Operation);
      if (state.value.rows.some((op) => changed.has(op.id))) state.value = { ...state.value, rows: state.value.rows.map((op) => changed.get(op.id) ?? op) };
    });
    return () => {
      is_mine = false;
      unlisten();
    };
  }, [text, which]);
  const more = () => {
    if (!state.value.cursor || state.value.is_loading) return;
    state.value = { ...state.value, is_loading: true };
    void load(state.value.cursor, () => true);
  };
  return { state, more };
}

function ListRow({ op, is_focused, which }: { op: Operation; is_focused: boolean; which: 'live' | 'ended' }) {
  const title = op_title(op);
  const outcome = op.error ? `${op.error.code}: ${op.error.message}` : op.stop?.receipt ? `${plain(op.stop.receipt)}, proof: ${plain(op.stop.proof ?? 'none')}` : (op.waiting_for?.detail ?? '');
  return (
    <div class={`row row-op is-${op.status}${is_focused ? ' focused' : ''}`} role="listitem">
      <Dot status={op.status} />
      <a class="row-title" href={operation_link(op.id)} title={title}>{title}</a>
      <span class="col scope" title={op.scope}>{op.scope}</span>
      <span class="row-detail" title={outcome}>{outcome}</span>
      <span class="grow" />
      <span class="col kind">{plain(op.kind)}</span>
      <span class="col owner" title={op.owner.id}>{op.owner.name || op.owner.id}</span>
      <span class="col worker">{op.worker ?? ''}</span>
      <span class="col status">{plain(op.status)}</span>
      <span class="col age"><Elapsed op={op} /></span>
      <span class="col when"><When at={op.ended_at ?? op.created_at} /></span>
      <span class="col short"><Id id={op.id} /></span>
      {which === 'live' && (is_terminal(op.status) ? <span class="stop-room" /> : <StopButton name={title} stop={() => ask_to_stop({ what: 'operation', id: op.id, title: op.title })} />)}
    </div>
  );
}

export function OperationList({ text, which }: { text: string; which: 'live' | 'ended' }) {
  const { state, more } = use_operations(text, which);
  const focus = useSignal(-1);
  const { rows, is_loading, trouble, cursor } = state.value;
  use_keys({
    j: () => (focus.value = Math.min(rows.length - 1, focus.value + 1)),
    k: () => (focus.value = Math.max(0, focus.value - 1)),
    Enter: () => rows[focus.value] && go(operation_link(rows[focus.value]!.id)),
    c: () => {
      const op = rows[focus.value];
      if (op && which === 'live' && may.cancel.value && !is_terminal(op.status)) ask_to_stop({ what: 'operation', id: op.id, title: op.title });
    },
  });
  if (trouble) return <Trouble words={trouble} />;
  if (rows.length === 0 && is_loading) return <Loading what="operations" />;
  if (rows.length === 0) return <Empty title="Nothing matches">{cursor ? <button type="button" class="button" onClick={more}>Look further back</button> : 'Take a word out of the search.'}</Empty>;
  return (
    <Virtual
      label={which === 'live' ? 'Live operations' : 'Ended operations'} count={rows.length} row_height={34} focus={focus.value}
      on_range={(_, last) => last >= rows.length - 10 && more()} render={(i) => <ListRow key={rows[i]!.id} op={rows[i]!} which={which} is_focused={i === focus.value} />}
    />
  );
}
