// Stop words in scripts whose letters have several spellings that are one word.
#include <catch2/catch.hpp>

#include "actors/turns/cancel_words.hpp"
#include "actors/turns/word_languages.hpp"

using namespace quell::controller::chat;

TEST_CASE("a word of Arabic or Hebrew stops with and without its vowels, and drawn out") {
  const cancel_words arabic(*words_of_language("ar"), {}), hebrew(*words_of_language("he"), {});
  for (const char* text : {"توقّف", "تَوَقَّف", "توقــف", "تَوَقَّفِي!", "قِف", "كَفَى", "إِلْغَاء", "لا، تَوَقَّف"}) {
    INFO(text);
    CHECK(arabic.find(text, {}));
  }
  for (const char* text : {"עֲצוֹר", "תַּפְסִיק", "בַּטֵּל בבקשה", "לֹא. עצור"}) {
    INFO(text);
    CHECK(hebrew.find(text, {}));
  }
  const cancel_words pointed({{}, {"תַּפְסִיק", "تَوَقَّف"}, {}}, {});
  CHECK(pointed.find("תפסיק", {}) == "תַּפְסִיק"); // as configured
  CHECK(pointed.find("توقف", {}));
  for (const char* text : {"توقفت", "لا تَتَوَقَّف", "ــ", "َ"}) {
    INFO(text);
    CHECK_FALSE(arabic.find(text, {}));
  }
  CHECK_FALSE(cancel_words({{}, {"سأل"}, {}}, {}).find("سئل", {})); // another hamza is another letter
}

TEST_CASE("a Turkish word stops in capitals, which other languages write otherwise") {
  const cancel_words turkish({{}, {"iptal", "bırak", "kes şunu"}, {}}, {});
  for (const char* text : {"İPTAL", "I\u0307PTAL", "IPTAL", "iptal!", "BIRAK", "Bırak", "KES ŞUNU"}) {
    INFO(text);
    CHECK(turkish.find(text, {}));
  }
  CHECK(cancel_words({{}, {"İPTAL"}, {}}, {}).find("iptal", {}));
  CHECK_FALSE(turkish.find("bırakma", {}));
  CHECK_FALSE(turkish.find("ipt\u0307al", {}));
}
