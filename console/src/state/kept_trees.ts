// Trees that were left, for whoever comes back: which branches were open. What they show is read again.
import type { TreeModel } from '../model/tree.ts';
import { LiveTree } from './tree.ts';

const most_kept = 4, most_nodes = 20_000;

/** By what they show, the one that was left last at the end. */
const kept = new Map<string, TreeModel>();
const key_of = (by: string, scope: string) => `${by} ${scope}`;

export function take_up_tree(by: 'scope' | 'parent', scope: string): LiveTree {
  const key = key_of(by, scope), before = kept.get(key);
  kept.delete(key); // it belongs to one view at a time
  return new LiveTree(by, scope, before);
}

export function leave_tree(tree: LiveTree): void {
  tree.close();
  const { model } = tree;
  model.rest();
  if (!model.root.is_loaded || model.nodes.size > most_nodes) return;
  kept.set(key_of(model.by, model.root.scope), model);
  if (kept.size > most_kept) kept.delete(kept.keys().next().value!);
}

export function forget_trees(): void {
  kept.clear();
}
