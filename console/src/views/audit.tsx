// The audit: who did what, newest first. The API counts from the oldest, so the end is found by halving.
import { get } from '../api/client.ts';
import type { AuditEntry } from '../api/types.ts';
import { find_end } from '../model/audit.ts';
import { plain } from '../model/format.ts';
import { cancel_link } from '../model/route.ts';
import { Empty, Loading, Page, Trouble, When } from '../parts/small.tsx';
import { use_many } from '../state/many.ts';
import { use_resource } from '../state/resource.ts';

const page_size = 100, most_in_page = 1000;

interface AuditData {
  action?: string;
  target?: unknown;
  by?: { id?: string; name?: string };
  via?: { channel?: string; token?: string };
  reason?: string;
}

const page = (after: number, limit: number) => get<{ audit: AuditEntry[] }>(`/v1/audit?after=${after}&limit=${limit}`);

async function last_entries(many: number): Promise<{ entries: AuditEntry[]; end: number }> {
  const end = await find_end(async (after) => (await page(after, 1)).audit.length > 0);
  const entries: AuditEntry[] = [];
  for (let after = Math.max(0, end - many); after < end; ) {
    const { audit } = await page(after, most_in_page);
    if (audit.length === 0) break;
    entries.push(...audit);
    after = audit.at(-1)!.n;
  }
  return { entries: entries.reverse(), end };
}

export function AuditView() {
  const many = use_many('audit', page_size, (n) => n * 2);
  const [state, reload] = use_resource('audit', () => last_entries(many.current), { every_ms: 15_000 });
  const { value, trouble } = state.value;
  return (
    <Page title="Audit" actions={<span class="faint">Whole and checked: <code>quell audit verify</code></span>}>
      <Trouble words={trouble} retry={reload} />
      {!value && !trouble && <Loading what="the audit" />}
      {value?.entries.length === 0 && <Empty title="Nothing recorded yet">Stops, tokens, workers and sign-ins are recorded here.</Empty>}
      {value && value.entries.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Table"><table>
          <thead><tr><th>N</th><th>When</th><th>Who</th><th>Did</th><th>To</th><th>Via</th></tr></thead>
          <tbody>
            {value.entries.map((e) => {
              const data = e.data as AuditData;
              return (
                <tr key={e.n}>
                  <td class="num faint">{e.n}</td><td><When at={e.at} how="clock" /></td><td>{data.by?.name || data.by?.id || '–'}</td><td>{plain(data.action ?? '')}</td>
                  <td class="wide">{e.cancel ? <a href={cancel_link(e.cancel)}>{text_of(data.target)}</a> : text_of(data.target)}{data.reason && <span class="faint"> “{data.reason}”</span>}</td>
                  <td class="faint">{[data.via?.channel, data.via?.token].filter(Boolean).join(' · ') || (typeof data.via === 'string' ? data.via : '')}</td>
                </tr>
              );
            })}
          </tbody>
        </table></div>
      )}
      {value && value.end > value.entries.length && value.entries.length >= many.current && <button type="button" class="button" onClick={() => (many.grow(), reload())}>Older</button>}
    </Page>
  );
}

function text_of(target: unknown): string {
  return typeof target === 'string' ? target : target ? JSON.stringify(target) : '–';
}
