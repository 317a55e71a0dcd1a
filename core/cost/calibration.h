// Fitted constants of kernels, links, networks and frameworks, each with its source and spread.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cost/profile.h"
#include "core/cost/provenance.h"
#include "core/task/work.h"
#include "core/units/dtype.h"
#include "core/units/quantity.h"

namespace tandem {

// Matrix products of one device kind and some number formats: eta and the tile law of core/cost/gemm.h.
struct GemmRow {
  std::string device;  // DeviceKind id; "*": any
  std::vector<DType> dtypes;
  double eta = 0;        // share of the peak that long-running steps sustain
  double eta_boost = 0;  // the same in short benchmarks
  double beta = 0;       // share of the memory bandwidth
  Seconds start;         // launch to first instruction, and end
  double depth = 0;      // prologue and epilogue of a tile, as extra depth of the product
  Bandwidth feed;        // operands from L2 to one compute unit; 0: never limits
  double grouped_eta = 1,
         grouped_beta = 0;  // eta times this, beta in place of beta (0: beta), for grouped products
  double misaligned = 1;    // fp16 with a width that 8 does not divide takes this much longer (old cuBLAS)
  int units = 0;            // compute units where the catalog does not know them
  Provenance from;
};

// One attention kernel of one device kind at one head size: share of the peak, forward and backward.
struct AttentionRow {
  std::string device, kernel;  // "fa2", "fa3", "cudnn", "fa1"
  int head_dim = 128;
  double forward = 0, backward = 0;
  Provenance from;
};
// Prologue of a query tile and half-filled diagonal blocks, both in keys; the same for all kernels.
struct AttentionLaw {
  double extra_keys = 0, diagonal_keys = 0;
  Seconds start;
  Provenance from;
};

// Kernels bound by memory: time = start + bytes / (beta * memory bandwidth).
struct MemoryRow {
  std::string device;
  double beta = 0;
  Seconds start;
  std::map<PassKind, double> beta_of;  // where a kind differs
  Provenance from;
};

// Linear between listed group sizes, clamped outside.
using SizeTable = std::vector<std::pair<double, double>>;
double interpolate(const SizeTable&, double size);

// Links inside a node, as shares of a device's one-direction bandwidth.
struct LinkRow {
  std::string link;      // LinkTechnology id
  int node_devices = 0;  // only for nodes of this size; 0: any
  SizeTable ring, nvls, all_to_all;
  int nvls_from = 0;                   // smallest group that uses NVLS; 0: none
  double tree = 0, ll = 0, ll128 = 0;  // LL and LL128 as shares of the Simple protocol's rate
  double simple_hop = 1;               // the Simple protocol's hop time, times this
  Seconds all_to_all_step;             // each peer
  bool pci = false;                    // NCCL's PCI hop times in place of NVLink's
  Provenance from;
};

// Networks between nodes.
struct NetworkRow {
  std::string network;           // LinkTechnology id
  double efficiency = 0;         // of the line rate
  Seconds ll_step, simple_step;  // added to NCCL's own network hop
  Bandwidth ll_cap;              // of a node in the LL protocol
  Provenance from;
};

// Named constants of a training framework: host time, fusion of element-wise work, kernels used.
struct FrameworkProfile {
  std::string name;
  Seconds host_per_launch, host_per_collective;
  Seconds host_per_member;   // of a tensor-parallel group, beside host_per_collective
  Seconds host_per_message;  // between pipeline stages
  Seconds host_per_step;
  Seconds message_start;       // added to the latency of each message
  Seconds kernel_gap;          // between kernels that are not captured or compiled, added to each on the device
  double allocator_share = 0;  // of the memory handed out at the peak, kept beside it in pieces of no use
  bool host_waits_for_messages = false;  // nothing behind a receive is issued before the message is there
  std::vector<std::string> attention;    // kernels by preference
  std::map<PassKind, double> traffic;    // bytes moved, as a multiple of a fused kernel's; 1 where absent
  Provenance from;
};

// Device kinds that are cores of one machine. Its ranks share them, and copying what they send is work of a
// core as well.
struct CoresRow {
  std::string device;
  int count = 0;             // that the ranks of a machine share; 0: `threads` for each of its devices
  int threads = 1;           // of a rank's computation
  double communication = 1;  // share of a communication's time that is work of a core; a paced one only waits
  double jitter = 0;         // relative standard deviation of a computation's time, which makes ranks wait
  Provenance from;
};

enum class Clock : std::uint8_t {
  Sustained,
  Boost
};  // of a hot device in long steps; of a cool one in benchmarks

// What surrounds kernels and wires in a training step.
struct Environment {
  Clock clock = Clock::Sustained;
  Seconds collective_start;     // beside NCCL's own base latency
  double overlap_share = 0;     // of the smaller of computation and communication, lost when they overlap
  double straggler_share = 0;   // slower by this share for each doubling of nodes
  Bytes context, communicator;  // memory of a process, and of each communicator
  Provenance from;
};

struct Calibration {
  std::vector<GemmRow> gemm;
  std::vector<AttentionRow> attention;
  AttentionLaw attention_law;
  std::vector<MemoryRow> memory;
  std::vector<LinkRow> links;
  std::vector<NetworkRow> networks;
  std::map<std::string, FrameworkProfile> frameworks;
  Environment environment;
  std::vector<CoresRow> cores;
  std::vector<ProfileRow> profile;  // measured durations come before all formulas

  // The row of exactly this device (and number format); null where there is none.
  const GemmRow* find_gemm(std::string_view device, DType dtype) const;
  const MemoryRow* find_memory(std::string_view device) const;
  bool has_attention(std::string_view device) const;
  const LinkRow* find_link(std::string_view link, int node_devices) const;
  const NetworkRow* find_network(std::string_view network) const;
  const CoresRow* find_cores(std::string_view device) const;
  const ProfileRow* find_profile(std::string_view device, const MeasuredKind&) const;
};

// Reads every *.toml file of `folder` (scenarios/calibrations), then `overlay_file` unless empty, whose rows
// replace what they name. Throws InputError with file and line.
std::shared_ptr<const Calibration> read_calibration(const std::string& folder,
                                                    const std::string& overlay_file = {});

std::string_view name(PassKind);  // "norm", "activation", …

// What `tandem calibrate` found, in the form that read_calibration reads.
std::string to_toml(const std::vector<CoresRow>&, const std::vector<ProfileRow>&);

}  // namespace tandem
