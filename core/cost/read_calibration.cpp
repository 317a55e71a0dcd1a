// Reads scenarios/calibrations/*.toml and an overlay into one Calibration.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/cost/calibration.h"
#include "core/cost/profile_rows.h"
#include "core/cost/row_reader.h"

namespace tandem {
namespace {

// One file; sigma: spreads that hold for all rows of a kind in it.
class FileReader {
 public:
  FileReader(Calibration& out, std::string file, Problems& problems)
      : out_(out), file_(std::move(file)), problems_(problems) {}

  void read() {
    toml::table table;
    try {
      table = toml::parse(read_text_file(file_), file_);
    } catch (const toml::parse_error& error) {
      const auto at = error.source().begin;
      problems_.add({file_, static_cast<int>(at.line), static_cast<int>(at.column)},
                    std::string(error.description()));
      return;
    }
    if (const toml::table* all = table["sigma"].as_table()) {
      for (const auto& [kind, node] : *all) {
        RowReader row(*all, "sigma", file_, problems_);
        row.read(kind.str(), sigma_[std::string(kind.str())], 0, 100);
      }
    }
    for (const auto& [key, node] : table) read_section(std::string(key.str()), node);
  }

 private:
  void read_section(const std::string& key, const toml::node& node) {
    using Reader = void (FileReader::*)(RowReader&);
    static const std::vector<std::pair<std::string, Reader>> sections = {
        {"gemm", &FileReader::gemm},
        {"attention", &FileReader::attention},
        {"attention_law", &FileReader::attention_law},
        {"memory", &FileReader::memory},
        {"link", &FileReader::link},
        {"network", &FileReader::network},
        {"framework", &FileReader::framework},
        {"environment", &FileReader::environment},
        {"cores", &FileReader::cores},
        {"profile", &FileReader::profile}};
    if (key == "sigma") return;
    const auto section =
        std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.first == key; });
    const auto at = node.source().begin;
    const Where where{file_, static_cast<int>(at.line), static_cast<int>(at.column)};
    if (section == sections.end()) {
      std::vector<std::string> names = {"sigma"};
      for (const auto& s : sections) names.push_back(s.first);
      const std::string nearest = nearest_name(key, names);
      problems_.add(where, fmt::format("[{}] is not a section of a calibration", key),
                    nearest.empty() ? "" : "did you mean " + nearest + "?");
      return;
    }
    const auto one = [&](const toml::table& table) {
      RowReader row(table, key, file_, problems_);
      (this->*section->second)(row);
      row.finish();
    };
    if (const toml::table* table = node.as_table()) {
      one(*table);
    } else if (const toml::array* rows = node.as_array()) {
      for (const toml::node& item : *rows) {
        if (const toml::table* table = item.as_table())
          one(*table);
        else
          problems_.add(where, fmt::format("[[{}]] holds something that is not a table", key));
      }
    } else {
      problems_.add(where, fmt::format("{} is not a table", key));
    }
  }

  // `like` has been consumed by the caller. A row that is named again (overlay) gives a new source.
  void provenance(RowReader& row, const std::string& kind, Provenance& from, const std::string& like) {
    from.source = row.require("source");
    from.like = like;
    if (const auto common = sigma_.find(kind); common != sigma_.end())
      for (const auto& [key, value] : common->second) from.sigma[key] = value;
    row.read("sigma", from.sigma, 0, 100);
    from.where = row.where();
  }

  // The row in `rows` that `same` accepts, or a new one: a copy of the row that `like` names where it does.
  template <class Row, class Same, class Like>
  Row& place(std::vector<Row>& rows, RowReader& reader, const std::string& like, Same same, Like resembles) {
    if (const auto found = std::find_if(rows.begin(), rows.end(), same); found != rows.end() && like.empty())
      return *found;
    Row made;
    if (!like.empty()) {
      const auto model = std::find_if(rows.begin(), rows.end(), resembles);
      if (model == rows.end())
        reader.complain("like", fmt::format("= \"{}\" names no row above this one", like));
      else
        made = *model;
    }
    std::erase_if(rows, same);
    return rows.emplace_back(std::move(made));
  }

  static std::string like_of(RowReader& row) {
    std::string like;
    row.read("like", like);
    return like;
  }

