#include "cli/simulate_arguments.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/run_options.h"

namespace headspan::cli {
namespace {

/// One option with its default in the help text.
template <class T>
void option(CLI::App& command, const char* name, T& target, const std::string& text, const char* type,
            const char* group) {
  command.add_option(name, target, text)->type_name(type)->group(group);
}

/// Numbers between commas.
template <class T>
void numbers(CLI::App& command, const char* name, T& target, const std::string& text, const char* group) {
  command.add_option(name, target, text)->type_name("LIST")->delimiter(',')->group(group);
}

template <class T>
void take(T& target, const std::optional<T>& given) {
  if (given) target = *given;
}

template <class T>
void refuse(const char* option, const std::optional<T>& given, const char* design) {
  if (given)
    throw UsageError(fmt::format("{}: --design {} has no such option; leave it out", option, design));
}

}  // namespace

void declare(CLI::App& command, RunArguments& a) {
  declare_threads(command, a.n_threads, "Computation");
  const char* group = "Output (FILE - is standard output, the table is then left out)";
  option(command, "--json", a.json, "Everything, as docs/simulate.schema.json describes", "FILE", group);
  command.add_flag("--quiet", a.quiet, "No table and no progress")->group(group);
}

void declare(CLI::App& command, HeadsArguments& a) {
  const char* group = "Design";
  option(command, "--design", a.design,
         "angles: equal principal angles over pure noise; latents: heads that see k latents through noise of "
         "their own; additive: a sum of functions, each seen by one head [angles]",
         "DESIGN", group);
  numbers(command, "--degrees", a.degrees, "angles: the dial [0,15,30,45,60,75,90]", group);
  numbers(command, "--head-dims", a.head_dims, "latents: the dial [1,2,3,4,5,6,8,10]", group);
  option(command, "--n-heads", a.n_heads, "angles, additive [4]", "H", group);
  option(command, "--head-dim", a.head_dim, "angles [2]", "K", group);
  option(command, "--budget", a.budget, "latents: n_heads x head_dim [64]", "D", group);
  option(command, "--scale", a.scale, "latents: variance of the target [1]", "A0", group);
  option(command, "--rate", a.rate, "latents: the unseen share is exp(-g k) [0.5]", "G", group);
  option(command, "--private-noise", a.private_noise, "latents: cosines between heads are 1/(1+t^2) [1]", "T",
         group);
  option(command, "--frequency", a.frequency, "additive: of the sines [2]", "F", group);
  option(command, "--kernel", a.kernel, "angles: gaussian or softmax [gaussian]", "KERNEL", group);
  option(command, "--bandwidth", a.bandwidth, "Of every head [1; softmax 2; additive 0.1]", "B", group);
  const char* data = "Data";
  option(command, "--n", a.n, "Keys [1000; additive 2000]", "N", data);
  option(command, "--noise", a.noise_variance, "Variance of the noise [1; additive 0.09]", "S2", data);
  option(command, "--n-points", a.n_points, "Queries [100; latents 50]", "M", data);
  option(command, "--replicates", a.n_replicates, "Fresh data sets [400; latents 40, two each; additive 100]",
         "R", data);
  declare_seed(command, a.seed, "Of everything random", data);
}

void declare(CLI::App& command, experiments::ForestOptions& o) {
  const char* group = "Forest";
  numbers(command, "--mtry", o.mtry, "Inputs tried at a split; the dial is 1 - mtry/p [1,2,5,10,17,30,50]",
          group);
  option(command, "--n-inputs", o.n_inputs, "p, of which five matter [50]", "P", group);
  option(command, "--n-trees", o.n_trees, "Trees of a forest [20]", "M", group);
  option(command, "--least-leaf", o.least_leaf, "Rows of a leaf, at least [5]", "N", group);
  command
      .add_flag_callback(
          "--no-bootstrap", [&o] { o.bootstrap = false; }, "Every tree grows on all rows")
      ->group(group);
  const char* data = "Data";
  option(command, "--n", o.n, "Rows of a training set [200]", "N", data);
  option(command, "--noise", o.noise_variance, "Variance of the noise [1]", "S2", data);
  option(command, "--n-points", o.n_points, "Fixed points [50]", "M", data);
  option(command, "--replicates", o.n_replicates, "Fresh training sets [100]", "R", data);
  declare_seed(command, o.seed, "Of everything random", data);
}

void declare(CLI::App& command, ColonyArguments& a) {
  experiments::ColonyOptions& o = a.options;
  const char* group = "Colony";
  numbers(command, "--exploration", o.exploration, "Probabilities, the dial [0.05,0.1,0.2,0.35,0.5,0.7,1]",
          group);
  option(command, "--rule", a.rule, "Where a scout goes otherwise: pheromone or thompson [pheromone]", "RULE",
         group);
  option(command, "--n-scouts", o.n_scouts, "All alike [20]", "N", group);
  option(command, "--evaporation", o.evaporation, "Share of pheromone lost in a step [0.1]", "E", group);
  option(command, "--sharing", o.sharing,
         "What a follower of pheromone learns from the trail, in observations of its own; 0: nothing [1]",
         "W", group);
  option(command, "--quorum", o.quorum, "Share of the scouts at one site that ends the search; 0: never [0]",
         "Q", group);
  const char* data = "Task";
  option(command, "--n-sites", o.n_sites, "Sites of quality 1/K, 2/K, ..., 1 [20]", "K", data);
  option(command, "--n-steps", o.n_steps, "Steps of a search [20]", "T", data);
  option(command, "--noise-sd", o.noise_sd, "Standard deviation of an observation [0.5]", "S", data);
  option(command, "--replicates", o.n_replicates, "Searches [400]", "R", data);
  declare_seed(command, o.seed, "Of everything random", data);
}

void check(const RunArguments& a) { check_threads(a.n_threads); }

namespace {

template <class Options>
Options common_options(const HeadsArguments& a) {
  Options o;
  take(o.n, a.n);
  take(o.bandwidth, a.bandwidth);
  take(o.noise_variance, a.noise_variance);
  take(o.n_points, a.n_points);
  take(o.n_replicates, a.n_replicates);
  o.seed = a.seed;
  return o;
}

void refuse_latents(const HeadsArguments& a, const char* design) {
  refuse("--head-dims", a.head_dims, design);
  refuse("--budget", a.budget, design);
  refuse("--scale", a.scale, design);
  refuse("--rate", a.rate, design);
  refuse("--private-noise", a.private_noise, design);
}

}  // namespace

experiments::AngleOptions angle_options(const HeadsArguments& a) {
  refuse_latents(a, "angles");
  refuse("--frequency", a.frequency, "angles");
  auto o = common_options<experiments::AngleOptions>(a);
  if (a.kernel) {
    const auto kernel = nw::kernel_function_named(*a.kernel);
    if (!kernel) throw UsageError(fmt::format("--kernel {}: must be gaussian or softmax", *a.kernel));
    o.kernel = *kernel;
    constexpr double kSoftmaxBandwidth = 2.0;
    if (o.kernel == nw::KernelFunction::softmax && !a.bandwidth) o.bandwidth = kSoftmaxBandwidth;
  }
  take(o.degrees, a.degrees);
  take(o.n_heads, a.n_heads);
  take(o.head_dim, a.head_dim);
  return o;
}

experiments::LatentOptions latent_options(const HeadsArguments& a) {
  refuse("--degrees", a.degrees, "latents");
  refuse("--kernel", a.kernel, "latents");
  refuse("--n-heads", a.n_heads, "latents");
  refuse("--head-dim", a.head_dim, "latents");
  refuse("--frequency", a.frequency, "latents");
  auto o = common_options<experiments::LatentOptions>(a);
  take(o.head_dims, a.head_dims);
  take(o.budget, a.budget);
  take(o.scale, a.scale);
  take(o.rate, a.rate);
  take(o.private_noise, a.private_noise);
  return o;
}

experiments::AdditiveOptions additive_options(const HeadsArguments& a) {
  refuse_latents(a, "additive");
  refuse("--degrees", a.degrees, "additive");
  refuse("--kernel", a.kernel, "additive");
  refuse("--head-dim", a.head_dim, "additive");
  auto o = common_options<experiments::AdditiveOptions>(a);
  take(o.n_heads, a.n_heads);
  take(o.frequency, a.frequency);
  return o;
}

experiments::ColonyOptions colony_options(const ColonyArguments& a) {
  experiments::ColonyOptions options = a.options;
  for (const auto rule : {experiments::ColonyRule::pheromone, experiments::ColonyRule::thompson})
    if (a.rule == to_string(rule)) {
      options.rule = rule;
      return options;
    }
  throw UsageError(fmt::format("--rule {}: must be pheromone or thompson", a.rule));
}

}  // namespace headspan::cli
