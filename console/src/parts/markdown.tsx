// Markdown as elements. What has not changed is the same element as before, so a word that is added touches the last block alone.
import type { ComponentChildren, VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { Inline } from '../model/inline.ts';
import { GrowingMarkdown, type Block } from '../model/markdown.ts';

function words(of: readonly Inline[]): ComponentChildren {
  return of.map((one) => {
    if (typeof one === 'string') return one;
    if (one.is === 'code') return <code>{one.text}</code>;
    if (one.is === 'strong') return <strong>{words(one.of)}</strong>;
    if (one.is === 'em') return <em>{words(one.of)}</em>;
    return <a href={one.href} title={one.href} target="_blank" rel="noopener noreferrer">{words(one.of)}</a>;
  });
}

function made(block: Block): VNode {
  switch (block.is) {
    case 'paragraph': return <p>{words(block.of)}</p>;
    case 'heading': return <p class={`heading heading-${Math.min(3, block.level)}`} role="heading" aria-level={Math.min(6, block.level + 2)}>{words(block.of)}</p>;
    case 'code': return <pre class="code-block" tabIndex={0} {...(block.language ? { 'data-language': block.language } : {})}><code>{block.text}</code></pre>;
    case 'quote': return <blockquote>{block.of.map(drawn)}</blockquote>;
    case 'rule': return <hr />;
    case 'table': return table(block);
    case 'list': {
      const items = block.items.map((item) => <li>{item.map(drawn)}</li>);
      return block.first === null ? <ul>{items}</ul> : <ol start={block.first}>{items}</ol>;
    }
  }
}

function table({ aligns, head, rows }: Block & { is: 'table' }): VNode {
  const align = (column: number) => (aligns[column] ? { class: `align-${aligns[column]}` } : {});
  return (
    <div class="table-box scroll" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead><tr>{head.map((cell, i) => <th scope="col" {...align(i)}>{words(cell)}</th>)}</tr></thead>
        <tbody>{rows.map((row) => <tr>{row.map((cell, i) => <td {...align(i)}>{words(cell)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

const elements = new WeakMap<Block, VNode>();

function drawn(block: Block): VNode {
  const element = elements.get(block) ?? made(block);
  elements.set(block, element);
  return element;
}

/** `is_written`: more of it comes. */
export function Markdown({ text, is_written = false }: { text: string; is_written?: boolean }) {
  const reader = useRef<GrowingMarkdown | null>(null);
  reader.current ??= new GrowingMarkdown();
  const blocks = reader.current.read(text);
  return <div class={`said drawn${is_written ? ' is-written' : ''}`}>{blocks.map(drawn)}{is_written && blocks.length === 0 && <p />}</div>;
}
