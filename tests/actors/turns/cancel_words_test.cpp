// The rule of cancel words, in both directions.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <rapidcheck.h>

#include "actors/turns/cancel_words.hpp"
#include "actors/turns/word_languages.hpp"

using quell::controller::chat::built_in_words;
using quell::controller::chat::cancel_words;
using quell::controller::chat::known_languages;
using quell::controller::chat::words_of_language;

namespace {

const cancel_words& words() {
  static const cancel_words english({}, {"clanky", "Claude Bot"});
  return english;
}

bool stops(const std::string& text) { return words().find(text, {}).has_value(); }

const std::vector<std::string> strangers{"music",   "the",         "not",         "don't", "stopping", "cancelled",
                                         "we",      "later",       "can",         "you",   "why",      "unstop",
                                         "and",     "stopit",      "okstop",      "bob",   "continue", "1",
                                         "stop-it", "\xD1\x81top", "st\xD0\xBEp", "\xFF",  "(stop)",   "~~stop~~"};

struct sentence {
  std::mt19937& random;
  std::vector<std::string> parts{};

  const std::string& one_of(const std::vector<std::string>& all) {
    return all[std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(random)];
  }
  std::size_t up_to(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); }
  void stop() {
    for (auto left = up_to(3); left > 0; --left)
      parts.push_back(up_to(4) == 0 ? "clanky" : one_of(built_in_words().lead_ins));
    parts.push_back(one_of(built_in_words().words));
    for (auto left = up_to(2); left > 0; --left) parts.push_back(one_of(built_in_words().followers));
  }
  std::string text() {
    std::string all = up_to(3) == 0 ? "  " : "";
    for (std::size_t i = 0; i < parts.size(); ++i)
      all += (i == 0 ? "" : one_of({" ", "  ", ", ", " ,", "\t", "\n", "\xC2\xA0"})) + parts[i];
    for (char& c : all)
      if (c >= 'a' && c <= 'z' && up_to(3) == 0) c = static_cast<char>(c - 32);
    return all + one_of({"", ".", "!", "??", "!?.", " !", "  ", ", "});
  }
};

} // namespace

TEST_CASE("what says stop stops") {
  for (const char* text : {"stop",
                           "STOP!!",
                           "ok, nvm",
                           "just stop it",
                           "please cancel",
                           "hey clanky stop",
                           "forgetit",
                           "forget   it",
                           "never mind.",
                           "Nevermind",
                           "stop please now",
                           "@clanky: stop",
                           "clanky, stop",
                           "claude bot stop",
                           "quit",
                           "abort!",
                           "cancel that",
                           "yeah ok stop this please",
                           "\xE3\x80\x80stop\xE3\x80\x82",
                           "stop\u2026",
                           "stop...",
                           "\U0001F6D1",
                           "\U0001F6D1\U0001F6D1\U0001F6D1",
                           "stop \u23F9\uFE0F",
                           "stop, clanky",
                           "Stop clanky!",
                           "Stop. Stop.",
                           "stop stop STOP",
                           "no, stop",
                           "No. Stop!",
                           "wait, stop it",
                           "ok. stop",
                           "stop! now",
                           "stop. Please stop, clanky.",
                           "st\u200Bop",
                           "\u200F\u202Bstop\u202C",
                           "\uFEFFstop",
                           "oh, actually, just stop, please."}) {
    INFO(text);
    CHECK(stops(text));
  }
}

TEST_CASE("what only sounds like it does not") {
  for (const char* text : {"stop the music",
                           "don't stop",
                           "can you cancel my subscription",
                           "stop worrying about it",
                           "okstop",
                           "cancelled",
                           "continue",
                           "",
                           " ",
                           "...",
                           "ok",
                           "please",
                           "clanky",
                           "it",
                           "no",
                           "no. wait.",
                           "stop. no",
                           "stop? no",
                           "Stop. Go on.",
                           "stop \u2026 no",
                           "\u200B",
                           "it stop",
                           "stop it music",
                           "never",
                           "mind never",
                           "forget",
                           "forget that",
                           "\xD1\x95top",
                           "stop\xE2\x80\xA6 the",
                           "bob stop",
                           "stop?no",
                           ", stop"}) {
    INFO(text);
    CHECK_FALSE(stops(text));
  }
}

