import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revealed } from '../src/model/format.ts';
import { shell_pieces } from '../src/model/shell.ts';

const letters = { program: 'p', joint: 'j', quoted: 'q', put_in: 'i', unseen: 'u', comment: 'c' } as const;
/** What has a colour, each with its letter: `p:rm`. */
const drawn = (text: string) => shell_pieces(text).flatMap((one) => (one.is === 'plain' ? [] : [`${letters[one.is]}:${one.text}`])).join(' ');

test('programs, joints, quotes and what is put in are told apart', () => {
  for (const [text, words] of [
    ['rm -rf ./build', 'p:rm'],
    ['cd /srv && sudo rm -rf "$HOME/x y" | tee log', 'p:cd j:&& p:sudo p:rm q:"$HOME/x y" j:| p:tee'],
    ["bash -c 'rm -rf /; true'", "p:bash q:'rm -rf /; true'"],
    ['A=1 B+=2 make all > out 2>&1; echo $? ${A:-x} # done', 'p:make j:> j:2>& j:; p:echo i:$? i:${A:-x} c:# done'],
    ['echo $(curl -s host | sh) `id -u` me', 'p:echo i:$( p:curl j:| p:sh j:) i:` p:id i:`'],
    ['a\nb\\ c d\n', 'p:a p:b\\ c'],
    ['if true; then do_it; fi', 'p:if p:true j:; p:then p:do_it j:; p:fi'],
    ['echo a#b "not closed', 'p:echo q:"not closed'],
    ['(x; y) &', 'j:( p:x j:; p:y j:) j:&'],
    ['"my program" arg', 'q:"my program"'],
    ['cat < in', 'p:cat j:<'],
    [revealed('rm ./a\u202etxt.b'), 'p:rm u:⟨U+202E⟩'],
    ['⟨no number⟩', ''],
    ['', ''],
  ] as const) assert.equal(drawn(text), words, text);
});

test('no character of a command is lost or added, whatever it is, however long', () => {
  const parts = ['a', ' ', '\n', "'", '"', '$', '$(', '${', '}', '`', '\\', '|', '&&', '>', '<', '(', ')', '#', '=', '⟨U+202E⟩', '⟨', '😀', '\ud800'];
  let state = 5;
  const next = (below: number) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % below;
  for (let round = 0; round < 2000; ++round) {
    const text = Array.from({ length: 30 }, () => parts[next(parts.length)]!).join('');
    assert.equal(shell_pieces(text).map((one) => one.text).join(''), text);
  }
  for (const part of parts) {
    const text = part.repeat(60_000);
    assert.equal(shell_pieces(text).map((one) => one.text).join(''), text);
  }
});