  void gemm(RowReader& row) {
    const std::string device = row.require("device"), like = like_of(row);
    std::vector<std::string> names;
    row.read("dtypes", names);
    std::vector<DType> dtypes;
    for (const std::string& text : names) {
      if (const auto dtype = parse_dtype(text))
        dtypes.push_back(*dtype);
      else
        row.complain("dtypes", fmt::format("\"{}\" is no number format", text), "fp32, bf16, fp16 or fp8");
    }
    if (dtypes.empty()) return row.complain("dtypes", "is missing or empty");
    // "h800-sxm5-80gb" or, for another format of that device, "h800-sxm5-80gb fp8".
    const auto space = like.find(' ');
    const std::string model = like.substr(0, space);
    const DType model_dtype =
        space == std::string::npos ? dtypes[0] : parse_dtype(like.substr(space + 1)).value_or(dtypes[0]);
    GemmRow& out = place(
        out_.gemm, row, like, [&](const GemmRow& r) { return r.device == device && r.dtypes == dtypes; },
        [&](const GemmRow& r) {
          const bool same_format = out_.find_gemm(model, model_dtype) == &r;
          return r.device == model && (same_format || out_.find_gemm(model, model_dtype) == nullptr);
        });
    out.device = device;
    out.dtypes = dtypes;
    row.read("eta", out.eta, 1e-4, 1);
    row.read("eta_boost", out.eta_boost, 1e-4, 1);
    if (row.has("eta") && !row.has("eta_boost")) out.eta_boost = out.eta;
    row.read("beta", out.beta, 1e-4, 1);
    row.read("start", out.start);
    row.read("depth", out.depth, 0, 1e5);
    row.read("feed", out.feed);
    row.read("grouped_eta", out.grouped_eta, 1e-3, 1);
    row.read("grouped_beta", out.grouped_beta, 0, 1);
    row.read("misaligned", out.misaligned, 1, 10);
    row.read("units", out.units, 1, 1 << 20);
    provenance(row, "gemm", out.from, like);
    if (out.eta <= 0) row.complain("eta", "is missing");
    if (out.beta <= 0) row.complain("beta", "is missing");
  }

  void attention(RowReader& row) {
    AttentionRow key;
    key.device = row.require("device");
    key.kernel = row.require("kernel");
    row.read("head_dim", key.head_dim, 1, 4096);
    AttentionRow& out = place(
        out_.attention, row, "",
        [&](const AttentionRow& r) {
          return r.device == key.device && r.kernel == key.kernel && r.head_dim == key.head_dim;
        },
        [](const AttentionRow&) { return false; });
    out.device = key.device;
    out.kernel = key.kernel;
    out.head_dim = key.head_dim;
    row.read("forward", out.forward, 1e-4, 1);
    row.read("backward", out.backward, 1e-4, 1);
    provenance(row, "attention", out.from, "");
    if (out.forward <= 0) row.complain("forward", "is missing");
    if (out.backward <= 0) row.complain("backward", "is missing");
  }

  void attention_law(RowReader& row) {
    AttentionLaw& out = out_.attention_law;
    row.read("extra_keys", out.extra_keys, 0, 1e5);
    row.read("diagonal_keys", out.diagonal_keys, 0, 1e5);
    row.read("start", out.start);
    provenance(row, "attention_law", out.from, "");
  }

  // A table by kind of pass.
  void passes(RowReader& row, std::string_view key, double low, double high, std::map<PassKind, double>& out) {
    std::map<std::string, double> typed;
    row.read(key, typed, low, high);
    for (const auto& [text, value] : typed) {
      bool found = false;
      for (int i = 0; i <= static_cast<int>(PassKind::Copy); ++i) {
        const auto kind = static_cast<PassKind>(i);
        if (name(kind) != text) continue;
        out[kind] = value;
        found = true;
      }
      if (!found)
        row.complain(key, fmt::format("names no kind of pass: \"{}\"", text), "norm, activation, residual, …");
    }
  }

  void memory(RowReader& row) {
    const std::string device = row.require("device"), like = like_of(row);
    MemoryRow& out = place(
        out_.memory, row, like, [&](const MemoryRow& r) { return r.device == device; },
        [&](const MemoryRow& r) { return r.device == like; });
    out.device = device;
    row.read("beta", out.beta, 1e-4, 1);
    row.read("start", out.start);
    passes(row, "beta_of", 1e-4, 1, out.beta_of);
    provenance(row, "memory", out.from, like);
    if (out.beta <= 0) row.complain("beta", "is missing");
  }

  void link(RowReader& row) {
    const std::string link = row.require("link"), like = like_of(row);
    int node_devices = 0;
    row.read("node_devices", node_devices, 1, 4096);
    LinkRow& out = place(
        out_.links, row, like,
        [&](const LinkRow& r) { return r.link == link && r.node_devices == node_devices; },
        [&](const LinkRow& r) { return r.link == like && r.node_devices == 0; });
    out.link = link;
    out.node_devices = node_devices;
    row.read("ring", out.ring);
    row.read("nvls", out.nvls);
    row.read("all_to_all", out.all_to_all);
    row.read("nvls_from", out.nvls_from, 2, 4096);
    row.read("tree", out.tree, 1e-4, 1);
    row.read("ll", out.ll, 1e-4, 1);
    row.read("ll128", out.ll128, 1e-4, 1);
    row.read("simple_hop", out.simple_hop, 1e-4, 100);
    row.read("all_to_all_step", out.all_to_all_step);
    row.read("pci", out.pci);
    provenance(row, "link", out.from, like);
    if (out.ring.empty()) row.complain("ring", "is missing");
    if (out.ll <= 0 || out.ll128 <= 0 || out.tree <= 0) row.complain("tree", "or ll or ll128 is missing");
    if (out.nvls_from > 0 && out.nvls.empty()) row.complain("nvls", "is missing");
  }