TEST_CASE("ten thousand stops are found, and ten thousand near misses are not") {
  std::mt19937 random(20261120);
  for (int i = 0; i < 10'000; ++i) {
    sentence as_configured{random};
    as_configured.stop();
    const auto stop = as_configured.text();
    INFO(stop);
    REQUIRE(stops(stop));
    // One word that is in no list, at any position.
    as_configured.parts.insert(as_configured.parts.begin() +
                                   static_cast<std::ptrdiff_t>(as_configured.up_to(as_configured.parts.size())),
                               as_configured.one_of(strangers));
    const auto miss = as_configured.text();
    INFO(miss);
    REQUIRE_FALSE(stops(miss));
  }
}

TEST_CASE("one letter more or less makes another word of it") {
  for (const auto& word : built_in_words().words)
    for (std::size_t at = 0; at <= word.size(); ++at) {
      auto more = word;
      more.insert(at, "x");
      INFO(more);
      CHECK_FALSE(stops(more));
      if (at == word.size() || word[at] == ' ') continue;
      auto less = word;
      less.erase(at, 1);
      INFO(less);
      CHECK_FALSE(stops(less));
    }
}

TEST_CASE("any bytes are read to an end, and the answer does not depend on the case of letters") {
  REQUIRE(rc::check("bytes", [](const std::string& bytes) {
    auto lower = bytes;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    RC_ASSERT(words().find(bytes, {"Bot"}) == words().find(lower, {"bOT"}));
  }));
}

