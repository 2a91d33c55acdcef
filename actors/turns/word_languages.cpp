// One vocabulary for each language. A word belongs here only if it says stop when it stands alone.
#include "actors/turns/word_languages.hpp"

#include <map>

namespace quell::controller::chat {
namespace {

const std::map<std::string, vocabulary, std::less<>>& languages() {
  static const std::map<std::string, vocabulary, std::less<>> all = {
      {"ar", {{"لا", "من فضلك"}, {"توقف", "توقفي", "قف", "كفى", "إلغاء"}, {"من فضلك", "الآن"}}},
      {"de",
       {{"bitte", "nein", "warte", "doch"},
        {"stopp", "halt", "hör auf", "hoer auf", "aufhören", "abbrechen", "brich ab", "vergiss es", "lass es",
         "lass das"},
        {"bitte", "jetzt", "sofort", "damit", "das"}}},
      {"el",
       {{"όχι", "παρακαλώ", "περίμενε"},
        {"σταμάτα", "σταμάτησε", "σταματήστε", "στοπ", "ακύρωσε", "ακύρωση"},
        {"παρακαλώ", "τώρα", "αμέσως", "αυτό"}}},
      {"es",
       {{"por favor", "espera", "oye", "ya"},
        {"para", "detente", "alto", "basta", "cancela", "cancelar", "olvídalo", "déjalo"},
        {"por favor", "ya", "ahora", "eso"}}},
      {"fr",
       {{"non", "attends", "s'il te plaît", "s'il vous plaît", "s’il te plaît", "s’il vous plaît"},
        {"arrête", "arrêtez", "annule", "annulez", "laisse tomber", "oublie"},
        {"ça", "maintenant", "s'il te plaît", "s'il vous plaît", "s’il te plaît", "s’il vous plaît"}}},
      {"he", {{"לא", "בבקשה"}, {"עצור", "עצרי", "תפסיק", "תפסיקי", "בטל"}, {"בבקשה", "עכשיו"}}},
      {"it",
       {{"per favore", "aspetta"},
        {"ferma", "fermati", "basta", "annulla", "smettila", "lascia perdere", "lascia stare"},
        {"per favore", "subito", "adesso", "ora"}}},
      {"nl",
       {{"nee", "wacht", "alsjeblieft"},
        {"hou op", "stoppen", "annuleer", "annuleren", "laat maar", "vergeet het"},
        {"nu", "alsjeblieft", "daarmee"}}},
      {"pl", {{"nie", "czekaj", "proszę"}, {"przestań", "zatrzymaj", "anuluj", "zapomnij"}, {"proszę", "teraz", "to"}}},
      {"pt",
       {{"não", "por favor", "espera"},
        {"pare", "para", "cancela", "cancelar", "esquece", "chega"},
        {"por favor", "agora", "isso", "já"}}},
      {"ru",
       {{"нет", "подожди", "пожалуйста"},
        {"стоп", "остановись", "остановитесь", "хватит", "прекрати", "отмена", "отмени", "забудь"},
        {"пожалуйста", "сейчас", "это"}}},
  };
  return all;
}

} // namespace

const vocabulary* words_of_language(std::string_view code) {
  const auto at = languages().find(code);
  return at == languages().end() ? nullptr : &at->second;
}

std::vector<std::string> known_languages() {
  std::vector<std::string> codes;
  for (const auto& [code, words] : languages()) codes.push_back(code);
  return codes;
}

} // namespace quell::controller::chat
