// The icons of the navigation, as paths of 16 by 16.

const paths = {
  home: 'M2.5 7.5 8 3l5.5 4.5V13a.5.5 0 0 1-.5.5H9.75V10h-3.5v3.5H3a.5.5 0 0 1-.5-.5z',
  tree: 'M2.5 3.5h4v3h-4zM9.5 3.5h4v3h-4zM9.5 9.5h4v3h-4zM6.5 5h3M8 5v6h1.5',
  stop: 'M4.5 4.5h7v7h-7z',
  ended: 'M8 4.5V8l2.5 1.5M13.5 8A5.5 5.5 0 1 1 8 2.5 5.5 5.5 0 0 1 13.5 8z',
  chat: 'M3 3.5h10a.5.5 0 0 1 .5.5v6.5a.5.5 0 0 1-.5.5H7.5L4.5 13.5V11H3a.5.5 0 0 1-.5-.5V4a.5.5 0 0 1 .5-.5z',
  workers: 'M3 3h10v4H3zM3 9h10v4H3zM5 5h.01M5 11h.01',
  cluster: 'M2.5 13.5h11M4.5 13V9.5M8 13V5.5M11.5 13V7.5',
  cost: 'M8 13.5A5.5 5.5 0 1 1 8 2.5a5.5 5.5 0 0 1 0 11zM10 6.2C9.6 5.5 8.9 5.2 8 5.2c-1.1 0-2 .5-2 1.4 0 2 4 .8 4 2.8 0 .9-.9 1.4-2 1.4-.9 0-1.6-.3-2-1M8 4.2v1M8 10.8v1',
  audit: 'M4 2.5h6L12.5 5v8.5H4zM6 7h4.5M6 9h4.5M6 11h3',
  tokens: 'M10 9.5A3.5 3.5 0 1 0 6.7 7L2.5 11.2v2.3h2.3V12h1.5v-1.5h1.5l.7-1.2c.5.13 1 .2 1.5.2zM10.75 5.25h.01',
  out: 'M9.5 3.5H13v9H9.5M2.5 8h7M6.5 5 9.5 8l-3 3',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
} as const;
export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d={paths[name]} /></svg>;
}
