// What has been used today, for the first page.
import { effect, signal } from '@preact/signals';
import { get } from '../api/client.ts';
import type { CostPage } from '../api/types.ts';
import { cost_of_today } from '../model/cost.ts';
import { session_state } from './session.ts';

/** null: unknown, or not for this token to see. */
export const cost_today = signal<number | null>(null);

const look_ms = 30_000;

async function look(): Promise<void> {
  if (session_state.value !== 'in' || document.hidden) return;
  try {
    cost_today.value = cost_of_today(await get<CostPage>('/v1/cost?by=day'));
  } catch {
    cost_today.value = null; // what is wrong with the server is shown elsewhere
  }
}

/** Looks while somebody watches. */
export function watch_cost(): () => void {
  const end = effect(() => {
    if (session_state.value === 'in') void look();
  });
  const timer = setInterval(() => void look(), look_ms);
  return () => {
    clearInterval(timer);
    end();
  };
}
