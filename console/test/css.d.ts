/** The text of the file: test.mjs loads it so. */
declare module '*.css' {
  const text: string;
  export default text;
}
