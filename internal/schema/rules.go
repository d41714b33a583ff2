package schema

import (
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"zbench/bench/advice"
	"zbench/bench/bisect"
	"zbench/bench/bucket"
	"zbench/bench/collective"
	"zbench/bench/compare"
	"zbench/bench/finding"
	"zbench/bench/gate"
	"zbench/bench/nodescreen"
	"zbench/bench/pairwise"
	"zbench/bench/rails"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/stat"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// rule adds to a type's schema what its fields do not say.
type rule func(*jsonschema.Schema) error

// rules are those of each type, what JSONSchemaExtend would do. Bounds and patterns
// of one field stand in its jsonschema tag.
var rules = map[reflect.Type][]rule{
	reflect.TypeFor[record.Record](): {
		version(record.Schema), inside("source", "kind", record.Measured, record.Simulated, record.Imported, record.Emulated),
		when(where("source", constant("kind", record.Simulated)), constant("simulated", true), nil),
		when(where("source", constant("kind", record.Emulated)), constant("simulated", true), nil),
		when(where("source", constant("kind", record.Measured)), constant("simulated", false), nil),
	},
	reflect.TypeFor[spec.Sweep]():             {values("collectives", collective.Names()...), values("cache", "cold", "warm")},
	reflect.TypeFor[spec.Spec]():              {version(spec.Schema)},
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

	reflect.TypeFor[spec.Kernels]():        {values("data", "random", "zeros")},
	reflect.TypeFor[record.Device]():       {values("kind", record.GPU, record.HostMemory, record.Checked, record.OnLoopback)},
	reflect.TypeFor[record.LaunchConfig](): {values("grid", "exact", "resident", "strided")},
	reflect.TypeFor[record.Kernel](): {
		values("role", record.Roles()...), when(constant("status", record.OK), nil, needs("reason")),
	},
	reflect.TypeFor[record.KernelTiming]():  {values("stop", stops...)},
	reflect.TypeFor[record.KernelSamples](): {values("stop", stops...)},

	reflect.TypeFor[record.Run](): {version(record.RunSchema)},

	reflect.TypeFor[bucket.Answer](): {version(bucket.Schema)},
	reflect.TypeFor[bucket.Curve]():  {values("collective", collective.Names()...)},
	reflect.TypeFor[bucket.Hole]():   {values("kind", bucket.TimeFalls, bucket.BusBWDrops)},

	reflect.TypeFor[compare.Document](): {version(compare.Schema)},
	reflect.TypeFor[compare.Shape]():    {values("kind", compare.ShapeKinds()...)},
	reflect.TypeFor[compare.Case]():     {values("timing", compare.Timings()...), when(constant("verdict", compare.NotChecked), needs("reason"), nil)},
	reflect.TypeFor[gate.Report]():      {version(gate.Schema), values("state", gate.States()...)},
	reflect.TypeFor[gate.Check]():       {values("state", gate.States()...)},

	reflect.TypeFor[nodescreen.Document]():  {version(nodescreen.Schema), values("state", finding.StatesOfNodes()...)},
	reflect.TypeFor[nodescreen.Deviation](): {values("rule", nodescreen.Rules()...)},
	reflect.TypeFor[nodescreen.Node]():      {version(nodescreen.NodeSchema)},
	reflect.TypeFor[bisect.Document]():      {version(bisect.Schema), values("timing", compare.Timings()...), values("verdict", bisect.Verdicts()...)},
	reflect.TypeFor[bisect.Header]():        {version(bisect.JournalSchema), values("timing", compare.Timings()...)},
	reflect.TypeFor[bisect.Variant]():       {when(constant("left_out", true), needs("reason"), nil)},
	reflect.TypeFor[bisect.Measured]():      {values("verdict", bisect.Verdicts()...), when(constant("verdict", bisect.Slower), needs("first"), nil)},

	reflect.TypeFor[doctor.Report](): {version(doctor.Schema)},
	reflect.TypeFor[doctor.Item]():   {values("mark", doctor.Good, doctor.Bad, doctor.Warn, doctor.Fact), when(constant("mark", doctor.Bad), needs("remedy"), nil)},

	reflect.TypeFor[pairwise.Document](): {
		version(pairwise.Schema), values("kind", pairwise.Kinds()...), values("state", finding.StatesOfNodes()...),
		when(constant("kind", pairwise.Measured), needs("survey"), nil),
	},
	reflect.TypeFor[pairwise.Slow](): {values("level", rails.Levels()...)},

	reflect.TypeFor[topo.Drift]():  {version(topo.DriftSchema)},
	reflect.TypeFor[topo.Node]():   {version(topo.Schema)},
	reflect.TypeFor[topo.Remark](): {values("mark", topo.Marks()...), when(constant("mark", topo.Bad), needs("hint"), nil)},
	reflect.TypeFor[topo.Rail]():   {values("path", topo.PathSwitch, topo.PathHostBridge), values("by", topo.ByPCI, topo.ByXML)},
	reflect.TypeFor[topo.NIC]():    {values("rated_by", "", topo.RatedByProduct, topo.RatedByChip)},

	reflect.TypeFor[advice.Document](): {version(advice.Schema)},
	reflect.TypeFor[recommend.Answer](): {
		version(recommend.Schema), values("verdict", recommend.Recommended, recommend.NoCommunication, recommend.Refused),
		when(constant("verdict", recommend.Refused), needs("refusal"), nil),
	},
	reflect.TypeFor[advice.WhatIf]():        {values("confidence", append([]string{""}, levels...)...)},
	reflect.TypeFor[recommend.Candidate]():  {values("unfounded", recommend.BeyondSweep, recommend.OneDip)},
	reflect.TypeFor[recommend.Refusal]():    {values("missing", collective.Names()...)},
	reflect.TypeFor[recommend.Confidence](): {values("level", levels...)},
	reflect.TypeFor[recommend.Reason]():     {values("level", levels...)},
	reflect.TypeFor[recommend.Sizes]():      {values("collective", collective.Names()...), values("pass", "backward", "forward", "after")},
	reflect.TypeFor[recommend.Used]():       {values("collective", collective.Names()...)},
}

// Values that several types share.
var (
	stops         = []string{stat.StopPrecision, stat.StopMaxTime, stat.StopMaxSamples, stat.StopDiscarded}
	verifications = []string{record.VerifiedOK, record.VerifiedWrong, record.NotVerified}
	levels        = []string{recommend.High, recommend.Medium, recommend.Low}

	preflightStates = []record.PreflightState{record.CheckOK, record.CheckWarning, record.CheckError, record.CheckNotChecked}
)

// signed are the numbers that may be negative, by type and key.
var signed = map[reflect.Type]map[string]bool{
	reflect.TypeFor[recommend.Used](): {"alpha": true}, // of a fit
	reflect.TypeFor[recommend.Help](): {"gain": true},  // of a change that costs
	reflect.TypeFor[bucket.Curve]():   {"last_octave_growth": true},
	reflect.TypeFor[compare.Case]():   {"change": true},
	reflect.TypeFor[compare.Test]():   {"lo": true, "hi": true},
	reflect.TypeFor[compare.Common](): {"change": true},
	reflect.TypeFor[compare.Shape]():  {"small": true, "small_seconds": true, "large": true},

	reflect.TypeFor[bisect.Measured](): {"change": true},
	reflect.TypeFor[bisect.Reading]():  {"change": true, "lo": true, "hi": true},
	reflect.TypeFor[bisect.Level]():    {"change": true},
}

// enumeration is the schema of a type that is one of a table's values.
func enumeration(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[record.Status]():
		return oneOf(record.Statuses())
	case reflect.TypeFor[record.RankState]():
		return oneOf(record.RankStates())
	case reflect.TypeFor[record.WitnessState]():
		return oneOf(record.WitnessStates())
	case reflect.TypeFor[record.WitnessRankState]():
		return oneOf(record.WitnessRankStates())
	case reflect.TypeFor[compare.Verdict]():
		return oneOf(compare.Verdicts())
	case reflect.TypeFor[finding.Severity]():
		return oneOf(finding.Severities())
	case reflect.TypeFor[finding.Kind]():
		return oneOf(finding.Kinds())
	case reflect.TypeFor[finding.State]():
		return oneOf(finding.States())
	case reflect.TypeFor[rails.Use]():
		return oneOf(rails.Uses())
	case reflect.TypeFor[rails.Part]():
		return oneOf(rails.Parts())
	}
	return nil
}

