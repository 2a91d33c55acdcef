// A flat list of operations that match a search, page by page: live ones as they change, ended ones as they are.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { get, words_of_repeated } from '../api/client.ts';
import { heard, listen, resync } from '../api/feed.ts';
import type { Operation } from '../api/types.ts';
import { plain } from '../model/format.ts';
import { with_changes, with_page } from '../model/listing.ts';
import { operation_link } from '../model/route.ts';
import { belongs, matches, parse_search, request_of } from '../model/search.ts';
import { is_terminal } from '../model/tree.ts';
import { Chosen, use_choice } from '../parts/choice.tsx';
import { ChooseBox, OperationColumns } from '../parts/columns.tsx';
import { use_kept_rows } from '../parts/kept_rows.ts';
import { use_mark } from '../parts/mark.ts';
import { Dot, Empty, Loading, op_title, Trouble } from '../parts/small.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { use_keys } from '../state/keys.ts';
import { go } from '../state/router.ts';
import { may } from '../state/session.ts';
import { ask_to_stop, saw } from '../state/stopping.ts';

const page_size = 200;
const most_rows = 20_000;
/** What does not match any more is shown for a moment, as in the tree. */
const shown_after_end_ms = 4000;
const sweep_ms = 1000;

interface Found {
  rows: readonly Operation[];
  cursor: string | null;
  is_loading: boolean;
  trouble: string;
}

/** A bad word in the search is an answer of the server, shown as it is. */
function use_operations(text: string, which: 'live' | 'ended') {
  const state = useSignal<Found>({ rows: [], cursor: null, is_loading: true, trouble: '' });
  const search = parse_search(text);
  /** What events said since a page was asked for: the page may be older than that. */
  const meanwhile = useRef<Map<string, Operation> | null>(null);
  const rows_to_leave = useRef(new Map<string, number>()); // and when they leave
  const is_here = (op: Operation, is_listed: boolean) => belongs(search, op, which, Date.now(), is_listed);
  const load = async (cursor: string | null, is_wanted: () => boolean) => {
    const heard_since = (meanwhile.current = new Map());
    try {
      const query = request_of(search, which, Date.now());
      query.set('limit', String(page_size));
      if (cursor) query.set('cursor', cursor);
      const page = await get<{ operations: Operation[]; next_cursor: string | null }>(`/v1/operations?${query}`);
      if (!is_wanted()) return;
      for (const op of page.operations) saw(op.seq);
      const rows = with_page(cursor ? state.value.rows : [], page.operations.filter((op) => matches(search, op)));
      const next = with_changes({ rows, has_more: page.next_cursor !== null }, heard_since, is_here);
      for (const id of next.leaving) rows_to_leave.current.set(id, Date.now() + shown_after_end_ms);
      state.value = { rows: next.rows, cursor: rows.length < most_rows ? page.next_cursor : null, is_loading: false, trouble: '' };
    } catch (error) {
      if (is_wanted()) state.value = { ...state.value, is_loading: false, trouble: words_of_repeated(error) };
    }
  };
  useEffect(() => {
    let is_mine = true;
    const leaving = rows_to_leave.current;
    leaving.clear();
    state.value = { rows: [], cursor: null, is_loading: true, trouble: '' };
    void heard().then(() => load(null, () => is_mine));
    const unlisten = listen((batch) => {
      const changed = new Map<string, Operation>();
      for (const event of batch) if (event.operation && event.type.startsWith('operation_')) changed.set(event.operation, event.data as Operation);
      if (state.value.is_loading) for (const [id, op] of changed) meanwhile.current?.set(id, op);
      const { rows, cursor } = state.value;
      const next = with_changes({ rows, has_more: cursor !== null }, changed, is_here);
      for (const id of changed.keys()) leaving.delete(id);
      for (const id of next.leaving) leaving.set(id, Date.now() + shown_after_end_ms);
      if (next.rows === rows) return;
      for (const op of next.rows) if (changed.has(op.id)) saw(op.seq);
      state.value = { ...state.value, rows: next.rows.slice(0, most_rows) };
    });
    const sweeper = setInterval(() => {
      const gone = new Set([...leaving].filter(([, at]) => at <= Date.now()).map(([id]) => id));
      if (gone.size === 0) return;
      for (const id of gone) leaving.delete(id);
      state.value = { ...state.value, rows: state.value.rows.filter((op) => !gone.has(op.id)) };
    }, sweep_ms);
    const seen = resync.value;
    const unsubscribe = resync.subscribe((n) => n !== seen && void ((state.value = { ...state.value, is_loading: true }), load(null, () => is_mine)));
    return () => {
      is_mine = false;
      clearInterval(sweeper);
      unlisten();
      unsubscribe();
    };
  }, [text, which]);
  const more = () => {
    if (!state.value.cursor || state.value.is_loading) return;
    state.value = { ...state.value, is_loading: true };
    void load(state.value.cursor, () => true);
  };
  return { state, more };
}

