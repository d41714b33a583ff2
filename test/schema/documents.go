package schema

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/bisect"
	"zbench/bench/answers/compare"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/nodewatch"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/gate"
	"zbench/bench/answers/recommend"
	"zbench/bench/answers/replay"
	"zbench/bench/answers/soak"
	"zbench/bench/answers/suite"
	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/files/trace"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// Documents lists all files that have a schema.
var Documents = []Document{
	{
		File: "bench/run/record/schema/v2.json", ID: "urn:zbench:results:2", Title: "zbench results, version 2",
		About: "One sweep of collectives, one run of kernels, or one import. All values are in base units: bytes, seconds, bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[record.Record]()},
	},
	{
		File: "bench/run/record/schema/journal-v3.json", ID: "urn:zbench:journal:3", Title: "zbench journal, version 3",
		About: "A line of journal.jsonl: a Header on the first, a Part or an AddedRound on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
		Types: []reflect.Type{reflect.TypeFor[record.Header](), reflect.TypeFor[record.Part](), reflect.TypeFor[record.AddedRound]()}, Journal: true,
	},
	{
		File: "bench/run/record/schema/samples-v1.json", ID: "urn:zbench:samples:1", Title: "zbench samples, version 1",
		Types: []reflect.Type{reflect.TypeFor[record.SamplesIndex]()},
	},
	{
		File: "bench/run/record/schema/run-v1.json", ID: "urn:zbench:run:1", Title: "zbench run, run.json",
		About: "Facts of the tool's own run. A run that has not ended has an empty object instead.",
		Types: []reflect.Type{reflect.TypeFor[record.Run]()},
	},
	{
		File: "bench/answers/advice/schema/v1.json", ID: "urn:zbench:advice:1", Title: "zbench recommendation, recommend.json",
		Types: []reflect.Type{reflect.TypeFor[advice.Document]()},
	},
	{
		File: "bench/answers/recommend/schema/knees-v1.json", ID: "urn:zbench:knees:1", Title: "zbench knees, knees.json",
		Types: []reflect.Type{reflect.TypeFor[recommend.Knees]()}, Bare: true,
	},
	{
		File: "bench/answers/replay/schema/v1.json", ID: "urn:zbench:replay:1", Title: "zbench replay, replay.json",
		Types: []reflect.Type{reflect.TypeFor[replay.Document]()},
	},
	{
		File: "bench/answers/compare/schema/v1.json", ID: "urn:zbench:compare:1", Title: "zbench comparison, compare.json",
		Types: []reflect.Type{reflect.TypeFor[compare.Document]()},
	},
	{
		File: "bench/answers/bisect/schema/v1.json", ID: "urn:zbench:bisect:1", Title: "zbench bisection, bisect.json",
		Types: []reflect.Type{reflect.TypeFor[bisect.Document]()},
	},
	{
		File: "bench/answers/bisect/schema/journal-v1.json", ID: "urn:zbench:bisect-journal:1", Title: "zbench bisection, bisect.jsonl",
		About: "A line of bisect.jsonl: a Header on the first, an Entry for each child on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
		Types: []reflect.Type{reflect.TypeFor[bisect.Header](), reflect.TypeFor[bisect.Entry]()}, Journal: true,
	},
	{
		File: "bench/answers/gate/schema/v1.json", ID: "urn:zbench:gates:1", Title: "zbench thresholds, gates.json",
		Types: []reflect.Type{reflect.TypeFor[gate.Report]()},
	},
	{
		File: "bench/answers/fleet/nodescreen/schema/v1.json", ID: "urn:zbench:screen:1", Title: "zbench screen, screen.json",
		About: "The nodes of a fleet, each screened alone, and which of them to leave out. Rates are in bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[nodescreen.Document]()},
	},
	{
		File: "bench/answers/fleet/nodescreen/schema/node-v1.json", ID: "urn:zbench:screen-node:1", Title: "zbench screen, the file of a node",
		About: "What one node found about itself, without any other node. Rates are in bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[nodescreen.Node]()},
	},
	{
		File: "bench/answers/fleet/nodewatch/schema/v1.json", ID: "urn:zbench:watch:1", Title: "zbench watch, watch.json",
		About: "One check of a node for its scheduler, against the node's own past.",
		Types: []reflect.Type{reflect.TypeFor[nodewatch.Document]()},
	},
	{
		File: "internal/doctor/schema/v1.json", ID: "urn:zbench:doctor:1", Title: "zbench doctor --format json",
		Types: []reflect.Type{reflect.TypeFor[doctor.Report]()}, Bare: true,
	},
	{
		File: "internal/topo/schema/v1.json", ID: "urn:zbench:topo:1", Title: "zbench topo, topo.json",
		About: "The topology of one node: GPUs, xGMI links, NICs, rails and findings. Rates are in bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[topo.Node]()},
	},
	{
		File: "internal/topo/schema/drift-v1.json", ID: "urn:zbench:drift:1", Title: "zbench topo on several nodes, --format json",
		Types: []reflect.Type{reflect.TypeFor[topo.Drift]()},
	},
	{
		File: "bench/answers/fleet/rails/schema/v1.json", ID: "urn:zbench:rails:1", Title: "zbench rails, rails.json",
		Types: []reflect.Type{reflect.TypeFor[rails.Document]()},
	},
	{
		File: "bench/answers/soak/schema/v1.json", ID: "urn:zbench:soak:1", Title: "zbench soak, soak.json",
		About: "Attempts to find data that arrive wrong, by arm, and the senders of what was wrong. Ranks are numbers in the world.",
		Types: []reflect.Type{reflect.TypeFor[soak.Document]()},
	},
	{
		File: "bench/answers/soak/schema/journal-v1.json", ID: "urn:zbench:soak-journal:1", Title: "zbench soak, soak.jsonl",
		About: "A line of soak.jsonl: a Header on the first, an Attempt on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
		Types: []reflect.Type{reflect.TypeFor[soak.Header](), reflect.TypeFor[soak.Attempt]()}, Journal: true,
	},
	{
		File: "bench/answers/suite/schema/v1.json", ID: "urn:zbench:suite:1", Title: "zbench suite, suite.json",
		About: "The rows of a suite with their figures, each beside what others published.",
		Types: []reflect.Type{reflect.TypeFor[suite.Document]()},
	},
	{
		File: "bench/answers/suite/schema/journal-v1.json", ID: "urn:zbench:suite-journal:1", Title: "zbench suite, suite.jsonl",
		About: "A line of suite.jsonl: a Header on the first, an Entry for each row that ended on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
		Types: []reflect.Type{reflect.TypeFor[suite.Header](), reflect.TypeFor[suite.Entry]()}, Journal: true,
	},
	{
		File: "bench/files/trace/schema/v1.json", ID: "urn:zbench:trace:1", Title: "zbench trace, trace.json",
		Types: []reflect.Type{reflect.TypeFor[trace.Document]()},
	},
}