func oneOf[T ~string](values []T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// property finds a field by its key; a key that the type no longer has is an error.
func property(s *jsonschema.Schema, key string) (*jsonschema.Schema, error) {
	if p, ok := s.Properties.Get(key); ok {
		return p, nil
	}
	return nil, fmt.Errorf("there is no key %q", key)
}

// values bounds a text, or those of a list, to a table.
func values[T ~string](key string, all ...T) rule {
	return func(s *jsonschema.Schema) error {
		p, err := property(s, key)
		if err != nil {
			return err
		}
		if p.Type == "array" {
			p = p.Items
		}
		p.Enum = oneOf(all).Enum
		return nil
	}
}

// version is the constant by which files are told apart.
func version(is string) rule {
	return func(s *jsonschema.Schema) error {
		p, err := property(s, "schema")
		if err == nil {
			p.Const = is
		}
		return err
	}
}

// inside bounds the text of a field's own field, here alone.
func inside(key, inner string, all ...string) rule {
	return func(s *jsonschema.Schema) error {
		p, err := property(s, key)
		if err == nil {
			p.Properties = jsonschema.NewProperties()
			p.Properties.Set(inner, &jsonschema.Schema{Enum: oneOf(all).Enum})
		}
		return err
	}
}

// when asks for then where the condition holds and for otherwise where it does not;
// nil asks for nothing.
func when(condition, then, otherwise *jsonschema.Schema) rule {
	return func(s *jsonschema.Schema) error {
		for _, part := range []*jsonschema.Schema{condition, then, otherwise} {
			if err := known(s, part); err != nil {
				return err
			}
		}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: condition, Then: then, Else: otherwise})
		return nil
	}
}

// known refuses keys of a condition that the type does not have.
func known(s, part *jsonschema.Schema) error {
	if part == nil {
		return nil
	}
	keys := part.Required
	if part.Properties != nil {
		for key := range part.Properties.KeysFromOldest() {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if _, err := property(s, key); err != nil {
			return err
		}
	}
	return nil
}

// where holds for an object whose field fits.
func where(key string, fits *jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(key, fits)
	return s
}

// constant holds for an object whose field has the value.
func constant(key string, value any) *jsonschema.Schema {
	return where(key, &jsonschema.Schema{Const: value})
}

// okWith holds for a part that ended well and has the key.
func okWith(key string) *jsonschema.Schema {
	s := constant("status", record.OK)
	s.Required = []string{key}
	return s
}

// needs holds for an object that has the keys.
func needs(keys ...string) *jsonschema.Schema { return &jsonschema.Schema{Required: keys} }