  void network(RowReader& row) {
    const std::string network = row.require("network"), like = like_of(row);
    NetworkRow& out = place(
        out_.networks, row, like, [&](const NetworkRow& r) { return r.network == network; },
        [&](const NetworkRow& r) { return r.network == like; });
    out.network = network;
    row.read("efficiency", out.efficiency, 1e-4, 1);
    row.read("ll_step", out.ll_step);
    row.read("simple_step", out.simple_step);
    row.read("ll_cap", out.ll_cap);
    provenance(row, "network", out.from, like);
    if (out.efficiency <= 0) row.complain("efficiency", "is missing");
    if (out.ll_cap.value <= 0) row.complain("ll_cap", "is missing or zero");
  }

  void framework(RowReader& row) {
    const std::string name = row.require("name"), like = like_of(row);
    FrameworkProfile made;
    if (!like.empty()) {
      const auto model = out_.frameworks.find(like);
      if (model == out_.frameworks.end())
        row.complain("like", fmt::format("= \"{}\" names no row above this one", like));
      else
        made = model->second;
    } else if (const auto before = out_.frameworks.find(name); before != out_.frameworks.end()) {
      made = before->second;
    }
    made.name = name;
    row.read("host_per_launch", made.host_per_launch);
    row.read("host_per_collective", made.host_per_collective);
    if (row.has("host_per_collective")) made.host_per_message = made.host_per_collective;
    row.read("host_per_member", made.host_per_member);
    row.read("host_per_message", made.host_per_message);
    row.read("host_per_step", made.host_per_step);
    row.read("message_start", made.message_start);
    row.read("kernel_gap", made.kernel_gap);
    row.read("allocator_share", made.allocator_share, 0, 2);
    row.read("host_waits_for_messages", made.host_waits_for_messages);
    row.read("attention", made.attention);
    passes(row, "traffic", 0.1, 100, made.traffic);
    provenance(row, "framework", made.from, like);
    out_.frameworks[name] = std::move(made);
  }

  void environment(RowReader& row) {
    Environment& out = out_.environment;
    std::string clock;
    row.read("clock", clock);
    if (clock == "boost")
      out.clock = Clock::Boost;
    else if (clock == "sustained")
      out.clock = Clock::Sustained;
    else if (!clock.empty())
      row.complain("clock", fmt::format("= \"{}\" is unknown", clock), "sustained or boost");
    row.read("collective_start", out.collective_start);
    row.read("overlap_share", out.overlap_share, 0, 0.9);
    row.read("straggler_share", out.straggler_share, 0, 1);
    row.read("context", out.context);
    row.read("communicator", out.communicator);
    provenance(row, "environment", out.from, "");
  }

  void cores(RowReader& row) {
    CoresRow read = read_cores_row(row);
    provenance(row, "cores", read.from, "");
    std::erase_if(out_.cores, [&](const CoresRow& r) { return r.device == read.device; });
    out_.cores.push_back(std::move(read));
  }

  void profile(RowReader& row) {
    ProfileRow read = read_profile_row(row);
    provenance(row, "profile", read.from, "");
    std::erase_if(out_.profile,
                  [&](const ProfileRow& r) { return r.device == read.device && r.kind == read.kind; });
    out_.profile.push_back(std::move(read));
  }

  Calibration& out_;
  std::string file_;
  Problems& problems_;
  std::map<std::string, std::map<std::string, double>> sigma_;
};

void require_something(const Calibration& c, const std::string& folder, Problems& problems) {
  const auto need = [&](bool there, const char* what) {
    if (!there) problems.add({folder, 0, 0}, fmt::format("no calibration file gives a [[{}]] row", what));
  };
  need(c.find_gemm("*", DType::Bf16) != nullptr, "gemm]] device = \"*\" [[gemm");
  need(!c.attention.empty(), "attention");
  need(c.find_memory("*") != nullptr, "memory]] device = \"*\" [[memory");
  need(!c.frameworks.empty(), "framework");
  need(!c.environment.from.source.empty(), "environment");
  need(!c.attention_law.from.source.empty(), "attention_law");
}

}  // namespace

std::shared_ptr<const Calibration> read_calibration(const std::string& folder,
                                                    const std::string& overlay_file) {
  auto out = std::make_shared<Calibration>();
  Problems problems;
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  if (error)
    throw InputError({{folder, 0, 0}, "the folder of calibrations cannot be read: " + error.message(), ""});
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) FileReader(*out, file, problems).read();
  if (!overlay_file.empty()) FileReader(*out, overlay_file, problems).read();
  if (problems.empty()) require_something(*out, folder, problems);
  problems.throw_if_any();
  return out;
}

}  // namespace tandem
