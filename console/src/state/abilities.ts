// What this server offers beside the rest, by its own OpenAPI document: read once for each sign-in.
import { computed, effect, signal } from '@preact/signals';
import { get } from '../api/client.ts';
import { session_state } from './session.ts';

const paths = signal<ReadonlySet<string>>(new Set());

export const can_change_history = computed(() => paths.value.has('/v1/history'));

export function begin_abilities(): void {
  effect(() => {
    if (session_state.value !== 'in') return;
    get<{ paths: Record<string, unknown> }>('/v1/openapi.json').then(
      (document) => (paths.value = new Set(Object.keys(document.paths))),
      () => {}, // what it offers beside the rest stays away
    );
  });
}
