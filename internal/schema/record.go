package schema

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"zbench/bench/collective"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/stat"
)

// recordFiles are those of bench/record.
var recordFiles = set{
	files: []Document{
		{
			File: "bench/record/schema/v2.json", ID: "urn:zbench:results:2", Title: "zbench results, version 2",
			About: "One sweep of collectives, one run of kernels, or one import. All values are in base units: bytes, seconds, bytes per second.",
			Types: []reflect.Type{reflect.TypeFor[record.Record]()},
		},
		{
			File: "bench/record/schema/journal-v3.json", ID: "urn:zbench:journal:3", Title: "zbench journal, version 3",
			About: "A line of journal.jsonl: a Header on the first, a Part or an AddedRound on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
			Types: []reflect.Type{reflect.TypeFor[record.Header](), reflect.TypeFor[record.Part](), reflect.TypeFor[record.AddedRound]()}, Journal: true,
		},
		{
			File: "bench/record/schema/samples-v1.json", ID: "urn:zbench:samples:1", Title: "zbench samples, version 1",
			Types: []reflect.Type{reflect.TypeFor[record.SamplesIndex]()},
		},
		{
			File: "bench/record/schema/run-v1.json", ID: "urn:zbench:run:1", Title: "zbench run, run.json",
			About: "Facts of the tool's own run. A run that has not ended has an empty object instead.",
			Types: []reflect.Type{reflect.TypeFor[record.Run]()}, Bare: true,
		},
	},
	rules: rules{
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
	},
}

// Values that several types share.
var (
	stops           = []string{stat.StopPrecision, stat.StopMaxTime, stat.StopMaxSamples, stat.StopDiscarded}
	verifications   = []string{record.VerifiedOK, record.VerifiedWrong, record.NotVerified}
	preflightStates = []record.PreflightState{record.CheckOK, record.CheckWarning, record.CheckError, record.CheckNotChecked}
)

// okWith holds for a part that ended well and has the key.
func okWith(key string) *jsonschema.Schema {
	s := constant("status", record.OK)
	s.Required = []string{key}
	return s
}
