// The spelling of a word without accents, as capitals (ARRETE) and hasty people write it.
#pragma once

#include <string>

namespace quell::controller::chat {

/// `word` without the accents that people leave out. It is decomposed and folded: each letter is followed by its marks.
/// Marks that make another letter stay, because without them it is another word: umlauts and rings of Latin letters,
/// ñ, й, the tones of Vietnamese (two marks on a letter, hook, horn, dot below), marks of other scripts.
std::u32string unaccented(const std::u32string& word);

} // namespace quell::controller::chat
