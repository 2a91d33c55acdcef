// What a stop was meant for, in words; one operation by its title, which is read when the words are in sight.
import { useEffect, useRef } from 'preact/hooks';
import type { Cancel } from '../api/types.ts';
import { target_words } from '../model/report.ts';
import { title_of, want_title } from '../state/titles.ts';

const operations = new WeakMap<Element, string>();
const in_sight = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) want_title(operations.get(target)!);
});

export function StopTarget({ cancel }: { cancel: Cancel }) {
  const words = useRef<HTMLSpanElement>(null);
  const { operation } = cancel.target;
  useEffect(() => {
    const el = words.current;
    if (!operation || !el) return;
    operations.set(el, operation);
    in_sight.observe(el);
    return () => in_sight.unobserve(el);
  }, [operation]);
  return <span ref={words}>{target_words(cancel, operation ? title_of(operation) : '')}</span>;
}
