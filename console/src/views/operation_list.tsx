// A flat list of operations that match a search, page by page: live ones as they change, ended ones as they are.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { get, words_of_repeated } from '../api/client.ts';
import { heard, listen, resync } from '../api/feed.ts';
import type { Operation } from '../api/types.ts';
import { plain } from '../model/format.ts';
import { read_to_with, with_changes, with_page } from '../model/listing.ts';
import { look_back } from '../model/look_back.ts';
import { operation_link } from '../model/route.ts';
import { belongs, matches, parse_search, request_of } from '../model/search.ts';
import { is_terminal } from '../model/tree.ts';
import { Chosen, use_choice } from '../parts/choice.tsx';
import { ChooseBox, OperationColumns } from '../parts/columns.tsx';
import { use_kept_rows } from '../parts/kept_rows.ts';
import { use_mark } from '../parts/mark.ts';
import { Dot, Empty, Loading, op_title, Trouble, When } from '../parts/small.tsx';
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
  read_to: number;
  /** When the oldest operation began that was read, whether it matches or not; '' = unknown. */
  back_to: string;
  /** first: a page is awaited; on: others before it were not enough; limit: a look back has ended at its limit; rest: nothing is awaited. */
  look: 'first' | 'on' | 'limit' | 'rest';
  trouble: string;
}

const nothing_yet: Found = { rows: [], cursor: null, read_to: Infinity, back_to: '', look: 'first', trouble: '' };
const is_looking = ({ look }: Found) => look === 'first' || look === 'on';

/** A bad word in the search is an answer of the server, shown as it is. One call serves one search: its caller has a key. */
function use_operations(text: string, which: 'live' | 'ended') {
  const state = useSignal<Found>(nothing_yet);
  const search = parse_search(text);
  /** What events said since a page was asked for: the page may be older than that. */
  const meanwhile = useRef<Map<string, Operation>>(new Map());
  const rows_to_leave = useRef(new Map<string, number>()); // and when they leave
  const newest_load = useRef(0); // pages of an older one are not shown any more
  const is_here = (op: Operation, is_listed: boolean) => belongs(search, op, which, Date.now(), is_listed);
  const read = async (cursor: string | null) => {
    meanwhile.current = new Map();
    const query = request_of(search, which, Date.now());
    query.set('limit', String(page_size));
    if (cursor) query.set('cursor', cursor);
    return get<{ operations: Operation[]; next_cursor: string | null }>(`/v1/operations?${query}`);
  };
  const load = async (from: string | null) => {
    const mine = ++newest_load.current;
    state.value = { ...state.value, look: 'first' };
    try {
      const how = await look_back(from, read, ({ operations, next_cursor }, cursor) => {
        if (mine !== newest_load.current) return null;
        for (const op of operations) saw(op.seq);
        const before = cursor ? state.value : nothing_yet;
        const found = operations.filter((op) => matches(search, op));
        const read_to = read_to_with(before.read_to, operations, next_cursor === null);
        const next = with_changes({ rows: with_page(before.rows, found), read_to }, meanwhile.current, is_here);
        for (const id of next.leaving) rows_to_leave.current.set(id, Date.now() + shown_after_end_ms);
        state.value = { ...state.value, rows: next.rows, read_to, back_to: operations.at(-1)?.created_at ?? before.back_to, cursor: next.rows.length < most_rows ? next_cursor : null, look: 'on', trouble: '' };
        return found.length;
      });
      if (how !== 'unwanted') state.value = { ...state.value, look: how === 'limit' ? 'limit' : 'rest' };
    } catch (error) {
      if (mine === newest_load.current) state.value = { ...state.value, look: 'rest', trouble: words_of_repeated(error) };
    }
  };
  useEffect(() => {
    let is_over = false;
    const leaving = rows_to_leave.current;
    void heard().then(() => void (is_over || load(null)));
    const unlisten = listen((batch) => {
      const changed = new Map<string, Operation>();
      for (const event of batch) if (event.operation && event.type.startsWith('operation_')) changed.set(event.operation, event.data as Operation);
      if (is_looking(state.value)) for (const [id, op] of changed) meanwhile.current.set(id, op);
      const { rows, read_to } = state.value;
      const next = with_changes({ rows, read_to }, changed, is_here);
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
    const unsubscribe = resync.subscribe((n) => n !== seen && void load(null));
    return () => {
      is_over = true;
      newest_load.current += 1;
      clearInterval(sweeper);
      unlisten();
      unsubscribe();
    };
  }, []);
  const more = () => {
    if (state.value.cursor && !is_looking(state.value)) void load(state.value.cursor);
  };
  const again = () => void load(state.value.cursor);
  return { state, more, again };
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

/** What is known of the rows that are not there: that they are looked for, how far back nothing was found, or that there are too many. */
function Foot({ found, more }: { found: Found; more: () => void }) {
  const { rows, look, back_to } = found;
  const since = back_to && <> to <When at={back_to} how="clock" /></>;
  if (rows.length >= most_rows) return <span class="faint" role="status">These are the newest {most_rows.toLocaleString('en')}: add a word to the search to see others.</span>;
  if (look === 'on') return <span class="faint" role="status">Searched back{since}, and going on…</span>;
  if (look !== 'limit') return null;
  return <span class="faint" role="status">Searched back{since}; there may be more. <button type="button" class="button quiet" onClick={more}>Look further back</button></span>;
}

interface ListProps {
  text: string;
  which: 'live' | 'ended';
}

function List({ text, which }: ListProps) {
  const { state, more, again } = use_operations(text, which);
  const choice = use_choice();
  const keep = use_kept_rows();
  const { rows, look, trouble } = state.value;
  const last_drawn = useRef(0);
  const fill = () => last_drawn.current >= rows.length - 10 && state.value.look === 'rest' && !state.value.trouble && more();
  useEffect(() => void fill(), [look, rows.length]);
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
  if (trouble && rows.length === 0) return <Trouble words={trouble} retry={again} />;
  if (rows.length === 0 && look === 'first') return <Loading what="operations" />;
  if (rows.length === 0 && (look !== 'rest' || state.value.cursor)) return <Empty title="Nothing matches so far"><Foot found={state.value} more={more} /></Empty>;
  if (rows.length === 0) return <Empty title="Nothing matches">Take a word out of the search.</Empty>;
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
        on_range={(_, last) => ((last_drawn.current = last), fill())} render={(i) => row(rows[i]!, i === mark.place)}
      />
      <Foot found={state.value} more={more} />
      <Trouble words={trouble} retry={again} />
    </>
  );
}

/** Another search is another list: its mark, its choice and its pages are its own. */
export function OperationList({ text, which }: ListProps) {
  return <List key={`${which} ${text}`} text={text} which={which} />;
}
