// The keys of Hugging Face configurations that a reader knows, by whether they matter here.
#pragma once
#include <string>
#include <vector>

namespace tandem {

// Keys with an effect on sizes, structure or cost for some model_type. A key near one of these is a
// misspelling.
const std::vector<std::string>& effective_keys();
bool is_effective_key(const std::string& key);
// Keys that change no size and no cost (tokens, initialisation, rotary angles, generation, routing scores):
// read over.
const std::vector<std::string>& inert_keys();

// The effective key that `typed` misspells: at most a sixth of its letters differ (one for short keys), or "".
std::string misspelled_key(const std::string& typed);

}  // namespace tandem
