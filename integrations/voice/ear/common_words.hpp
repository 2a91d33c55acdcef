// Words that compete with the words to stop in the second pass: the most common ones, and those that sound alike.
#pragma once

#include <string_view>

namespace quell::ear {

inline constexpr std::string_view common_words =
    "a abbot about abroad acquit after again all and any are around ask at away back be because been before big "
    "board boat book bored but buy by call can cancer candle car carry cat center channel chat check city clean "
    "clear clever clock close come console continue could council counsel day did do does don't door down drop "
    "each eat end equip even ever every far fast find first five food for forge forty found four gap get girl "
    "give go good got great had half hand has have he head hear heard help her here high him his home hop house "
    "how i if in into is it its just keep kick kind know large last late left let life light like line list "
    "little live long look made make man many map may me mean meeting men mile mind minded minor minute mister "
    "month more morning most mother move much music must my name near need never new next night no north not now "
    "number of off often old on once one only open or order our out over own page part people picture place plan "
    "play please pop port program put quick quiet quite read ready real remind report right river road robot room "
    "round run said same saw say school second see self sell sentence set shall she shop should show side sign "
    "since six small smoking so some song soon sound spell stand start state stay step still stock stopped "
    "stopping stops story street study such support sure take talk tell ten than thank that the them then there "
    "these they thing think this those thought three through time to today together told too took top topic "
    "topics town tree turn two under until up us use very wait walk want was watch water way we weather week well "
    "went were what wheat when where which while white who why will wish with without wood word words work world "
    "would write year yes yet you young your ";

} // namespace quell::ear
