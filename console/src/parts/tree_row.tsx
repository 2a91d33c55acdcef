// Rows of the tree: a scope with its counts, an operation with what matters of it.
import type { ComponentChildren } from 'preact';
import { plain } from '../model/format.ts';
import { outcome_words } from '../model/outcome.ts';
import { link, operation_link } from '../model/route.ts';
import { beside, is_terminal, type TreeNode } from '../model/tree.ts';
import { brief_room, choose_box, operation_columns, stop_button } from './columns.tsx';
import { Dot, op_title } from './small.tsx';

interface RowProps {
  node: TreeNode;
  is_focused: boolean;
  toggle: () => void;
  stop: () => void;
}

// What a row is made of are functions, not components: a list that is scrolled makes a thousand of them a second, and each component keeps books.

function twist(node: TreeNode, toggle: () => void, name: string) {
  if (node.operation && node.children === 0 && node.nodes.length === 0) return <span class="twist" />;
  return <button type="button" class="twist" tabIndex={-1} aria-label={`${node.is_open ? 'Close' : 'Open'} ${name}`} onClick={toggle}>{node.is_open ? '▾' : '▸'}</button>;
}

/** The id of its element, for aria-activedescendant. */
export function row_id(key: string): string {
  return `row-${key}`;
}

/** `is_chosen`: undefined for what nobody can choose. `room`: before its children, for what does not stand there. */
function row({ node, is_focused, is_chosen, classes, room = 0 }: { node: TreeNode; is_focused: boolean; is_chosen?: boolean; classes: string; room?: number }, children: ComponentChildren) {
  const has_more = !node.operation || node.children > 0 || node.nodes.length > 0;
  return (
    <div
      key={node.key} id={row_id(node.key)} class={`row ${classes}${is_focused ? ' focused' : ''}`} role="treeitem" aria-level={node.depth + 1} aria-setsize={beside(node)} aria-posinset={node.place}
      {...(is_chosen === undefined ? {} : { 'aria-selected': is_chosen })} {...(has_more ? { 'aria-expanded': node.is_open } : {})}
    >
      <span class="indent" style={{ width: `${Math.min(node.depth, 24) * 18 + room}px` }} />
      {children}
    </div>
  );
}

export function ScopeRow({ node, is_focused, toggle, stop }: RowProps) {
  const name = node.scope.slice(node.scope.lastIndexOf('/') + 1);
  return row({ node, is_focused, classes: 'row-scope' }, (
    <>
      {twist(node, toggle, node.scope)}
      <a class="row-title" href={link('/tree', { scope: node.scope })} title={node.scope}>{name}</a>
      <span class="grow" />
      {node.cancelling > 0 && <span class="pill st-cancelling">{node.cancelling.toLocaleString('en')} cancelling</span>}
      <span class="pill num">{node.children.toLocaleString('en')} live</span>
      {stop_button(`scope ${node.scope}`, stop)}
    </>
  ));
}

/** While it is scrolled past: its title, in its place. */
export function brief_row(node: TreeNode, is_focused: boolean, can_choose: boolean) {
  const op = node.operation!;
  return row({ node, is_focused, classes: `row-op is-${op.status}`, room: brief_room(can_choose) + 32 }, <a class="row-title" href={operation_link(op.id)}>{op_title(op)}</a>);
}

/** `choose`: null for whoever may not stop. */
export function OperationRow({ node, is_focused, is_chosen, toggle, stop, choose }: RowProps & { is_chosen: boolean; choose: (() => void) | null }) {
  const op = node.operation!;
  const title = op_title(op);
  const over = is_terminal(op.status);
  const detail = op.status === 'cancelling' ? `${plain(op.stop?.cause ?? 'cancel')}, not proven yet` : op.unreachable ? 'worker silent' : outcome_words(op);
  return row({ node, is_focused, ...(choose ? { is_chosen } : {}), classes: `row-op is-${op.status}${over ? ' over' : ''}${is_chosen ? ' chosen' : ''}` }, (
    <>
      {twist(node, toggle, title)}
      {choose && choose_box(op, is_chosen, choose)}
      {Dot({ status: op.status })}
      <a class="row-title" href={operation_link(op.id)} title={title}>{title}</a>
      {node.children > 0 && <span class="pill num">{node.below.toLocaleString('en')} below</span>}
      <span class="row-detail" title={detail}>{detail}</span>
      <span class="grow" />
      {operation_columns({ op, stop })}
    </>
  ));
}