// ruled has the rules of all types: first those of types that several packages write, then those of
// each package.
var ruled = rules{
	reflect.TypeFor[finding.Severity](): {among(finding.Severities())},
	reflect.TypeFor[finding.Kind]():     {among(finding.Kinds())},
	reflect.TypeFor[finding.State]():    {among(finding.States())},

	reflect.TypeFor[record.Record](): {
		version(record.Schema), inside("source", "kind", record.Measured, record.Simulated, record.Imported, record.Emulated),
		when(where("source", constant("kind", record.Simulated)), constant("simulated", true), nil),
		when(where("source", constant("kind", record.Emulated)), constant("simulated", true), nil),
		when(where("source", constant("kind", record.Measured)), constant("simulated", false), nil),
	},
	reflect.TypeFor[record.Added]():           {values("reason", record.Reasons()...)},
	reflect.TypeFor[record.AddedRound]():      {values("reason", record.Reasons()...)},
	reflect.TypeFor[record.Result]():          {values("collective", collective.Names()...), when(constant("status", record.OK), nil, needs("reason"))},
	reflect.TypeFor[record.Verified]():        {values("state", verifications...)},
	reflect.TypeFor[record.Check]():           {values("pattern", record.Patterns()...)},
	reflect.TypeFor[record.Evidence]():        {values("during", record.DuringOpen, record.DuringInit, record.DuringWarmUp, record.DuringVerification, record.DuringBurst, record.DuringIsolated)},
	reflect.TypeFor[record.Timing]():          {values("stop", stops...)},
	reflect.TypeFor[record.BurstSamples]():    {values("stop", stops...)},
	reflect.TypeFor[record.IsolatedSamples](): {values("stop", stops...)},
	reflect.TypeFor[record.Header]():          {version(record.JournalSchema)},
	reflect.TypeFor[record.Part](): {
		values("status", record.OK, record.Failed, record.WrongData),
		when(constant("status", record.OK), &jsonschema.Schema{AnyOf: []*jsonschema.Schema{needs("burst", "isolated"), needs("kernel"), needs("verified")}}, needs("reason")),
		when(okWith("burst"), needs("isolated"), nil), when(okWith("isolated"), needs("burst"), nil),
	},
	reflect.TypeFor[record.Preflight]():      {values("state", preflightStates...)},
	reflect.TypeFor[record.PreflightFound](): {values("state", preflightStates...)},
	reflect.TypeFor[record.SamplesIndex]():   {version(record.SamplesSchema)},
	reflect.TypeFor[record.SampleSeries](): {
		values("series", record.SeriesBurstMean, record.SeriesBurstMax, record.SeriesIsolatedMax, record.SeriesSpread, record.SeriesRanks),
	},
	reflect.TypeFor[record.Device]():       {values("kind", record.GPU, record.HostMemory, record.Checked, record.OnLoopback)},
	reflect.TypeFor[record.LaunchConfig](): {values("grid", "exact", "resident", "strided")},
	reflect.TypeFor[record.Kernel](): {
		values("role", record.Roles()...), when(constant("status", record.OK), nil, needs("reason")),
	},
	reflect.TypeFor[record.KernelTiming]():     {values("stop", stops...)},
	reflect.TypeFor[record.KernelSamples]():    {values("stop", stops...)},
	reflect.TypeFor[record.Run]():              {version(record.RunSchema)},
	reflect.TypeFor[record.Status]():           {among(record.Statuses())},
	reflect.TypeFor[record.RankState]():        {among(record.RankStates())},
	reflect.TypeFor[record.WitnessState]():     {among(record.WitnessStates())},
	reflect.TypeFor[record.WitnessRankState](): {among(record.WitnessRankStates())},
	reflect.TypeFor[spec.Sweep]():              {values("collectives", collective.Names()...), values("cache", "cold", "warm")},
	reflect.TypeFor[spec.Spec]():               {version(spec.Schema)},
	reflect.TypeFor[spec.Kernels]():            {values("data", "random", "zeros")},

	reflect.TypeFor[advice.Document](): {version(advice.Schema)},
	reflect.TypeFor[recommend.Answer](): {
		version(recommend.Schema), values("verdict", recommend.Recommended, recommend.Ruled, recommend.NoCommunication, recommend.Refused),
		when(constant("verdict", recommend.Refused), needs("refusal"), nil),
		when(constant("verdict", recommend.Ruled), needs("rule"), nil),
	},
	reflect.TypeFor[recommend.Rule]():       {values("counts", recommend.Tokens, recommend.Microseconds), values("unfounded", recommend.BeyondSweep, recommend.OneDip)},
	reflect.TypeFor[recommend.Candidate]():  {values("unfounded", recommend.BeyondSweep, recommend.OneDip)},
	reflect.TypeFor[recommend.Refusal]():    {values("missing", collective.Names()...)},
	reflect.TypeFor[recommend.Confidence](): {values("level", levels...)},
	reflect.TypeFor[recommend.Reason]():     {values("level", levels...)},
	reflect.TypeFor[recommend.Sizes]():      {values("collective", collective.Names()...), values("pass", "backward", "forward", "after")},
	reflect.TypeFor[recommend.Help]():       {signed("gain")}, // a change may cost something
	reflect.TypeFor[recommend.Used]():       {values("collective", collective.Names()...), signed("alpha")},

	reflect.TypeFor[recommend.Knees]():     {version(recommend.KneesSchema)},
	reflect.TypeFor[recommend.KneeCurve](): {values("collective", collective.Names()...), signed("last_octave_growth")},
	reflect.TypeFor[recommend.Hole]():      {values("kind", recommend.TimeFalls, recommend.BusBWDrops)},

	reflect.TypeFor[replay.Document]():   {version(replay.Schema)},
	reflect.TypeFor[replay.Own]():        {signed("rank")},
	reflect.TypeFor[replay.Contention](): {signed("seconds", "lo", "hi"), values("compute", plan.StepTriad, plan.StepGemm)},
	reflect.TypeFor[replay.Difference](): {signed("mean", "lo", "hi"), values("verdict", replay.Verdicts()...)},

	reflect.TypeFor[compare.Document](): {version(compare.Schema)},
	reflect.TypeFor[compare.Shape]():    {values("kind", compare.ShapeKinds()...), signed("small", "small_seconds", "large")},
	reflect.TypeFor[compare.Case]():     {values("timing", compare.Timings()...), when(constant("verdict", compare.NotChecked), needs("reason"), nil), signed("change")},
	reflect.TypeFor[compare.Test]():     {signed("lo", "hi")},
	reflect.TypeFor[compare.Common]():   {signed("change")},
	reflect.TypeFor[compare.Overall]():  {signed("change", "lo", "hi")},
	reflect.TypeFor[compare.Verdict]():  {among(compare.Verdicts())},

	reflect.TypeFor[bisect.Document](): {version(bisect.Schema), values("timing", compare.Timings()...), values("verdict", bisect.Verdicts()...)},
	reflect.TypeFor[bisect.Header]():   {version(bisect.JournalSchema), values("timing", compare.Timings()...)},
	reflect.TypeFor[bisect.Variant]():  {when(constant("left_out", true), needs("reason"), nil)},
	reflect.TypeFor[bisect.Measured](): {values("verdict", bisect.Verdicts()...), when(constant("verdict", bisect.Slower), needs("first"), nil), signed("change")},
	reflect.TypeFor[bisect.Reading]():  {signed("change", "lo", "hi")},
	reflect.TypeFor[bisect.Level]():    {signed("change")},

	reflect.TypeFor[gate.Report](): {version(gate.Schema), values("state", gate.States()...)},
	reflect.TypeFor[gate.Check]():  {values("state", gate.States()...)},

	reflect.TypeFor[suite.Document]():       {version(suite.Schema)},
	reflect.TypeFor[suite.Header]():         {version(suite.JournalSchema)},
	reflect.TypeFor[suite.Outcome]():        {values("state", finding.States()...), values("origin", append(suite.Origins(), "")...)},
	reflect.TypeFor[suite.Compared]():       {values("verdict", suite.Verdicts()...)},
	reflect.TypeFor[nodewatch.Document]():   {version(nodewatch.Schema), values("action", nodewatch.Actions()...)},
	reflect.TypeFor[nodewatch.Found]():      {values("action", nodewatch.Actions()...)},
	reflect.TypeFor[nodescreen.Document]():  {version(nodescreen.Schema), values("state", finding.StatesOfNodes()...)},
	reflect.TypeFor[nodescreen.Deviation](): {values("rule", nodescreen.Rules()...)},
	reflect.TypeFor[nodescreen.Node]():      {version(nodescreen.NodeSchema)},

	reflect.TypeFor[doctor.Report](): {version(doctor.Schema)},
	reflect.TypeFor[doctor.Item]():   {values("mark", doctor.Good, doctor.Bad, doctor.Warn, doctor.Fact), when(constant("mark", doctor.Bad), needs("remedy"), nil)},

	reflect.TypeFor[topo.Drift]():  {version(topo.DriftSchema)},
	reflect.TypeFor[topo.Node]():   {version(topo.Schema)},
	reflect.TypeFor[topo.Remark](): {values("mark", topo.Marks()...), when(constant("mark", topo.Bad), needs("hint"), nil)},
	reflect.TypeFor[topo.Rail]():   {values("path", topo.PathSwitch, topo.PathHostBridge), values("by", topo.ByPCI, topo.ByXML)},
	reflect.TypeFor[topo.NIC]():    {values("rated_by", "", topo.RatedByProduct, topo.RatedByChip)},

	reflect.TypeFor[soak.Document]():  {version(soak.Schema)},
	reflect.TypeFor[soak.Header]():    {version(soak.JournalSchema)},
	reflect.TypeFor[plan.WrongPart](): {signed("shift")},
	reflect.TypeFor[plan.Pattern]():   {among(plan.Patterns())},
	reflect.TypeFor[rails.Document](): {
		version(rails.Schema), values("kind", rails.Kinds()...), values("state", finding.StatesOfNodes()...),
		when(constant("kind", rails.Measured), needs("survey"), nil),
	},
	reflect.TypeFor[rails.NamedSlow](): {values("level", rails.Levels()...)},
	reflect.TypeFor[rails.Use]():       {among(rails.Uses())},
	reflect.TypeFor[rails.Part]():      {among(rails.Parts())},

	reflect.TypeFor[trace.Document](): {version(trace.Schema), signed("sent_of_rank")},
	reflect.TypeFor[trace.Seen]():     {signed("rank")},
	reflect.TypeFor[trace.Overlap]():  {signed("rank")},
}

// Values that several types share.
var (
	stops           = []string{stat.StopPrecision, stat.StopMaxTime, stat.StopMaxSamples, stat.StopDiscarded}
	verifications   = record.Verifications()
	preflightStates = []record.PreflightState{record.CheckOK, record.CheckWarning, record.CheckError, record.CheckNotChecked}
)

// okWith returns a condition. A part meets it if the part ended well and has the key.
func okWith(key string) *jsonschema.Schema {
	s := constant("status", record.OK)
	s.Required = []string{key}
	return s
}

var levels = []string{recommend.High, recommend.Medium, recommend.Low}