interface RowProps {
  op: Operation;
  is_focused: boolean;
  is_chosen: boolean;
  choose: (() => void) | null; // null: nothing of this list can be stopped
}

const stop_one = (op: Operation) => ask_to_stop({ what: 'operation', id: op.id, title: op.title });

function ListRow({ op, is_focused, is_chosen, choose }: RowProps) {
  const title = op_title(op);
  const outcome = op.error ? `${op.error.code}: ${op.error.message}` : op.stop?.receipt ? `${plain(op.stop.receipt)}, proof: ${plain(op.stop.proof ?? 'none')}` : (op.waiting_for?.detail ?? '');
  return (
    <div class={`row row-op is-${op.status}${is_focused ? ' focused' : ''}${is_chosen ? ' chosen' : ''}`} role="listitem">
      {choose && <ChooseBox op={op} is_chosen={is_chosen} choose={choose} />}
      <Dot status={op.status} />
      <a class="row-title" href={operation_link(op.id)} title={title}>{title}</a>
      <span class="col scope" title={op.scope}>{op.scope}</span>
      <span class="row-detail" title={outcome}>{outcome}</span>
      <span class="grow" />
      <OperationColumns op={op} when stop={choose && (() => stop_one(op))} />
    </div>
  );
}

export function OperationList({ text, which }: { text: string; which: 'live' | 'ended' }) {
  const { state, more } = use_operations(text, which);
  const choice = use_choice();
  const keep = use_kept_rows();
  const { rows, is_loading, trouble, cursor } = state.value;
  const mark = use_mark(rows.length, (place) => rows[place]!.id);
  const at = () => rows[mark.place];
  const can_stop = which === 'live' && may.cancel.value;
  use_keys({
    j: () => mark.move(1),
    k: () => mark.move(-1),
    Enter: () => at() && go(operation_link(at()!.id)),
    x: () => at() && can_stop && choice.toggle(at()!.id),
    c: () => {
      const op = at();
      if (!can_stop) return;
      if (choice.ids.value.size) choice.stop();
      else if (op && !is_terminal(op.status)) stop_one(op);
    },
  });
  if (trouble) return <Trouble words={trouble} />;
  if (rows.length === 0 && is_loading) return <Loading what="operations" />;
  if (rows.length === 0) return <Empty title="Nothing matches">{cursor ? <button type="button" class="button" onClick={more}>Look further back</button> : 'Take a word out of the search.'}</Empty>;
  const row = (op: Operation, is_focused: boolean) => {
    const is_chosen = choice.ids.value.has(op.id);
    return keep(op.id, [op, is_focused, is_chosen, can_stop], () =>
      <ListRow key={op.id} op={op} is_focused={is_focused} is_chosen={is_chosen} choose={can_stop ? () => choice.toggle(op.id) : null} />);
  };
  return (
    <>
      {choice.ids.value.size > 0 && <div class="tree-count"><Chosen choice={choice} /></div>}
      <Virtual
        label={which === 'live' ? 'Live operations' : 'Ended operations'} count={rows.length} row_height={34} focus={mark.place} focus_key={mark.key}
        on_range={(_, last) => last >= rows.length - 10 && more()} render={(i) => row(rows[i]!, i === mark.place)}
      />
    </>
  );
}