TEST_CASE("a long paste is not a stop, and costs no more than reading it") {
  std::string oks;
  for (int i = 0; i < 300'000; ++i) oks += "ok ";
  CHECK_FALSE(stops(oks));
  CHECK(stops(oks + "stop"));
  CHECK_FALSE(stops(oks + "stop the music"));
  CHECK_FALSE(stops("stop" + std::string(1'000'000, 'p')));
  CHECK(stops("stop" + std::string(1'000'000, ' ')));
  CHECK_FALSE(stops("stop" + std::string(1'000'000, '!') + "x"));
}

TEST_CASE("configured words of any language come on top of the built-in ones") {
  const cancel_words more({{"also"}, {"h\xC3\xB6r auf", "\xD1\x81\xD1\x82\xD0\xBE\xD0\xBF"}, {"bitte"}}, {});
  CHECK(more.find("H\xC3\x96R AUF!", {}) == "h\xC3\xB6r auf");
  CHECK(more.find("also h\xC3\xB6rauf, bitte", {}) == "h\xC3\xB6r auf");
  CHECK(more.find("\xD0\xA1\xD0\xA2\xD0\x9E\xD0\x9F", {}).has_value());
  CHECK(more.find("stop", {}) == "stop");
  CHECK_FALSE(more.find("bitte h\xC3\xB6r auf", {}).has_value());
}

TEST_CASE("letters are equal however they are composed") {
  const cancel_words more({{}, {"h\u00F6r auf", "\u03C3\u03C4\u03AC\u03C3\u03BF\u03C5\u03C2", "d\u1EEBng"}, {}}, {});
  CHECK(more.find("ho\u0308r auf", {}) == "h\u00F6r auf");
  CHECK(more.find("HO\u0308R AUF", {}) == "h\u00F6r auf");
  CHECK(more.find("\u03A3\u03A4\u0386\u03A3\u039F\u03A5\u03A3", {}).has_value()); // capital and final sigma
  CHECK(more.find("\u03C3\u03C4\u03B1\u0301\u03C3\u03BF\u03C5\u03C3", {}).has_value());
  CHECK(more.find("du\u031B\u0300ng", {}).has_value());
  CHECK(more.find("du\u0300\u031Bng", {}).has_value()); // the accents in another order
  CHECK_FALSE(more.find("hor auf", {}).has_value());
}

TEST_CASE("letters of full width and of other fonts are the letters that they show") {
  for (const char* text :
       {"ＳＴＯＰ", "ｓｔｏｐ！", "ｏｋ，　ｓｔｏｐ　ｉｔ", "ｃｌａｎｋｙ： ｓｔｏｐ", "𝐒𝐓𝐎𝐏", "ⓢⓣⓞⓟ", "ＮＶＭ"}) {
    INFO(text);
    CHECK(stops(text));
  }
  for (const char* text : {"ＳＴＯＰＰＥＤ", "ｓｔｏｐ　ｔｈｅ　ｍｕｓｉｃ", "ｄｏｎ＇ｔ　ｓｔｏｐ", "ｓｔｏｐ－ｉｔ",
                           "（ｓｔｏｐ）", "㋿"}) {
    INFO(text);
    CHECK_FALSE(stops(text));
  }
}

TEST_CASE("a word with accents is known without them, and with others it is another word") {
  const std::map<std::string, std::vector<std::string>> says = {
      {"ar", {"الغاء"}},
      {"el", {"ΣΤΑΜΑΤΑ", "ακυρωση τωρα"}},
      {"es", {"OLVIDALO", "dejalo ya", "ＤＥＪＡＬＯ"}},
      {"fr", {"ARRETE", "arretez maintenant", "ARRETE CA", "S'IL TE PLAIT, ARRETE"}},
      {"pl", {"przestan", "PRZESTAN PROSZE"}},
      {"pt", {"nao, para", "PARA JA"}},
  };
  const std::map<std::string, std::vector<std::string>> says_else = {
      {"de", {"hor auf", "aufhoren", "hört auf"}},
      {"el", {"σταματά", "σταματα τη μουσικη"}},
      {"es", {"olvidaló", "pará", "no lo dejalo"}},
      {"fr", {"arrêté", "arreté", "ârrete", "arrete la musique", "annulé"}},
      {"pl", {"przestań grać", "przestań tó"}},
  };
  for (const auto& [code, texts] : says) {
    const cancel_words own(*words_of_language(code), {});
    for (const auto& text : texts) {
      INFO(code << ": " << text);
      CHECK(own.find(text, {}));
    }
  }
  for (const auto& [code, texts] : says_else) {
    const cancel_words own(*words_of_language(code), {});
    for (const auto& text : texts) {
      INFO(code << ": " << text);
      CHECK_FALSE(own.find(text, {}));
    }
  }
  const cancel_words french(*words_of_language("fr"), {});
  CHECK(french.find("ARRETE", {}) == "arrête"); // as configured
}

TEST_CASE("without its accents a word is not known if another word is written so") {
  const cancel_words vietnamese({{}, {"dừng", "hủy"}, {}}, {});
  CHECK(vietnamese.find("DỪNG", {}));
  CHECK_FALSE(vietnamese.find("dung", {})); // "use", "right"
  CHECK_FALSE(vietnamese.find("huy", {}));
  const cancel_words others({{}, {"стой", "ñam", "ごめ", "ещё нет"}, {}}, {});
  CHECK_FALSE(others.find("стои", {}));
  CHECK_FALSE(others.find("nam", {}));
  CHECK_FALSE(others.find("こめ", {}));
  CHECK(others.find("ЕЩЕ НЕТ", {}));

  const cancel_words collides({{"pare"}, {"paré"}, {}}, {});
  CHECK(collides.find("PARÉ", {}));
  CHECK_FALSE(collides.find("pare", {})); // a lead-in
  CHECK(collides.find("pare, paré", {}) == "paré");
  const cancel_words named({{}, {"basté"}, {}}, {"Baste"});
  CHECK_FALSE(named.find("baste", {})); // the bot's name
}

TEST_CASE("the words of a language stop where it is named, alone and with what goes with them") {
  const std::map<std::string, std::vector<std::string>> says = {
      {"ar", {"توقف", "\u200Fتوقف\u200E، من فضلك!", "لا، توقف"}},
      {"de", {"STOPP!", "Nein, hör auf damit", "HO\u0308R AUF", "bitte abbrechen", "hörauf"}},
      {"el", {"ΣΤΑΜΆΤΑ", "σταμα\u0301τα τώρα", "όχι, στοπ"}},
      {"es", {"Para ya", "por favor, detente", "¡Basta!"}},
      {"fr", {"Arrête ça", "non, arre\u0302te", "Laisse tomber…"}},
      {"he", {"עצור", "\u202Bעצור בבקשה\u202C", "לא. תפסיק!"}},
      {"it", {"basta", "fermati subito"}},
      {"nl", {"nee, hou op", "laat maar"}},
      {"pl", {"PRZESTAŃ proszę", "przestan\u0301"}},
      {"pt", {"não, para", "cancela isso"}},
      {"ru", {"Стоп!", "нет — хватит", "пожалуйста, остановись"}},
  };
  const auto codes = known_languages();
  CHECK(codes.size() == says.size());
  for (const auto& [code, texts] : says) {
    const auto* vocabulary = words_of_language(code);
    REQUIRE(vocabulary);
    const cancel_words own(*vocabulary, {});
    for (const auto& text : texts) {
      INFO(code << ": " << text);
      CHECK(own.find(text, {}));
    }
    for (const auto* known : {&vocabulary->words})
      for (const auto& word : *known) {
        INFO(code << ": " << word);
        CHECK(own.find(word, {}));
        CHECK_FALSE(own.find(word + " xyz", {}));
        CHECK_FALSE(own.find("xyz " + word, {}));
      }
    CHECK(own.find("stop", {})); // English stays
  }
  CHECK_FALSE(words().find("basta", {})); // only where it is named
  CHECK(words_of_language("tlh") == nullptr);
}

TEST_CASE("dashes and foreign ends of sentences separate words") {
  for (const char* text : {"no \u2014 stop", "stop\u2013now", "stop\u060C please", "stop\u061F", "stop\u0964"}) {
    INFO(text);
    CHECK(stops(text));
  }
  CHECK_FALSE(stops("stop-it"));
  CHECK_FALSE(stops("stop \u2014 the music"));
}

TEST_CASE("quotes, emphasis and code around words are not part of them") {
  for (const char* text : {"\"stop\"",
                           "'stop'",
                           "**stop**",
                           "*stop*",
                           "_stop_",
                           "__stop__",
                           "***stop***",
                           "`stop`",
                           "```\nstop\n```",
                           "||stop||",
                           "\u201Cstop\u201D",
                           "\u2018stop\u2019",
                           "\u00ABstop\u00BB",
                           "\u201Estop!\u201C",
                           "\u300Cstop\u300D",
                           "stop;",
                           "stop;;",
                           "stop\u037E",
                           "stop\uFF1B",
                           "no; stop",
                           "**stop** it",
                           "*stop!*",
                           "*stop*!",
                           "ok, **stop**.",
                           "_please_ *stop* `now`",
                           "\"stop\", \"stop\"",
                           "*\u200Bstop\u200B*",
                           "**\U0001F6D1**"}) {
    INFO(text);
    CHECK(stops(text));
  }
  for (const char* text : {"**stop** the music", "he said \"stop\"", "\"stop\" is a word", "*don't* stop",
                           "don't *stop*", "st*op", "stop_it", "s't'op", "stop'n'go", "\"\"", "**", "`", "stop; no",
                           "stop; go on", "~~stop~~", "\"stop the music\"", "*, stop"}) {
    INFO(text);
    CHECK_FALSE(stops(text));
  }
  const cancel_words named({}, {"quell_"});
  CHECK(named.find("quell_: stop", {}) == "stop");
  CHECK(named.find("stop, @quell_", {}) == "stop");
  const std::string marks(300'000, '*');
  CHECK(stops(marks + "stop" + marks));
  CHECK_FALSE(stops("stop" + marks + "x"));
  CHECK_FALSE(stops("st" + marks + "op"));
}

TEST_CASE("a Greek word without its tonos stops before the Greek question mark, too") {
  const auto* greek = words_of_language("el");
  REQUIRE(greek);
  const cancel_words own(*greek, {});
  for (const char* text : {"σταμάτησε;", "σταματησε;", "ΣΤΑΜΑΤΗΣΕ;", "σταμάτησε\u037E", "«σταματησε»"}) {
    INFO(text);
    CHECK(own.find(text, {}));
  }
  CHECK_FALSE(own.find("σταματησε; οχι", {}));
}

TEST_CASE("a bot's name after the word names it, too") {
  CHECK(words().look("stop, clanky", {})->names_bot);
  CHECK(words().look("stop robby", {"robby"})->names_bot);
  CHECK_FALSE(words().look("stop robby", {}).has_value());
}

TEST_CASE("a bot's name of the moment leads in as a configured one does") {
  CHECK_FALSE(words().find("Robby stop", {}).has_value());
  CHECK(words().find("Robby: stop", {"robby"}) == "stop");
  CHECK(words().find("ok @ROBBY please stop", {"robby"}) == "stop");
}

TEST_CASE("whether the bot was called by its name is told with the word") {
  CHECK(words().look("hey clanky stop", {})->names_bot);
  CHECK(words().look("clanky, please stop it now", {})->names_bot);
  CHECK(words().look("ok @robby stop", {"robby"})->names_bot);
  CHECK_FALSE(words().look("hey stop", {"robby"})->names_bot);
}
