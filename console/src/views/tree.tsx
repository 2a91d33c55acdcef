// The live tree, by scope or by parent; with a search, a flat list of what matches.
import { useEffect, useMemo } from 'preact/hooks';
import { shown } from '../model/format.ts';
import { beside, is_terminal, type TreeNode } from '../model/tree.ts';
import { is_empty, owner_of, parse_search, term } from '../model/search.ts';
import { Chosen, use_choice } from '../parts/choice.tsx';
import { use_kept_rows } from '../parts/kept_rows.ts';
import { use_mark } from '../parts/mark.ts';
import { SearchBox, SavedViews } from '../parts/search_box.tsx';
import { Empty, Loading, Page, Trouble } from '../parts/small.tsx';
import { brief_row, OperationRow, row_id, ScopeRow } from '../parts/tree_row.tsx';
import { Virtual } from '../parts/virtual.tsx';
import { go, route, set_query } from '../state/router.ts';
import { is_within, may } from '../state/session.ts';
import { ask_to_stop } from '../state/stopping.ts';
import { leave_tree, take_up_tree } from '../state/kept_trees.ts';
import { use_keys } from '../state/keys.ts';
import { link, operation_link } from '../model/route.ts';
import { OperationList } from './operation_list.tsx';

export const row_height = 34;

/** Stop for whatever a row is. */
export function stop_node(at: TreeNode): void {
  if (at.operation) ask_to_stop({ what: 'operation', id: at.operation.id, title: at.operation.title });
  else ask_to_stop({ what: 'scope', scope: at.scope });
}

function Tree({ by, scope }: { by: 'scope' | 'parent'; scope: string }) {
  const tree = useMemo(() => take_up_tree(by, scope), [by, scope]);
  useEffect(() => () => leave_tree(tree), [tree]);
  const choice = use_choice();
  const keep = use_kept_rows();
  const can_stop = may.cancel.value;
  void tree.version.value;
  const rows = tree.model.rows();
  const root = tree.model.root;
  const mark = use_mark(rows.length, (place) => rows[place]!.key);
  const at = () => rows[mark.place];
  const row = (one: TreeNode, is_focused: boolean, is_brief: boolean) => {
    const { operation: op } = one;
    if (op && is_brief) return brief_row(one, is_focused, can_stop);
    const is_chosen = op !== null && choice.ids.value.has(op.id);
    const toggle = () => (tree.toggle(one), mark.put(one.key));
    const stop = () => stop_node(one);
    return keep(one.key, [one, op, one.children, one.below, one.cancelling, one.is_open, one.nodes.length > 0, one.place, beside(one), is_focused, is_chosen, can_stop], () => op
      ? <OperationRow key={one.key} node={one} is_focused={is_focused} is_chosen={is_chosen} toggle={toggle} stop={stop} choose={can_stop ? () => choice.toggle(op.id) : null} />
      : <ScopeRow key={one.key} node={one} is_focused={is_focused} toggle={toggle} stop={stop} />);
  };
  use_keys({
    j: () => mark.move(1),
    k: () => mark.move(-1),
    l: () => at() && tree.toggle(at()!, true),
    h: () => at() && (at()!.is_open ? tree.toggle(at()!, false) : at()!.above !== root && mark.put(at()!.above!.key)),
    x: () => can_stop && at()?.operation && choice.toggle(at()!.operation!.id),
    c: () => {
      if (!can_stop) return;
      if (choice.ids.value.size) choice.stop();
      else if (at() && !(at()!.operation && is_terminal(at()!.operation!.status))) stop_node(at()!);
    },
    Enter: () => at() && (at()!.operation ? go(operation_link(at()!.operation!.id)) : tree.toggle(at()!)),
  });
  // Rows that come into view bring the rest of their list.
  const ranged = (_: number, last: number) => {
    const seen = rows[Math.min(last, rows.length) - 1];
    for (let one: TreeNode | null = seen ?? root; one; one = one.above) if (one.cursor && last >= rows.length - 20) void tree.load(one);
    if (seen?.above?.cursor) void tree.load(seen.above);
  };
  if (tree.is_loading.value) return <Loading what="the live tree" />;
  return (
    <>
      <Trouble words={tree.trouble.value} retry={() => void tree.reload()} />
      <div class="tree-count">
        {root.is_loaded && <><b class="num" data-live={root.children}>{root.children.toLocaleString('en')}</b> live</>}{root.cancelling > 0 && <span class="tone-stop"> · {root.cancelling.toLocaleString('en')} cancelling</span>}
        <Chosen choice={choice} />
      </div>
      {rows.length === 0 ? root.is_loaded && (
        <Empty title="Nothing lives here">Start something, for example <code>quell run --scope demo -- sleep 60</code>, and it appears.</Empty>
      ) : (
        <Virtual
          label="Live operations" role="tree" count={rows.length} row_height={row_height} focus={mark.place} focus_key={mark.key} active={row_id(mark.key)} is_multiselectable={can_stop} place={`tree ${by} ${scope}`} on_range={ranged}
          has_brief render={(i, is_brief) => row(rows[i]!, i === mark.place, is_brief)}
        />
      )}
    </>
  );
}

export function TreeView() {
  const { query } = route.value;
  const text = query.get('q') ?? '';
  const by = query.get('by') === 'parent' ? 'parent' : 'scope';
  const scope = query.get('scope') ?? '';
  const search = parse_search(text);
  // A stop reaches all of its target, so it is offered only where all of it is what is shown.
  const owned = owner_of(search, scope);
  const stop_owner = owned && <button type="button" class="button danger" onClick={() => ask_to_stop({ what: 'owner', ...owned })}>Stop all of {owned.owner}…</button>;
  const stop_scope = scope && is_empty(search) && <button type="button" class="button danger" onClick={() => ask_to_stop({ what: 'scope', scope })}>Stop {shown(scope)}…</button>;
  return (
    <Page tall title={scope ? <><a href={link('/tree', { by: query.get('by') ?? undefined })}>Live</a> <span class="faint">/</span> {shown(scope)}</> : 'Live'} actions={may.cancel.value && is_within(scope) && (stop_owner || stop_scope)}>
      <div class="toolbar">
        <SearchBox value={text} on_change={(value) => set_query('q', value)} hint="Search: words, kind:task status:running worker:w1 owner:alice label:pr=1" />
        <div class="switch" role="group" aria-label="Tree by">
          {(['scope', 'parent'] as const).map((one) => <button type="button" key={one} aria-pressed={by === one} onClick={() => set_query('by', one === 'scope' ? '' : one)}>By {one}</button>)}
        </div>
        <SavedViews />
      </div>
      {is_empty(search) ? <Tree key={`${by} ${scope}`} by={by} scope={scope} /> : <OperationList text={scope ? `${text} ${term('scope', scope)}` : text} which="live" />}
    </Page>
  );
}
